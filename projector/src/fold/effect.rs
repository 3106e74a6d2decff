//! What the policy makes of a part by itself: caps applied, sizes known, replacements measured.
//!
//! It depends on the part and the policy alone, so it is worked out once however many requests
//! carry the part; what caps leave of a text does not even depend on the policy's other steps,
//! and is asked of the memo first.
//!
//! Where the whole output of a call was found beside the wire, caps start from it and not from
//! what the client has sent.

mod arguments;
mod caps;
mod output;
mod place;
mod replace;
mod weight;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use artifacts::{ArtifactId, Source};
use ledger::content::Content;
use ledger::history::{History, Part};
use ledger::id::PartNo;
use ledger::wire::SlotKind;

use super::ProjectError;
use super::frame::Offer;
use super::index::{Index, Unit, UnitKind};
use super::measured::{Measure, Measured};
use super::program::{Mask, Program, bit};
use crate::measure::TokenCounter;
use crate::memo::{Capped, Memo};
use crate::policy::Op;
use crate::projection::Assumption;
use crate::text::Unknown;
#[cfg(test)]
pub(crate) use caps::Shown;
pub(crate) use place::Placing;

/// What stands in the place of a unit when a layer acts on it.
#[derive(Clone, Debug)]
pub(crate) struct Instead {
    pub(crate) layer: usize,
    /// Escaped length of what is shown instead.
    pub(crate) bytes: u64,
    /// What it adds to the raw measure of its message, in the place of the unit.
    pub(crate) raw: u64,
    /// Its tokens.
    pub(crate) tokens: u64,
    /// What is shown instead is not what was there.
    pub(crate) differs: bool,
    /// Bytes of the recorded text that it shows: more than none where it is a cut of it.
    pub(crate) kept: u64,
    /// What is shown instead, in the first slot.
    pub(crate) text: Arc<str>,
    /// It rests on what is not known, with the step: a request where the layer acts is refused.
    pub(crate) unknown: Option<(usize, Unknown)>,
}

/// A unit as the caps leave it.
#[derive(Clone, Debug)]
pub(crate) struct UnitEffect {
    /// What it is.
    pub(crate) kind: UnitKind,
    /// Escaped length of its texts.
    pub(crate) bytes: u64,
    /// Bytes of its recorded texts that are left.
    pub(crate) shown_bytes: u64,
    /// What it adds to the raw measure of its message.
    pub(crate) raw: u64,
    /// Its tokens, where the policy counts them.
    pub(crate) tokens: u64,
    /// A cap cut it.
    pub(crate) capped: bool,
    /// What is left is not what was there.
    pub(crate) differs: bool,
    /// It is a tool result.
    pub(crate) is_result: bool,
    /// Layers that may take it out.
    pub(crate) removable: Mask,
    /// By layer: the file that a call reads.
    pub(crate) reads: Vec<(usize, [u8; 32])>,
    /// A name for the text that it shows, where a layer compares texts.
    pub(crate) text: Option<[u8; 32]>,
    /// By layer, ascending; layers that are not for this unit are absent.
    instead: Vec<Instead>,
}

impl UnitEffect {
    fn of(unit: &Unit) -> Self {
        Self {
            kind: unit.kind,
            bytes: unit.bytes,
            shown_bytes: unit.text_bytes,
            raw: 0,
            tokens: 0,
            capped: false,
            differs: false,
            is_result: unit.kind == UnitKind::Result,
            removable: 0,
            reads: Vec::new(),
            text: None,
            instead: Vec::new(),
        }
    }

    pub(crate) fn instead(&self, layer: usize) -> Option<&Instead> {
        self.instead.iter().find(|instead| instead.layer == layer)
    }

    /// What stands in its place for layers of a mask and cannot be worked out, with the steps.
    pub(crate) fn unknowns(&self, mask: Mask) -> impl Iterator<Item = (usize, Unknown)> {
        let acting = self.instead.iter().filter(move |instead| mask & bit(instead.layer) != 0);
        acting.filter_map(|instead| instead.unknown)
    }

    /// True when the layer can act on this unit.
    pub(crate) fn is_for(&self, layer: usize) -> bool {
        self.removable & bit(layer) != 0 || self.instead(layer).is_some()
    }
}

/// What is left of one slot.
#[derive(Clone, Debug)]
pub(crate) struct SlotCut {
    pub(crate) slot: usize,
    pub(crate) capped: Arc<Capped>,
    /// The pieces are of the copy that was found beside the wire.
    pub(crate) found: bool,
}

