//! What the policy makes of a part by itself: caps applied, sizes known, results listed.
//!
//! It depends on the part and the policy alone, so it is worked out once however many requests
//! carry the part.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::{ArtifactId, Source};
use ledger::content::Content;
use ledger::event::{Dropped, Hole, HoleValue, Returned};
use ledger::history::{History, Part};
use ledger::id::{PartNo, ToolCallId};
use ledger::wire::SlotKind;

use super::{ProjectError, support};
use crate::policy::{Amount, CapText, Op, Step};
use crate::stage::cap;

/// A piece of a slot's text after the caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A range of the recorded text, in bytes.
    Kept(Range<usize>),
    /// A marker of a step.
    Marker(usize, String),
}

/// What stands in the place of a cleared result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cleared {
    step: usize,
    /// Escaped length of what is shown instead.
    pub(super) bytes: u64,
    /// What is shown instead is not what was there.
    pub(super) differs: bool,
}

/// One tool result of a part.
#[derive(Clone, Debug)]
pub(super) struct ResultFacts {
    /// Which block of the part it is.
    pub(super) group: u16,
    /// Its call.
    pub(super) call: Option<ToolCallId>,
    /// Escaped length of its texts after the caps.
    pub(super) bytes: u64,
    /// Bytes of its recorded texts that the caps leave.
    pub(super) shown_bytes: u64,
    /// A cap cut it.
    pub(super) capped: bool,
    /// What the caps leave is not what was there: a marker may happen to spell what it hides.
    pub(super) differs: bool,
    cleared: Vec<Cleared>,
}

impl ResultFacts {
    /// True when a `clear_results` step is for this result.
    pub(super) fn is_for(&self, step: usize) -> bool {
        self.cleared(step).is_some()
    }

    pub(super) fn cleared(&self, step: usize) -> Option<&Cleared> {
        self.cleared.iter().find(|cleared| cleared.step == step)
    }
}

/// A part under the policy.
#[derive(Clone, Debug, Default)]
pub(super) struct PartFacts {
    /// Length of its bytes after the caps.
    pub(super) bytes: u64,
    /// Bytes of recorded text that the caps hide.
    pub(super) hidden_bytes: u64,
    /// Bytes of recorded text that the caps leave, ids not counted.
    pub(super) text_bytes: u64,
    /// Results that a cap cut.
    pub(super) capped_results: u32,
    /// First cap, in the policy's order, that looks at a text whose whole is not on record.
    pub(super) sent_is_whole: Option<usize>,
    /// Its results, in order.
    pub(super) results: Vec<ResultFacts>,
    /// Calls that it holds.
    pub(super) calls: Vec<ToolCallId>,
    /// Slots that a cap cut, and what is left of them.
    pub(super) cuts: Vec<(usize, Vec<Piece>)>,
}

/// What caps leave of a text.
struct Capped {
    pieces: Vec<Piece>,
    /// Length of what is shown, as it is written.
    escaped_bytes: u64,
    /// Bytes of the recorded text that are left.
    kept_bytes: u64,
    /// What is shown is not the recorded text.
    differs: bool,
}

/// A text as shown so far, and where its bytes come from.
pub(super) struct Shown<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) pieces: Vec<Piece>,
}

impl<'t> Shown<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), pieces: alloc::vec![Piece::Kept(0..text.len())] }
    }

    /// True when the pieces are not the whole of a text of `whole_bytes` bytes.
    pub(super) fn is_cut(&self, whole_bytes: usize) -> bool {
        !matches!(self.pieces.as_slice(), [Piece::Kept(range)] if *range == (0..whole_bytes))
    }

    pub(super) fn capped(self, step: usize, cap: &CapText) -> Self {
        let Some(cut) = cap::cut(cap, &self.text) else { return self };
        let mut pieces = self.slice(&cut.head);
        if !cut.marker.is_empty() {
            pieces.push(Piece::Marker(step, cut.marker.clone()));
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
                Piece::Marker(step, text) => {
                    Piece::Marker(*step, text.get(start..end).unwrap_or_default().into())
                }
            });
        }
        out
    }
}

