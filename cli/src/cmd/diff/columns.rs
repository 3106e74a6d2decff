//! A diff of two texts beside each other: the first to the left, the second to the right.

use similar::{DiffTag, group_diff_ops};

use super::lines::Limits;
use crate::error::Stop;
use crate::report::table::terminal_columns;
use crate::report::udiff::ops;
use crate::text;
use crate::ui::{Tone, Ui};

/// Columns where the terminal does not say.
const COLUMNS: usize = 160;
/// Columns between the sides, with the sign.
const GUTTER: usize = 3;
/// Lines of a stretch that are shown at each end.
const ENDS: usize = 3;

/// Writes the hunks.
pub(super) fn print(left: &str, right: &str, limits: Limits, ui: &mut Ui) -> Result<(), Stop> {
    let columns = terminal_columns().unwrap_or(COLUMNS).saturating_sub(GUTTER);
    let width = (columns / 2).max(20);
    let old: Vec<&str> = left.lines().collect();
    let new: Vec<&str> = right.lines().collect();
    for group in group_diff_ops(ops(&old, &new), limits.context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        let olds = span(first.old_range().start, last.old_range().end);
        let news = span(first.new_range().start, last.new_range().end);
        ui.toned(Tone::Faint, &format!("@@ -{olds} +{news} @@"))?;
        for op in group {
            let (tag, olds, news) = op.as_tag_tuple();
            let (olds, news) = (old.get(olds), new.get(news));
            let pairs = pairs(olds.unwrap_or_default(), news.unwrap_or_default());
            stretch(&pairs, tag, width, limits, ui)?;
        }
    }
    Ok(())
}

/// Lines beside each other; the shorter side ends with nothing.
type Pair<'l> = (Option<&'l str>, Option<&'l str>);

fn pairs<'l>(olds: &[&'l str], news: &[&'l str]) -> Vec<Pair<'l>> {
    let length = olds.len().max(news.len());
    (0..length).map(|at| (olds.get(at).copied(), news.get(at).copied())).collect()
}

fn stretch(
    pairs: &[Pair<'_>],
    tag: DiffTag,
    width: usize,
    limits: Limits,
    ui: &mut Ui,
) -> Result<(), Stop> {
    let summarized = !limits.whole && pairs.len() > 2 * ENDS + 3;
    for (nth, (old, new)) in pairs.iter().enumerate() {
        if summarized && nth >= ENDS && nth < pairs.len() - ENDS {
            if nth == ENDS {
                let more = pairs.len() - 2 * ENDS;
                ui.toned(Tone::Faint, &format!("    ... {more} more lines (-v shows them) ..."))?;
            }
            continue;
        }
        let (sign, tone) = match (tag, old, new) {
            (DiffTag::Equal, _, _) => (' ', None),
            (_, Some(_), Some(_)) => ('|', Some(Tone::Warn)),
            (_, Some(_), None) => ('<', Some(Tone::Bad)),
            (_, None, _) => ('>', Some(Tone::Good)),
        };
        let left = cell(old.unwrap_or_default(), width);
        let right = cell(new.unwrap_or_default(), width);
        let line = [&left, " ", &sign.to_string(), " ", right.trim_end()].concat();
        match tone {
            Some(tone) => ui.toned(tone, line.trim_end())?,
            None => ui.line(format_args!("{}", line.trim_end()))?,
        }
    }
    Ok(())
}

/// A line in so many columns: cut with a mark, or filled up.
fn cell(line: &str, width: usize) -> String {
    let shown = text::one_line(line).into_owned();
    let count = shown.chars().count();
    if count > width {
        return shown.chars().take(width - 1).chain(['>']).collect();
    }
    let mut shown = shown;
    shown.extend(std::iter::repeat_n(' ', width - count));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_have_their_width_and_the_shorter_one_ends_with_nothing() {
        assert_eq!(cell("abc", 5), "abc  ");
        assert_eq!(cell("abcdefgh", 5), "abcd>");
        assert_eq!(cell("a\u{1b}[31m", 12).chars().count(), 12);
        assert_eq!(pairs(&["a", "b"], &["c"]), [(Some("a"), Some("c")), (Some("b"), None)]);
    }
}
