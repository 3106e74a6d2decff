//! The one thread that owns the recorder: it takes facts in the order in which they come, writes
//! all that are waiting in one commit, and then tells those who wait that they are durable.

use std::path::PathBuf;
use std::thread::JoinHandle;

use bytes::Bytes;
use ledger::content::Content;
use ledger::event::{RunClosed, Rung, notes};
use ledger::id::RequestId;
use ledger::recorder::{Found, FoundText, RecordError, Recorder, Reply, Sent};
use ledger::wire::Dialect;
use tokio::sync::{mpsc, oneshot};

use super::entry::Side;
use super::error::LiveError;
use super::hook::{self, Heard};
use super::proxy::LiveReport;
use super::{ANSWER_BYTES_MAX, Clock, REQUEST_BYTES_MAX, SIDE_BYTES_MAX};
use crate::coding::{self, Decoding};
use crate::import::credentials;
use crate::intake::{self, Arrived, Fields, Intake};

/// Facts that may wait for the recorder; whoever has one more waits.
const QUEUE_MAX: usize = 256;
/// Facts that are written in one commit.
const BATCH_MAX: usize = 64;

/// Texts of hooks that are held until the run ends, in bytes; beyond it only the messages are kept.
const HEARD_BYTES_MAX: usize = 256 << 20;

/// Reason of the record of a request that was sent though it could not be captured.
const UNCAPTURED: &str = "request sent without being captured";
/// Reason of the record of an exchange that is no request.
const SIDE: &str = "exchange that is not a model request kept as a record";

/// A request as the client sent it.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Fields,
    /// As sent, content coding and all.
    pub(super) body: Bytes,
    pub(super) via: Via,
}

/// How a request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Via {
    Http,
    /// As a message on a WebSocket. The body is what the model sees, put together from it and
    /// those before; `is_whole` tells that nothing of it is missing.
    Socket {
        is_whole: bool,
        previous: Option<String>,
    },
}

/// What the scribe says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It is captured and durable.
    Request { request: RequestId, dialect: Dialect },
    /// It asks no model for anything; it is recorded with its answer.
    Side,
}

/// Why a request cannot be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its content coding cannot be undone, so that secrets in it could not be found.
    Coded,
    /// It would grow beyond the limit.
    TooLarge,
    /// The recording cannot be written.
    Unwritable,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Outcome {
    /// 0 when there was no answer.
    pub(super) status: u16,
    pub(super) headers: Fields,
    /// As passed on, content coding and all; `None` where it was longer than is kept.
    pub(super) body: Option<Vec<u8>>,
    pub(super) time_us: u64,
    pub(super) end: AnswerEnd,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// The upstream had no more.
    Finished,
    /// The upstream broke off.
    Cut,
    /// The client hung up; whether that was after the last event, the answer's bytes tell.
    HungUp,
}

enum Fact {
    Arrival { arrival: Box<Arrival>, reply: oneshot::Sender<Result<Admitted, Refused>> },
    Sent { request: RequestId, at_unix_ns: u64, method: String, url: String, headers: Fields },
    Outcome { request: RequestId, dialect: Dialect, outcome: Box<Outcome> },
    Side(Box<Side>),
    Hook { message: Bytes, reply: oneshot::Sender<Result<Admitted, Refused>> },
    Uncaptured,
    Close { reply: oneshot::Sender<Result<LiveReport, RecordError>> },
}

/// Hands facts to the recorder's thread.
#[derive(Clone, Debug)]
pub(super) struct Scribe {
    facts: mpsc::Sender<Fact>,
}

/// Starts the thread.
pub(super) fn start(
    recorder: Recorder,
    clock: Clock,
    environment: Option<String>,
) -> Result<(Scribe, JoinHandle<()>), LiveError> {
    let (facts, waiting) = mpsc::channel(QUEUE_MAX);
    let thread = std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || {
            let mut desk = Desk {
                intake: Some(Intake::new(recorder)),
                clock,
                broken: None,
                report: LiveReport::default(),
                heard: Vec::new(),
                heard_bytes: 0,
            };
            desk.environment(environment.as_deref());
            desk.run(waiting);
        })
        .map_err(|source| LiveError::Runtime { source })?;
    Ok((Scribe { facts }, thread))
}