/// Facts of all parts that were asked for.
pub(super) struct Facts<'h> {
    history: &'h History,
    source: &'h dyn Source,
    steps: &'h [Step],
    parts: Vec<Option<PartFacts>>,
}

impl core::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Facts of {} parts", self.parts.len())
    }
}

impl<'h> Facts<'h> {
    pub(super) fn new(history: &'h History, source: &'h dyn Source, steps: &'h [Step]) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(history.parts().len(), || None);
        Self { history, source, steps, parts }
    }

    /// Length of a part that no step touches.
    pub(super) fn frame_bytes(&self, part: PartNo) -> u64 {
        self.history.part(part).bytes
    }

    /// The facts of a part.
    ///
    /// # Errors
    /// A cap has to look at a text that is missing or damaged.
    pub(super) fn get(&mut self, part: PartNo) -> Result<&PartFacts, ProjectError> {
        let index = part.index();
        if self.parts.get(index).is_none_or(Option::is_none) {
            let facts = self.work_out(part)?;
            if let Some(slot) = self.parts.get_mut(index) {
                *slot = Some(facts);
            }
        }
        Ok(self
            .parts
            .get(index)
            .and_then(Option::as_ref)
            .expect("the table has a place for every part of the history"))
    }

    fn work_out(&self, number: PartNo) -> Result<PartFacts, ProjectError> {
        let part = self.history.part(number);
        let skeleton = self.history.skeleton(part);
        let mut facts = PartFacts { bytes: part.bytes, ..PartFacts::default() };
        for (slot, (def, hole)) in skeleton.slots.iter().zip(&part.holes).enumerate() {
            let length = self.history.text(hole).len();
            match def.kind {
                SlotKind::CALL_ID | SlotKind::ITEM_ID => {
                    if let HoleValue::AnswerCallId { request, item } = hole.value {
                        facts.calls.extend(self.history.call_of(request, item));
                    }
                    continue;
                }
                SlotKind::RESULT_CALL_ID | SlotKind::TOOL_NAME | SlotKind::RESULT_NAME => continue,
                SlotKind::ARGUMENTS => {
                    if let HoleValue::AnswerText { request, item } = hole.value {
                        facts.calls.extend(self.history.call_of(request, item));
                    }
                }
                SlotKind::TOOL_OUTPUT => self.output(number, part, slot, def.group, &mut facts)?,
                _ => {}
            }
            facts.text_bytes += length;
        }
        facts.text_bytes -= facts.hidden_bytes;
        facts.calls.dedup();
        Ok(facts)
    }

    /// Caps one text of a result and adds it to its result.
    fn output(
        &self,
        number: PartNo,
        part: &Part,
        slot: usize,
        group: u16,
        facts: &mut PartFacts,
    ) -> Result<(), ProjectError> {
        let Some(hole) = part.holes.get(slot) else { return Ok(()) };
        let call = self.call_of_group(part, group);
        let text_bytes = self.history.text(hole).len();
        let mut bytes = hole.escaped_bytes;
        let mut shown_bytes = text_bytes;
        let cut = self.cap(number, slot, hole, call, &mut facts.sent_is_whole)?;
        let capped = cut.is_some();
        let mut differs = false;
        if let Some(cut) = cut {
            facts.bytes = facts.bytes - bytes + cut.escaped_bytes;
            facts.hidden_bytes += text_bytes - cut.kept_bytes;
            facts.cuts.push((slot, cut.pieces));
            bytes = cut.escaped_bytes;
            shown_bytes = cut.kept_bytes;
            differs = cut.differs;
        }
        if let Some(result) = facts.results.last_mut().filter(|result| result.group == group) {
            result.bytes += bytes;
            result.shown_bytes += shown_bytes;
            facts.capped_results += u32::from(capped && !result.capped);
            result.capped |= capped;
            result.differs |= differs;
            // The replacement stands in the first text; the others become empty.
            for cleared in &mut result.cleared {
                cleared.differs |= text_bytes > 0;
            }
            return Ok(());
        }
        facts.capped_results += u32::from(capped);
        let cleared = self.clearers(call, hole);
        facts.results.push(ResultFacts {
            group,
            call,
            bytes,
            shown_bytes,
            capped,
            differs,
            cleared,
        });
        Ok(())
    }

