//! A conversation's prompts as blocks, each made of what is new in it.
//!
//! Views of one conversation differ in their ends. Messages whose segments are those of the view
//! before keep their blocks and sums, so that a request costs what changed in it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::Source;
use ledger::history::{History, Request};
use ledger::id::PartNo;
use ledger::wire::{Escape, PartKind};

use super::cache::{Block, Said, Section};
use super::notice::{self, Notices};
use super::outline::{Outline, PartOutline, TextNo, Voice, is_long};
use super::scale::Scale;
use crate::fold::ProjectError;
use crate::view::{Segment, View, text_of};

/// What stands where in a prompt, in bytes as written.
pub type Voices = [u64; Voice::COUNT];

/// A range of an output that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: TextNo,
    pub(crate) tool: u32,
    pub(crate) range: Range<usize>,
}

/// A message.
#[derive(Clone, Debug)]
struct Message {
    /// The recorded message; `None` for one of the policy.
    part: Option<PartNo>,
    /// Its segments among those of all messages.
    segments: Range<usize>,
    /// Blocks behind it.
    blocks: usize,
    shown: Vec<Shown>,
    voices: Voices,
    notices: Notices,
}

/// A part around the messages, and what of it is shown.
pub(crate) type Framed = (PartNo, Vec<Segment>);

/// What changed with a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// Leading blocks that are those of the request before.
    pub(crate) kept: usize,
    /// Bytes of the common beginning with the request before.
    pub(crate) common_bytes: u64,
    /// Bytes of the request before.
    pub(crate) before_bytes: u64,
    /// Ranges of outputs that are no longer shown.
    pub(crate) gone: Vec<Shown>,
    /// Ranges that are shown now.
    pub(crate) come: Vec<Shown>,
}

/// Where texts come from.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'t> {
    pub(crate) history: &'t History,
    pub(crate) source: &'t dyn Source,
    pub(crate) outline: &'t Outline,
}

/// What was worked out of texts, under one policy.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    escaped: BTreeMap<(PartNo, usize, bool, usize, usize), u64>,
}

/// A conversation under a policy.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    frame: Vec<Framed>,
    frame_blocks: usize,
    frame_voices: Voices,
    items: Vec<Segment>,
    messages: Vec<Message>,
    blocks: Vec<Block>,
    /// Bytes up to the end of each block.
    ends: Vec<u64>,
    voices: Voices,
    notices: Notices,
}

