//! What stands under the name that an import would give its recording: the same source already,
//! or something else.

use std::path::{Path, PathBuf};

use ledger::event::Origin;
use ledger::fs::{LogReader, OpenError};
use ledger::history::History;

/// Why a name cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameTaken {
    /// Something else has the name.
    #[error("name is taken by another recording: {}", recording.display())]
    Other {
        /// The folder.
        recording: PathBuf,
    },
    /// The recording of this name holds the beginning of a file that was cut, or of one whose
    /// import was interrupted.
    #[error("recording of this name is incomplete: {}", recording.display())]
    Incomplete {
        /// The folder.
        recording: PathBuf,
    },
    /// The recording that is there cannot be compared with the file.
    #[error("recording that has this name cannot be read: {}", recording.display())]
    Existing {
        /// The folder.
        recording: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A recording that has the name of a file that is to be imported.
pub(crate) struct Holder {
    recording: PathBuf,
    history: History,
    source_digest: [u8; 32],
}

impl Holder {
    /// Reads the recording; `origin` is that of a recording of this kind of file.
    ///
    /// # Errors
    /// It was not made of a whole file.
    pub(crate) fn read(recording: &Path, origin: Origin) -> Result<Self, NameTaken> {
        let recording = recording.to_path_buf();
        let existing = |recording, source| NameTaken::Existing { recording, source };
        let mut reader = match LogReader::open(&recording) {
            Ok(reader) => reader,
            Err(OpenError::NotARecording { .. }) => return Err(NameTaken::Other { recording }),
            Err(other) => return Err(existing(recording, Box::new(other))),
        };
        let history = match ledger::fs::history(&mut reader) {
            Ok(history) => history,
            Err(error) => return Err(existing(recording, Box::new(error))),
        };
        match history.closed().and_then(|closed| closed.source_digest) {
            Some(source_digest) => Ok(Self { recording, history, source_digest }),
            // Whether it is the same file cannot be told from a part of it.
            None if history.opened().origin == origin => Err(NameTaken::Incomplete { recording }),
            None => Err(NameTaken::Other { recording }),
        }
    }

    /// What was imported before, when it was the file with this digest.
    ///
    /// # Errors
    /// It was another one.
    pub(crate) fn same(self, source_digest: [u8; 32]) -> Result<History, NameTaken> {
        if self.source_digest == source_digest {
            Ok(self.history)
        } else {
            Err(NameTaken::Other { recording: self.recording })
        }
    }
}
