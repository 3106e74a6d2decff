//! Whether a policy says truly what it leaves out of an output.
//!
//! A notice is what a policy writes into an output that it cuts or replaces. It may state an
//! amount, as in `[... 1,234 bytes hidden ...]`: a number, a unit behind it, and a word for
//! leaving out, in a row. Stated amounts are compared with what is not shown.

use alloc::vec::Vec;
use core::ops::Range;

/// Notices of a request, or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Outputs of which something is left out and that have a notice.
    pub all: u64,
    /// Those whose notice states an amount in bytes, characters or lines.
    pub stated: u64,
    /// Those whose amount is not what is left out.
    pub wrong: u64,
    /// Bytes by which stated bytes are off, summed up.
    pub off_bytes: u64,
    /// The same of characters.
    pub off_characters: u64,
    /// The same of lines.
    pub off_lines: u64,
    /// Outputs of which something is left out without a notice.
    pub silent: u64,
    /// Bytes that are left out of them.
    pub silent_bytes: u64,
}

impl Notices {
    fn parts(&mut self) -> [&mut u64; 8] {
        [
            &mut self.all,
            &mut self.stated,
            &mut self.wrong,
            &mut self.off_bytes,
            &mut self.off_characters,
            &mut self.off_lines,
            &mut self.silent,
            &mut self.silent_bytes,
        ]
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        let mut other = *other;
        for (mine, theirs) in self.parts().into_iter().zip(other.parts()) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// Takes away what was added before.
    pub(crate) fn take_away(&mut self, other: &Self) {
        let mut other = *other;
        for (mine, theirs) in self.parts().into_iter().zip(other.parts()) {
            *mine = mine.saturating_sub(*theirs);
        }
    }
}

/// What an amount counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Code points, or UTF-16 units.
    Characters,
    /// Lines.
    Lines,
}

/// Words for a unit.
const UNITS: [(&str, Unit); 8] = [
    ("bytes", Unit::Bytes),
    ("byte", Unit::Bytes),
    ("characters", Unit::Characters),
    ("character", Unit::Characters),
    ("chars", Unit::Characters),
    ("char", Unit::Characters),
    ("lines", Unit::Lines),
    ("line", Unit::Lines),
];
/// Words for leaving out. The list is closed and part of the metric's definition.
pub const LEFT_OUT: [&str; 9] =
    ["hidden", "omitted", "truncated", "removed", "elided", "skipped", "cut", "cleared", "more"];
/// Words that may stand between a unit and the word for leaving out.
const BETWEEN_MAX: usize = 2;

/// The amount that a notice states first; `None`: it states none.
pub fn stated(notice: &str) -> Option<(u64, Unit)> {
    let words: Vec<&str> = notice
        .split(|c: char| !c.is_ascii_alphanumeric() && c != ',')
        .map(|word| word.trim_matches(','))
        .filter(|word| !word.is_empty())
        .collect();
    let is_left_out = |word: &&str| LEFT_OUT.iter().any(|known| word.eq_ignore_ascii_case(known));
    for (at, word) in words.iter().enumerate() {
        let Some(number) = number(word) else { continue };
        // "1,234 more bytes" and "truncated 1,234 bytes" say the same as "1,234 bytes hidden".
        let before = at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(is_left_out);
        let between = words.get(at + 1).is_some_and(is_left_out);
        let unit = words.get(at + 1 + usize::from(between));
        let unit =
            unit.and_then(|word| UNITS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)));
        let Some((_, unit)) = unit else { continue };
        let after = words.iter().skip(at + 2).take(BETWEEN_MAX + 1).any(is_left_out);
        if before || between || after {
            return Some((number, *unit));
        }
    }
    None
}

fn number(word: &str) -> Option<u64> {
    let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
    let is_number = word.bytes().next()?.is_ascii_digit() && word.as_bytes().iter().all(digits);
    is_number.then(|| word.replace(',', "").parse().ok()).flatten()
}

