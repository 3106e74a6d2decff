//! Lays a projected request out as segments.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::event::Overlay;
use ledger::history::{History, Request};
use ledger::id::PartNo;
use ledger::render::{Token, tokens};
use ledger::wire::SlotKind;

use super::facts::{Facts, Piece};
use super::{Decision, ProjectError};
use crate::policy::{Op, Step};
use crate::view::{Segment, View};

/// The view of a request: parts before the messages, messages, parts after.
pub(super) fn view(
    history: &History,
    steps: &[Step],
    facts: &mut Facts<'_>,
    request: &Request,
    (head, items, tail): (&[PartNo], &[PartNo], &[PartNo]),
    decision: &Decision,
) -> Result<View, ProjectError> {
    let mut layout = Layout { history, steps, segments: Vec::new() };
    for part in head {
        layout.part(facts, *part, &[], 0, |_group| None)?;
    }
    let mut overlays = request.overlays();
    let mut first_mark = 0;
    let mut shown = 0;
    for (position, part) in items.iter().enumerate() {
        let count = overlays.iter().take_while(|mark| mark.item as usize == position).count();
        let (marks, rest) = overlays.split_at(count);
        overlays = rest;
        if !decision.dropped.iter().any(|range| range.contains(&position)) {
            if shown > 0 {
                layout.segments.push(Segment::Separator);
            }
            shown += 1;
            let cleared = |group| decision.cleared.get(&(position, group)).copied();
            layout.part(facts, *part, marks, first_mark, cleared)?;
        }
        first_mark += count;
    }
    for part in tail {
        layout.part(facts, *part, &[], 0, |_group| None)?;
    }
    Ok(View { segments: layout.segments })
}

struct Layout<'r> {
    history: &'r History,
    steps: &'r [Step],
    segments: Vec<Segment>,
}

impl Layout<'_> {
    fn part(
        &mut self,
        facts: &mut Facts<'_>,
        number: PartNo,
        marks: &[Overlay],
        first_mark: usize,
        cleared: impl Fn(u16) -> Option<usize>,
    ) -> Result<(), ProjectError> {
        let part = self.history.part(number);
        let skeleton = self.history.skeleton(part);
        let cuts = facts.get(number)?.cuts.as_slice();
        let mut replaced = None;
        tokens(skeleton, marks, |token| {
            match token {
                Token::Literal(range) => {
                    self.segments.push(Segment::Literal { part: number, range });
                }
                Token::Mark(index) => {
                    self.segments.push(Segment::Mark { index: first_mark + index });
                }
                Token::Slot(slot) => {
                    let Some(def) = skeleton.slots.get(slot) else { return Ok(()) };
                    let output = def.kind == SlotKind::TOOL_OUTPUT;
                    if let Some(step) = cleared(def.group).filter(|_| output) {
                        // The first text of the result carries the replacement.
                        let first = replaced != Some(def.group);
                        replaced = Some(def.group);
                        self.replacement(number, slot, step, first);
                    } else {
                        self.slot(number, slot, cuts);
                    }
                }
            }
            Ok(())
        })
    }

    fn replacement(&mut self, part: PartNo, slot: usize, step: usize, first: bool) {
        let Some(Op::ClearResults(clear)) = self.steps.get(step).map(|step| &step.op) else {
            return;
        };
        let Some(hole) = self.history.part(part).holes.get(slot) else { return };
        if first {
            let text: String = clear.text().into();
            self.segments.push(Segment::Inserted { step, text, escape: hole.escape });
        }
    }

    fn slot(&mut self, part: PartNo, slot: usize, cuts: &[(usize, Vec<Piece>)]) {
        let Some(hole) = self.history.part(part).holes.get(slot) else { return };
        let escape = hole.escape;
        let Some((_, pieces)) = cuts.iter().find(|(cut, _)| *cut == slot) else {
            let length = self.history.text(hole).len();
            let end = usize::try_from(length).unwrap_or(usize::MAX);
            self.segments.push(Segment::Text { part, slot, range: 0..end, escape });
            return;
        };
        for piece in pieces {
            self.segments.push(match piece {
                Piece::Kept(range) => Segment::Text { part, slot, range: range.clone(), escape },
                Piece::Marker(step, text) => {
                    Segment::Inserted { step: *step, text: text.clone(), escape }
                }
            });
        }
    }
}
