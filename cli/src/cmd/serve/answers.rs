//! Requests from the listener, answers from the recording.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use artifacts::redact::Redactor;
use capture::live::HOOK_PATH;
use capture::live::answering::{Answers, Asked, Given, Piece};
use replay::serve::{Drift, ServeReport, Served, ServedPiece, Server};

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

/// How answers are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenAs {
    /// At once, in one piece.
    Whole,
    /// At once, in the pieces in which they came.
    Pieces,
    /// In the pieces in which they came, after the time that each took.
    Paced,
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
    given: GivenAs,
}

impl FromRecording {
    pub(super) fn new(server: Server, redactor: Redactor, rebind: Rebind, given: GivenAs) -> Self {
        let has_sockets = server.has_sockets();
        let desk = Mutex::new(Desk { server: Some(server), side: 0, failed: None });
        Self { desk, has_sockets, redactor, rebind, given }
    }

    /// Ends the run; whoever still asks is told so.
    pub(super) fn finish(&self) -> Told {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let report = desk.server.take().map(Server::finish).unwrap_or_default();
        Told { report, side: desk.side, failed: desk.failed.take() }
    }

    fn served(&self, served: Served) -> Given {
        let body = self.rebind.answer(served.body);
        // Without pieces on record the whole answer is one, after the whole time.
        let one =
            ServedPiece { after_us: served.time_us.unwrap_or_default(), bytes: body.len() as u64 };
        let pieces = match served.pieces.as_slice() {
            [] => std::slice::from_ref(&one),
            pieces => pieces,
        };
        let body = match self.given {
            GivenAs::Whole => vec![Piece { after: Duration::ZERO, bytes: body }],
            GivenAs::Pieces => cut(&body, pieces, |_after| Duration::ZERO),
            GivenAs::Paced => cut(&body, pieces, Duration::from_micros),
        };
        Given { status: served.status, headers: served.headers, body, cut: served.cut }
    }
}

/// Cuts a body where its pieces ended. Where a coding was undone or a path replaced, it has another
/// length than they have together, and is cut at the same shares of it.
fn cut(body: &[u8], pieces: &[ServedPiece], after: impl Fn(u64) -> Duration) -> Vec<Piece> {
    let total: u128 = pieces.iter().map(|piece| u128::from(piece.bytes)).sum();
    let (mut come, mut from) = (0_u128, 0);
    let mut out = Vec::with_capacity(pieces.len());
    for piece in pieces {
        come += u128::from(piece.bytes);
        let end = (body.len() as u128 * come).checked_div(total).unwrap_or(0);
        let end = usize::try_from(end).unwrap_or(body.len());
        let bytes = body.get(from..end).unwrap_or_default().to_vec();
        out.push(Piece { after: after(piece.after_us), bytes });
        from = end;
    }
    out
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
        let rebound = self.rebind.request(body);
        let body = self.redactor.redact_json(&rebound);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cut_where_its_pieces_ended_and_at_the_same_shares_where_it_grew() {
        let piece = |after_us, bytes| ServedPiece { after_us, bytes };
        let pieces = [piece(5, 2), piece(7, 1), piece(0, 1)];
        let told = |body: &[u8]| {
            let cut = cut(body, &pieces, Duration::from_micros);
            cut.into_iter().map(|it| (it.after.as_micros(), it.bytes)).collect::<Vec<_>>()
        };
        let same = [(5, b"ab".to_vec()), (7, b"c".to_vec()), (0, b"d".to_vec())];
        assert_eq!(told(b"abcd"), same);
        let grown = [(5, b"abcd".to_vec()), (7, b"ef".to_vec()), (0, b"gh".to_vec())];
        assert_eq!(told(b"abcdefgh"), grown);
        let nothing = [(5, Vec::new()), (7, Vec::new()), (0, Vec::new())];
        assert_eq!(told(b""), nothing);
    }
}
