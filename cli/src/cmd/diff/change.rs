//! What differs between two sides: texts, and whole messages.

use std::ops::Range;

use artifacts::Source;
use ledger::event::HoleValue;
use ledger::history::History;
use ledger::id::PartNo;
use ledger::wire::{Role, SlotKind};
use replay::Recording;

use super::side::{Message, Piece, Side};
use crate::error::{Failure, Kind, map};
use crate::report::number::bytes as size;

/// How a text or message differs on the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Some of the recorded text is left.
    Capped,
    /// Nothing of the recorded text is left.
    Cleared,
    /// The recorded text is whole again.
    Restored,
    /// The message is left out.
    Dropped,
    /// The message is there again.
    Returned,
    /// The policy has put a message of its own there.
    Added,
    /// A message that the first policy has put there is not there.
    Withdrawn,
}

impl How {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Capped => "capped",
            Self::Cleared => "cleared",
            Self::Restored => "restored",
            Self::Dropped => "left out",
            Self::Returned => "kept",
            Self::Added => "added",
            Self::Withdrawn => "not added",
        }
    }
}

/// One side of a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    /// Ranges of the recorded text that are shown.
    kept: Vec<Range<usize>>,
}

/// A text that differs, or a message that one side does not have.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Its number in the recorded list, from 1; `None`: a part around the messages, or a message
    /// that is not of the record.
    pub(super) message: Option<u64>,
    pub(super) part: Option<u32>,
    pub(super) role: &'static str,
    pub(super) slot: Option<usize>,
    pub(super) what: &'static str,
    pub(super) tool: Option<String>,
    pub(super) artifact: Option<String>,
    pub(super) how: How,
    pub(super) left: Shown,
    pub(super) right: Shown,
    /// Ranges of the recorded text that the left side shows and the right one does not. For a
    /// message, one range over all of its texts.
    pub(super) hidden: Vec<Range<usize>>,
}

impl Change {
    pub(super) fn hidden_bytes(&self) -> u64 {
        self.hidden.iter().map(|range| range.len() as u64).sum()
    }

    /// True for a message or a part that only one side has.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.how, How::Dropped | How::Returned | How::Added | How::Withdrawn)
    }

    pub(super) fn title(&self) -> String {
        let Self { message, role, what, how, .. } = self;
        let how = how.name();
        let place = message.map(|number| format!("message {number} ({role}): "));
        let place = place.unwrap_or_default();
        let tool = self.tool.as_ref().map(|tool| format!(" of {tool}")).unwrap_or_default();
        let (before, after) = (size(self.left.bytes), size(self.right.bytes));
        format!("{place}{what}{tool} {how}, {before} -> {after}")
    }
}

/// All changes, in the order of the recorded list.
pub(super) fn changes(
    recording: &Recording,
    all: &[PartNo],
    left: &Side,
    right: &Side,
) -> Result<Vec<Change>, Failure> {
    let look = Look {
        history: recording.history(),
        source: recording.as_source(),
        tokens: &|bytes| right.policy.estimator.tokens(bytes),
    };
    let mut changes = Vec::new();
    for (position, part) in all.iter().enumerate() {
        let number = position as u64 + 1;
        match (left.message(position), right.message(position)) {
            (None, None) => {}
            (Some(message), None) => {
                changes.push(look.message(number, *part, message, How::Dropped)?);
            }
            (None, Some(message)) => {
                changes.push(look.message(number, *part, message, How::Returned)?);
            }
            (Some(before), Some(after)) => {
                for slot in 0..before.slots.len().max(after.slots.len()) {
                    changes.extend(look.slot(number, *part, slot, before, after)?);
                }
            }
        }
    }
    changes.splice(0..0, look.frames(left, right));
    changes.extend(look.added(left, right));
    Ok(changes)
}

struct Look<'r> {
    history: &'r History,
    source: &'r dyn Source,
    tokens: &'r dyn Fn(u64) -> u64,
}

