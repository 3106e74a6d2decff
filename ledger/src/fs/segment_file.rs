//! The segment that a writer is filling: where the next write goes, and how long the file is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{OpenHow, Vfs, VfsFile, write_all_at};

use super::{FileError, sync_dir};
use crate::frame::FrameSalt;
use crate::segment::SegmentHeader;

/// A segment that belongs to one writer.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn VfsFile>,
    pub(crate) header: SegmentHeader,
    pub(crate) salt: FrameSalt,
    /// Where the next write goes; everything before is good.
    pub(crate) position: u64,
    /// Length of the file as this writer left it: behind the position is room, all zeros.
    file_bytes: u64,
    /// How much room is reserved at once; 0 for none.
    reserve_bytes: u64,
    /// Frames of this segment and their body bytes, for the seal.
    pub(crate) frames: u64,
    pub(crate) body_bytes: u64,
}

/// A write that failed.
#[derive(Debug)]
pub(crate) struct FailedWrite {
    pub(crate) source: io::Error,
    /// The file ends again where it ended before the write.
    pub(crate) undone: bool,
}

impl SegmentFile {
    /// Creates a segment. It is used only when its header and its name are durable.
    pub(crate) fn create(
        vfs: &dyn Vfs,
        log_dir: &Path,
        header: SegmentHeader,
        reserve_bytes: u64,
    ) -> Result<Self, FileError> {
        let path = log_dir.join(header.file_name());
        let create = || {
            let file = vfs.open(&path, OpenHow::CreateNew)?;
            write_all_at(&*file, &header.encode(), 0)?;
            file.sync_data()?;
            Ok(file)
        };
        let file = create().map_err(|source| FileError::new("create", &path, source))?;
        sync_dir(vfs, log_dir)?;
        let position = SegmentHeader::ENCODED_BYTES as u64;
        let salt = header.salt();
        let file_bytes = position;
        let (frames, body_bytes) = (0, 0);
        Ok(Self {
            path,
            file,
            header,
            salt,
            position,
            file_bytes,
            reserve_bytes,
            frames,
            body_bytes,
        })
    }

    /// Returns the length of the file as it is, and as this writer left it.
    pub(crate) fn lengths(&self) -> io::Result<(u64, u64)> {
        Ok((self.file.stat()?.bytes, self.file_bytes))
    }

    /// Writes `bytes` at the position, or nothing.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), FailedWrite> {
        let end = self.position + bytes.len() as u64;
        self.reserve(end);
        if let Err(source) = write_all_at(&*self.file, bytes, self.position) {
            let undone = self.file.set_len(self.position).is_ok();
            self.file_bytes = self.position;
            return Err(FailedWrite { source, undone });
        }
        self.position = end;
        self.file_bytes = self.file_bytes.max(end);
        Ok(())
    }

    /// Gives reserved room back, and makes that durable: nothing may stand behind a seal, not
    /// even zeros.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        self.reserve_bytes = 0;
        if self.file_bytes > self.position {
            self.file.set_len(self.position)?;
            self.file_bytes = self.position;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Reserves room, so that a sync need not record a new length, which under load waits for
    /// the file system's journal. Where that cannot be done the write itself tells.
    fn reserve(&mut self, end: u64) {
        if self.reserve_bytes == 0 || end <= self.file_bytes {
            return;
        }
        let file_bytes = end.next_multiple_of(self.reserve_bytes);
        if self.file.allocate(file_bytes).is_ok() {
            self.file_bytes = file_bytes;
            return;
        }
        self.reserve_bytes = 0;
        // A refused reservation may have extended the file all the same.
        if let Ok(stat) = self.file.stat() {
            self.file_bytes = stat.bytes;
        }
    }
}
