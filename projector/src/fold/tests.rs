//! Goal: the fold's own pieces: caps one after the other.
//! Method: short tables, and every pair of caps over short texts against a text whose characters
//! know where they come from. Whole folds are in `tests/it`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::effect::Shown;
use crate::memo::Piece;
use crate::policy::{CapText, Shape, Unit};
use crate::text::{self, Context, cap_text};

/// Where a character of a shown text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// This offset of the recorded text.
    Text(usize),
    /// The marker of this step.
    Marker(usize),
}

type Traced = Vec<(char, From)>;

/// Cuts a text whose characters know where they come from.
fn trace(traced: Traced, step: usize, cap: &CapText) -> Traced {
    let text: String = traced.iter().map(|(c, _)| *c).collect();
    let Some(cut) = cap_text(cap, &text, &Context::default()).unwrap() else { return traced };
    let mut left = Traced::new();
    for piece in &cut.pieces {
        match piece {
            text::Piece::Kept(range) => {
                let [from, to] = [range.start, range.end].map(|at| text[..at].chars().count());
                left.extend(&traced[from..to]);
            }
            text::Piece::Inserted(marker) => {
                left.extend(marker.chars().map(|c| (c, From::Marker(step))));
            }
            text::Piece::Half(_) => panic!("no cap of these cuts through a character"),
        }
    }
    left
}

/// The characters that pieces stand for.
fn flatten(text: &str, pieces: &[Piece]) -> Traced {
    let mut traced = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Kept(range) => {
                assert!(!range.is_empty(), "{pieces:?}");
                let at = |(offset, c)| (c, From::Text(range.start + offset));
                traced.extend(text[range.clone()].char_indices().map(at));
            }
            Piece::Inserted(step, marker) => {
                assert!(!marker.is_empty(), "{pieces:?}");
                traced.extend(marker.chars().map(|c| (c, From::Marker(*step))));
            }
        }
    }
    traced
}

fn caps() -> Vec<CapText> {
    let mut caps = Vec::new();
    for unit in [Unit::Bytes, Unit::Chars, Unit::Utf16, Unit::Lines] {
        for shape in [Shape::Head, Shape::Tail, Shape::middle(500)] {
            for (marker, marker_in_limit) in [("", false), ("<{n}>", false), ("\n{n}\n", true)] {
                for limit in [0, 1, 2, 3, 5, 8, 13] {
                    let plain = CapText::plain(unit, limit, shape, marker);
                    caps.push(CapText { marker_in_limit, ..plain });
                }
            }
        }
    }
    caps
}

fn capped<'t>(shown: Shown<'t>, nth: usize, cap: &CapText) -> Shown<'t> {
    match cap_text(cap, &shown.text, &Context::default()).unwrap() {
        Some(left) => shown.then(nth, &left),
        None => shown,
    }
}

#[test]
fn two_caps_in_a_row_leave_pieces_of_the_recorded_text() {
    let caps = caps();
    for text in
        ["", "abcdefghijkl", "\u{e9}\u{6f22}\u{1f600}a\n\u{1f600}\u{6f22}z", "1\n2\r\n3\n\n5\n6"]
    {
        let whole: Traced = text.char_indices().map(|(at, c)| (c, From::Text(at))).collect();
        for (first, second) in caps.iter().flat_map(|a| caps.iter().map(move |b| (a, b))) {
            let shown = capped(capped(Shown::of(text), 3, first), 5, second);
            let traced = trace(trace(whole.clone(), 3, first), 5, second);
            let context = || format!("{text:?} {first:?} {second:?}");
            let string: String = traced.iter().map(|(c, _)| *c).collect();
            assert_eq!(shown.text, string, "{}", context());
            if !text.is_empty() {
                assert_eq!(flatten(text, &shown.pieces), traced, "{}", context());
            }
            assert_eq!(shown.is_cut(text.len()), traced != whole, "{}", context());
        }
    }
}
