//! Goal: a part is its literal with its slots written into it, every string that matters is a
//! slot of the right kind, and what cannot be proven stays in the literal and is counted.
//! Method: items as the recorded clients send them with their slots listed, one string at a time
//! through every escape rule, limits at both sides, and random parts.

use proptest::prelude::*;

use super::*;

mod dialects;

/// Cuts a part, asserts that the literal and the slots give it back, and returns the template.
#[track_caller]
fn cut_up(dialect: Dialect, kind: PartKind, part: &[u8], hint: Escape) -> Template<'_> {
    let template = cut(dialect, kind, part, hint);
    let (literal, offsets) = template.literal(part);
    assert_eq!(offsets.len(), template.slots.len());
    assert!(offsets.is_sorted());
    let mut rebuilt = Vec::new();
    let mut at = 0;
    for (slot, offset) in template.slots.iter().zip(offsets) {
        rebuilt.extend_from_slice(&literal[at..offset]);
        assert_eq!(rebuilt.len(), slot.span.start);
        slot.escape.escape_into(&slot.text, &mut rebuilt);
        assert_eq!(rebuilt.len(), slot.span.end);
        at = offset;
    }
    rebuilt.extend_from_slice(&literal[at..]);
    assert_eq!(rebuilt, part, "{}", part.escape_ascii());
    template
}

fn item(dialect: Dialect, part: &str) -> Template<'_> {
    cut_up(dialect, PartKind::Item, part.as_bytes(), Escape::JSON)
}

/// Kind, group and text of each slot.
type Seen<'a> = (SlotKind, u16, &'a str);

