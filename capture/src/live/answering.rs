//! A listener whose answers the caller makes up: the HTTP half of a replay server.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::{Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use ledger::wire::Dialect;

use super::REQUEST_BYTES_MAX;
use super::error::LiveError;
use super::http::{AnswerBody, fields, no_upgrade, refusal, whole};
use super::listen::{self, Handler, Signals};
use super::pump;
use super::socket;
use crate::{coding, intake};

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Asked {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as sent, content coding and all.
    pub body: Vec<u8>,
}

impl Asked {
    /// The body without its content coding; as sent where none is declared or it is not there.
    /// `None` where the coding cannot be undone.
    pub fn plain_body(&self) -> Option<Vec<u8>> {
        match coding::as_read(&self.body, &self.headers, REQUEST_BYTES_MAX) {
            Ok(undone) => Some(undone.bytes.into_owned()),
            Err(_) => None,
        }
    }

    /// The dialect of a request that asks a model for an answer; `plain` is its plain body.
    pub fn dialect(&self, plain: &[u8]) -> Option<Dialect> {
        intake::dialect(&self.method, &self.target, &self.headers, Some(plain))
    }
}

/// One piece of a body and how long to wait before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The wait.
    pub after: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// HTTP status; one that is none becomes 500.
    pub status: u16,
    /// Header fields. Those that HTTP itself sets are left out.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, piece by piece; one piece without a wait is sent with its length.
    pub body: Vec<Piece>,
    /// The connection breaks off behind the last piece.
    pub cut: bool,
}

impl Given {
    /// A stream of events, each in a piece of its own; an event is a JSON text on one line.
    pub fn events(events: &[String]) -> Self {
        let piece = |event: &String| Piece {
            after: Duration::ZERO,
            bytes: format!("data: {event}\n\n").into_bytes(),
        };
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), b"text/event-stream".to_vec())],
            body: events.iter().map(piece).collect(),
            cut: false,
        }
    }
}

/// Makes up answers. Called from several threads at once.
pub trait Answers: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, asked: &Asked) -> Given;

    /// True when a client that asks for a WebSocket gets one; else it gets status 426. What it
    /// then asks is put to [`answer`](Self::answer) as the request that it would be over HTTP.
    fn takes_sockets(&self) -> bool {
        false
    }
}

struct Front<A> {
    answers: Arc<A>,
}

impl<A: Answers> Handler for Front<A> {
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<AnswerBody>> + Send {
        let answers = Arc::clone(&self.answers);
        async move {
            if request.headers().contains_key(UPGRADE) {
                return upgraded(answers, request);
            }
            let (head, body) = request.into_parts();
            let Ok(body) = Limited::new(body, REQUEST_BYTES_MAX).collect().await else {
                let words = "the body is too long, or ended before its length";
                return refusal(StatusCode::BAD_REQUEST, "bad_body", words);
            };
            let asked = Asked {
                method: head.method.to_string(),
                target: target(&head.uri),
                headers: fields(&head.headers),
                body: body.to_bytes().to_vec(),
            };
            let given = tokio::task::spawn_blocking(move || answers.answer(&asked)).await;
            given.map_or_else(
                |_panic| {
                    refusal(StatusCode::INTERNAL_SERVER_ERROR, "internal", "no answer was made up")
                },
                respond,
            )
        }
    }
}

/// Agrees to a WebSocket, or says that plain requests are wanted.
fn upgraded<A: Answers>(answers: Arc<A>, mut request: Request<Incoming>) -> Response<AnswerBody> {
    let key = request.headers().get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let wanted = socket::asks_for_one(request.headers()) && answers.takes_sockets();
    let accept = key.and_then(|key| HeaderValue::from_str(&key).ok());
    let Some(accept) = accept.filter(|_accept| wanted) else {
        return no_upgrade();
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let asked = Asked {
        method: request.method().to_string(),
        target: target(request.uri()),
        headers: fields(request.headers()),
        body: Vec::new(),
    };
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            let client = socket::over(upgraded, Role::Server).await;
            socket::answers::run(answers, asked, client).await;
        }
    });
    let mut answer = Response::new(whole(Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    socket::agree(answer.headers_mut());
    answer.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept);
    answer
}

fn target(uri: &hyper::Uri) -> String {
    uri.path_and_query().map_or_else(String::new, ToString::to_string)
}

/// Fields that HTTP sets anew for a body that is sent in another way than it came.
const SET_ANEW: [&str; 5] =
    ["connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"];

fn respond(given: Given) -> Response<AnswerBody> {
    let at_once =
        !given.cut && given.body.len() <= 1 && given.body.iter().all(|piece| piece.after.is_zero());
    let body = if at_once {
        let bytes: Vec<u8> = given.body.into_iter().flat_map(|piece| piece.bytes).collect();
        whole(Bytes::from(bytes))
    } else {
        in_pieces(given.body, given.cut)
    };
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(given.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in given.headers {
        if SET_ANEW.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            continue;
        }
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(&value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn in_pieces(pieces: Vec<Piece>, cut: bool) -> AnswerBody {
    let (to, frames) = pump::channel();
    tokio::spawn(async move {
        for piece in pieces {
            if !piece.after.is_zero() {
                tokio::time::sleep(piece.after).await;
            }
            if to.send(Ok(Frame::data(Bytes::from(piece.bytes)))).await.is_err() {
                return;
            }
        }
        if cut {
            pump::break_off(&to).await;
        }
    });
    StreamBody::new(frames).boxed()
}

/// A listener that answers.
pub struct Answering {
    runtime: Runtime,
    addr: SocketAddr,
    stop: watch::Sender<bool>,
}

impl core::fmt::Debug for Answering {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Answering").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Answering {
    /// Starts to listen; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is taken, or the system gives no threads.
    pub fn start(listen: SocketAddr, answers: Arc<impl Answers>) -> Result<Self, LiveError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("answering")
            .enable_all()
            .build()
            .map_err(|source| LiveError::Runtime { source })?;
        let at = |source| LiveError::Listen { addr: listen, source };
        let listener = runtime.block_on(TcpListener::bind(listen)).map_err(at)?;
        let addr = listener.local_addr().map_err(at)?;
        let (stop, stopped) = watch::channel(false);
        runtime.spawn(listen::serve(listener, Arc::new(Front { answers }), stopped));
        Ok(Self { runtime, addr, stop })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits for Ctrl-C or SIGTERM.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn wait_for_signal(&self) -> Result<(), LiveError> {
        listen::wait_for_signal(&self.runtime)
    }

    /// From now on Ctrl-C and SIGTERM are for the command that this process runs.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn hold_signals(&self) -> Result<Signals, LiveError> {
        listen::hold_signals(&self.runtime)
    }

    /// Stops listening.
    pub fn finish(self) {
        let _gone = self.stop.send(true);
        self.runtime.shutdown_background();
    }
}
