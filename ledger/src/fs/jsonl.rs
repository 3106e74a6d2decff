//! A recording as lines of JSON, and back: the way out of this format, for any program.
//!
//! ```text
//! {"counterfold":"jsonl/1","ledger":"0011...","log_gap":false}
//! {"artifact":"5f70...","text":"total 0\n"}             or "base64" for what is no text
//! {"seq":1,"kind":16,"version":1,"unix_ns":5,"body":"AAAA..."}   body in base64
//! {"end":{"artifacts":1,"events":1}}
//! ```
//!
//! Artifacts come in the order of their ids, then events in their order, without seals. What is
//! read back is the canonical form, byte for byte that of an export of the same recording.

use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;
use std::sync::Arc;

use artifacts::fs::ARTIFACT_BYTES_MAX;
use artifacts::fs::vfs::Vfs;
use artifacts::redact::Redactor;
use artifacts::{ArtifactId, Source as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::export::{Canonical, ExportError, Exportable, Exported};
use crate::format_file::FormatFile;
use crate::frame::FrameDraft;
use crate::segment::LedgerId;

/// The first line names this.
const SCHEMA: &str = "jsonl/1";
/// Longest line that is read: an artifact of 1 GiB in base64, and its name.
const LINE_BYTES_MAX: u64 = ARTIFACT_BYTES_MAX / 3 * 4 + 4096;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Start { counterfold: String, ledger: String, log_gap: bool },
    Text { artifact: String, text: String },
    Bytes { artifact: String, base64: String },
    Event { seq: u64, kind: u16, version: u16, unix_ns: u64, body: String },
    End { end: Counts },
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    artifacts: u64,
    events: u64,
}

/// Why lines were not written, or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonlError {
    /// The recording cannot be read or made.
    #[error(transparent)]
    Recording(#[from] ExportError),
    /// The stream cannot be read or written.
    #[error("line {line}: stream failed")]
    Stream {
        /// The line, from 1.
        line: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// A line is not what belongs there.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// Writes the recording `from` as lines of JSON.
///
/// # Errors
/// The recording is damaged, or `out` fails.
pub fn write_jsonl(
    vfs: &Arc<dyn Vfs>,
    from: &Path,
    out: &mut dyn Write,
) -> Result<(u64, u64), JsonlError> {
    let mut source = Exportable::open(vfs, from)?;
    let mut lines = Lines { out, line: 0 };
    let format = source.log.format();
    lines.put(&Line::Start {
        counterfold: SCHEMA.to_owned(),
        ledger: format.ledger_id.to_string(),
        log_gap: format.log_gap,
    })?;
    for id in &source.named {
        let Some(reference) = source.store.reference(id) else { continue };
        let bytes = source.store.read(&reference).map_err(ExportError::from)?;
        let artifact = id.to_string();
        lines.put(&match str::from_utf8(&bytes) {
            Ok(text) => Line::Text { artifact, text: text.to_owned() },
            Err(_) => Line::Bytes { artifact, base64: STANDARD.encode(&bytes) },
        })?;
    }
    let artifacts = source.named.len() as u64;
    let mut events = 0;
    for frame in source.log.frames() {
        let frame = frame.map_err(ExportError::from)?;
        if frame.is_seal() {
            continue;
        }
        events += 1;
        lines.put(&Line::Event {
            seq: events,
            kind: frame.kind(),
            version: frame.version(),
            unix_ns: frame.wall_unix_ns(),
            body: STANDARD.encode(frame.body()),
        })?;
    }
    lines.put(&Line::End { end: Counts { artifacts, events } })?;
    Ok((events, artifacts))
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    line: u64,
}

impl Lines<'_> {
    fn put(&mut self, line: &Line) -> Result<(), JsonlError> {
        self.line += 1;
        let failed = |source| JsonlError::Stream { line: self.line, source };
        let text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        self.out.write_all(&text).map_err(failed)?;
        self.out.write_all(b"\n").map_err(failed)
    }
}

/// Makes the new recording `into` from lines of JSON.
///
/// Every artifact has to have the name that it comes under. What `redactor` would replace is
/// refused rather than replaced, since names and digests speak of the bytes as they were.
///
/// # Errors
/// A line is wrong, `into` exists, or something cannot be written. What was made so far stays,
/// without a seal.
pub fn read_jsonl(
    vfs: &Arc<dyn Vfs>,
    input: &mut dyn BufRead,
    into: &Path,
    redactor: &Redactor,
) -> Result<Exported, JsonlError> {
    let mut reading = Reading { input, line: 0 };
    let Line::Start { counterfold, ledger, log_gap } = reading.next()? else {
        return Err(reading.wrong("no first line of a recording"));
    };
    if counterfold != SCHEMA {
        return Err(reading.wrong("another version of this format"));
    }
    let ledger = LedgerId::parse(&ledger).ok_or_else(|| reading.wrong("not a ledger id"))?;
    let format = FormatFile { log_gap, ..FormatFile::new(ledger) };
    let mut canonical = Canonical::create(vfs, into, &format)?;
    let mut counts = Counts { artifacts: 0, events: 0 };
    loop {
        match reading.next()? {
            Line::Text { artifact, text } if counts.events == 0 => {
                counts.artifacts += 1;
                reading.artifact(&mut canonical, redactor, &artifact, text.as_bytes())?;
            }
            Line::Bytes { artifact, base64 } if counts.events == 0 => {
                counts.artifacts += 1;
                let bytes = reading.bytes(&base64)?;
                reading.artifact(&mut canonical, redactor, &artifact, &bytes)?;
            }
            Line::Event { seq, kind, version, unix_ns, body } if seq == counts.events + 1 => {
                counts.events = seq;
                let body = reading.bytes(&body)?;
                reading.refuse_secret(redactor, &body)?;
                let draft = FrameDraft::new(kind, version, unix_ns, &body);
                let draft = draft.ok_or_else(|| reading.wrong("body is too long"))?;
                canonical.event(&draft)?;
            }
            Line::End { end } if end == counts => break,
            Line::End { .. } => return Err(reading.wrong("lines are missing before the end")),
            _ => return Err(reading.wrong("line is out of order")),
        }
    }
    Ok(canonical.finish()?)
}

struct Reading<'a> {
    input: &'a mut dyn BufRead,
    line: u64,
}

