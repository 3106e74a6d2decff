//! One side of a diff: a projected request as messages with the texts in their slots.

use std::ops::Range;

use ledger::history::{History, ListWalker};
use ledger::id::{PartNo, RequestId};
use ledger::wire::PartKind;
use projector::{Policy, Projection, Segment};
use replay::Recording;
use replay::diff::Projected;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::error::{Failure, Kind};

/// A projected request.
pub(super) struct Side {
    pub(super) id: String,
    pub(super) policy: Policy,
    pub(super) projection: Projection,
    pub(super) body: Vec<u8>,
    /// For each message of the recorded list, what is left of it.
    messages: Vec<Option<Message>>,
    /// Parts around the messages.
    pub(super) frame: Vec<PartNo>,
    /// Messages of the policy, as they are written.
    pub(super) added: Vec<String>,
}

/// A message: what fills each of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    part: PartNo,
    pub(super) slots: Vec<Vec<Piece>>,
}

/// A piece of what fills a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A range of the recorded text, in bytes.
    Kept(Range<usize>),
    /// A text of the policy.
    Inserted(String),
}

impl Side {
    /// `all` are the messages of the recorded list.
    pub(super) fn new(
        history: &History,
        id: String,
        policy: Policy,
        done: Projected,
        all: &[PartNo],
    ) -> Result<Self, Failure> {
        let Projected { projection, body } = done;
        let found = messages(history, &projection.view.segments);
        let numbers = |parts: &mut dyn Iterator<Item = PartNo>| -> Vec<u32> {
            parts.map(PartNo::number).collect()
        };
        let recorded = numbers(&mut all.iter().copied());
        let shown = numbers(&mut found.iter().map(|message| message.part));
        let mut messages = vec![None; all.len()];
        let mut placed = 0;
        for op in capture_diff_slices(Algorithm::Myers, &recorded, &shown) {
            let DiffOp::Equal { old_index, new_index, len } = op else { continue };
            for step in 0..len {
                let place = messages.get_mut(old_index + step);
                if let (Some(place), Some(message)) = (place, found.get(new_index + step)) {
                    *place = Some(message.clone());
                    placed += 1;
                }
            }
        }
        if placed != found.len() {
            let words = "a projected message is not one of the recorded ones";
            return Err(Failure::new(Kind::Damage, words));
        }
        let frame = frame(history, &projection.view.segments);
        let added = added(&projection.view.segments);
        Ok(Self { id, policy, projection, body, messages, frame, added })
    }

    /// What is left of the message at a position of the recorded list.
    pub(super) fn message(&self, position: usize) -> Option<&Message> {
        self.messages.get(position)?.as_ref()
    }
}

/// Parts with a meaning that stand around the messages, in order.
fn frame(history: &History, segments: &[Segment]) -> Vec<PartNo> {
    let mut frame = Vec::new();
    for segment in segments {
        let (Segment::Literal { part, .. } | Segment::Text { part, .. }) = segment else {
            continue;
        };
        let kind = history.skeleton(history.part(*part)).kind;
        let counts = !matches!(kind, PartKind::Item | PartKind::Glue);
        if counts && frame.last() != Some(part) {
            frame.push(*part);
        }
    }
    frame
}

/// What the policy adds between messages, one text for each.
fn added(segments: &[Segment]) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = None;
    for segment in segments {
        if let Segment::Added { bytes, .. } = segment {
            let text: &mut String = open.get_or_insert_default();
            text.push_str(&String::from_utf8_lossy(bytes));
        } else if *segment == Segment::Separator {
            all.extend(open.take());
        }
    }
    all.extend(open);
    all
}

/// Cuts segments into messages.
fn messages(history: &History, segments: &[Segment]) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    let mut open = false;
    // Offset in the literal, which tells the slot of an inserted text.
    let mut at = 0;
    for segment in segments {
        let part = match segment {
            Segment::Literal { part, .. } | Segment::Text { part, .. } => Some(*part),
            Segment::Separator => {
                open = false;
                continue;
            }
            Segment::Inserted { .. } | Segment::Added { .. } | Segment::Mark { .. } => None,
        };
        if let Some(part) = part {
            let info = history.part(part);
            if history.skeleton(info).kind != PartKind::Item {
                open = false;
                continue;
            }
            if !open || all.last().is_none_or(|message| message.part != part) {
                all.push(Message { part, slots: vec![Vec::new(); info.holes.len()] });
                open = true;
                at = 0;
            }
        }
        let Some(message) = all.last_mut().filter(|_| open) else { continue };
        let (slot, piece) = match segment {
            Segment::Literal { range, .. } => {
                at = range.end;
                continue;
            }
            Segment::Text { slot, range, .. } => (Some(*slot), Piece::Kept(range.clone())),
            Segment::Inserted { text, .. } => {
                let slots = &history.skeleton(history.part(message.part)).slots;
                let here = slots.iter().position(|slot| slot.offset as usize == at);
                (here, Piece::Inserted(text.clone()))
            }
            Segment::Separator | Segment::Added { .. } | Segment::Mark { .. } => continue,
        };
        if let Some(pieces) = slot.and_then(|slot| message.slots.get_mut(slot)) {
            pieces.push(piece);
        }
    }
    all
}

/// The messages of a request's recorded list.
pub(super) fn items(recording: &Recording, request: RequestId) -> Result<Vec<PartNo>, Failure> {
    let mut walker = ListWalker::new(recording.history());
    let lists = walker.lists(request).map_err(|_base| {
        let words = format!("request {}: its part list cannot be built", request.ordinal());
        Failure::new(Kind::Damage, words)
    })?;
    Ok(lists.items.clone())
}
