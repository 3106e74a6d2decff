//! One record of a hook: all evidence, and what it comes to.

use alloc::vec::Vec;

use ledger::event::{HookPublished, ReviewUpdated, Stamp};
use ledger::id::{HookId, Revision, SessionId, ToolCallId};

use super::facts::Facts;

/// One event about a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// An outcome.
    Outcome(HookPublished),
    /// A state of a review.
    Review(ReviewUpdated),
}

impl Evidence {
    /// Which record it says it is about.
    pub fn stamp(&self) -> &Stamp {
        match self {
            Self::Outcome(event) => &event.stamp,
            Self::Review(event) => &event.stamp,
        }
    }

    /// The record that it belongs to: envelope and content agree, and a review is about the call
    /// that its id is made of. `None`: it stands alone.
    pub fn record(&self) -> Option<HookId> {
        let hook = self.stamp().hook()?;
        match self {
            Self::Outcome(_) => (!hook.is_review()).then_some(hook),
            Self::Review(event) if event.review == hook => match (hook, event.stamp.call()) {
                (HookId::Review { call, .. }, Some(named)) => (call == named).then_some(hook),
                (HookId::Review { .. }, None) => Some(hook),
                (HookId::Outcome(_), _) => None,
            },
            Self::Review(_) => None,
        }
    }
}

/// What a piece of evidence is to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the state.
    Current,
    /// A later revision is the state.
    Earlier,
    /// It says again what another piece said.
    Repeated,
    /// It contradicts what was there, and changes nothing.
    Conflict,
    /// It lacks ids, and changes nothing that has them.
    Incomplete,
}

/// All evidence about one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub(super) evidence: Facts<Evidence>,
}

/// What evidence comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved<'a> {
    /// The state, where something with all its ids says one.
    pub current: Option<&'a Evidence>,
    /// The call that the record is about.
    pub call: Option<ToolCallId>,
    /// The conversation that it comes from.
    pub origin: Option<SessionId>,
    /// Its revision.
    pub revision: Option<Revision>,
    /// Every piece, in the order of the log, with what it is.
    pub evidence: Vec<(u64, Standing, &'a Evidence)>,
}

impl Record {
    /// All evidence, in the order of the log.
    pub fn evidence(&self) -> &Facts<Evidence> {
        &self.evidence
    }

    /// Works out the state. It depends on the evidence and not on the order of its arrival.
    pub fn resolve(&self) -> Resolved<'_> {
        let full = || {
            self.evidence.iter().filter_map(|(seq, piece)| match piece.stamp() {
                Stamp::Full { call, origin, revision, .. } => {
                    Some((seq, *call, *origin, *revision, piece))
                }
                Stamp::Partial { .. } => None,
            })
        };
        // Call and origin are those of the piece that stands first in the log.
        let Some((_, call, origin, _, _)) = full().next() else { return self.without_identity() };
        let fits = |c: ToolCallId, o: SessionId| c == call && o == origin;
        let highest = full().filter(|(_, c, o, ..)| fits(*c, *o)).map(|(_, _, _, r, _)| r).max();
        // Of two pieces with one revision, the one that stands first in the log is the state.
        let first_of = |wanted: Revision| {
            full().find(|(_, c, o, revision, _)| *revision == wanted && fits(*c, *o))
        };
        let standing = |seq: u64, piece: &Evidence| match piece.stamp() {
            Stamp::Partial { .. } => Standing::Incomplete,
            Stamp::Full { call, origin, revision, .. } => {
                let first = first_of(*revision);
                if !fits(*call, *origin) {
                    Standing::Conflict
                } else if first.is_some_and(|(other, ..)| other != seq) {
                    let same = first.is_some_and(|(.., other)| other == piece);
                    if same { Standing::Repeated } else { Standing::Conflict }
                } else if Some(*revision) == highest {
                    Standing::Current
                } else {
                    Standing::Earlier
                }
            }
        };
        let evidence =
            self.evidence.iter().map(|(seq, piece)| (seq, standing(seq, piece), piece)).collect();
        Resolved {
            current: highest.and_then(first_of).map(|(.., piece)| piece),
            call: Some(call),
            origin: Some(origin),
            revision: highest,
            evidence,
        }
    }

    /// What a record comes to that nothing with all its ids speaks of: the latest by revision,
    /// where an unknown one is below every known one.
    fn without_identity(&self) -> Resolved<'_> {
        let mut current: Option<(u64, &Evidence)> = None;
        for (seq, piece) in self.evidence.iter() {
            if current.is_none_or(|(_, best)| piece.stamp().revision() > best.stamp().revision()) {
                current = Some((seq, piece));
            }
        }
        let stamp = current.map(|(_, piece)| *piece.stamp());
        Resolved {
            current: None,
            call: stamp.and_then(|stamp| stamp.call()),
            origin: stamp.and_then(|stamp| stamp.origin()),
            revision: stamp.and_then(|stamp| stamp.revision()),
            evidence: self
                .evidence
                .iter()
                .map(|(seq, piece)| (seq, Standing::Incomplete, piece))
                .collect(),
        }
    }

    /// The call that the record joins: known by a piece with all its ids.
    pub fn call(&self) -> Option<ToolCallId> {
        self.evidence.iter().find_map(|(_, piece)| match piece.stamp() {
            Stamp::Full { call, .. } => Some(*call),
            Stamp::Partial { .. } => None,
        })
    }
}
