//! The three calls through which a segment is written. A trait, so that tests can make each of
//! them fail; the one other implementor is the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A segment as its writer sees it.
pub(crate) trait Sink: std::fmt::Debug + Send {
    /// Writes some of `bytes` at `offset` and says how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Returns when all bytes written are on disk.
    fn sync_data(&self) -> io::Result<()>;
    /// Cuts the file after a failed write.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Returns the length of the file.
    fn len(&self) -> io::Result<u64>;
}

impl Sink for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// Writes all of `bytes`; a short write is continued, a write of nothing is an error.
pub(crate) fn write_all_at(sink: &dyn Sink, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
