//! The fold: a conversation's messages under a policy, request after request.
//!
//! State per conversation is its recorded message list, what stays cleared, and whether the
//! client has edited its history; per part, what the `result` steps leave of it (computed once,
//! since that depends on the part and the policy alone). A request then costs a walk over its
//! list, not over its bytes.

mod facts;
mod layout;
mod support;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use artifacts::{GetError, Source};
use ledger::diff;
use ledger::history::{BodyLists, Change, History, ListWalker, Request};
use ledger::id::{PartNo, RequestId, SessionId};

use crate::policy::{Budget, ClearResults, Metric, Op, Policy, Step, Trigger, Window};
use crate::projection::{Account, Assumption, Dropped, Fidelity, Projection, Refusal};
use crate::stage::{clear, window};
use facts::Facts;

/// Why a request could not be projected.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// No such request.
    #[error("request {ordinal} does not exist")]
    NoSuchRequest {
        /// Its number, from 1.
        ordinal: u64,
    },
    /// Requests of a conversation must be folded in order.
    #[error("request {ordinal} is not the next of its conversation")]
    OutOfOrder {
        /// Its number, from 1.
        ordinal: u64,
    },
    /// An artifact is missing or damaged.
    #[error(transparent)]
    Get(#[from] GetError),
    /// What fills a slot is not text.
    #[error("part {part} slot {slot}: not utf-8")]
    NotText {
        /// Number of the part.
        part: u32,
        /// Index of the slot.
        slot: usize,
    },
    /// A recorded list change does not fit.
    #[error("request {ordinal}: a list change does not fit")]
    BadList {
        /// Its number, from 1.
        ordinal: u64,
    },
}

/// A result by its place in the list: part, how many equal parts stand before it, and group.
type Listed = (PartNo, u32, u16);

/// A conversation as far as it was folded.
#[derive(Clone, Debug, Default)]
struct State {
    items: Vec<PartNo>,
    /// Results that stay cleared, per step.
    sticky: BTreeMap<usize, BTreeSet<Listed>>,
    edited: bool,
    last: Option<RequestId>,
}

/// What the policy decided for one request.
#[derive(Debug, Default)]
struct Decision {
    /// Cleared results: position of the message and group, and the step that cleared it.
    cleared: BTreeMap<(usize, u16), usize>,
    /// Messages that are left out.
    dropped: Dropped,
    /// First step that looks at a text whose whole is not on record.
    sent_is_whole: Option<usize>,
}

/// Folds the requests of a run under one policy.
#[derive(Debug)]
pub struct Projector<'h> {
    history: &'h History,
    policy: &'h Policy,
    /// The steps that are carried out: all, or none where one of them cannot be.
    steps: &'h [Step],
    unsupported: Option<Refusal>,
    facts: Facts<'h>,
    lists: ListWalker<'h>,
    sessions: BTreeMap<SessionId, State>,
}

/// Projects one request.
///
/// # Errors
/// No such request, or an artifact that it needs is missing or damaged.
pub fn project(
    history: &History,
    source: &dyn Source,
    policy: &Policy,
    request: RequestId,
) -> Result<Projection, ProjectError> {
    let ordinal = request.ordinal();
    let wanted = history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
    let mut projector = Projector::new(history, source, policy);
    let session = history.sessions().get(wanted.session().index());
    for id in session.map(|session| session.requests.as_slice()).unwrap_or_default() {
        if *id == request {
            return projector.projection(request);
        }
        projector.step(*id)?;
    }
    Err(ProjectError::NoSuchRequest { ordinal })
}

impl<'h> Projector<'h> {
    /// Starts before the first request.
    pub fn new(history: &'h History, source: &'h dyn Source, policy: &'h Policy) -> Self {
        let unsupported = support::unsupported(policy);
        let steps = if unsupported.is_some() { &[] } else { policy.steps.as_slice() };
        Self {
            history,
            policy,
            steps,
            unsupported: unsupported.map(|(step, why)| Refusal::Unsupported { step, why }),
            facts: Facts::new(history, source, steps),
            lists: ListWalker::new(history),
            sessions: BTreeMap::new(),
        }
    }

