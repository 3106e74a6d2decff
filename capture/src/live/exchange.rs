//! One exchange, in a task of its own that outlives the client's connection: take the request in,
//! capture it, send it, pass the answer on, record what was handed over.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade as OnUpgraded;
use hyper::{Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio_tungstenite::tungstenite::protocol::Role;

use super::body::Untaken;
use super::connection::OnUpstream;
use super::course::{Course, micros};
use super::entry::Side;
use super::http::{AnswerBody, Cut, end_to_end, fields, no_upgrade, refusal, whole};
use super::listen::{OnConnection, turned};
use super::proxy::{OnFailure, OnUpgrade, Shared};
use super::pump::{self, Copied, Copy};
use super::scribe::{Admitted, AnswerEnd, Arrival, Outcome, Refused, Via};
use super::socket;
use super::{ANSWER_BYTES_MAX, HOOK_PATH, SIDE_BYTES_MAX};

/// What stands for the request in the record.
enum Record {
    Captured(Admitted),
    /// It is sent all the same.
    Uncaptured,
}

/// The answer's way to the client.
pub(super) type ToClient = oneshot::Sender<Response<AnswerBody>>;

/// Runs an exchange to its end.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut request: Request<Incoming>,
    to_client: ToClient,
    mut closing: watch::Receiver<bool>,
) {
    let is_socket = socket::asks_for_one(request.headers());
    if is_socket && shared.on_upgrade == OnUpgrade::Tunnel {
        let upgrade = hyper::upgrade::on(&mut request);
        return tunnel(shared, request.map(drop), upgrade, to_client, closing).await;
    }
    let (head, body) = request.into_parts();
    if head.headers.contains_key(UPGRADE) {
        let answer = no_upgrade();
        let _gone = to_client.send(answer);
        return;
    }
    let Some(url) = shared.upstreams.of_path(head.uri.path()).url(&head.uri) else {
        let answer = refusal(StatusCode::BAD_REQUEST, "bad_target", "request target is no path");
        let _gone = to_client.send(answer);
        return;
    };
    let is_hook = head.uri.path() == HOOK_PATH;
    let held = match shared.requests.take(body).await {
        Ok(held) => held,
        Err(untaken) => {
            let _gone = to_client.send(unread(untaken));
            return;
        }
    };
    let came = Instant::now();
    if is_hook {
        let told = shared.scribe.hook(held.bytes).await;
        let _gone = to_client.send(told.map_or_else(not_recorded, |()| no_content()));
        return;
    }
    let mut arrival = Arrival {
        method: head.method.to_string(),
        url: url.to_string(),
        headers: fields(&head.headers),
        body: held.bytes.clone(),
        via: Via::Http,
    };
    let record = match captured(&shared, &arrival).await {
        Ok(record) => record,
        Err(refused) => {
            let _gone = to_client.send(not_recorded(refused));
            return;
        }
    };
    if let Record::Captured(Admitted::Request { request, .. }) = record {
        shared.scribe.sent(request, (shared.clock)(), &arrival).await;
        // Only what asks no model is recorded again with its answer.
        arrival.body = Bytes::new();
    }
    let captured_us = micros(came.elapsed());
    let mut upstream = Request::new(Full::new(held.bytes));
    *upstream.method_mut() = head.method;
    *upstream.uri_mut() = url;
    *upstream.headers_mut() = passed(&head.headers, upstream.uri().authority());
    let client = head.extensions.get::<OnConnection>().copied();
    // The spelling of field names travels here.
    *upstream.extensions_mut() = head.extensions;
    let begun = Instant::now();
    let (outcome, went) =
        answer(&shared, (upstream, held.room), to_client, &record, &mut closing).await;
    let course = went.map(|Went { upstream, head_us, pieces }| Course {
        client,
        upstream,
        captured_us,
        head_us: Some(head_us),
        pieces,
    });
    let outcome = Outcome { time_us: micros(begun.elapsed()), course, ..outcome };
    keep(&shared, record, arrival, outcome).await;
}

/// What a request upstream told of its way.
struct Went {
    upstream: Option<OnUpstream>,
    head_us: u64,
    pieces: super::course::Pieces,
}

/// Puts a request on the disk.
async fn captured(shared: &Shared, arrival: &Arrival) -> Result<Record, Refused> {
    match shared.scribe.arrival(arrival.clone()).await {
        Ok(admitted) => Ok(Record::Captured(admitted)),
        Err(_) if shared.on_failure == OnFailure::SendAnyway => {
            shared.scribe.uncaptured().await;
            Ok(Record::Uncaptured)
        }
        Err(refused) => Err(refused),
    }
}

