//! Goal: what a form wrote it reads back, and nothing else. Method: small forms filled and read,
//! and texts that are almost of the form.

use super::*;

use crate::policy::op::{CapText, Op, Template};
use crate::policy::{Shape, Unit};
use crate::text::{self, Context};

/// What a step with the form as its template writes.
fn filled(escape: TextEscape, form: &str, value: &str, text: &str) -> String {
    let template = Template { whole: form.to_owned(), cut: form.to_owned(), escape };
    let cap = CapText::plain(Unit::Bytes, 1 << 20, Shape::Head, "");
    let values = &[("code", value)];
    let context = Context { values, ..Context::default() };
    let op = Op::CapText(CapText { template: Some(template), ..cap });
    text::apply(&op, text, &context).unwrap().unwrap().lossy(text)
}

#[test]
fn what_a_step_writes_its_form_reads_back() {
    let json = "{\n  \"returncode\": {code},\n  \"output\": \"{text}\"\n}";
    for text in ["", "plain", "quo\"te \\ and \\\\\"", "line\nfeed\u{e9}\u{1f600}\u{0}", "\"\n}"] {
        for escape in [TextEscape::JsonAscii, TextEscape::Json, TextEscape::JinjaJson] {
            let written = filled(escape, json, "-1", text);
            let mut read = Form::new(json, escape).read(&written).unwrap();
            assert_eq!(read.take("text").as_deref(), Some(text));
            assert_eq!(read.take("code").as_deref(), Some("-1"));
            assert_eq!(read, Filled::default());
        }
        let plain = "Exit {code}.\nOutput:\n{text}";
        let written = filled(TextEscape::None, plain, "0", text);
        let mut read = Form::new(plain, TextEscape::None).read(&written).unwrap();
        assert_eq!(read.take("text").as_deref(), Some(text));
    }
}

#[test]
fn a_form_is_found_at_its_places_with_numbers_and_paths() {
    let form = Form::new("[{n:,} of {total} in {spill}]", TextEscape::None);
    let text = "a [1,234 of 5 in /x y/z] b [x of 5 in /q] c [6 of 7 in /r\n] [8 of 9 in /s]";
    let places: Vec<_> = form.places(text).collect();
    let told = |place: &Place, name: &str| place.filled.values.get(name).cloned().unwrap();
    assert_eq!(places.len(), 2);
    assert_eq!(told(&places[0], "n"), "1,234");
    assert_eq!(told(&places[0], "spill"), "/x y/z");
    assert_eq!(&text[places[1].start..places[1].end], "[8 of 9 in /s]");
    assert!(form.counts() && form.has("spill") && !form.has("n"));
    // A comma behind a number is no part of it.
    let plain = Form::new("\"n\": {n}, {total:,}, end", TextEscape::None);
    let read = plain.read("\"n\": 12, 3,456, end").unwrap();
    assert_eq!((read.values["n"].as_str(), read.values["total"].as_str()), ("12", "3,456"));
    assert_eq!(plain.read("\"n\": 1,200, 3,456, end"), None);
    assert_eq!(form.read_start(text), None);
}

#[test]
fn a_text_that_is_not_of_the_form_is_not_read() {
    let form = Form::new("Exit {code}.\nOutput:\n{text}", TextEscape::None);
    for text in ["", "Exit 1", "exit 1.\nOutput:\n", "Exit 1.\nOutput:", "Exit 1\n.\nOutput:\nx"] {
        assert_eq!(form.read(text), None, "{text:?}");
    }
    let json = Form::new("[\"{text}\"]", TextEscape::Json);
    for text in ["[\"a]", "[\"a\"b\"]", "[\"\\q\"]", "[\"a\"] "] {
        assert_eq!(json.read(text), None, "{text:?}");
    }
}

#[test]
fn braces_around_anything_but_a_name_stand_for_themselves() {
    let form = Form::new("{} {A} {\n{ {text}", TextEscape::None);
    assert_eq!(form.read("{} {A} {\n{ x").unwrap().take("text").as_deref(), Some("x"));
}