impl Scribe {
    /// Captures a request; returns when it is on the disk.
    pub(super) async fn arrival(&self, arrival: Arrival) -> Result<Admitted, Refused> {
        let (reply, told) = oneshot::channel();
        let fact = Fact::Arrival { arrival: Box::new(arrival), reply };
        self.facts.send(fact).await.map_err(|_gone| Refused::Unwritable)?;
        told.await.unwrap_or(Err(Refused::Unwritable))
    }

    /// Records that a captured request is about to be sent.
    pub(super) async fn sent(&self, request: RequestId, at_unix_ns: u64, arrival: &Arrival) {
        self.tell(Fact::Sent {
            request,
            at_unix_ns,
            method: arrival.method.clone(),
            url: arrival.url.clone(),
            headers: arrival.headers.clone(),
        })
        .await;
    }

    pub(super) async fn outcome(&self, request: RequestId, dialect: Dialect, outcome: Outcome) {
        self.tell(Fact::Outcome { request, dialect, outcome: Box::new(outcome) }).await;
    }

    pub(super) async fn side(&self, side: Side) {
        self.tell(Fact::Side(Box::new(side))).await;
    }

    /// Records a message of a tool hook; returns when it is on the disk.
    pub(super) async fn hook(&self, message: Bytes) -> Result<(), Refused> {
        let (reply, told) = oneshot::channel();
        let fact = Fact::Hook { message, reply };
        self.facts.send(fact).await.map_err(|_gone| Refused::Unwritable)?;
        told.await.unwrap_or(Err(Refused::Unwritable)).map(drop)
    }

    pub(super) async fn uncaptured(&self) {
        self.tell(Fact::Uncaptured).await;
    }

    /// Ends the run.
    pub(super) async fn close(&self) -> Option<Result<LiveReport, RecordError>> {
        let (reply, told) = oneshot::channel();
        self.facts.send(Fact::Close { reply }).await.ok()?;
        told.await.ok()
    }

    async fn tell(&self, fact: Fact) {
        // Where the thread is gone, closing says so.
        let _gone = self.facts.send(fact).await;
    }
}

/// Whoever waits for a commit, and what they are told if it succeeds.
type Waiting = Vec<(oneshot::Sender<Result<Admitted, Refused>>, Result<Admitted, Refused>)>;

struct Desk {
    /// `None` once the run is closed.
    intake: Option<Intake>,
    clock: Clock,
    /// The first failure; after it nothing is taken any more.
    broken: Option<RecordError>,
    report: LiveReport,
    /// What hooks said, with the number of the message.
    heard: Vec<(u64, Heard)>,
    heard_bytes: usize,
}

impl Desk {
    fn run(&mut self, mut facts: mpsc::Receiver<Fact>) {
        while let Some(first) = facts.blocking_recv() {
            let mut waiting = Vec::new();
            let mut next = Some(first);
            let mut taken = 0;
            let mut close = None;
            while let Some(fact) = next {
                if let Fact::Close { reply } = fact {
                    close = Some(reply);
                    break;
                }
                self.take(fact, &mut waiting);
                taken += 1;
                next = if taken < BATCH_MAX { facts.try_recv().ok() } else { None };
            }
            self.commit();
            for (reply, told) in waiting {
                let told = if self.broken.is_some() { Err(Refused::Unwritable) } else { told };
                // A client that hung up in the meantime does not wait any more.
                let _gone = reply.send(told);
            }
            if let Some(reply) = close {
                let _gone = reply.send(self.close());
                return;
            }
        }
    }

    fn commit(&mut self) {
        self.attempt(|intake| intake.recorder_mut().commit());
    }

