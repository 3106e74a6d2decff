//! Finds the parts of a request body: the spans of its own JSON, nothing moved or read.
//!
//! `head ++ items joined by the separator ++ tail` is the body again. A body that does not have
//! this shape (not JSON, two message lists, uneven separators) is refused here and kept whole by
//! the caller.

use core::ops::Range;

use super::span::{Cursor, ScanError, ValueKind};
use super::{Dialect, PartKind};

/// Most items that one request may carry; more is kept verbatim.
pub const ITEMS_MAX: usize = 1 << 20;
/// What the pieces outside of the message list may add up to: all of them are told in one event,
/// which a body of tens of thousands of small options would not fit.
const PIECES_BYTES_MAX: usize = 8 << 20;
/// What a piece adds beside its own bytes.
const PIECE_BYTES: usize = 160;
/// Most of a piece's own bytes that are told in the event; what is longer is stored apart.
const PIECE_BYTES_TOLD_MAX: usize = 5 << 19;
/// An options object above this size is split into its members, so that one changing id does
/// not store the others again. Codex sends 1.5 KB of metadata whose keys change order.
const OPTIONS_SPLIT_BYTES: usize = 256;

/// A stretch of the body that is not an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PartKind,
    /// Where it stands.
    pub span: Range<usize>,
}

/// The parts of one body.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outline {
    /// Pieces before the first item.
    pub head: Vec<Piece>,
    /// Items, in order.
    pub items: Vec<Range<usize>>,
    /// What stands between two items (empty when there are fewer than two).
    pub separator: Range<usize>,
    /// Pieces after the last item.
    pub tail: Vec<Piece>,
    /// The value of `model`, with quotes, where the body names one.
    pub model: Option<Range<usize>>,
}

/// Why a body is kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutlineError {
    /// Not JSON, or JSON beyond the limits.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Something follows the closing brace.
    #[error("text after the body at offset {offset}")]
    Trailing {
        /// Offset of the first stray byte.
        offset: usize,
    },
    /// The message list is there twice.
    #[error("a second message list at offset {offset}")]
    TwoLists {
        /// Offset of the second list.
        offset: usize,
    },
    /// Items are not separated evenly.
    #[error("uneven separator at offset {offset}")]
    UnevenSeparator {
        /// Offset of the separator that differs.
        offset: usize,
    },
    /// More than [`ITEMS_MAX`] items.
    #[error("more than {ITEMS_MAX} items")]
    TooManyItems,
    /// More members beside the message list than one event can tell of.
    #[error("too many members at offset {offset}")]
    TooManyMembers {
        /// Offset of the first that is too much.
        offset: usize,
    },
}

impl Dialect {
    /// The member that holds the message list, with its quotes.
    pub(crate) fn list_key(self) -> &'static [u8] {
        match self {
            Self::AnthropicMessages | Self::OpenAiChat => b"\"messages\"",
            Self::OpenAiResponses => b"\"input\"",
            Self::GeminiGenerate => b"\"contents\"",
        }
    }

    fn piece_kind(self, key: &[u8]) -> PartKind {
        match (self, key) {
            (_, b"\"tools\"" | b"\"functions\"") => PartKind::Tools,
            (Self::AnthropicMessages, b"\"system\"")
            | (Self::OpenAiResponses, b"\"instructions\"")
            | (Self::GeminiGenerate, b"\"systemInstruction\"" | b"\"system_instruction\"") => {
                PartKind::System
            }
            _ => PartKind::Options,
        }
    }
}

/// Outlines `body`.
///
/// # Errors
/// See [`OutlineError`]; the body is then kept as one verbatim part.
pub fn outline(dialect: Dialect, body: &[u8]) -> Result<Outline, OutlineError> {
    let start = if body.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut walk = Walk {
        cursor: Cursor::new(body, start),
        outline: Outline::default(),
        glue_start: 0,
        seen_list: false,
        pieces_bytes: 0,
    };
    walk.object(dialect, true)?;
    walk.cursor.skip_space();
    let end = walk.cursor.pos();
    if end != body.len() {
        return Err(OutlineError::Trailing { offset: end });
    }
    walk.glue(end);
    Ok(walk.outline)
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    outline: Outline,
    /// Everything from here to the next piece is glue.
    glue_start: usize,
    seen_list: bool,
    /// What the pieces so far add up to in an event.
    pieces_bytes: usize,
}

