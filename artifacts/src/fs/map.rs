//! The one place with `unsafe`: a sealed file as a slice.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// Holds a file that no longer changes, mapped for reading.
///
/// A process that shortens the file while it is mapped makes a read of the lost pages end in
/// SIGBUS. No writer of this format ever shortens or rewrites a file; users of a mapping compare
/// its length with what the file says about itself before they use it.
#[derive(Debug)]
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps the whole file.
    #[expect(unsafe_code, reason = "mapping a file is unsafe, and sealed packs are read mapped")]
    pub(crate) fn open(file: &File) -> io::Result<Self> {
        // SAFETY: the file is sealed, its writer never touches it again, and the operator keeps
        // other programs from changing it in place; its bytes are only ever read as `u8` and
        // are checked against checksums before they mean anything.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(map))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
