//! Why a side source was not read, or not to its end. Places only, never content.

use std::io;
use std::path::PathBuf;

use ledger::recorder::RecordError;

/// Why reading beside the wire ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SideError {
    /// The archive or folder does not open.
    #[error("session does not open: {}", path.display())]
    Open {
        /// The archive or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file in it cannot be read on.
    #[error("session cannot be read on: {file}")]
    Read {
        /// Path of the file inside the session.
        file: String,
        /// The system's answer.
        source: io::Error,
    },
    /// There are more files than are looked at.
    #[error("session has more than {max} files")]
    TooManyFiles {
        /// The limit.
        max: u64,
    },
    /// What was found cannot be recorded.
    #[error("found output cannot be recorded")]
    Record(#[from] RecordError),
}