/// A part as the caps leave it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// Length of its bytes.
    pub(crate) bytes: u64,
    /// Recorded text that could be shown.
    pub(crate) text_bytes: u64,
    /// Bytes of recorded text that are left.
    pub(crate) shown_bytes: u64,
    /// Measure that the tokens of the message follow from.
    pub(crate) raw: u64,
    /// Units that a cap cut.
    pub(crate) capped: u32,
    /// Units that are not what was there.
    pub(crate) differing: u32,
    /// Results.
    pub(crate) results: u32,
    /// Calls.
    pub(crate) calls: u32,
    /// Units of reasoning.
    pub(crate) reasoning: u32,
    /// Media.
    pub(crate) media: u32,
    /// First cap, in the policy's order, that looks at a text whose whole is not on record.
    pub(crate) sent_is_whole: Option<usize>,
    /// What else is assumed of it.
    pub(crate) assumes: Vec<Assumption>,
    /// First step that rests on something that is not known.
    pub(crate) unknown: Option<(usize, Unknown)>,
    /// One for each unit of the part.
    pub(crate) units: Vec<UnitEffect>,
    /// Slots that are not as they were sent.
    pub(crate) cuts: Vec<SlotCut>,
    /// What a `stack` step measures.
    pub(crate) stack: Option<Measured>,
    /// Where its units stand, where layers may take them out.
    pub(crate) placing: Option<Arc<Placing>>,
}

/// What caps leave of the texts of a result, and whether it rests on the whole of them; or the
/// step that cannot be worked out.
type Chained = Result<(Vec<SlotCut>, bool), (usize, Unknown)>;

/// Effects on all parts that were asked for.
pub(crate) struct Effects<'h> {
    pub(super) history: &'h History,
    pub(super) source: &'h dyn Source,
    pub(super) memo: Option<&'h dyn Memo>,
    /// Counts tokens exactly, where the caller brought one.
    pub(crate) counter: Option<&'h dyn TokenCounter>,
    parts: Vec<Option<Effect>>,
    /// Tokens of parts around the messages, without what is cut out of them.
    frames: BTreeMap<(PartNo, Vec<usize>), u64>,
    /// Tools that parts offer.
    pub(super) offers: BTreeMap<PartNo, Offer>,
}

impl core::fmt::Debug for Effects<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Effects on {} parts", self.parts.len())
    }
}

