//! Reads a log into a history.

use super::{LogReader, ReadError};
use crate::event::Event;
use crate::frame::{KIND_LOG_GAP, KIND_SKIPPABLE_BIT, Seq};
use crate::history::{Builder, History, HistoryError};

/// Why a log could not be read into a history.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The log cannot be read to its end.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its events do not fit together.
    #[error("{place}: {source}")]
    History {
        /// File and offset of the frame.
        place: String,
        /// What does not fit.
        source: HistoryError,
    },
}

/// Reads all events of a log, or those in front of the first gap of one that was repaired.
///
/// # Errors
/// The log is damaged, or its events do not fit together: with the place of the first trouble.
pub fn history(reader: &mut LogReader) -> Result<History, LoadError> {
    let mut builder = Builder::new();
    let mut behind_gap = false;
    for frame in reader.frames() {
        let frame = frame?;
        if frame.is_seal() || behind_gap {
            continue;
        }
        // What follows builds on what is missing; it can be listed, but not understood.
        behind_gap = frame.kind() == KIND_LOG_GAP;
        if behind_gap {
            continue;
        }
        let unknown = crate::event::Kind::from_tag(frame.kind()).is_none();
        if unknown && frame.kind() & KIND_SKIPPABLE_BIT != 0 {
            // A newer writer marked this kind as one that a reader may do without.
            continue;
        }
        let Seq(seq) = frame.seq();
        let place = || {
            let place = frame.place();
            format!("{} at offset {}", place.path.display(), place.offset)
        };
        let event = Event::decode(frame.kind(), frame.version(), frame.body())
            .map_err(|source| HistoryError::Event { seq, source });
        event
            .and_then(|event| builder.push(seq, event))
            .map_err(|source| LoadError::History { place: place(), source })?;
    }
    builder.finish().map_err(|source| LoadError::History { place: "log".to_owned(), source })
}