/// Passes a request for a WebSocket on, and then the messages on it.
async fn tunnel(
    shared: Arc<Shared>,
    asked: Request<()>,
    upgrade: OnUpgraded,
    to_client: ToClient,
    closing: watch::Receiver<bool>,
) {
    let Some(url) = shared.upstreams.of_path(asked.uri().path()).url(asked.uri()) else {
        let answer = refusal(StatusCode::BAD_REQUEST, "bad_target", "request target is no path");
        let _gone = to_client.send(answer);
        return;
    };
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = url.clone();
    *request.headers_mut() = passed(asked.headers(), url.authority());
    socket::agree(request.headers_mut());
    let Ok(mut response) = shared.client.request(request).await else {
        let words = "the upstream cannot be reached, or broke off before its answer";
        let _gone = to_client.send(refusal(StatusCode::BAD_GATEWAY, "upstream", words));
        return;
    };
    let on_upstream = OnUpstream::of(&response);
    let upstream = hyper::upgrade::on(&mut response);
    let (head, body) = response.into_parts();
    let agreed = head.status == StatusCode::SWITCHING_PROTOCOLS;
    let body = if agreed { whole(Bytes::new()) } else { body.map_err(|_cut| Cut).boxed() };
    let mut answer = Response::new(body);
    *answer.status_mut() = head.status;
    *answer.headers_mut() = end_to_end(&head.headers);
    if agreed {
        socket::agree(answer.headers_mut());
    }
    if to_client.send(answer).is_err() || !agreed {
        return;
    }
    let (Ok(client), Ok(upstream)) = (upgrade.await, upstream.await) else { return };
    let client = socket::over(client, Role::Server).await;
    let upstream = socket::over(upstream, Role::Client).await;
    let asked = (asked, on_upstream);
    socket::run(shared, asked, url.to_string(), (client, upstream), closing).await;
}

/// The fields that go upstream.
fn passed(headers: &HeaderMap, authority: Option<&hyper::http::uri::Authority>) -> HeaderMap {
    let mut out = end_to_end(headers);
    let host = authority.and_then(|authority| {
        let (host, port) = (authority.host(), authority.port());
        let host = port.map_or(host.to_owned(), |port| format!("{host}:{port}"));
        HeaderValue::from_str(&host).ok()
    });
    if let Some(host) = host {
        out.insert(HOST, host);
    }
    out
}

/// Sends the request and passes the answer on. The room that the body takes is free once it has
/// been sent.
async fn answer(
    shared: &Shared,
    (request, room): (Request<Full<Bytes>>, Option<OwnedSemaphorePermit>),
    mut to_client: ToClient,
    record: &Record,
    closing: &mut watch::Receiver<bool>,
) -> (Outcome, Option<Went>) {
    let begun = Instant::now();
    let sent = tokio::select! {
        biased;
        () = to_client.closed() => return (Outcome::nothing(AnswerEnd::HungUp), None),
        () = turned(closing) => return (Outcome::nothing(AnswerEnd::HungUp), None),
        sent = shared.client.request(request) => sent,
    };
    drop(room);
    let Ok(response) = sent else {
        let words = "the upstream cannot be reached, or broke off before its answer";
        let _gone = to_client.send(refusal(StatusCode::BAD_GATEWAY, "upstream", words));
        return (Outcome::nothing(AnswerEnd::Cut), None);
    };
    let head_us = micros(begun.elapsed());
    let upstream = OnUpstream::of(&response);
    let (head, body) = response.into_parts();
    let status = head.status.as_u16();
    let headers = fields(&head.headers);
    let (to, frames) = pump::channel();
    let mut response = Response::new(StreamBody::new(frames).boxed());
    *response.status_mut() = head.status;
    *response.headers_mut() = end_to_end(&head.headers);
    *response.extensions_mut() = head.extensions;
    let limit = match record {
        Record::Captured(Admitted::Side) => SIDE_BYTES_MAX,
        Record::Captured(Admitted::Request { .. }) | Record::Uncaptured => ANSWER_BYTES_MAX,
    };
    let mut copy = Copy::up_to(limit, &shared.answers, begun);
    let end = if to_client.send(response).is_err() {
        AnswerEnd::HungUp
    } else {
        pump::pass_on(body, to, &mut copy, closing).await
    };
    let Copied { bytes, room, pieces } = copy.end();
    let outcome = Outcome { status, headers, body: bytes, room, ..Outcome::nothing(end) };
    (outcome, Some(Went { upstream, head_us, pieces }))
}

async fn keep(shared: &Shared, record: Record, arrival: Arrival, outcome: Outcome) {
    match record {
        Record::Captured(Admitted::Request { request, dialect }) => {
            shared.scribe.outcome(request, dialect, outcome).await;
        }
        Record::Captured(Admitted::Side) => {
            let body = (arrival.body.len() <= SIDE_BYTES_MAX).then(|| arrival.body.to_vec());
            let side = Side {
                method: arrival.method,
                url: arrival.url,
                headers: arrival.headers,
                body,
                status: outcome.status,
                answer_headers: outcome.headers,
                answer: outcome.body,
                time_us: outcome.time_us,
            };
            shared.scribe.side(side).await;
        }
        Record::Uncaptured => {}
    }
}

fn no_content() -> Response<AnswerBody> {
    let mut answer = Response::new(whole(Bytes::new()));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

fn unread(untaken: Untaken) -> Response<AnswerBody> {
    match untaken {
        Untaken::TooLong => {
            let words = "the body is longer than can be recorded";
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", words)
        }
        Untaken::Cut => {
            refusal(StatusCode::BAD_REQUEST, "body_cut", "the body ended before its length")
        }
    }
}

fn not_recorded(refused: Refused) -> Response<AnswerBody> {
    let words = match refused {
        Refused::Coded => {
            "the request was not sent: the content coding of its body cannot be undone, so that \
             it cannot be recorded"
        }
        Refused::TooLarge => {
            "the request was not sent: undone, its body is longer than can be recorded"
        }
        Refused::Unwritable => "the request was not sent: the recording cannot be written",
    };
    refusal(StatusCode::BAD_GATEWAY, "not_recorded", words)
}