impl Prompt {
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Bytes of the prompt.
    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Bytes of the first blocks.
    pub(crate) fn bytes_to(&self, blocks: usize) -> u64 {
        blocks.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0)
    }

    pub(crate) fn voices(&self) -> &Voices {
        &self.voices
    }

    pub(crate) fn notices(&self) -> Notices {
        self.notices
    }

    /// True when a part is among the messages.
    pub(crate) fn has(&self, part: PartNo) -> bool {
        self.messages.iter().rev().any(|message| message.part == Some(part))
    }

    /// Goes on to the next request of the conversation: keeps so many leading messages, and takes
    /// up those behind them.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub(crate) fn step(
        &mut self,
        texts: Texts<'_>,
        scale: Scale,
        sizes: &mut Sizes,
        request: &Request,
        next: Next,
    ) -> Result<Step, ProjectError> {
        let Next { frame, mut stay, mut items } = next;
        let mut step = Step { before_bytes: self.bytes(), ..Step::default() };
        let same_frame = frame == self.frame;
        if !same_frame {
            // What stands before the messages is another, so that all of them are read anew.
            items = self.all_items(stay, items);
            stay = 0;
        }
        let (old_items, kept, stay) = self.take_up(stay, items, same_frame);
        let blocks_stay = match stay.checked_sub(1).and_then(|at| self.messages.get(at)) {
            Some(message) => message.blocks,
            None if same_frame => self.frame_blocks,
            None => 0,
        };
        let old_blocks = self.blocks.split_off(blocks_stay.min(self.blocks.len()));
        self.ends.truncate(blocks_stay);
        self.forget(stay, &mut step);
        let mut old_frame = None;
        if !same_frame {
            for (sum, part) in self.voices.iter_mut().zip(&self.frame_voices) {
                *sum -= part;
            }
            self.frame_voices = Voices::default();
            old_frame = Some(core::mem::replace(&mut self.frame, frame));
            self.add_frame(texts, scale, sizes, request)?;
        }
        let from = stay.checked_sub(1).and_then(|at| self.messages.get(at)).map(|m| m.segments.end);
        let from = from.map_or(0, |end| (end + 1).min(self.items.len()));
        self.add_messages(texts, scale, sizes, request, from, &mut step)?;
        let new_blocks = self.blocks.iter().skip(blocks_stay);
        let same =
            |(new, old): &(&Block, &Block)| new.hash == old.hash && new.section == old.section;
        step.kept = blocks_stay + new_blocks.zip(&old_blocks).take_while(same).count();
        let common = self.bytes_to(step.kept);
        let frames = match &old_frame {
            Some(old_frame) => self.frames_in_common(texts, old_frame)?,
            None => None,
        };
        let partial = if let Some(frames) = frames {
            // What differs before the messages makes all of them different.
            frames.saturating_sub(common)
        } else if step.kept < self.blocks.len().min(blocks_stay + old_blocks.len()) {
            let before = self.bytes_to(blocks_stay.max(self.frame_blocks));
            let new = self.items.get(from..).unwrap_or_default();
            let old = old_items.get(from.saturating_sub(kept)..).unwrap_or_default();
            (before + super::bytes::common(texts, old, new)?).saturating_sub(common)
        } else {
            0
        };
        step.common_bytes = common + partial;
        Ok(step)
    }

    /// Takes the messages behind the first ones away.
    fn forget(&mut self, stay: usize, step: &mut Step) {
        for message in self.messages.drain(stay..) {
            for (sum, part) in self.voices.iter_mut().zip(&message.voices) {
                *sum -= part;
            }
            self.notices.take_away(&message.notices);
            step.gone.extend(message.shown);
        }
    }

    /// Where the segments of the first messages end.
    fn end_of(&self, messages: usize) -> usize {
        let last = messages.min(self.messages.len()).checked_sub(1);
        last.and_then(|at| self.messages.get(at)).map_or(0, |message| message.segments.end)
    }

    /// The segments of the first messages, and those behind them.
    fn all_items(&self, stay: usize, items: Vec<Segment>) -> Vec<Segment> {
        let mut all = self.items.get(..self.end_of(stay)).unwrap_or_default().to_vec();
        if !all.is_empty() && !items.is_empty() {
            all.push(Segment::Separator);
        }
        all.extend(items);
        all
    }

    /// Puts segments behind the messages that stay. Gives back what stood there, how many segments
    /// stand before it, and how many messages are the same: those, and all that follow and have the
    /// same segments.
    fn take_up(
        &mut self,
        stay: usize,
        items: Vec<Segment>,
        same_frame: bool,
    ) -> (Vec<Segment>, usize, usize) {
        let kept = self.end_of(stay);
        let mut stay = stay.min(self.messages.len());
        let old = self.items.split_off(kept.min(self.items.len()));
        if stay > 0 && !items.is_empty() {
            self.items.push(Segment::Separator);
        }
        self.items.extend(items);
        if !same_frame {
            return (old, kept, 0);
        }
        let new = self.items.get(kept..).unwrap_or_default();
        let same = kept + common(&old, new);
        // Whole messages only.
        let ends = |end: usize| self.items.get(end).is_none_or(|it| *it == Segment::Separator);
        let more = self.messages.iter().skip(stay).take_while(|m| m.segments.end <= same);
        let whole = more.enumerate().filter(|(_, message)| ends(message.segments.end)).last();
        stay += whole.map_or(0, |(at, _)| at + 1);
        (old, kept, stay)
    }

    /// Bytes that the parts around the messages have in common with earlier ones; `None` where
    /// they are the same bytes.
    fn frames_in_common(
        &self,
        texts: Texts<'_>,
        old: &[Framed],
    ) -> Result<Option<u64>, ProjectError> {
        let written = |frame: &[Framed]| {
            let mut bytes = Vec::new();
            for (_part, segments) in in_order(texts.outline, frame) {
                let view = View { segments: segments.clone() };
                view.write(texts.history, texts.source, b"", &[], &mut bytes)?;
            }
            Ok::<_, ProjectError>(bytes)
        };
        let (old, new) = (written(old)?, written(&self.frame)?);
        if old == new {
            return Ok(None);
        }
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        Ok(Some(same as u64))
    }

    fn add_frame(
        &mut self,
        texts: Texts<'_>,
        scale: Scale,
        sizes: &mut Sizes,
        request: &Request,
    ) -> Result<(), ProjectError> {
        let frame = core::mem::take(&mut self.frame);
        for (number, segments) in in_order(texts.outline, &frame) {
            let outline = texts.outline.part(*number);
            let mut build = Build::new(outline);
            build.message(texts, sizes, request, *number, segments)?;
            let own = match outline.kind {
                PartKind::Tools => Some(Voice::Tools),
                PartKind::System => Some(Voice::System),
                _ => None,
            };
            let mut voices = build.voices;
            if let Some(own) = own {
                let all = voices.iter().sum();
                voices = Voices::default();
                if let Some(place) = voices.get_mut(own.index()) {
                    *place = all;
                }
            }
            self.push(build, section(outline.kind), scale);
            for ((sum, all), part) in
                self.frame_voices.iter_mut().zip(&mut self.voices).zip(&voices)
            {
                *sum += part;
                *all += part;
            }
        }
        self.frame = frame;
        self.frame_blocks = self.blocks.len();
        Ok(())
    }

    fn add_messages(
        &mut self,
        texts: Texts<'_>,
        scale: Scale,
        sizes: &mut Sizes,
        request: &Request,
        mut from: usize,
        step: &mut Step,
    ) -> Result<(), ProjectError> {
        let items = core::mem::take(&mut self.items);
        while from < items.len() {
            let rest = items.get(from..).unwrap_or_default();
            let length = rest.iter().take_while(|segment| **segment != Segment::Separator).count();
            let segments = rest.get(..length).unwrap_or_default();
            let part = segments.iter().find_map(part_of);
            if part.is_none() {
                self.add_added(segments, from..from + length, scale);
            }
            if let Some(part) = part {
                let outline = texts.outline.part(part);
                let mut build = Build::new(outline);
                let shown = build.message(texts, sizes, request, part, segments)?;
                let notices = notices(texts, part, segments)?;
                let voices = build.voices;
                self.notices.add(&notices);
                self.push(build, Section::Messages, scale);
                for (sum, part) in self.voices.iter_mut().zip(&voices) {
                    *sum += part;
                }
                step.come.extend(shown.iter().cloned());
                self.messages.push(Message {
                    part: Some(part),
                    segments: from..from + length,
                    blocks: self.blocks.len(),
                    shown,
                    voices,
                    notices,
                });
            }
            from += length + 1;
        }
        self.items = items;
        Ok(())
    }

    /// A message of the policy.
    fn add_added(&mut self, segments: &[Segment], place: Range<usize>, scale: Scale) {
        let added = segments.iter().filter_map(|segment| match segment {
            Segment::Added { bytes, .. } => Some(bytes.as_slice()),
            _ => None,
        });
        let (hash, length) = added
            .flatten()
            .fold((0xcbf2_9ce4_8422_2325, 0), |(hash, n), byte| (hash_with(hash, *byte), n + 1));
        let before = self.bytes();
        let after = before.saturating_add(length);
        // What says nothing is no block, and a message all the same.
        let block = (length > 0).then_some(Block {
            hash,
            tokens: scale.tokens(after) - scale.tokens(before),
            section: Section::Messages,
            said: Said::Input,
            mark: None,
            ends_message: true,
        });
        self.ends.extend(block.map(|_| after));
        self.blocks.extend(block);
        let mut voices = Voices::default();
        if let Some(sum) = voices.get_mut(Voice::Markers.index()) {
            *sum = length;
        }
        for (sum, part) in self.voices.iter_mut().zip(&voices) {
            *sum += part;
        }
        let blocks = self.blocks.len();
        let message = Message {
            part: None,
            segments: place,
            blocks,
            shown: Vec::new(),
            voices,
            notices: Notices::default(),
        };
        self.messages.push(message);
    }

    fn push(&mut self, build: Build<'_>, section: Section, scale: Scale) {
        let last = build.blocks.len().saturating_sub(1);
        for (nth, block) in build.blocks.into_iter().enumerate() {
            let before = self.bytes();
            let after = before.saturating_add(block.bytes);
            self.blocks.push(Block {
                hash: block.hash,
                tokens: scale.tokens(after) - scale.tokens(before),
                section,
                said: block.said,
                mark: block.mark,
                ends_message: section == Section::Messages && nth == last,
            });
            self.ends.push(after);
        }
    }
}

