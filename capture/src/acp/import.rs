//! Makes a recording of a log of protocol messages: one file, one run, one folder.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use ledger::event::{Origin, RunClosed};
use ledger::fs::Head;
use ledger::identity::journal::JournalError;
use ledger::recorder::{Durability, Identity, RecordError, Recorder, RunSpec};

use super::LINE_BYTES_MAX;
use super::message::parse;
use super::session::{Counts, Protocol, Taken};
use crate::har::sniff;
use crate::import::digest::DigestReader;
use crate::import::{FileError, Holder};
use crate::line::{self, Line};

/// Why a log was not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcpError {
    /// The file cannot be read on. What was read before is in the recording.
    #[error("file cannot be read on after {bytes} bytes: {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Bytes that were read.
        bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// No line of the file is a message.
    #[error("no message in the file: {}", path.display())]
    NoMessage {
        /// The file.
        path: PathBuf,
    },
    /// The file does not open, or its recording cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

/// How an import is done.
#[derive(Debug)]
pub struct AcpOptions<'a> {
    /// Version of the program, for the record.
    pub recorder: &'a str,
    /// Wall time, Unix nanoseconds; information only.
    pub now_unix_ns: u64,
    /// Fixed identities for fixtures; random ones otherwise.
    pub identity: Option<Identity>,
    /// Name of the recording; that of the file otherwise.
    pub name: Option<&'a str>,
    /// Replaces secrets in what is recorded. The digest that names the source is by the core rules
    /// whatever these are.
    pub redactor: Redactor,
    /// Names of the tools that the client's servers offer. Without them, every call is native.
    pub tools: Vec<String>,
}

/// What became of a log.
#[derive(Clone, Debug)]
pub struct AcpReport {
    /// Its recording.
    pub recording: PathBuf,
    /// It had been imported before.
    pub skipped: bool,
    /// What was counted; nothing when it was skipped.
    pub counts: Counts,
    /// Lines that are no message, kept as records.
    pub unread_lines: u64,
    /// Lines beyond the limit, not kept.
    pub long_lines: u64,
    /// Head of the log.
    pub head: Option<Head>,
}

/// Name of the recording that a file makes: its name without `.jsonl`, `.zst` or `.gz`.
pub(super) fn recording_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = [".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let ends = [".acp.jsonl", ".jsonl", ".ndjson", ".log"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

type Source<'r> = BufReader<DigestReader<'r, Box<dyn io::Read>>>;

fn open<'r>(path: &Path, redactor: &'r Redactor) -> Result<Source<'r>, AcpError> {
    let failed = |source| FileError::Open { path: path.to_path_buf(), source };
    let plain = sniff(File::open(path).map_err(failed)?).map_err(failed)?;
    Ok(BufReader::new(DigestReader::new(plain, redactor)))
}

/// Imports a log into a new folder below `into`.
///
/// # Errors
/// See [`AcpError`].
pub fn import_acp(
    path: &Path,
    into: &Path,
    options: &AcpOptions<'_>,
) -> Result<AcpReport, AcpError> {
    let own = || recording_name(path);
    let name = options.name.map(str::to_owned).or_else(own);
    let name = name.ok_or_else(|| FileError::NoName { path: path.to_path_buf() })?;
    let recording = into.join(&name);
    let redactor = Redactor::core();
    if recording.exists() {
        return compare(path, recording, &redactor);
    }
    if !has_message(path, &redactor)? {
        return Err(AcpError::NoMessage { path: path.to_path_buf() });
    }
    let failed = |source| FileError::Record { recording: recording.clone(), source };
    let mut source = open(path, &redactor)?;
    let recorder = begin(&recording, &name, options, Origin::Acp).map_err(failed)?;
    let mut run = Run::new(recorder, Protocol::new(options.tools.clone()));
    let stop = run.lines(&mut source, options.now_unix_ns);
    let read = match stop {
        Ok(read) => read,
        Err(error) => return Err(failed(error).into()),
    };
    let digest = match read {
        Ok(()) => Some(source.into_inner().finish()),
        Err(_) => None,
    };
    let report = run.close(digest, recording.clone()).map_err(failed)?;
    match read {
        Ok(()) => Ok(report),
        Err((bytes, source)) => Err(AcpError::Read { path: path.to_path_buf(), bytes, source }),
    }
}

/// True when one of the first lines is a message: whatever is not a log makes no recording.
fn has_message(path: &Path, redactor: &Redactor) -> Result<bool, AcpError> {
    const LINES_MAX: usize = 100;
    let mut source = open(path, redactor)?;
    let mut line = Vec::new();
    for _ in 0..LINES_MAX {
        let read = line::next(&mut source, &mut line, LINE_BYTES_MAX, 0);
        let (read, _) =
            read.map_err(|source| AcpError::Read { path: path.to_path_buf(), bytes: 0, source })?;
        match read {
            Line::End => return Ok(false),
            Line::Text if parse(line.trim_ascii()).is_some() => return Ok(true),
            Line::Text | Line::TooLong => {}
        }
    }
    Ok(false)
}

