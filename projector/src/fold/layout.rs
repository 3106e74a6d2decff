//! Lays a projected request out as segments.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::event::Overlay;
use ledger::history::{History, Request};
use ledger::id::PartNo;
use ledger::render::{Token, tokens};

use super::effect::{Effects, SlotCut};
use super::index::Index;
use super::list::List;
use super::program::Program;
use crate::memo::Piece;
use crate::view::{Segment, View};

/// What is needed to lay a request out.
pub(super) struct Layout<'r, 'h> {
    history: &'h History,
    index: &'r Index,
    program: &'r Program<'h>,
    effects: &'r Effects<'h>,
    segments: Vec<Segment>,
}

impl<'r, 'h> Layout<'r, 'h> {
    pub(super) fn new(
        history: &'h History,
        index: &'r Index,
        program: &'r Program<'h>,
        effects: &'r Effects<'h>,
    ) -> Self {
        Self { history, index, program, effects, segments: Vec::new() }
    }

    /// The view of a request: parts before the messages, messages, parts after. A request that is
    /// refused is laid out as it was recorded.
    pub(super) fn view(
        mut self,
        request: &Request,
        (head, tail): (&[PartNo], &[PartNo]),
        list: &List,
        refused: bool,
    ) -> View {
        let layers = if refused { 0 } else { self.program.layers().len() };
        for part in head {
            self.frame(*part);
        }
        let mut overlays = request.overlays();
        let mut first_mark = 0;
        let mut shown = 0;
        for (position, part) in list.parts(0).enumerate() {
            let count = overlays.iter().take_while(|mark| mark.item as usize == position).count();
            let (marks, rest) = overlays.split_at(count);
            overlays = rest;
            if list.reaches(position, layers) {
                if shown > 0 {
                    self.segments.push(Segment::Separator);
                }
                shown += 1;
                let acting = |unit| list.acting(position, unit).filter(|layer| *layer < layers);
                self.message(part, marks, (first_mark, refused), acting);
            }
            first_mark += count;
        }
        for part in tail {
            self.frame(*part);
        }
        View { segments: self.segments }
    }

    /// A part around the messages: no step touches it.
    fn frame(&mut self, part: PartNo) {
        self.part(part, &[], 0, |layout, slot| layout.slot(part, slot, &[]));
    }

    fn message(
        &mut self,
        number: PartNo,
        marks: &[Overlay],
        (first_mark, refused): (usize, bool),
        acting: impl Fn(usize) -> Option<usize>,
    ) {
        let units = &self.index.part(number).units;
        let cuts = self.effects.known(number).cuts.as_slice();
        let cuts = if refused { &[] } else { cuts };
        self.part(number, marks, first_mark, |layout, slot| {
            let unit =
                units.iter().position(|unit| unit.slots.iter().any(|s| usize::from(*s) == slot));
            let Some((unit, layer)) = unit.and_then(|unit| Some((unit, acting(unit)?))) else {
                return layout.slot(number, slot, cuts);
            };
            // The first text of the result carries the replacement.
            let first = units.get(unit).and_then(|unit| unit.slots.first());
            if first.is_some_and(|first| usize::from(*first) == slot) {
                layout.replacement(number, (unit, slot), layer);
            }
        });
    }

    fn part(
        &mut self,
        number: PartNo,
        marks: &[Overlay],
        first_mark: usize,
        mut slots: impl FnMut(&mut Self, usize),
    ) {
        let skeleton = self.history.skeleton(self.history.part(number));
        let done: Result<(), core::convert::Infallible> = tokens(skeleton, marks, |token| {
            match token {
                Token::Literal(range) => {
                    self.segments.push(Segment::Literal { part: number, range });
                }
                Token::Mark(index) => {
                    self.segments.push(Segment::Mark { index: first_mark + index });
                }
                Token::Slot(slot) => slots(self, slot),
            }
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    fn replacement(&mut self, part: PartNo, (unit, slot): (usize, usize), layer: usize) {
        let Some((step, _)) = self.program.layers().get(layer) else { return };
        let instead = self.effects.known(part).units.get(unit).and_then(|u| u.instead(layer));
        let Some(hole) = self.history.part(part).holes.get(slot) else { return };
        let text = instead.map(|instead| String::from(&*instead.text)).unwrap_or_default();
        self.segments.push(Segment::Inserted { step: *step, text, escape: hole.escape });
    }

    fn slot(&mut self, part: PartNo, slot: usize, cuts: &[SlotCut]) {
        let Some(hole) = self.history.part(part).holes.get(slot) else { return };
        let escape = hole.escape;
        let Some(cut) = cuts.iter().find(|cut| cut.slot == slot) else {
            let length = self.history.text(hole).len();
            let range = 0..usize::try_from(length).unwrap_or(usize::MAX);
            self.segments.push(Segment::Text { part, slot, range, found: false, escape });
            return;
        };
        let unit = self.index.part(part).units.iter();
        let mut unit = unit.filter(|unit| unit.slots.iter().any(|s| usize::from(*s) == slot));
        let caps = &self.program.chain(unit.next().and_then(|unit| unit.tool)).caps;
        let found = cut.found;
        for piece in &cut.capped.pieces {
            self.segments.push(match piece {
                Piece::Kept(range) => {
                    Segment::Text { part, slot, range: range.clone(), found, escape }
                }
                Piece::Inserted(nth, text) => {
                    let step = caps.get(*nth).map_or(0, |(step, _)| *step);
                    Segment::Inserted { step, text: text.clone(), escape }
                }
            });
        }
    }
}
