//! One HAR entry: a request with its answer, the turns on a WebSocket, or a record.

mod socket;

use std::borrow::Cow;

use ledger::event::Rung;
use ledger::recorder::{RecordError, Recorder, Reply, Sent};
use ledger::wire::Dialect;

use super::credentials;
use super::report::{ImportReport, NoteKind};
use crate::coding;
use crate::har::{Body, Decoding, Entry, HarError, Header, Payload, parse_entry};
use crate::intake::{self, Arrived, Fields, Intake};

/// Imports entry after entry.
pub(crate) struct Importer {
    intake: Intake,
    report: ImportReport,
}

impl Importer {
    pub(crate) fn new(recorder: Recorder, name: &str) -> Self {
        Self { intake: Intake::new(recorder), report: ImportReport::new(name) }
    }

    pub(crate) fn finish(self) -> (Recorder, ImportReport) {
        (self.intake.into_recorder(), self.report)
    }

    pub(super) fn recorder(&mut self) -> &mut Recorder {
        self.intake.recorder_mut()
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
            self.intake.recorder_mut().set_time(at);
        }
        let sent = fields(&entry.request.headers);
        if is_sealed(&entry.request.body) {
            return self.sealed(&entry);
        }
        if let Some(messages) = entry.web_socket_messages {
            let rest = match self.socket(&entry, messages, &sent)? {
                Some(left) => Cow::Owned(socket::without(raw, messages, &left)),
                None => Cow::Borrowed(raw),
            };
            return self.record(index, offset, &rest, NoteKind::WebSocket);
        }
        let kind = match (&entry.request.body, dialect(&entry, &sent)) {
            _ if entry.response.status == 101 => NoteKind::WebSocket,
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
        let recorder = self.intake.recorder_mut();
        let text = credentials::redact(recorder, raw);
        let redacted = recorder.redact_json(&text);
        recorder.imported_record(index, offset, kind.words(), &redacted)
    }

    fn request(
        &mut self,
        entry: &Entry<'_>,
        dialect: Dialect,
        body: &Payload,
        sent: &Fields,
    ) -> Result<(), RecordError> {
        let rung = self.rung(entry.index, body);
        // What an export says of a request is never raised by reading it back.
        let told = Rung::ALL.into_iter().find(|it| entry.rung.as_deref() == Some(it.name()));
        let rung = told.map_or(rung, |told| rung.max(told));
        let taken = self.intake.request(&Arrived {
            dialect,
            body: &body.bytes,
            headers: sent,
            rung,
            content_coding: (body.decoding == Decoding::Undone)
                .then(|| coding::name(&body.content_encoding)),
            sent_bytes: body.coded_bytes.unwrap_or(body.bytes.len() as u64),
        })?;
        let captured = taken.captured;
        self.report.conversations += u64::from(taken.opened);
        if taken.unsplit {
            self.report.note(NoteKind::Unsplit, entry.index);
        }
        self.report.requests += 1;
        self.report.request_bytes += captured.body_bytes;
        if captured.redactions > 0 {
            self.report.note(NoteKind::Redacted, entry.index);
        }
        self.intake.sent(
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
        self.intake.answered(request, dialect, &reply)
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

fn dialect(entry: &Entry<'_>, headers: &Fields) -> Option<Dialect> {
    let body = match &entry.request.body {
        Body::Present(body) => Some(body.bytes.as_slice()),
        Body::Absent | Body::Unread(_) => None,
    };
    intake::dialect(&entry.request.method, &entry.request.url, headers, body)
}
