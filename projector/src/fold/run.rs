//! One request on its way through the layers of a policy.

use ledger::event::{Answered, Overlay};
use ledger::history::History;

use super::blocks::Left;
use super::frame::FrameCuts;
use super::list::{Ground, Sizes};
use super::program::{Program, before};
use super::usage::{Rests, Used, used};
use super::{Layer, ProjectError, State, support, weigh};
use crate::measure::{self, Estimator};
use crate::policy::op::{OverflowAction, Replace, Summary};
use crate::policy::{At, Basis, Calibrate, Metric, Op, Step, Trigger, ViewKind};
use crate::projection::{Account, Assumption};
use crate::stage::stack::{self, Outcome};
use crate::stage::summary::{Done, Due};
use crate::stage::{
    arguments, clear, inject, media, overflow, pairs, reads, reasoning, repair, summary, total,
    window,
};

/// A share of the text that was gained is enough for steps at this time to be skipped.
type Skipped = Option<At>;

/// One request on its way through the policy.
pub(super) struct Run<'r, 'h> {
    pub(super) history: &'h History,
    pub(super) program: &'r Program<'h>,
    pub(super) ground: Ground<'r, 'h>,
    pub(super) frame: &'r FrameCuts,
    pub(super) separator_bytes: u64,
    pub(super) marks: &'r [Overlay],
    pub(super) state: &'r mut State,
}

