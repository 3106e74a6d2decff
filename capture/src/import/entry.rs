//! One HAR entry: a request with its answer, or a record.

use ledger::event::Rung;
use ledger::recorder::{Capture, Prepared, RecordError, Recorder, Reply, Sent, SessionSpec};
use ledger::wire::Dialect;

use super::credentials;
use super::report::{ImportReport, NoteKind};
use crate::har::{Body, Coding, Decoding, Entry, HarError, Header, Payload, parse_entry};
use crate::lane::{Lane, Lanes};

/// Imports entry after entry.
pub(crate) struct Importer {
    recorder: Recorder,
    lanes: Lanes,
    report: ImportReport,
}

type Fields = Vec<(String, Vec<u8>)>;

impl Importer {
    pub(crate) fn new(recorder: Recorder, name: &str) -> Self {
        Self { recorder, lanes: Lanes::default(), report: ImportReport::new(name) }
    }

    pub(crate) fn finish(self) -> (Recorder, ImportReport) {
        (self.recorder, self.report)
    }

    pub(super) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    pub(super) fn report_mut(&mut self) -> &mut ImportReport {
        &mut self.report
    }

    /// Notes an entry that the reader had to leave out.
    pub(crate) fn skipped(&mut self, error: &HarError) {
        if let HarError::EntryTooLarge { index, .. } | HarError::EntryTooDeep { index, .. } = error
        {
            self.report.entries += 1;
            self.report.note(NoteKind::TooLarge, *index);
        }
    }

    /// Imports one entry.
    pub(crate) fn entry(&mut self, index: u64, offset: u64, raw: &[u8]) -> Result<(), RecordError> {
        self.report.entries += 1;
        let Ok(entry) = parse_entry(raw, index, offset) else {
            return self.record(index, offset, raw, NoteKind::Unparsed);
        };
        if let Some(at) = entry.started_unix_ns {
            self.recorder.set_time(at);
        }
        let sent = fields(&entry.request.headers);
        if is_sealed(&entry.request.body) {
            return self.sealed(&entry);
        }
        let kind = match (&entry.request.body, dialect(&entry, &sent)) {
            _ if entry.web_socket_messages.is_some() || entry.response.status == 101 => {
                NoteKind::WebSocket
            }
            (Body::Present(body), Some(dialect)) => {
                return self.request(&entry, dialect, body, &sent);
            }
            (_, Some(_)) if entry.request.method == "POST" => NoteKind::NoBody,
            _ if is_sealed(&entry.response.body) => return self.sealed(&entry),
            _ => NoteKind::SideExchange,
        };
        self.record(index, offset, raw, kind)
    }

    /// Keeps what may be kept of an exchange whose bodies nobody can look into: that it was there.
    fn sealed(&mut self, entry: &Entry<'_>) -> Result<(), RecordError> {
        let url = entry.request.url.split(['?', '#']).next().unwrap_or_default();
        let behind_host = url.split_once("://").map_or(url, |(_scheme, rest)| rest);
        let path = behind_host.split_once('/').map_or("", |(_host, path)| path);
        let told = serde_json::json!({
            "method": entry.request.method,
            "path": path,
            "status": entry.response.status,
            "request_bytes": stored_bytes(&entry.request.body),
            "response_bytes": stored_bytes(&entry.response.body),
        });
        self.record(entry.index, entry.offset, told.to_string().as_bytes(), NoteKind::Coded)
    }

    /// Keeps an entry as it stands, redacted.
    fn record(
        &mut self,
        index: u64,
        offset: u64,
        raw: &[u8],
        kind: NoteKind,
    ) -> Result<(), RecordError> {
        self.report.records += 1;
        self.report.note(kind, index);
        let text = credentials::redact(&self.recorder, raw);
        let redacted = self.recorder.redact_json(&text);
        self.recorder.imported_record(index, offset, kind.words(), &redacted)
    }

