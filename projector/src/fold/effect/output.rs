//! The output that fills a slot: what caps start from, and what they leave.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ledger::event::{Dropped, Hole, HoleValue};
use ledger::id::PartNo;

use super::caps::{Base, chained, fits, may_be_cut_from};
use super::{Chained, Effects, SlotCut};
use crate::fold::ProjectError;
use crate::fold::program::{Chain, Program};
use crate::fold::wrapping::Wrapping;
use crate::memo::{Capped, MemoKey, Piece};
use crate::policy::{Budget, Op};
use crate::stage::result::Basis;

impl<'h> Effects<'h> {
    /// The whole output that was found for a slot.
    pub(super) fn found(&self, hole: &Hole) -> Option<&'h ledger::event::Returned> {
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
    pub(super) fn caps(
        &self,
        number: PartNo,
        slots: Vec<(usize, &'h Hole)>,
        (tool, whole, budget): (&str, bool, Budget),
        chain: &Chain<'_>,
        program: &Program<'_>,
    ) -> Result<Chained, ProjectError> {
        if chain.wrapped {
            return self.all_wrapped(number, slots, (chain, (tool, budget)));
        }
        let mut bases = Vec::with_capacity(slots.len());
        for (_, hole) in &slots {
            bases.push(self.base(hole)?);
        }
        let whole = whole || bases.iter().all(|base| base.found);
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
        // What rests on an assumption is not what others may rest on.
        let known = budget == program.budget;
        let memo = key.filter(|_| known).and_then(|key| self.memo.map(|memo| (memo, key)));
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
            let shown = match chained(&texts, chain, (tool, budget), self.counter) {
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
        (chain, tool): (&Chain<'_>, (&str, Budget)),
    ) -> Result<Chained, ProjectError> {
        let steps: Vec<&Op> = chain.caps.iter().map(|(_, step)| &step.op).collect();
        let (history, source, counter) = (self.history, self.source, self.counter);
        let wrapping = Wrapping { history, source, counter };
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
}
