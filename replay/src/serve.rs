//! Answers a client's requests from a recording, and says where the client drifts from it.
//!
//! It knows no sockets: the caller hands over a request and gets an answer or a [`Drift`]. A
//! global order of requests is not reproducible, since sub-agents and titles run at once, so each
//! conversation has a place of its own. A request is taken for the next one of a conversation if
//! it has the same bytes, else if it has the same but for what is declared
//! ([`Rules`]): ids, each of which must stand for one other id, and times.

mod cause;
mod script;

use std::sync::Arc;

use ledger::event::{SessionBasis, notes};
use ledger::id::RequestId;
use ledger::wire::Dialect;
use sha2::{Digest as _, Sha256};

use crate::assemble::{AssembleError, Assembled, Assembler};
use crate::recording::Recording;
use crate::twin::{Aliases, Compare, Difference, Outcome, Rules};

pub use cause::Cause;
use script::Script;
pub use script::{Faults, Served, ServedPiece};

/// Why a recording cannot answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// It holds no request.
    #[error("no request to answer")]
    Empty,
    /// An answer's body was kept back when it was recorded.
    #[error("request {ordinal}: the answer's body was withheld when it was recorded")]
    Withheld {
        /// Number of the request, from 1.
        ordinal: u64,
    },
    /// A request cannot be put together.
    #[error("request {ordinal} cannot be put together")]
    Assemble {
        /// Number of the request, from 1.
        ordinal: u64,
        /// Why.
        source: AssembleError,
    },
    /// A text of the recording is missing or damaged.
    #[error(transparent)]
    Get(#[from] artifacts::GetError),
}

/// What a client did that the recorded one did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// The request differs from the nearest one that was due.
    Differs {
        /// The one that was due.
        due: RequestId,
        /// The first place that differs.
        at: Difference,
        /// What it is.
        cause: Cause,
    },
    /// The request was due later: those before it were left out.
    Skipped {
        /// The one that was due.
        due: RequestId,
        /// The one that came.
        found: RequestId,
    },
    /// Nothing was due any more.
    Extra,
}

/// What to do with a request that drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDrift {
    /// It gets no answer of the recording.
    Fail,
    /// It gets the answer of the request that was due.
    Warn,
}

/// How a request matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The same bytes.
    Identical,
    /// The same but for what is declared.
    Equal,
    /// A request that was answered before, again.
    Repeated,
}

/// What a request gets.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The request of the recording that it was taken for.
    pub request: Option<RequestId>,
    /// How it matched.
    pub matched: Option<Match>,
    /// What is wrong with it.
    pub drift: Option<Drift>,
    /// The answer; `None` where there is none to give.
    pub served: Option<Served>,
}

/// How a run went, at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeReport {
    /// Requests with the same bytes.
    pub identical: u64,
    /// Requests that are the same but for what is declared.
    pub equal: u64,
    /// Requests that were sent again.
    pub repeated: u64,
    /// Drifts in the order in which they came, with the number of the arrival, from 1.
    pub drifts: Vec<(u64, Drift)>,
    /// Requests that came again after they had drifted, with the same drift.
    pub drifts_again: u64,
    /// Requests of conversations that nobody asked for.
    pub unused: Vec<RequestId>,
    /// The same of side requests (titles, classifiers), which is no drift.
    pub unused_side: Vec<RequestId>,
    /// Ids that stand for one another.
    pub aliases: u64,
}

impl ServeReport {
    /// True when the client did what the recorded one did.
    pub fn is_same(&self) -> bool {
        self.drifts.is_empty() && self.unused.is_empty()
    }
}

/// A recording that answers.
pub struct Server {
    recording: Recording,
    script: Script,
    /// Bodies that were put together, so that the next request costs what it adds.
    assembled: Assembled,
    compare: Compare,
    on_drift: OnDrift,
    arrivals: u64,
    report: ServeReport,
}

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Server").field("arrivals", &self.arrivals).finish_non_exhaustive()
    }
}

/// A place of a conversation that a request may be taken for.
#[derive(Clone, Copy)]
struct Candidate {
    conversation: usize,
    turn: usize,
    kind: Kind,
}

/// The turn that a request is most like, of those that are due.
struct Nearest {
    candidate: Candidate,
    body: Vec<u8>,
    /// The other ones, the most similar first.
    others: Vec<Candidate>,
}

