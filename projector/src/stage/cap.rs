//! `cap_text`: what a limit leaves of a text, as ranges of the text and a marker between them.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use core::ops::Range;

use ledger::event::TextMeasure;

use crate::policy::{Amount, CapText, Shape, Split, Unit, share};

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

/// Size of `text` in `unit`.
pub fn size(unit: Unit, text: &str) -> u64 {
    match unit {
        Unit::Bytes | Unit::Columns | Unit::Tokens => text.len() as u64,
        Unit::Chars => TextMeasure::of(text).chars,
        Unit::Utf16 => TextMeasure::of(text).utf16,
        Unit::Lines => lines(text),
    }
}

/// Lines as `str::lines` counts them: a final line feed ends the last line.
fn lines(text: &str) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    feeds + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Cuts `text`; `None` when it is within the limit.
///
/// The budget is the limit, less the marker's size when the marker counts. A marker that alone
/// exceeds the limit is itself cut to it. A cut inside a character shrinks what is kept.
pub fn cut(cap: &CapText, text: &str) -> Option<Cut> {
    let total = size(cap.unit, text);
    let limit = limit(cap);
    if total <= limit {
        return None;
    }
    if !cap.marker_in_limit {
        return Some(cut_to(cap, text, total, limit));
    }
    // The marker names the hidden count, whose digits change its own size; the count that the
    // final cut hides is what it says, so it is laid out for the largest count it can name.
    let widest = size(cap.unit, &marker(cap, total, total));
    if widest >= limit {
        let whole = marker(cap, total, total);
        let end = prefix(cap.unit, &whole, limit);
        let marker = whole.get(..end).unwrap_or_default().to_owned();
        return Some(Cut { head: 0..0, marker, tail: text.len()..text.len() });
    }
    Some(cut_to(cap, text, total, limit - widest))
}

fn cut_to(cap: &CapText, text: &str, total: u64, budget: u64) -> Cut {
    let head_budget = match cap.shape {
        Shape::Head => budget,
        Shape::Middle(Split::Ratio { head_per_mille, .. }) => share(budget, head_per_mille),
        Shape::Tail | Shape::Middle(Split::Fixed { .. }) | Shape::Replace => 0,
    };
    let head = prefix(cap.unit, text, head_budget);
    let tail = suffix(cap.unit, text, total, budget - head_budget).max(head);
    let shown = size(cap.unit, text.get(..head).unwrap_or_default())
        + size(cap.unit, text.get(tail..).unwrap_or_default());
    let marker = marker(cap, total - shown.min(total), total);
    Cut { head: 0..head, marker, tail: tail..text.len() }
}

fn limit(cap: &CapText) -> u64 {
    cap.limit.and_then(Amount::fixed).unwrap_or(u64::MAX)
}

fn marker(cap: &CapText, hidden: u64, total: u64) -> String {
    cap.marker
        .replace("{n}", &hidden.to_string())
        .replace("{total}", &total.to_string())
        .replace("{limit}", &limit(cap).to_string())
}

/// Byte offset behind the longest prefix of at most `budget` units.
fn prefix(unit: Unit, text: &str, budget: u64) -> usize {
    match unit {
        Unit::Bytes | Unit::Columns | Unit::Tokens => {
            let at = usize::try_from(budget).unwrap_or(usize::MAX).min(text.len());
            text.floor_char_boundary(at)
        }
        Unit::Chars => nth_char(text, budget, |_| 1),
        Unit::Utf16 => nth_char(text, budget, |c| c.len_utf16() as u64),
        Unit::Lines => {
            let Some(last) = budget.checked_sub(1) else { return 0 };
            let nth = usize::try_from(last).unwrap_or(usize::MAX);
            memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth).map_or(text.len(), |at| at + 1)
        }
    }
}

/// Byte offset of the longest suffix of at most `budget` units.
fn suffix(unit: Unit, text: &str, total: u64, budget: u64) -> usize {
    match unit {
        Unit::Bytes | Unit::Columns | Unit::Tokens => {
            let keep = usize::try_from(budget).unwrap_or(usize::MAX).min(text.len());
            text.ceil_char_boundary(text.len() - keep)
        }
        Unit::Chars | Unit::Lines => prefix(unit, text, total.saturating_sub(budget)),
        Unit::Utf16 => {
            // Counted from the end, so that a pair that straddles the budget is left out.
            let mut left = budget;
            let mut at = text.len();
            for c in text.chars().rev() {
                let units = c.len_utf16() as u64;
                if units > left {
                    break;
                }
                left -= units;
                at -= c.len_utf8();
            }
            at
        }
    }
}

fn nth_char(text: &str, budget: u64, units: impl Fn(char) -> u64) -> usize {
    let mut left = budget;
    for (at, c) in text.char_indices() {
        let cost = units(c);
        if cost > left {
            return at;
        }
        left -= cost;
    }
    text.len()
}

#[cfg(test)]
mod tests;
