//! What a marker shows of a text that it stands for: both ends, and a gap between them.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::size::Measure;
use super::{Context, Unknown, lines};
use crate::policy::{Preview, Unit};

/// The preview of a text; the whole text where both ends cover it.
///
/// # Errors
/// Tokens are asked for and cannot be counted.
pub fn preview(preview: &Preview, text: &str, context: &Context<'_>) -> Result<String, Unknown> {
    if preview.unit == Unit::Lines {
        return Ok(of_lines(preview, text));
    }
    let measure = Measure::of_preview(preview, context);
    let total = measure.size(text)?;
    if total <= preview.head.saturating_add(preview.tail) {
        return Ok(text.into());
    }
    let head = measure.prefix(text, preview.head);
    let tail = measure.suffix(text, total, preview.tail).max(head);
    let hidden = total - preview.head - preview.tail;
    let gap = preview.gap.replace("{n}", &hidden.to_string());
    let get = |range: core::ops::Range<usize>| text.get(range).unwrap_or_default();
    Ok([get(0..head), &gap, get(tail..text.len())].concat())
}

fn of_lines(preview: &Preview, text: &str) -> String {
    let ranges = lines::ranges(preview.line_rule, text);
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (head, tail) = (count(preview.head), count(preview.tail));
    // The numbers of one stretch are as wide as its last one.
    let stretch = |from: usize, to: usize, before: usize| {
        let width = (before + to - from).to_string().len();
        let line = |(index, range): (usize, &core::ops::Range<usize>)| {
            let line = text.get(range.clone()).unwrap_or_default();
            let end = preview.line_chars.map_or(line.len(), |chars| {
                line.char_indices().nth(count(chars)).map_or(line.len(), |(at, _)| at)
            });
            let line = line.get(..end).unwrap_or(line);
            if preview.numbered {
                format!("{:>width$}  {line}", before + index + 1)
            } else {
                line.into()
            }
        };
        let lines = ranges.get(from..to).unwrap_or_default().iter().enumerate().map(line);
        lines.collect::<Vec<String>>().join("\n")
    };
    let all = ranges.len();
    if all <= head.saturating_add(tail) {
        return stretch(0, all, 0);
    }
    let hidden = all - head - tail;
    let gap = preview.gap.replace("{n}", &hidden.to_string());
    // From minus zero on it is all lines.
    let from = if tail == 0 { 0 } else { all - tail };
    [stretch(0, head, 0), gap, stretch(from, all, all - tail)].concat()
}
