//! Goal: marks come out of an item and go back to the same bytes, a moved mark leaves the same
//! item behind, and nothing that only looks like a mark is touched. Method: items with the marks
//! that have to come out listed, random items, and random marks put into any base.

use proptest::prelude::*;

use super::*;
use crate::wire::escape::Escape;
use crate::wire::{Dialect, PartKind, template};

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Strips an item, asserts that it is restored, and returns what is left.
fn stripped(item: &str) -> (String, Vec<Mark>) {
    let Stripped { base, marks } = strip(item.as_bytes());
    assert_eq!(restore(&base, &marks), item.as_bytes(), "{item}");
    let length = base.len();
    assert!(marks.iter().all(|mark| mark.offset <= length));
    assert!(marks.is_sorted_by_key(|mark| mark.offset));
    (String::from_utf8(base.into_owned()).unwrap(), marks)
}

/// `{M}` in the item stands for a mark.
#[track_caller]
fn check(item: &str, base: &str, marks: &[(usize, &str)]) {
    let item = item.replace("{M}", MARK);
    let (found, found_marks) = stripped(&item);
    assert_eq!(found, base, "{item}");
    let expected: Vec<_> = marks
        .iter()
        .map(|(offset, bytes)| Mark {
            offset: *offset,
            bytes: bytes.replace("{M}", MARK).into_bytes(),
        })
        .collect();
    assert_eq!(found_marks, expected, "{item}");
}

