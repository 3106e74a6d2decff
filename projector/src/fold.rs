//! The fold: a conversation's messages under a policy, request after request.
//!
//! What no policy can change is in the [`Index`]; what the `result` steps leave of a part is its
//! effect, worked out once; what the other steps did to a conversation is kept in its list. A
//! request then costs what changed since the request before, and not what it sends again.

pub(crate) mod blocks;
pub(crate) mod effect;
mod frame;
pub(crate) mod index;
mod layout;
pub(crate) mod list;
pub(crate) mod measured;
pub(crate) mod program;
mod run;
pub(crate) mod said;
mod snapshot;
mod support;
mod usage;
mod weigh;
mod wrapping;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use artifacts::{GetError, Source};
use ledger::event::{Overlay, Splice};
use ledger::history::{Change, History, ListWalker, Request};
use ledger::id::{PartNo, RequestId, SessionId};
use ledger::wire::{PartKind, SlotKind};

use crate::measure::TokenCounter;
use crate::memo::Memo;
use crate::policy::op::{Replace, SummarySource};
use crate::policy::{Op, Policy, Step};
use crate::projection::{Account, Assumption, Fidelity, Projection, Refusal};
use crate::stage::clear::ClearState;
use crate::stage::memory::Memory;
use crate::stage::stack::Outcome;
use crate::stage::summary;
use crate::text::Unknown;
use crate::view::Segment;
use effect::Effects;
use frame::FrameCuts;
use layout::Layout;
use list::{Ground, List};
use program::Program;
use run::Run;
use said::Pen;
use usage::Used;

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
    /// The client has changed its list in a way that the policy does not explain.
    edited: bool,
    /// Some request of the conversation was not as it was recorded.
    diverged: bool,
    /// The layer whose summary would be due next, and where its text comes from.
    due: Option<usize>,
    /// A step that had to act and could not be carried out.
    refused: Option<(usize, &'static str)>,
    /// The first assumption that a trigger rested on.
    assumed: Option<Assumption>,
    usage: Option<Used>,
    last: Option<RequestId>,
    /// What is left of the parts around the messages of the last request.
    frame: FrameCuts,
    /// The request that was laid out last, and whether it was refused.
    laid: Option<(RequestId, bool)>,
}

/// What a request shows beside what the conversation's request before shows, for whoever has laid
/// that one out.
#[derive(Debug)]
pub(crate) struct Advance {
    pub(crate) fidelity: Fidelity,
    pub(crate) account: Account,
    /// Parts around the messages, in the order of the body, and what is shown of each.
    pub(crate) frame: Vec<(PartNo, Vec<Segment>)>,
    /// Leading messages that are those of the request before.
    pub(crate) stay: usize,
    /// The messages behind them.
    pub(crate) items: Vec<Segment>,
}

/// What a layer remembers of a conversation.
#[derive(Clone, Debug)]
enum Layer {
    Clear(ClearState),
    Kept(Box<Memory>),
    Stack,
}

/// What several projectors over one history share.
#[derive(Clone, Copy)]
pub struct Shared<'s> {
    /// What no policy can change.
    pub index: &'s Index,
    /// What caps leave of texts.
    pub memo: &'s dyn Memo,
    /// Counts tokens for the estimators that need a vocabulary.
    pub counter: Option<&'s dyn TokenCounter>,
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
    Projector::new(history, source, policy).only(request)
}

impl<'h> Projector<'h> {
    /// Starts before the first request.
    pub fn new(history: &'h History, source: &'h dyn Source, policy: &'h Policy) -> Self {
        Self::start(history, source, policy, Cow::Owned(Index::new(history)), (None, None))
    }

    /// Starts before the first request, with what other projectors have worked out.
    pub fn with(
        history: &'h History,
        source: &'h dyn Source,
        policy: &'h Policy,
        shared: Shared<'h>,
    ) -> Self {
        let others = (Some(shared.memo), shared.counter);
        Self::start(history, source, policy, Cow::Borrowed(shared.index), others)
    }

