//! Texts as the caps leave them, and what they weigh.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::history::Part;
use ledger::id::PartNo;
use ledger::wire::SlotKind;

use super::{Effect, Effects};
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
    pub(super) fn weigh(
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
