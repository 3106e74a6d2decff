//! Columns of a terminal: wide characters take two, combining marks and escape sequences none.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Columns of a text. Line ends and other control characters take none.
pub(super) fn width(text: &str) -> u64 {
    let mut total = 0;
    walk(text, |_, columns| {
        total += columns;
        true
    });
    total
}

/// Byte offset behind the longest prefix of at most `budget` columns.
pub(super) fn prefix(text: &str, budget: u64) -> usize {
    let mut left = budget;
    let mut end = 0;
    walk(text, |at, columns| {
        if columns > left {
            return false;
        }
        left -= columns;
        end = at;
        true
    });
    end
}

/// Calls `next` with the offset behind each cell and its columns, until it says no.
fn walk(text: &str, mut next: impl FnMut(usize, u64) -> bool) {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let escape = escape_bytes(rest);
        let (bytes, columns) = if escape > 0 {
            (escape, 0)
        } else {
            let cell = rest.graphemes(true).next().unwrap_or(rest);
            let columns = if cell.chars().all(char::is_control) { 0 } else { cell.width() };
            (cell.len(), columns as u64)
        };
        at += bytes;
        if !next(at, columns) {
            return;
        }
    }
}

/// Length of the escape sequence that a text begins with: CSI, OSC and other string sequences,
/// and two-character ones.
fn escape_bytes(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('\u{1b}') else { return 0 };
    let bytes = rest.as_bytes();
    let ended = |end: Option<usize>| end.map_or(text.len(), |at| at + 2);
    match bytes.first() {
        None => 1,
        Some(b'[') => {
            ended(bytes.iter().skip(1).position(|b| (0x40..=0x7e).contains(b)).map(|at| at + 1))
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let bell = bytes.iter().position(|b| *b == 7);
            let string = rest.find("\u{1b}\\").map(|at| at + 1);
            ended(match (bell, string) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            })
        }
        Some(_) => 1 + rest.chars().next().map_or(0, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_escapes_none() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("a\nb", 2),
            ("\u{6f22}\u{5b57}", 4),
            ("e\u{301}", 1),
            ("\u{1f600}", 2),
            ("\u{1b}[31mred\u{1b}[0m", 3),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", 4),
            ("\u{1b}", 0),
            ("\u{1b}[", 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn a_prefix_never_splits_a_wide_character_or_an_escape() {
        let text = "a\u{6f22}\u{1b}[31mb";
        assert_eq!([0, 1, 2, 3, 4, 9].map(|budget| prefix(text, budget)), [0, 1, 1, 9, 10, 10]);
    }
}
