//! What may only go together: calls of one answer, a call and its result, a loop of calls that
//! began with reasoning.
//!
//! The rules are those of `OpenHands` (`sdk/context/view/properties`): messages that break one are
//! left out until no rule is broken, and a conversation may be cut where no rule forbids it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A message, as far as these rules look at it. `K` names calls, `B` answers of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link<K, B> {
    /// A call.
    Call {
        /// The call.
        call: K,
        /// The answer that asked for it; all calls of one answer go together.
        batch: B,
        /// It came with reasoning.
        thinking: bool,
    },
    /// The result of a call.
    Result {
        /// The call.
        call: K,
    },
    /// Anything else.
    Other,
}

/// Which rules are kept.
#[expect(clippy::struct_excessive_bools, reason = "each rule is kept or not, whatever the others")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Of several results of one call, the first stays.
    pub unique_output: bool,
    /// All calls of one answer stay together, or go together.
    pub batch_atomic: bool,
    /// Calls without a result go.
    pub drop_calls: bool,
    /// Results without a call go.
    pub drop_results: bool,
    /// A loop of calls that begins with reasoning stays whole, or goes whole.
    pub thinking_loop_atomic: bool,
}

impl Rules {
    /// All of them.
    pub const ALL: Self = Self {
        unique_output: true,
        batch_atomic: true,
        drop_calls: true,
        drop_results: true,
        thinking_loop_atomic: true,
    };
}

/// Positions that stay of those in `shown`: indices of `all`, in the order given.
///
/// Each round keeps the first rule, in the order of [`Rules`], that is broken; matching calls and
/// results are one rule. Whether a batch or a loop is whole is asked of `all`.
pub fn kept<K: Ord, B: Ord>(
    all: &[Link<K, B>],
    shown: impl IntoIterator<Item = usize>,
    rules: Rules,
) -> Vec<usize> {
    let loops = loops(all);
    let mut shown: Vec<usize> = shown.into_iter().collect();
    loop {
        let view = View { all, loops: &loops, shown: &shown };
        let gone = view.broken(rules);
        if gone.is_empty() {
            return shown;
        }
        shown.retain(|at| !gone.contains(at));
    }
}

/// Loops of calls: where each begins and ends, ends not included.
fn loops<K, B>(all: &[Link<K, B>]) -> Vec<(usize, usize)> {
    let mut loops: Vec<(usize, usize)> = Vec::new();
    let mut open = false;
    for (at, link) in all.iter().enumerate() {
        match link {
            Link::Call { thinking: true, .. } => {
                loops.push((at, at + 1));
                open = true;
            }
            Link::Other => open = false,
            Link::Call { .. } | Link::Result { .. } if open => {
                if let Some((_, end)) = loops.last_mut() {
                    *end = at + 1;
                }
            }
            Link::Call { .. } | Link::Result { .. } => {}
        }
    }
    loops
}

struct View<'v, K, B> {
    all: &'v [Link<K, B>],
    loops: &'v [(usize, usize)],
    shown: &'v [usize],
}

impl<'v, K: Ord, B: Ord> View<'v, K, B> {
    fn links(&self) -> impl Iterator<Item = (usize, &'v Link<K, B>)> {
        let all = self.all;
        self.shown.iter().filter_map(move |at| Some((*at, all.get(*at)?)))
    }

    /// What the first rule that is broken asks to leave out.
    fn broken(&self, rules: Rules) -> BTreeSet<usize> {
        let none = BTreeSet::new;
        let mut gone = if rules.unique_output { self.repeated() } else { none() };
        if gone.is_empty() && rules.batch_atomic {
            gone = self.torn_batches();
        }
        if gone.is_empty() && (rules.drop_calls || rules.drop_results) {
            gone = self.unmatched(rules);
        }
        if gone.is_empty() && rules.thinking_loop_atomic {
            gone = self.torn_loops();
        }
        gone
    }

    fn repeated(&self) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let again = self.links().filter(|(_, link)| match link {
            Link::Result { call } => !seen.insert(call),
            Link::Call { .. } | Link::Other => false,
        });
        again.map(|(at, _)| at).collect()
    }

    fn torn_batches(&self) -> BTreeSet<usize> {
        let mut whole: BTreeMap<&B, usize> = BTreeMap::new();
        for link in self.all {
            if let Link::Call { batch, .. } = link {
                *whole.entry(batch).or_default() += 1;
            }
        }
        let mut left: BTreeMap<&B, Vec<usize>> = BTreeMap::new();
        for (at, link) in self.links() {
            if let Link::Call { batch, .. } = link {
                left.entry(batch).or_default().push(at);
            }
        }
        let torn = left.into_iter().filter(|(batch, left)| whole.get(batch) != Some(&left.len()));
        torn.flat_map(|(_, left)| left).collect()
    }

    fn unmatched(&self, rules: Rules) -> BTreeSet<usize> {
        let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
        for (_, link) in self.links() {
            match link {
                Link::Call { call, .. } => calls.insert(call),
                Link::Result { call } => results.insert(call),
                Link::Other => false,
            };
        }
        let alone = self.links().filter(|(_, link)| match link {
            Link::Call { call, .. } => rules.drop_calls && !results.contains(call),
            Link::Result { call } => rules.drop_results && !calls.contains(call),
            Link::Other => false,
        });
        alone.map(|(at, _)| at).collect()
    }

    fn torn_loops(&self) -> BTreeSet<usize> {
        let mut gone = BTreeSet::new();
        for (start, end) in self.loops {
            let inside = self.shown.iter().filter(|at| (*start..*end).contains(*at));
            if inside.clone().count() < end - start {
                gone.extend(inside);
            }
        }
        gone
    }
}

/// Positions between 0 and the number of messages, both included, at which a conversation may be
/// cut without breaking a rule.
pub fn cuts<K: Ord, B: PartialEq>(shown: &[Link<K, B>]) -> BTreeSet<usize> {
    let mut cuts: BTreeSet<usize> = (0..=shown.len()).collect();
    let mut open = BTreeSet::new();
    let mut in_loop = false;
    let mut before: Option<&B> = None;
    for (at, link) in shown.iter().enumerate() {
        match link {
            Link::Call { call, batch, thinking } => {
                if before == Some(batch) || (in_loop && !thinking) {
                    cuts.remove(&at);
                }
                open.insert(call);
                in_loop |= thinking;
                before = Some(batch);
            }
            Link::Result { call } => {
                if in_loop {
                    cuts.remove(&at);
                }
                open.remove(call);
                before = None;
            }
            Link::Other => {
                in_loop = false;
                before = None;
            }
        }
        if !open.is_empty() {
            cuts.remove(&(at + 1));
        }
    }
    cuts
}

#[cfg(test)]
mod tests;
