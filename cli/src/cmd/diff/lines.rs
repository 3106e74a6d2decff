//! A unified diff of two texts, with long stretches summarized.

use std::ops::Range;

use similar::{DiffTag, group_diff_ops};

use crate::error::Stop;
use crate::report::number::{bytes, count};
use crate::report::udiff::ops;
use crate::text;
use crate::ui::{Tone, Ui};

/// Lines that a removed or inserted stretch shows at each end.
const ENDS: usize = 3;
/// A stretch is summarized when this hides at least so many lines.
const SUMMARIZED_MIN: usize = 4;
/// Bytes of a line that are shown at each end.
const LINE_ENDS_BYTES: usize = 160;

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Lines around each change.
    pub(super) context: usize,
    /// Everything, however long.
    pub(super) whole: bool,
}

/// Writes the hunks.
pub(super) fn print(left: &str, right: &str, limits: Limits, ui: &mut Ui) -> Result<(), Stop> {
    let old: Vec<&str> = left.split_inclusive('\n').collect();
    let new: Vec<&str> = right.split_inclusive('\n').collect();
    for group in group_diff_ops(ops(&old, &new), limits.context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        let olds = span(first.old_range().start, last.old_range().end);
        let news = span(first.new_range().start, last.new_range().end);
        ui.toned(Tone::Faint, &format!("@@ -{olds} +{news} @@"))?;
        for op in group {
            let (tag, olds, news) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                stretch(&old, olds, ' ', None, limits, ui)?;
            } else {
                stretch(&old, olds, '-', Some(Tone::Bad), limits, ui)?;
                stretch(&new, news, '+', Some(Tone::Good), limits, ui)?;
            }
        }
    }
    Ok(())
}

fn stretch(
    lines: &[&str],
    range: Range<usize>,
    sign: char,
    tone: Option<Tone>,
    limits: Limits,
    ui: &mut Ui,
) -> Result<(), Stop> {
    let lines = lines.get(range).unwrap_or_default();
    let (first, hidden, last) = if limits.whole || lines.len() < 2 * ENDS + SUMMARIZED_MIN {
        (lines, [].as_slice(), [].as_slice())
    } else {
        let (first, rest) = lines.split_at(ENDS);
        let (hidden, last) = rest.split_at(rest.len() - ENDS);
        (first, hidden, last)
    };
    for line in first {
        print_line(sign, line, tone, limits, ui)?;
    }
    if !hidden.is_empty() {
        let size: usize = hidden.iter().map(|line| line.len()).sum();
        let (number, size) = (count(hidden.len() as u64), bytes(size as u64));
        let words = format!("{sign}    ... {number} more lines, {size} (-v shows them) ...");
        ui.toned(Tone::Faint, &words)?;
    }
    for line in last {
        print_line(sign, line, tone, limits, ui)?;
    }
    Ok(())
}

fn print_line(
    sign: char,
    line: &str,
    tone: Option<Tone>,
    limits: Limits,
    ui: &mut Ui,
) -> Result<(), Stop> {
    let bare = line.strip_suffix('\n').unwrap_or(line);
    let shown = if limits.whole { text::lines(bare.as_bytes()) } else { shortened(bare) };
    let shown = format!("{sign}{shown}");
    match tone {
        Some(tone) => ui.toned(tone, &shown)?,
        None => ui.line(format_args!("{shown}"))?,
    }
    if !line.ends_with('\n') {
        ui.toned(Tone::Faint, "\\ no line feed at the end of the text")?;
    }
    Ok(())
}

/// Both ends of a long line.
fn shortened(line: &str) -> String {
    if line.len() <= 2 * LINE_ENDS_BYTES + SUMMARIZED_MIN * 16 {
        return text::lines(line.as_bytes());
    }
    let (head, rest) = line.split_at(line.floor_char_boundary(LINE_ENDS_BYTES));
    let (hidden, tail) = rest.split_at(rest.ceil_char_boundary(rest.len() - LINE_ENDS_BYTES));
    let size = bytes(hidden.len() as u64);
    let (head, tail) = (text::lines(head.as_bytes()), text::lines(tail.as_bytes()));
    format!("{head} ... {size} (-v shows them) ... {tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_ends_and_whole_characters() {
        let line = "\u{e9}".repeat(1000);
        let shown = shortened(&line);
        assert!(shown.starts_with(&"\u{e9}".repeat(80)) && shown.ends_with(&"\u{e9}".repeat(80)));
        assert!(shown.contains("1.7 kB"), "{shown}");
        assert_eq!(shortened("short"), "short");
    }
}