impl Walk<'_> {
    fn pieces(&mut self) -> &mut Vec<Piece> {
        if self.seen_list { &mut self.outline.tail } else { &mut self.outline.head }
    }

    fn glue(&mut self, end: usize) {
        let span = self.glue_start..end;
        if !span.is_empty() {
            self.pieces().push(Piece { kind: PartKind::Glue, span });
        }
        self.glue_start = end;
    }

    fn piece(&mut self, kind: PartKind, span: Range<usize>) -> Result<(), OutlineError> {
        self.pieces_bytes += 2 * PIECE_BYTES + span.len().min(PIECE_BYTES_TOLD_MAX);
        if self.pieces_bytes > PIECES_BYTES_MAX {
            return Err(OutlineError::TooManyMembers { offset: span.start });
        }
        self.glue(span.start);
        self.glue_start = span.end;
        self.pieces().push(Piece { kind, span });
        Ok(())
    }

    fn object(&mut self, dialect: Dialect, top: bool) -> Result<(), OutlineError> {
        self.cursor.expect(b'{')?;
        let mut first = true;
        while let Some(key) = self.cursor.next_key(first)? {
            first = false;
            let name = self.cursor.bytes().get(key.clone()).unwrap_or_default();
            if top && name == dialect.list_key() && self.list()? {
                continue;
            }
            let kind = if top { dialect.piece_kind(name) } else { PartKind::Options };
            let value_kind = self.cursor.kind()?;
            let mut ahead = self.cursor.clone();
            let value = ahead.skip_value()?;
            if top && name == b"\"model\"" && value_kind == ValueKind::String {
                self.outline.model = Some(value.span.clone());
            }
            let split = top
                && kind == PartKind::Options
                && value_kind == ValueKind::Object
                && value.span.len() > OPTIONS_SPLIT_BYTES;
            if split {
                self.object(dialect, false)?;
            } else {
                self.cursor = ahead;
                self.piece(kind, key.start..value.span.end)?;
            }
        }
        Ok(())
    }

    /// Reads the message list; false when the member is no list and is left to the caller.
    fn list(&mut self) -> Result<bool, OutlineError> {
        let kind = self.cursor.kind()?;
        let start = self.cursor.pos();
        if !matches!(kind, ValueKind::Array | ValueKind::String) {
            return Ok(false);
        }
        if self.seen_list {
            return Err(OutlineError::TwoLists { offset: start });
        }
        if kind == ValueKind::String {
            self.glue(start);
            let value = self.cursor.skip_value()?;
            self.glue_start = value.span.end;
            self.outline.items.push(value.span);
            self.seen_list = true;
            return Ok(true);
        }
        self.cursor.expect(b'[')?;
        let mut first = true;
        while self.cursor.next_element(first)? {
            let value = self.cursor.skip_value()?;
            self.item(value.span, first)?;
            first = false;
        }
        if first {
            // An empty list still ends the head, right before its closing bracket.
            self.glue(self.cursor.pos() - 1);
        }
        self.seen_list = true;
        Ok(true)
    }

    fn item(&mut self, span: Range<usize>, first: bool) -> Result<(), OutlineError> {
        if first {
            self.glue(span.start);
        } else {
            let between = self.glue_start..span.start;
            let bytes = self.cursor.bytes();
            if self.outline.items.len() == 1 {
                self.outline.separator = between;
            } else if bytes.get(between.clone()) != bytes.get(self.outline.separator.clone()) {
                return Err(OutlineError::UnevenSeparator { offset: between.start });
            }
        }
        if self.outline.items.len() >= ITEMS_MAX {
            return Err(OutlineError::TooManyItems);
        }
        self.glue_start = span.end;
        self.outline.items.push(span);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
