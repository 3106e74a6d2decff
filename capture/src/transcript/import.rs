//! Makes a recording of one source: recognizes its format, reads it, looks beside it.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use ledger::event::{Origin, RunClosed};
use ledger::recorder::{Durability, Identity, RecordError, Recorder, RunSpec};
use sha2::{Digest as _, Sha256};

use super::adapter::{Adapter, Look, Source, Stop};
use super::adapters;
use super::json::{self, Json};
use super::report::TranscriptReport;
use super::scribe::Scribe;
use super::walk::Bundle;
use crate::har::sniff;
use crate::import::FileError;
use crate::import::digest::DigestReader;
use crate::side;

/// What is looked at to recognize lines of records, in bytes.
const HEAD_BYTES: u64 = 1 << 20;
/// Records that are looked at.
const HEAD_RECORDS: usize = 32;
/// Largest document that is read to recognize it, in bytes.
const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

/// Why a source was not imported, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// It is of no format that is known.
    #[error("format is not known: {}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is empty.
    #[error("file is empty: {}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read on. What was read before is in the recording.
    #[error("file cannot be read on: {}", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What was kept.
        kept: Box<TranscriptReport>,
    },
    /// The file does not open, or its recording cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

/// How an import is done.
#[derive(Debug)]
pub struct TranscriptOptions<'a> {
    /// Version of the program, for the record.
    pub recorder: &'a str,
    /// Wall time, Unix nanoseconds; information only.
    pub now_unix_ns: u64,
    /// Fixed identities for fixtures; random ones otherwise.
    pub identity: Option<Identity>,
    /// Name of the source, for the record.
    pub name: &'a str,
    /// What is replaced before anything is stored.
    pub redactor: Redactor,
    /// The recording of an earlier state of this source, as JSON.
    pub earlier: Option<&'a [u8]>,
}

/// The way in that a file takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recognized {
    /// [`import_transcript`], in this format.
    Transcript(&'static str),
    /// [`import_har`](crate::import::import_har).
    Har,
    /// [`import_acp`](crate::acp::import_acp).
    Acp,
}

/// Recognizes a file by what it holds.
///
/// # Errors
/// The file cannot be read.
pub fn recognize(path: &Path) -> io::Result<Option<Recognized>> {
    match known(path)? {
        Known::Adapter(adapter, _) => Ok(Some(Recognized::Transcript(adapter.name()))),
        Known::Har => Ok(Some(Recognized::Har)),
        Known::Acp => Ok(Some(Recognized::Acp)),
        Known::Nothing => Ok(None),
    }
}

