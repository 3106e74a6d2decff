//! Goal: a cap keeps all that its limit allows, on character boundaries, and its marker tells the
//! truth. Method: every short text over ASCII, two to four byte characters and the line endings,
//! under every unit, shape and limit, against a search that tries every boundary.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::cap_text;
use crate::policy::{Amount, CapText, Round, Shape, Split, Unit};
use crate::text::{Context, Piece, size};
use ledger::event::TextMeasure;

const ATOMS: [&str; 7] = ["a", "\u{e9}", "\u{6f22}", "\u{1f600}", "\n", "\r\n", "\r"];
const UNITS: [Unit; 4] = [Unit::Bytes, Unit::Chars, Unit::Utf16, Unit::Lines];
const SHAPES: [Shape; 6] = [
    Shape::Head,
    Shape::Tail,
    Shape::Middle(Split::Ratio { head_per_mille: 0, round: Round::FloorHead }),
    Shape::Middle(Split::Ratio { head_per_mille: 500, round: Round::FloorHead }),
    Shape::Middle(Split::Ratio { head_per_mille: 667, round: Round::FloorHead }),
    Shape::Middle(Split::Ratio { head_per_mille: 1000, round: Round::FloorHead }),
];
/// Texts that are longer than the exhaustive ones, so that markers have two digits.
const LONG: [&str; 6] = [
    "abcdefghijklmnopqrstuvwxyz",
    "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}",
    "a\u{e9}\u{6f22}\u{1f600}a\u{e9}\u{6f22}\u{1f600}a\u{e9}",
    "one\ntwo\r\n\r\nthree\rfour\n\n\nfive",
    "one\ntwo\nthree\n\u{6f22}\u{6f22}\nfive\nsix\nseven\neight\nnine\nten\neleven\n",
    "\n\n\n\n\n\n\n\n\n\n\n\n",
];

/// A head, a marker, a tail.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    head: Range<usize>,
    marker: String,
    tail: Range<usize>,
}

/// Cuts `text`, for caps that keep ends of it around one marker.
fn cut(cap: &CapText, text: &str) -> Option<Cut> {
    let shown = cap_text(cap, text, &Context::default()).unwrap()?;
    let mut cut = Cut { head: 0..0, marker: String::new(), tail: text.len()..text.len() };
    for (index, piece) in shown.pieces.into_iter().enumerate() {
        match piece {
            Piece::Kept(range) if index == 0 && range.start == 0 => cut.head = range,
            Piece::Kept(range) => cut.tail = range,
            Piece::Inserted(text) => cut.marker.push_str(&text),
            Piece::Half(_) => panic!("no cap of these cuts through a character"),
        }
    }
    Some(cut)
}

/// Every text of up to `atoms` atoms, and the long ones.
fn texts(atoms: usize) -> Vec<String> {
    let mut all: Vec<String> = alloc::vec![String::new()];
    let mut from = 0;
    for _ in 0..atoms {
        let to = all.len();
        for index in from..to {
            all.extend(ATOMS.map(|atom| format!("{}{atom}", all[index])));
        }
        from = to;
    }
    all.extend(LONG.map(String::from));
    all
}

/// Sizes by the standard library's own definitions.
fn measured(unit: Unit, text: &str) -> u64 {
    let count = match unit {
        Unit::Bytes => text.len(),
        Unit::Chars => text.chars().count(),
        Unit::Utf16 => text.encode_utf16().count(),
        Unit::Lines => text.lines().count(),
        Unit::Columns | Unit::Tokens => unreachable!(),
    };
    count as u64
}

fn boundaries(text: &str) -> Vec<usize> {
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect()
}

/// The longest prefix and the longest suffix within their budgets, by trying every boundary.
fn search(unit: Unit, text: &str, head: u64, tail: u64) -> (Range<usize>, Range<usize>) {
    let at = boundaries(text);
    let fits_head = |end: &&usize| measured(unit, &text[..**end]) <= head;
    let end = *at.iter().rev().find(fits_head).unwrap();
    let fits_tail = |start: &&usize| **start >= end && measured(unit, &text[**start..]) <= tail;
    let start = *at.iter().find(fits_tail).unwrap();
    (0..end, start..text.len())
}

fn cap(unit: Unit, shape: Shape, limit: u64, marker: &str, marker_in_limit: bool) -> CapText {
    CapText { marker_in_limit, ..CapText::plain(unit, limit, shape, marker) }
}

fn limit(cap: &CapText) -> u64 {
    cap.limit.and_then(Amount::fixed).unwrap()
}

fn spelled(cap: &CapText, hidden: u64, total: u64) -> String {
    let marker = cap.marker.replace("{n}", &format!("{hidden}"));
    marker.replace("{total}", &format!("{total}")).replace("{limit}", &format!("{}", limit(cap)))
}

fn shown(text: &str, cut: &Cut) -> String {
    format!("{}{}{}", &text[cut.head.clone()], cut.marker, &text[cut.tail.clone()])
}

