//! What a line is: three rules that differ in bytes.

use alloc::vec::Vec;

use crate::policy::LineRule;

/// Lines of a text.
///
/// | rule | `""` | `"a\n"` | `"a\r\nb\r"` |
/// |---|---|---|---|
/// | `rust_lines` | 0 | 1 | 2 |
/// | `split_lf` | 1 | 2 | 2 |
/// | `py_splitlines` | 0 | 1 | 2 |
pub fn count(rule: LineRule, text: &str) -> u64 {
    let bytes = text.as_bytes();
    match rule {
        LineRule::SplitLf => memchr::memchr_iter(b'\n', bytes).count() as u64 + 1,
        LineRule::RustLines => {
            let feeds = memchr::memchr_iter(b'\n', bytes).count() as u64;
            feeds + u64::from(!text.is_empty() && !text.ends_with('\n'))
        }
        LineRule::PySplitlines => {
            let ends = ends(rule, text);
            let last = ends.last().map_or(0, |end| end.1);
            ends.len() as u64 + u64::from(last < text.len())
        }
    }
}

/// Where lines begin, in bytes. A text that `count` finds no line in has none.
pub fn starts(rule: LineRule, text: &str) -> Vec<usize> {
    let ends = ends(rule, text);
    let mut starts = Vec::with_capacity(ends.len() + 1);
    if !text.is_empty() || rule == LineRule::SplitLf {
        starts.push(0);
    }
    for (_, end) in ends {
        if end < text.len() || rule == LineRule::SplitLf {
            starts.push(end);
        }
    }
    starts
}

/// Where lines end: before and behind their line end.
pub(super) fn ends(rule: LineRule, text: &str) -> Vec<(usize, usize)> {
    if rule != LineRule::PySplitlines {
        return memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| (at, at + 1)).collect();
    }
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = matches!(
            c,
            '\n' | '\r'
                | '\u{b}'
                | '\u{c}'
                | '\u{1c}'
                | '\u{1d}'
                | '\u{1e}'
                | '\u{85}'
                | '\u{2028}'
                | '\u{2029}'
        );
        if !is_end {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        ends.push((at, end));
    }
    ends
}

/// The lines of a text as ranges without their line ends.
pub(super) fn ranges(rule: LineRule, text: &str) -> Vec<core::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    for (end, next) in ends(rule, text) {
        out.push(start..end);
        start = next;
    }
    if start < text.len() || rule == LineRule::SplitLf {
        out.push(start..text.len());
    }
    out
}
