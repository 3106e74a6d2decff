//! The fold: a conversation's messages under a policy, request after request.
//!
//! What no policy can change is in the [`Index`]; what the `result` steps leave of a part is its
//! effect, worked out once; what the other steps did to a conversation is kept in its list. A
//! request then costs what changed since the request before, and not what it sends again.

pub(crate) mod effect;
pub(crate) mod index;
mod layout;
pub(crate) mod list;
pub(crate) mod measured;
pub(crate) mod program;
mod snapshot;
mod support;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use artifacts::{GetError, Source};
use ledger::event::{Overlay, Splice};
use ledger::history::{Change, History, ListWalker, Request};
use ledger::id::{PartNo, RequestId, SessionId};

use crate::memo::Memo;
use crate::policy::{Budget, Metric, Op, Policy, Step};
use crate::projection::{Account, Assumption, Fidelity, Projection, Refusal};
use crate::stage::clear::{self, ClearState};
use crate::stage::stack::{self, Outcome};
use crate::stage::window;
use effect::Effects;
use layout::Layout;
use list::{Ground, List, Sizes};
use program::Program;

pub use index::Index;
pub use snapshot::{Snapshot, SnapshotError};

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

/// A conversation as far as it was folded.
#[derive(Debug)]
struct State {
    list: List,
    layers: Vec<Layer>,
    edited: bool,
    last: Option<RequestId>,
}

/// What a layer remembers of a conversation.
#[derive(Clone, Debug)]
enum Layer {
    Clear(ClearState),
    Window,
    Stack,
}

/// What several projectors over one history share.
#[derive(Clone, Copy)]
pub struct Shared<'s> {
    /// What no policy can change.
    pub index: &'s Index,
    /// What caps leave of texts.
    pub memo: &'s dyn Memo,
}

impl core::fmt::Debug for Shared<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Shared")
    }
}

/// Folds the requests of a run under one policy.
#[derive(Debug)]
pub struct Projector<'h> {
    history: &'h History,
    index: Cow<'h, Index>,
    program: Program<'h>,
    unsupported: Option<Refusal>,
    effects: Effects<'h>,
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
        Self::start(history, source, policy, Cow::Owned(Index::new(history)), None)
    }

    /// Starts before the first request, with what other projectors have worked out.
    pub fn with(
        history: &'h History,
        source: &'h dyn Source,
        policy: &'h Policy,
        shared: Shared<'h>,
    ) -> Self {
        Self::start(history, source, policy, Cow::Borrowed(shared.index), Some(shared.memo))
    }

    fn start(
        history: &'h History,
        source: &'h dyn Source,
        policy: &'h Policy,
        index: Cow<'h, Index>,
        memo: Option<&'h dyn Memo>,
    ) -> Self {
        let unsupported = support::unsupported(policy);
        let steps = if unsupported.is_some() { &[] } else { policy.steps.as_slice() };
        Self {
            history,
            program: Program::new(policy, steps, &index),
            unsupported: unsupported.map(|(step, why)| Refusal::Unsupported { step, why }),
            index,
            effects: Effects::new(history, source, memo),
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
        let ordinal = request.ordinal();
        let info = self.history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let last = self.sessions.get(&info.session()).and_then(|state| state.last);
        if last != info.previous {
            return Err(ProjectError::OutOfOrder { ordinal });
        }
        let folded = self.fold(request, info);
        if folded.is_err() {
            self.sessions.remove(&info.session());
        }
        folded
    }

    /// Folds the next request of its conversation and lays its view out.
    ///
    /// # Errors
    /// As for [`Projector::step`].
    pub fn projection(&mut self, request: RequestId) -> Result<Projection, ProjectError> {
        let (fidelity, account) = self.step(request)?;
        let ordinal = request.ordinal();
        let info = self.history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let lists = self.lists.lists(request).map_err(|_base| ProjectError::BadList { ordinal })?;
        let Some(state) = self.sessions.get(&info.session()) else {
            return Err(ProjectError::OutOfOrder { ordinal });
        };
        let acts = info.captured.unsplit.is_none();
        let layout = Layout::new(self.history, &self.index, &self.program, &self.effects);
        let view = layout.view(info, (&lists.head, &lists.tail), &state.list, acts);
        Ok(Projection { request, fidelity, account, view })
    }

    fn fold(
        &mut self,
        request: RequestId,
        info: &Request,
    ) -> Result<(Fidelity, Account), ProjectError> {
        let ordinal = request.ordinal();
        let bad = ProjectError::BadList { ordinal };
        let frame_bytes = self.index.frame_bytes(request.index()).ok_or(bad.clone())?;
        let layers = self.program.layers();
        let state = self.sessions.entry(info.session()).or_insert_with(|| State::new(layers));
        state.last = Some(request);
        for change in &info.changes {
            let (from, parts) = state.changed(change).map_err(|_index| bad.clone())?;
            for part in &parts {
                self.effects.learn(&self.index, &self.program, *part)?;
            }
            state.apply(Ground { index: &self.index, effects: &self.effects }, from, &parts);
        }
        let mut run = Run {
            program: &self.program,
            ground: Ground { index: &self.index, effects: &self.effects },
            frame_bytes,
            separator_bytes: info.captured.separator.len(),
            marks: info.overlays(),
            state,
        };
        let acts = info.captured.unsplit.is_none();
        let outcome = if acts { run.layers() } else { Outcome::default() };
        let account = run.account(info.captured.body_bytes, acts, outcome);
        let in_run = outcome.refused.map(|why| Refusal::Unsupported { step: 0, why });
        let fidelity = match self.unsupported.or(in_run) {
            Some(refusal) => Fidelity::Refused(refusal),
            None => fidelity(self.program.policy, info, state, outcome),
        };
        Ok((fidelity, account))
    }
}

