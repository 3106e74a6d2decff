//! The two sockets of one client and the messages between them.

use std::sync::Arc;
use std::time::Instant;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::Request;
use hyper::header::CONTENT_TYPE;
use ledger::id::RequestId;
use ledger::wire::Dialect;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;

use super::Socket;
use crate::chain::{self, Ask, Chain, Told};
use crate::live::ANSWER_BYTES_MAX;
use crate::live::connection::OnUpstream;
use crate::live::course::{Course, micros};
use crate::live::entry::Side;
use crate::live::http::fields;
use crate::live::listen::{OnConnection, turned};
use crate::live::proxy::{OnFailure, Shared};
use crate::live::pump::{Copied, Copy};
use crate::live::scribe::{Admitted, AnswerEnd, Arrival, Outcome, Refused, Via};

/// A request whose answer is under way.
struct Turn {
    ask: Ask,
    arrival: Arrival,
    /// `None` for a warm-up, and where it is sent without being captured.
    captured: Option<(RequestId, Dialect)>,
    captured_us: u64,
    begun: Instant,
    /// The answer so far, as the stream of events that it would be over HTTP.
    events: Copy,
    done: Vec<String>,
}

struct Tunnel {
    shared: Arc<Shared>,
    /// What asked for the socket: its fields are those of every request on it.
    asked: Request<()>,
    /// The connection upstream.
    upstream: Option<OnUpstream>,
    url: String,
    chain: Chain,
    turn: Option<Turn>,
}

/// Passes messages on until one side ends.
pub(in crate::live) async fn run(
    shared: Arc<Shared>,
    (asked, on_upstream): (Request<()>, Option<OnUpstream>),
    url: String,
    (mut client, mut upstream): (Socket, Socket),
    mut closing: watch::Receiver<bool>,
) {
    let chain = Chain::default();
    let mut tunnel = Tunnel { shared, asked, upstream: on_upstream, url, chain, turn: None };
    let end = loop {
        tokio::select! {
            biased;
            () = turned(&mut closing) => break AnswerEnd::HungUp,
            message = client.next() => {
                let Some(Ok(message)) = message else { break AnswerEnd::HungUp };
                if let Err(refused) = tunnel.sent(&message).await {
                    let told = serde_json::json!({
                        "type": "error",
                        "status": 502,
                        "error": { "type": "not_recorded", "message": words(refused) },
                    });
                    // A client that is gone needs no reason.
                    let _gone = client.send(Message::text(told.to_string())).await;
                    break AnswerEnd::HungUp;
                }
                let last = message.is_close();
                if !passes(&message) || (upstream.send(message).await.is_ok() && !last) {
                    continue;
                }
                break if last { AnswerEnd::HungUp } else { AnswerEnd::Cut };
            }
            message = upstream.next() => {
                let Some(Ok(message)) = message else { break AnswerEnd::Cut };
                let last = message.is_close();
                if passes(&message) && client.send(message.clone()).await.is_err() {
                    break AnswerEnd::HungUp;
                }
                tunnel.came(&message).await;
                if last {
                    break AnswerEnd::Cut;
                }
            }
        }
    };
    tunnel.end(end).await;
    // Whoever is still there sees that it is over.
    let _gone = client.close(None).await;
    let _gone = upstream.close(None).await;
}

/// Pings are answered on either side by themselves.
fn passes(message: &Message) -> bool {
    !matches!(message, Message::Ping(_) | Message::Pong(_) | Message::Frame(_))
}

fn words(refused: Refused) -> &'static str {
    match refused {
        Refused::TooLarge => "the request was not sent: it is longer than can be recorded",
        _ => "the request was not sent: the recording cannot be written",
    }
}

impl Tunnel {
    /// Captures what a message of the client asks for, before it is passed on.
    async fn sent(&mut self, message: &Message) -> Result<(), Refused> {
        let Message::Text(text) = message else { return Ok(()) };
        let Some(ask) = self.chain.ask(text) else { return Ok(()) };
        self.end(AnswerEnd::Cut).await;
        let arrival = Arrival {
            method: self.asked.method().to_string(),
            url: self.url.clone(),
            headers: fields(self.asked.headers()),
            body: ask.body.clone().into(),
            via: Via::Socket { is_whole: ask.is_whole, previous: ask.previous.clone() },
        };
        let came = Instant::now();
        let mut captured = None;
        if !ask.is_warm_up {
            match self.shared.scribe.arrival(arrival.clone()).await {
                Ok(Admitted::Request { request, dialect }) => {
                    let now = (self.shared.clock)();
                    self.shared.scribe.sent(request, now, &arrival).await;
                    captured = Some((request, dialect));
                }
                Ok(Admitted::Side) => {}
                Err(_) if self.shared.on_failure == OnFailure::SendAnyway => {
                    self.shared.scribe.uncaptured().await;
                }
                Err(refused) => return Err(refused),
            }
        }
        let begun = Instant::now();
        let events = Copy::up_to(ANSWER_BYTES_MAX, &self.shared.answers, begun);
        let (captured_us, done) = (micros(came.elapsed()), Vec::new());
        self.turn = Some(Turn { ask, arrival, captured, captured_us, begun, events, done });
        Ok(())
    }

    /// Takes a copy of what was passed on to the client.
    async fn came(&mut self, message: &Message) {
        let (Message::Text(text), Some(turn)) = (message, &mut self.turn) else { return };
        turn.events.push(&chain::event(text));
        if self.chain.told(&turn.ask, text, &mut turn.done) == Told::Last {
            self.end(AnswerEnd::Finished).await;
        }
    }

    /// Records the answer that is under way, if one is.
    async fn end(&mut self, end: AnswerEnd) {
        let Some(turn) = self.turn.take() else { return };
        let time_us = micros(turn.begun.elapsed());
        let mime = (CONTENT_TYPE.to_string(), b"text/event-stream".to_vec());
        let Copied { bytes, room, pieces } = turn.events.end();
        let course = Course {
            client: self.asked.extensions().get::<OnConnection>().copied(),
            upstream: self.upstream.clone(),
            captured_us: turn.captured_us,
            head_us: None,
            pieces,
        };
        let outcome = Outcome {
            status: if bytes.as_ref().is_some_and(Vec::is_empty) { 0 } else { 200 },
            headers: vec![mime],
            body: bytes,
            room,
            time_us,
            course: Some(course),
            ..Outcome::nothing(end)
        };
        if let Some((request, dialect)) = turn.captured {
            self.shared.scribe.outcome(request, dialect, outcome).await;
        } else if turn.ask.is_warm_up {
            let side = Side {
                method: "WEBSOCKET".to_owned(),
                url: turn.arrival.url,
                headers: turn.arrival.headers,
                body: Some(turn.ask.body),
                status: outcome.status,
                answer_headers: outcome.headers,
                answer: outcome.body,
                time_us,
            };
            self.shared.scribe.side(side).await;
        }
    }
}
