//! What a recording has to give: conversation by conversation, the requests that are due and the
//! answers that they got.

use artifacts::Source;
use ledger::event::{Headers, SessionBasis};
use ledger::history::{End, History};
use ledger::id::RequestId;
use ledger::wire::Dialect;

use super::ServeError;
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
}

impl Script {
    pub(super) fn of(recording: &Recording, faults: Faults) -> Result<Self, ServeError> {
        let history = recording.history();
        if history.requests().is_empty() {
            return Err(ServeError::Empty);
        }
        let mut conversations = Vec::new();
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
                turns.push(Turn { request: *id, dialect: request.dialect });
            }
            conversations.push(Conversation { basis: session.opened.basis, turns, next: 0 });
        }
        Ok(Self { conversations })
    }
}

/// The recorded answer to a request.
pub(super) fn served(recording: &Recording, id: RequestId) -> Result<Served, ServeError> {
    let history = recording.history();
    let answer = history.request(id).and_then(|request| request.answer.as_ref());
    let Some((end, answer)) = answer.filter(|(_, answer)| answer.status != 0) else {
        // Nothing came back when it was recorded, and nothing does now.
        let (headers, body) = (Vec::new(), Vec::new());
        return Ok(Served { status: 502, headers, body, cut: true, time_us: None });
    };
    let body = match &answer.body {
        Some(body) => body.read(recording.as_source())?.to_vec(),
        None => Vec::new(),
    };
    Ok(Served {
        status: answer.status,
        headers: fields(history, recording.as_source(), &answer.headers)?,
        body,
        cut: *end == End::Aborted,
        time_us: answer.time_us,
    })
}

type Fields = Vec<(String, Vec<u8>)>;

/// The fields of an answer; those that tell only what changed lean on the answer that they name.
fn fields(history: &History, source: &dyn Source, headers: &Headers) -> Result<Fields, ServeError> {
    let mut chain = Vec::new();
    let mut at = headers;
    let full = loop {
        match at {
            Headers::Full(fields) => break fields.as_slice(),
            Headers::Changed { of, values } => {
                chain.push(values);
                let of = history.request(*of).and_then(|request| request.answer.as_ref());
                match of {
                    // An answer leans on an earlier one, so that this comes to an end.
                    Some((_, answer)) if chain.len() <= history.requests().len() => {
                        at = &answer.headers;
                    }
                    _ => break &[],
                }
            }
        }
    };
    let mut out = Fields::with_capacity(full.len());
    for (name, value) in full {
        let name = String::from_utf8_lossy(&name.read(source)?).into_owned();
        out.push((name, value.read(source)?.to_vec()));
    }
    for values in chain.into_iter().rev() {
        for (position, value) in values {
            if let Some(field) = out.get_mut(usize::from(*position)) {
                field.1 = value.read(source)?.to_vec();
            }
        }
    }
    Ok(out)
}
