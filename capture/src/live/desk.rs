//! The one thread that owns the recorder: it takes facts in the order in which they come, writes
//! all that are waiting in one commit, and then tells those who wait that they are durable.

mod beside;

use ledger::event::{RunClosed, Rung, notes};
use ledger::id::RequestId;
use ledger::recorder::{RecordError, Recorder, Reply, Sent};
use ledger::wire::Dialect;
use tokio::sync::{mpsc, oneshot};

use self::beside::Beside;
use super::entry::Side;
use super::proxy::LiveReport;
use super::scribe::{Admitted, AnswerEnd, Arrival, Fact, Outcome, Refused, Via};
use super::spill::Spills;
use super::{ANSWER_BYTES_MAX, Clock, REQUEST_BYTES_MAX, SIDE_BYTES_MAX};
use crate::coding::{self, Decoding};
use crate::import::credentials;
use crate::intake::{self, Arrived, Fields, Intake};

/// Facts that are written in one commit.
const BATCH_MAX: usize = 64;

/// How much longer than on the connection an answer may get when its coding is undone: beyond it,
/// and 16 MiB, only its beginning is recorded. Streams of models shrink 10 to 50 times.
const ANSWER_GROWTH_MAX: usize = 200;

/// Reason of the record of a request that was sent though it could not be captured.
const UNCAPTURED: &str = "request sent without being captured";
/// Reason of the record of an exchange that is no request.
const SIDE: &str = "exchange that is not a model request kept as a record";

/// Whoever waits for a commit, and what they are told if it succeeds.
type Waiting = Vec<(oneshot::Sender<Result<Admitted, Refused>>, Result<Admitted, Refused>)>;

/// What the thread works on.
pub(super) struct Desk {
    /// `None` once the run is closed.
    intake: Option<Intake>,
    clock: Clock,
    /// The first failure; after it nothing is taken any more.
    broken: Option<RecordError>,
    report: LiveReport,
    beside: Beside,
}

impl Desk {
    pub(super) fn new(recorder: Recorder, clock: Clock, spills: Spills) -> Self {
        Self {
            intake: Some(Intake::new(recorder)),
            clock,
            broken: None,
            report: LiveReport::default(),
            beside: Beside::new(spills),
        }
    }

    /// Takes facts until the run is closed.
    pub(super) fn run(&mut self, mut facts: mpsc::Receiver<Fact>) {
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
            // Nobody waits for these.
            self.spilled();
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

    pub(super) fn environment(&mut self, told: Option<&str>) {
        if let Some(told) = told {
            self.record(notes::ENVIRONMENT, told);
            self.commit();
        }
    }

    fn record(&mut self, reason: &str, json: &str) {
        self.note(self.report.exchanges(), reason, json);
    }

    fn note(&mut self, index: u64, reason: &str, json: &str) {
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
            let (index, request) = (self.report.exchanges(), taken.captured.request);
            let previous = previous.as_deref();
            self.attempt(|intake| intake.came_over_socket(request, index, previous));
        }
        Ok(Admitted::Request { request: taken.captured.request, dialect })
    }

    fn outcome(&mut self, request: RequestId, dialect: Dialect, outcome: &Outcome) {
        let body = outcome.body.as_deref();
        let plain = body.and_then(|body| {
            let grown = body.len().saturating_mul(ANSWER_GROWTH_MAX).max(SIDE_BYTES_MAX);
            coding::as_far_as_read(body, &outcome.headers, grown.min(ANSWER_BYTES_MAX))
        });
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
        if let Some(course) = &outcome.course {
            let number = request.ordinal();
            self.note(number - 1, notes::EXCHANGE, &course.told(number));
        }
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

    fn close(&mut self) -> Result<LiveReport, RecordError> {
        self.join();
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
