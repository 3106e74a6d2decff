//! `cap_lines` with a budget that both ends share: lines from the start until the head's share is
//! used up, then lines from the end for what is left. The line that crosses is cut.

use alloc::vec::Vec;
use core::ops::Range;

use super::render::Facts;
use super::size::Measure;
use super::{Context, Piece, Shown, Unknown, lines};
use crate::policy::op::{CapLines, Shared};
use crate::policy::{Amount, Shape, Split, share};

/// Lines at one end.
#[derive(Default)]
struct End {
    range: Range<usize>,
    lines: u64,
    /// Units that they use up.
    units: u64,
    /// The outermost line was cut.
    cut: bool,
}

/// Cuts `text`; `None` when it stays whole.
///
/// # Errors
/// A limit, or a value that the marker names, is not known.
pub(super) fn cut(
    cap: &CapLines,
    shared: &Shared,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Shown>, Unknown> {
    let amount = |amount: Amount| amount.value(&context.budget).ok_or(Unknown::Amount);
    let limit = amount(shared.limit)?;
    let max_lines = cap.max_lines.map_or(Ok(u64::MAX), amount)?;
    let measure = Measure::plain(shared.unit, context);
    let ranges = lines::ranges(cap.line_rule, text);
    let total = ranges.len() as u64;
    if measure.size(text)? <= limit && total <= max_lines {
        return Ok(None);
    }
    let head_per_mille = match cap.shape {
        Shape::Middle(Split::Ratio { head_per_mille, .. }) => head_per_mille,
        _ => 0,
    };
    let most = max_lines.min(total);
    let head_lines = share(most, head_per_mille).max(1);
    let cutter = Cutter { shared, text, measure, ranges: &ranges };
    let head = cutter.head(head_lines, share(limit, head_per_mille))?;
    let facts = Facts {
        unit: shared.unit,
        line_rule: cap.line_rule,
        total,
        limit,
        ..Facts::of(text, context)
    };
    let marker_size = measure.size(&facts.render(&cap.marker)?)?;
    let left = limit.saturating_sub(head.units).saturating_sub(marker_size);
    let first = total.saturating_sub(most - head_lines.min(most)).max(head.lines);
    let tail = cutter.tail(first, left)?;
    let start = tail.range.start.max(head.range.end);
    let facts = Facts {
        hidden: head.range.end..start,
        n: total.saturating_sub(head.lines + tail.lines),
        ..facts
    };
    let mark = |cut: bool| cut.then(|| Piece::Inserted(shared.line_marker.clone()));
    let mut pieces =
        Vec::from([Piece::Inserted(facts.render(&cap.header)?), Piece::Kept(head.range)]);
    pieces.extend(mark(head.cut));
    pieces.push(Piece::Inserted(facts.render(&cap.marker)?));
    pieces.extend(mark(tail.cut));
    pieces.push(Piece::Kept(start..tail.range.end));
    Ok(Some(Shown::of(text, pieces)))
}

struct Cutter<'t> {
    shared: &'t Shared,
    text: &'t str,
    measure: Measure<'t>,
    ranges: &'t [Range<usize>],
}

impl Cutter<'_> {
    fn size(&self, range: Range<usize>) -> Result<u64, Unknown> {
        self.measure.size(self.text.get(range).unwrap_or_default())
    }

    fn head(&self, max_lines: u64, budget: u64) -> Result<End, Unknown> {
        let mut end = End::default();
        for range in self.ranges {
            let left = budget.saturating_sub(end.units);
            if end.lines >= max_lines || left == 0 {
                break;
            }
            let line = range.clone();
            let size = self.size(line.clone())?;
            end.lines += 1;
            if size + 1 > left {
                let part = left.saturating_sub(self.measure.size(&self.shared.line_marker)?);
                let text = self.text.get(line.clone()).unwrap_or_default();
                let kept = line.start + self.measure.prefix(text, part);
                return Ok(End { range: 0..kept, units: budget, cut: true, ..end });
            }
            end.units += size + 1;
            end.range = 0..line.end;
        }
        Ok(end)
    }

    /// Lines from the end down to the one with this number.
    fn tail(&self, first: u64, budget: u64) -> Result<End, Unknown> {
        let all = self.text.len();
        let mut end = End { range: all..all, ..End::default() };
        for (number, range) in self.ranges.iter().enumerate().rev() {
            let left = budget.saturating_sub(end.units);
            if (number as u64) < first || left == 0 {
                break;
            }
            let line = range.clone();
            let size = self.size(line.clone())?;
            end.lines += 1;
            if size + 1 > left {
                let part = left.saturating_sub(self.measure.size(&self.shared.line_marker)?);
                let text = self.text.get(line.clone()).unwrap_or_default();
                // A slice from minus zero is the whole line.
                let part = if part == 0 { size } else { part };
                let kept = line.start + self.measure.suffix(text, size, part);
                return Ok(End { range: kept..all, units: budget, cut: true, ..end });
            }
            end.units += size + 1;
            end.range = line.start..all;
        }
        Ok(end)
    }
}
