//! Texts as the caps leave them, and what they weigh.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::history::Part;
use ledger::id::PartNo;
use ledger::wire::SlotKind;

use super::{Effect, Effects};
use crate::fold::blocks::Cut;
use crate::fold::index::{Index, Unit};
use crate::fold::program::Program;
use crate::fold::{ProjectError, weigh};
use crate::memo::Piece;

impl<'h> Effects<'h> {
    /// The texts of a unit as the caps leave them, joined.
    pub(crate) fn shown_text(
        &self,
        number: PartNo,
        part: &'h Part,
        unit: &Unit,
        effect: &Effect,
    ) -> Result<String, ProjectError> {
        let mut out = Vec::new();
        for slot in unit.slots.iter().map(|slot| usize::from(*slot)) {
            self.slot_text(part, slot, effect, &mut out)?;
        }
        let slot = unit.slots.first().map_or(0, |slot| usize::from(*slot));
        String::from_utf8(out)
            .map_err(|_invalid| ProjectError::NotText { part: number.number(), slot })
    }

    /// Appends the text of a slot as the caps leave it.
    fn slot_text(
        &self,
        part: &'h Part,
        slot: usize,
        effect: &Effect,
        out: &mut Vec<u8>,
    ) -> Result<(), ProjectError> {
        let Some(hole) = part.holes.get(slot) else { return Ok(()) };
        let Some(cut) = effect.cuts.iter().find(|cut| cut.slot == slot) else {
            out.extend_from_slice(&self.history.text(hole).read(self.source)?);
            return Ok(());
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
        Ok(())
    }

    /// Tokens of a part around the messages: of its literal without what is cut out of it, and of
    /// each text in it.
    pub(crate) fn frame_tokens(
        &mut self,
        program: &Program<'_>,
        number: PartNo,
        cuts: &[Cut],
    ) -> Result<u64, ProjectError> {
        let key = (number, cuts.iter().flat_map(|cut| [cut.range.start, cut.range.end]).collect());
        if let Some(tokens) = self.frames.get(&key) {
            return Ok(*tokens);
        }
        let scales = self.scales(program);
        let part = self.history.part(number);
        let literal = self.history.skeleton(part).literal.read(self.source)?;
        let (mut shown, mut at) = (Vec::new(), 0);
        for cut in cuts {
            shown.extend_from_slice(literal.get(at..cut.range.start).unwrap_or_default());
            at = cut.range.end;
        }
        shown.extend_from_slice(literal.get(at..).unwrap_or_default());
        let mut tokens = scales.tokens_of(&String::from_utf8_lossy(&shown));
        let hidden = self.hidden_slots(number, cuts);
        for slot in (0..part.holes.len()).filter(|slot| !hidden.contains(slot)) {
            let mut text = Vec::new();
            self.slot_text(part, slot, self.known(number), &mut text)?;
            tokens += scales.tokens_of(&String::from_utf8_lossy(&text));
        }
        self.frames.insert(key, tokens);
        Ok(tokens)
    }

    /// Measures the part and its units by the policy's estimator.
    pub(super) fn weigh(
        &self,
        number: PartNo,
        program: &Program<'_>,
        index: &Index,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        let scales = self.scales(program);
        let estimator = scales.estimator;
        let part = self.history.part(number);
        let known = index.part(number);
        let mut raw = weigh::envelope(estimator, known.role, u64::from(effect.calls));
        if !weigh::reads(estimator) {
            raw = effect.bytes;
        }
        for (nth, unit) in known.units.iter().enumerate() {
            let (measured, tokens) = if weigh::reads(estimator) {
                let text = self.shown_text(number, part, unit, effect)?;
                (scales.raw(&text, 0), scales.tokens_of(&text))
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
            for (slot, def) in skeleton.slots.iter().enumerate() {
                let in_unit =
                    known.units.iter().any(|u| u.slots.iter().any(|s| usize::from(*s) == slot));
                let counted = match def.kind {
                    SlotKind::ITEM_ID | SlotKind::RESULT_NAME => false,
                    SlotKind::TOOL_NAME if weigh::is_exact(estimator) => true,
                    SlotKind::CALL_ID | SlotKind::RESULT_CALL_ID | SlotKind::TOOL_NAME => {
                        weigh::envelope(estimator, known.role, 1) > 0
                    }
                    _ => !in_unit,
                };
                if counted {
                    let mut bytes = Vec::new();
                    self.slot_text(part, slot, effect, &mut bytes)?;
                    raw += scales.raw(&String::from_utf8_lossy(&bytes), 0);
                }
            }
        }
        effect.raw = raw;
        Ok(())
    }
}
