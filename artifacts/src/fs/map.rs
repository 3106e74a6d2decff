//! The one place with `unsafe`: a sealed file as a slice.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of a file that no longer changes, mapped or held in memory.
///
/// A process that shortens the file while it is mapped makes a read of the lost pages end in
/// SIGBUS. No writer of this format ever shortens or rewrites a sealed file; users of a mapping
/// compare its length with what the file says about itself before they use it.
#[derive(Clone, Debug)]
pub struct FileView(Bytes);

#[derive(Clone)]
enum Bytes {
    Mapped(Arc<Mmap>),
    Held(Arc<[u8]>),
}

impl FileView {
    /// Maps the whole file.
    #[expect(unsafe_code, reason = "mapping a file is unsafe, and sealed files are read mapped")]
    pub fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the file is sealed, its writer never touches it again, and the operator keeps
        // other programs from changing it in place; its bytes are only ever read as `u8` and
        // are checked against checksums before they mean anything.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(Bytes::Mapped(Arc::new(map))))
    }

    /// Holds bytes that were read.
    pub fn held(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(Bytes::Held(bytes.into()))
    }
}

impl Deref for FileView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(map) => map,
            Bytes::Held(bytes) => bytes,
        }
    }
}

/// Shows the length only: files hold anything.
impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, bytes) = match self {
            Self::Mapped(map) => ("Mapped", map.len()),
            Self::Held(bytes) => ("Held", bytes.len()),
        };
        write!(f, "{name}({bytes} bytes)")
    }
}