/// The bytes of a prompt in the order of the provider: tools, system, messages; without marks,
/// options and what stands between messages.
///
/// # Errors
/// A text is missing or damaged.
pub fn prompt_bytes(
    history: &History,
    source: &dyn Source,
    view: &View,
) -> Result<Vec<u8>, ProjectError> {
    let mut parts: BTreeMap<(Section, bool), Vec<Segment>> = BTreeMap::new();
    for segment in &view.segments {
        let kind = part_of(segment).map(|part| history.skeleton(history.part(part)).kind);
        let place = match kind {
            _ if matches!(segment, Segment::Separator | Segment::Mark { .. }) => continue,
            Some(PartKind::Options | PartKind::Glue) => continue,
            Some(kind @ (PartKind::Tools | PartKind::System)) => (section(kind), false),
            Some(PartKind::Verbatim) => (Section::Messages, false),
            Some(PartKind::Item) | None => (Section::Messages, true),
        };
        parts.entry(place).or_default().push(segment.clone());
    }
    let mut out = Vec::new();
    for segments in parts.into_values() {
        View { segments }.write(history, source, b"", &[], &mut out)?;
    }
    Ok(out)
}

/// A request, as far as it differs from the one before.
#[derive(Debug)]
pub(crate) struct Next {
    /// Parts around the messages, in the order of the body.
    pub(crate) frame: Vec<Framed>,
    /// Leading messages that are those of the request before.
    pub(crate) stay: usize,
    /// The messages behind them.
    pub(crate) items: Vec<Segment>,
}