    /// Folds the next request of its conversation and accounts for it; makes no bytes.
    ///
    /// # Errors
    /// The request is not the next one, or an artifact that it needs is missing or damaged. After
    /// an error the conversation is where it was before its first request: what a request that
    /// could not be folded would have left behind is not known.
    pub fn step(&mut self, request: RequestId) -> Result<(Fidelity, Account), ProjectError> {
        let (fidelity, account, _decision) = self.fold(request)?;
        Ok((fidelity, account))
    }

    /// Folds the next request of its conversation and lays its view out.
    ///
    /// # Errors
    /// As for [`Projector::step`].
    pub fn projection(&mut self, request: RequestId) -> Result<Projection, ProjectError> {
        let (fidelity, account, decision) = self.fold(request)?;
        let ordinal = request.ordinal();
        let info = self.history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let items = self.sessions.get(&info.session()).map(|state| state.items.as_slice());
        let lists = self.lists.lists(request).map_err(|_base| ProjectError::BadList { ordinal })?;
        let view = layout::view(
            self.history,
            self.steps,
            &mut self.facts,
            info,
            (&lists.head, items.unwrap_or_default(), &lists.tail),
            &decision,
        )?;
        Ok(Projection { request, fidelity, account, view })
    }

    fn fold(&mut self, request: RequestId) -> Result<(Fidelity, Account, Decision), ProjectError> {
        let ordinal = request.ordinal();
        let info = self.history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let last = self.sessions.get(&info.session()).and_then(|state| state.last);
        if last != info.previous {
            return Err(ProjectError::OutOfOrder { ordinal });
        }
        let folded = self.fold_next(request, info);
        if folded.is_err() {
            self.sessions.remove(&info.session());
        }
        folded
    }

    fn fold_next(
        &mut self,
        request: RequestId,
        info: &Request,
    ) -> Result<(Fidelity, Account, Decision), ProjectError> {
        let ordinal = request.ordinal();
        let lists = self.lists.lists(request).map_err(|_base| ProjectError::BadList { ordinal })?;
        let state = self.sessions.entry(info.session()).or_default();
        state.last = Some(request);
        for change in &info.changes {
            state.change(change).map_err(|_index| ProjectError::BadList { ordinal })?;
        }
        let mut run = Run {
            policy: self.policy,
            facts: &mut self.facts,
            state,
            request: info,
            account: Account { recorded_bytes: info.captured.body_bytes, ..Account::default() },
            decision: Decision::default(),
            differing: 0,
        };
        run.frame(lists);
        run.items()?;
        if info.captured.unsplit.is_none() {
            for (index, step) in self.steps.iter().enumerate() {
                match &step.op {
                    Op::ClearResults(clear) => {
                        run.clear_results(clear, step.trigger.as_ref(), index)?;
                    }
                    Op::Window(window) => run.drop_messages(window)?,
                    _ => {}
                }
            }
        }
        let Run { mut account, decision, differing, .. } = run;
        account.changed = differing > 0 || account.dropped_messages > 0;
        account.tokens = self.policy.estimator.tokens(account.body_bytes);
        let fidelity = match self.unsupported {
            Some(refusal) => Fidelity::Refused(refusal),
            None => fidelity(self.policy, info, state, &decision),
        };
        Ok((fidelity, account, decision))
    }
}

impl State {
    fn change(&mut self, change: &Change) -> Result<(), usize> {
        match change {
            Change::Appended(parts) => {
                self.items.extend(parts.iter().map(|(part, _cause)| *part));
                Ok(())
            }
            Change::Edited(splices) => {
                self.edited = true;
                let numbers: Vec<_> = splices
                    .iter()
                    .map(|splice| ledger::event::Splice {
                        at: splice.at,
                        remove: splice.remove,
                        insert: splice.insert.iter().map(|(part, _cause)| *part).collect(),
                    })
                    .collect();
                diff::apply(&mut self.items, &numbers)
            }
        }
    }
}

/// For each place of a list, how many places before it hold the same part; empty where no part
/// is there twice, as in every list that only grew.
fn equal_before(items: &[PartNo]) -> Vec<u32> {
    if items.is_sorted_by(|a, b| a < b) {
        return Vec::new();
    }
    let mut counts = BTreeMap::new();
    let before = items.iter().map(|part| {
        let count: &mut u32 = counts.entry(*part).or_default();
        let before = *count;
        *count = before.saturating_add(1);
        before
    });
    before.collect()
}

