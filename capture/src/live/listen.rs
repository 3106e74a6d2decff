//! Accepts connections and speaks HTTP/1.1 on them, each in a task of its own.

use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::error::LiveError;
use super::http::AnswerBody;

/// Head of a request: all its fields together. Codex puts JSON into header fields.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// Which connection of a client a request came on, and its place on it, both from 1. It stands
/// among the extensions of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnConnection {
    pub(super) connection: u64,
    pub(super) nth: u64,
}

/// Gives one answer to one request.
pub(super) trait Handler: Send + Sync + 'static {
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<AnswerBody>> + Send;
}

/// Serves connections until `closing` turns true; the connections that are open then end with
/// the answer that they are at.
pub(super) async fn serve<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    mut closing: watch::Receiver<bool>,
) {
    let mut accepted = 0;
    loop {
        let stream = tokio::select! {
            () = turned(&mut closing) => return,
            came = listener.accept() => came,
        };
        let Ok((stream, _peer)) = stream else {
            // Out of file descriptors, or the client is gone already: others may come.
            tokio::task::yield_now().await;
            continue;
        };
        accepted += 1;
        tokio::spawn(connection(accepted, stream, Arc::clone(&handler), closing.clone()));
    }
}

async fn connection<H: Handler>(
    number: u64,
    stream: TcpStream,
    handler: Arc<H>,
    mut closing: watch::Receiver<bool>,
) {
    // Small writes are events that somebody waits for.
    let _best_effort = stream.set_nodelay(true);
    let asked = AtomicU64::new(0);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        let nth = asked.fetch_add(1, Ordering::Relaxed) + 1;
        request.extensions_mut().insert(OnConnection { connection: number, nth });
        async move { Ok::<_, Infallible>(handler.handle(request).await) }
    });
    let mut connection = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .preserve_header_case(true)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    // An error here is a client that hung up or did not speak HTTP; hyper has answered it, and
    // the exchange that was under way has seen it.
    tokio::select! {
        _ended = connection.as_mut() => return,
        () = turned(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ended = connection.await;
}

/// Returns when `flag` turns true, or nobody is left who could turn it.
pub(super) async fn turned(flag: &mut watch::Receiver<bool>) {
    // What is borrowed here must not be held while others wait.
    drop(flag.wait_for(|on| *on).await);
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) fn wait_for_signal(runtime: &Runtime) -> Result<(), LiveError> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |source| LiveError::Runtime { source };
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate()).map_err(failed)?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed.map_err(failed),
            _signal = term.recv() => Ok(()),
        }
    })
}

/// Signals that are held back from this process.
#[derive(Debug)]
pub struct Signals {
    terminate: Arc<Mutex<Option<rustix::process::Pid>>>,
}

impl Signals {
    /// Passes SIGTERM on to the process `id` from now on.
    pub fn pass_terminate_to(&self, id: u32) {
        let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
        *self.terminate.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }
}

/// Takes Ctrl-C and SIGTERM; the second is passed on to whom [`Signals`] is told.
pub(super) fn hold_signals(runtime: &Runtime) -> Result<Signals, LiveError> {
    use rustix::process::{Signal, kill_process};
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |source| LiveError::Runtime { source };
    let _inside = runtime.enter();
    let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    let terminate = Arc::new(Mutex::new(None));
    let receiver = Arc::clone(&terminate);
    runtime.spawn(async move {
        loop {
            tokio::select! {
                _pressed = interrupted.recv() => {}
                _asked = terminated.recv() => {
                    let pid = *receiver.lock().unwrap_or_else(PoisonError::into_inner);
                    // A process that is gone needs no signal.
                    let _sent = pid.map(|pid| kill_process(pid, Signal::TERM));
                }
            }
        }
    });
    Ok(Signals { terminate })
}