impl Next {
    /// All of a view.
    pub(crate) fn whole(outline: &Outline, view: View) -> Self {
        let (frame, items) = split(outline, view);
        Self { frame, stay: 0, items }
    }

    /// What a projector says has changed.
    pub(crate) fn changed(
        outline: &Outline,
        mut frame: Vec<Framed>,
        stay: usize,
        items: Vec<Segment>,
    ) -> Self {
        frame.retain(|(part, _)| counts(outline.part(*part).kind));
        Self { frame, stay, items }
    }
}

/// True for parts around the messages that a provider counts.
fn counts(kind: PartKind) -> bool {
    matches!(kind, PartKind::Tools | PartKind::System | PartKind::Verbatim)
}

/// Parts in the order of the provider, whatever the order of the body.
fn in_order<'f>(outline: &Outline, frame: &'f [Framed]) -> Vec<&'f Framed> {
    let mut parts: Vec<_> = frame.iter().collect();
    parts.sort_by_key(|(part, _)| section(outline.part(*part).kind));
    parts
}

/// The parts around the messages in the order of the body, and the segments of the messages.
fn split(outline: &Outline, view: View) -> (Vec<Framed>, Vec<Segment>) {
    let mut frame: Vec<Framed> = Vec::new();
    let mut items = Vec::with_capacity(view.segments.len());
    // Where a segment that names no part belongs.
    let (mut in_items, mut in_frame) = (false, false);
    for segment in view.segments {
        let Some(part) = part_of(&segment) else {
            if in_frame && matches!(segment, Segment::Inserted { .. }) {
                frame.last_mut().into_iter().for_each(|(_, shown)| shown.push(segment.clone()));
                continue;
            }
            // Marks, separators and texts of the policy stand among messages.
            in_items |= matches!(segment, Segment::Added { .. });
            if in_items || !matches!(segment, Segment::Separator) {
                items.push(segment);
            }
            continue;
        };
        let kind = outline.part(part).kind;
        in_frame = counts(kind);
        if kind == PartKind::Item {
            in_items = true;
            items.push(segment);
        } else if in_frame {
            match frame.last_mut().filter(|(last, _)| *last == part) {
                Some((_, shown)) => shown.push(segment),
                None => frame.push((part, [segment].into())),
            }
        }
    }
    (frame, items)
}

fn section(kind: PartKind) -> Section {
    match kind {
        PartKind::Tools => Section::Tools,
        PartKind::System => Section::System,
        _ => Section::Messages,
    }
}

/// The part that a segment is of.
pub(crate) fn part_of(segment: &Segment) -> Option<PartNo> {
    match segment {
        Segment::Literal { part, .. } | Segment::Text { part, .. } => Some(*part),
        _ => None,
    }
}

