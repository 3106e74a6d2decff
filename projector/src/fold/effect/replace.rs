//! What stands in the place of a unit for each layer that may act on it.

use alloc::borrow::Cow;
use alloc::string::String;

use artifacts::ArtifactId;
use ledger::event::Hole;
use ledger::history::Part;
use ledger::id::PartNo;

use super::{Effect, Effects, Instead, UnitEffect, arguments, is};
use crate::fold::index::Unit;
use crate::fold::program::{Program, bit};
use crate::fold::weigh::Scales;
use crate::fold::{ProjectError, wrapping};
use crate::policy::Op;
use crate::policy::op::Replace;
use crate::text::{self, Context, Unknown};

impl<'h> Effects<'h> {
    /// What stands in the place of a call's arguments for each layer that clears or cuts them.
    pub(super) fn call(
        &self,
        number: PartNo,
        part: &Part,
        unit: &Unit,
        program: &Program<'_>,
        left: &mut UnitEffect,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        effect.calls += 1;
        let slot = unit.slots.first().map(|slot| usize::from(*slot));
        let Some((slot, first)) = slot.and_then(|slot| Some((slot, part.holes.get(slot)?))) else {
            return Ok(());
        };
        let mine = program.layers_for(unit.tool);
        for (layer, (nth, step)) in program.layers().iter().enumerate() {
            if mine & bit(layer) == 0 {
                continue;
            }
            let clears = match &step.op {
                Op::ClearResults(clear) => clear.clear_inputs,
                Op::CapArgs(cap) => cap.clear,
                _ => false,
            };
            if clears {
                let differs = !is(self.history.text(first), "{}");
                left.instead.push(self.instead(program, layer, first, "{}", differs));
                continue;
            }
            let text = || -> Result<String, ProjectError> {
                let bytes = self.history.text(first).read(self.source)?.to_vec();
                let part = number.number();
                String::from_utf8(bytes).map_err(|_invalid| ProjectError::NotText { part, slot })
            };
            match &step.op {
                Op::CapArgs(cap) => {
                    let text = text()?;
                    match arguments::cut(cap, &text, self.context(program, &[])) {
                        Ok(None) => {}
                        Ok(Some((cut, kept))) => {
                            let instead = self.instead(program, layer, first, &cut, true);
                            left.instead.push(Instead { kept, ..instead });
                        }
                        Err(unknown) => {
                            left.instead.push(self.unknown(program, layer, first, (*nth, unknown)));
                        }
                    }
                }
                Op::DedupeReads(reads) => {
                    let file = arguments::file(reads, unit.tool, &text()?);
                    left.reads.extend(file.map(|file| (layer, file)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What texts are weighed by.
    pub(crate) fn scales(&self, program: &Program<'_>) -> Scales<'h> {
        Scales { estimator: program.policy.estimator, counter: self.counter }
    }

    /// What texts may know of the run.
    pub(crate) fn context<'c>(
        &'c self,
        program: &Program<'_>,
        values: &'c [(&'c str, &'c str)],
    ) -> Context<'c> {
        Context { budget: program.budget, counter: self.counter, values }
    }

    /// What stands in the place of a result for each layer that may replace it: the replacement
    /// in its first text, nothing in the others.
    pub(super) fn replacements(
        &self,
        number: PartNo,
        part: &'h Part,
        unit: &Unit,
        program: &Program<'_>,
        left: &mut UnitEffect,
        effect: &Effect,
    ) -> Result<(), ProjectError> {
        let mut holes = unit.slots.iter().filter_map(|slot| part.holes.get(usize::from(*slot)));
        let Some(first) = holes.next() else { return Ok(()) };
        let others = holes.any(|hole| !self.history.text(hole).is_empty());
        let mine = program.layers_for(unit.tool);
        for (layer, (step, found)) in program.layers().iter().enumerate() {
            if mine & bit(layer) == 0 {
                continue;
            }
            let clear = match &found.op {
                Op::ClearResults(clear) if clear.replace != Replace::RemovePair => clear,
                Op::DedupeReads(reads) => {
                    let text = reads.replacement.as_str();
                    let differs = others || !is(self.history.text(first), text);
                    left.instead.push(self.instead(program, layer, first, text, differs));
                    if reads.equal_only && left.text.is_none() {
                        let shown = self.shown_text(number, part, unit, effect)?;
                        left.text = Some(*ArtifactId::of(shown.as_bytes()).as_bytes());
                    }
                    continue;
                }
                _ => continue,
            };
            let plain = clear.replace == Replace::Text
                && !clear.only_if_smaller
                && !clear.text().contains('{');
            let text = if plain {
                Cow::Borrowed(clear.text())
            } else {
                let shown = self.shown_text(number, part, unit, effect)?;
                let name = program.tool_name(unit.tool).unwrap_or_default();
                // Nobody has written the file that a replacement of ours would name.
                let values = [("tool", name), ("spill", wrapping::UNSAVED)];
                match text::replacement(clear, &shown, &self.context(program, &values)) {
                    Ok(Some(left)) => Cow::Owned(left.lossy(&shown)),
                    Ok(None) => continue,
                    Err(unknown) => {
                        left.instead.push(self.unknown(program, layer, first, (*step, unknown)));
                        continue;
                    }
                }
            };
            let differs = others || !is(self.history.text(first), &text);
            left.instead.push(self.instead(program, layer, first, &text, differs));
        }
        Ok(())
    }

    /// In the place of a unit, a text that cannot be worked out.
    fn unknown(
        &self,
        program: &Program<'_>,
        layer: usize,
        hole: &Hole,
        unknown: (usize, Unknown),
    ) -> Instead {
        Instead { unknown: Some(unknown), ..self.instead(program, layer, hole, "", true) }
    }

    /// A text in the place of a unit whose first slot is `hole`.
    pub(crate) fn instead(
        &self,
        program: &Program<'_>,
        layer: usize,
        hole: &Hole,
        text: &str,
        differs: bool,
    ) -> Instead {
        let bytes = hole.escape.escaped_bytes(text);
        let scales = self.scales(program);
        Instead {
            layer,
            bytes,
            raw: scales.raw(text, bytes),
            tokens: scales.tokens_of(text),
            differs,
            kept: 0,
            text: text.into(),
            unknown: None,
        }
    }
}
