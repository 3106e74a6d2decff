//! Goal: what a step shows of a text is what it says it shows. Method: random texts and random
//! caps of every unit, shape, edge and count; pieces are checked against the text itself.

use projector::policy::{Amount, Atoms, CapText, Count, Edge, LineRule, Round, Shape, Split, Unit};
use projector::text::{self, Chain, Context, Piece, Shown};
use proptest::prelude::*;
use proptest::sample::select;

fn any_text() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "a",
        "bc",
        "\n",
        "\r\n",
        "\r",
        "\u{e9}",
        "\u{6f22}",
        "\u{1f600}",
        "\u{301}",
        "\0",
        " ",
        "\u{2028}",
        "\u{1b}[1m",
        "a long line without an end ",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_cap() -> impl Strategy<Value = CapText> {
    let unit = select(Unit::ALL.to_vec());
    let round = select(Round::ALL.to_vec());
    let shape = (0..5, 0..=1000_u16, round, 0..20_u64, 0..20_u64).prop_map(
        |(kind, head_per_mille, round, head, tail)| match kind {
            0 => Shape::Head,
            1 => Shape::Tail,
            2 => Shape::Replace,
            3 => Shape::Middle(Split::Fixed { head, tail }),
            _ => Shape::Middle(Split::Ratio { head_per_mille, round }),
        },
    );
    let marker = select(vec!["", "[{n}]", "\n{n} of {total}\n", "{unknown} {"]);
    let more = (
        select(Edge::ALL.to_vec()),
        select(Atoms::ALL.to_vec()),
        select(Count::ALL.to_vec()),
        select(LineRule::ALL.to_vec()),
        any::<bool>(),
    );
    (unit, 0..40_u64, shape, marker, more).prop_map(
        |(unit, limit, shape, marker, (boundary, atoms, marker_count, line_rule, in_limit))| {
            CapText {
                boundary,
                atoms,
                marker_count,
                line_rule,
                marker_in_limit: in_limit,
                ..CapText::plain(unit, limit, shape, marker)
            }
        },
    )
}

fn cut(cap: &CapText, text: &str) -> Option<Shown> {
    text::cap_text(cap, text, &Context::default()).unwrap()
}

/// Bytes that are kept; ranges are on boundaries, in order, and do not overlap.
fn kept(shown: &Shown, text: &str) -> u64 {
    let (mut end, mut kept) = (0, 0);
    for piece in &shown.pieces {
        if let Piece::Kept(range) = piece {
            assert!(range.start >= end && !range.is_empty(), "{shown:?}");
            assert!(text.get(range.clone()).is_some(), "{shown:?}");
            end = range.end;
            kept += range.len() as u64;
        }
    }
    kept
}

fn hidden(shown: &Shown, text: &str) -> String {
    let mut at = 0;
    let mut out = String::new();
    for piece in &shown.pieces {
        if let Piece::Kept(range) = piece {
            out.push_str(&text[at..range.start]);
            at = range.end;
        }
    }
    out + &text[at..]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_kept_and_what_is_hidden_are_the_text(text in any_text(), cap in any_cap()) {
        match cut(&cap, &text) {
            None => {
                prop_assert!(text.is_empty() || text::size(cap.unit, &text) <= 40 + 40);
            }
            Some(shown) => {
                prop_assert_eq!(kept(&shown, &text) + shown.hidden_bytes, text.len() as u64);
                if cap.boundary != Edge::Raw {
                    prop_assert!(shown.is_well_formed(&text));
                }
                let halves =
                    shown.pieces.iter().filter(|piece| matches!(piece, Piece::Half(_))).count();
                prop_assert!(halves <= 2);
                // What is shown is the same as text and as UTF-16.
                let lossy = String::from_utf16_lossy(&shown.utf16(&text));
                prop_assert_eq!(lossy, shown.lossy(&text));
            }
        }
    }

    #[test]
    fn a_marker_counts_what_is_hidden(text in any_text(), cap in any_cap()) {
        let counts = [Count::RemovedBytes, Count::RemovedChars, Count::RemovedUtf16];
        for marker_count in counts {
            let cap = CapText {
                marker: "<{n}>".into(),
                marker_in_limit: false,
                marker_count,
                ..cap.clone()
            };
            let Some(shown) = cut(&cap, &text) else { continue };
            let hidden = hidden(&shown, &text);
            let halves =
                shown.pieces.iter().filter(|piece| matches!(piece, Piece::Half(_))).count();
            let counted = match marker_count {
                Count::RemovedBytes => hidden.len(),
                Count::RemovedChars => hidden.chars().count(),
                _ => hidden.encode_utf16().count() - halves,
            };
            let marker = Piece::Inserted(format!("<{counted}>"));
            prop_assert!(shown.pieces.contains(&marker), "{:?} {}", shown, counted);
        }
    }

    #[test]
    fn a_larger_limit_never_hides_more(text in any_text(), cap in any_cap(), more in 1..9_u64) {
        let limited = CapText { marker_in_limit: false, ..cap };
        let Some(limit) = limited.limit.and_then(Amount::fixed) else { return Ok(()) };
        let wider = CapText { limit: Some(Amount::Fixed(limit + more)), ..limited.clone() };
        let bytes = |cap: &CapText| cut(cap, &text).map_or(0, |shown| shown.hidden_bytes);
        prop_assert!(bytes(&wider) <= bytes(&limited));
    }

    #[test]
    fn a_chain_of_caps_is_one_cap_after_the_other(
        text in any_text(),
        first in any_cap(),
        second in any_cap(),
    ) {
        let mut chain = Chain::of(&text);
        let mut plain = text.clone();
        for cap in [&first, &second] {
            if let Some(shown) = cut(cap, &plain) {
                chain = chain.then(&shown);
                plain = shown.lossy(&plain);
            }
        }
        prop_assert_eq!(chain.text(), plain.as_str());
        let shown = chain.into_shown();
        kept(&shown, &text);
        prop_assert_eq!(shown.lossy(&text), plain);
    }
}

#[test]
fn halves_that_meet_are_a_character() {
    let text = "\u{1f600}\u{1f600}";
    let shape = Shape::Middle(Split::Fixed { head: 1, tail: 1 });
    let cap = CapText { boundary: Edge::Raw, ..CapText::plain(Unit::Utf16, 2, shape, "") };
    let shown = cut(&cap, text).unwrap();
    assert_eq!(shown.pieces, [Piece::Inserted("\u{1f600}".into())]);
    let chain = Chain::of(text).then(&shown);
    assert_eq!(chain.text(), shown.lossy(text));
}

#[test]
fn a_half_that_another_step_has_looked_at_is_a_replacement() {
    let text = "\u{1f600}ab\u{1f600}";
    let ends = Shape::Middle(Split::Fixed { head: 1, tail: 1 });
    let outer = CapText { boundary: Edge::Raw, ..CapText::plain(Unit::Utf16, 2, ends, "-") };
    let first = cut(&outer, text).unwrap();
    assert_eq!(first.lossy(text), "\u{fffd}-\u{fffd}");
    let inner = CapText::plain(Unit::Chars, 2, ends, "");
    let plain = first.lossy(text);
    let second = cut(&inner, &plain).unwrap();
    let chain = Chain::of(text).then(&first).then(&second);
    assert_eq!(chain.text(), "\u{fffd}\u{fffd}");
    assert_eq!(chain.into_shown().lossy(text), "\u{fffd}\u{fffd}");
}