    /// Does something with the recorder, unless it has failed before.
    fn attempt<T>(&mut self, act: impl FnOnce(&mut Intake) -> Result<T, RecordError>) -> Option<T> {
        if self.broken.is_some() {
            return None;
        }
        match act(self.intake.as_mut()?) {
            Ok(done) => Some(done),
            Err(error) => {
                self.broken = Some(error);
                None
            }
        }
    }

    fn take(&mut self, fact: Fact, waiting: &mut Waiting) {
        let now = (self.clock)();
        if let Some(intake) = &mut self.intake {
            intake.recorder_mut().set_time(now);
        }
        match fact {
            Fact::Arrival { arrival, reply } => {
                let told = self.arrival(&arrival);
                waiting.push((reply, told));
            }
            Fact::Sent { request, at_unix_ns, method, url, headers } => {
                let sent = Sent {
                    at_unix_ns: Some(at_unix_ns),
                    method: &method,
                    url: &url,
                    headers: &headers,
                };
                self.attempt(|intake| intake.sent(request, &sent));
            }
            Fact::Outcome { request, dialect, outcome } => {
                self.outcome(request, dialect, &outcome);
            }
            Fact::Side(side) => self.side(*side),
            Fact::Hook { message, reply } => {
                self.hook(&message);
                waiting.push((reply, Ok(Admitted::Side)));
            }
            Fact::Uncaptured => {
                self.report.uncaptured += 1;
                self.record(UNCAPTURED, "{}");
            }
            Fact::Close { .. } => {}
        }
    }

    fn environment(&mut self, told: Option<&str>) {
        if let Some(told) = told {
            self.record(notes::ENVIRONMENT, told);
            self.commit();
        }
    }

    fn record(&mut self, reason: &str, json: &str) {
        let index = self.report.exchanges();
        self.attempt(|intake| {
            let recorder = intake.recorder_mut();
            let redacted = recorder.redact_json(json.as_bytes());
            recorder.imported_record(index, 0, reason, &redacted)
        });
    }

    fn arrival(&mut self, arrival: &Arrival) -> Result<Admitted, Refused> {
        let undone = coding::as_read(&arrival.body, &arrival.headers, REQUEST_BYTES_MAX);
        let undone = undone.map_err(|error| match error {
            Decoding::TooLarge => Refused::TooLarge,
            _ => Refused::Coded,
        })?;
        let plain = undone.bytes;
        let rung = match &arrival.via {
            Via::Http if undone.coding.is_none() => Rung::WireExact,
            Via::Http => Rung::BodyExact,
            Via::Socket { is_whole: true, .. } => Rung::Reconstructed,
            Via::Socket { is_whole: false, .. } => Rung::Lossy,
        };
        let dialect = match arrival.via {
            Via::Http => {
                intake::dialect(&arrival.method, &arrival.url, &arrival.headers, Some(&plain))
            }
            Via::Socket { .. } => Some(Dialect::OpenAiResponses),
        };
        let Some(dialect) = dialect else { return Ok(Admitted::Side) };
        let arrived = Arrived {
            dialect,
            body: &plain,
            headers: &arrival.headers,
            rung,
            content_coding: undone.coding,
            sent_bytes: arrival.body.len() as u64,
        };
        let taken = self.attempt(|intake| intake.request(&arrived)).ok_or(Refused::Unwritable)?;
        self.report.requests += 1;
        self.report.conversations += u64::from(taken.opened);
        self.report.request_bytes += taken.captured.body_bytes;
        if let Via::Socket { previous, .. } = &arrival.via {
            let request = taken.captured.request.ordinal();
            let told = serde_json::json!({ "request": request, "previous_response_id": previous });
            self.record(notes::SOCKET, &told.to_string());
        }
        Ok(Admitted::Request { request: taken.captured.request, dialect })
    }

