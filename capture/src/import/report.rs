//! What an import found, and what it could not understand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::fs::Head;

use crate::side::SideReport;

/// A thing that the reader of the report should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoteKind {
    /// A WebSocket connection; its turns are kept as a record, not as requests.
    WebSocket,
    /// An exchange that asks no model for anything: model lists, probes.
    SideExchange,
    /// An entry that does not parse.
    Unparsed,
    /// An entry beyond the size or nesting limit; its bytes are not kept.
    TooLarge,
    /// A request whose body is not in the file.
    NoBody,
    /// A request body that is kept whole because it could not be split.
    Unsplit,
    /// A body whose length differs from what the file says was sent.
    LengthDiffers,
    /// A body whose content coding could not be undone.
    Coded,
    /// A text that cannot be what was sent, since it is not UTF-8.
    NotUtf8,
    /// Secrets were replaced.
    Redacted,
}

impl NoteKind {
    /// A phrase for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::WebSocket => {
                "WebSocket connection kept as a record, but for its turns, which are requests"
            }
            Self::SideExchange => "exchange that is not a model request kept as a record",
            Self::Unparsed => "entry that does not parse kept as a record",
            Self::TooLarge => "entry beyond the size or nesting limit left out",
            Self::NoBody => "request without its body kept as a record",
            Self::Unsplit => "request body kept whole: it could not be split",
            Self::LengthDiffers => "body length differs from what the file says was sent",
            Self::Coded => {
                "body left out: its content coding could not be undone, so that it could not be \
                 searched for secrets"
            }
            Self::NotUtf8 => "body is not UTF-8, so it cannot be what was sent",
            Self::Redacted => "request with secrets replaced",
        }
    }
}

/// How often something was found, and where first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// What.
    pub kind: NoteKind,
    /// How often.
    pub count: u64,
    /// Index of the first entry, from 0.
    pub first_entry: u64,
}

/// What an import did.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// Name of the recording.
    pub name: String,
    /// Its folder.
    pub recording: PathBuf,
    /// The recording was there already, from the same source.
    pub skipped: bool,
    /// The source was read to its end.
    pub complete: bool,
    /// Entries of the source.
    pub entries: u64,
    /// Requests captured.
    pub requests: u64,
    /// Entries kept as records.
    pub records: u64,
    /// Conversations.
    pub conversations: u64,
    /// Sum of the request bodies.
    pub request_bytes: u64,
    /// What was found beside the wire, where that was looked at.
    pub side: Option<SideReport>,
    /// Head of the log.
    pub head: Option<Head>,
    notes: BTreeMap<NoteKind, (u64, u64)>,
}

impl ImportReport {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            recording: PathBuf::new(),
            skipped: false,
            complete: false,
            entries: 0,
            requests: 0,
            records: 0,
            conversations: 0,
            request_bytes: 0,
            side: None,
            head: None,
            notes: BTreeMap::new(),
        }
    }

    pub(super) fn skipped(name: &str, recording: &Path, requests: u64) -> Self {
        Self {
            recording: recording.to_path_buf(),
            skipped: true,
            complete: true,
            requests,
            ..Self::new(name)
        }
    }

    pub(super) fn note(&mut self, kind: NoteKind, entry: u64) {
        self.notes.entry(kind).or_insert((0, entry)).0 += 1;
    }

    /// What the reader of the report should know.
    pub fn notes(&self) -> Vec<Note> {
        let note = |(kind, (count, first_entry)): (&NoteKind, &(u64, u64))| Note {
            kind: *kind,
            count: *count,
            first_entry: *first_entry,
        };
        self.notes.iter().map(note).collect()
    }
}