/// How many segments two lists begin with in common.
fn common(left: &[Segment], right: &[Segment]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// A hash with one more byte.
fn hash_with(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
}

/// A block that is being put together.
#[derive(Clone, Copy, Debug)]
struct Draft {
    hash: u64,
    bytes: u64,
    said: Said,
    mark: Option<u8>,
}

/// The blocks of a part.
struct Build<'o> {
    outline: &'o PartOutline,
    blocks: Vec<Draft>,
    voices: Voices,
}

impl<'o> Build<'o> {
    fn new(outline: &'o PartOutline) -> Self {
        let blocks = outline.said.iter().map(|said| Draft {
            hash: 0xcbf2_9ce4_8422_2325,
            bytes: 0,
            said: *said,
            mark: None,
        });
        Self { outline, blocks: blocks.collect(), voices: Voices::default() }
    }

    fn voice(&mut self, voice: Voice, bytes: u64) {
        if let Some(sum) = self.voices.get_mut(voice.index()) {
            *sum += bytes;
        }
    }

    fn mark(&mut self, block: usize, long: bool) {
        if let Some(block) = self.blocks.get_mut(block) {
            block.mark = Some(u8::from(long));
        }
    }

    /// Bytes of the literal, given to the blocks that they stand in.
    fn literal(&mut self, bytes: &[u8], range: Range<usize>) {
        self.voice(Voice::Framing, range.len() as u64);
        let mut at = range.start;
        while at < range.end {
            let block = self.outline.block_at(at);
            let end = self.outline.ends.get(block).copied().unwrap_or(range.end).min(range.end);
            let end = end.max(at + 1);
            if let Some(draft) = self.blocks.get_mut(block) {
                for byte in bytes.get(at..end).unwrap_or_default() {
                    draft.hash = (draft.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
                }
                draft.bytes += (end - at) as u64;
            }
            at = end;
        }
    }

    /// A text at an offset of the literal.
    fn text(&mut self, offset: usize, voice: Voice, ident: u64, escaped_bytes: u64) {
        self.voice(voice, escaped_bytes);
        let block = self.outline.block_at(offset);
        if let Some(draft) = self.blocks.get_mut(block) {
            draft.hash = (draft.hash ^ ident).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
            draft.bytes += escaped_bytes;
        }
    }

    fn message(
        &mut self,
        texts: Texts<'_>,
        sizes: &mut Sizes,
        request: &Request,
        part: PartNo,
        segments: &[Segment],
    ) -> Result<Vec<Shown>, ProjectError> {
        let skeleton = texts.history.skeleton(texts.history.part(part));
        let literal = skeleton.literal.read(texts.source)?;
        let mut shown = Vec::new();
        for mark in self.outline.marks.clone() {
            self.mark(mark.block, mark.long);
        }
        // A text of the policy stands where the text before it would.
        let mut offset = 0;
        for segment in segments {
            match segment {
                Segment::Literal { range, .. } => {
                    self.literal(&literal, range.clone());
                    offset = range.end;
                }
                Segment::Text { slot, range, found, escape, .. } => {
                    let Some(known) = self.outline.slots.get(*slot) else { continue };
                    let copy = known.found.filter(|_| *found);
                    let (of, length) = match copy {
                        Some(copy) => (copy.ident, copy.bytes),
                        None => (known.ident, known.bytes),
                    };
                    let whole = range.start == 0 && range.end as u64 == length;
                    let bytes = if whole && copy.is_none() {
                        known.escaped_bytes
                    } else {
                        sizes.escaped(texts, (part, *slot, *found), range, *escape)?
                    };
                    let ends = (range.start as u64).rotate_left(32) ^ range.end as u64;
                    let cut = if whole { 0 } else { ends.wrapping_mul(0x94d0_49bb_1331_11eb) };
                    self.text(offset, known.voice, of ^ cut, bytes);
                    if let Some((sent, tool)) = known.output {
                        let text = copy.map_or(sent, |copy| copy.text);
                        shown.push(Shown { text, tool, range: range.clone() });
                    }
                }
                Segment::Inserted { text, escape, .. } => {
                    let hash = text.bytes().fold(0x8422_2325, |hash: u64, byte| {
                        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                    });
                    self.text(offset, Voice::Markers, hash, escape.escaped_bytes(text));
                }
                Segment::Added { bytes, .. } => {
                    let hash = bytes.iter().fold(0x8422_2325, |hash, byte| hash_with(hash, *byte));
                    self.text(offset, Voice::Markers, hash, bytes.len() as u64);
                }
                Segment::Mark { index } => {
                    let Some(mark) = request.overlays().get(*index) else { continue };
                    let long = mark.bytes.read(texts.source).is_ok_and(|bytes| is_long(&bytes));
                    self.mark(self.outline.block_at(mark.offset as usize), long);
                }
                Segment::Separator => {}
            }
        }
        Ok(shown)
    }
}

/// What is left of an output, and what the policy says of the rest.
#[derive(Debug, Default)]
struct Left<'s> {
    shown: Vec<Range<usize>>,
    found: bool,
    notice: Vec<&'s str>,
}