    fn outcome(&mut self, request: RequestId, dialect: Dialect, outcome: &Outcome) {
        let body = outcome.body.as_deref();
        let plain =
            body.and_then(|body| coding::as_far_as_read(body, &outcome.headers, ANSWER_BYTES_MAX));
        let mime = field(&outcome.headers, "content-type");
        let reply = Reply {
            status: outcome.status,
            headers: &outcome.headers,
            mime: &mime,
            body: plain.as_deref(),
            time_us: Some(outcome.time_us),
            cut: outcome.end == AnswerEnd::Cut,
        };
        self.attempt(|intake| intake.answered(request, dialect, &reply));
        if outcome.end == AnswerEnd::HungUp {
            let told = serde_json::json!({
                "request": request.ordinal(),
                "delivered_bytes": body.map(<[u8]>::len),
            });
            self.record(notes::HUNG_UP, &told.to_string());
        }
    }

    fn side(&mut self, mut side: Side) {
        self.report.side += 1;
        let plain = |body: Option<Vec<u8>>, headers: &Fields| {
            let body = coding::as_far_as_read(&body?, headers, ANSWER_BYTES_MAX)?;
            (body.len() <= SIDE_BYTES_MAX).then_some(body)
        };
        side.body = plain(side.body.take(), &side.headers);
        side.answer = plain(side.answer.take(), &side.answer_headers);
        let index = self.report.exchanges();
        self.attempt(|intake| {
            let recorder = intake.recorder_mut();
            let text = credentials::redact(recorder, side.to_json().as_bytes());
            let redacted = recorder.redact_json(&text);
            recorder.imported_record(index, 0, SIDE, &redacted)
        });
    }

    /// Keeps a message as it is, and what it says of a call until the calls are known.
    fn hook(&mut self, message: &[u8]) {
        self.report.hooks += 1;
        self.record(notes::HOOK, &String::from_utf8_lossy(message));
        let Some(heard) = hook::heard(message) else { return };
        self.heard_bytes += heard.text.len();
        if self.heard_bytes <= HEARD_BYTES_MAX {
            self.heard.push((self.report.hooks - 1, heard));
        }
    }

    /// Joins what hooks said to the calls, where it is more than the client sent.
    fn join(&mut self) -> Option<()> {
        let heard = std::mem::take(&mut self.heard);
        if heard.is_empty() {
            return Some(());
        }
        let calls = self.intake.as_ref()?.recorder().calls_seen();
        for (record, heard) in heard {
            let mut named =
                calls.iter().filter(|call| call.provider_id.as_ref() == Some(&heard.call_id));
            // An id that two conversations gave out names no call.
            let (Some(call), None) = (named.next(), named.next()) else { continue };
            let sent = call.texts.iter().map(Content::len).sum::<u64>();
            if heard.text.len() as u64 <= sent {
                continue;
            }
            // Clients cut what they tell hooks, so that nobody vouches for the end.
            let text = FoundText::Ends { head: &heard.text, tail: "", gap_bytes: None };
            let found = Found { call: call.call, index: 0, source: "hook", record, text };
            self.attempt(|intake| intake.recorder_mut().output_found(&found))?;
            self.report.joined += 1;
        }
        Some(())
    }

    fn close(&mut self) -> Result<LiveReport, RecordError> {
        // A failure of it is that of the recording, which is told below.
        let _broken = self.join();
        let report = self.report.clone();
        let closed = RunClosed {
            complete: report.uncaptured == 0,
            source_digest: None,
            source_records: report.exchanges(),
            source_unknown: report.side,
        };
        let intake = self.intake.take();
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if let Some(intake) = intake {
            intake.into_recorder().close(&closed)?;
        }
        Ok(report)
    }
}

fn field(headers: &Fields, wanted: &str) -> String {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// Where a recording is, for errors.
pub(super) fn failed(recording: PathBuf) -> impl FnOnce(RecordError) -> LiveError {
    move |source| LiveError::Record { recording, source }
}