impl Reading<'_> {
    fn next(&mut self) -> Result<Line, JsonlError> {
        self.line += 1;
        let line = self.line;
        let mut text = Vec::new();
        let mut bounded = (&mut *self.input).take(LINE_BYTES_MAX);
        let read = bounded.read_until(b'\n', &mut text);
        read.map_err(|source| JsonlError::Stream { line, source })?;
        if text.pop() != Some(b'\n') {
            return Err(self.wrong("the lines end early, or a line is too long"));
        }
        serde_json::from_slice(&text).map_err(|_json| self.wrong("not a line of this format"))
    }

    fn wrong(&self, what: &'static str) -> JsonlError {
        JsonlError::Line { line: self.line, what }
    }

    fn bytes(&self, base64: &str) -> Result<Vec<u8>, JsonlError> {
        STANDARD.decode(base64).map_err(|_base64| self.wrong("not base64"))
    }

    fn artifact(
        &self,
        canonical: &mut Canonical,
        redactor: &Redactor,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), JsonlError> {
        let id: ArtifactId = name.parse().map_err(|_id| self.wrong("not an artifact id"))?;
        if ArtifactId::of(bytes) != id {
            return Err(self.wrong("artifact does not have its name"));
        }
        let redacted = self.refuse_secret(redactor, bytes)?;
        canonical.store().put(&redacted).map_err(ExportError::from)?;
        Ok(())
    }

    fn refuse_secret<'b>(
        &self,
        redactor: &Redactor,
        bytes: &'b [u8],
    ) -> Result<artifacts::redact::Redacted<'b>, JsonlError> {
        let redacted = redactor.redact(bytes);
        if redacted.as_bytes() != bytes {
            return Err(self.wrong("holds what the rules of redaction replace"));
        }
        Ok(redacted)
    }
}
