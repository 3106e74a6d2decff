//! What was found beside the wire, and what could not be used.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A thing that the reader of the report should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SideNoteKind {
    /// A line or document that does not parse.
    Unparsed,
    /// A line, document or spill file beyond the size limit.
    TooLong,
    /// A text that is not UTF-8; the bytes that do not decode are replaced, as the client does.
    NotUtf8,
    /// An output whose id no call of the recording has.
    NoSuchCall,
    /// An output whose id several calls have.
    SeveralCalls,
    /// An output of a call that was sent as several texts.
    SeveralTexts,
    /// A spill file that no sent text and no call id names.
    NotReferred,
    /// An output that the sent text does not begin or end like.
    Unlike,
    /// An output that was found before, in the same source.
    Again,
}

impl SideNoteKind {
    /// A phrase for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unparsed => "record that does not parse left out",
            Self::TooLong => "record beyond the size limit left out",
            Self::NotUtf8 => "output that is not UTF-8; what does not decode was replaced",
            Self::NoSuchCall => "output of a call that is not in the recording left out",
            Self::SeveralCalls => "output whose id several calls have left out",
            Self::SeveralTexts => "output of a call that was sent as several texts left out",
            Self::NotReferred => "spilled file that nothing in the recording names left out",
            Self::Unlike => "output that the sent text has no stretch of; kept",
            Self::Again => "output that was found before",
        }
    }
}

/// How often something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideNote {
    /// What.
    pub kind: SideNoteKind,
    /// How often.
    pub count: u64,
}

/// What reading beside the wire brought.
#[derive(Clone, Debug, Default)]
pub struct SideReport {
    /// The archive or folder.
    pub path: PathBuf,
    /// Files in it.
    pub files: u64,
    /// Files that an adapter read, by format.
    pub formats: BTreeMap<&'static str, u64>,
    /// Calls in the recording.
    pub calls: u64,
    /// Calls whose whole output was found.
    pub whole: u64,
    /// Calls of whose output only the ends were found.
    pub ends: u64,
    /// Why reading ended early, if it did.
    pub stopped: Option<String>,
    pub(super) notes: BTreeMap<SideNoteKind, u64>,
}

impl SideReport {
    /// What the reader of the report should know.
    pub fn notes(&self) -> Vec<SideNote> {
        self.notes.iter().map(|(kind, count)| SideNote { kind: *kind, count: *count }).collect()
    }

    pub(super) fn note(&mut self, kind: SideNoteKind) {
        *self.notes.entry(kind).or_default() += 1;
    }
}
