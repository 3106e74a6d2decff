//! `cap_lines`: whole lines, as long as a number of lines and a number of bytes both hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::chain::Chain;
use super::render::Facts;
use super::size::Measure;
use super::{Context, Piece, Shown, Unknown, lines};
use crate::policy::op::{CapLines, HugeLine};
use crate::policy::{Amount, Shape, Split, Unit, share};

/// Cuts `text`; `None` when it stays whole.
///
/// # Errors
/// A limit, or a value that the marker names, is not known.
pub fn cap_lines(
    cap: &CapLines,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, Unknown> {
    let mut chain = Chain::of(text);
    if let Some(cut) = long_lines(cap, text, context) {
        chain = chain.then(&cut);
    }
    let cut = match &cap.shared {
        Some(shared) => super::shared::cut(cap, shared, chain.text(), context)?,
        None => Lines::new(cap, chain.text(), context)?.cut()?,
    };
    if let Some(cut) = cut {
        chain = chain.then(&cut);
    }
    Ok(chain.is_cut().then(|| chain.into_shown()))
}

/// Cuts the lines that are longer than a line may be.
fn long_lines(cap: &CapLines, text: &str, context: &Context<'_>) -> Option<Shown> {
    let limit = cap.max_line?;
    let measure = Measure::plain(cap.max_line_unit, context);
    let mut pieces = Vec::new();
    let mut kept = 0;
    for range in lines::ranges(cap.line_rule, text) {
        let line = text.get(range.clone()).unwrap_or_default();
        let end = range.start + measure.prefix(line, limit);
        if end < range.end {
            pieces.push(Piece::Kept(kept..end));
            pieces.push(Piece::Inserted(cap.line_marker.clone()));
            kept = range.end;
        }
    }
    if pieces.is_empty() {
        return None;
    }
    pieces.push(Piece::Kept(kept..text.len()));
    Some(Shown::of(text, pieces))
}

/// A text cut into lines, and how many lines and bytes may stay.
struct Lines<'t> {
    cap: &'t CapLines,
    text: &'t str,
    context: &'t Context<'t>,
    ranges: Vec<Range<usize>>,
    max: (u64, u64),
}

/// What is kept: the ends of the text, and what bound them.
struct Kept {
    head: Range<usize>,
    tail: Range<usize>,
    lines: u64,
    by_bytes: bool,
}

impl<'t> Lines<'t> {
    fn new(cap: &'t CapLines, text: &'t str, context: &'t Context<'t>) -> Result<Self, Unknown> {
        let amount = |amount: Option<Amount>| match amount {
            Some(amount) => amount.value(&context.budget).ok_or(Unknown::Amount),
            None => Ok(u64::MAX),
        };
        let ranges = lines::ranges(cap.line_rule, text);
        let max = (amount(cap.max_lines)?, amount(cap.max_bytes)?);
        Ok(Self { cap, text, context, ranges, max })
    }

    fn cut(&self) -> Result<Option<Shown>, Unknown> {
        let total = self.ranges.len() as u64;
        if total <= self.max.0 && self.text.len() as u64 <= self.max.1 {
            return Ok(None);
        }
        let kept = match self.cap.shape {
            Shape::Head => self.head(self.max.0, self.max.1),
            Shape::Tail => self.tail(self.max.0, self.max.1),
            Shape::Middle(Split::Ratio { head_per_mille, .. }) => self.middle(head_per_mille),
            Shape::Middle(Split::Fixed { .. }) | Shape::Replace => Kept {
                head: 0..0,
                tail: self.text.len()..self.text.len(),
                lines: 0,
                by_bytes: false,
            },
        };
        let kept_bytes = (kept.head.len() + kept.tail.len()) as u64;
        let (n, unit_word) = if kept.by_bytes {
            (self.text.len() as u64 - kept_bytes, "bytes")
        } else {
            (total.saturating_sub(kept.lines), "lines")
        };
        let facts = Facts {
            unit: Unit::Lines,
            line_rule: self.cap.line_rule,
            hidden: kept.head.end..kept.tail.start,
            n,
            total,
            limit: self.max.0,
            unit_word,
            ..Facts::of(self.text, self.context)
        };
        let empty = if kept_bytes == 0 { self.cap.empty.clone() } else { String::new() };
        let pieces = Vec::from([
            Piece::Inserted(facts.render(&self.cap.header)?),
            Piece::Inserted(empty),
            Piece::Kept(kept.head),
            Piece::Inserted(facts.render(&self.cap.marker)?),
            Piece::Kept(kept.tail),
        ]);
        Ok(Some(Shown::of(self.text, pieces)))
    }

    fn head(&self, max_lines: u64, max_bytes: u64) -> Kept {
        let end = self.text.len();
        let mut kept = Kept { head: 0..0, tail: end..end, lines: 0, by_bytes: false };
        for line in &self.ranges {
            if kept.lines >= max_lines {
                return kept;
            }
            if line.end as u64 > max_bytes {
                kept.by_bytes = true;
                if kept.lines == 0 && self.cap.huge_line == HugeLine::Part {
                    let at = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                    kept.head = 0..self.text.floor_char_boundary(at);
                    kept.lines = 1;
                }
                return kept;
            }
            kept.head = 0..line.end;
            kept.lines += 1;
        }
        kept
    }

    fn tail(&self, max_lines: u64, max_bytes: u64) -> Kept {
        let end = self.text.len();
        // A line end behind the last line is not part of it.
        let last = self.ranges.last().map_or(end, |line| line.end);
        let mut kept = Kept { head: 0..0, tail: last..last, lines: 0, by_bytes: false };
        for line in self.ranges.iter().rev() {
            if kept.lines >= max_lines {
                return kept;
            }
            if (last - line.start) as u64 > max_bytes {
                kept.by_bytes = true;
                if kept.lines == 0 && self.cap.huge_line == HugeLine::Part {
                    let keep = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                    kept.tail = self.text.ceil_char_boundary(last.saturating_sub(keep))..last;
                    kept.lines = 1;
                }
                return kept;
            }
            kept.tail = line.start..last;
            kept.lines += 1;
        }
        kept
    }

    fn middle(&self, head_per_mille: u16) -> Kept {
        let part = |limit: u64| {
            if limit == u64::MAX {
                return (limit, limit);
            }
            let head = share(limit, head_per_mille);
            (head, limit - head)
        };
        let (lines, bytes) = (part(self.max.0), part(self.max.1));
        let head = self.head(lines.0, bytes.0);
        let tail = self.tail(lines.1, bytes.1);
        let start = tail.tail.start.max(head.head.end);
        Kept {
            tail: start..tail.tail.end,
            lines: head.lines + tail.lines,
            by_bytes: head.by_bytes || tail.by_bytes,
            head: head.head,
        }
    }
}