#[track_caller]
fn check(dialect: Dialect, part: &str, role: Role, expected: &[Seen<'_>]) {
    let template = item(dialect, part);
    let slots = template.slots.iter().map(|slot| (slot.kind, slot.group, slot.text.as_ref()));
    let slots: Vec<_> = slots.collect();
    assert_eq!((slots.as_slice(), template.role), (expected, role), "{part}");
    assert_eq!(super::role(part.as_bytes()), role);
    assert_eq!(template.unproven, 0, "{part}");
}

/// An item whose tool output is written as `string`.
fn output_item(string: &[u8]) -> Vec<u8> {
    let before = br#"{"type":"function_call_output","call_id":"c","output":""#;
    [before, string, b"\"}"].concat()
}

#[test]
fn the_hint_is_used_where_it_fits_and_the_string_itself_decides_where_it_does_not() {
    let python = Escape::PYTHON_ASCII;
    let seen = |string: &str| Escape::detect(string.as_bytes());
    for (string, hint, escape) in [
        ("plain", Escape::JSON, Escape::JSON),
        ("plain", python, python),
        ("caf\u{e9}", Escape::JSON, Escape::JSON),
        ("caf\\u00e9", Escape::JSON, seen("\\u00e9")),
        ("caf\\u00e9", python, python),
        ("caf\u{e9}", python, Escape::JSON),
        ("a\\/b", python, seen("\\/")),
        ("\\u003c\\u2028", Escape::GO_HTML, Escape::GO_HTML),
        ("\\u003c", Escape::JSON, seen("\\u003c")),
        ("<", Escape::GO_HTML, Escape::JSON),
        ("\u{e9}\\u007f", python, seen("\\u007f")),
        ("\\u00E9", Escape::PHP, seen("\\u00E9")),
    ] {
        let part = output_item(string.as_bytes());
        let template = cut_up(Dialect::OpenAiResponses, PartKind::Item, &part, hint);
        let [_, slot] = template.slots.as_slice() else { panic!("{string}: {template:?}") };
        assert_eq!(slot.escape, escape, "{string} under {hint:?}");
        assert_eq!(template.unproven, 0);
    }
}

#[test]
fn strings_that_cannot_be_proven_stay_in_the_literal_and_are_counted() {
    for string in [
        &b"\\ud800"[..],
        b"before \\udc00 after",
        b"\\u00e9\\u00EA",
        b"\\u00e9 \xc3\xa9",
        b"raw \n line",
        b"raw \0",
        b"\\u0041",
        b"\\u000a",
        b"\\//",
        b"\xff\xfe",
        b"\xed\xa0\x80",
    ] {
        let part = output_item(string);
        for hint in [Escape::JSON, Escape::PYTHON_ASCII, Escape::GO_HTML, Escape::PHP] {
            let template = cut_up(Dialect::OpenAiResponses, PartKind::Item, &part, hint);
            assert_eq!(template.unproven, 1, "{}", string.escape_ascii());
            let kinds: Vec<_> = template.slots.iter().map(|slot| slot.kind).collect();
            assert_eq!(kinds, [SlotKind::RESULT_CALL_ID]);
            let (literal, _) = template.literal(&part);
            assert!(memchr::memmem::find(&literal, string).is_some());
        }
    }
}

#[test]
fn arguments_sent_as_a_value_are_taken_as_they_stand() {
    for value in ["{}", "{ \"a\" : [ 1e400, \"\\ud800\\/\" ] }", "[]", "null", "1.50", "true"] {
        let part = format!(r#"{{"role":"assistant","content":[{{"input": {value} }}]}}"#);
        let template = item(Dialect::AnthropicMessages, &part);
        let [slot] = template.slots.as_slice() else { panic!("{value}") };
        assert_eq!((slot.text.as_ref(), slot.escape), (value, Escape::VERBATIM));
    }
    let text = r#"{"role":"assistant","content":[{"input":"a\"b"}]}"#;
    check(Dialect::AnthropicMessages, text, Role::Assistant, &[(SlotKind::ARGUMENTS, 0, "a\"b")]);
    // A value that is no UTF-8 cannot become a text.
    let part = b"{\"role\":\"assistant\",\"content\":[{\"input\":{\"a\":\"\xff\"}}]}";
    let template = cut_up(Dialect::AnthropicMessages, PartKind::Item, part, Escape::JSON);
    assert_eq!((template.slots.len(), template.unproven), (0, 1));
}

#[test]
fn long_strings_become_slots_wherever_they_stand() {
    let long = "x".repeat(LONG_STRING_BYTES);
    let short = "x".repeat(LONG_STRING_BYTES - 1);
    let other = |part: &str, kind| {
        let template = cut_up(Dialect::OpenAiChat, kind, part.as_bytes(), Escape::JSON);
        let mut slots = template.slots.iter();
        assert!(slots.all(|slot| slot.kind == SlotKind::OTHER && slot.text == long));
        template.slots.len()
    };
    for (value, slots) in [
        (format!(r#""{long}""#), 1),
        (format!(r#""{short}""#), 0),
        (format!(r#"{{"{long}":["{long}",{{"a":"{long}","b":"{short}"}}]}}"#), 2),
    ] {
        assert_eq!(
            other(&format!(r#"{{"role":"user","unknown":{value}}}"#), PartKind::Item),
            slots
        );
        for (kind, key) in
            [(PartKind::Options, "meta"), (PartKind::System, "system"), (PartKind::Tools, "tools")]
        {
            assert_eq!(other(&format!("\"{key}\" : {value}"), kind), slots);
        }
        for kind in [PartKind::Glue, PartKind::Verbatim] {
            assert_eq!(other(&value, kind), 0);
        }
    }
    // Length is counted in bytes as they stand.
    let escaped = format!(r#"{{"a":"{}"}}"#, "\\u00e9".repeat(LONG_STRING_BYTES / 6 + 1));
    assert_eq!(item(Dialect::OpenAiChat, &escaped).slots.len(), 1);
}

#[test]
fn members_that_are_no_items_follow_no_rules_of_items() {
    let part = br#""content":[{"text":"a","id":"b"}]"#;
    for kind in [PartKind::Options, PartKind::System, PartKind::Tools] {
        let template = cut_up(Dialect::AnthropicMessages, kind, part, Escape::JSON);
        assert_eq!(template.slots, []);
        let system = kind == PartKind::System;
        assert_eq!(template.role, if system { Role::System } else { Role::Unknown });
    }
}

#[test]
fn roles_and_types_say_who_speaks() {
    let check = |part: &str, expected| {
        assert_eq!(role(part.as_bytes()), expected, "{part}");
        assert_eq!(item(Dialect::OpenAiResponses, part).role, expected);
    };
    for (name, role) in [
        ("system", Role::System),
        ("developer", Role::System),
        ("user", Role::User),
        ("assistant", Role::Assistant),
        ("model", Role::Assistant),
        ("tool", Role::Tool),
        ("function", Role::Tool),
        ("critic", Role::Unknown),
        ("User", Role::Unknown),
        ("\\u0075ser", Role::Unknown),
        ("", Role::Unknown),
    ] {
        check(&format!(r#"{{"content":"user","role":"{name}","x":{{"role":"tool"}}}}"#), role);
        check(&format!(r#"{{ "type" : "reasoning" , "role" : "{name}" }}"#), role);
    }
    for (name, role) in [
        ("function_call", Role::Assistant),
        ("custom_tool_call", Role::Assistant),
        ("web_search_call", Role::Assistant),
        ("reasoning", Role::Assistant),
        ("function_call_output", Role::Tool),
        ("custom_tool_call_output", Role::Tool),
        ("message", Role::Unknown),
        ("item_reference", Role::Unknown),
    ] {
        check(&format!(r#"{{"type":"{name}"}}"#), role);
    }
    for part in ["{}", "[]", "\"user\"", "1", r#"{"role":1}"#, r#"{"role":null,"type":[]}"#] {
        check(part, Role::Unknown);
    }
    check(r#"{"role":"user","role":"tool"}"#, Role::Tool);
    check(r#"{"role":"user","x":tru"#, Role::Unknown);
}

#[test]
fn string_members_are_found_by_their_key_at_the_top_only() {
    let members = |object: &'static str| {
        string_members(object.as_bytes(), [b"\"a\"", b"\"b\""])
            .map(|text| text.map(|text| std::str::from_utf8(text).unwrap()))
    };
    assert_eq!(members(r#"{"b":"1","c":{"a":"2"},"a":""}"#), [Some(""), Some("1")]);
    assert_eq!(members(r#"{ "a" : "1\"" , "a" : "2" , "b" : 3 }"#), [Some("2"), None]);
    assert_eq!(members(r#"{"a":"1","a":2}"#), [Some("1"), None]);
    assert_eq!(members(r#"{"\u0061":"1"}"#), [None, None]);
    for object in ["", "[]", r#"["a","b"]"#, r#""a""#, r#"{"a":"1","b":"2""#, r#"{"a":"1",}"#] {
        assert_eq!(members(object), [None, None], "{object}");
    }
}

#[test]
fn values_below_the_depth_limit_are_not_looked_into() {
    let long = "x".repeat(LONG_STRING_BYTES);
    for levels in [1, WALK_DEPTH_MAX - 1, WALK_DEPTH_MAX, WALK_DEPTH_MAX + 1, 400, 100_000] {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let part = format!("{open}\"{long}\"{close}");
        let slots = item(Dialect::OpenAiChat, &part).slots.len();
        assert_eq!(slots, usize::from(levels <= WALK_DEPTH_MAX), "{levels}");
    }
    let args = format!(
        r#"{{"parts":[{{"functionCall":{{"args":{}1{}}}}}]}}"#,
        "[".repeat(400),
        "]".repeat(400)
    );
    assert_eq!(item(Dialect::GeminiGenerate, &args).slots.len(), 1);
}

#[test]
fn more_slots_than_the_limit_stay_in_the_literal_and_are_counted() {
    let part = format!(r#"{{"content":[{}{{}}]}}"#, r#"{"text":"a"},"#.repeat(SLOTS_MAX + 3));
    let template = item(Dialect::AnthropicMessages, &part);
    assert_eq!((template.slots.len(), template.unproven), (SLOTS_MAX, 3));
    let last = template.slots.last().map(|slot| usize::from(slot.group));
    assert_eq!(last, Some(SLOTS_MAX - 1));
}

#[test]
fn a_part_that_cannot_be_walked_has_no_slots() {
    let long = "x".repeat(LONG_STRING_BYTES);
    let whole =
        format!(r#"{{"role":"user","content":[{{"text":"a"}},"{long}",[true]],"x":"{long}"}}"#);
    assert_eq!(item(Dialect::OpenAiChat, &whole).slots.len(), 3);
    for cut in 0..whole.len() {
        let template = item(Dialect::OpenAiChat, &whole[..cut]);
        assert_eq!((template.slots.len(), template.role), (0, Role::Unknown), "cut {cut}");
    }
    for part in ["", ":", "\"key\"", "\"key\":", "\"key\" 1", "1:\"a\"", "\u{feff}"] {
        for kind in PartKind::ALL {
            let template = cut_up(Dialect::OpenAiChat, kind, part.as_bytes(), Escape::JSON);
            assert_eq!(template.slots.len(), 0, "{part}");
        }
    }
}

/// Strings as encoders write them, and some that none writes.
fn string() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "\\n",
        "\\\\",
        "\\\"",
        "\\u00e9",
        "\\u00E9",
        "\u{e9}",
        "\\/",
        "/",
        "\\u003c",
        "<",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\u0041",
        "\\u0000",
        "\u{2028}",
        "\\u2028",
        "\n",
    ]);
    let short = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    let long = short.clone().prop_map(|text| text + &"y".repeat(LONG_STRING_BYTES));
    prop_oneof![9 => short, 1 => long].prop_map(|text| format!("\"{text}\""))
}

fn value() -> impl Strategy<Value = String> {
    let keys = vec![
        "role",
        "type",
        "content",
        "text",
        "id",
        "name",
        "input",
        "parts",
        "functionCall",
        "args",
        "functionResponse",
        "response",
        "output",
        "call_id",
        "tool_calls",
        "function",
        "arguments",
        "summary",
        "source",
        "data",
        "tool_use_id",
        "a",
    ];
    let known = vec![
        "\"user\"",
        "\"model\"",
        "\"tool\"",
        "\"function_call_output\"",
        "1",
        "null",
        "[]",
        " {} ",
    ];
    let leaf = prop_oneof![1 => prop::sample::select(known).prop_map(str::to_owned), 2 => string()];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let member = (prop::sample::select(keys.clone()), inner.clone());
        let member = member.prop_map(|(key, value)| format!("\"{key}\": {value}"));
        let object = |all: Vec<String>| format!("{{{}}}", all.join(","));
        let array = |all: Vec<String>| format!("[{}]", all.join(", "));
        prop_oneof![
            3 => prop::collection::vec(member, 0..6).prop_map(object),
            1 => prop::collection::vec(inner, 0..4).prop_map(array),
        ]
    })
}

proptest! {
    #[test]
    fn random_parts_are_rebuilt_from_literal_and_slots(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        kind in prop::sample::select(PartKind::ALL.to_vec()),
        value in value(),
        hint in any::<u8>(),
    ) {
        // The switch that turns escaping off is never a hint.
        let hint: Escape = crate::codec::decode(&[hint & 0x7f]).unwrap();
        let member = format!("\"key\":{value}");
        let part = if kind == PartKind::Item { &value } else { &member };
        let template = cut_up(dialect, kind, part.as_bytes(), hint);
        let spans = template.slots.iter().map(|slot| slot.span.clone());
        prop_assert!(spans.clone().zip(spans.skip(1)).all(|(a, b)| a.end < b.start));
        for slot in &template.slots {
            let raw = &part.as_bytes()[slot.span.clone()];
            let quoted = part.as_bytes()[..slot.span.start].ends_with(b"\"");
            prop_assert_eq!(slot.escape == Escape::VERBATIM, !quoted);
            prop_assert!(!quoted || unescape(raw).unwrap() == slot.text);
        }
    }
}