/// How far a stated amount is from what is left out of a text. `hidden` are the ranges that are not
/// shown, ascending. A character is a code point or a UTF-16 unit, and a line that is shown in part
/// may be counted or not: what lies between is exact.
pub fn off(text: &str, hidden: &[Range<usize>], amount: u64, unit: Unit) -> u64 {
    let pieces = || hidden.iter().filter_map(|range| text.get(range.clone()));
    let (least, most) = match unit {
        Unit::Bytes => {
            let bytes = hidden.iter().map(|range| range.len() as u64).sum();
            (bytes, bytes)
        }
        Unit::Characters => {
            let points = pieces().map(|piece| piece.chars().count() as u64).sum();
            let units = pieces().map(|piece| piece.encode_utf16().count() as u64).sum();
            (points, units)
        }
        Unit::Lines => lines(text, hidden),
    };
    amount.abs_diff(amount.clamp(least, most))
}

/// Lines of which nothing is shown, and lines of which something is not.
fn lines(text: &str, hidden: &[Range<usize>]) -> (u64, u64) {
    let (mut whole, mut touched) = (0, 0);
    let mut start = 0;
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while hidden.get(from).is_some_and(|range| range.end <= start) {
            from += 1;
        }
        let rest = hidden.get(from..).unwrap_or_default();
        let over = rest.iter().take_while(|range| range.start < end);
        let covered: usize = over.map(|range| range.end.min(end) - range.start.max(start)).sum();
        // A line end by itself is nothing that anybody reads.
        let content = line.trim_end_matches(['\n', '\r']).len();
        touched += u64::from(covered > 0);
        whole += u64::from(covered > 0 && covered >= content);
        start = end;
    }
    (whole, touched)
}

/// What is not among `shown` of a text of so many bytes. Ranges may overlap and come in any order.
pub(crate) fn complement(shown: &[Range<usize>], bytes: usize) -> Vec<Range<usize>> {
    let mut shown = shown.to_vec();
    shown.sort_by_key(|range| range.start);
    let mut hidden = Vec::new();
    let mut at = 0;
    for range in shown {
        if at < range.start.min(bytes) {
            hidden.push(at..range.start.min(bytes));
        }
        at = at.max(range.end);
    }
    if at < bytes {
        hidden.push(at..bytes);
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_from_notices_of_many_forms() {
        let cases = [
            ("\n[... 1234 bytes hidden ...]\n", Some((1234, Unit::Bytes))),
            ("[1,234 characters truncated]", Some((1234, Unit::Characters))),
            ("... (12 more lines)", Some((12, Unit::Lines))),
            ("(truncated 7 lines)", Some((7, Unit::Lines))),
            ("<20 lines of output omitted>", Some((20, Unit::Lines))),
            ("[omitted 300 chars]", Some((300, Unit::Characters))),
            ("showing the first 200 lines", None),
            ("300 tokens truncated", None),
            ("[cleared]", None),
            ("12 kB hidden", None),
            ("", None),
        ];
        for (notice, wanted) in cases {
            assert_eq!(stated(notice), wanted, "{notice}");
        }
    }

    #[test]
    fn an_amount_is_off_by_its_distance_to_what_may_be_meant() {
        let text = "one\ntwo\nthree\n\u{1f980}\n";
        let check = |from: usize, to: usize, amount, unit, wanted| {
            let hidden = core::slice::from_ref(&(from..to)).to_vec();
            assert_eq!(off(text, &hidden, amount, unit), wanted, "{hidden:?} {amount} {unit:?}");
        };
        check(4, 8, 4, Unit::Bytes, 0);
        check(4, 8, 9, Unit::Bytes, 5);
        // A crab is one code point and two UTF-16 units.
        for (amount, wanted) in [(0, 1), (1, 0), (2, 0), (3, 1)] {
            check(14, 18, amount, Unit::Characters, wanted);
        }
        check(4, 8, 1, Unit::Lines, 0);
        // Half a line and a whole one: one or two.
        for (amount, wanted) in [(0, 1), (1, 0), (2, 0), (3, 1)] {
            check(2, 8, amount, Unit::Lines, wanted);
        }
        check(0, text.len(), 4, Unit::Lines, 0);
    }

    #[test]
    fn what_is_not_shown_is_the_rest() {
        assert_eq!(complement(&[2..3, 0..1], 5), [1..2, 3..5]);
        assert!(complement(&[0..4, 1..2], 4).is_empty());
        assert_eq!(complement(&[], 2).first(), Some(&(0..2)));
        assert!(complement(&[], 0).is_empty());
    }
}
