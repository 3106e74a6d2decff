//! A policy made ready for one run: which steps are for which tool, worked out once.
//!
//! The steps that work on whole requests are *layers*, numbered from 0 in the policy's order.
//! A set of layers is a mask with one bit each; a policy has at most [`STEPS_MAX`] steps, so
//! that the bits suffice.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::index::{Index, ToolNo};
use crate::policy::op::Stack;
use crate::policy::{At, CapText, Op, Policy, STEPS_MAX, Step};

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

/// The caps that results of one tool go through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain<'p> {
    /// Step and cap, in order.
    pub(crate) caps: Vec<(usize, &'p CapText)>,
    /// SHA-256 of the caps' canonical bytes.
    pub(crate) id: [u8; 32],
}

/// A policy made ready for one run.
#[derive(Debug)]
pub(crate) struct Program<'p> {
    pub(crate) policy: &'p Policy,
    /// The step of each layer.
    layers: Vec<(usize, &'p Step)>,
    /// By tool, the unknown one last.
    tools: Vec<ToolProgram<'p>>,
}

#[derive(Debug)]
struct ToolProgram<'p> {
    chain: Chain<'p>,
    /// Layers that are for this tool.
    layers: Mask,
}

impl<'p> Program<'p> {
    pub(crate) fn new(policy: &'p Policy, steps: &'p [Step], index: &Index) -> Self {
        let steps = steps.get(..STEPS_MAX).unwrap_or(steps);
        let numbered = steps.iter().enumerate();
        let layers = numbered.filter(|(_, step)| step.at != At::Result).flat_map(|numbered| {
            // A stack has one layer for the history and one for the turn that is under way.
            let layers = if matches!(numbered.1.op, Op::Stack(_)) { 2 } else { 1 };
            core::iter::repeat_n(numbered, layers)
        });
        let layers: Vec<_> = layers.collect();
        let names = index.tools().iter().map(|name| Some(name.as_slice()));
        let tools = names.chain([None]).map(|name| ToolProgram::new(steps, &layers, name));
        let tools = tools.collect();
        Self { policy, layers, tools }
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

    fn tool(&self, tool: Option<ToolNo>) -> &ToolProgram<'p> {
        let known = tool.and_then(|tool| self.tools.get(tool as usize));
        known.or_else(|| self.tools.last()).expect("the unknown tool is always there")
    }
}

impl<'p> ToolProgram<'p> {
    fn new(steps: &'p [Step], layers: &[(usize, &'p Step)], name: Option<&[u8]>) -> Self {
        let caps = steps.iter().enumerate().filter_map(|(index, step)| match &step.op {
            Op::CapText(cap) if step.at == At::Result && step.applies.to(name) => {
                Some((index, cap))
            }
            _ => None,
        });
        let caps: Vec<_> = caps.collect();
        let id = if caps.is_empty() { [0; 32] } else { chain_id(&caps) };
        let bits = layers.iter().enumerate().filter(|(_, (_, step))| step.applies.to(name));
        let layers = bits.fold(0, |mask, (layer, _)| mask | bit(layer));
        Self { chain: Chain { caps, id }, layers }
    }
}

/// Names what a chain does: two chains with one id leave the same of every text.
fn chain_id(caps: &[(usize, &CapText)]) -> [u8; 32] {
    let steps = caps.iter().map(|(_, cap)| Step::new((*cap).clone())).collect();
    let policy = Policy::new("chain", steps);
    Sha256::digest(policy.canonical().as_bytes()).into()
}