    fn request(
        &mut self,
        entry: &Entry<'_>,
        dialect: Dialect,
        body: &Payload,
        sent: &Fields,
    ) -> Result<(), RecordError> {
        let prepared = Prepared::new(dialect, &body.bytes);
        let assigned = self.lanes.assign(&prepared, sent);
        let session = match &assigned.lane {
            Lane::Known(session) => *session,
            Lane::New { basis, parent, client_session } => {
                self.report.conversations += 1;
                self.recorder.open_session(&SessionSpec {
                    parent: *parent,
                    basis: *basis,
                    client_session: client_session.as_deref(),
                })?
            }
        };
        let rung = self.rung(entry.index, body);
        if prepared.unsplit().is_some() {
            self.report.note(NoteKind::Unsplit, entry.index);
        }
        let coding = coding(body);
        let captured = self.recorder.request_captured(
            &prepared,
            &Capture {
                session,
                rung,
                content_coding: coding,
                sent_bytes: body.coded_bytes.unwrap_or(body.bytes.len() as u64),
                policy: None,
            },
        )?;
        self.lanes.remember(assigned, session);
        self.report.requests += 1;
        self.report.request_bytes += captured.body_bytes;
        if captured.redactions > 0 {
            self.report.note(NoteKind::Redacted, entry.index);
        }
        self.recorder.request_dispatched(
            captured.request,
            &Sent {
                at_unix_ns: entry.started_unix_ns,
                method: &entry.request.method,
                url: &entry.request.url,
                headers: sent,
            },
        )?;
        self.answer(entry, captured.request, dialect)
    }

    fn answer(
        &mut self,
        entry: &Entry<'_>,
        request: ledger::id::RequestId,
        dialect: Dialect,
    ) -> Result<(), RecordError> {
        let response = &entry.response;
        let headers = fields(&response.headers);
        let body = match &response.body {
            Body::Present(payload) if !is_sealed(&response.body) => Some(payload.bytes.as_slice()),
            Body::Present(_) => {
                self.report.note(NoteKind::Coded, entry.index);
                None
            }
            Body::Absent | Body::Unread(_) => None,
        };
        let reply = Reply {
            status: response.status,
            headers: &headers,
            mime: response.mime.as_deref().unwrap_or_default(),
            body,
            time_us: entry.time_us,
            cut: entry.cut == Some(true),
        };
        self.recorder.answered(request, dialect, &reply)
    }

    /// What can be claimed of a body that was read from a HAR: never the connection's bytes.
    fn rung(&mut self, entry: u64, body: &Payload) -> Rung {
        if body.not_utf8 {
            self.report.note(NoteKind::NotUtf8, entry);
            return Rung::Reconstructed;
        }
        if body.declared_bytes.is_some_and(|bytes| bytes >= 0) && !body.declared_matches {
            self.report.note(NoteKind::LengthDiffers, entry);
            return Rung::Reconstructed;
        }
        match body.decoding {
            Decoding::Plain | Decoding::Undone => Rung::BodyExact,
            _ => Rung::Reconstructed,
        }
    }
}

/// True for a body that is still under a coding: secrets in it cannot be found.
fn is_sealed(body: &Body) -> bool {
    let Body::Present(payload) = body else { return false };
    !matches!(payload.decoding, Decoding::Plain | Decoding::Undone | Decoding::NotAsDeclared)
}

fn stored_bytes(body: &Body) -> Option<usize> {
    let Body::Present(payload) = body else { return None };
    Some(payload.bytes.len())
}

fn fields(headers: &[Header]) -> Fields {
    headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect()
}

/// The dialect of a request, by its endpoint, else by the shape of its body.
fn dialect(entry: &Entry<'_>, headers: &Fields) -> Option<Dialect> {
    if entry.request.method != "POST" || Dialect::asks_no_model(&entry.request.url) {
        return None;
    }
    Dialect::of_path(&entry.request.url).or_else(|| {
        let Body::Present(body) = &entry.request.body else { return None };
        let anthropic =
            headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("anthropic-version"));
        Dialect::of_shape(&body.bytes, anthropic)
    })
}

fn coding(body: &Payload) -> Option<&'static str> {
    if body.decoding != Decoding::Undone {
        return None;
    }
    Some(match body.content_encoding.as_slice() {
        [Coding::Zstd] => "zstd",
        [Coding::Gzip] => "gzip",
        [Coding::Deflate] => "deflate",
        _ => "several",
    })
}
