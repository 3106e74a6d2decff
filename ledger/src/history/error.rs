//! Why events do not make a history. Place only, never content.

use crate::event::EventError;
use crate::identity::desk::DeskError;

/// Why a log is no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A frame's body is no event.
    #[error("seq {seq}: {source}")]
    Event {
        /// The frame.
        seq: u64,
        /// What is wrong with it.
        source: EventError,
    },
    /// An id that is not the next one of its kind.
    #[error("seq {seq}: {what} {found}, expected {expected}")]
    NotNext {
        /// The frame.
        seq: u64,
        /// What kind of id.
        what: &'static str,
        /// The id found.
        found: u64,
        /// The id that had to come.
        expected: u64,
    },
    /// A reference to something that no earlier event told of.
    #[error("seq {seq}: unknown {what} {number}")]
    Dangling {
        /// The frame.
        seq: u64,
        /// What is referred to.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// A list change that does not fit the list.
    #[error("seq {seq}: list change {index} is out of range")]
    Splice {
        /// The frame.
        seq: u64,
        /// Which change.
        index: usize,
    },
    /// A part whose slots do not fit its skeleton.
    #[error("seq {seq}: {what} does not fit")]
    Misfit {
        /// The frame.
        seq: u64,
        /// What.
        what: &'static str,
    },
    /// The log does not begin with `run_opened`, or has two.
    #[error("seq {seq}: run_opened expected once, at the beginning")]
    NoRun {
        /// The frame.
        seq: u64,
    },
    /// A fact about identities that does not fit what is open.
    #[error("seq {seq}: {source}")]
    Identity {
        /// The frame.
        seq: u64,
        /// What does not fit.
        source: DeskError,
    },
    /// More of something than is allowed.
    #[error("seq {seq}: more than {max} {what}")]
    TooMany {
        /// The frame.
        seq: u64,
        /// What.
        what: &'static str,
        /// The limit.
        max: u64,
    },
}