pub(super) fn begin(
    recording: &Path,
    name: &str,
    options: &AcpOptions<'_>,
    origin: Origin,
) -> Result<Recorder, RecordError> {
    let identity = match options.identity {
        Some(identity) => identity,
        None => Identity::random(options.now_unix_ns)?,
    };
    let spec = RunSpec {
        identity,
        origin,
        source: Some(name),
        recorder: options.recorder,
        durability: Durability::Batched,
    };
    Recorder::create(recording, options.redactor.clone(), &spec)
}

/// A name that is taken: fine when it is the same log, else an error.
fn compare(path: &Path, recording: PathBuf, redactor: &Redactor) -> Result<AcpReport, AcpError> {
    let holder = Holder::read(&recording, Origin::Acp).map_err(FileError::from)?;
    let mut source = open(path, redactor)?.into_inner();
    let failed = |source| AcpError::Read { path: path.to_path_buf(), bytes: 0, source };
    source.drain().map_err(failed)?;
    holder.same(source.finish()).map_err(FileError::from)?;
    let counts = Counts::default();
    Ok(AcpReport { recording, skipped: true, counts, unread_lines: 0, long_lines: 0, head: None })
}

/// Where in the source a run is.
#[derive(Debug)]
struct At {
    index: u64,
    offset: u64,
    unread_lines: u64,
    long_lines: u64,
    records: u64,
}

impl At {
    fn new() -> Self {
        Self { index: 0, offset: 0, unread_lines: 0, long_lines: 0, records: 0 }
    }
}

/// A log on its way into a recording: of a file or of a live connection.
#[derive(Debug)]
pub(super) struct Run {
    recorder: Recorder,
    protocol: Protocol,
    at: At,
}

impl Run {
    pub(super) fn new(recorder: Recorder, protocol: Protocol) -> Self {
        Self { recorder, protocol, at: At::new() }
    }

    fn lines(
        &mut self,
        source: &mut Source<'_>,
        now_unix_ns: u64,
    ) -> Result<Result<(), (u64, io::Error)>, RecordError> {
        let mut line = Vec::new();
        loop {
            let (read, bytes) = match line::next(source, &mut line, LINE_BYTES_MAX, 0) {
                Ok(read) => read,
                Err(error) => return Ok(Err((self.at.offset, error))),
            };
            match read {
                Line::End => return Ok(Ok(())),
                Line::TooLong => self.at.long_lines += 1,
                Line::Text => self.line(&line, None, now_unix_ns)?,
            }
            self.at.index += 1;
            self.at.offset += bytes;
        }
    }

    /// Takes a line; `direction` where the caller carried it.
    pub(super) fn line(
        &mut self,
        line: &[u8],
        direction: Option<super::Direction>,
        now_unix_ns: u64,
    ) -> Result<(), RecordError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let Some(mut framed) = parse(line) else {
            self.at.unread_lines += 1;
            return self.keep(line, "line that is no protocol message");
        };
        framed.direction = direction.or(framed.direction);
        if let Some(time) = framed.time_ns {
            // A log's clock may begin with it; a time of this century is one as it stands.
            const CENTURY_UNIX_NS: u64 = 946_684_800_000_000_000;
            let absolute = time >= CENTURY_UNIX_NS;
            self.recorder.set_time(if absolute { time } else { now_unix_ns.saturating_add(time) });
        } else {
            self.recorder.set_time(now_unix_ns);
        }
        match self.protocol.message(&framed, &mut self.recorder.journal()) {
            Ok(Taken::Facts) => Ok(()),
            Ok(Taken::Other(reason)) => self.keep(line, reason),
            // What does not fit is kept as it stands; only a failure to write is one.
            Err(JournalError::Record(error)) => Err(error),
            Err(_misfit) => self.keep(line, "message that does not fit the ones before"),
        }
    }

    fn keep(&mut self, line: &[u8], reason: &str) -> Result<(), RecordError> {
        self.at.records += 1;
        let bytes = self.recorder.redact_json(line);
        self.recorder.imported_record(self.at.index, self.at.offset, reason, &bytes)
    }

    /// Counts a line that was carried.
    pub(super) fn carried(&mut self, bytes: u64) {
        self.at.index += 1;
        self.at.offset += bytes;
    }

    pub(super) fn too_long(&mut self) {
        self.at.long_lines += 1;
    }

    pub(super) fn commit(&mut self) -> Result<(), RecordError> {
        self.recorder.commit()
    }

    pub(super) fn ended(&mut self, failed: bool) -> Result<(), RecordError> {
        self.protocol.ended(failed, &mut self.recorder.journal()).map_err(RecordError::from)
    }

    pub(super) fn close(
        mut self,
        source_digest: Option<[u8; 32]>,
        recording: PathBuf,
    ) -> Result<AcpReport, RecordError> {
        self.ended(false)?;
        let closed = self.recorder.close(&RunClosed {
            complete: self.at.long_lines == 0,
            source_digest,
            source_records: self.at.index,
            source_unknown: self.at.records,
        })?;
        Ok(AcpReport {
            recording,
            skipped: false,
            counts: self.protocol.counts(),
            unread_lines: self.at.unread_lines,
            long_lines: self.at.long_lines,
            head: Some(closed.head),
        })
    }
}
