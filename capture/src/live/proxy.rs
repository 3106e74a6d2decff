//! The recording proxy as its caller sees it: started with a folder and an address, finished with
//! a report.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use artifacts::fs::vfs::Vfs;
use artifacts::redact::Redactor;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use ledger::event::Origin;
use ledger::recorder::{Durability, Identity, Recorder, RunSpec};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use super::Clock;
use super::body::Room;
use super::desk::Desk;
use super::error::LiveError;
use super::exchange;
use super::http::{AnswerBody, refusal};
use super::listen::{self, Handler, Signals};
use super::scribe::{self, Scribe};
use super::spill::Spills;
use super::upstream::{self, UpstreamClient, Upstreams};

/// Threads that pass bytes on; the recorder has one of its own.
const WORKERS: usize = 2;

/// What is done with a request that cannot be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It is not sent; the client gets status 502 and the reason.
    Refuse,
    /// It is sent, and the run is marked as incomplete.
    SendAnyway,
}

/// What is done with a client that asks for a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUpgrade {
    /// It gets one, and its turns are recorded as the model sees them.
    Tunnel,
    /// Status 426, after which clients that can send plain requests, whose bytes are then exact.
    Refuse,
}

/// How a run is recorded.
pub struct ProxySpec {
    /// Folder of the recording, which must not exist.
    pub recording: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// What is done with a request that cannot be captured.
    pub on_failure: OnFailure,
    /// What is done with a client that asks for a WebSocket.
    pub on_upgrade: OnUpgrade,
    /// Version of the program, for the record.
    pub recorder: String,
    /// The redactor that everything recorded goes through.
    pub redactor: Redactor,
    /// Folders below which a client may have saved whole outputs that it names in what it sends.
    pub spill_roots: Vec<PathBuf>,
    /// The disk that is written to.
    pub disk: Arc<dyn Vfs>,
    /// Identities; random ones if there are none.
    pub identity: Option<Identity>,
    /// What the run rests on beside its requests, as JSON: folder, date, versions.
    pub environment: Option<String>,
    /// The time.
    pub clock: Clock,
}

