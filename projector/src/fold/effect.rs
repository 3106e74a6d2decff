//! What the policy makes of a part by itself: caps applied, sizes known, replacements measured.
//!
//! It depends on the part and the policy alone, so it is worked out once however many requests
//! carry the part; what caps leave of a text does not even depend on the policy's other steps,
//! and is asked of the memo first.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::{ArtifactId, Source};
use ledger::content::Content;
use ledger::event::{Hole, HoleValue, OutputFound, Returned};
use ledger::history::{History, Part};
use ledger::id::PartNo;

use super::ProjectError;
use super::index::{Index, Unit, UnitKind};
use super::measured::{Measure, Measured, Placed};
use super::program::{Chain, Program, bit};
use crate::memo::{Capped, Memo, MemoKey, Piece};
use crate::policy::{Amount, CapText, Op};
use crate::stage::cap;
use crate::stage::result::{self, Basis, Known, Made};

/// A text as shown so far, and where its bytes come from.
pub(crate) struct Shown<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) pieces: Vec<Piece>,
}

impl<'t> Shown<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), pieces: alloc::vec![Piece::Kept(0..text.len())] }
    }

    /// True when the pieces are not the whole of a text of `whole_bytes` bytes.
    pub(crate) fn is_cut(&self, whole_bytes: usize) -> bool {
        !matches!(self.pieces.as_slice(), [Piece::Kept(range)] if *range == (0..whole_bytes))
    }

    pub(crate) fn capped(self, nth: usize, cap: &CapText) -> Self {
        let Some(cut) = cap::cut(cap, &self.text) else { return self };
        let mut pieces = self.slice(&cut.head);
        if !cut.marker.is_empty() {
            pieces.push(Piece::Marker(nth, cut.marker.clone()));
        }
        pieces.extend(self.slice(&cut.tail));
        let head = self.text.get(cut.head).unwrap_or_default();
        let tail = self.text.get(cut.tail).unwrap_or_default();
        let text = Cow::Owned([head, &cut.marker, tail].concat());
        Self { text, pieces }
    }

    fn kept_bytes(&self) -> u64 {
        let kept = self.pieces.iter().map(|piece| match piece {
            Piece::Kept(range) => range.len() as u64,
            Piece::Marker(..) => 0,
        });
        kept.sum()
    }

    /// The pieces of a range of the shown text.
    fn slice(&self, range: &Range<usize>) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut at = 0;
        for piece in &self.pieces {
            let length = match piece {
                Piece::Kept(kept) => kept.len(),
                Piece::Marker(_, text) => text.len(),
            };
            let start = range.start.clamp(at, at + length) - at;
            let end = range.end.clamp(at, at + length) - at;
            at += length;
            if start == end {
                continue;
            }
            out.push(match piece {
                Piece::Kept(kept) => Piece::Kept(kept.start + start..kept.start + end),
                Piece::Marker(nth, text) => {
                    Piece::Marker(*nth, text.get(start..end).unwrap_or_default().into())
                }
            });
        }
        out
    }
}

/// What stands in the place of a unit when a layer acts on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instead {
    pub(crate) layer: usize,
    /// Escaped length of what is shown instead.
    pub(crate) bytes: u64,
    /// What is shown instead is not what was there.
    pub(crate) differs: bool,
}

/// A unit as the caps leave it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitEffect {
    /// Escaped length of its texts.
    pub(crate) bytes: u64,
    /// Bytes of its recorded texts that are left.
    pub(crate) shown_bytes: u64,
    /// A cap cut it.
    pub(crate) capped: bool,
    /// What is left is not what was there.
    pub(crate) differs: bool,
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

