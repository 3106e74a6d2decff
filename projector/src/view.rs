//! A projected request as ordered segments, each with where it comes from.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::Source;
use ledger::content::Content;
use ledger::event::{Dropped, Hole, HoleValue, Overlay};
use ledger::history::History;
use ledger::id::PartNo;
use ledger::wire::Escape;

use crate::fold::ProjectError;

/// One stretch of a projected request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Bytes around the slots of a part.
    Literal {
        /// The part.
        part: PartNo,
        /// Where they stand in the part's literal.
        range: Range<usize>,
    },
    /// A range of a recorded text.
    Text {
        /// The part.
        part: PartNo,
        /// The slot; [`History::part`] tells which artifact or event fills it.
        slot: usize,
        /// Bytes of the text, unescaped.
        range: Range<usize>,
        /// The text is the whole output that was found beside the wire, not what was sent.
        found: bool,
        /// How they are written.
        escape: Escape,
    },
    /// A text of the policy: a marker or a replacement.
    Inserted {
        /// Which step put it there, from 0.
        step: usize,
        /// The text, unescaped.
        text: String,
        /// How it is written.
        escape: Escape,
    },
    /// A message or a block of the policy, as it is written.
    Added {
        /// Which step put it there, from 0.
        step: usize,
        /// JSON, as it stands in the body.
        bytes: Vec<u8>,
    },
    /// What stands between two messages.
    Separator,
    /// A mark of this request.
    Mark {
        /// Index in the request's overlays.
        index: usize,
    },
}

/// All segments of a request, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct View {
    /// The segments.
    pub segments: Vec<Segment>,
}

impl View {
    /// Appends the bytes of the view to `out`.
    ///
    /// # Errors
    /// An artifact is missing or damaged.
    pub fn write(
        &self,
        history: &History,
        source: &dyn Source,
        separator: &[u8],
        overlays: &[Overlay],
        out: &mut Vec<u8>,
    ) -> Result<(), ProjectError> {
        for segment in &self.segments {
            match segment {
                Segment::Literal { part, range } => {
                    let skeleton = history.skeleton(history.part(*part));
                    let literal = skeleton.literal.read(source)?;
                    out.extend_from_slice(literal.get(range.clone()).unwrap_or_default());
                }
                Segment::Text { part, slot, range, found, escape } => {
                    let Some(content) = text_of(history, (*part, *slot), *found) else { continue };
                    let bytes = content.read(source)?;
                    let text = core::str::from_utf8(&bytes)
                        .ok()
                        .and_then(|text| text.get(range.clone()))
                        .ok_or(ProjectError::NotText { part: part.number(), slot: *slot })?;
                    escape.escape_into(text, out);
                }
                Segment::Inserted { text, escape, .. } => escape.escape_into(text, out),
                Segment::Added { bytes, .. } => out.extend_from_slice(bytes),
                Segment::Separator => out.extend_from_slice(separator),
                Segment::Mark { index } => {
                    if let Some(mark) = overlays.get(*index) {
                        out.extend_from_slice(&mark.bytes.read(source)?);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The text that fills a slot: as it was sent, or as it was found whole beside the wire.
pub(crate) fn text_of(
    history: &History,
    (part, slot): (PartNo, usize),
    found: bool,
) -> Option<&Content> {
    let hole = history.part(part).holes.get(slot)?;
    let copy = found_copy(history, hole).filter(|_| found);
    Some(copy.unwrap_or_else(|| history.text(hole)))
}

/// The whole output that was found for a slot.
pub(crate) fn found_copy<'h>(history: &'h History, hole: &Hole) -> Option<&'h Content> {
    let HoleValue::Output { call, index } = hole.value else { return None };
    let found = history.call(call)?.found(index)?;
    let piece = found.pieces.first().filter(|_| found.dropped == Dropped::Bytes(0));
    piece.map(|piece| &piece.text)
}
