//! Turns parts back into bytes: a literal, what fills its slots, and the marks of one request.

use artifacts::{GetError, Source};

use crate::event::Overlay;
use crate::history::{History, Part, SkeletonInfo};

/// What comes next when a part is written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A stretch of the literal.
    Literal(core::ops::Range<usize>),
    /// The slot with this index.
    Slot(usize),
    /// The mark with this index.
    Mark(usize),
}

/// Calls `emit` for everything that a part consists of, in order.
///
/// Where a slot and a mark stand at one offset, the slot comes first: a mark follows the value
/// that it is attached to.
pub fn tokens<E>(
    skeleton: &SkeletonInfo,
    marks: &[Overlay],
    mut emit: impl FnMut(Token) -> Result<(), E>,
) -> Result<(), E> {
    let length = usize::try_from(skeleton.literal.len()).unwrap_or(usize::MAX);
    let mut at = 0;
    let mut marks = marks.iter().enumerate().peekable();
    let mut literal = |to: usize, emit: &mut dyn FnMut(Token) -> Result<(), E>| {
        let to = to.min(length);
        if at < to {
            emit(Token::Literal(at..to))?;
            at = to;
        }
        Ok(())
    };
    for (index, slot) in skeleton.slots.iter().enumerate() {
        while let Some((mark, overlay)) = marks.next_if(|(_, mark)| mark.offset < slot.offset) {
            literal(overlay.offset as usize, &mut emit)?;
            emit(Token::Mark(mark))?;
        }
        literal(slot.offset as usize, &mut emit)?;
        emit(Token::Slot(index))?;
    }
    for (mark, overlay) in marks {
        literal(overlay.offset as usize, &mut emit)?;
        emit(Token::Mark(mark))?;
    }
    literal(length, &mut emit)
}

/// Why a part could not be written out.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// An artifact is missing or damaged.
    #[error(transparent)]
    Get(#[from] GetError),
    /// What fills a slot is not text. Slots were proven when they were recorded, so this is
    /// damage.
    #[error("part {part} slot {slot}: not utf-8")]
    NotText {
        /// Number of the part.
        part: u32,
        /// Index of the slot.
        slot: usize,
    },
}

/// Appends the bytes of a part with the given marks.
///
/// # Errors
/// An artifact is missing or damaged.
pub fn part(
    history: &History,
    source: &dyn Source,
    number: crate::id::PartNo,
    marks: &[Overlay],
    out: &mut Vec<u8>,
) -> Result<(), RenderError> {
    let part: &Part = history.part(number);
    let skeleton = history.skeleton(part);
    let literal = skeleton.literal.read(source)?;
    tokens(skeleton, marks, |token| {
        match token {
            Token::Literal(range) => {
                out.extend_from_slice(literal.get(range).unwrap_or_default());
            }
            Token::Mark(index) => {
                if let Some(mark) = marks.get(index) {
                    out.extend_from_slice(&mark.bytes.read(source)?);
                }
            }
            Token::Slot(slot) => {
                if let Some(hole) = part.holes.get(slot) {
                    let bytes = history.text(hole).read(source)?;
                    let text = std::str::from_utf8(&bytes)
                        .map_err(|_invalid| RenderError::NotText { part: number.number(), slot })?;
                    hole.escape.escape_into(text, out);
                }
            }
        }
        Ok(())
    })
}