#[test]
fn a_mark_is_taken_with_the_comma_that_binds_it() {
    check(r#"{"a":1,{M}}"#, r#"{"a":1}"#, &[(6, ",{M}")]);
    check(r#"{"a":1,{M},"b":2}"#, r#"{"a":1,"b":2}"#, &[(6, ",{M}")]);
    check(r#"{{M},"a":1}"#, r#"{"a":1}"#, &[(1, "{M},")]);
    check("{{M}}", "{}", &[(1, "{M}")]);
    check("{ {M} }", "{  }", &[(2, "{M}")]);
    check("{\r\n  {M} ,\r\n  \"a\": 1\r\n}", "{\r\n  \"a\": 1\r\n}", &[(5, "{M} ,\r\n  ")]);
    check("{ \"a\": 1 ,\n {M}\n}", "{ \"a\": 1\n}", &[(8, " ,\n {M}")]);
    check("{ \"a\": 1 ,\n {M} ,\n\"b\":2}", "{ \"a\": 1 ,\n\"b\":2}", &[(8, " ,\n {M}")]);
}

#[test]
fn two_marks_in_one_object_and_in_nested_blocks_are_taken() {
    check("{{M},{M}}", "{}", &[(1, "{M},"), (1, "{M}")]);
    check(r#"{{M},"a":1,{M}}"#, r#"{"a":1}"#, &[(1, "{M},"), (6, ",{M}")]);
    check(r#"{"a":1,{M},{M},"b":2}"#, r#"{"a":1,"b":2}"#, &[(6, ",{M}"), (6, ",{M}")]);
    check(
        r#"{"content":[{"text":"a",{M}},{"content":[{{M},"text":"b"}],{M}}],{M}}"#,
        r#"{"content":[{"text":"a"},{"content":[{"text":"b"}]}]}"#,
        &[(23, ",{M}"), (38, "{M},"), (50, ",{M}"), (52, ",{M}")],
    );
}

#[test]
fn the_value_of_a_mark_may_be_anything_and_is_not_searched() {
    for value in ["null", "5", "\"x\"", "[]", r#"{"cache_control":{"cache_control":1}}"#] {
        let mark = format!(r#","cache_control" : {value}"#);
        let (base, marks) = stripped(&format!(r#"{{"a":1{mark}}}"#));
        assert_eq!((base.as_str(), marks.len()), (r#"{"a":1}"#, 1));
        assert_eq!(marks[0].bytes, mark.as_bytes());
    }
}

#[test]
fn text_that_only_looks_like_a_mark_stays() {
    for item in [
        r#"{"text":"cache_control"}"#,
        r#"{"a":"\"cache_control\":{}"}"#,
        r#"{"a":["cache_control","cache_control"]}"#,
        r#"{"k":"cache_control","v":{"x":"cache_control"}}"#,
        r#"{"cache_controls":1,"Cache_control":2,"cache\u005fcontrol":3}"#,
        r#"{"\"cache_control":1}"#,
        r#""cache_control""#,
        r#"["cache_control"]"#,
        "",
        "null",
    ] {
        let (base, marks) = stripped(item);
        assert_eq!((base.as_str(), marks.as_slice()), (item, [].as_slice()));
    }
    check(
        r#"{"text":"\"cache_control\":{}","cache_control_":1,{M},"z":"cache_control"}"#,
        r#"{"text":"\"cache_control\":{}","cache_control_":1,"z":"cache_control"}"#,
        &[(49, ",{M}")],
    );
}

#[test]
fn arguments_of_a_call_are_the_models_json_and_are_not_searched() {
    for (dialect, item) in [
        (
            Dialect::AnthropicMessages,
            r#"{"role":"assistant","content":[{"id":"c","input":{"a":1,{M}},{M}},{"text":"t",
            {M}}]}"#,
        ),
        (
            Dialect::GeminiGenerate,
            r#"{"role":"model","parts":[{"functionCall":{"args":{"a":1,{M}},"id":"c"},{M}},
            {"text":"t",{M}}]}"#,
        ),
    ] {
        let item: String = item.lines().map(str::trim_start).collect();
        let item = item.replace("{M}", MARK);
        let (base, marks) = stripped(&item);
        assert_eq!(marks.len(), 2, "{item}");
        assert!(base.contains(&format!(r#"{{"a":1,{MARK}}}"#)), "{base}");
        let template = template::cut(dialect, PartKind::Item, base.as_bytes(), Escape::JSON);
        assert_eq!(template.slots.len(), 3);
        for slot in &template.slots {
            let inside = |mark: &Mark| slot.span.start < mark.offset && mark.offset < slot.span.end;
            assert!(!marks.iter().any(inside), "{item}");
        }
    }
}

#[test]
fn a_moved_mark_leaves_the_same_item_behind() {
    let bases = [
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        r#"{ "role": "user", "content": [ { "type": "tool_result", "content": [ {} ] } ] }"#,
    ];
    for base in bases {
        for (brace, _) in base.match_indices('}') {
            let (before, after) = base.split_at(base[..brace].trim_end().len());
            for space in ["", " ", "\r\n  "] {
                let comma = if before.ends_with('{') { "" } else { "," };
                let mark = if comma.is_empty() { MARK } else { &format!("{space}{MARK}") };
                let (left, marks) = stripped(&format!("{before}{comma}{mark}{after}"));
                assert_eq!((left.as_str(), marks.len()), (base, 1));
            }
        }
        assert_eq!(stripped(base), (base.to_owned(), Vec::new()));
    }
}

#[test]
fn an_item_with_too_many_marks_or_beyond_the_limits_is_kept_as_sent() {
    let item = |marks: usize| format!("[{}]", vec![format!("{{{MARK}}}"); marks].join(","));
    assert_eq!(stripped(&item(MARKS_MAX)).1.len(), MARKS_MAX);
    let (base, marks) = stripped(&item(MARKS_MAX + 1));
    assert_eq!((base, marks.len()), (item(MARKS_MAX + 1), 0));
    let deep = |levels: usize| format!("{}{{{MARK}}}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(stripped(&deep(SEARCH_DEPTH_MAX - 1)).1.len(), 1);
    assert_eq!(stripped(&deep(SEARCH_DEPTH_MAX)).1.len(), 0);
    assert_eq!(stripped(&deep(100_000)).1.len(), 0);
}

#[test]
fn every_cut_of_a_marked_item_is_kept_as_it_is_or_restored() {
    let item = format!(r#"{{{MARK},"content":[{{"text":"\"",{MARK}}}],"a":[],{MARK}}}"#);
    assert_eq!(stripped(&item).1.len(), 3);
    for cut in 0..item.len() {
        assert_eq!(stripped(&item[..cut]), (item[..cut].to_owned(), Vec::new()));
    }
}

#[test]
fn marks_out_of_order_or_past_the_end_lose_no_byte() {
    let mark = |offset, bytes: &str| Mark { offset, bytes: bytes.as_bytes().to_vec() };
    let restored = |marks: &[Mark]| String::from_utf8(restore(b"abc", marks)).unwrap();
    assert_eq!(restored(&[]), "abc");
    assert_eq!(restored(&[mark(0, "1"), mark(3, "2")]), "1abc2");
    assert_eq!(restored(&[mark(2, "1"), mark(1, "2")]), "ab12c");
    assert_eq!(restored(&[mark(usize::MAX, "1"), mark(0, "2")]), "abc12");
}

/// Items with marks anywhere, with all kinds of white space and nesting.
fn item() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["1", "null", r#""cache_control""#, r#""\\\"""#, "[ ]"]);
    let space = || prop::sample::select(vec!["", "", " ", "\r\n  "]);
    let key = prop::sample::select(vec!["cache_control", "cache_control", "a", "text", "input"]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, move |inner| {
        let member = (space(), key.clone(), space(), inner.clone(), space());
        let member =
            member.prop_map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{b}{value}{c}"));
        let object = |all: Vec<String>| format!("{{{}}}", all.join(","));
        let array = |all: Vec<String>| format!("[{}]", all.join(", "));
        prop_oneof![
            3 => prop::collection::vec(member, 0..5).prop_map(object),
            1 => prop::collection::vec(inner, 0..4).prop_map(array),
        ]
    })
}

proptest! {
    #[test]
    fn random_items_are_restored_and_what_is_left_is_json_without_marks(item in item()) {
        let (base, marks) = stripped(&item);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&base).is_ok(), "{base}");
        if marks.is_empty() {
            prop_assert_eq!(&base, &item);
        } else {
            prop_assert_eq!(stripped(&base), (base.clone(), Vec::new()));
            let marked = |mark: &Mark| memchr::memmem::find(&mark.bytes, MARK_KEY).is_some();
            prop_assert!(marks.iter().all(marked));
        }
    }
}
