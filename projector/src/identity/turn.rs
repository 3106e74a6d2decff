//! One turn: when it began and how it ended.

use ledger::event::{TurnEnded, TurnStarted};

use super::facts::Facts;

/// Everything on record of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its beginning.
    pub started: Facts<TurnStarted>,
    /// Its end.
    pub ended: Facts<TurnEnded>,
}

impl Turn {
    pub(super) fn join(&mut self, other: Self) {
        self.started.join(other.started);
        self.ended.join(other.ended);
    }
}
