//! The run's parts: which ones are known, and how a new one is cut, redacted and defined.

use std::collections::HashMap;
use std::sync::Arc;

use artifacts::redact::Redactor;
use sha2::{Digest as _, Sha256};

use super::clean::{self, Cleaned, Edit};
use super::{RecordError, link};
use crate::content::Content;
use crate::event::{Hole, HoleValue, PartDef, Skeleton, SkeletonUse, SlotDef};
use crate::fs::RunWriter;
use crate::id::{PartNo, SkeletonNo};
use crate::wire::overlay::Mark;
use crate::wire::template::{self, Slot, Template};
use crate::wire::{Dialect, Escape, PartKind};

/// Names the raw bytes of a part in memory: the first half of their SHA-256. Never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawKey([u8; 16]);

impl RawKey {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The key of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_digest(&Sha256::digest(bytes).into())
    }

    /// The key of the bytes with this SHA-256.
    pub(super) fn of_digest(digest: &[u8; 32]) -> Self {
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(key)
    }
}

/// What is remembered of a part.
#[derive(Debug)]
pub(super) struct PartInfo {
    pub(super) kind: PartKind,
    /// SHA-256 of the redacted bytes.
    pub(super) digest: [u8; 32],
    pub(super) redactions: u32,
    /// Something of it was kept back.
    pub(super) withheld: bool,
    /// The redacted bytes, kept only when redaction changed them.
    pub(super) redacted: Option<Arc<[u8]>>,
    /// What each pass of redaction moved, to place overlays.
    edits: Box<[Vec<Edit>]>,
    /// Slots (start, end) in the redacted bytes, to place overlays in the literal.
    slots: Box<[(u32, u32)]>,
}

impl PartInfo {
    /// Marks with their offsets moved from the raw part to the redacted one.
    pub(super) fn clean_marks(&self, marks: &[Mark]) -> Vec<Mark> {
        let moved =
            |mark: &Mark| Mark { offset: self.moved(mark.offset), bytes: mark.bytes.clone() };
        marks.iter().map(moved).collect()
    }

    /// Where a place in the raw part stands in the redacted one.
    fn moved(&self, raw: usize) -> usize {
        self.edits.iter().fold(raw, |at, pass| clean::moved(pass, at))
    }

    /// Offset in the literal of a place in the raw part.
    pub(super) fn literal_offset(&self, raw: usize) -> u32 {
        let offset = u32::try_from(self.moved(raw)).unwrap_or(u32::MAX);
        let mut gone = 0;
        for (start, end) in &self.slots {
            if *start >= offset {
                break;
            }
            gone += end.min(&offset) - start;
        }
        offset - gone
    }
}

/// A new part, cut and redacted, before its slots have a cause.
pub(super) struct NewPart<'a> {
    pub(super) clean: Cleaned<'a>,
    pub(super) kind: PartKind,
}

/// Known parts and skeletons of a run.
#[derive(Debug, Default)]
pub(super) struct PartTable {
    known: HashMap<(PartKind, RawKey), PartNo>,
    infos: Vec<PartInfo>,
    skeletons: HashMap<[u8; 32], SkeletonNo>,
}

impl PartTable {
    pub(super) fn find(&self, kind: PartKind, key: RawKey) -> Option<PartNo> {
        self.known.get(&(kind, key)).copied()
    }

    pub(super) fn info(&self, part: PartNo) -> Option<&PartInfo> {
        self.infos.get(part.index())
    }

    /// Gives the part the next number.
    pub(super) fn add(&mut self, key: RawKey, info: PartInfo) -> Result<PartNo, RecordError> {
        let number = u32::try_from(self.infos.len()).ok().filter(|n| *n < u32::MAX);
        let part = PartNo::new(number.ok_or(RecordError::TooMany { what: "parts" })?);
        self.known.insert((info.kind, key), part);
        self.infos.push(info);
        Ok(part)
    }
}

/// Everything that defining a part needs from the recorder.
pub(super) struct Define<'r> {
    pub(super) writer: &'r mut RunWriter,
    pub(super) redactor: &'r Redactor,
    pub(super) table: &'r mut PartTable,
    pub(super) dialect: Dialect,
    pub(super) hint: Escape,
}