impl<'h> Run<'_, 'h> {
    pub(super) fn layers(&mut self) -> Result<Outcome, ProjectError> {
        let mut outcome = Outcome::default();
        let mut skipped: Skipped = None;
        let program: &Program<'h> = self.program;
        for (layer, (index, step)) in program.layers().iter().enumerate() {
            self.prepare(layer, step);
            let acts = skipped != Some(step.at) && self.acts(layer, *index, step);
            if let Some(why) = support::acting(step).filter(|_| acts) {
                self.refuse(*index, why);
            }
            if self.state.refused.is_some() {
                // What a request needs that cannot be worked out, all later ones rest on.
                return Ok(outcome);
            }
            let external = self.program.policy.estimator == Estimator::External;
            if acts && external && support::needs_an_estimate(&step.op) {
                self.assume(Assumption::ForeignTokenizer { step: *index });
            }
            if acts && step.at == At::Server {
                self.assume(Assumption::ServerEdit { step: *index });
            }
            if let (Op::Stack(step), Some((first, _))) = (&step.op, program.stack()) {
                // Its first layer does the work of both.
                if first == layer {
                    outcome = stack::run(&mut self.state.list, self.ground, (layer, step));
                }
                continue;
            }
            self.run(layer, (*index, step), acts, &mut skipped)?;
            if self.state.refused.is_some() {
                return Ok(outcome);
            }
        }
        Ok(outcome)
    }

    /// Takes up what a layer has left out for good, so that its trigger sees what is left.
    fn prepare(&mut self, layer: usize, step: &Step) {
        let State { list, layers, .. } = &mut *self.state;
        match (&step.op, layers.get_mut(layer)) {
            (Op::Window(op), Some(Layer::Kept(memory))) if step.at != At::Request => {
                window::prepare(list, self.ground, (layer, op), memory);
            }
            (Op::Summary(op), Some(Layer::Kept(memory))) => {
                summary::prepare(list, self.ground, (layer, op), memory);
            }
            (Op::ClearResults(op), Some(Layer::Clear(state))) if op.sticky => {
                clear::take_up(list, self.ground, (layer, op), state);
            }
            (_, Some(Layer::Kept(memory))) if support::lasts(step) => {
                memory.take_up_units(list, self.ground, layer);
            }
            _ => {}
        }
    }

    /// Lets a layer do what it does.
    fn run(
        &mut self,
        layer: usize,
        (index, step): (usize, &Step),
        acts: bool,
        skip: &mut Skipped,
    ) -> Result<(), ProjectError> {
        if let Op::Summary(op) = &step.op {
            self.summary(layer, (index, step, op), acts);
            return Ok(());
        }
        let budget = self.program.budget;
        let tokens = self.tokens(layer + 1).0;
        let excess = tokens_above(self.tokens(layer).0, budget.window);
        let sticky = step.at == At::Event;
        let text_bytes = self.state.list.text_bytes();
        let ground = self.ground;
        let State { list, layers, .. } = &mut *self.state;
        let mut known = true;
        match (&step.op, layers.get_mut(layer)) {
            (Op::ClearResults(op), Some(Layer::Kept(memory))) => {
                debug_assert!(op.replace == Replace::RemovePair, "others remember a border");
                pairs::run(list, ground, (layer, op), memory, acts);
            }
            (Op::ClearResults(op), Some(Layer::Clear(state))) => {
                clear::run(list, ground, (layer, op), state, acts);
            }
            (Op::Window(op), Some(Layer::Kept(memory))) => {
                let found = (acts, &budget, tokens);
                known = window::run(list, ground, (layer, step.at, op), memory, found);
            }
            (Op::DropReasoning(op), Some(Layer::Kept(memory))) => {
                reasoning::run(list, ground, (layer, op), memory, (acts, sticky));
            }
            (Op::Media(op), Some(Layer::Kept(memory))) => {
                media::run(list, ground, (layer, op), memory, (acts, sticky));
            }
            (Op::Repair(op), Some(Layer::Kept(memory))) => {
                repair::mend(self.history, list, ground, (layer, op), memory, acts);
            }
            (Op::DedupeReads(op), Some(Layer::Kept(memory))) => {
                let sticky = sticky || op.sticky;
                let gained = reads::run(list, ground, (layer, op), memory, (acts, sticky));
                let share = gained.saturating_mul(1000).checked_div(text_bytes).unwrap_or(0);
                if op.skip_next_if_saved_per_mille.is_some_and(|least| share >= u64::from(least)) {
                    *skip = Some(step.at);
                }
            }
            (Op::CapArgs(op), Some(Layer::Kept(memory))) => {
                let found = (acts, sticky, &budget);
                known = arguments::run(list, ground, (layer, op), memory, found);
            }
            (Op::TotalCap(op), Some(Layer::Kept(memory))) => {
                let limit = op.limit.value(&budget).filter(|_| acts);
                let which = (layer, op, self.program);
                known = limit.is_some() || !acts;
                if !total::run(self.history, list, ground, which, memory, limit)? {
                    self.refuse(index, "texts are not cut to a total");
                }
            }
            (Op::Inject(op), Some(Layer::Kept(_))) => {
                let done = inject::run(list, ground, (layer, op), acts);
                self.injected(index, done);
            }
            (Op::OnOverflow(op), Some(Layer::Kept(memory))) => {
                let free = op.free_tokens.filter(|_| op.action == OverflowAction::Unwind);
                let excess = if acts { excess.saturating_add(free.unwrap_or(0)) } else { 0 };
                overflow::run(list, ground, (layer, op.action), memory, excess);
            }
            _ => {}
        }
        if !known {
            self.refuse(index, "an amount rests on what is not known of the run");
        }
        Ok(())
    }

    fn injected(&mut self, index: usize, done: inject::Done) {
        match done {
            inject::Done::Texts => {}
            inject::Done::Placeholders => self.assume(Assumption::InjectedSize { step: index }),
            inject::Done::Unknown => self.refuse(index, support::NOT_ON_RECORD),
        }
    }

    fn summary(&mut self, layer: usize, (index, step, op): (usize, &Step, &Summary), acts: bool) {
        let budget = self.program.budget;
        let mut due = None;
        if acts {
            // Another source than an assumed size was refused before.
            let tokens = op.assumed_tokens.or(self.program.recorded_summary_tokens);
            let Some(tokens) = tokens else {
                return self.refuse(index, "no summary is on record whose size could be assumed");
            };
            let trigger = step.trigger.and_then(|trigger| trigger.value.value(&budget));
            due = Some(Due { tokens, trigger });
        }
        let State { list, layers, .. } = &mut *self.state;
        let Some(Layer::Kept(memory)) = layers.get_mut(layer) else { return };
        let done = summary::run(list, self.ground, (layer, op), memory, (due, &budget));
        if memory.placed.is_some() {
            self.assume(Assumption::SummarySize { step: index });
        }
        match done {
            Done::Unknown => {
                self.refuse(index, "an amount rests on what is not known of the run");
            }
            Done::Made => {
                let pre = op.pre.as_ref().map(|pre| pre.budget_tokens);
                if pre.is_some_and(|most| self.result_tokens(layer + 1) > most) {
                    self.refuse(index, "results that stay beside a summary are not cut before it");
                }
            }
            Done::Nothing => {}
        }
    }

    /// The first layer whose summary would be due on the list as it is.
    pub(super) fn summary_due(&mut self) -> Option<usize> {
        let program: &Program<'h> = self.program;
        for (layer, (index, step)) in program.layers().iter().enumerate() {
            if !matches!(step.op, Op::Summary(_)) {
                continue;
            }
            let assumed = self.state.assumed;
            let acts = self.acts(layer, *index, step);
            // Asking is not resting on it.
            self.state.assumed = assumed;
            if acts {
                return Some(layer);
            }
        }
        None
    }

    fn result_tokens(&self, layer: usize) -> u64 {
        let list = &self.state.list;
        let results = list.results().iter().filter(|unit| list.shows(layer, **unit));
        let tokens = results.filter_map(|(position, unit)| {
            let (part, _) = list.at(*position)?;
            Some(self.ground.effects.known(part).units.get(*unit)?.tokens)
        });
        tokens.sum()
    }

    fn refuse(&mut self, step: usize, why: &'static str) {
        self.state.refused.get_or_insert((step, why));
    }

    fn acts(&mut self, layer: usize, index: usize, step: &Step) -> bool {
        // What a provider does is not on the wire.
        if step.at == At::Server && self.program.policy.view == ViewKind::Wire {
            return false;
        }
        // What was done for good is done before anything is looked at: a harness that keeps its
        // own history sees it as it has left it.
        let view = layer + usize::from(support::lasts(step));
        let list = &self.state.list;
        let own = list.sums(view).cleared - list.sums(layer).cleared.min(list.sums(view).cleared);
        let fires = step.trigger.is_none_or(|trigger| self.fires((view, own), index, &trigger));
        let sums = self.state.list.sums(view);
        let rests = step.at == At::Overflow || matches!(step.op, Op::OnOverflow(_));
        let overflows = if rests { self.overflows(view, index) } else { None };
        let shrunk = sums.messages < self.state.list.len() as u64;
        let found = support::Found {
            fires,
            overflows,
            unpaired: match &step.op {
                Op::Repair(repair) => {
                    self.state.list.is_unpaired(layer) || (repair.thinking_loop_atomic && shrunk)
                }
                _ => false,
            },
            reasoning: sums.reasoning > 0,
            media: sums.media > 0,
            body_bytes: self.body_bytes(view),
        };
        support::acts(step, found)
    }

    /// True where the request does not fit the window; `None`: it is not known.
    fn overflows(&mut self, view: usize, index: usize) -> Option<bool> {
        let Some(window) = self.program.budget.window else {
            self.assume(Assumption::WindowUnknown { step: index });
            return None;
        };
        let (tokens, rests) = self.tokens(view);
        match rests {
            Rests::OnRecord => {}
            Rests::Estimate { error } => {
                if tokens.abs_diff(window) <= error {
                    self.assume(Assumption::TriggerMargin { step: index });
                }
            }
            Rests::NoUsage => self.assume(Assumption::NoUsage { step: index }),
        }
        Some(tokens > window)
    }

    /// True when the trigger fires: it looks at what the steps before have left, and the step
    /// itself, where what it does lasts. `own`: results that the step has cleared.
    fn fires(&mut self, (layer, own): (usize, u64), index: usize, trigger: &Trigger) -> bool {
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
            // Cleared results, and their calls, are there still; they do not count again.
            Metric::ToolUses => (sums.calls.saturating_sub(own), Rests::OnRecord),
            Metric::ToolResults => (sums.results.saturating_sub(own), Rests::OnRecord),
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
            let tokens = safe(own);
            return match policy.estimator {
                Estimator::External => (tokens, Rests::foreign(tokens)),
                _ => (tokens, Rests::OnRecord),
            };
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
            return self.state.list.sums(layer).tokens + self.frame.tokens;
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
    pub(super) fn note_usage(&mut self, answer: Option<&Answered>) {
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
        let marks = marks - self.marks_in_cuts(layer);
        self.frame.bytes + bytes + gaps + marks
    }

    /// Bytes of marks on blocks that layers have taken out.
    fn marks_in_cuts(&self, layer: usize) -> u64 {
        if self.program.removing & before(layer) == 0 {
            return 0;
        }
        let list = &self.state.list;
        let gone = self.marks.iter().filter(|mark| {
            let position = mark.item as usize;
            list.reaches(position, layer)
                && match list.left(self.ground, layer, position) {
                    Some(Left::Without(cuts) | Left::Empty(cuts)) => {
                        cuts.iter().any(|cut| cut.hides(mark.offset as usize))
                    }
                    Some(Left::Nothing) | None => false,
                }
        });
        gone.map(|mark| mark.bytes.len()).sum()
    }

    pub(super) fn account(&self, recorded_bytes: u64, acts: bool, outcome: Outcome) -> Account {
        let layer = if acts { self.program.layers().len() } else { 0 };
        let list = &self.state.list;
        let sums = list.sums(layer);
        let frame = self.frame;
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let body_bytes = self.body_bytes(layer);
        let dropped = list.len() as u64 - (sums.messages - sums.added);
        Account {
            body_bytes,
            recorded_bytes,
            tokens: self.estimate(layer),
            hidden_bytes: list.text_bytes() - sums.shown_bytes + frame.hidden_bytes,
            capped_results: narrow(sums.capped),
            cleared_results: narrow(sums.cleared),
            dropped_messages: narrow(dropped),
            broken_pairs: narrow(list.broken(layer) as u64),
            changed: sums.differing > 0 || dropped > 0 || sums.added > 0 || frame.differs,
            stack: outcome.account,
        }
    }
}

/// Tokens above the window, where it is known.
fn tokens_above(tokens: u64, window: Option<u64>) -> u64 {
    window.map_or(0, |window| tokens.saturating_sub(window))
}