/// What a message of the record says of what is left out of its outputs.
fn notices(texts: Texts<'_>, part: PartNo, segments: &[Segment]) -> Result<Notices, ProjectError> {
    let mut notices = Notices::default();
    // What the policy has left alone is the common case, and has no text of the policy.
    let outline = texts.outline.part(part);
    if !outline.slots.iter().any(|slot| slot.output.is_some()) {
        return Ok(notices);
    }
    let slots = &texts.history.skeleton(texts.history.part(part)).slots;
    let mut left: BTreeMap<usize, Left<'_>> = BTreeMap::new();
    let mut offset = 0;
    for segment in segments {
        match segment {
            Segment::Literal { range, .. } => offset = range.end,
            Segment::Text { slot, range, found, .. } => {
                let left = left.entry(*slot).or_default();
                left.shown.push(range.clone());
                left.found |= *found;
            }
            Segment::Inserted { text, .. } => {
                let slot = slots.iter().position(|slot| slot.offset as usize == offset);
                if let Some(slot) = slot {
                    left.entry(slot).or_default().notice.push(text);
                }
            }
            _ => {}
        }
    }
    for (slot, known) in outline.slots.iter().enumerate().filter(|(_, it)| it.output.is_some()) {
        let Some(left) = left.get(&slot) else { continue };
        let length = known.found.filter(|_| left.found).map_or(known.bytes, |copy| copy.bytes);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let hidden = notice::complement(&left.shown, length);
        if hidden.is_empty() {
            continue;
        }
        if left.notice.iter().all(|text| text.is_empty()) {
            notices.silent += 1;
            notices.silent_bytes += hidden.iter().map(|range| range.len() as u64).sum::<u64>();
            continue;
        }
        notices.all += 1;
        let Some((amount, unit)) = notice::stated(&left.notice.concat()) else { continue };
        notices.stated += 1;
        let not_text = ProjectError::NotText { part: part.number(), slot };
        let text = text_of(texts.history, (part, slot), left.found).ok_or(not_text.clone())?;
        let bytes = text.read(texts.source)?;
        let text = core::str::from_utf8(&bytes).ok().ok_or(not_text)?;
        let off = notice::off(text, &hidden, amount, unit);
        notices.wrong += u64::from(off > 0);
        match unit {
            notice::Unit::Bytes => notices.off_bytes += off,
            notice::Unit::Characters => notices.off_characters += off,
            notice::Unit::Lines => notices.off_lines += off,
        }
    }
    Ok(notices)
}

impl Sizes {
    /// Length of a range of a text as written, worked out once.
    fn escaped(
        &mut self,
        texts: Texts<'_>,
        (part, slot, found): (PartNo, usize, bool),
        range: &Range<usize>,
        escape: Escape,
    ) -> Result<u64, ProjectError> {
        let key = (part, slot, found, range.start, range.end);
        if let Some(bytes) = self.escaped.get(&key) {
            return Ok(*bytes);
        }
        let not_text = ProjectError::NotText { part: part.number(), slot };
        let text = text_of(texts.history, (part, slot), found).ok_or(not_text.clone())?;
        let bytes = text.read(texts.source)?;
        let text = core::str::from_utf8(&bytes).ok().and_then(|text| text.get(range.clone()));
        let bytes = escape.escaped_bytes(text.ok_or(not_text)?);
        self.escaped.insert(key, bytes);
        Ok(bytes)
    }
}