/// In the order in which they are taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Due,
    Repeated,
    Later,
}

impl Server {
    /// Gets a recording ready.
    ///
    /// # Errors
    /// It has no request, or an answer that cannot be given.
    pub fn new(
        recording: Recording,
        rules: Rules,
        faults: Faults,
        on_drift: OnDrift,
    ) -> Result<Self, ServeError> {
        let script = Script::of(&recording, faults)?;
        let (arrivals, report) = (0, ServeReport::default());
        let compare = Compare::new(Arc::new(rules), Aliases::default(), Vec::new());
        let assembled = Assembled::default();
        Ok(Self { recording, script, assembled, compare, on_drift, arrivals, report })
    }

    /// Answers a request: its dialect and its body without content coding.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn answer(&mut self, dialect: Dialect, body: &[u8]) -> Result<Reply, ServeError> {
        self.arrivals += 1;
        if let Some(found) = self.identical(dialect, body) {
            return self.take(found, Match::Identical);
        }
        let due = self.nearest(dialect, body)?;
        let (nearest, others) = match &due {
            Some(Nearest { candidate, body, others }) => (Some((*candidate, body)), others.clone()),
            None => (None, Vec::new()),
        };
        let mut drift = None;
        if let Some((candidate, recorded)) = nearest {
            match self.same(recorded, body) {
                None => return self.take(candidate, Match::Equal),
                Some(at) => drift = Some((candidate, at)),
            }
        }
        for candidate in others.into_iter().chain(self.candidates(dialect, Kind::Repeated)) {
            let Some(request) = self.request(candidate) else { continue };
            let recorded = self.body(request)?;
            if self.same(&recorded, body).is_none() {
                return self.take(candidate, Match::Equal);
            }
        }
        let drift = drift.zip(nearest).and_then(|((candidate, at), (_, recorded))| {
            let cause = Cause::of(dialect, recorded, body, &at);
            Some((candidate, Drift::Differs { due: self.request(candidate)?, at, cause }))
        });
        match drift {
            Some((candidate, drift)) => self.reply(Some(candidate), None, Some(drift)),
            None => self.reply(None, None, Some(Drift::Extra)),
        }
    }

    /// True when requests of the recording came over a WebSocket.
    pub fn has_sockets(&self) -> bool {
        let records = self.recording.history().records();
        records.iter().any(|record| record.reason == notes::SOCKET)
    }

    /// Ends the run.
    pub fn finish(mut self) -> ServeReport {
        for conversation in &self.script.conversations {
            let left = conversation.turns.iter().skip(conversation.next);
            let unused = left.map(|turn| turn.request);
            if conversation.basis == SessionBasis::Side {
                self.report.unused_side.extend(unused);
            } else {
                self.report.unused.extend(unused);
            }
        }
        self.report.unused.sort_unstable();
        self.report.aliases = self.compare.aliases();
        self.report
    }

    /// The place of a request with these very bytes: one that is due before one that was answered,
    /// that before one that is due later.
    fn identical(&self, dialect: Dialect, body: &[u8]) -> Option<Candidate> {
        let digest: [u8; 32] = Sha256::digest(body).into();
        let candidates = self.script.places(&digest).iter().filter_map(|(index, turn)| {
            let conversation = self.script.conversations.get(*index)?;
            let kind = match turn.checked_sub(conversation.next) {
                Some(0) => Kind::Due,
                Some(_) => Kind::Later,
                None if turn + 1 == conversation.next => Kind::Repeated,
                None => return None,
            };
            let same = conversation.turns.get(*turn)?.dialect == dialect;
            same.then_some(Candidate { conversation: *index, turn: *turn, kind })
        });
        candidates.min_by_key(|candidate| candidate.kind)
    }

    /// The turns that are due, or were answered last, conversation by conversation.
    fn candidates(&self, dialect: Dialect, kind: Kind) -> Vec<Candidate> {
        let mut out = Vec::new();
        for (index, conversation) in self.script.conversations.iter().enumerate() {
            let turn = match kind {
                Kind::Due => Some(conversation.next),
                Kind::Repeated => conversation.next.checked_sub(1),
                Kind::Later => None,
            };
            let turn = turn.filter(|turn| {
                conversation.turns.get(*turn).is_some_and(|turn| turn.dialect == dialect)
            });
            out.extend(turn.map(|turn| Candidate { conversation: index, turn, kind }));
        }
        out
    }

    fn request(&self, candidate: Candidate) -> Option<RequestId> {
        let conversation = self.script.conversations.get(candidate.conversation)?;
        conversation.turns.get(candidate.turn).map(|turn| turn.request)
    }

    fn body(&mut self, request: RequestId) -> Result<Vec<u8>, ServeError> {
        let (history, source) = (self.recording.history(), self.recording.as_source());
        let done = std::mem::take(&mut self.assembled);
        let mut assembler = Assembler::resume(history, source, done);
        let body = assembler.body(request);
        self.assembled = assembler.leave();
        let ordinal = request.ordinal();
        body.map_err(|source| ServeError::Assemble { ordinal, source })
    }

    /// The requests that are due, the most similar one first and with its body.
    fn nearest(&mut self, dialect: Dialect, body: &[u8]) -> Result<Option<Nearest>, ServeError> {
        let mut found: Option<(usize, Nearest)> = None;
        let mut likeness = Vec::new();
        for candidate in self.candidates(dialect, Kind::Due) {
            let Some(request) = self.request(candidate) else { continue };
            let recorded = self.body(request)?;
            let alike = alike(&recorded, body);
            likeness.push((alike, candidate));
            if found.as_ref().is_none_or(|(best, _)| alike > *best) {
                found = Some((alike, Nearest { candidate, body: recorded, others: Vec::new() }));
            }
        }
        likeness.sort_by_key(|(alike, _candidate)| std::cmp::Reverse(*alike));
        Ok(found.map(|(_, nearest)| Nearest {
            others: likeness.into_iter().skip(1).map(|(_, candidate)| candidate).collect(),
            ..nearest
        }))
    }

    /// Where a request differs from a recorded one; what ids stand for is learned where it does
    /// not.
    fn same(&mut self, recorded: &[u8], body: &[u8]) -> Option<Difference> {
        let mut trial = self.compare.clone();
        if let Outcome::Different(difference) = trial.bodies(recorded, body) {
            return Some(difference);
        }
        self.compare = trial;
        None
    }

    fn take(&mut self, found: Candidate, matched: Match) -> Result<Reply, ServeError> {
        let request = self.request(found);
        let drift = match (found.kind, matched) {
            (Kind::Due, Match::Identical) => {
                self.report.identical += 1;
                None
            }
            (Kind::Due, _) => {
                self.report.equal += 1;
                None
            }
            (Kind::Repeated, _) => {
                self.report.repeated += 1;
                None
            }
            (Kind::Later, _) => {
                let due = Candidate { kind: Kind::Due, turn: self.next(found), ..found };
                let ids = self.request(due).zip(request);
                ids.map(|(due, found)| Drift::Skipped { due, found })
            }
        };
        let matched = if found.kind == Kind::Repeated { Match::Repeated } else { matched };
        self.reply(Some(found), Some(matched), drift)
    }

    fn next(&self, candidate: Candidate) -> usize {
        self.script.conversations.get(candidate.conversation).map_or(0, |it| it.next)
    }

    /// Gives the answer of a place, and goes on behind it.
    fn reply(
        &mut self,
        place: Option<Candidate>,
        matched: Option<Match>,
        drift: Option<Drift>,
    ) -> Result<Reply, ServeError> {
        let request = place.and_then(|place| self.request(place));
        if let Some(drift) = &drift {
            let last = self.report.drifts.last().map(|(_arrival, last)| last);
            let again = last == Some(drift) && *drift != Drift::Extra;
            if again {
                self.report.drifts_again += 1;
            } else {
                self.report.drifts.push((self.arrivals, drift.clone()));
            }
        }
        let answered = drift.is_none() || self.on_drift == OnDrift::Warn;
        let served = match request.filter(|_request| answered) {
            Some(request) => Some(self.script.served(&self.recording, request)?),
            None => None,
        };
        let place = place.filter(|place| answered && place.kind != Kind::Repeated);
        let conversation = place.and_then(|place| {
            let conversation = self.script.conversations.get_mut(place.conversation)?;
            Some((conversation, place.turn))
        });
        if let Some((conversation, turn)) = conversation {
            conversation.next = turn + 1;
        }
        Ok(Reply { request, matched, drift, served })
    }
}

/// How many bytes two bodies share at their beginnings and ends.
fn alike(a: &[u8], b: &[u8]) -> usize {
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    front + back
}