enum Known {
    /// A reader, and whether the source is lines for it.
    Adapter(&'static dyn Adapter, bool),
    Har,
    Acp,
    Nothing,
}

fn known(path: &Path) -> io::Result<Known> {
    let mut head = Vec::new();
    let mut plain = sniff(File::open(path)?)?;
    (&mut plain).take(HEAD_BYTES).read_to_end(&mut head)?;
    if is_har(&head) {
        return Ok(Known::Har);
    }
    let whole = (head.len() as u64) < HEAD_BYTES;
    let found = look_at(&head, whole);
    if !matches!(found, Known::Nothing) || whole || !(is_json(&head) || is_binary(&head)) {
        return Ok(found);
    }
    // A document that is longer than the head, or a first line that is.
    plain.take(DOCUMENT_BYTES_MAX).read_to_end(&mut head)?;
    Ok(look_at(&head, true))
}

fn look_at(head: &[u8], whole: bool) -> Known {
    let document = if whole { json::whole(text(head)) } else { None };
    let records = first_records(head);
    let look = Look { bytes: head, document: document.as_ref(), records: &records };
    if look.any(is_protocol) {
        return Known::Acp;
    }
    let found = adapters().iter().copied().find(|adapter| adapter.takes(&look));
    found.map_or(Known::Nothing, |found| Known::Adapter(found, document.is_none()))
}

/// True for the beginning of a HAR file.
fn is_har(head: &[u8]) -> bool {
    const LOG_WITHIN: usize = 256;
    let early = head.get(..LOG_WITHIN.min(head.len())).unwrap_or_default();
    let has = |text: &[u8], word: &[u8]| memchr::memmem::find(text, word).is_some();
    is_json(head)
        && has(early, b"\"log\"")
        && (has(head, b"\"entries\"") || has(early, b"\"creator\""))
}

/// True for a message of an agent protocol, bare or in the frame of a log.
fn is_protocol(record: &Json<'_>) -> bool {
    let is_message = |json: &Json<'_>| json.str("jsonrpc") == Some("2.0");
    is_message(record) || ["msg", "message"].iter().filter_map(|it| record.get(it)).any(is_message)
}

fn text(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn is_json(head: &[u8]) -> bool {
    matches!(text(head).trim_ascii_start().first(), Some(b'{' | b'['))
}

/// True for the beginning of an export in protobuf, which says how long it is and not what.
fn is_binary(head: &[u8]) -> bool {
    #[cfg(feature = "protobuf")]
    return super::protobuf::begins(head);
    #[cfg(not(feature = "protobuf"))]
    {
        let _ = head;
        false
    }
}

/// The records that the first lines begin with.
fn first_records(head: &[u8]) -> Vec<Json<'_>> {
    let lines = text(head).split(|byte| *byte == b'\n');
    let is_blank = |byte: &&u8| **byte == 0 || byte.is_ascii_whitespace();
    lines
        .filter_map(|line| {
            let blank = line.iter().take_while(is_blank).count();
            json::read(line.get(blank..)?).ok()
        })
        .map(|read| read.json)
        .filter(|json| json.is_object() || json.is_list())
        .take(HEAD_RECORDS)
        .collect()
}

/// The digest that tells whether a source was imported before: over its redacted bytes, and those
/// of everything that belongs to it.
///
/// # Errors
/// A file cannot be read.
pub fn digest_of(bundle: &Bundle) -> io::Result<[u8; 32]> {
    let main = file_digest(&bundle.main)?;
    with_parts(main, bundle)
}

fn file_digest(path: &Path) -> io::Result<[u8; 32]> {
    let redactor = Redactor::core();
    let mut reader = DigestReader::new(sniff(File::open(path)?)?, &redactor);
    reader.drain()?;
    Ok(reader.finish())
}

fn with_parts(main: [u8; 32], bundle: &Bundle) -> io::Result<[u8; 32]> {
    if bundle.parts.is_empty() {
        return Ok(main);
    }
    let mut hash = Sha256::new();
    hash.update(main);
    for part in &bundle.parts {
        hash.update(file_digest(part)?);
    }
    Ok(hash.finalize().into())
}

/// Imports a source into the new folder `recording`.
///
/// # Errors
/// See [`TranscriptError`]. With [`TranscriptError::Cut`] what came before is recorded.
pub fn import_transcript(
    bundle: &Bundle,
    recording: &Path,
    options: &TranscriptOptions<'_>,
) -> Result<TranscriptReport, TranscriptError> {
    let path = &bundle.main;
    let open = |source| FileError::Open { path: path.clone(), source };
    let Known::Adapter(adapter, is_lines) = known(path).map_err(open)? else {
        let is_empty = path.metadata().is_ok_and(|about| about.len() == 0);
        let path = path.clone();
        return Err(if is_empty {
            TranscriptError::Empty { path }
        } else {
            TranscriptError::Unknown { path }
        });
    };
    let digesting = Redactor::core();
    let plain = sniff(File::open(path).map_err(open)?).map_err(open)?;
    let mut reader = BufReader::with_capacity(1 << 18, DigestReader::new(plain, &digesting));
    let failed = |source| FileError::Record { recording: recording.to_path_buf(), source };
    let mut scribe = Scribe::new(begin(recording, options).map_err(failed)?);
    if let Some(earlier) = options.earlier {
        let clean = scribe.recorder().redact_json(earlier);
        scribe.recorder().imported_record(0, 0, EARLIER, &clean).map_err(failed)?;
    }
    let mut source = Source { path, is_lines, reader: &mut reader, parts: &bundle.parts };
    let read = match adapter.read(&mut source, &mut scribe) {
        Ok(()) => Ok(()),
        Err(Stop::Record(error)) => return Err(failed(error).into()),
        Err(stop) => Err(stop.to_string()),
    };
    let mut digest = reader.into_inner();
    let drained = digest.drain();
    let digest = match (&read, drained) {
        (Ok(()), Ok(())) => with_parts(digest.finish(), bundle).map_err(open).map(Some)?,
        _ => None,
    };
    let report = finish(scribe, adapter, bundle, digest, recording).map_err(failed)?;
    match read {
        Ok(()) => Ok(report),
        Err(reason) => {
            Err(TranscriptError::Cut { path: path.clone(), reason, kept: Box::new(report) })
        }
    }
}

/// With what reason the recording of an earlier state is named.
pub const EARLIER: &str = "earlier state of this source";

fn begin(recording: &Path, options: &TranscriptOptions<'_>) -> Result<Recorder, RecordError> {
    let identity = match options.identity {
        Some(identity) => identity,
        None => Identity::random(options.now_unix_ns)?,
    };
    let spec = RunSpec {
        identity,
        origin: Origin::Transcript,
        source: Some(options.name),
        recorder: options.recorder,
        durability: Durability::Batched,
    };
    Recorder::create(recording, options.redactor.for_new_run(), &spec)
}

fn finish(
    scribe: Scribe,
    adapter: &dyn Adapter,
    bundle: &Bundle,
    source_digest: Option<[u8; 32]>,
    recording: &Path,
) -> Result<TranscriptReport, RecordError> {
    let (mut recorder, tally) = scribe.finish()?;
    let mut beside = None;
    let places = if adapter.looks_beside() { bundle.beside.as_slice() } else { &[] };
    for place in places {
        let mut report = side::read(place, &mut recorder)?;
        report.path.clone_from(place);
        let whole = beside.take().map_or(0, |earlier: side::SideReport| earlier.whole);
        report.whole += whole;
        beside = Some(report);
    }
    let closed = recorder.close(&RunClosed {
        complete: source_digest.is_some(),
        source_digest,
        source_records: tally.rows,
        source_unknown: tally.unknown_total(),
    })?;
    Ok(TranscriptReport {
        format: adapter.name(),
        recording: recording.to_path_buf(),
        source_digest,
        complete: source_digest.is_some(),
        tally,
        side: beside,
        head: Some(closed.head),
    })
}