/// Calls `check` for every text, unit, shape and limit with the given marker.
fn everywhere(atoms: usize, marker: &str, in_limit: bool, check: impl Fn(&str, &CapText)) {
    for text in texts(atoms) {
        for unit in UNITS {
            for limit in 0..=measured(unit, &text) + 1 {
                for shape in SHAPES {
                    check(&text, &cap(unit, shape, limit, marker, in_limit));
                }
            }
        }
    }
}

fn budgets(shape: Shape, budget: u64) -> (u64, u64) {
    let head = match shape {
        Shape::Head => budget,
        Shape::Tail => 0,
        Shape::Middle(Split::Ratio { head_per_mille, .. }) => {
            budget * u64::from(head_per_mille) / 1000
        }
        Shape::Middle(Split::Fixed { .. }) | Shape::Replace => unreachable!(),
    };
    (head, budget - head)
}

#[test]
fn sizes_are_those_of_the_standard_library_and_of_the_record() {
    for text in texts(4) {
        let measure = TextMeasure::of(&text);
        for unit in UNITS {
            assert_eq!(size(unit, &text), measured(unit, &text), "{unit:?} {text:?}");
        }
        let recorded = [measure.chars, measure.utf16];
        assert_eq!(recorded, [Unit::Chars, Unit::Utf16].map(|unit| measured(unit, &text)));
    }
}

#[test]
fn a_text_within_the_limit_is_not_touched_and_a_longer_one_is() {
    for in_limit in [false, true] {
        everywhere(3, "<{n}>", in_limit, |text, cap| {
            let longer = measured(cap.unit, text) > limit(cap);
            assert_eq!(cut(cap, text).is_some(), longer, "{cap:?} {text:?}");
        });
    }
}

#[test]
fn what_is_kept_is_on_boundaries_and_the_most_that_the_limit_allows() {
    for marker in ["", "<{n}>", "\n[{n} of {total}, limit {limit}]\n"] {
        everywhere(3, marker, false, |text, cap| {
            let Some(cut) = cut(cap, text) else { return };
            let (head, tail) = budgets(cap.shape, limit(cap));
            let kept = search(cap.unit, text, head, tail);
            assert_eq!((cut.head.clone(), cut.tail.clone()), kept, "{cap:?} {text:?}");
            let hidden = measured(cap.unit, &text[cut.head.end..cut.tail.start]);
            assert!(hidden > 0, "{cap:?} {text:?}");
            let total = measured(cap.unit, text);
            assert_eq!(cut.marker, spelled(cap, hidden, total), "{cap:?} {text:?}");
        });
    }
}

#[test]
fn a_marker_within_the_limit_never_makes_the_text_longer_than_the_limit() {
    for marker in ["", "<{n}>", "{n}\u{6f22}\u{1f600}", "\n{n}\n", "{limit}/{total} \u{e9}"] {
        everywhere(3, marker, true, |text, cap| {
            let Some(cut) = cut(cap, text) else { return };
            let found = measured(cap.unit, &shown(text, &cut));
            assert!(found <= limit(cap), "{found} in {cap:?} {text:?} {cut:?}");
        });
    }
}

#[test]
fn a_marker_within_the_limit_leaves_the_text_all_that_its_widest_form_does_not_need() {
    for marker in ["", "<{n}>", "{n}\u{6f22}", "\n{n}\n"] {
        everywhere(3, marker, true, |text, cap| {
            let Some(cut) = cut(cap, text) else { return };
            let total = measured(cap.unit, text);
            let widest = spelled(cap, total, total);
            let Some(budget) = limit(cap).checked_sub(measured(cap.unit, &widest)) else {
                let (start, _) = search(cap.unit, &widest, limit(cap), 0);
                assert_eq!(shown(text, &cut), widest[start], "{cap:?} {text:?}");
                return;
            };
            let (head, tail) = budgets(cap.shape, budget);
            let kept = search(cap.unit, text, head, tail);
            assert_eq!((cut.head.clone(), cut.tail.clone()), kept, "{cap:?} {text:?}");
            let hidden = measured(cap.unit, &text[cut.head.end..cut.tail.start]);
            assert_eq!(cut.marker, spelled(cap, hidden, total), "{cap:?} {text:?}");
        });
    }
}

#[test]
fn a_larger_limit_never_hides_more_when_the_marker_is_outside() {
    everywhere(3, "<{n}>", false, |text, cap| {
        let Some(small) = cut(cap, text) else { return };
        let larger = CapText { limit: Some(Amount::Fixed(limit(cap) + 1)), ..cap.clone() };
        let Some(large) = cut(&larger, text) else { return };
        assert!(large.head.end >= small.head.end, "{cap:?} {text:?}");
        assert!(large.tail.start <= small.tail.start, "{cap:?} {text:?}");
    });
}

#[test]
fn limits_beyond_every_text_leave_it_alone() {
    for unit in UNITS {
        for shape in SHAPES {
            assert_eq!(cut(&cap(unit, shape, u64::MAX, "<{n}>", true), LONG[3]), None);
        }
    }
}
