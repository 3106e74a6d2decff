//! What the policy makes of a part by itself: caps applied, sizes known, replacements measured.
//!
//! It depends on the part and the policy alone, so it is worked out once however many requests
//! carry the part; what caps leave of a text does not even depend on the policy's other steps,
//! and is asked of the memo first.
//!
//! Where the whole output of a call was found beside the wire, caps start from it and not from
//! what the client has sent.

mod caps;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use artifacts::{ArtifactId, Source};
use ledger::content::Content;
use ledger::event::{Dropped, Hole, HoleValue};
use ledger::history::{History, Part};
use ledger::id::PartNo;
use ledger::wire::SlotKind;

use super::index::{Index, Unit, UnitKind};
use super::measured::{Measure, Measured};
use super::program::{Chain, Program, bit};
use super::wrapping::{self, Wrapping};
use super::{ProjectError, weigh};
use crate::memo::{Capped, Memo, MemoKey, Piece};
use crate::policy::op::Replace;
use crate::policy::{Op, Policy};
use crate::stage::result::{self, Basis};
use crate::text::{self, Context, Unknown};
#[cfg(test)]
pub(crate) use caps::Shown;
use caps::{Base, chained, fits, may_be_cut_from};

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
    /// What is shown instead, in the first slot.
    pub(crate) text: Arc<str>,
}

/// A unit as the caps leave it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitEffect {
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
    /// By layer, ascending; layers that are not for this unit are absent.
    instead: Vec<Instead>,
}

impl UnitEffect {
    pub(crate) fn instead(&self, layer: usize) -> Option<&Instead> {
        self.instead.iter().find(|instead| instead.layer == layer)
    }

