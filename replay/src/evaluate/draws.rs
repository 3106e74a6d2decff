//! Which policies a run's requests were made under, where those were drawn at random.

use std::collections::BTreeMap;

use ledger::history::History;

/// The draws of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draws {
    /// By number of the draw, the policy's id and its probability in millionths.
    pub draws: BTreeMap<u32, ([u8; 32], u32)>,
    /// Requests whose policy was not drawn.
    pub missing: u64,
    /// Requests that say something else than an earlier one of their draw.
    pub conflicting: u64,
}

impl Draws {
    /// Of a run.
    pub fn of(history: &History) -> Self {
        let mut found = Self::default();
        for request in history.requests() {
            let Some(drawn) = &request.captured.propensity else {
                found.missing += 1;
                continue;
            };
            let is = (drawn.policy, drawn.millionths);
            let known = *found.draws.entry(drawn.draw).or_insert(is);
            found.conflicting += u64::from(known != is);
        }
        found
    }

    /// True when every request was made under a policy that was drawn, and says so consistently.
    pub fn is_whole(&self) -> bool {
        self.missing == 0 && self.conflicting == 0
    }
}