    fn start(
        history: &'h History,
        source: &'h dyn Source,
        policy: &'h Policy,
        index: Cow<'h, Index>,
        (memo, counter): (Option<&'h dyn Memo>, Option<&'h dyn TokenCounter>),
    ) -> Self {
        let counts = counter.is_some();
        let unsupported = support::unsupported(policy, counts);
        let steps = if unsupported.is_some() { &[] } else { policy.steps.as_slice() };
        Self {
            history,
            program: Program::new(policy, steps, &index, counts).with_summaries(history),
            unsupported: unsupported.map(|(step, why)| Refusal::Unsupported { step, why }),
            index,
            effects: Effects::new(history, source, memo, counter),
            lists: ListWalker::new(history),
            sessions: BTreeMap::new(),
        }
    }

    /// The same with a counter for the estimators that need one. It is asked for texts of the
    /// run; the projection is as pure as its answers are.
    #[must_use]
    pub fn counted_by(self, counter: &'h dyn TokenCounter) -> Self {
        let Effects { history, source, memo, .. } = self.effects;
        Self::start(history, source, self.program.policy, self.index, (memo, Some(counter)))
    }

    /// Projects one request, and folds only those before it in its conversation.
    ///
    /// # Errors
    /// As for [`project`].
    pub fn only(mut self, request: RequestId) -> Result<Projection, ProjectError> {
        let ordinal = request.ordinal();
        let history = self.history;
        let wanted = history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let session = history.sessions().get(wanted.session().index());
        for id in session.map(|session| session.requests.as_slice()).unwrap_or_default() {
            if *id == request {
                return self.projection(request);
            }
            self.step(*id)?;
        }
        Err(ProjectError::NoSuchRequest { ordinal })
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
        let (head, tail) = (lists.head.clone(), lists.tail.clone());
        let Some(state) = self.sessions.get(&info.session()) else {
            return Err(ProjectError::OutOfOrder { ordinal });
        };
        let refused = matches!(fidelity, Fidelity::Refused(_));
        let ground = self.ground(info);
        let layout = Layout::new(self.history, &self.program, ground);
        let view = layout.view(info, (&head, &tail), (&state.list, &state.frame), refused);
        Ok(Projection { request, fidelity, account, view })
    }

