//! Goal: caps act on the output inside of its wrapping, and say when they cannot know. Method: a
//! cap with a header in a template, over outputs that are whole, have a gap or were only sent.

use alloc::{format, vec};

use super::*;
use crate::policy::op::{CapLines, Ceiling, Shared, Template};
use crate::policy::{Amount, Count, LineRule, Shape, Unit};

fn caps(limit: u64) -> Vec<CapText> {
    let buffer = CapText::plain(Unit::Bytes, 100, Shape::middle(500), "\n... {n} gone ...\n");
    let form = "Exit {code}\n{text}".to_owned();
    let template = Template { whole: form.clone(), cut: form, escape: TextEscape::None };
    let cap = CapText {
        header: "Tokens: {total_tokens}\nLines: {total_lines}\n\n".to_owned(),
        template: Some(template),
        ..CapText::plain(Unit::Chars, limit, Shape::middle(500), "<{n} cut>")
    };
    vec![buffer, cap]
}

fn made(limit: u64, sent: &str, known: Option<Known<'_>>) -> Made {
    let caps: Vec<Op> = caps(limit).into_iter().map(Op::CapText).collect();
    let caps: Vec<&Op> = caps.iter().collect();
    make(&caps, sent, known, &Context::default())
}

fn sent(limit: u64, whole: &str) -> String {
    match made(limit, &["Exit 3\n", whole].concat(), Some(Known::Whole(whole))) {
        Made::Text(text, Basis::Known) => text,
        other => panic!("{other:?}"),
    }
}

fn lines(count: usize) -> String {
    (0..count)
        .map(|n| ["line ", if n < 10 { "0" } else { "" }, &n.to_string(), "\n"].concat())
        .collect()
}

#[test]
fn an_output_that_fits_stays_as_it_was_sent() {
    let whole = lines(4);
    assert_eq!(sent(40, &whole), format!("Exit 3\n{whole}"));
}

#[test]
fn a_cap_cuts_the_whole_output_under_its_header() {
    let whole = lines(5);
    let shown = sent(10, &whole);
    assert_eq!(shown, "Exit 3\nTokens: 10\nLines: 5\n\nline <30 cut>e 04\n");
    // An earlier cut takes the place of the line that counts lines, and counts in the later one.
    let long = lines(20);
    let shown = sent(10, &long);
    assert_eq!(shown, "Exit 3\nTokens: 40\n... 60 gone ...\n\nline <107 cut>e 19\n");
}

#[test]
fn the_same_comes_out_whatever_limit_the_sent_text_was_cut_by() {
    for count in [5, 12, 13, 20, 40] {
        let whole = lines(count);
        let wide = sent(20, &whole);
        let narrow = sent(10, &whole);
        assert_eq!(
            made(10, &wide, Some(Known::Whole(&whole))),
            Made::Text(narrow.clone(), Basis::Known)
        );
        let (head, tail) = (&whole[..15], &whole[whole.len() - 15..]);
        let ends = Some(Known::Ends(head, tail));
        assert_eq!(made(10, &wide, ends), Made::Text(narrow.clone(), Basis::Known), "{count}");
        assert_eq!(made(20, &wide, ends), Made::Text(wide.clone(), Basis::Known), "{count}");
        assert_eq!(made(10, &wide, None), Made::Text(narrow, Basis::Sent), "{count}");
    }
}

#[test]
fn what_is_not_on_record_is_not_shown() {
    let whole = lines(12);
    let narrow = sent(10, &whole);
    assert_eq!(made(60, &narrow, None), Made::Gap);
    assert_eq!(made(60, &narrow, Some(Known::Ends(&whole[..20], &whole[76..]))), Made::Gap);
    assert_eq!(made(60, "another form", None), Made::Unread);
    assert_eq!(made(60, &narrow, Some(Known::Whole("another output"))), Made::Unread);
}

#[test]
fn what_is_not_on_record_is_not_shown_inside_of_json_either() {
    let template = Template {
        whole: "{\"all\": \"{text}\"}".to_owned(),
        cut: "{\"head\": \"{head}\", \"tail\": \"{tail}\", \"gone\": {n}}".to_owned(),
        escape: TextEscape::Json,
    };
    let under = |limit: u64, sent: &str| {
        let cap = CapText::plain(Unit::Chars, limit, Shape::middle(500), "");
        let op = Op::CapText(CapText { template: Some(template.clone()), ..cap });
        make(&[&op], sent, None, &Context::default())
    };
    let sent = "{\"head\": \"line\", \"tail\": \"end\\n\", \"gone\": 40}";
    assert_eq!(under(8, sent), Made::Text(sent.to_owned(), Basis::Sent));
    let narrow = "{\"head\": \"li\", \"tail\": \"d\\n\", \"gone\": 44}";
    assert_eq!(under(4, sent), Made::Text(narrow.to_owned(), Basis::Sent));
    assert_eq!(under(20, sent), Made::Gap);
    assert_eq!(under(100, sent), Made::Gap);
}

