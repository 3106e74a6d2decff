//! What can go wrong of a file that becomes a recording, whatever its format.

use std::io;
use std::path::PathBuf;

use ledger::recorder::RecordError;

use super::NameTaken;

/// Why a file did not become a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not open.
    #[error("file does not open: {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A name that makes no recording.
    #[error("file name gives no recording name: {}", path.display())]
    NoName {
        /// The file.
        path: PathBuf,
    },
    /// The name of its recording cannot be used.
    #[error(transparent)]
    Taken(#[from] NameTaken),
    /// The recording cannot be written.
    #[error("recording cannot be written: {}", recording.display())]
    Record {
        /// The folder.
        recording: PathBuf,
        /// Why.
        source: RecordError,
    },
}

impl FileError {
    /// True where another recording has the name, so that another name would do.
    pub fn is_name_of_another(&self) -> bool {
        matches!(self, Self::Taken(NameTaken::Other { .. }))
    }
}
