//! The messages on a WebSocket, as `_webSocketMessages` holds them: those that ask for an answer
//! become requests as the model sees them, like those that are recorded live.

use ledger::event::Rung;
use ledger::id::RequestId;
use ledger::recorder::{RecordError, Reply, Sent};
use ledger::wire::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Importer;
use crate::chain::{self, Ask, Chain, Told};
use crate::har::Entry;
use crate::import::NoteKind;
use crate::intake::{Arrived, Fields};

/// The dialect of the API that is spoken over a WebSocket.
const DIALECT: Dialect = Dialect::OpenAiResponses;
/// The opcode of a text message, as a number.
const TEXT: u64 = 1;

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    opcode: Option<serde_json::Value>,
    /// Seconds since 1970.
    #[serde(default)]
    time: Option<serde_json::Number>,
    data: String,
}

impl Message {
    fn is_text(&self) -> bool {
        match &self.opcode {
            None => true,
            Some(serde_json::Value::String(word)) => word == "text",
            Some(number) => number.as_u64() == Some(TEXT),
        }
    }

    /// When, in microseconds since 1970.
    fn micros(&self) -> Option<u64> {
        let text = self.time.as_ref()?.to_string();
        let (seconds, rest) = text.split_once('.').unwrap_or((&text, ""));
        let rest: String = rest.chars().chain("000000".chars()).take(6).collect();
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?)
    }
}

/// A request whose answer is under way.
struct Turn {
    ask: Ask,
    /// `None` for a warm-up.
    request: Option<RequestId>,
    begun_us: Option<u64>,
    last_us: Option<u64>,
    events: Vec<u8>,
    done: Vec<String>,
}

impl Importer {
    /// Imports the turns, and returns the messages that are part of none; `None` where all are
    /// left.
    pub(super) fn socket<'e>(
        &mut self,
        entry: &Entry<'_>,
        messages: &'e [u8],
        sent: &Fields,
    ) -> Result<Option<Vec<&'e RawValue>>, RecordError> {
        let Ok(all) = serde_json::from_slice::<Vec<&RawValue>>(messages) else { return Ok(None) };
        let count = all.len();
        let mut chain = Chain::default();
        let mut turn: Option<Turn> = None;
        let mut left = Vec::new();
        for raw in all {
            let read = serde_json::from_str::<Message>(raw.get());
            let Some(message) = read.ok().filter(Message::is_text) else {
                left.push(raw);
                continue;
            };
            let is_sent = message.kind == "send";
            let ask = if is_sent { chain.ask(&message.data) } else { None };
            match (ask, &mut turn) {
                (Some(ask), open) => {
                    if let Some(cut) = open.take() {
                        self.socket_answer(&cut, true)?;
                    }
                    if ask.is_warm_up {
                        left.push(raw);
                    }
                    turn = Some(self.socket_request(entry, &message, ask, sent)?);
                }
                (None, Some(open)) if !is_sent => {
                    if open.request.is_none() {
                        left.push(raw);
                    }
                    open.events.extend(chain::event(&message.data));
                    open.last_us = message.micros();
                    if chain.told(&open.ask, &message.data, &mut open.done) == Told::Last
                        && let Some(whole) = turn.take()
                    {
                        self.socket_answer(&whole, false)?;
                    }
                }
                _ => left.push(raw),
            }
        }
        if let Some(cut) = turn {
            self.socket_answer(&cut, true)?;
        }
        Ok((left.len() < count).then_some(left))
    }

    fn socket_request(
        &mut self,
        entry: &Entry<'_>,
        message: &Message,
        ask: Ask,
        sent: &Fields,
    ) -> Result<Turn, RecordError> {
        let begun_us = message.micros();
        let at_unix_ns = begun_us.and_then(|us| us.checked_mul(1000));
        let mut request = None;
        if !ask.is_warm_up {
            if let Some(at) = at_unix_ns {
                self.intake.recorder_mut().set_time(at);
            }
            let taken = self.intake.request(&Arrived {
                dialect: DIALECT,
                body: &ask.body,
                headers: sent,
                rung: if ask.is_whole { Rung::Reconstructed } else { Rung::Lossy },
                content_coding: None,
                sent_bytes: message.data.len() as u64,
            })?;
            let id = taken.captured.request;
            self.report.conversations += u64::from(taken.opened);
            self.report.requests += 1;
            self.report.request_bytes += taken.captured.body_bytes;
            if taken.captured.redactions > 0 {
                self.report.note(NoteKind::Redacted, entry.index);
            }
            self.intake.came_over_socket(id, entry.index, ask.previous.as_deref())?;
            let (method, url) = (&entry.request.method, &entry.request.url);
            self.intake.sent(id, &Sent { at_unix_ns, method, url, headers: sent })?;
            request = Some(id);
        }
        let (events, done) = (Vec::new(), Vec::new());
        Ok(Turn { ask, request, begun_us, last_us: None, events, done })
    }

    fn socket_answer(&mut self, turn: &Turn, cut: bool) -> Result<(), RecordError> {
        let Some(request) = turn.request else { return Ok(()) };
        let mime = "text/event-stream";
        let headers = [("content-type".to_owned(), mime.as_bytes().to_vec())];
        let reply = Reply {
            status: if turn.events.is_empty() { 0 } else { 200 },
            headers: &headers,
            mime,
            body: (!turn.events.is_empty()).then_some(turn.events.as_slice()),
            time_us: turn
                .last_us
                .zip(turn.begun_us)
                .and_then(|(last, begun)| last.checked_sub(begun)),
            cut,
        };
        self.intake.answered(request, DIALECT, &reply)
    }
}

/// An entry with other messages than it has.
pub(super) fn without(raw: &[u8], messages: &[u8], left: &[&RawValue]) -> Vec<u8> {
    let list = serde_json::to_vec(left).unwrap_or_default();
    let Some(at) = memchr::memmem::find(raw, messages) else { return raw.to_vec() };
    let behind = raw.get(at + messages.len()..).unwrap_or_default();
    [raw.get(..at).unwrap_or_default(), &list, behind].concat()
}
