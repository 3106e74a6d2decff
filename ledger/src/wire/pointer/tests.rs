//! Goal: every byte of a document has the pointer of the innermost value or member around it.
//! Method: a reference over the spans of `serde_json`, for every offset of small documents and
//! of random ones; documents that break have a table.

use core::fmt;
use core::ops::Range;

use proptest::prelude::*;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::*;

/// Children of a value with the stretch of the text that belongs to each.
struct Children<'a>(&'a str, Vec<(String, Range<usize>, &'a RawValue)>);

impl<'de> Visitor<'de> for Children<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let member = place(self.0, key).start..place(self.0, value).end;
            let name: String = serde_json::from_str(key.get()).unwrap();
            self.1.push((name, member, value));
        }
        Ok(self)
    }
}

/// Where a value that was borrowed from `text` stands in it.
fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

fn children<'a>(text: &'a str, value: &'a RawValue) -> Vec<(String, Range<usize>, &'a RawValue)> {
    let inside = value.get();
    if inside.starts_with('{') {
        let mut reader = serde_json::Deserializer::from_str(inside);
        return reader.deserialize_map(Children(text, Vec::new())).unwrap().1;
    }
    if inside.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(inside).unwrap();
        let element =
            |(index, value): (usize, &'a RawValue)| (index.to_string(), place(text, value), value);
        return elements.into_iter().enumerate().map(element).collect();
    }
    Vec::new()
}

fn reference(text: &str, value: &RawValue, offset: usize) -> String {
    for (name, span, child) in children(text, value) {
        if span.contains(&offset) {
            let step = name.replace('~', "~0").replace('/', "~1");
            return format!("/{step}{}", reference(text, child, offset));
        }
    }
    String::new()
}

/// Compares the pointers of all offsets with the reference; returns how many different ones
/// there are.
fn check(text: &str) -> usize {
    let root: &RawValue = serde_json::from_str(text).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for offset in 0..text.len() + 2 {
        let pointer = pointer_at(text.as_bytes(), offset);
        assert_eq!(pointer, reference(text, root, offset), "offset {offset} of {text}");
        let marked = format!("\u{feff}{text}");
        assert_eq!(pointer_at(marked.as_bytes(), offset + 3), pointer);
        seen.insert(pointer);
    }
    seen.len()
}

#[test]
fn every_offset_of_small_documents_has_the_pointer_of_the_reference() {
    assert_eq!(check("1"), 1);
    assert_eq!(check("\r\n \"a\" "), 1);
    assert_eq!(check("{}"), 1);
    assert_eq!(check(r#"{"a":1}"#), 2);
    assert_eq!(check("[1,[2,[3]],{}]"), 7);
    assert_eq!(check(r#"{"a":{"b":[1,{"c":"]}"}]},"d":[]}"#), 7);
    assert_eq!(check("{ \"a\" : [ 1 , 2 ] ,\r\n\t\"b\" : { \"c\" : [ ] } }\n"), 6);
    assert_eq!(check(r#"{"":{"":[0]},"a/b~c":[0],"~1":[0],"0":[0]}"#), 10);
    assert_eq!(check(r#"{"a":1,"a":[2],"a":{"a":3}}"#), 4);
    assert_eq!(check("[[[[[[[[[[[[]]]]],0,1,2,3,4,5,6,7,8,9,10,11]]]]]]]"), 24);
}

#[test]
fn names_are_decoded_before_they_are_steps() {
    check(r#"{"a\"b":[1],"\u002f":[1],"\u007e\n":[1],"caf\u00e9 \ud83d\ude00":[1],"\\":1}"#);
    assert_eq!(pointer_at(br#"{"\u002f\"":1}"#, 12), "/~1\"");
    assert_eq!(pointer_at("{\"\u{e9}\":1}".as_bytes(), 2), "/\u{e9}");
    // A name that is no text is shown as it stands.
    assert_eq!(pointer_at(br#"{"\ud800":1}"#, 3), "/\\ud800");
    assert_eq!(pointer_at(b"{\"\xff\":1}", 3), "/\u{fffd}");
}

#[test]
fn a_document_that_breaks_gives_the_pointer_of_what_could_be_read() {
    for (text, offset, pointer) in [
        ("", 0, ""),
        ("\u{feff}", 3, ""),
        ("x", 0, ""),
        ("{\"a\":[1,2", 8, "/a/1"),
        ("{\"a\":[1,\"open", 10, "/a/1"),
        ("{\"a\":[1,x,3]}", 6, "/a/0"),
        ("{\"a\":[1,x,3]}", 10, "/a/1"),
        ("{\"a\":{\"b\":tru}}", 11, "/a/b"),
        ("{\"a\":1 \"b\":2}", 2, "/a"),
        ("{\"a\":1 \"b\":2}", 9, ""),
        ("{\"a\" 1}", 5, ""),
        ("[1,2] [3]", 7, ""),
    ] {
        assert_eq!(pointer_at(text.as_bytes(), offset), pointer, "offset {offset} of {text}");
    }
}

#[test]
fn every_cut_and_every_offset_of_a_document_has_a_pointer() {
    let text = r#"{"a":{"b":[1,{"c":"x"}]},"d":[null,[]],"e\u0041":1.5}"#;
    for cut in 0..text.len() {
        for offset in 0..text.len() + 2 {
            let found = pointer_at(&text.as_bytes()[..cut], offset);
            let whole = pointer_at(text.as_bytes(), offset);
            // Before the cut only the value that the cut broke may be named less exactly.
            assert!(found.len() <= text.len());
            assert!(offset >= cut || found.starts_with(&whole) || whole.starts_with(&found));
        }
    }
}

#[test]
fn pointers_end_at_the_limit_of_levels() {
    let nested = |levels: usize| "[".repeat(levels) + "1" + &"]".repeat(levels);
    for levels in [1, LEVELS_MAX - 1, LEVELS_MAX, LEVELS_MAX + 1, 500, 100_000] {
        let text = nested(levels);
        let pointer = pointer_at(text.as_bytes(), levels);
        assert_eq!(pointer, "/0".repeat(levels.min(LEVELS_MAX)));
    }
    assert_eq!(pointer_at(nested(3).as_bytes(), usize::MAX), "");
}

proptest! {
    #[test]
    fn random_documents_have_the_pointers_of_the_reference(
        text in prop::sample::select(vec!["1", "\"a\"", " {} ", "[ ]", "\"\\u00e9,]}\""])
            .prop_map(str::to_owned)
            .prop_recursive(5, 20, 4, |inner| {
                let key = prop::sample::select(vec!["a", "b", "", "a/b", "~", "\\\"", "\\u0061"]);
                let member = (key, "[ \n]?", inner.clone());
                let member = member.prop_map(|(key, s, value)| format!("{s}\"{key}\":{s}{value}"));
                prop_oneof![
                    prop::collection::vec(member, 0..4)
                        .prop_map(|all| format!("{{{}}}", all.join(","))),
                    prop::collection::vec(inner, 0..4)
                        .prop_map(|all| format!("[{}]", all.join(" ,"))),
                ]
            }),
    ) {
        prop_assert!(check(&text) > 0);
    }
}
