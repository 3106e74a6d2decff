//! What a reader of one format is: it recognizes a source by what it holds, and reads it.

use std::io::{self, BufRead, Read as _};
use std::path::{Path, PathBuf};

use ledger::recorder::RecordError;

use super::json::{self, Json};
use super::rows::{self, At, Repairs, Row, Take};
use super::scribe::{Fate, Scribe};

/// Largest document that is read as a whole, in bytes.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

/// Why reading ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A container that cannot be opened: a fixed phrase.
    #[cfg(any(feature = "sqlite", feature = "zip"))]
    #[error("{0}")]
    Container(&'static str),
}

/// A source, its compression undone.
pub(crate) struct Source<'s> {
    /// Its own file.
    pub(crate) path: &'s Path,
    /// It is lines of records, and not one document.
    pub(crate) is_lines: bool,
    /// Its bytes.
    pub(crate) reader: &'s mut dyn BufRead,
    /// Other files that belong to it, in order.
    pub(crate) parts: &'s [PathBuf],
}

/// What a format is recognized by.
#[derive(Debug)]
pub(crate) struct Look<'h> {
    /// The first bytes.
    #[cfg_attr(not(feature = "yaml"), expect(dead_code, reason = "containers are told by it"))]
    pub(crate) bytes: &'h [u8],
    /// The whole of it, where it is one JSON value.
    pub(crate) document: Option<&'h Json<'h>>,
    /// The first records, where it is lines of them.
    pub(crate) records: &'h [Json<'h>],
}

impl Look<'_> {
    /// True when one of the first records is of this kind.
    pub(crate) fn any(&self, is: impl Fn(&Json<'_>) -> bool) -> bool {
        self.records.iter().any(is)
    }
}

/// Reads one format.
pub(crate) trait Adapter: Sync {
    /// Name of the format.
    fn name(&self) -> &'static str;

    /// True for a source of this format.
    fn takes(&self, look: &Look<'_>) -> bool;

    /// True when whole outputs may stand in the source or near it that its rows do not name:
    /// the readers of what clients write beside the wire look for them.
    fn looks_beside(&self) -> bool {
        false
    }

    /// Reads a source to its end.
    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop>;
}

/// Takes one record after the other.
pub(crate) trait Fold {
    /// Takes a record and says what became of it.
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop>;

    /// There are no more.
    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop>;
}

/// Folds the lines of a reader, with an account of every one.
pub(crate) fn fold_lines(
    reader: &mut dyn BufRead,
    at: &mut At,
    scribe: &mut Scribe,
    fold: &mut dyn Fold,
) -> Result<(), Stop> {
    let mut repairs = Repairs::default();
    let mut folding = Folding { fold, scribe };
    let done = rows::each(reader, at, &mut repairs, &mut folding);
    scribe.tally.repaired(repairs);
    done
}

/// Folds the records of a document, each with an account of its own.
pub(crate) fn fold_records(
    records: &[Json<'_>],
    scribe: &mut Scribe,
    fold: &mut dyn Fold,
) -> Result<(), Stop> {
    let mut offset = 0;
    for (index, json) in (0..).zip(records) {
        let row = Row { index, offset, raw: json.raw, read: Ok(json) };
        let fate = fold.row(&row, json, scribe)?;
        scribe.account(&row, fate)?;
        offset += json.raw.len() as u64;
    }
    Ok(())
}

struct Folding<'f> {
    fold: &'f mut dyn Fold,
    scribe: &'f mut Scribe,
}

impl Take for Folding<'_> {
    type Error = Stop;

    fn row(&mut self, row: &Row<'_>) -> Result<(), Stop> {
        let fate = match row.read {
            Ok(json) => self.fold.row(row, json, self.scribe)?,
            Err(unread) => Fate::Unknown(unread.words()),
        };
        Ok(self.scribe.account(row, fate)?)
    }
}

/// Reads a source as one document; `None` where it is too large, and its beginning was kept.
pub(crate) fn document(reader: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses a document and hands it to `read`; what is no JSON is kept as one row.
pub(crate) fn with_document(
    source: &mut Source<'_>,
    scribe: &mut Scribe,
    read: &mut dyn FnMut(&Json<'_>, &mut Scribe) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let bytes = document(source.reader)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut clean = Vec::new();
    if let Ok(found) = json::read(text)
        && text.get(found.end..).unwrap_or_default().trim_ascii().is_empty()
    {
        if !found.repaired {
            return read(&found.json, scribe);
        }
        scribe.tally.repaired(Repairs { records: 1, ..Repairs::default() });
        found.json.clean(&mut clean);
    }
    if let Some(json) = json::whole(&clean) {
        return read(&json, scribe);
    }
    unread_document(text, scribe)
}

/// Keeps a document that is no record as one row.
pub(crate) fn unread_document(bytes: &[u8], scribe: &mut Scribe) -> Result<(), Stop> {
    let unread = rows::Unread::NotJson;
    let row = Row { index: 0, offset: 0, raw: bytes, read: Err(unread) };
    Ok(scribe.account(&row, Fate::Unknown(unread.words()))?)
}