    /// The `clear_results` steps that are for results of this call.
    fn clearers(&self, call: Option<ToolCallId>, hole: &Hole) -> Vec<Cleared> {
        let tool = self.tool(call);
        let mut out = Vec::new();
        for (step, found) in self.steps.iter().enumerate() {
            let Op::ClearResults(clear) = &found.op else { continue };
            if !found.applies.to(tool) {
                continue;
            }
            let bytes = hole.escape.escaped_bytes(clear.text());
            let differs = !is(self.history.text(hole), clear.text());
            out.push(Cleared { step, bytes, differs });
        }
        out
    }

    /// Applies the caps to one text, one after the other. `None`: no cap cuts it.
    fn cap(
        &self,
        number: PartNo,
        slot: usize,
        hole: &Hole,
        call: Option<ToolCallId>,
        sent_is_whole: &mut Option<usize>,
    ) -> Result<Option<Capped>, ProjectError> {
        let tool = self.tool(call);
        // A second result of a call is not the output that is on record for it.
        let output = matches!(hole.value, HoleValue::Output { .. });
        let call = call.filter(|_| output).and_then(|call| self.history.call(call));
        let whole = call.map(|call| call.dropped) == Some(Dropped::Bytes(0));
        let mut caps = support::caps(self.steps)
            .filter(|(_, step, _)| step.applies.to(tool))
            .map(|(index, _, cap)| (index, cap))
            .peekable();
        if let Some((step, _)) = caps.peek().filter(|_| !whole) {
            let first = sent_is_whole.get_or_insert(*step);
            *first = (*first).min(*step);
        }
        // Caps that the whole text fits change nothing, so that it need not be read for them.
        let Some(first) = caps.find(|(_, cap)| !self.fits(cap, hole)) else { return Ok(None) };
        let bytes = self.history.text(hole).read(self.source)?;
        let text = core::str::from_utf8(&bytes)
            .map_err(|_invalid| ProjectError::NotText { part: number.number(), slot })?;
        let shown = core::iter::once(first)
            .chain(caps)
            .fold(Shown::of(text), |shown, (step, cap)| shown.capped(step, cap));
        if !shown.is_cut(text.len()) {
            return Ok(None);
        }
        Ok(Some(Capped {
            escaped_bytes: hole.escape.escaped_bytes(&shown.text),
            kept_bytes: shown.kept_bytes(),
            differs: shown.text != text,
            pieces: shown.pieces,
        }))
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

    /// The name of the tool that a call is for, where it is on record inside the event.
    fn tool(&self, call: Option<ToolCallId>) -> Option<&[u8]> {
        self.history.call_item(call?)?.name.as_ref()?.as_inline()
    }

    /// The call that a result of a part belongs to.
    fn call_of_group(&self, part: &Part, group: u16) -> Option<ToolCallId> {
        let skeleton = self.history.skeleton(part);
        skeleton.slots.iter().zip(&part.holes).filter(|(def, _)| def.group == group).find_map(
            |(def, hole)| match (def.kind, &hole.value) {
                (_, HoleValue::Output { call, .. }) => Some(*call),
                (SlotKind::RESULT_CALL_ID, HoleValue::AnswerCallId { request, item }) => {
                    self.history.call_of(*request, *item)
                }
                _ => None,
            },
        )
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
