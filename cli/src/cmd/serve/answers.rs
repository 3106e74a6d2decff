//! Requests from the listener, answers from the recording.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use artifacts::redact::Redactor;
use capture::live::HOOK_PATH;
use capture::live::answering::{Answers, Asked, Given, Piece};
use ledger::recorder::redact_json;
use replay::serve::{Drift, ServeReport, Served, Server};

use super::rebind::Rebind;
use crate::error::{Failure, Kind};

/// How a run went.
pub(super) struct Told {
    pub(super) report: ServeReport,
    /// Requests that ask no model for anything.
    pub(super) side: u64,
    /// Why the recording could not be read on.
    pub(super) failed: Option<Failure>,
}

struct Desk {
    server: Option<Server>,
    side: u64,
    failed: Option<Failure>,
}

/// Answers from a recording.
pub(super) struct FromRecording {
    desk: Mutex<Desk>,
    /// Requests of the recording came over a WebSocket, so that the client finds one.
    has_sockets: bool,
    /// What was recorded is redacted, and so is what it is compared with.
    redactor: Redactor,
    rebind: Rebind,
    pace: bool,
}

impl FromRecording {
    pub(super) fn new(server: Server, redactor: Redactor, rebind: Rebind, pace: bool) -> Self {
        let has_sockets = server.has_sockets();
        let desk = Mutex::new(Desk { server: Some(server), side: 0, failed: None });
        Self { desk, has_sockets, redactor, rebind, pace }
    }

    /// Ends the run; whoever still asks is told so.
    pub(super) fn finish(&self) -> Told {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let report = desk.server.take().map(Server::finish).unwrap_or_default();
        Told { report, side: desk.side, failed: desk.failed.take() }
    }

    fn served(&self, served: Served) -> Given {
        let wait = served.time_us.filter(|_time| self.pace).map(Duration::from_micros);
        let body =
            Piece { after: wait.unwrap_or_default(), bytes: self.rebind.answer(served.body) };
        Given { status: served.status, headers: served.headers, body: vec![body], cut: served.cut }
    }
}

impl Answers for FromRecording {
    fn answer(&self, asked: &Asked) -> Given {
        if asked.target == HOOK_PATH {
            // Hooks of a client that is replayed tell nothing new.
            return Given { status: 204, headers: Vec::new(), body: Vec::new(), cut: false };
        }
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(body) = asked.plain_body() else {
            return refused(400, "the content coding of the body cannot be undone", None);
        };
        let Some(dialect) = asked.dialect(&body) else {
            desk.side += 1;
            return refused(404, "not a request to a model", None);
        };
        let Some(server) = desk.server.as_mut() else {
            return refused(503, "the run has ended", None);
        };
        let body = redact_json(&self.redactor, &self.rebind.request(body));
        let reply = match server.answer(dialect, body.as_bytes()) {
            Ok(reply) => reply,
            Err(error) => {
                desk.failed.get_or_insert(Failure::of(Kind::Damage, &error));
                return refused(500, "the recording cannot be read", None);
            }
        };
        match (reply.served, reply.drift) {
            (Some(served), _) => self.served(served),
            // The status that no client was seen to try again after.
            (None, drift) => refused(404, "drift: no such request is due", drift),
        }
    }

    fn takes_sockets(&self) -> bool {
        self.has_sockets
    }
}

/// An answer of our own: places, never content.
fn refused(status: u16, words: &str, drift: Option<Drift>) -> Given {
    let (due, pointer, cause) = match drift {
        Some(Drift::Differs { due, at, cause }) => {
            (Some(due.ordinal()), Some(at.pointer), Some(cause.words()))
        }
        Some(Drift::Skipped { due, .. }) => (Some(due.ordinal()), None, None),
        Some(Drift::Extra) | None => (None, None, None),
    };
    let told = serde_json::json!({
        "error": {
            "type": "counterfold_replay",
            "message": words,
            "request_due": due,
            "pointer": pointer,
            "cause": cause,
        }
    });
    Given {
        status,
        headers: vec![("content-type".to_owned(), b"application/json".to_vec())],
        body: vec![Piece { after: Duration::ZERO, bytes: told.to_string().into_bytes() }],
        cut: false,
    }
}
