//! One call: everything that is on record of it, and what follows.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ledger::content::Content;
use ledger::event::{
    Child, Correlation, Dropped, Lane, Outcome, ResultSettled, Returned, SubagentEnded,
};
use ledger::id::{AskId, HookId, RequestId, RunId, SessionId, TurnId};

use super::facts::Facts;

/// How a call came to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An answer on the wire asks for it.
    Answer {
        /// The request that was answered.
        request: RequestId,
        /// Item of the answer, from 0.
        item: u16,
        /// The conversation, where the request is on record.
        session: Option<SessionId>,
    },
    /// An accepted answer asks for it.
    Turn {
        /// The conversation.
        session: SessionId,
        /// The turn.
        turn: Option<TurnId>,
        /// Call of the answer, from 0.
        position: u32,
    },
    /// An agent protocol shows it.
    Observed {
        /// The conversation.
        session: SessionId,
        /// The turn.
        turn: Option<TurnId>,
        /// Who carries it out.
        lane: Lane,
    },
}

impl Asked {
    /// The conversation that it belongs to.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Answer { session, .. } => *session,
            Self::Turn { session, .. } | Self::Observed { session, .. } => Some(*session),
        }
    }

    /// The turn that it belongs to.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            Self::Answer { .. } => None,
            Self::Turn { turn, .. } | Self::Observed { turn, .. } => *turn,
        }
    }
}

/// A call's name and arguments as they were first given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The tool.
    pub name: Option<Content>,
    /// The arguments.
    pub arguments: Option<Content>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which attempt.
    pub attempt: u16,
    /// How.
    pub outcome: Outcome,
    /// The review that holds the result back.
    pub held: Option<HookId>,
    /// What the protocol said of the result.
    pub raw: Option<Content>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// How the dispatch found the call.
    pub correlation: Correlation,
    /// The arguments that were in force, where they are not the model's.
    pub arguments: Option<Content>,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its texts.
    pub texts: Vec<Returned>,
    /// How much of it is missing.
    pub dropped: Dropped,
}

/// Whether a result may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing holds it.
    No,
    /// A review holds it, and nobody has decided.
    Waiting(HookId),
    /// It was held and is released.
    Released(HookId),
    /// It was held and is refused for good.
    Refused(HookId),
}

impl Held {
    /// True when the model may see the result.
    pub fn may_show(self) -> bool {
        matches!(self, Self::No | Self::Released(_))
    }
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardState {
    /// Something is told of it, and nothing told of the call itself.
    Unknown,
    /// It was asked for; nothing says that it was carried out.
    Requested,
    /// It was handed to whoever carries it out, and has no outcome.
    Dispatched,
    /// It returned, on the wire.
    Returned,
    /// It ended.
    Ended(Outcome),
}

impl CardState {
    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Requested => "requested",
            Self::Dispatched => "dispatched",
            Self::Returned => "returned",
            Self::Ended(Outcome::Completed) => "completed",
            Self::Ended(Outcome::Failed) => "failed",
            Self::Ended(Outcome::Cancelled) => "cancelled",
            Self::Ended(Outcome::Denied) => "denied",
            Self::Ended(Outcome::Aborted) => "aborted",
        }
    }
}

/// Everything on record of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// How it came to be known.
    pub asked: Facts<Asked>,
    /// Name and arguments.
    pub given: Given,
    /// Dispatches by attempt.
    pub attempts: BTreeMap<u16, Facts<Attempt>>,
    /// Outputs.
    pub outputs: Facts<Output>,
    /// Ends, one per attempt unless a writer told one twice.
    pub ends: Facts<Ended>,
    /// Decisions about a result that was held back.
    pub settlements: Facts<ResultSettled>,
    /// Outputs that were found beside the wire.
    pub found: Facts<()>,
    /// Records of hooks that name it; not all of them need to fit it.
    pub hooks: BTreeSet<HookId>,
    /// Questions about it.
    pub asks: BTreeSet<AskId>,
    /// Sub-agents that it started.
    pub children: Facts<Child>,
    /// Ends of sub-agents that it started.
    pub children_ended: Facts<SubagentEnded>,
}

impl Card {
    /// The conversation that it belongs to.
    pub fn session(&self) -> Option<SessionId> {
        self.asked.first()?.session()
    }

    /// The turn that it belongs to.
    pub fn turn(&self) -> Option<TurnId> {
        self.asked.first()?.turn()
    }

