//! Goal: caps act on the output inside of its wrapping, and say when they cannot know. Method: a
//! cap with a header in a template, over outputs that are whole, have a gap or were only sent.

use alloc::vec;

use super::*;
use crate::policy::op::TextEscape;
use crate::policy::{Shape, Unit};

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
    let caps = caps(limit);
    make(&caps.iter().collect::<Vec<_>>(), sent, known)
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