impl Look<'_> {
    /// Parts around the messages that only one side has.
    fn frames(&self, left: &Side, right: &Side) -> Vec<Change> {
        let mut changes = Vec::new();
        for (of, other, how) in [(left, right, How::Dropped), (right, left, How::Returned)] {
            for part in of.frame.iter().filter(|part| !other.frame.contains(part)) {
                let skeleton = self.history.skeleton(self.history.part(*part));
                let literal = skeleton.literal.len();
                let holes = self.history.part(*part).holes.iter();
                let bytes = literal + holes.map(|hole| hole.escaped_bytes).sum::<u64>();
                let shown = Shown { bytes, tokens: (self.tokens)(bytes), ..Shown::default() };
                let what = skeleton.kind.name();
                changes.push(whole(Some(part.number()), what, how, shown));
            }
        }
        changes
    }

    /// Messages of the policy that only one side has.
    fn added(&self, left: &Side, right: &Side) -> Vec<Change> {
        let mut changes = Vec::new();
        for (of, other, how) in [(left, right, How::Withdrawn), (right, left, How::Added)] {
            for text in of.added.iter().filter(|text| !other.added.contains(text)) {
                let bytes = text.len() as u64;
                let tokens = (self.tokens)(bytes);
                let shown = Shown { text: text.clone(), bytes, tokens, kept: Vec::new() };
                changes.push(whole(None, "message of the policy", how, shown));
            }
        }
        changes
    }

    fn slot(
        &self,
        message: u64,
        part: PartNo,
        slot: usize,
        before: &Message,
        after: &Message,
    ) -> Result<Option<Change>, Failure> {
        let empty = Vec::new();
        let before = before.slots.get(slot).unwrap_or(&empty);
        let after = after.slots.get(slot).unwrap_or(&empty);
        if before == after {
            return Ok(None);
        }
        let left = self.shown(part, slot, before)?;
        let right = self.shown(part, slot, after)?;
        if left.text == right.text {
            return Ok(None);
        }
        let whole = self.recorded_bytes(part, slot);
        let shown: usize = right.kept.iter().map(Range::len).sum();
        let how = match shown {
            0 if whole > 0 => How::Cleared,
            shown if shown == whole => How::Restored,
            _ => How::Capped,
        };
        let hidden = without(&left.kept, &right.kept);
        let info = self.history.part(part);
        let hole = info.holes.get(slot);
        let artifact = hole.and_then(|hole| self.history.text(hole).artifact());
        Ok(Some(Change {
            message: Some(message),
            part: Some(part.number()),
            role: self.role(part),
            slot: Some(slot),
            what: self.kind(part, slot).map_or("text", SlotKind::name),
            tool: hole.and_then(|hole| self.tool(&hole.value)),
            artifact: artifact.map(|artifact| artifact.id().to_string()),
            how,
            left,
            right,
            hidden,
        }))
    }

    /// A message that only one side has.
    fn message(
        &self,
        number: u64,
        part: PartNo,
        message: &Message,
        how: How,
    ) -> Result<Change, Failure> {
        let mut sum = Shown::default();
        let mut kept = 0;
        for (slot, pieces) in message.slots.iter().enumerate() {
            if self.kind(part, slot).is_none_or(is_id) {
                continue;
            }
            let shown = self.shown(part, slot, pieces)?;
            sum.bytes += shown.bytes;
            sum.tokens += shown.tokens;
            kept += shown.kept.iter().map(Range::len).sum::<usize>();
        }
        let tool = self.history.part(part).holes.iter().find_map(|hole| self.tool(&hole.value));
        let (left, right, hidden) = match how {
            How::Dropped => (sum, Shown::default(), Some(0..kept)),
            _ => (Shown::default(), sum, None),
        };
        Ok(Change {
            message: Some(number),
            part: Some(part.number()),
            role: self.role(part),
            slot: None,
            what: "message",
            tool,
            artifact: None,
            how,
            left,
            right,
            hidden: hidden.into_iter().collect(),
        })
    }

    fn shown(&self, part: PartNo, slot: usize, pieces: &[Piece]) -> Result<Shown, Failure> {
        let Some(hole) = self.history.part(part).holes.get(slot) else {
            return Ok(Shown::default());
        };
        let content = self.history.text(hole);
        let recorded = content.read(self.source).map_err(|error| map::get(&error))?;
        let recorded = std::str::from_utf8(&recorded).map_err(|_invalid| {
            let words = format!("part {part} slot {slot}: not utf-8");
            Failure::new(Kind::Damage, words)
        })?;
        let mut shown = Shown::default();
        for piece in pieces {
            match piece {
                Piece::Kept(range) => {
                    shown.text.push_str(recorded.get(range.clone()).unwrap_or_default());
                    shown.kept.push(range.clone());
                }
                Piece::Inserted(text) => shown.text.push_str(text),
            }
        }
        shown.bytes = shown.text.len() as u64;
        shown.tokens = (self.tokens)(hole.escape.escaped_bytes(&shown.text));
        Ok(shown)
    }

    fn recorded_bytes(&self, part: PartNo, slot: usize) -> usize {
        let hole = self.history.part(part).holes.get(slot);
        let length = hole.map_or(0, |hole| self.history.text(hole).len());
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    fn kind(&self, part: PartNo, slot: usize) -> Option<SlotKind> {
        let skeleton = self.history.skeleton(self.history.part(part));
        skeleton.slots.get(slot).map(|def| def.kind)
    }

    fn role(&self, part: PartNo) -> &'static str {
        match self.history.skeleton(self.history.part(part)).role {
            Role::Unknown => "-",
            role => role.name(),
        }
    }

    /// The tool whose output a text is.
    fn tool(&self, value: &HoleValue) -> Option<String> {
        let HoleValue::Output { call, .. } = value else { return None };
        let name = self.history.call_item(*call)?.name.as_ref()?.as_inline()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// Something that only one side has.
fn whole(part: Option<u32>, what: &'static str, how: How, shown: Shown) -> Change {
    let is_left = matches!(how, How::Dropped | How::Withdrawn);
    let (left, right) = if is_left { (shown, Shown::default()) } else { (Shown::default(), shown) };
    Change {
        message: None,
        part,
        role: "-",
        slot: None,
        what,
        tool: None,
        artifact: None,
        how,
        left,
        right,
        hidden: Vec::new(),
    }
}

/// Ids are not text that anybody reads.
fn is_id(kind: SlotKind) -> bool {
    matches!(
        kind,
        SlotKind::CALL_ID
            | SlotKind::RESULT_CALL_ID
            | SlotKind::ITEM_ID
            | SlotKind::TOOL_NAME
            | SlotKind::RESULT_NAME
    )
}

/// What is in `all` and not in `gone`. Both are ascending and without overlaps.
fn without(all: &[Range<usize>], gone: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    for range in all {
        let mut at = range.start;
        for other in gone.iter().filter(|other| other.end > range.start && other.start < range.end)
        {
            if at < other.start {
                left.push(at..other.start);
            }
            at = at.max(other.end);
        }
        if at < range.end {
            left.push(at..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn ranges_are_taken_out_of_ranges() {
        type Pairs<'a> = &'a [(usize, usize)];
        let cases: [(Pairs<'_>, Pairs<'_>, Pairs<'_>); 5] = [
            (&[(0, 10)], &[], &[(0, 10)]),
            (&[(0, 10)], &[(0, 3), (7, 10)], &[(3, 7)]),
            (&[(0, 10)], &[(0, 10)], &[]),
            (&[(0, 4), (6, 10)], &[(2, 8)], &[(0, 2), (8, 10)]),
            (&[(5, 6)], &[(0, 5), (6, 9)], &[(5, 6)]),
        ];
        let ranges = |pairs: Pairs<'_>| pairs.iter().map(|(a, b)| *a..*b).collect::<Vec<_>>();
        for (all, gone, expected) in cases {
            let found = without(&ranges(all), &ranges(gone));
            assert_eq!(found, ranges(expected), "{all:?} without {gone:?}");
        }
    }
}
