//! A policy made ready for one run: which steps are for which tool, worked out once.
//!
//! Steps that cut single texts make *chains*, one for each tool. The others work on whole requests
//! and are *layers*, numbered from 0 in the policy's order. A set of layers is a mask with one bit
//! each; a policy has at most [`STEPS_MAX`] steps, so that the bits suffice.

use alloc::vec::Vec;

use ledger::history::{Change, History};
use ledger::wire::SlotKind;
use sha2::{Digest as _, Sha256};

use super::index::{Index, ToolNo, UnitKind};
use super::weigh;
use crate::measure::Estimator;
use crate::policy::op::{
    EmptyMessages, KeepReasoning, MediaAction, Orphan, Replace, Stack, SummarySource, Tools,
};
use crate::policy::{Budget, KeepUnit, Metric, Op, Policy, STEPS_MAX, Step, TextKind};
use crate::stage::result::is_wrapped;

const _: () = assert!(STEPS_MAX <= 64, "a mask has 64 bits");

/// Layers, one bit each.
pub(crate) type Mask = u64;

/// The layers before `layer`.
pub(crate) fn before(layer: usize) -> Mask {
    match u32::try_from(layer) {
        Ok(layer @ 0..64) => (1 << layer) - 1,
        _ => Mask::MAX,
    }
}

/// The mask of one layer.
pub(crate) fn bit(layer: usize) -> Mask {
    match u32::try_from(layer) {
        Ok(layer @ 0..64) => 1 << layer,
        _ => 0,
    }
}

/// True for a step that cuts single texts, whatever stands around them.
pub(crate) fn is_cap(op: &Op) -> bool {
    matches!(op, Op::CapText(_) | Op::CapLines(_) | Op::CapParts(_))
}

/// The caps that results of one tool go through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain<'p> {
    /// Place of the step in the policy, and the step.
    pub(crate) caps: Vec<(usize, &'p Step)>,
    /// SHA-256 of what decides what the caps leave of a text.
    pub(crate) id: [u8; 32],
    /// Some cap reads what the client has written around an output.
    pub(crate) wrapped: bool,
}

impl<'p> Chain<'p> {
    fn new(policy: &Policy, caps: Vec<(usize, &'p Step)>, name: Option<&[u8]>) -> Self {
        let id = if caps.is_empty() { [0; 32] } else { chain_id(policy, &caps, name) };
        let wrapped = caps.iter().any(|(_, step)| is_wrapped(&step.op));
        Self { caps, id, wrapped }
    }

    /// The caps of a policy for texts of a kind that are no outputs.
    fn of_kind(policy: &'p Policy, steps: &'p [Step], kind: TextKind) -> Self {
        let steps = steps.iter().enumerate();
        let caps = steps.filter(|(_, it)| is_cap(&it.op) && it.applies.to_kind(kind));
        Self { wrapped: false, ..Self::new(policy, caps.collect(), None) }
    }
}

/// A policy made ready for one run.
#[derive(Debug)]
pub(crate) struct Program<'p> {
    pub(crate) policy: &'p Policy,
    /// The step of each layer.
    layers: Vec<(usize, &'p Step)>,
    /// By tool, the unknown one last.
    tools: Vec<ToolProgram<'p>>,
    /// Caps for texts that are no outputs.
    pub(crate) texts: TextChains<'p>,
    /// Which tools are offered.
    pub(crate) offers: Vec<&'p Tools>,
    /// Some layer counts tokens of single messages or results.
    pub(crate) counts_tokens: bool,
    /// Layers that take units out.
    pub(crate) removing: Mask,
    /// Of those, layers that leave messages in their place which say nothing any more.
    pub(crate) keeping: Mask,
    /// What is known of every request.
    pub(crate) budget: Budget,
    /// The median size of the summaries that clients made in this run, in tokens.
    pub(crate) recorded_summary_tokens: Option<u64>,
}

/// Caps for texts that are no outputs.
#[derive(Debug)]
pub(crate) struct TextChains<'p> {
    user: Chain<'p>,
    assistant: Chain<'p>,
    instructions: Chain<'p>,
    /// Caps for contents of files: nothing on the wire tells them from what the user says.
    pub(crate) files: Chain<'p>,
}

impl<'p> TextChains<'p> {
    fn new(policy: &'p Policy, steps: &'p [Step]) -> Self {
        let of = |kind| Chain::of_kind(policy, steps, kind);
        Self {
            user: of(TextKind::UserText),
            assistant: of(TextKind::AssistantText),
            instructions: of(TextKind::Instructions),
            files: of(TextKind::FileBlock),
        }
    }