    /// Who carries it out, where a protocol shows it.
    pub fn lane(&self) -> Option<Lane> {
        match self.asked.first()? {
            Asked::Observed { lane, .. } => Some(*lane),
            _ => None,
        }
    }

    /// The end that counts: of the latest attempt, as it was first told.
    pub fn end(&self) -> Option<&Ended> {
        let latest = self.ends.iter().map(|(_, end)| end.attempt).max()?;
        self.ends.iter().map(|(_, end)| end).find(|end| end.attempt == latest)
    }

    /// Ends that were told again for an attempt that had ended.
    pub fn repeated_ends(&self) -> usize {
        let attempts: BTreeSet<_> = self.ends.iter().map(|(_, end)| end.attempt).collect();
        self.ends.len() - attempts.len()
    }

    /// Where it stands.
    pub fn state(&self) -> CardState {
        let last_attempt = self.attempts.keys().next_back().copied().unwrap_or_default();
        match self.end() {
            Some(end) if end.attempt >= last_attempt => return CardState::Ended(end.outcome),
            _ => {}
        }
        let on_wire = matches!(self.asked.first(), Some(Asked::Answer { .. }));
        if self.asked.is_empty() {
            CardState::Unknown
        } else if on_wire && !self.outputs.is_empty() {
            CardState::Returned
        } else if !self.attempts.is_empty() {
            CardState::Dispatched
        } else {
            CardState::Requested
        }
    }

    /// Whether its result may be shown. A decision counts only for the review that holds it.
    pub fn held(&self) -> Held {
        let Some(review) = self.ends.iter().find_map(|(_, end)| end.held) else { return Held::No };
        let settled = self.settlements.iter().map(|(_, settled)| settled);
        let mut decisions = settled.filter(|settled| settled.review == review);
        match decisions.next() {
            None => Held::Waiting(review),
            // The first decision stands: what was refused does not come back.
            Some(settled) if settled.released => Held::Released(review),
            Some(_) => Held::Refused(review),
        }
    }

    /// The output that the model may see.
    pub fn visible_output(&self) -> Option<&Output> {
        self.outputs.first().filter(|_| self.held().may_show())
    }

    /// The arguments in force: of the latest dispatch that has its own, else the model's.
    pub fn effective_arguments(&self) -> Option<&Content> {
        let own = self.attempts.values().rev().find_map(|facts| facts.first()?.arguments.as_ref());
        own.or(self.given.arguments.as_ref())
    }

    /// Runs that know more of its sub-agents than this log: each has a recording of its own, and
    /// its whole output is not on record here. This log is read without them all the same.
    pub fn depends_on(&self) -> BTreeSet<RunId> {
        let told = |child: Child| {
            let ends = self.children_ended.iter().map(|(_, ended)| ended);
            ends.filter(|ended| ended.child == child).any(|ended| ended.output.is_some())
        };
        let spawned = self.children.iter().map(|(_, child)| *child);
        let ended = self.children_ended.iter().map(|(_, ended)| ended.child);
        let missing = spawned.chain(ended).filter(|child| !told(*child));
        missing
            .filter_map(|child| match child {
                Child::Run(run) => Some(run),
                Child::Session(_) | Child::Unknown => None,
            })
            .collect()
    }

    /// True when nothing more is to be expected of it.
    pub fn is_settled(&self) -> bool {
        let ended = matches!(self.state(), CardState::Returned | CardState::Ended(_));
        ended && !matches!(self.held(), Held::Waiting(_))
    }

    pub(super) fn attempt(&mut self, seq: u64, number: u16, attempt: Attempt) {
        self.attempts.entry(number).or_default().add(seq, attempt);
    }

    pub(super) fn join(&mut self, other: Self) {
        let Self { asked, given, attempts, outputs, ends, settlements, found, .. } = other;
        self.asked.join(asked);
        self.given.name = self.given.name.take().or(given.name);
        self.given.arguments = self.given.arguments.take().or(given.arguments);
        for (number, facts) in attempts {
            self.attempts.entry(number).or_default().join(facts);
        }
        self.outputs.join(outputs);
        self.ends.join(ends);
        self.settlements.join(settlements);
        self.found.join(found);
        self.hooks.extend(other.hooks);
        self.asks.extend(other.asks);
        self.children.join(other.children);
        self.children_ended.join(other.children_ended);
    }
}