fn fidelity(policy: &Policy, request: &Request, state: &State, decision: &Decision) -> Fidelity {
    if policy.is_recorded() {
        return Fidelity::Exact;
    }
    if request.captured.unsplit.is_some() {
        return Fidelity::Refused(Refusal::Unsplit { step: 0 });
    }
    if let Some(step) = decision.sent_is_whole {
        return Fidelity::Assumed(Assumption::SentIsWhole { step });
    }
    if state.edited {
        return Fidelity::Assumed(Assumption::EditsKept { step: 0 });
    }
    Fidelity::Derived
}

/// One request on its way through the policy.
struct Run<'r, 'h> {
    policy: &'r Policy,
    facts: &'r mut Facts<'h>,
    state: &'r mut State,
    request: &'r Request,
    account: Account,
    decision: Decision,
    /// Results whose text is not the recorded one.
    differing: u64,
}

impl Run<'_, '_> {
    /// Sums what stands around the messages.
    fn frame(&mut self, lists: &BodyLists) {
        let gaps = self.state.items.len().saturating_sub(1) as u64;
        let separators = gaps * self.request.captured.separator.len();
        let marks: u64 = self.request.overlays().iter().map(|mark| mark.bytes.len()).sum();
        self.account.body_bytes = separators + marks;
        for part in lists.head.iter().chain(&lists.tail) {
            self.account.body_bytes += self.facts.frame_bytes(*part);
        }
    }

    /// Sums the messages as the `result` steps leave them.
    fn items(&mut self) -> Result<(), ProjectError> {
        for part in &self.state.items {
            let facts = self.facts.get(*part)?;
            self.account.body_bytes += facts.bytes;
            self.account.hidden_bytes += facts.hidden_bytes;
            self.account.capped_results += facts.capped_results;
            self.differing += facts.results.iter().filter(|result| result.differs).count() as u64;
            if let Some(step) = facts.sent_is_whole {
                let first = self.decision.sent_is_whole.get_or_insert(step);
                *first = (*first).min(step);
            }
        }
        Ok(())
    }

    fn is_dropped(&self, position: usize) -> bool {
        self.decision.dropped.iter().any(|range| range.contains(&position))
    }

    fn clear_results(
        &mut self,
        step: &ClearResults,
        trigger: Option<&Trigger>,
        index: usize,
    ) -> Result<(), ProjectError> {
        let fires = match trigger {
            None => true,
            Some(trigger) => {
                let found = match trigger.metric {
                    Metric::EstTokens => self.policy.estimator.tokens(self.account.body_bytes),
                    _ => self.results()?,
                };
                trigger.fires(found, &Budget::default()) == Some(true)
            }
        };
        let keep = clear::keep_newest(step, fires);
        let sticky = self.state.sticky.get(&index);
        if keep.is_none() && sticky.is_none_or(BTreeSet::is_empty) {
            return Ok(());
        }
        // A list may hold a message twice; that the older one is cleared says nothing of the newer.
        let equal = if step.sticky { equal_before(&self.state.items) } else { Vec::new() };
        let mut cleared = Vec::new();
        let mut newest = 0;
        for position in (0..self.state.items.len()).rev() {
            let Some(part) = self.state.items.get(position).copied() else { continue };
            if self.is_dropped(position) {
                continue;
            }
            let equal = equal.get(position).copied().unwrap_or_default();
            for result in self.facts.get(part)?.results.iter().rev() {
                // A result that the step is not for takes a place among the newest nonetheless.
                newest += 1;
                let listed = (part, equal, result.group);
                let beyond = keep.is_some_and(|keep| newest > keep);
                let stays = sticky.is_some_and(|set| set.contains(&listed));
                if result.is_for(index) && (beyond || stays) {
                    cleared.push((position, listed, stays));
                }
            }
        }
        for (position, listed, stays) in cleared {
            if step.sticky && !stays {
                self.state.sticky.entry(index).or_default().insert(listed);
            }
            let (part, _, group) = listed;
            self.clear(index, position, part, group)?;
        }
        Ok(())
    }