    /// True when the layer can act on this unit.
    pub(crate) fn is_for(&self, layer: usize) -> bool {
        self.instead(layer).is_some()
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
    /// First step that rests on something that is not known.
    pub(crate) unknown: Option<(usize, Unknown)>,
    /// One for each unit of the part.
    pub(crate) units: Vec<UnitEffect>,
    /// Slots that are not as they were sent.
    pub(crate) cuts: Vec<SlotCut>,
    /// What a `stack` step measures.
    pub(crate) stack: Option<Measured>,
}

/// What caps leave of the texts of a result, and whether it rests on the whole of them; or the
/// step that cannot be worked out.
type Chained = Result<(Vec<SlotCut>, bool), (usize, Unknown)>;

/// Effects on all parts that were asked for.
pub(crate) struct Effects<'h> {
    history: &'h History,
    source: &'h dyn Source,
    memo: Option<&'h dyn Memo>,
    parts: Vec<Option<Effect>>,
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
    ) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(history.parts().len(), || None);
        Self { history, source, memo, parts }
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
        let effect = self.parts.get(part.index()).and_then(Option::as_ref);
        effect.expect("a part is learned before it enters a list")
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
            let mut left = UnitEffect {
                bytes: unit.bytes,
                shown_bytes: unit.text_bytes,
                is_result: unit.kind == UnitKind::Result,
                ..UnitEffect::default()
            };
            match unit.kind {
                UnitKind::Result => {
                    self.result(number, part, unit, program, &mut left, &mut effect)?;
                }
                UnitKind::Call => self.call(part, unit, program, &mut left, &mut effect),
                UnitKind::Reasoning => effect.reasoning += 1,
                UnitKind::Media => effect.media += 1,
            }
            effect.bytes = effect.bytes - unit.bytes + left.bytes;
            effect.capped += u32::from(left.capped);
            effect.differing += u32::from(left.differs);
            effect.units.push(left);
        }
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
                    let policy = program.policy;
                    left.instead.push(Self::instead(policy, layer, first, &placed.text, differs));
                }
            }
            effect.stack = Some(measured);
        }
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
            let cuts = match self.caps(number, slots().collect(), unit, chain, program)? {
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

    /// What stands in the place of a call's arguments for each layer that clears them.
    fn call(
        &self,
        part: &Part,
        unit: &Unit,
        program: &Program<'_>,
        left: &mut UnitEffect,
        effect: &mut Effect,
    ) {
        effect.calls += 1;
        let Some(first) = unit.slots.first().and_then(|slot| part.holes.get(usize::from(*slot)))
        else {
            return;
        };
        let mine = program.layers_for(unit.tool);
        for (layer, (_, step)) in program.layers().iter().enumerate() {
            let clears = match &step.op {
                Op::ClearResults(clear) => clear.clear_inputs,
                Op::CapArgs(cap) => cap.clear,
                _ => false,
            };
            if clears && mine & bit(layer) != 0 {
                let differs = !is(self.history.text(first), "{}");
                left.instead.push(Self::instead(program.policy, layer, first, "{}", differs));
            }
        }
    }

    /// The whole output that was found for a slot.
    fn found(&self, hole: &Hole) -> Option<&'h ledger::event::Returned> {
        let HoleValue::Output { call, index } = hole.value else { return None };
        let found = self.history.call(call)?.found(index)?;
        found.pieces.first().filter(|_| found.dropped == Dropped::Bytes(0))
    }

    /// What caps start from: the whole output that was found, where what was sent is a cut of it,
    /// and not something that the client wrote around it.
    fn base(&self, hole: &'h Hole) -> Result<Base<'h>, ProjectError> {
        let sent = self.history.text(hole);
        if let Some(found) = self.found(hole) {
            let (sent, whole) = (sent.read(self.source)?, found.text.read(self.source)?);
            if may_be_cut_from(&sent, &whole) {
                let measure = Some(found.measure);
                return Ok(Base { content: &found.text, measure, found: true });
            }
        }
        let measure = self.history.returned(hole).map(|returned| returned.measure);
        Ok(Base { content: sent, measure, found: false })
    }

    /// Caps the texts of a result: what is left of the slots that are not as they were sent.
    fn caps(
        &self,
        number: PartNo,
        slots: Vec<(usize, &'h Hole)>,
        unit: &Unit,
        chain: &Chain<'_>,
        program: &Program<'_>,
    ) -> Result<Chained, ProjectError> {
        if chain.caps.iter().any(|(_, step)| result::is_wrapped(&step.op)) {
            return self.all_wrapped(number, slots, unit, (chain, program));
        }
        let mut bases = Vec::with_capacity(slots.len());
        for (_, hole) in &slots {
            bases.push(self.base(hole)?);
        }
        let whole = unit.whole || bases.iter().all(|base| base.found);
        let fits = |base: &Base<'_>| chain.caps.iter().all(|(_, step)| fits(&step.op, base));
        // Caps that the whole text fits change nothing, so that it need not be read for them.
        if bases.iter().all(|base| !base.found && fits(base)) {
            return Ok(Ok((Vec::new(), whole)));
        }
        let key = match (slots.as_slice(), bases.as_slice()) {
            ([(_, hole)], [base]) => base.content.artifact().map(|artifact| MemoKey {
                text: artifact.id(),
                escape: hole.escape,
                caps: chain.id,
            }),
            _ => None,
        };
        let memo = key.and_then(|key| self.memo.map(|memo| (memo, key)));
        let known = memo.and_then(|(memo, key)| memo.get(&key));
        let lefts = if let Some(known) = known {
            alloc::vec![known]
        } else {
            let mut bytes = Vec::with_capacity(bases.len());
            for base in &bases {
                bytes.push(base.content.read(self.source)?);
            }
            let mut texts = Vec::with_capacity(bases.len());
            for ((slot, _), bytes) in slots.iter().zip(&bytes) {
                let text = core::str::from_utf8(bytes).map_err(|_invalid| {
                    ProjectError::NotText { part: number.number(), slot: *slot }
                })?;
                texts.push(text);
            }
            let escapes = slots.iter().map(|(_, hole)| hole.escape);
            let shown = match chained(&texts, unit, chain, program) {
                Ok(shown) => shown,
                Err(unknown) => return Ok(Err(unknown)),
            };
            let lefts = shown.into_iter().zip(texts).zip(escapes).map(|((shown, text), escape)| {
                shown.is_cut(text.len()).then(|| {
                    Arc::new(Capped {
                        escaped_bytes: escape.escaped_bytes(&shown.text),
                        shown_bytes: shown.text.len() as u64,
                        kept_bytes: shown.kept_bytes(),
                        differs: shown.text != text,
                        pieces: shown.pieces,
                    })
                })
            });
            let lefts: Vec<_> = lefts.collect();
            if let (Some((memo, key)), [left]) = (memo, lefts.as_slice()) {
                memo.put(key, left.clone());
            }
            lefts
        };
        let mut cuts = Vec::new();
        for (((slot, hole), base), left) in slots.into_iter().zip(&bases).zip(lefts) {
            let capped = match left {
                Some(capped) => self.against_sent(capped, hole, base)?,
                None if base.found => self.whole(hole, base)?,
                None => continue,
            };
            cuts.push(SlotCut { slot, capped, found: base.found });
        }
        Ok(Ok((cuts, whole)))
    }

    /// Applies caps to all texts of a result in their wrapping.
    fn all_wrapped(
        &self,
        number: PartNo,
        slots: Vec<(usize, &Hole)>,
        unit: &Unit,
        (chain, program): (&Chain<'_>, &Program<'_>),
    ) -> Result<Chained, ProjectError> {
        let steps: Vec<&Op> = chain.caps.iter().map(|(_, step)| &step.op).collect();
        let wrapping = Wrapping { history: self.history, source: self.source };
        let tool = (program.tool_name(unit.tool).unwrap_or_default(), program.budget);
        let (mut cuts, mut whole) = (Vec::new(), true);
        for (slot, hole) in slots {
            let (capped, basis) = match wrapping.made((number, slot), hole, &steps, tool)? {
                Ok(made) => made,
                Err((nth, unknown)) => {
                    let step = chain.caps.get(nth).map_or(0, |(step, _)| *step);
                    return Ok(Err((step, unknown)));
                }
            };
            whole &= basis == Some(Basis::Known);
            cuts.extend(capped.map(|capped| SlotCut { slot, capped, found: false }));
        }
        Ok(Ok((cuts, whole)))
    }

    /// A copy that was found, as it is.
    fn whole(&self, hole: &Hole, base: &Base<'_>) -> Result<Arc<Capped>, ProjectError> {
        let bytes = base.content.read(self.source)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(Arc::new(Capped {
            escaped_bytes: hole.escape.escaped_bytes(&text),
            shown_bytes: bytes.len() as u64,
            kept_bytes: bytes.len() as u64,
            differs: *self.history.text(hole).read(self.source)? != *bytes,
            pieces: alloc::vec![Piece::Kept(0..bytes.len())],
        }))
    }

    /// What the caps leave of a copy that was found may be just what was sent.
    fn against_sent(
        &self,
        capped: Arc<Capped>,
        hole: &Hole,
        base: &Base<'_>,
    ) -> Result<Arc<Capped>, ProjectError> {
        if !base.found {
            return Ok(capped);
        }
        let sent = self.history.text(hole);
        let differs = sent.len() != capped.shown_bytes || {
            let whole = base.content.read(self.source)?;
            let mut shown = Vec::new();
            for piece in &capped.pieces {
                match piece {
                    Piece::Kept(range) => {
                        shown.extend_from_slice(whole.get(range.clone()).unwrap_or_default());
                    }
                    Piece::Inserted(_, text) => shown.extend_from_slice(text.as_bytes()),
                }
            }
            *sent.read(self.source)? != *shown
        };
        Ok(Arc::new(Capped { differs, ..(*capped).clone() }))
    }

    /// What stands in the place of a result for each layer that may replace it: the replacement
    /// in its first text, nothing in the others.
    fn replacements(
        &self,
        number: PartNo,
        part: &'h Part,
        unit: &Unit,
        program: &Program<'_>,
        left: &mut UnitEffect,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        let mut holes = unit.slots.iter().filter_map(|slot| part.holes.get(usize::from(*slot)));
        let Some(first) = holes.next() else { return Ok(()) };
        let others = holes.any(|hole| !self.history.text(hole).is_empty());
        let mine = program.layers_for(unit.tool);
        for (layer, (step, found)) in program.layers().iter().enumerate() {
            let Op::ClearResults(clear) = &found.op else { continue };
            if mine & bit(layer) == 0 || clear.replace == Replace::RemovePair {
                continue;
            }
            let plain = clear.replace == Replace::Text
                && !clear.only_if_smaller
                && !clear.text().contains('{');
            let text = if plain {
                Cow::Borrowed(clear.text())
            } else {
                let shown = self.shown_text(number, part, unit, effect)?;
                let name = program.tool_name(unit.tool).unwrap_or_default();
                // Nobody has written the file that a replacement of ours would name.
                let values = &[("tool", name), ("spill", wrapping::UNSAVED)];
                let context = Context { budget: program.budget, counter: None, values };
                match text::replacement(clear, &shown, &context) {
                    Ok(Some(left)) => Cow::Owned(left.lossy(&shown)),
                    Ok(None) => continue,
                    Err(unknown) => {
                        effect.unknown.get_or_insert((*step, unknown));
                        continue;
                    }
                }
            };
            let differs = others || !is(self.history.text(first), &text);
            left.instead.push(Self::instead(program.policy, layer, first, &text, differs));
        }
        Ok(())
    }

    fn instead(policy: &Policy, layer: usize, hole: &Hole, text: &str, differs: bool) -> Instead {
        let bytes = hole.escape.escaped_bytes(text);
        Instead {
            layer,
            bytes,
            raw: weigh::raw(policy.estimator, text, bytes),
            tokens: weigh::tokens_of(policy.estimator, text),
            differs,
            text: text.into(),
        }
    }

    /// The texts of a unit as the caps leave them, joined.
    fn shown_text(
        &self,
        number: PartNo,
        part: &'h Part,
        unit: &Unit,
        effect: &Effect,
    ) -> Result<String, ProjectError> {
        let mut out = Vec::new();
        for slot in unit.slots.iter().map(|slot| usize::from(*slot)) {
            let Some(hole) = part.holes.get(slot) else { continue };
            let cut = effect.cuts.iter().find(|cut| cut.slot == slot);
            let Some(cut) = cut else {
                out.extend_from_slice(&self.history.text(hole).read(self.source)?);
                continue;
            };
            let whole = match self.found(hole).filter(|_| cut.found) {
                Some(found) => found.text.read(self.source)?,
                None => self.history.text(hole).read(self.source)?,
            };
            for piece in &cut.capped.pieces {
                match piece {
                    Piece::Kept(range) => {
                        out.extend_from_slice(whole.get(range.clone()).unwrap_or_default());
                    }
                    Piece::Inserted(_, text) => out.extend_from_slice(text.as_bytes()),
                }
            }
        }
        let slot = unit.slots.first().map_or(0, |slot| usize::from(*slot));
        String::from_utf8(out)
            .map_err(|_invalid| ProjectError::NotText { part: number.number(), slot })
    }

    /// Measures the part and its units by the policy's estimator.
    fn weigh(
        &self,
        number: PartNo,
        program: &Program<'_>,
        index: &Index,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        let estimator = program.policy.estimator;
        let part = self.history.part(number);
        let known = index.part(number);
        let mut raw = weigh::envelope(estimator, known.role, u64::from(effect.calls));
        if !weigh::reads(estimator) {
            raw = effect.bytes;
        }
        for (nth, unit) in known.units.iter().enumerate() {
            let (measured, tokens) = if weigh::reads(estimator) {
                let text = self.shown_text(number, part, unit, effect)?;
                (weigh::raw(estimator, &text, 0), weigh::tokens_of(estimator, &text))
            } else {
                let bytes = effect.units.get(nth).map_or(0, |unit| unit.bytes);
                (bytes, bytes.div_ceil(4))
            };
            if let Some(left) = effect.units.get_mut(nth) {
                (left.raw, left.tokens) = (measured, tokens);
            }
            if weigh::reads(estimator) {
                raw += measured;
            }
        }
        if weigh::reads(estimator) {
            let skeleton = self.history.skeleton(part);
            for (slot, (def, hole)) in skeleton.slots.iter().zip(&part.holes).enumerate() {
                let in_unit =
                    known.units.iter().any(|u| u.slots.iter().any(|s| usize::from(*s) == slot));
                let counted = match def.kind {
                    SlotKind::ITEM_ID | SlotKind::RESULT_NAME => false,
                    SlotKind::CALL_ID | SlotKind::RESULT_CALL_ID | SlotKind::TOOL_NAME => {
                        weigh::envelope(estimator, known.role, 1) > 0
                    }
                    _ => !in_unit,
                };
                if counted {
                    let bytes = self.history.text(hole).read(self.source)?;
                    raw += weigh::raw(estimator, &String::from_utf8_lossy(&bytes), 0);
                }
            }
        }
        effect.raw = raw;
        Ok(())
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
