//! The parts around the messages under a policy: which tools are offered, and what caps leave of
//! the instructions.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ledger::id::PartNo;
use ledger::wire::PartKind;

use super::ProjectError;
use super::blocks::{Blocks, Cut, ItemNo, Left};
use super::effect::{Effects, SlotCut};
use super::index::{Index, UnitKind};
use super::list::List;
use super::program::Program;
use super::weigh;
use crate::policy::op::Tools;

/// What is left of the parts around the messages of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameCuts {
    /// Length of what is shown.
    pub(crate) bytes: u64,
    /// Tokens of it, for the estimators that count them as they are.
    pub(crate) tokens: u64,
    /// Bytes of recorded text that is not shown.
    pub(crate) hidden_bytes: u64,
    /// What is shown is not what was recorded.
    pub(crate) differs: bool,
    cuts: BTreeMap<PartNo, Vec<Cut>>,
}

impl FrameCuts {
    /// The stretches of a part that are not shown.
    pub(crate) fn of(&self, part: PartNo) -> &[Cut] {
        self.cuts.get(&part).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The tools that a part offers.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The part with braces around it.
    wrapped: Vec<u8>,
    blocks: Blocks,
    tools: Vec<Offered>,
}

#[derive(Debug)]
struct Offered {
    name: Vec<u8>,
    item: ItemNo,
    tokens: u64,
}

impl Program<'_> {
    /// True where parts around the messages are read.
    pub(crate) fn reads_frames(&self) -> bool {
        let counts = self.counts_tokens && weigh::is_exact(self.policy.estimator);
        counts || !self.offers.is_empty() || self.texts.cuts_instructions()
    }
}

impl Effects<'_> {
    /// Sees to it that [`Effects::frame`] knows these parts around the messages.
    ///
    /// # Errors
    /// A step has to look at a text that is missing or damaged.
    pub(crate) fn learn_frame(
        &mut self,
        index: &Index,
        program: &Program<'_>,
        parts: &[PartNo],
    ) -> Result<(), ProjectError> {
        for part in parts {
            self.learn(index, program, *part)?;
            let kind = self.history.skeleton(self.history.part(*part)).kind;
            if kind == PartKind::Tools && !self.offers.contains_key(part) {
                let offer = self.offer(program, *part)?;
                self.offers.insert(*part, offer);
            }
        }
        Ok(())
    }

    /// What is left of the parts around the messages of a request whose messages are `list`; no
    /// parts are given where nothing reads them.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub(crate) fn frame(
        &mut self,
        index: &Index,
        program: &Program<'_>,
        (parts, list): (&[PartNo], &List),
        recorded_bytes: u64,
    ) -> Result<FrameCuts, ProjectError> {
        let mut frame = FrameCuts { bytes: recorded_bytes, ..FrameCuts::default() };
        if parts.is_empty() {
            return Ok(frame);
        }
        let asked = asked(index, program, list);
        for part in parts {
            let effect = self.known(*part);
            let known = index.part(*part);
            frame.bytes = frame.bytes - known.bytes + effect.bytes;
            frame.hidden_bytes += known.text_bytes - effect.shown_bytes;
            frame.differs |= effect.differing > 0;
            if let Some(offer) = self.offers.get(part) {
                let gone = offer.gone(&program.offers, &asked);
                let cuts = offer.cuts(&gone);
                frame.bytes -= cuts.iter().map(|cut| cut.range.len() as u64).sum::<u64>();
                let recorded = self.history.part(*part);
                for slot in self.hidden_slots(*part, &cuts) {
                    let Some(hole) = recorded.holes.get(slot) else { continue };
                    frame.bytes -= hole.escaped_bytes;
                    frame.hidden_bytes += self.history.text(hole).len();
                }
                frame.differs |= !cuts.is_empty();
                if !cuts.is_empty() {
                    frame.cuts.insert(*part, cuts);
                }
            }
            if program.counts_tokens && weigh::is_exact(program.policy.estimator) {
                frame.tokens += self.frame_tokens(program, *part, frame.of(*part))?;
            }
        }
        Ok(frame)
    }

    /// The slots of a part that stand in what is cut out of it.
    pub(crate) fn hidden_slots(&self, part: PartNo, cuts: &[Cut]) -> Vec<usize> {
        let slots = &self.history.skeleton(self.history.part(part)).slots;
        let hidden = slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| cuts.iter().any(|cut| cut.hides(slot.offset as usize)));
        hidden.map(|(slot, _)| slot).collect()
    }

    /// What caps leave of a part around the messages.
    pub(crate) fn frame_cuts(&self, part: PartNo) -> &[SlotCut] {
        self.learned(part).map(|effect| effect.cuts.as_slice()).unwrap_or_default()
    }

    fn offer(&self, program: &Program<'_>, part: PartNo) -> Result<Offer, ProjectError> {
        let skeleton = self.history.skeleton(self.history.part(part));
        let literal = skeleton.literal.read(self.source)?;
        let mut wrapped = Vec::with_capacity(literal.len() + 2);
        wrapped.push(b'{');
        wrapped.extend_from_slice(&literal);
        wrapped.push(b'}');
        let offsets: Vec<usize> =
            skeleton.slots.iter().map(|slot| slot.offset as usize + 1).collect();
        let blocks = Blocks::of(&wrapped, &offsets).unwrap_or_default();
        let mut items = Vec::new();
        for key in [b"tools".as_slice(), b"functions"] {
            for element in blocks.elements(&wrapped, key) {
                let nested = [b"functionDeclarations".as_slice(), b"function_declarations"];
                let nested = nested.iter().find_map(|key| blocks.field(&wrapped, element, key));
                match nested {
                    Some(declared) => items.extend(blocks.elements_in(declared)),
                    None => items.push(element),
                }
            }
        }
        let scales = self.scales(program);
        let tools = items.into_iter().map(|item| {
            let bytes = blocks.bytes(&wrapped, item);
            let text = String::from_utf8_lossy(bytes);
            Offered { name: name(&blocks, &wrapped, item), item, tokens: scales.tokens_of(&text) }
        });
        let tools = tools.collect();
        Ok(Offer { wrapped, blocks, tools })
    }
}