/// A part as the caps leave it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// Length of its bytes.
    pub(crate) bytes: u64,
    /// Bytes of recorded text that are left.
    pub(crate) shown_bytes: u64,
    /// Units that a cap cut.
    pub(crate) capped: u32,
    /// Units that are not what was there.
    pub(crate) differing: u32,
    /// Results.
    pub(crate) results: u32,
    /// First cap, in the policy's order, that looks at a text whose whole is not on record.
    pub(crate) sent_is_whole: Option<usize>,
    /// One for each unit of the part.
    pub(crate) units: Vec<UnitEffect>,
    /// Slots that a cap cut, and what is left of them.
    pub(crate) cuts: Vec<(usize, Arc<Capped>)>,
    /// What a `stack` step measures.
    pub(crate) stack: Option<Measured>,
}

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
    /// A cap has to look at a text that is missing or damaged.
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
            shown_bytes: known.text_bytes,
            units: Vec::with_capacity(known.units.len()),
            ..Effect::default()
        };
        for unit in &known.units {
            let mut left = UnitEffect {
                bytes: unit.bytes,
                shown_bytes: unit.text_bytes,
                ..UnitEffect::default()
            };
            if unit.kind == UnitKind::Result {
                effect.results += 1;
                let chain = program.chain(unit.tool);
                let known = self.caps(number, part, unit, chain, &mut left, &mut effect.cuts)?;
                if let Some((step, _)) = chain.caps.first().filter(|_| !known) {
                    let first = effect.sent_is_whole.get_or_insert(*step);
                    *first = (*first).min(*step);
                }
                left.instead = self.replacements(part, unit, program);
            }
            effect.bytes = effect.bytes - unit.bytes + left.bytes;
            effect.shown_bytes = effect.shown_bytes - unit.text_bytes + left.shown_bytes;
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
                let Some(left) = effect.units.get_mut(result.unit) else { continue };
                let places = [(layer, &result.stale), (layer + 1, &result.active)];
                for (layer, placed) in places {
                    left.instead.extend(
                        placed.as_ref().and_then(|placed| self.instead(part, unit, layer, placed)),
                    );
                }
            }
            effect.stack = Some(measured);
        }
        Ok(effect)
    }

    /// A text in the place of a result: in its first text, nothing in the others.
    fn instead(&self, part: &Part, unit: &Unit, layer: usize, placed: &Placed) -> Option<Instead> {
        let first = part.holes.get(usize::from(*unit.slots.first()?))?;
        let bytes = first.escape.escaped_bytes(&placed.text);
        let differs = unit.slots.len() > 1 || !is(self.history.text(first), &placed.text);
        Some(Instead { layer, bytes, differs })
    }

    /// Caps the texts of a result; true when what is left rests on the whole of them.
    fn caps(
        &self,
        number: PartNo,
        part: &Part,
        unit: &Unit,
        chain: &Chain<'_>,
        left: &mut UnitEffect,
        cuts: &mut Vec<(usize, Arc<Capped>)>,
    ) -> Result<bool, ProjectError> {
        let wrapped = chain.caps.iter().any(|(_, cap)| result::is_wrapped(cap));
        let mut known = wrapped || unit.whole;
        for slot in unit.slots.iter().map(|slot| usize::from(*slot)) {
            let Some(hole) = part.holes.get(slot) else { continue };
            let capped = if wrapped {
                let (capped, basis) = self.made(number, slot, hole, chain)?;
                known &= basis == Some(Basis::Known);
                capped
            } else {
                self.cap(number, slot, hole, chain)?
            };
            let Some(capped) = capped else { continue };
            left.bytes = left.bytes - hole.escaped_bytes + capped.escaped_bytes;
            left.shown_bytes -= self.history.text(hole).len() - capped.kept_bytes;
            left.capped = true;
            left.differs |= capped.differs;
            cuts.push((slot, capped));
        }
        Ok(known)
    }

    /// Applies caps to an output in its wrapping, and tells what the result rests on. A text that
    /// the policy cannot read stays as it was sent, and rests on nothing.
    fn made(
        &self,
        number: PartNo,
        slot: usize,
        hole: &Hole,
        chain: &Chain<'_>,
    ) -> Result<(Option<Arc<Capped>>, Option<Basis>), ProjectError> {
        let not_text = |_invalid| ProjectError::NotText { part: number.number(), slot };
        let bytes = self.history.text(hole).read(self.source)?;
        let sent = core::str::from_utf8(&bytes).map_err(not_text)?;
        let mut pieces = Vec::new();
        for piece in self.found(hole).map(|found| found.pieces.as_slice()).unwrap_or_default() {
            pieces.push(piece.text.read(self.source)?);
        }
        let mut texts = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            texts.push(core::str::from_utf8(piece).map_err(not_text)?);
        }
        let known = match texts.as_slice() {
            [whole] => Some(Known::Whole(whole)),
            [head, tail] => Some(Known::Ends(head, tail)),
            _ => None,
        };
        let caps: Vec<&CapText> = chain.caps.iter().map(|(_, cap)| *cap).collect();
        let Made::Text(text, basis) = result::make(&caps, sent, known) else {
            return Ok((None, None));
        };
        if text == sent {
            return Ok((None, Some(basis)));
        }
        Ok((Some(Arc::new(replaced(hole, sent, &text, caps.len()))), Some(basis)))
    }

    /// The output that fills a slot as another record has it.
    fn found(&self, hole: &Hole) -> Option<&OutputFound> {
        let HoleValue::Output { call, index } = hole.value else { return None };
        self.history.call(call)?.found(index)
    }

    /// Applies caps to one text, one after the other. `None`: no cap cuts it.
    fn cap(
        &self,
        number: PartNo,
        slot: usize,
        hole: &Hole,
        chain: &Chain<'_>,
    ) -> Result<Option<Arc<Capped>>, ProjectError> {
        // Caps that the whole text fits change nothing, so that it need not be read for them.
        let mut caps = chain.caps.iter().enumerate();
        let Some(first) = caps.find(|(_, (_, cap))| !self.fits(cap, hole)) else {
            return Ok(None);
        };
        let text = self.history.text(hole);
        let key = text.artifact().map(|artifact| MemoKey {
            text: artifact.id(),
            escape: hole.escape,
            caps: chain.id,
        });
        let memo = key.and_then(|key| self.memo.map(|memo| (memo, key)));
        if let Some(known) = memo.and_then(|(memo, key)| memo.get(&key)) {
            return Ok(known);
        }
        let bytes = text.read(self.source)?;
        let text = core::str::from_utf8(&bytes)
            .map_err(|_invalid| ProjectError::NotText { part: number.number(), slot })?;
        let shown = core::iter::once(first)
            .chain(caps)
            .fold(Shown::of(text), |shown, (nth, (_, cap))| shown.capped(nth, cap));
        let capped = shown.is_cut(text.len()).then(|| {
            Arc::new(Capped {
                escaped_bytes: hole.escape.escaped_bytes(&shown.text),
                kept_bytes: shown.kept_bytes(),
                differs: shown.text != text,
                pieces: shown.pieces,
            })
        });
        if let Some((memo, key)) = memo {
            memo.put(key, capped.clone());
        }
        Ok(capped)
    }

    /// True when recorded sizes alone show that the text is within the limit.
    fn fits(&self, cap: &CapText, hole: &Hole) -> bool {
        let bytes = self.history.text(hole).len();
        // No unit is smaller than a byte.
        let limit = cap.limit.and_then(Amount::fixed).unwrap_or_default();
        if bytes <= limit {
            return true;
        }
        let returned = self.history.returned(hole);
        let measure = returned.map(|returned: &Returned| returned.measure);
        measure
            .and_then(|measure| cap::recorded_size(cap.unit, bytes, &measure))
            .is_some_and(|size| size <= limit)
    }

    /// What stands in the place of a result for each layer that may replace it: the replacement
    /// in its first text, nothing in the others.
    fn replacements(&self, part: &Part, unit: &Unit, program: &Program<'_>) -> Vec<Instead> {
        let mut holes = unit.slots.iter().filter_map(|slot| part.holes.get(usize::from(*slot)));
        let Some(first) = holes.next() else { return Vec::new() };
        let others = holes.any(|hole| !self.history.text(hole).is_empty());
        let mut out = Vec::new();
        let mine = program.layers_for(unit.tool);
        for (layer, (_, step)) in program.layers().iter().enumerate() {
            let Op::ClearResults(clear) = &step.op else { continue };
            if mine & bit(layer) == 0 {
                continue;
            }
            let bytes = first.escape.escaped_bytes(clear.text());
            let differs = others || !is(self.history.text(first), clear.text());
            out.push(Instead { layer, bytes, differs });
        }
        out
    }
}

/// A text that stands for the sent one: what both begin and end with is the sent one's.
fn replaced(hole: &Hole, sent: &str, text: &str, caps: usize) -> Capped {
    let same = |pairs: usize| pairs.min(sent.len()).min(text.len());
    let start = sent.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let start = sent.floor_char_boundary(same(start));
    let ends = sent.bytes().rev().zip(text.bytes().rev()).take_while(|(a, b)| a == b).count();
    let room = (sent.len() - start).min(text.len() - start);
    let end = sent.ceil_char_boundary(sent.len() - ends.min(room));
    let kept = sent.len() - end;
    let middle = text.get(start..text.len() - kept).unwrap_or_default();
    let pieces = [
        Piece::Kept(0..start),
        Piece::Marker(caps.saturating_sub(1), middle.into()),
        Piece::Kept(end..sent.len()),
    ];
    let shown = |piece: &Piece| match piece {
        Piece::Kept(range) => !range.is_empty(),
        Piece::Marker(_, text) => !text.is_empty(),
    };
    Capped {
        escaped_bytes: hole.escape.escaped_bytes(text),
        kept_bytes: (start + kept) as u64,
        differs: true,
        pieces: pieces.into_iter().filter(shown).collect(),
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