/// Two limits of one cap: bytes, and four times as many tokens.
fn two_limits(limit: u64) -> Op {
    let ceiling = Ceiling {
        unit: Unit::Tokens,
        limit: Amount::Fixed(10),
        marker: "<{n} tokens>".to_owned(),
        marker_count: Count::NominalTokens,
    };
    let cap = CapText::plain(Unit::Bytes, limit, Shape::middle(500), "<{n} cut>");
    let header = "Lines: {total_lines}\n".to_owned();
    Op::CapText(CapText { ceiling: Some(ceiling), header, ..cap })
}

#[test]
fn of_two_limits_the_one_that_leaves_less_is_in_force() {
    let whole = lines(12);
    let under = |limit: u64, sent: &str| {
        let op = two_limits(limit);
        make(&[&op], sent, Some(Known::Whole(&whole)), &Context::default())
    };
    let text = |made| match made {
        Made::Text(text, Basis::Known) => text,
        other => panic!("{other:?}"),
    };
    let narrow = text(under(20, &whole));
    assert_eq!(narrow, "Lines: 12\nline 00\nli<76 cut>0\nline 11\n");
    // Forty bytes are ten tokens: with as much room the first limit is in force.
    assert!(text(under(40, &narrow)).contains("<56 cut>"));
    let wide = text(under(60, &narrow));
    assert!(wide.contains("<14 tokens>"), "{wide}");
    // Both markers are read.
    assert_eq!(text(under(20, &wide)), narrow);
}

/// A budget that both ends share, and the name of a file.
fn shared(limit: u64) -> Op {
    Op::CapLines(CapLines {
        max_lines: Some(Amount::Fixed(100)),
        max_bytes: None,
        shared: Some(Shared {
            unit: Unit::Utf16,
            limit: Amount::Fixed(limit),
            line_marker: "...".to_owned(),
        }),
        max_line: None,
        max_line_unit: Unit::Chars,
        line_marker: String::new(),
        shape: Shape::middle(200),
        huge_line: crate::policy::op::HugeLine::Empty,
        boundary: crate::policy::Edge::Shrink,
        line_rule: LineRule::SplitLf,
        marker: "\n--\n".to_owned(),
        header: "Saved to: {spill}\n".to_owned(),
        empty: String::new(),
        spill: crate::policy::Spill::Recorded,
    })
}

#[test]
fn the_name_of_a_file_comes_from_the_record_or_from_who_asks() {
    let whole = lines(20);
    let op = shared(60);
    let of = |sent: &str, values: &[(&str, &str)]| {
        let context = Context { values, ..Context::default() };
        make(&[&op], sent, Some(Known::Whole(&whole)), &context)
    };
    // The head's share is twelve: a line of seven and its feed, then one and the dots. For the
    // last line of the tail just the dots are left, and from minus zero on it is whole.
    let shown = "Saved to: /a/b\nline 00\nl...\n--\n...line 14\nline 15\nline 16\nline 17\n\
                 line 18\nline 19\n";
    assert_eq!(of(&whole, &[]), Made::Unknown(0, Unknown::Value));
    let made = of(&whole, &[("spill", "/a/b")]);
    assert_eq!(made, Made::Text(shown.to_owned(), Basis::Known));
    assert_eq!(of(shown, &[("spill", "/c")]), made);
    assert_eq!(spill(&[&op], shown).as_deref(), Some("/a/b"));
    assert_eq!(spill(&[&op], &whole), None);
}

#[test]
fn without_the_whole_a_tighter_budget_shows_what_a_looser_one_has_shown() {
    let whole = lines(40);
    let values: &[(&str, &str)] = &[("spill", "/a/b")];
    let context = Context { values, ..Context::default() };
    let (wide, narrow) = (shared(200), shared(60));
    let known = Some(Known::Whole(whole.as_str()));
    let Made::Text(sent, _) = make(&[&wide], &whole, known, &context) else { panic!() };
    let Made::Text(expected, _) = make(&[&narrow], &whole, known, &context) else { panic!() };
    assert_eq!(make(&[&narrow], &sent, None, &context), Made::Text(expected.clone(), Basis::Sent));
    assert_eq!(make(&[&wide], &expected, None, &context), Made::Gap);
}
