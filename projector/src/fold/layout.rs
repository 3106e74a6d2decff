//! Lays a projected request out as segments.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::event::Overlay;
use ledger::history::{History, Request};
use ledger::id::PartNo;
use ledger::render::{Token, tokens};

use super::blocks::{Cut, Left};
use super::effect::SlotCut;
use super::frame::FrameCuts;
use super::list::{Ground, List};
use super::program::Program;
use crate::memo::Piece;
use crate::policy::Step;
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

/// What is left of the parts around the messages.
#[derive(Clone, Copy)]
struct FrameView<'f> {
    cuts: &'f FrameCuts,
    refused: bool,
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
        (list, frame): (&List, &FrameCuts),
        refused: bool,
    ) -> View {
        let layers = if refused { 0 } else { self.program.layers().len() };
        let frame = FrameView { cuts: frame, refused };
        for part in head {
            self.frame(*part, frame);
        }
        self.messages(request, list, (0, layers), refused);
        for part in tail {
            self.frame(*part, frame);
        }
        View { segments: self.segments }
    }

    /// What is shown of each part around the messages.
    pub(super) fn frames(
        mut self,
        parts: &[PartNo],
        frame: &FrameCuts,
        refused: bool,
    ) -> Vec<(PartNo, Vec<Segment>)> {
        let frame = FrameView { cuts: frame, refused };
        let shown = parts.iter().map(|part| {
            self.frame(*part, frame);
            (*part, core::mem::take(&mut self.segments))
        });
        shown.collect()
    }

    /// The messages from a position on, and how many stand before them. Before the first one there
    /// is no separator.
    pub(super) fn from(
        mut self,
        request: &Request,
        list: &List,
        from: usize,
        refused: bool,
    ) -> (Vec<Segment>, usize) {
        let layers = if refused { 0 } else { self.program.layers().len() };
        let before = (0..from).filter(|position| list.reaches(*position, layers)).count();
        let added = list.added(layers).filter(|added| added.at < from).count();
        self.messages(request, list, (from, layers), refused);
        (self.segments, before + added)
    }

    fn messages(
        &mut self,
        request: &Request,
        list: &List,
        (from, layers): (usize, usize),
        refused: bool,
    ) {
        let mut overlays = request.overlays();
        let mut first_mark = overlays.iter().take_while(|mark| (mark.item as usize) < from).count();
        overlays = overlays.get(first_mark..).unwrap_or_default();
        let mut shown = 0;
        let mut added = list.added(layers).filter(|added| added.at >= from).peekable();
        let no_cuts = Vec::new();
        for position in from..=list.len() {
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
    fn frame(&mut self, part: PartNo, frame: FrameView<'_>) {
        if frame.refused {
            self.part(part, &[], (0, &[]), |layout, slot| layout.slot(part, slot, &[]));
            return;
        }
        let cuts = frame.cuts.of(part);
        let slots = self.ground.effects.frame_cuts(part);
        self.part(part, &[], (0, cuts), |layout, slot| layout.slot(part, slot, slots));
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

    /// The caps for a text that is no output.
    fn text_caps(&self, part: PartNo, slot: usize) -> &'r [(usize, &'h Step)] {
        let slots = &self.history.skeleton(self.history.part(part)).slots;
        let chain = slots.get(slot).and_then(|def| self.program.texts.of(def.kind));
        chain.map(|chain| chain.caps.as_slice()).unwrap_or_default()
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
        let program = self.program;
        let unit = self.ground.index.part(part).units.iter();
        let mut unit = unit.filter(|unit| unit.slots.iter().any(|s| usize::from(*s) == slot));
        let caps = match unit.next() {
            Some(unit) => program.chain(unit.tool).caps.as_slice(),
            None => self.text_caps(part, slot),
        };
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
