//! Goal: what a form wrote it reads back, and nothing else. Method: small forms filled and read,
//! and texts that are almost of the form.

use super::*;

fn filled(escape: TextEscape, form: &str, value: &str, text: &str) -> String {
    let values = BTreeMap::from([("code".to_owned(), value.to_owned())]);
    Form::new(form, escape).fill(&values, &[("text", text)])
}

#[test]
fn what_a_form_writes_it_reads_back() {
    let json = "{\n  \"returncode\": {code},\n  \"output\": \"{text}\"\n}";
    for text in ["", "plain", "quo\"te \\ and \\\\\"", "line\nfeed\u{e9}\u{1f600}\u{0}", "\"\n}"] {
        for escape in [TextEscape::JsonAscii, TextEscape::Json] {
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
    let written = form.fill(&BTreeMap::new(), &[("text", "x")]);
    assert_eq!(written, "{} {A} {\n{ x");
}
