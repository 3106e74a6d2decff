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
mod weigh;
mod wrapping;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use artifacts::{GetError, Source};
use ledger::event::{Answered, Overlay, Splice};
use ledger::history::{Change, History, ListWalker, Request};
use ledger::id::{PartNo, RequestId, SessionId};

use crate::measure;
use crate::memo::Memo;
use crate::policy::{At, Basis, Calibrate, Metric, Op, Policy, Step, Trigger};
use crate::projection::{Account, Assumption, Fidelity, Projection, Refusal};
use crate::stage::clear::{self, ClearState};
use crate::stage::stack::{self, Outcome};
use crate::stage::window;
use crate::text::Unknown;
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
    /// A step that had to act and could not be carried out.
    refused: Option<(usize, &'static str)>,
    /// The first assumption that a trigger rested on.
    assumed: Option<Assumption>,
    usage: Option<Used>,
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
        let refused = matches!(fidelity, Fidelity::Refused(_));
        let layout = Layout::new(self.history, &self.index, &self.program, &self.effects);
        let view = layout.view(info, (&lists.head, &lists.tail), &state.list, refused);
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
        let program = &self.program;
        let state = self.sessions.entry(info.session()).or_insert_with(|| State::new(program));
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
        let mut acts = info.captured.unsplit.is_none();
        let mut outcome = Outcome::default();
        if acts && run.state.refused.is_none() {
            outcome = run.layers();
        }
        if acts {
            run.note_usage(info.answer.as_ref().map(|(_end, answer)| answer));
        }
        acts &= run.state.refused.is_none();
        let recorded_bytes = info.captured.body_bytes;
        let account = run.account(recorded_bytes, acts, outcome);
        let in_run = outcome.refused.map(|why| Refusal::Unsupported { step: 0, why });
        let fidelity = match self.unsupported.or(in_run) {
            Some(refusal) => Fidelity::Refused(refusal),
            None => fidelity(self.program.policy, info, state, outcome),
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
        Ok((fidelity, account))
    }
}

