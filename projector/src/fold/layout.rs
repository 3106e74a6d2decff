//! Lays a projected request out as segments.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::event::Overlay;
use ledger::history::{History, Request};
use ledger::id::PartNo;
use ledger::render::{Token, tokens};

use super::blocks::{Cut, Left};
use super::effect::SlotCut;
use super::list::{Ground, List};
use super::program::Program;
use crate::memo::Piece;
use crate::view::{Segment, View};

/// A message on its way into the view.
struct Message<'l> {
    list: &'l List,
    position: usize,
    /// The layers before this one have acted.
    layers: usize,
    refused: bool,
    cuts: &'l [Cut],
}

/// What is needed to lay a request out.
pub(super) struct Layout<'r, 'h> {
    history: &'h History,
    program: &'r Program<'h>,
    ground: Ground<'r, 'h>,
    segments: Vec<Segment>,
}

impl<'r, 'h> Layout<'r, 'h> {
    pub(super) fn new(
        history: &'h History,
        program: &'r Program<'h>,
        ground: Ground<'r, 'h>,
    ) -> Self {
        Self { history, program, ground, segments: Vec::new() }
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
        let mut added = list.added(layers).peekable();
        let no_cuts = Vec::new();
        for position in 0..=list.len() {
            while let Some(added) = added.next_if(|added| added.at <= position) {
                self.separate(&mut shown);
                self.added(added.layer, &added.bytes);
            }
            let Some((part, _)) = list.at(position) else { continue };
            let count = overlays.iter().take_while(|mark| mark.item as usize == position).count();
            let (marks, rest) = overlays.split_at(count);
            overlays = rest;
            if list.reaches(position, layers) {
                self.separate(&mut shown);
                let left = list.left(self.ground, layers, position);
                let cuts = match &left {
                    Some(Left::Without(cuts) | Left::Empty(cuts)) => cuts,
                    Some(Left::Nothing) | None => &no_cuts,
                };
                let message = Message { list, position, layers, refused, cuts };
                self.message(part, marks, first_mark, &message);
            }
            first_mark += count;
        }
        for part in tail {
            self.frame(*part);
        }
        View { segments: self.segments }
    }

    fn separate(&mut self, shown: &mut usize) {
        if *shown > 0 {
            self.segments.push(Segment::Separator);
        }
        *shown += 1;
    }

    /// Bytes that a layer has put there.
    fn added(&mut self, layer: usize, bytes: &[u8]) {
        let step = self.program.layers().get(layer).map_or(0, |(step, _)| *step);
        self.segments.push(Segment::Added { step, bytes: bytes.into() });
    }

    /// A part around the messages.
    fn frame(&mut self, part: PartNo) {
        self.part(part, &[], (0, &[]), |layout, slot| layout.slot(part, slot, &[]));
    }

    fn message(
        &mut self,
        number: PartNo,
        marks: &[Overlay],
        first_mark: usize,
        message: &Message<'_>,
    ) {
        let units = &self.ground.index.part(number).units;
        let cuts = self.ground.effects.known(number).cuts.as_slice();
        let cuts = if message.refused { &[] } else { cuts };
        self.part(number, marks, (first_mark, message.cuts), |layout, slot| {
            let unit =
                units.iter().position(|unit| unit.slots.iter().any(|s| usize::from(*s) == slot));
            let acting = |unit| {
                let layer = message.list.acting(message.position, unit);
                layer.filter(|layer| *layer < message.layers)
            };
            let Some((unit, layer)) = unit.and_then(|unit| Some((unit, acting(unit)?))) else {
                return layout.slot(number, slot, cuts);
            };
            // The first text of the result carries the replacement.
            let first = units.get(unit).and_then(|unit| unit.slots.first());
            if first.is_some_and(|first| usize::from(*first) == slot) {
                layout.replacement(number, slot, (message, unit, layer));
            }
        });
    }

    fn part(
        &mut self,
        number: PartNo,
        marks: &[Overlay],
        (first_mark, cuts): (usize, &[Cut]),
        mut slots: impl FnMut(&mut Self, usize),
    ) {
        let skeleton = self.history.skeleton(self.history.part(number));
        let mut cuts = cuts.iter().peekable();
        let done: Result<(), core::convert::Infallible> = tokens(skeleton, marks, |token| {
            let at = match token {
                Token::Literal(range) => {
                    self.literal(number, range, &mut cuts);
                    return Ok(());
                }
                Token::Mark(index) => marks.get(index).map_or(0, |mark| mark.offset),
                Token::Slot(slot) => skeleton.slots.get(slot).map_or(0, |slot| slot.offset),
            };
            // A literal that ends inside a cut leaves the cut as the next one.
            if cuts.peek().is_some_and(|cut| cut.hides(at as usize)) {
                return Ok(());
            }
            match token {
                Token::Mark(index) => {
                    self.segments.push(Segment::Mark { index: first_mark + index });
                }
                Token::Slot(slot) => slots(self, slot),
                Token::Literal(_) => {}
            }
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// A stretch of the literal, without what is cut.
    fn literal<'c>(
        &mut self,
        part: PartNo,
        range: core::ops::Range<usize>,
        cuts: &mut core::iter::Peekable<impl Iterator<Item = &'c Cut>>,
    ) {
        let mut at = range.start;
        while let Some(cut) = cuts.peek().copied().filter(|cut| cut.range.start < range.end) {
            if at < cut.range.start {
                let range = at..cut.range.start;
                self.segments.push(Segment::Literal { part, range });
            }
            // What stands in its place comes where it begins.
            if let Some((layer, bytes)) = cut.instead.as_ref().filter(|_| cut.range.start >= at) {
                self.added(*layer, bytes);
            }
            at = at.max(cut.range.end.min(range.end));
            if cut.range.end > range.end {
                return;
            }
            let behind = cut.range.end == range.end;
            if behind {
                // A slot may stand at its very end.
                return;
            }
            cuts.next();
        }
        if at < range.end {
            self.segments.push(Segment::Literal { part, range: at..range.end });
        }
    }

    fn replacement(
        &mut self,
        part: PartNo,
        slot: usize,
        (message, unit, layer): (&Message<'_>, usize, usize),
    ) {
        let Some((step, _)) = self.program.layers().get(layer) else { return };
        let instead = message.list.instead(self.ground, (message.position, unit), layer);
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
        let unit = self.ground.index.part(part).units.iter();
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
