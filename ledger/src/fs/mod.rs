//! The log on disk: one folder, one writer, any number of readers.
//!
//! ```text
//! RECORDING/
//!   FORMAT                                   what this is, see `format_file`
//!   LOCK                                     held by the one writer
//!   log/00000000000000000001-3f9a6c01.seg    segments, see `segment` and `frame`
//! ```
//!
//! Readers write nothing and take no lock. A writer never touches a segment that it did not
//! create: it starts a new one, whose header says how much of the last one is log.

mod compact;
mod error;
mod export;
mod follow;
mod gc;
mod group;
mod history;
mod journal;
pub mod jsonl;
mod list;
mod lock;
mod marks;
mod reader;
mod repair;
mod retire;
mod run;
mod salvage;
mod segment_file;
mod sync;
mod walk;
mod writer;

use std::io;
use std::path::Path;

use artifacts::fs::vfs::{self, Vfs};

pub use crate::frame::{Head, PackLength, Seq};
pub use crate::segment::LogIdent;
pub use compact::{CompactError, CompactReport, compact};
pub use error::{AppendError, CreateError, Damage, FileError, LockError, OpenError, ReadError};
pub use export::{ExportError, Exported, export};
pub use follow::{FollowError, Followed, Follower};
pub use gc::{GcError, GcPlan, gc, plan_gc};
pub use history::{LoadError, history};
pub use journal::{Ack, Ask, Journal, JournalError};
pub use marks::{MarkError, Marks, named_artifacts};
pub use reader::{Frames, LogReader, SegmentChecked};
pub use repair::{RepairError, Repaired, repair};
pub use run::{RunOptions, RunWriter, StartError};
pub use salvage::{Salvage, Salvaged, salvage};
pub use walk::{Checks, Frame, Place, Tail};
pub use writer::{LogOptions, LogWriter};

use crate::format_file::{FORMAT_BYTES_MAX, FormatError, FormatFile};
use crate::segment::{Epoch, LedgerId};

const FORMAT_FILE: &str = "FORMAT";
const LOCK_FILE: &str = "LOCK";
const LOG_FOLDER: &str = "log";

impl LedgerId {
    /// Draws a new id from the operating system.
    pub fn random() -> io::Result<Self> {
        let mut id = [0; 16];
        fill_random(&mut id)?;
        Ok(Self(id))
    }
}

impl Epoch {
    /// Draws a new epoch from the operating system; never 0, which stands for exported logs.
    pub fn random() -> io::Result<Self> {
        let mut epoch = [0; 4];
        fill_random(&mut epoch)?;
        Ok(Self(u32::from_le_bytes(epoch).max(1)))
    }
}

fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|error| match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error.to_string()),
    })
}

/// Reads the FORMAT file of the recording in `dir`.
fn read_format(disk: &dyn Vfs, dir: &Path) -> Result<FormatFile, OpenError> {
    let path = dir.join(FORMAT_FILE);
    // One byte more than allowed is enough to find out that it is too long.
    let bytes = match vfs::read_start(disk, &path, FORMAT_BYTES_MAX as u64 + 1) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::NotARecording { path: dir.to_path_buf() });
        }
        Err(error) => return Err(FileError::new("read", &path, error).into()),
    };
    match FormatFile::decode(&bytes) {
        Ok(format) => Ok(format),
        Err(FormatError::NotARecording) => {
            Err(OpenError::NotARecording { path: dir.to_path_buf() })
        }
        Err(source) => Err(OpenError::Format { path, source }),
    }
}

/// Makes the entries of a folder durable.
fn sync_dir(disk: &dyn Vfs, dir: &Path) -> Result<(), FileError> {
    vfs::sync_folder(disk, dir).map_err(|source| FileError::new("sync", dir, source))
}