impl State {
    fn new(layers: &[(usize, &Step)]) -> Self {
        let layer = |(_, step): &(usize, &Step)| match step.op {
            Op::ClearResults(_) => Layer::Clear(ClearState::default()),
            Op::Stack(_) => Layer::Stack,
            _ => Layer::Window,
        };
        Self {
            list: List::new(layers.len()),
            layers: layers.iter().map(layer).collect(),
            edited: false,
            last: None,
        }
    }

    /// The messages from the first one that a change adds or moves on, and where that is.
    fn changed(&mut self, change: &Change) -> Result<(usize, Vec<PartNo>), usize> {
        match change {
            Change::Appended(parts) => {
                Ok((self.list.len(), parts.iter().map(|(part, _cause)| *part).collect()))
            }
            Change::Edited(splices) => {
                self.edited = true;
                let numbers = splices.iter().map(|splice| Splice {
                    at: splice.at,
                    remove: splice.remove,
                    insert: splice.insert.iter().map(|(part, _cause)| *part).collect(),
                });
                self.list.edited(&numbers.collect::<Vec<_>>())
            }
        }
    }

    /// Puts messages in the place of those from a position on.
    fn apply(&mut self, ground: Ground<'_, '_>, from: usize, parts: &[PartNo]) {
        if from < self.list.len() {
            self.list.truncate(ground, from);
            let results = self.list.results().len();
            for layer in &mut self.layers {
                match layer {
                    Layer::Clear(state) => state.truncate(results),
                    Layer::Window | Layer::Stack => {}
                }
            }
        }
        for part in parts {
            self.list.push(ground, *part);
        }
    }
}

fn fidelity(policy: &Policy, request: &Request, state: &State, outcome: Outcome) -> Fidelity {
    if policy.is_recorded() {
        return Fidelity::Exact;
    }
    if request.captured.unsplit.is_some() {
        return Fidelity::Refused(Refusal::Unsplit { step: 0 });
    }
    if let Some(step) = state.list.not_whole() {
        return Fidelity::Assumed(Assumption::SentIsWhole { step });
    }
    if state.edited {
        return Fidelity::Assumed(Assumption::EditsKept { step: 0 });
    }
    if outcome.needless {
        return Fidelity::Assumed(Assumption::NeedlessKept { step: 0 });
    }
    Fidelity::Derived
}

/// One request on its way through the policy.
struct Run<'r, 'h> {
    program: &'r Program<'h>,
    ground: Ground<'r, 'h>,
    frame_bytes: u64,
    separator_bytes: u64,
    marks: &'r [Overlay],
    state: &'r mut State,
}

impl Run<'_, '_> {
    fn layers(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        for (layer, (_, step)) in self.program.layers().iter().enumerate() {
            let fires = self.fires(layer, step);
            let State { list, layers, .. } = &mut *self.state;
            match (&step.op, layers.get_mut(layer)) {
                (Op::ClearResults(step), Some(Layer::Clear(state))) => {
                    clear::run(list, self.ground, (layer, step), state, fires);
                }
                (Op::Window(step), _) => window::run(list, self.ground, (layer, step)),
                // Its first layer does the work of both.
                (Op::Stack(step), _) if self.program.stack().is_some_and(|it| it.0 == layer) => {
                    outcome = stack::run(list, self.ground, (layer, step));
                }
                _ => {}
            }
        }
        outcome
    }

    /// True when the step acts: its trigger looks at what the steps before have left.
    fn fires(&self, layer: usize, step: &Step) -> bool {
        let Some(trigger) = &step.trigger else { return true };
        let found = match trigger.metric {
            Metric::EstTokens => self.program.policy.estimator.tokens(self.body_bytes(layer)),
            _ => self.state.list.sums(layer).results,
        };
        trigger.fires(found, &Budget::default()) == Some(true)
    }

    /// Length of the body as a layer is given it.
    fn body_bytes(&self, layer: usize) -> u64 {
        let list = &self.state.list;
        let Sizes { bytes, messages, .. } = list.sums(layer);
        let gaps = messages.saturating_sub(1) * self.separator_bytes;
        // A mark goes with its message.
        let stays = |mark: &&Overlay| {
            let position = mark.item as usize;
            position >= list.len() || list.reaches(position, layer)
        };
        let marks: u64 = self.marks.iter().filter(stays).map(|mark| mark.bytes.len()).sum();
        self.frame_bytes + bytes + gaps + marks
    }

    fn account(&self, recorded_bytes: u64, acts: bool, outcome: Outcome) -> Account {
        let layer = if acts { self.program.layers().len() } else { 0 };
        let list = &self.state.list;
        let sums = list.sums(layer);
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let body_bytes = self.body_bytes(layer);
        let dropped = list.len() as u64 - sums.messages;
        Account {
            body_bytes,
            recorded_bytes,
            tokens: self.program.policy.estimator.tokens(body_bytes),
            hidden_bytes: list.text_bytes() - sums.shown_bytes,
            capped_results: narrow(sums.capped),
            cleared_results: narrow(sums.cleared),
            dropped_messages: narrow(dropped),
            broken_pairs: narrow(list.broken(layer) as u64),
            changed: sums.differing > 0 || dropped > 0,
            stack: outcome.account,
        }
    }
}

#[cfg(test)]
mod tests;