    /// Folds the next request of its conversation, and lays out what has changed since the last one
    /// that was laid out so.
    ///
    /// # Errors
    /// As for [`Projector::step`].
    pub(crate) fn advance(&mut self, request: RequestId) -> Result<Advance, ProjectError> {
        let (fidelity, account) = self.step(request)?;
        let ordinal = request.ordinal();
        let info = self.history.request(request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let lists = self.lists.lists(request).map_err(|_base| ProjectError::BadList { ordinal })?;
        let around: Vec<PartNo> = lists.head.iter().chain(&lists.tail).copied().collect();
        let refused = matches!(fidelity, Fidelity::Refused(_));
        let Some(state) = self.sessions.get_mut(&info.session()) else {
            return Err(ProjectError::OutOfOrder { ordinal });
        };
        let same = state.list.take_same();
        let last = state.laid.replace((request, refused));
        let before = last.filter(|(_, was_refused)| *was_refused == refused);
        let before = before.and_then(|(before, _)| self.history.request(before));
        let same = before.map_or(0, |before| same.min(same_marks(before, info)));
        let Some(state) = self.sessions.get(&info.session()) else {
            return Err(ProjectError::OutOfOrder { ordinal });
        };
        let layout = || Layout::new(self.history, &self.program, self.ground(info));
        let frame = layout().frames(&around, &state.frame, refused);
        let (items, stay) = layout().from(info, &state.list, same, refused);
        Ok(Advance { fidelity, account, frame, stay, items })
    }

    fn ground(&self, info: &Request) -> Ground<'_, 'h> {
        Ground {
            index: &self.index,
            effects: &self.effects,
            pen: Pen { dialect: info.dialect, escape: info.captured.escape },
            scales: self.effects.scales(&self.program),
        }
    }

    /// True for instructions that no cap can tell from what stands around their text.
    fn is_in_one_piece(&self, part: PartNo) -> bool {
        let skeleton = self.history.skeleton(self.history.part(part));
        let has_text = skeleton.slots.iter().any(|slot| slot.kind == SlotKind::SYSTEM_TEXT);
        skeleton.kind == PartKind::System && !has_text
    }

    /// The parts around the messages of a request, learned; none where no step reads them.
    fn around(&mut self, request: RequestId) -> Result<Vec<PartNo>, ProjectError> {
        let mut around = Vec::new();
        if self.program.reads_frames() {
            let bad = ProjectError::BadList { ordinal: request.ordinal() };
            let lists = self.lists.lists(request).map_err(|_base| bad)?;
            around.extend(lists.head.iter().chain(&lists.tail));
            self.effects.learn_frame(&self.index, &self.program, &around)?;
        }
        Ok(around)
    }

    /// Sees to it that what steps make of the messages that a request adds is known.
    fn learn(&mut self, info: &Request) -> Result<(), ProjectError> {
        for change in &info.changes {
            let parts = match change {
                Change::Appended(parts) => parts.iter().map(|(part, _)| *part).collect(),
                Change::Edited(splices) => {
                    let parts = splices.iter().flat_map(|splice| &splice.insert);
                    parts.map(|(part, _)| *part).collect::<Vec<_>>()
                }
            };
            for part in parts {
                self.effects.learn(&self.index, &self.program, part)?;
            }
        }
        Ok(())
    }

    fn fold(
        &mut self,
        request: RequestId,
        info: &Request,
    ) -> Result<(Fidelity, Account), ProjectError> {
        let ordinal = request.ordinal();
        let bad = ProjectError::BadList { ordinal };
        let frame_bytes = self.index.frame_bytes(request.index()).ok_or(bad.clone())?;
        self.learn(info)?;
        let around = self.around(request)?;
        let program = &self.program;
        let mut state =
            self.sessions.remove(&info.session()).unwrap_or_else(|| State::new(program));
        state.last = Some(request);
        let ground = self.ground(info);
        for change in &info.changes {
            state.take_over(program, ground, change).map_err(|_index| bad.clone())?;
        }
        let found = (around.as_slice(), &state.list);
        state.frame = self.effects.frame(&self.index, program, found, frame_bytes)?;
        if let Some(step) = program.texts.instructions_step()
            && around.iter().any(|part| self.is_in_one_piece(*part))
        {
            let why = "instructions beside the messages are on record in one piece";
            state.refused.get_or_insert((step, why));
        }
        let frame = core::mem::take(&mut state.frame);
        let mut run = Run {
            history: self.history,
            program,
            ground: self.ground(info),
            frame: &frame,
            separator_bytes: info.captured.separator.len(),
            marks: info.overlays(),
            state: &mut state,
        };
        let mut acts = info.captured.unsplit.is_none();
        let mut outcome = Outcome::default();
        if acts && run.state.refused.is_none() {
            outcome = run.layers()?;
        }
        if acts {
            run.note_usage(info.answer.as_ref().map(|(_end, answer)| answer));
            run.state.due = run.summary_due();
        }
        acts &= run.state.refused.is_none();
        let recorded_bytes = info.captured.body_bytes;
        let account = run.account(recorded_bytes, acts, outcome);
        let in_run = outcome.refused.map(|why| Refusal::Unsupported { step: 0, why });
        let fidelity = match self.unsupported.or(in_run) {
            Some(refusal) => Fidelity::Refused(refusal),
            None => fidelity(self.program.policy, info, &state, outcome),
        };
        let account = match fidelity {
            Fidelity::Refused(_) => Account {
                body_bytes: recorded_bytes,
                recorded_bytes,
                tokens: self.program.policy.estimator.tokens(recorded_bytes),
                stack: outcome.account,
                ..Account::default()
            },
            _ => account,
        };
        state.diverged |= account.changed;
        state.frame = frame;
        self.sessions.insert(info.session(), state);
        Ok((fidelity, account))
    }
}

impl State {
    /// Takes a change of the client's over. Where the client put a summary in the place of
    /// messages just when the policy asks for one, and all was as recorded until then, the
    /// summary covers the same messages and was made from the same inputs: it stands.
    fn take_over(
        &mut self,
        program: &Program<'_>,
        ground: Ground<'_, '_>,
        change: &Change,
    ) -> Result<(), usize> {
        let due = match change {
            Change::Edited(splices) if splices.iter().any(is_summary) => self.due,
            _ => None,
        };
        let edited = self.edited;
        let (from, parts) = self.changed(change)?;
        self.apply(ground, from, &parts);
        let Some(layer) = due else { return Ok(()) };
        let Some((step, found)) = program.layers().get(layer) else { return Ok(()) };
        let (step, Op::Summary(summary)) = (*step, &found.op) else { return Ok(()) };
        match summary.source {
            SummarySource::Recorded | SummarySource::Assumed if !self.diverged => {
                self.edited = edited;
            }
            SummarySource::Recorded => {
                let why = "the summary on record was made from other inputs";
                self.refused.get_or_insert((step, why));
            }
            SummarySource::Assumed => {
                self.edited = edited;
                self.instead_of_recorded(program, ground, layer, (step, summary.assumed_tokens));
            }
            SummarySource::Deterministic | SummarySource::Refuse => {}
        }
        Ok(())
    }