    /// The caps for what fills a slot, where it is no output.
    pub(crate) fn of(&self, kind: SlotKind) -> Option<&Chain<'p>> {
        let chain = match kind {
            SlotKind::USER_TEXT => &self.user,
            SlotKind::ASSISTANT_TEXT => &self.assistant,
            SlotKind::SYSTEM_TEXT => &self.instructions,
            _ => return None,
        };
        (!chain.caps.is_empty()).then_some(chain)
    }

    /// True where texts around the messages may be cut.
    pub(crate) fn cuts_instructions(&self) -> bool {
        self.instructions_step().is_some()
    }

    /// The first step that cuts instructions.
    pub(crate) fn instructions_step(&self) -> Option<usize> {
        self.instructions.caps.first().map(|(step, _)| *step)
    }
}

#[derive(Debug)]
struct ToolProgram<'p> {
    name: Option<Vec<u8>>,
    chain: Chain<'p>,
    /// Layers that are for this tool.
    layers: Mask,
}

impl<'p> Program<'p> {
    /// `counts`: tokens can be counted by a vocabulary.
    pub(crate) fn new(policy: &'p Policy, steps: &'p [Step], index: &Index, counts: bool) -> Self {
        let steps = steps.get(..STEPS_MAX).unwrap_or(steps);
        let layers = steps.iter().enumerate().filter(|(_, step)| !is_cap(&step.op));
        let layers = layers.flat_map(|numbered| {
            // A stack has one layer for the history and one for the turn that is under way.
            let layers = if matches!(numbered.1.op, Op::Stack(_)) { 2 } else { 1 };
            core::iter::repeat_n(numbered, layers)
        });
        let layers: Vec<_> = layers.collect();
        let names = index.tools().iter().map(|name| Some(name.as_slice()));
        let tools = names.chain([None]).map(|name| ToolProgram::new(policy, steps, &layers, name));
        let tools = tools.collect();
        let counts_tokens = (steps.iter().any(counts_tokens)
            && policy.estimator != Estimator::None)
            || (counts && weigh::is_exact(policy.estimator));
        let budget = Budget { window: window(policy), ..Budget::default() };
        let mask = |is: &dyn Fn(&Op) -> bool| {
            let layers = layers.iter().enumerate().filter(|(_, (_, step))| is(&step.op));
            layers.fold(0, |mask, (layer, _)| mask | bit(layer))
        };
        let removing = mask(&removes);
        let keeping = mask(&keeps_empty);
        let offers = steps.iter().filter_map(|step| match &step.op {
            Op::Tools(tools) => Some(tools),
            _ => None,
        });
        Self {
            policy,
            texts: TextChains::new(policy, steps),
            offers: offers.collect(),
            layers,
            tools,
            counts_tokens,
            removing,
            keeping,
            budget,
            recorded_summary_tokens: None,
        }
    }

    /// Looks at the summaries that clients made in a run, where a step may assume their size.
    pub(crate) fn with_summaries(mut self, history: &History) -> Self {
        let assumes = |step: &Step| match &step.op {
            Op::Summary(summary) => summary.source == SummarySource::Assumed,
            _ => false,
        };
        if !self.policy.steps.iter().any(assumes) {
            return self;
        }
        let edits = history.requests().iter().flat_map(|request| &request.changes);
        let splices = edits.filter_map(|change| match change {
            Change::Edited(splices) => Some(splices),
            Change::Appended(_) => None,
        });
        let made = splices.flatten().filter(|splice| super::is_summary(splice));
        let parts = made.filter_map(|splice| splice.insert.first());
        // A size that is assumed need not be that of one estimator: four bytes a token.
        let mut sizes: Vec<u64> =
            parts.map(|(part, _)| history.part(*part).bytes.div_ceil(4)).collect();
        sizes.sort_unstable();
        self.recorded_summary_tokens = sizes.get(sizes.len() / 2).copied();
        self
    }

    /// Layers that may take a unit of this kind out.
    pub(crate) fn removes(&self, kind: UnitKind, tool: Option<ToolNo>) -> Mask {
        let mine = self.layers_for(tool);
        let layers = self.layers.iter().enumerate().filter(|(layer, (_, step))| match &step.op {
            Op::ClearResults(clear) if clear.replace == Replace::RemovePair => match kind {
                UnitKind::Call | UnitKind::Result => mine & bit(*layer) != 0,
                UnitKind::Reasoning => clear.orphan_reasoning == Orphan::Drop,
                UnitKind::Media => false,
            },
            Op::DropReasoning(drop) => {
                kind == UnitKind::Reasoning && drop.keep != KeepReasoning::All
            }
            Op::Media(media) => kind == UnitKind::Media && media.action != MediaAction::Keep,
            Op::Repair(_) => matches!(kind, UnitKind::Call | UnitKind::Result),
            _ => false,
        });
        layers.fold(0, |mask, (layer, _)| mask | bit(layer))
    }