impl<'h> Effects<'h> {
    pub(crate) fn new(
        history: &'h History,
        source: &'h dyn Source,
        memo: Option<&'h dyn Memo>,
        counter: Option<&'h dyn TokenCounter>,
    ) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(history.parts().len(), || None);
        Self {
            history,
            source,
            memo,
            counter,
            parts,
            frames: BTreeMap::new(),
            offers: BTreeMap::new(),
        }
    }

    /// Sees to it that [`Effects::known`] knows a part.
    ///
    /// # Errors
    /// A step has to look at a text that is missing or damaged.
    pub(crate) fn learn(
        &mut self,
        index: &Index,
        program: &Program<'_>,
        part: PartNo,
    ) -> Result<&Effect, ProjectError> {
        if self.parts.get(part.index()).is_none_or(Option::is_none) {
            let effect = self.work_out(index, program, part)?;
            if let Some(place) = self.parts.get_mut(part.index()) {
                *place = Some(effect);
            }
        }
        Ok(self.known(part))
    }

    /// A part that was learned before.
    pub(crate) fn known(&self, part: PartNo) -> &Effect {
        self.learned(part).expect("a part is learned before it enters a list")
    }

    /// What is known of a part, if it was learned.
    pub(crate) fn learned(&self, part: PartNo) -> Option<&Effect> {
        self.parts.get(part.index()).and_then(Option::as_ref)
    }

    fn work_out(
        &self,
        index: &Index,
        program: &Program<'_>,
        number: PartNo,
    ) -> Result<Effect, ProjectError> {
        let part = self.history.part(number);
        let known = index.part(number);
        let mut effect = Effect {
            bytes: known.bytes,
            text_bytes: known.text_bytes,
            shown_bytes: known.text_bytes,
            units: Vec::with_capacity(known.units.len()),
            ..Effect::default()
        };
        for unit in &known.units {
            let mut left = UnitEffect::of(unit);
            match unit.kind {
                UnitKind::Result => {
                    self.result(number, part, unit, program, &mut left, &mut effect)?;
                }
                UnitKind::Call => {
                    self.call(number, part, unit, program, &mut left, &mut effect)?;
                }
                UnitKind::Reasoning => effect.reasoning += 1,
                UnitKind::Media => effect.media += 1,
            }
            effect.bytes = effect.bytes - unit.bytes + left.bytes;
            effect.capped += u32::from(left.capped);
            effect.differing += u32::from(left.differs);
            effect.units.push(left);
        }
        self.texts(number, part, program, &mut effect)?;
        if let Some((layer, stack)) = program.stack() {
            let (history, source) = (self.history, self.source);
            let measured = Measure { history, source, index, stack }.part(number, part)?;
            for result in &measured.results {
                let Some(unit) = known.units.get(result.unit) else { continue };
                if !unit.whole {
                    effect.sent_is_whole.get_or_insert(0);
                }
                let first = unit.slots.first().and_then(|slot| part.holes.get(usize::from(*slot)));
                let (Some(first), Some(left)) = (first, effect.units.get_mut(result.unit)) else {
                    continue;
                };
                let places = [(layer, &result.stale), (layer + 1, &result.active)];
                for (layer, placed) in places {
                    let Some(placed) = placed else { continue };
                    let text = self.history.text(first);
                    let differs = unit.slots.len() > 1 || !is(text, &placed.text);
                    left.instead.push(self.instead(program, layer, first, &placed.text, differs));
                }
            }
            effect.stack = Some(measured);
        }
        self.place(index, program, number, &mut effect)?;
        if program.counts_tokens {
            self.weigh(number, program, index, &mut effect)?;
            for (layer, (_, step)) in program.layers().iter().enumerate() {
                let Op::ClearResults(clear) = &step.op else { continue };
                for left in effect.units.iter_mut().filter(|unit| unit.is_result) {
                    if left.tokens < clear.min_size_tokens {
                        left.instead.retain(|instead| instead.layer != layer);
                    }
                }
            }
        }
        Ok(effect)
    }

    /// Caps texts that are no outputs.
    fn texts(
        &self,
        number: PartNo,
        part: &'h Part,
        program: &Program<'_>,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        let slots = &self.history.skeleton(part).slots;
        let plain = ("", true, program.budget);
        for (slot, (def, hole)) in slots.iter().zip(&part.holes).enumerate() {
            let files = &program.texts.files;
            if def.kind == SlotKind::USER_TEXT && !files.caps.is_empty() {
                let cut = self.caps(number, alloc::vec![(slot, hole)], plain, files, program)?;
                if let (Ok((cuts, _)), Some((step, _))) = (cut, files.caps.first())
                    && !cuts.is_empty()
                {
                    effect.assumes.push(Assumption::NoFile { step: *step });
                }
            }
            let Some(chain) = program.texts.of(def.kind) else { continue };
            match self.caps(number, alloc::vec![(slot, hole)], plain, chain, program)? {
                Ok((cuts, _)) => {
                    for cut in cuts {
                        effect.bytes = effect.bytes - hole.escaped_bytes + cut.capped.escaped_bytes;
                        let sent = self.history.text(hole).len();
                        effect.shown_bytes = effect.shown_bytes - sent + cut.capped.kept_bytes;
                        effect.differing += u32::from(cut.capped.differs);
                        effect.cuts.push(cut);
                    }
                }
                Err(unknown) => {
                    effect.unknown.get_or_insert(unknown);
                }
            }
        }
        Ok(())
    }

    fn result(
        &self,
        number: PartNo,
        part: &'h Part,
        unit: &Unit,
        program: &Program<'_>,
        left: &mut UnitEffect,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        effect.results += 1;
        let chain = program.chain(unit.tool);
        let slots = || {
            let slots = unit.slots.iter().map(|slot| usize::from(*slot));
            slots.filter_map(|slot| Some((slot, part.holes.get(slot)?)))
        };
        if let Some((step, _)) = chain.caps.first() {
            let mut whole = true;
            let tool = program.tool_name(unit.tool).unwrap_or_default();
            let capped = |budget| {
                self.caps(number, slots().collect(), (tool, unit.whole, budget), chain, program)
            };
            let mut found = capped(program.budget)?;
            if let Err((step, Unknown::Amount)) = found {
                // What is left of a window that nobody knows is taken to be enough.
                effect.assumes.push(Assumption::WindowUnknown { step });
                found = capped(program.budget.generous())?;
            }
            let cuts = match found {
                Ok((cuts, known)) => {
                    whole = known;
                    cuts
                }
                Err(unknown) => {
                    effect.unknown.get_or_insert(unknown);
                    Vec::new()
                }
            };
            if !whole {
                effect.sent_is_whole = Some(effect.sent_is_whole.map_or(*step, |s| s.min(*step)));
            }
            // What was cut may have been several texts to the client.
            let streams = chain
                .caps
                .iter()
                .find(|(_, step)| matches!(&step.op, Op::CapText(cap) if cap.per_stream));
            if let Some((step, _)) = streams.filter(|_| !cuts.is_empty()) {
                effect.assumes.push(Assumption::OneStream { step: *step });
            }
            for cut in cuts {
                let Some(hole) = part.holes.get(cut.slot) else { continue };
                let sent = self.history.text(hole).len();
                let found = self.found(hole).filter(|_| cut.found);
                let base = found.map_or(sent, |found| found.text.len());
                left.bytes = left.bytes - hole.escaped_bytes + cut.capped.escaped_bytes;
                left.shown_bytes = left.shown_bytes - sent + cut.capped.kept_bytes;
                effect.text_bytes = effect.text_bytes - sent + base;
                left.capped |= cut.capped.kept_bytes < base;
                left.differs |= cut.capped.differs;
                effect.cuts.push(cut);
            }
        }
        effect.shown_bytes = effect.shown_bytes - unit.text_bytes + left.shown_bytes;
        self.replacements(number, part, unit, program, left, effect)
    }
}

/// True when `content` is `text`; a stored one is told by its name, without reading it.
fn is(content: &Content, text: &str) -> bool {
    match content.artifact() {
        Some(artifact) => {
            artifact.bytes() == text.len() as u64
                && artifact.id() == ArtifactId::of(text.as_bytes())
        }
        None => content.as_inline() == Some(text.as_bytes()),
    }
}