    /// Puts a summary of an assumed size in the place of the one on record.
    fn instead_of_recorded(
        &mut self,
        program: &Program<'_>,
        ground: Ground<'_, '_>,
        layer: usize,
        (step, tokens): (usize, Option<u64>),
    ) {
        let tokens = tokens.or(program.recorded_summary_tokens);
        let Self { list, layers, assumed, .. } = self;
        let (Some(tokens), Some(Layer::Kept(memory))) = (tokens, layers.get_mut(layer)) else {
            return;
        };
        summary::replace_last(list, ground, layer, memory, tokens);
        assumed.get_or_insert(Assumption::SummarySize { step });
    }
}

/// The position before which two requests carry the same marks.
fn same_marks(before: &Request, now: &Request) -> usize {
    let (old, new) = (before.overlays(), now.overlays());
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let first = |marks: &[Overlay]| marks.get(same).map_or(usize::MAX, |mark| mark.item as usize);
    first(old).min(first(new))
}

/// True for a change that puts fewer messages in the place of more.
pub(crate) fn is_summary<T>(splice: &Splice<T>) -> bool {
    !splice.insert.is_empty() && splice.remove as usize > splice.insert.len()
}

impl State {
    fn new(program: &Program<'_>) -> Self {
        let layers = program.layers();
        let estimator = program.policy.estimator;
        let layer = |(_, step): &(usize, &Step)| match &step.op {
            Op::ClearResults(clear) if clear.replace != Replace::RemovePair => {
                Layer::Clear(ClearState::default())
            }
            Op::Stack(_) => Layer::Stack,
            _ => Layer::Kept(Box::default()),
        };
        let removing = (program.removing, program.keeping);
        Self {
            list: List::new(layers.len(), program.counts_tokens.then_some(estimator), removing),
            layers: layers.iter().map(layer).collect(),
            edited: false,
            diverged: false,
            due: None,
            refused: None,
            assumed: None,
            usage: None,
            last: None,
            frame: FrameCuts::default(),
            laid: None,
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
                for splice in splices {
                    if let Some((part, _)) = splice.insert.first().filter(|_| is_summary(splice)) {
                        self.list.note_summary(*part);
                    }
                }
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
                    Layer::Kept(memory) => memory.truncate(from),
                    Layer::Stack => {}
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
    if let Some((step, why)) = state.refused {
        return Fidelity::Refused(Refusal::Unsupported { step, why });
    }
    if let Some((step, unknown)) = state.list.unknown() {
        let why = match unknown {
            Unknown::Amount => "an amount rests on what is not known of the run",
            Unknown::Tokens => "tokens of a text cannot be counted",
            Unknown::Place => "a block cannot be told from the rest of its message",
            _ => "a text of the policy names a value that is not on record",
        };
        return Fidelity::Refused(Refusal::Unsupported { step, why });
    }
    if let Some(step) = state.list.not_whole() {
        return Fidelity::Assumed(Assumption::SentIsWhole { step });
    }
    if let Some(assumption) = state.list.assumption() {
        return Fidelity::Assumed(assumption);
    }
    if state.edited {
        return Fidelity::Assumed(Assumption::EditsKept { step: 0 });
    }
    if outcome.needless {
        return Fidelity::Assumed(Assumption::NeedlessKept { step: 0 });
    }
    if let Some(assumption) = state.assumed {
        return Fidelity::Assumed(assumption);
    }
    if !policy.unknown.is_empty() {
        return Fidelity::Assumed(Assumption::UnknownConstant { step: 0 });
    }
    Fidelity::Derived
}

#[cfg(test)]
mod tests;
