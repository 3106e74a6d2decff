//! Hands facts to the one thread that owns the recorder, and waits for its word that they are on
//! the disk.

use std::path::PathBuf;
use std::thread::JoinHandle;

use bytes::Bytes;
use ledger::id::RequestId;
use ledger::recorder::RecordError;
use ledger::wire::Dialect;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::course::Course;
use super::desk::Desk;
use super::entry::Side;
use super::error::LiveError;
use super::proxy::LiveReport;
use crate::intake::Fields;

/// Facts that may wait for the recorder; whoever has one more waits.
const QUEUE_MAX: usize = 256;

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
    /// The room that the body takes until it is recorded.
    #[expect(dead_code, reason = "it is held, and dropped with the body")]
    pub(super) room: Option<OwnedSemaphorePermit>,
    pub(super) time_us: u64,
    pub(super) end: AnswerEnd,
    /// `None` where nothing came back.
    pub(super) course: Option<Course>,
}

impl Outcome {
    /// No answer.
    pub(super) fn nothing(end: AnswerEnd) -> Self {
        let (headers, body, room, course) = (Fields::new(), None, None, None);
        Self { status: 0, headers, body, room, time_us: 0, end, course }
    }
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

/// What the thread takes.
pub(super) enum Fact {
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
    mut desk: Desk,
    environment: Option<String>,
) -> Result<(Scribe, JoinHandle<()>), LiveError> {
    let (facts, waiting) = mpsc::channel(QUEUE_MAX);
    let thread = std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || {
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

/// Where a recording is, for errors.
pub(super) fn failed(recording: PathBuf) -> impl FnOnce(RecordError) -> LiveError {
    move |source| LiveError::Record { recording, source }
}