impl core::fmt::Debug for ProxySpec {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ProxySpec")
            .field("recording", &self.recording)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveReport {
    /// Requests captured, attempts counted one by one.
    pub requests: u64,
    /// Conversations.
    pub conversations: u64,
    /// Sum of the bodies, redacted.
    pub request_bytes: u64,
    /// Exchanges that ask no model for anything, kept as records.
    pub side: u64,
    /// Requests that were sent without being captured.
    pub uncaptured: u64,
    /// Messages of tool hooks.
    pub hooks: u64,
    /// Outputs that hooks told more of than the client sent.
    pub joined: u64,
    /// Outputs that were taken whole from the files that the client saved them to.
    pub spilled: u64,
    /// Such files that could not be taken.
    pub unspilled: u64,
}

impl LiveReport {
    /// All exchanges.
    pub fn exchanges(&self) -> u64 {
        self.requests + self.side + self.uncaptured
    }
}

/// What every exchange needs.
pub(super) struct Shared {
    pub(super) scribe: Scribe,
    pub(super) client: Arc<UpstreamClient>,
    /// Room for bodies of requests, and for copies of answers.
    pub(super) requests: Room,
    pub(super) answers: Room,
    pub(super) upstreams: Upstreams,
    pub(super) on_failure: OnFailure,
    pub(super) on_upgrade: OnUpgrade,
    pub(super) clock: Clock,
}

struct Front {
    shared: Arc<Shared>,
    closing: watch::Receiver<bool>,
    /// Held by every exchange; the proxy is idle when only its own is left.
    busy: mpsc::Sender<()>,
}

impl Handler for Front {
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<AnswerBody>> + Send {
        let (to_client, answer) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        let closing = self.closing.clone();
        let busy = self.busy.clone();
        tokio::spawn(async move {
            exchange::run(shared, request, to_client, closing).await;
            drop(busy);
        });
        async move {
            answer.await.unwrap_or_else(|_dropped| {
                let words = "the recording ended before the answer";
                refusal(StatusCode::BAD_GATEWAY, "closing", words)
            })
        }
    }
}

/// A proxy that records.
pub struct Proxy {
    runtime: Runtime,
    addr: SocketAddr,
    recording: PathBuf,
    shared: Arc<Shared>,
    recorder: JoinHandle<()>,
    close: watch::Sender<bool>,
    stop_listening: watch::Sender<bool>,
    idle: mpsc::Receiver<()>,
}

impl core::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Proxy").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Creates the recording and starts to listen.
    ///
    /// # Errors
    /// The folder exists or cannot be written, the address is taken, or the system's root
    /// certificates cannot be read.
    pub fn start(spec: ProxySpec) -> Result<Self, LiveError> {
        let client = upstream::client()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("proxy")
            .enable_all()
            .build()
            .map_err(|source| LiveError::Runtime { source })?;
        let at = |source| LiveError::Listen { addr: spec.listen, source };
        let listener = runtime.block_on(TcpListener::bind(spec.listen)).map_err(at)?;
        let addr = listener.local_addr().map_err(at)?;
        let recorder = create(&spec).map_err(scribe::failed(spec.recording.clone()))?;
        let spills = Spills::below(&spec.spill_roots);
        let desk = Desk::new(recorder, Arc::clone(&spec.clock), spills);
        let (scribe, thread) = scribe::start(desk, spec.environment)?;
        let shared = Arc::new(Shared {
            scribe,
            client,
            requests: Room::new(),
            answers: Room::new(),
            upstreams: spec.upstreams,
            on_failure: spec.on_failure,
            on_upgrade: spec.on_upgrade,
            clock: spec.clock,
        });
        let (close, closing) = watch::channel(false);
        let (stop_listening, stopped) = watch::channel(false);
        let (busy, idle) = mpsc::channel(1);
        let front = Arc::new(Front { shared: Arc::clone(&shared), closing, busy });
        runtime.spawn(listen::serve(listener, front, stopped));
        Ok(Self {
            runtime,
            addr,
            recording: spec.recording,
            shared,
            recorder: thread,
            close,
            stop_listening,
            idle,
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Folder of the recording.
    pub fn recording(&self) -> &std::path::Path {
        &self.recording
    }

    /// Waits for Ctrl-C or a request to end (SIGTERM).
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn wait_for_signal(&self) -> Result<(), LiveError> {
        listen::wait_for_signal(&self.runtime)
    }

    /// From now on Ctrl-C and SIGTERM do not end this process: they are for the command that it
    /// runs, which on a terminal gets the first by itself.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn hold_signals(&self) -> Result<Signals, LiveError> {
        listen::hold_signals(&self.runtime)
    }

    /// Stops listening, gives the exchanges that are under way `grace` to end, and closes the
    /// recording. What is then still under way is recorded as broken off.
    ///
    /// # Errors
    /// The recording could not be written; what was durable before stays.
    pub fn finish(mut self, grace: Duration) -> Result<LiveReport, LiveError> {
        // The listener's own handle of `busy` goes with it.
        let _gone = self.stop_listening.send(true);
        let closed = self.runtime.block_on(async {
            if tokio::time::timeout(grace, self.idle.recv()).await.is_err() {
                let _gone = self.close.send(true);
                let _ended = tokio::time::timeout(grace, self.idle.recv()).await;
            }
            self.shared.scribe.close().await
        });
        self.runtime.shutdown_background();
        let report = closed.ok_or(LiveError::Died)?.map_err(scribe::failed(self.recording))?;
        self.recorder.join().map_err(|_panic| LiveError::Died)?;
        Ok(report)
    }
}

fn create(spec: &ProxySpec) -> Result<Recorder, ledger::recorder::RecordError> {
    let identity = match spec.identity {
        Some(identity) => identity,
        None => Identity::random((spec.clock)())?,
    };
    let run = RunSpec {
        identity,
        origin: Origin::Proxy,
        source: None,
        recorder: &spec.recorder,
        durability: Durability::EachCommit,
    };
    let disk = Arc::clone(&spec.disk);
    Recorder::create_on(disk, &spec.recording, spec.redactor.clone(), &run)
}