    pub(crate) fn layers(&self) -> &[(usize, &'p Step)] {
        &self.layers
    }

    /// The stack, with the first of its two layers.
    pub(crate) fn stack(&self) -> Option<(usize, &'p Stack)> {
        self.layers.iter().enumerate().find_map(|(layer, (_, step))| match &step.op {
            Op::Stack(stack) => Some((layer, stack)),
            _ => None,
        })
    }

    /// The caps for results of a tool.
    pub(crate) fn chain(&self, tool: Option<ToolNo>) -> &Chain<'p> {
        &self.tool(tool).chain
    }

    /// The layers that are for results of a tool.
    pub(crate) fn layers_for(&self, tool: Option<ToolNo>) -> Mask {
        self.tool(tool).layers
    }

    /// The name of a tool, where it is text.
    pub(crate) fn tool_name(&self, tool: Option<ToolNo>) -> Option<&str> {
        core::str::from_utf8(self.tool(tool).name.as_deref()?).ok()
    }

    fn tool(&self, tool: Option<ToolNo>) -> &ToolProgram<'p> {
        let known = tool.and_then(|tool| self.tools.get(tool as usize));
        known.or_else(|| self.tools.last()).expect("the unknown tool is always there")
    }
}

/// True for a step that takes units out of messages.
fn removes(op: &Op) -> bool {
    match op {
        Op::ClearResults(clear) => clear.replace == Replace::RemovePair,
        Op::DropReasoning(_) | Op::Media(_) | Op::Repair(_) => true,
        _ => false,
    }
}

fn keeps_empty(op: &Op) -> bool {
    match op {
        Op::ClearResults(clear) => clear.empty_messages == EmptyMessages::Keep,
        Op::DropReasoning(drop) => !drop.remove_empty,
        _ => false,
    }
}

/// The share of the context window that the policy uses.
fn window(policy: &Policy) -> Option<u64> {
    policy.window.map(|window| crate::policy::share(window, policy.effective_per_mille))
}

/// True for a step that needs the tokens of single messages or results.
pub(crate) fn counts_tokens(step: &Step) -> bool {
    let triggered = step.trigger.is_some_and(|trigger| {
        matches!(trigger.metric, Metric::EstTokens | Metric::UsageTokens | Metric::RemainingTokens)
    });
    triggered
        || match &step.op {
            Op::ClearResults(clear) => {
                let gain = clear.min_gain.as_ref().map(|gain| gain.unit);
                clear.min_size_tokens > 0
                    || clear.keep.unit == KeepUnit::Tokens
                    || gain == Some(KeepUnit::Tokens)
            }
            Op::Window(window) => {
                let keep = window.keep.as_ref().map(|keep| keep.unit);
                keep == Some(KeepUnit::Tokens) || window.unwind_until_free.is_some()
            }
            Op::OnOverflow(_) => true,
            Op::Summary(summary) => summary.source == SummarySource::Assumed,
            Op::CapArgs(cap) => {
                let keep = cap.keep.as_ref().map(|keep| keep.unit);
                cap.keep_window_per_mille.is_some() || keep == Some(KeepUnit::Tokens)
            }
            _ => false,
        }
}

impl<'p> ToolProgram<'p> {
    fn new(
        policy: &Policy,
        steps: &'p [Step],
        layers: &[(usize, &'p Step)],
        name: Option<&[u8]>,
    ) -> Self {
        let is_for =
            |step: &Step| step.applies.to_kind(TextKind::ToolResult) && step.applies.to(name);
        let caps = steps.iter().enumerate().filter(|(_, s)| is_cap(&s.op) && is_for(s));
        let caps: Vec<_> = caps.collect();
        let chain = Chain::new(policy, caps, name);
        let bits = layers.iter().enumerate().filter(|(_, (_, step))| is_for(step));
        let layers = bits.fold(0, |mask, (layer, _)| mask | bit(layer));
        Self { name: name.map(<[u8]>::to_vec), chain, layers }
    }
}

/// Names what a chain does: two chains with one id leave the same of every text.
fn chain_id(policy: &Policy, caps: &[(usize, &Step)], name: Option<&[u8]>) -> [u8; 32] {
    let step = |(_, step): &(usize, &Step)| Step::new(step.op.clone()).at(step.at);
    let mut chain = Policy::new("chain", caps.iter().map(step).collect());
    chain.window = policy.window;
    chain.effective_per_mille = policy.effective_per_mille;
    let mut hash = Sha256::new();
    hash.update(chain.canonical().as_bytes());
    // Markers may name the tool.
    hash.update(name.unwrap_or_default());
    hash.finalize().into()
}
