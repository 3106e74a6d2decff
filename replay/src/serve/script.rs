//! What a recording has to give: conversation by conversation, the requests that are due and the
//! answers that they got.

use std::collections::HashMap;

use ledger::event::{SessionBasis, notes};
use ledger::history::{End, History};
use ledger::id::RequestId;
use ledger::wire::Dialect;

use super::ServeError;
use crate::fields;
use crate::recording::Recording;

/// What becomes of recorded failures (429, 5xx, no answer) that the client tried again after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// They are left out: the client gets the answer that counted at once.
    Skip,
    /// They are given as they were recorded.
    Replay,
}

/// An answer to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// HTTP status.
    pub status: u16,
    /// Header fields.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, without content coding.
    pub body: Vec<u8>,
    /// It breaks off behind the body.
    pub cut: bool,
    /// How long the exchange took, microseconds.
    pub time_us: Option<u64>,
    /// The pieces in which the body came, where that was recorded. Their lengths are those of the
    /// connection: under a content coding they add up to another length than the body has.
    pub pieces: Vec<ServedPiece>,
}

/// A piece of a recorded answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedPiece {
    /// How long after the piece before it it came, microseconds; the first one after the request.
    pub after_us: u64,
    /// Its length.
    pub bytes: u64,
}

/// One request that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) request: RequestId,
    pub(super) dialect: Dialect,
}

/// A conversation and how far it has come.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) basis: SessionBasis,
    pub(super) turns: Vec<Turn>,
    pub(super) next: usize,
}

/// All conversations.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) conversations: Vec<Conversation>,
    /// Where requests with these bytes are due: conversation and turn, in their order.
    by_digest: HashMap<[u8; 32], Vec<(usize, usize)>>,
    /// The note on the exchange of each request, by its place among the records.
    exchanges: HashMap<RequestId, usize>,
}

impl Script {
    pub(super) fn of(recording: &Recording, faults: Faults) -> Result<Self, ServeError> {
        let history = recording.history();
        if history.requests().is_empty() {
            return Err(ServeError::Empty);
        }
        let mut conversations = Vec::new();
        let mut by_digest: HashMap<_, Vec<_>> = HashMap::new();
        for session in history.sessions() {
            let mut turns = Vec::new();
            for (position, id) in session.requests.iter().enumerate() {
                let Some(request) = history.request(*id) else { continue };
                let failed = request.answer.as_ref().is_some_and(|(end, _)| *end == End::Failed);
                let tried_again = session.requests.get(position + 1).is_some_and(|next| {
                    history.request(*next).is_some_and(|next| next.captured.attempt > 1)
                });
                if failed && tried_again && faults == Faults::Skip {
                    continue;
                }
                let withheld =
                    request.answer.as_ref().is_some_and(|(_, answer)| answer.body_withheld);
                if withheld {
                    return Err(ServeError::Withheld { ordinal: id.ordinal() });
                }
                let places = by_digest.entry(request.captured.body_digest).or_default();
                places.push((conversations.len(), turns.len()));
                turns.push(Turn { request: *id, dialect: request.dialect });
            }
            conversations.push(Conversation { basis: session.opened.basis, turns, next: 0 });
        }
        Ok(Self { conversations, by_digest, exchanges: exchanges(history) })
    }

    /// Where requests with these bytes are: conversation and turn.
    pub(super) fn places(&self, digest: &[u8; 32]) -> &[(usize, usize)] {
        self.by_digest.get(digest).map(Vec::as_slice).unwrap_or_default()
    }

    /// The recorded answer to a request.
    pub(super) fn served(
        &self,
        recording: &Recording,
        id: RequestId,
    ) -> Result<Served, ServeError> {
        let note = self.exchanges.get(&id).and_then(|at| recording.history().records().get(*at));
        let pieces = match note {
            Some(note) => pieces(&note.bytes.read(recording.as_source())?),
            None => Vec::new(),
        };
        Ok(Served { pieces, ..served(recording, id)? })
    }
}

/// Notes on exchanges carry the number of their request.
fn exchanges(history: &History) -> HashMap<RequestId, usize> {
    let notes = history.records().iter().enumerate();
    let notes = notes.filter(|(_, record)| record.reason == notes::EXCHANGE);
    notes
        .filter_map(|(at, record)| {
            let index = usize::try_from(record.index).ok()?;
            Some((history.requests().get(index)?.captured.request, at))
        })
        .collect()
}

/// The pieces that a note tells: pairs of microseconds and bytes.
fn pieces(note: &[u8]) -> Vec<ServedPiece> {
    #[derive(serde::Deserialize)]
    struct Note {
        #[serde(default)]
        pieces: Vec<(u64, u64)>,
    }
    // A note that cannot be read tells nothing; the answer is given without it.
    let told = serde_json::from_slice(note).unwrap_or(Note { pieces: Vec::new() });
    told.pieces.into_iter().map(|(after_us, bytes)| ServedPiece { after_us, bytes }).collect()
}

fn served(recording: &Recording, id: RequestId) -> Result<Served, ServeError> {
    let history = recording.history();
    let answer = history.request(id).and_then(|request| request.answer.as_ref());
    let Some((end, answer)) = answer.filter(|(_, answer)| answer.status != 0) else {
        // Nothing came back when it was recorded, and nothing does now.
        let (headers, body) = (Vec::new(), Vec::new());
        let pieces = Vec::new();
        return Ok(Served { status: 502, headers, body, cut: true, time_us: None, pieces });
    };
    let body = match &answer.body {
        Some(body) => body.read(recording.as_source())?.to_vec(),
        None => Vec::new(),
    };
    Ok(Served {
        status: answer.status,
        headers: fields::read(history, recording.as_source(), &answer.headers, fields::answered)?,
        body,
        cut: *end == End::Aborted,
        time_us: answer.time_us,
        pieces: Vec::new(),
    })
}
