//! `cap_text`: what a limit leaves of a text, as ranges of the text and a marker between them.

use alloc::string::String;
use core::ops::Range;

use ledger::event::TextMeasure;

use crate::policy::{CapText, Unit};
use crate::text::{Context, Piece, cap_text};

/// What is left of a text: a head, a marker, a tail. Ranges are in bytes, on character
/// boundaries, in order and without overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The kept beginning.
    pub head: Range<usize>,
    /// Stands for what is gone.
    pub marker: String,
    /// The kept end.
    pub tail: Range<usize>,
}

impl Cut {
    /// Bytes of the text that are gone.
    pub fn hidden_bytes(&self) -> usize {
        self.tail.start - self.head.end
    }
}

/// Size of a text of `bytes` bytes in the cap's unit, from sizes that were recorded with it.
///
/// `None` for lines: whether the last line is ended is only known from the text.
pub fn recorded_size(unit: Unit, bytes: u64, measure: &TextMeasure) -> Option<u64> {
    match unit {
        Unit::Bytes => Some(bytes),
        Unit::Chars => Some(measure.chars),
        Unit::Utf16 => Some(measure.utf16),
        Unit::Lines | Unit::Columns | Unit::Tokens => None,
    }
}

/// Cuts `text`; `None` when it is within the limit, or when the limit is not known.
///
/// For caps that keep ends of the text around one marker; [`crate::text`] has all of them.
pub fn cut(cap: &CapText, text: &str) -> Option<Cut> {
    let shown = cap_text(cap, text, &Context::default()).ok()??;
    let mut cut = Cut { head: 0..0, marker: String::new(), tail: text.len()..text.len() };
    for (index, piece) in shown.pieces.into_iter().enumerate() {
        match piece {
            Piece::Kept(range) if index == 0 && range.start == 0 => cut.head = range,
            Piece::Kept(range) => cut.tail = range,
            Piece::Inserted(text) => cut.marker.push_str(&text),
            Piece::Half(_) => {}
        }
    }
    Some(cut)
}

#[cfg(test)]
mod tests;
