//! What can go wrong with a HAR file and with one of its entries.
//!
//! The messages of `serde_json` quote the value they stumble over, which may be a prompt or a
//! key; so they are not kept as sources here, only their place is.

use std::io;
use std::path::PathBuf;

use super::source::FileCoding;

/// Why a HAR file could not be read, or not any further.
///
/// Offsets count bytes of the decompressed file from 0; `entries_read` counts the complete
/// elements of `log.entries` before the error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarError {
    /// The file did not open.
    #[error("file does not open: {}", path.display())]
    Open {
        /// The path as it was given.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The file could not be read on.
    #[error("byte {offset}: reading failed after {entries_read} entries")]
    Io {
        /// How far the file was read.
        offset: u64,
        /// The complete entries before.
        entries_read: u64,
        /// The reader's reason.
        source: io::Error,
    },
    /// The compressed file is cut or damaged.
    #[error("byte {offset}: {coding} stream {fault} after {entries_read} entries")]
    Coded {
        /// How far the file could be decompressed.
        offset: u64,
        /// The complete entries before.
        entries_read: u64,
        /// The file's compression.
        coding: FileCoding,
        /// What is wrong with it.
        fault: CodedFault,
        /// The decoder's reason.
        source: io::Error,
    },
    /// The file is something else than a HAR.
    #[error("byte {offset}: not a HAR file: {reason}")]
    NotHar {
        /// Where that became clear.
        offset: u64,
        /// What it is or lacks.
        reason: NotHarReason,
    },
    /// The file ends before its JSON does.
    #[error("byte {offset}: file ends inside the HAR after {entries_read} entries")]
    Truncated {
        /// The length of the file.
        offset: u64,
        /// The complete entries before.
        entries_read: u64,
    },
    /// The JSON around or between the entries is broken.
    #[error("byte {offset}: {found} instead of {expected} after {entries_read} entries")]
    Malformed {
        /// Where the JSON breaks.
        offset: u64,
        /// The complete entries before.
        entries_read: u64,
        /// The kind of thing that stands there.
        found: &'static str,
        /// What JSON or the HAR format asks for.
        expected: &'static str,
    },
    /// One entry is larger than the limit. The reader stands behind it and can go on.
    #[error("byte {offset}: entry {index} is larger than {entry_bytes_max} bytes")]
    EntryTooLarge {
        /// Where the entry starts.
        offset: u64,
        /// The entry's place in the list, from 0.
        index: u64,
        /// The limit.
        entry_bytes_max: usize,
    },
    /// One entry is nested deeper than the limit. The reader stands behind it and can go on.
    #[error("byte {offset}: entry {index} is nested deeper than {depth_max}")]
    EntryTooDeep {
        /// Where the entry starts.
        offset: u64,
        /// The entry's place in the list, from 0.
        index: u64,
        /// The limit.
        depth_max: usize,
    },
    /// The reader was asked again after an error that had ended it.
    #[error("byte {offset}: reader has stopped at an earlier error")]
    Stopped {
        /// Where the reader stands.
        offset: u64,
    },
}

impl HarError {
    /// Tells whether the reader cannot go on after this error.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::EntryTooLarge { .. } | Self::EntryTooDeep { .. })
    }
}

/// What a file that is not a HAR is, or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotHarReason {
    /// There is nothing in it but white space.
    #[error("the file is empty")]
    Empty,
    /// It starts with a UTF-16 byte order mark.
    #[error("the text is UTF-16, a HAR is UTF-8")]
    Utf16,
    /// It is not JSON, or stops being JSON before any entry.
    #[error("{found} instead of {expected}")]
    NotJson {
        /// The kind of thing that stands there.
        found: &'static str,
        /// What JSON asks for.
        expected: &'static str,
    },
    /// The JSON is not an object.
    #[error("{found} instead of an object with a member \"log\"")]
    NotAnObject {
        /// The kind of thing that stands there.
        found: &'static str,
    },
    /// The object has no `log`.
    #[error("the object has no member \"log\"")]
    NoLog,
    /// `log` is not an object.
    #[error("{found} instead of an object as \"log\"")]
    LogNotAnObject {
        /// The kind of thing that stands there.
        found: &'static str,
    },
    /// `log` has no `entries`.
    #[error("the log has no member \"entries\"")]
    NoEntries,
    /// `entries` is not an array.
    #[error("{found} instead of an array as \"entries\"")]
    EntriesNotAnArray {
        /// The kind of thing that stands there.
        found: &'static str,
    },
}

/// What is wrong with a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodedFault {
    /// It ends too early.
    #[error("is cut")]
    Cut,
    /// It does not decode, fails its checksum or asks for too large a window.
    #[error("is damaged")]
    Damaged,
}

/// Why one entry could not be read. The other entries are not touched by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The element is not JSON.
    #[error("byte {offset}: entry {index} is not JSON")]
    Syntax {
        /// The place in the file at or just behind the trouble.
        offset: u64,
        /// The entry's place in the list, from 0.
        index: u64,
    },
    /// The element is JSON, but a member has the wrong type or exceeds a limit.
    #[error("byte {offset}: entry {index} has a member of the wrong type")]
    Shape {
        /// The place in the file at or just behind the trouble.
        offset: u64,
        /// The entry's place in the list, from 0.
        index: u64,
    },
    /// The element lacks what no exchange can lack.
    #[error("byte {offset}: entry {index} has no {member}")]
    Missing {
        /// Where the entry starts.
        offset: u64,
        /// The entry's place in the list, from 0.
        index: u64,
        /// The member's path inside the entry.
        member: &'static str,
    },
}