    /// Results in the messages that are left.
    fn results(&mut self) -> Result<u64, ProjectError> {
        let mut count = 0;
        for (position, part) in self.state.items.iter().enumerate() {
            if self.is_dropped(position) {
                continue;
            }
            count += self.facts.get(*part)?.results.len() as u64;
        }
        Ok(count)
    }

    fn clear(
        &mut self,
        step: usize,
        position: usize,
        part: PartNo,
        group: u16,
    ) -> Result<(), ProjectError> {
        if self.decision.cleared.contains_key(&(position, group)) {
            return Ok(());
        }
        let facts = self.facts.get(part)?;
        let found = facts.results.iter().find(|result| result.group == group);
        let Some(result) = found else { return Ok(()) };
        let Some(cleared) = result.cleared(step) else { return Ok(()) };
        let account = &mut self.account;
        account.body_bytes = account.body_bytes - result.bytes + cleared.bytes;
        account.hidden_bytes += result.shown_bytes;
        account.cleared_results += 1;
        account.capped_results -= u32::from(result.capped);
        self.differing -= u64::from(result.differs);
        self.differing += u64::from(cleared.differs);
        self.decision.cleared.insert((position, group), step);
        Ok(())
    }

    /// Drops messages from what the steps before have left.
    fn drop_messages(&mut self, step: &Window) -> Result<(), ProjectError> {
        let needs = self.needs()?;
        let left: Vec<_> =
            (0..self.state.items.len()).filter(|position| !self.is_dropped(*position)).collect();
        let gone = window::dropped(step, left.len(), |nth| {
            let calls = left.get(nth).and_then(|position| needs.get(*position));
            calls.into_iter().flatten().filter_map(|call| left.binary_search(call).ok())
        });
        let gone = left.get(gone).unwrap_or_default();
        let (Some(first), Some(last)) = (gone.first(), gone.last()) else { return Ok(()) };
        for position in gone {
            self.drop_message(*position)?;
        }
        let gaps = left.len().saturating_sub(1) - (left.len() - gone.len()).saturating_sub(1);
        self.account.body_bytes -= gaps as u64 * self.request.captured.separator.len();
        // What lies between the two and is not among the gone was dropped before.
        self.decision.dropped.push(*first..last + 1);
        let mut broken = 0;
        for (position, calls) in needs.iter().enumerate() {
            let dropped = self.is_dropped(position);
            broken += calls.iter().filter(|call| self.is_dropped(**call) != dropped).count();
        }
        self.account.broken_pairs = u32::try_from(broken).unwrap_or(u32::MAX);
        Ok(())
    }

    /// For each message, the earlier messages that hold the calls which it has results for.
    fn needs(&mut self) -> Result<Vec<Vec<usize>>, ProjectError> {
        let mut call_at = BTreeMap::new();
        let mut needs = Vec::with_capacity(self.state.items.len());
        for (position, part) in self.state.items.iter().enumerate() {
            let facts = self.facts.get(*part)?;
            let calls = facts.results.iter().filter_map(|result| result.call);
            needs.push(calls.filter_map(|call| call_at.get(&call).copied()).collect());
            for call in &facts.calls {
                call_at.insert(*call, position);
            }
        }
        Ok(needs)
    }

    /// Takes one message and its marks out of the account.
    fn drop_message(&mut self, position: usize) -> Result<(), ProjectError> {
        let Some(part) = self.state.items.get(position).copied() else { return Ok(()) };
        let facts = self.facts.get(part)?;
        let account = &mut self.account;
        let mut bytes = facts.bytes;
        let mut shown = facts.text_bytes;
        for result in &facts.results {
            let step = self.decision.cleared.remove(&(position, result.group));
            if let Some(cleared) = step.and_then(|step| result.cleared(step)) {
                bytes = bytes - result.bytes + cleared.bytes;
                shown -= result.shown_bytes;
                account.cleared_results -= 1;
            } else {
                account.capped_results -= u32::from(result.capped);
            }
        }
        let marks: u64 = self
            .request
            .overlays()
            .iter()
            .filter(|mark| mark.item as usize == position)
            .map(|mark| mark.bytes.len())
            .sum();
        account.body_bytes -= bytes + marks;
        account.hidden_bytes += shown;
        account.dropped_messages += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