/// The name of a tool; of one that has none, its type.
fn name(blocks: &Blocks, literal: &[u8], tool: ItemNo) -> Vec<u8> {
    let function = blocks.field(literal, tool, b"function").unwrap_or(tool);
    let named = blocks.field(literal, function, b"name");
    let named = named.or_else(|| blocks.field(literal, tool, b"type"));
    let value = named.map(|item| blocks.bytes(literal, item)).unwrap_or_default();
    let inside = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    inside.unwrap_or_default().to_owned()
}

/// Names of the tools that the messages ask for, where some tool is offered only then.
fn asked<'i>(index: &'i Index, program: &Program<'_>, list: &List) -> BTreeSet<&'i [u8]> {
    let mut names = BTreeSet::new();
    if program.offers.iter().all(|offer| offer.deferred.is_empty()) {
        return names;
    }
    for (position, unit) in list.units(UnitKind::Call) {
        let Some((part, _)) = list.at(*position) else { continue };
        let tool = index.part(part).units.get(*unit).and_then(|unit| unit.tool);
        let name = tool.and_then(|tool| index.tools().get(tool as usize));
        names.extend(name.map(Vec::as_slice));
    }
    names
}

impl Offer {
    /// The tools that are not offered.
    fn gone(&self, steps: &[&Tools], asked: &BTreeSet<&[u8]>) -> Vec<ItemNo> {
        let mut stays: Vec<&Offered> = self.tools.iter().collect();
        for step in steps {
            let has = |names: &[String], tool: &Offered| {
                names.iter().any(|name| name.as_bytes() == tool.name)
            };
            stays.retain(|tool| {
                (step.only.is_empty() || has(&step.only, tool))
                    && !has(&step.exclude, tool)
                    && (!has(&step.deferred, tool) || asked.contains(tool.name.as_slice()))
            });
            let mut left = step.max_tokens.unwrap_or(u64::MAX);
            stays.retain(|tool| {
                let fits = left.checked_sub(tool.tokens);
                // The first that does not fit ends the list.
                left = fits.unwrap_or(0);
                fits.is_some()
            });
        }
        let items: BTreeSet<ItemNo> = stays.iter().map(|tool| tool.item).collect();
        let gone = self.tools.iter().map(|tool| tool.item).filter(|item| !items.contains(item));
        gone.collect()
    }

    fn cuts(&self, gone: &[ItemNo]) -> Vec<Cut> {
        if gone.is_empty() {
            return Vec::new();
        }
        let gone: Vec<_> = gone.iter().map(|item| (*item, None)).collect();
        let left = self.blocks.without(&self.wrapped, &gone, &|_, _| true);
        let (Left::Without(mut cuts) | Left::Empty(mut cuts)) = left else { return Vec::new() };
        for cut in &mut cuts {
            // The brace before the part is not part of it.
            cut.range = cut.range.start - 1..cut.range.end - 1;
        }
        cuts
    }
}