impl State {
    fn new(program: &Program<'_>) -> Self {
        let layers = program.layers();
        let estimator = program.policy.estimator;
        let layer = |(_, step): &(usize, &Step)| match step.op {
            Op::ClearResults(_) => Layer::Clear(ClearState::default()),
            Op::Stack(_) => Layer::Stack,
            _ => Layer::Window,
        };
        Self {
            list: List::new(layers.len(), program.counts_tokens.then_some(estimator)),
            layers: layers.iter().map(layer).collect(),
            edited: false,
            refused: None,
            assumed: None,
            usage: None,
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
                for splice in splices {
                    if let Some((part, _)) = splice.insert.first()
                        && splice.remove as usize > splice.insert.len()
                    {
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
    if let Some((step, why)) = state.refused {
        return Fidelity::Refused(Refusal::Unsupported { step, why });
    }
    if let Some((step, unknown)) = state.list.unknown() {
        let why = match unknown {
            Unknown::Amount => "an amount rests on what is not known of the run",
            Unknown::Tokens => "tokens of a text cannot be counted",
            _ => "a text of the policy names a value that is not on record",
        };
        return Fidelity::Refused(Refusal::Unsupported { step, why });
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
    if let Some(assumption) = state.assumed {
        return Fidelity::Assumed(assumption);
    }
    if !policy.unknown.is_empty() {
        return Fidelity::Assumed(Assumption::UnknownConstant { step: 0 });
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
        for (layer, (index, step)) in self.program.layers().iter().enumerate() {
            let acts = self.acts(layer, *index, step);
            if let Some(why) = support::acting(step).filter(|_| acts) {
                // What a request needs that cannot be worked out, all later ones rest on.
                self.state.refused.get_or_insert((*index, why));
                return outcome;
            }
            let State { list, layers, .. } = &mut *self.state;
            match (&step.op, layers.get_mut(layer)) {
                (Op::ClearResults(clear), Some(Layer::Clear(state))) => {
                    clear::run(list, self.ground, (layer, clear), state, acts);
                }
                (Op::Window(window), _) => {
                    window::run(list, self.ground, (layer, window), acts);
                }
                // Its first layer does the work of both.
                (Op::Stack(step), _) if self.program.stack().is_some_and(|it| it.0 == layer) => {
                    outcome = stack::run(list, self.ground, (layer, step));
                }
                _ => {}
            }
        }
        outcome
    }

    fn acts(&mut self, layer: usize, index: usize, step: &Step) -> bool {
        let fires = step.trigger.is_none_or(|trigger| self.fires(layer, index, &trigger));
        let sums = self.state.list.sums(layer);
        let overflows = self.program.budget.window.map(|window| {
            let (tokens, _) = self.tokens(layer);
            tokens > window
        });
        let found = support::Found {
            fires,
            overflows,
            unpaired: matches!(step.op, Op::Repair(_)) && self.state.list.is_unpaired(layer),
            reasoning: sums.reasoning > 0,
            media: sums.media > 0,
            body_bytes: self.body_bytes(layer),
        };
        let acts = support::acts(self.program.policy, step, found);
        let rests = step.at == At::Overflow || matches!(step.op, Op::OnOverflow(_));
        if rests && overflows.is_none() {
            self.assume(Assumption::WindowUnknown { step: index });
        }
        acts
    }

    /// True when the trigger fires: it looks at what the steps before have left.
    fn fires(&mut self, layer: usize, index: usize, trigger: &Trigger) -> bool {
        let sums = self.state.list.sums(layer);
        let budget = self.program.budget;
        let (found, rests) = match trigger.metric {
            Metric::EstTokens => match trigger.basis {
                Basis::Estimate => self.tokens(layer),
                Basis::LastUsage | Basis::LastUsagePlusEstimate => self.usage(trigger.basis, layer),
            },
            Metric::UsageTokens => self.usage(trigger.basis, layer),
            Metric::RemainingTokens => {
                let (used, rests) = self.usage(trigger.basis, layer);
                (budget.window.unwrap_or_default().saturating_sub(used), rests)
            }
            Metric::ToolUses => (sums.calls, Rests::OnRecord),
            Metric::ToolResults => (sums.results, Rests::OnRecord),
            Metric::Messages | Metric::Items | Metric::Events => (sums.messages, Rests::OnRecord),
        };
        let unknown = trigger.metric == Metric::RemainingTokens && budget.window.is_none();
        let value = trigger.value.value(&budget).filter(|_| !unknown);
        let Some(value) = value else {
            self.assume(Assumption::WindowUnknown { step: index });
            return false;
        };
        match rests {
            Rests::OnRecord => {}
            Rests::Estimate { error } => {
                // Within its error, an estimate cannot tell on which side of the value it is.
                if found.abs_diff(value) <= error {
                    self.assume(Assumption::TriggerMargin { step: index });
                }
            }
            Rests::NoUsage => self.assume(Assumption::NoUsage { step: index }),
        }
        trigger.cmp.holds(found, value)
    }

    fn assume(&mut self, assumption: Assumption) {
        self.state.assumed.get_or_insert(assumption);
    }

    /// Tokens of the request as a layer is given it, by the policy's estimator.
    fn tokens(&self, layer: usize) -> (u64, Rests) {
        let policy = self.program.policy;
        let own = self.estimate(layer);
        let safe = |tokens: u64| {
            let tokens = u128::from(tokens) * u128::from(policy.safety_per_mille);
            u64::try_from(tokens.div_ceil(1000)).unwrap_or(u64::MAX)
        };
        if policy.calibrate == Calibrate::None {
            return (safe(own), Rests::OnRecord);
        }
        match self.state.usage {
            Some(usage) => {
                let tokens = measure::calibrated(own, usage.reported, usage.estimated);
                (safe(tokens.unwrap_or(own)), Rests::Estimate { error: usage.error(own) })
            }
            None => (safe(own), Rests::NoUsage),
        }
    }

    fn estimate(&self, layer: usize) -> u64 {
        let estimator = self.program.policy.estimator;
        if self.program.counts_tokens && weigh::reads(estimator) {
            return self.state.list.sums(layer).tokens;
        }
        estimator.tokens(self.body_bytes(layer))
    }

    /// Tokens as the provider would have reported them for the request before: as it did, where
    /// that request went out as recorded, else in proportion to the estimates.
    fn usage(&self, basis: Basis, layer: usize) -> (u64, Rests) {
        let Some(usage) = self.state.usage else { return (self.tokens(layer).0, Rests::NoUsage) };
        let before = measure::calibrated(usage.projected, usage.reported, usage.estimated);
        let before = before.unwrap_or(usage.reported);
        let exact = usage.projected == usage.estimated;
        let now = self.estimate(layer);
        match basis {
            Basis::LastUsagePlusEstimate => {
                let more = now.saturating_sub(usage.projected);
                (before.saturating_add(more), Rests::Estimate { error: usage.error(now) })
            }
            Basis::Estimate | Basis::LastUsage if exact => (before, Rests::OnRecord),
            Basis::Estimate | Basis::LastUsage => {
                (before, Rests::Estimate { error: usage.error(usage.projected) })
            }
        }
    }

    /// Notes what the provider has reported for this request, for the triggers of the next.
    fn note_usage(&mut self, answer: Option<&Answered>) {
        let Some(reported) = answer.and_then(|answer| used(answer.usage.as_ref()?)) else { return };
        let layers = self.program.layers().len();
        let (estimated, projected) = (self.recorded_estimate(), self.estimate(layers));
        let now = Used { reported, estimated, projected, low: 0, high: 0 };
        self.state.usage = Some(now.after(self.state.usage));
    }

    /// The estimate of the request as no layer has acted.
    fn recorded_estimate(&self) -> u64 {
        self.estimate(0)
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
            tokens: self.estimate(layer),
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

/// Tokens that a provider has reported in all, by its own sum where it gives one.
fn used(usage: &ledger::event::Usage) -> Option<u64> {
    let parts = [
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    ];
    let sum = parts.into_iter().flatten().fold(0, u64::saturating_add);
    usage.total_tokens.or(usage.input_tokens.map(|_| sum))
}

/// What a count of tokens rests on.
#[derive(Clone, Copy, Debug)]
enum Rests {
    /// It is on record, or follows from it.
    OnRecord,
    /// An estimate that may be wrong by so many.
    Estimate { error: u64 },
    /// An estimate where the provider's count was asked for and is not on record.
    NoUsage,
}

/// What a provider has reported for the last request with a report, beside the estimates.
#[derive(Clone, Copy, Debug)]
struct Used {
    reported: u64,
    estimated: u64,
    projected: u64,
    /// Smallest and largest ratio of report and estimate so far, in thousandths.
    low: u64,
    high: u64,
}

impl Used {
    fn after(self, before: Option<Self>) -> Self {
        let ratio = self.reported.saturating_mul(1000).checked_div(self.estimated).unwrap_or(1000);
        let (low, high) = before.map_or((ratio, ratio), |before| (before.low, before.high));
        Self { low: low.min(ratio), high: high.max(ratio), ..self }
    }

    /// How wrong an estimate of so many tokens may be, by the ratios seen so far.
    fn error(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.high.saturating_sub(self.low)) / 1000
    }

    fn numbers(self) -> [u64; 5] {
        [self.reported, self.estimated, self.projected, self.low, self.high]
    }

    fn of_numbers([reported, estimated, projected, low, high]: [u64; 5]) -> Self {
        Self { reported, estimated, projected, low, high }
    }
}

#[cfg(test)]
mod tests;
