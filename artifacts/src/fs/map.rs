//! The one place with `unsafe`: a sealed file as a slice.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of a file that no longer changes, mapped or held in memory.
///
/// A process that shortens the file while it is mapped makes a read of the lost pages end in
/// SIGBUS. No writer of this format ever shortens or rewrites a sealed file; users of a mapping
/// compare its length with what the file says about itself, and [`FileView::probe`] what they are
/// about to read.
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

    /// Brings a part of the file into memory, so that it can be read.
    ///
    /// # Errors
    /// The file was cut under its mapping, or the disk does not give the bytes. Reading them
    /// would have ended the process.
    pub fn probe(&self, part: Range<usize>) -> io::Result<()> {
        match &self.0 {
            Bytes::Mapped(map) => populate(map, part),
            Bytes::Held(_) => Ok(()),
        }
    }

    /// Holds bytes that were read.
    pub fn held(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(Bytes::Held(bytes.into()))
    }
}

#[cfg(target_os = "linux")]
fn populate(map: &Mmap, part: Range<usize>) -> io::Result<()> {
    /// Bad address: the kernel could not bring a page in.
    const EFAULT: i32 = 14;
    let end = part.end.min(map.len());
    let length = end.saturating_sub(part.start);
    if length == 0 {
        return Ok(());
    }
    match map.advise_range(memmap2::Advice::PopulateRead, part.start, length) {
        Err(error) if error.raw_os_error() == Some(EFAULT) => {
            let words = "the file was cut while it was mapped, or cannot be read";
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, words))
        }
        // Kernels before 5.14 do not know the advice, and then nothing is known.
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn populate(_map: &Mmap, _part: Range<usize>) -> io::Result<()> {
    Ok(())
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