impl Define<'_> {
    /// Redacts the raw bytes of a new part.
    pub(super) fn clean<'a>(&self, kind: PartKind, raw: &'a [u8]) -> NewPart<'a> {
        NewPart { clean: clean::json(self.redactor, raw), kind }
    }

    /// Cuts a redacted part.
    pub(super) fn cut<'a>(&self, part: &'a NewPart<'_>) -> Template<'a> {
        template::cut(self.dialect, part.kind, &part.clean.text, self.hint)
    }

    /// Defines the part: its slots get the values that `linked` found, or their own text.
    ///
    /// A piece that the redactor would still change on its own (an escape that only looks like
    /// the start of a secret) makes the part one redacted literal, so that what is stored always
    /// gives the digest that is stored with it.
    pub(super) fn define(
        &mut self,
        part: &NewPart<'_>,
        template: &Template<'_>,
        linked: Vec<Option<link::Source>>,
        raw_digest: Option<[u8; 32]>,
    ) -> Result<(PartDef, PartInfo), RecordError> {
        let text = part.clean.text.as_ref();
        let mut stable = true;
        let mut holes = Vec::with_capacity(template.slots.len());
        let sources = linked.into_iter().chain(std::iter::repeat_with(|| None));
        for (slot, source) in template.slots.iter().zip(sources) {
            let value = match source {
                Some(source) => source.into_value(),
                None => HoleValue::Own(self.own(part, slot, &mut stable)?),
            };
            let escaped_bytes = slot.span.len() as u64;
            holes.push(Hole { escape: slot.escape, escaped_bytes, value });
        }
        let (literal, offsets) = template.literal(text);
        stable &= !self.redactor.redact(&literal).is_changed();
        if !stable {
            return self.define_whole(part);
        }
        let skeleton = self.skeleton(part.kind, template, &literal, &offsets)?;
        let unchanged = raw_digest.filter(|_| part.clean.edits.is_empty());
        let digest = unchanged.unwrap_or_else(|| Sha256::digest(text).into());
        let info = PartInfo {
            kind: part.kind,
            digest,
            redactions: count(part.clean.redactions.len()),
            withheld: part.clean.withheld,
            redacted: (!part.clean.edits.is_empty()).then(|| Arc::from(text)),
            edits: [part.clean.edits.clone()].into(),
            slots: slot_spans(template),
        };
        Ok((PartDef { digest, skeleton, holes }, info))
    }

    /// Defines the part as one literal, redacted as plain bytes.
    fn define_whole(&mut self, part: &NewPart<'_>) -> Result<(PartDef, PartInfo), RecordError> {
        let redacted = self.redactor.redact(&part.clean.text);
        let text = redacted.as_bytes();
        let template = Template::default();
        let skeleton = self.skeleton(part.kind, &template, text, &[])?;
        let digest = Sha256::digest(text).into();
        let found = count(redacted.redactions().len());
        let info = PartInfo {
            kind: part.kind,
            digest,
            redactions: count(part.clean.redactions.len()).saturating_add(found),
            withheld: part.clean.withheld || redacted.withheld().is_some(),
            redacted: Some(Arc::from(text)),
            edits: [part.clean.edits.clone(), clean::edits_of(redacted.redactions())].into(),
            slots: Box::default(),
        };
        Ok((PartDef { digest, skeleton, holes: Vec::new() }, info))
    }

    fn own(
        &mut self,
        part: &NewPart<'_>,
        slot: &Slot<'_>,
        stable: &mut bool,
    ) -> Result<Content, RecordError> {
        let redacted = self.redactor.redact(slot.text.as_bytes());
        *stable &= !redacted.is_changed();
        let redacted = redacted.with_earlier(&part.clean.inside(slot));
        self.writer.note(&redacted);
        Ok(self.writer.content(&redacted)?)
    }

    fn skeleton(
        &mut self,
        kind: PartKind,
        template: &Template<'_>,
        literal: &[u8],
        offsets: &[usize],
    ) -> Result<SkeletonUse, RecordError> {
        let mut slots = Vec::with_capacity(offsets.len());
        let mut hash = Sha256::new();
        hash.update([kind.tag(), template.role.tag()]);
        for (slot, offset) in template.slots.iter().zip(offsets) {
            let offset = u32::try_from(*offset)
                .map_err(|_wide| RecordError::TooMany { what: "literal bytes" })?;
            hash.update(offset.to_le_bytes());
            hash.update(slot.group.to_le_bytes());
            hash.update(slot.kind.name().as_bytes());
            slots.push(SlotDef { offset, kind: slot.kind, group: slot.group });
        }
        hash.update(literal);
        let digest: [u8; 32] = hash.finalize().into();
        if let Some(number) = self.table.skeletons.get(&digest) {
            return Ok(SkeletonUse::Known(*number));
        }
        let literal = self.writer.content(&self.redactor.redact(literal))?;
        let skeleton =
            Skeleton { part_kind: kind.tag(), role: template.role.tag(), literal, slots };
        let number = u32::try_from(self.table.skeletons.len()).expect("fewer than parts");
        self.table.skeletons.insert(digest, SkeletonNo::new(number));
        Ok(SkeletonUse::New(skeleton))
    }
}

fn count(redactions: usize) -> u32 {
    u32::try_from(redactions).unwrap_or(u32::MAX)
}

fn slot_spans(template: &Template<'_>) -> Box<[(u32, u32)]> {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    template.slots.iter().map(|s| (narrow(s.span.start), narrow(s.span.end))).collect()
}
