//! Goal: no string of a JSON text keeps a secret, however it is escaped; what was JSON stays the
//! same JSON but for the placeholders; and every place outside of them is found again. Method:
//! secrets of several shapes at every level of nesting and under every escape rule, and random
//! texts with secrets planted in them, checked against a byte-by-byte account of the edits.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::wire::Escape;

const KEY: &str = "sk-ant-REDACT-ME-0123456789";
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhki/G9w0BAQEFAASC\n\
                   BKcwggSjAgEA+AoIBAQC7/kxAs\n-----END PRIVATE KEY-----\n";
const TOKEN_PLACEHOLDER: &str = "[REDACTED:ghtk:#0001~~~~~~~~~~~~~~~~~~~]";
/// What must be in no redacted text.
const SECRETS: [&str; 4] = ["REDACT-ME", "0123456789abcdefghij", "MIIEvQIBADANB", "BKcwggSjAgEA"];

/// Redacts a text, checks the account of the edits, and returns the redacted text.
#[track_caller]
fn redacted(text: &[u8]) -> (Vec<u8>, usize) {
    let redactor = Redactor::core();
    let cleaned = json(&redactor, text);
    let edits = &cleaned.edits;
    assert_eq!(edits.len(), cleaned.redactions.len());
    assert_eq!(edits.is_empty(), matches!(cleaned.text, Cow::Borrowed(_)));
    let (mut raw, mut clean) = (0, 0);
    for (start, end, clean_bytes) in edits
        .iter()
        .map(|edit| (edit.raw_start, edit.raw_end, edit.clean_bytes))
        .chain([(text.len(), text.len(), 0)])
    {
        assert!(raw <= start && start <= end);
        for (step, at) in (raw..=start).enumerate() {
            assert_eq!(moved(edits, at), clean + step, "offset {at}");
        }
        let kept = start - raw;
        assert_eq!(text[raw..start], cleaned.text[clean..clean + kept]);
        raw = end;
        clean += kept + clean_bytes;
        assert_eq!(moved(edits, raw), clean);
    }
    assert_eq!(clean, cleaned.text.len());
    (one(&cleaned.text), cleaned.redactions.len())
}

/// A text in which every placeholder has the number of the first secret.
fn one(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let starts: Vec<_> = memchr::memmem::find_iter(&text, b":#00").map(|at| at + 2).collect();
    for at in starts {
        text[at..at + 4].copy_from_slice(b"0001");
    }
    text
}

/// Every text in a value, and in the JSON that texts hold.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            out.push(text.clone());
            if let Ok(inner) = serde_json::from_str(text) {
                texts(&inner, out);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        Value::Object(members) => {
            for (key, value) in members {
                out.push(key.clone());
                texts(value, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[track_caller]
fn assert_no_secret(text: &[u8]) {
    let value: Value = serde_json::from_slice(text).unwrap();
    let mut all = vec![String::from_utf8(text.to_vec()).unwrap()];
    texts(&value, &mut all);
    for text in all {
        assert!(!SECRETS.iter().any(|secret| text.contains(secret)), "{text}");
    }
}

/// The text as a JSON string inside a JSON string and so on, quotes of the outermost included.
fn nested(text: &str, levels: usize) -> String {
    (0..levels).fold(text.to_owned(), |text, _| serde_json::to_string(&text).unwrap())
}

#[test]
fn a_text_without_secrets_is_borrowed() {
    for text in [
        r#"{"a":"b\"","c":["\u00e9\ud800",1e400]}"#,
        "",
        "not json",
        "\"open",
        "\"\\",
        "\"a\" \"",
        "sk-ant-short",
    ] {
        let (clean, redactions) = redacted(text.as_bytes());
        assert_eq!((clean.as_slice(), redactions), (text.as_bytes(), 0));
    }
    let bytes = b"\"\xff\\\xff\"\xff";
    assert_eq!(redacted(bytes), (bytes.to_vec(), 0));
}

#[test]
fn a_secret_is_replaced_and_its_surroundings_stay() {
    let text = format!(r#"{{"a": "x {KEY} y\n", "b":[1.50,"{TOKEN}"],"c":"d\/"}}"#);
    let (clean, redactions) = redacted(text.as_bytes());
    let (key, token) =
        ("[REDACTED:antk:#0001~~~~~~~~~~~]", "[REDACTED:ghtk:#0001~~~~~~~~~~~~~~~~~~~]");
    let expected = format!(r#"{{"a": "x {key} y\n", "b":[1.50,"{token}"],"c":"d\/"}}"#);
    assert_eq!((String::from_utf8(clean).unwrap(), redactions), (expected, 2));
}

#[test]
fn keys_of_objects_are_redacted_too() {
    let (clean, redactions) = redacted(format!(r#"{{"{KEY}":{{"{KEY}":1}}}}"#).as_bytes());
    assert_eq!(redactions, 2);
    assert_no_secret(&clean);
}

#[test]
fn secrets_are_found_at_every_level_of_json_in_json() {
    for secret in [KEY, TOKEN, PEM] {
        for levels in 1..=4 {
            let text =
                format!(r#"{{"a":{},"b":"c"}}"#, nested(&format!("id: {secret}\n\"q\""), levels));
            let (clean, redactions) = redacted(text.as_bytes());
            assert_eq!(redactions, 1, "{text}");
            assert_no_secret(&clean);
            let mut value: Value = serde_json::from_slice(&clean).unwrap();
            value = value["a"].take();
            for _level in 1..levels {
                value = serde_json::from_str(value.as_str().unwrap()).unwrap();
            }
            let text = value.as_str().unwrap();
            assert!(text.starts_with("id: ") && text.ends_with("\n\"q\""), "{text}");
            let lines = |text: &str| text.matches('\n').count();
            assert_eq!(lines(text), lines(secret) + 1);
        }
    }
}

#[test]
fn escapes_do_not_hide_a_secret() {
    let every_letter =
        KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect::<Vec<_>>().concat();
    let slashes = PEM.replace('\n', "\\n").replace('/', "\\/");
    let unicode = PEM.replace('\n', "\\u000a").replace('-', "\\u002D");
    for hidden in [
        every_letter.as_str(),
        "\\u0073k-ant-REDACT-ME-0123456789",
        "sk-ant-\\u0052EDACT-ME-0123456789\\u00e9",
        &slashes,
        &unicode,
        "sk\\u002dant\\u002DREDACT-ME-0123456789",
    ] {
        let text = format!(r#"["before","a {hidden}","\u00e9"]"#);
        let (clean, redactions) = redacted(text.as_bytes());
        assert_eq!(redactions, 1, "{hidden}");
        assert_no_secret(&clean);
        assert!(clean.starts_with(br#"["before","a "#) && clean.ends_with(br#","\u00e9"]"#));
    }
}

#[test]
fn what_stays_of_a_string_is_written_by_the_bodys_own_rules() {
    let check = |before: &str, after: &str| {
        let (clean, _) = redacted(format!("\"{before} {KEY}\"").as_bytes());
        let expected = format!("\"{after} [REDACTED:antk:#0001~~~~~~~~~~~]\"");
        assert_eq!(String::from_utf8(clean).unwrap(), expected);
    };
    check("caf\\u00e9 \\u007f", "caf\\u00e9 \\u007f");
    check("caf\\u00E9", "caf\\u00E9");
    check("\\u003c\\u2028", "\\u003c\\u2028");
    check("a\\/b", "a\\/b");
    check("\\b\\f\\n\\\"\\\\", "\\b\\f\\n\\\"\\\\");
    check("caf\u{e9} \u{1f600}", "caf\u{e9} \u{1f600}");
}

#[test]
fn what_no_encoder_writes_stays_around_a_secret() {
    for around in
        ["\\//", "\\u0041", "\\u00e9\\u00EA\u{e9}", "\\ud83d\\ude00\u{1f600}", "\\u000a\n"]
    {
        let text = format!("[\"{around} {KEY} {around} {TOKEN} {around}\"]");
        let (clean, redactions) = redacted(text.as_bytes());
        let (key, token) = ("[REDACTED:antk:#0001~~~~~~~~~~~]", TOKEN_PLACEHOLDER);
        let expected = format!("[\"{around} {key} {around} {token} {around}\"]");
        assert_eq!((String::from_utf8(clean).unwrap(), redactions), (expected, 2));
    }
}

#[test]
fn a_string_that_does_not_decode_is_redacted_as_it_stands() {
    for (before, after) in [("\\ud800", ""), ("", "\\ud800"), ("\\n\\udc00\\n", "\\ud800\\\"")] {
        for secret in [KEY, TOKEN, &PEM.replace('\n', "\\n")] {
            let text = format!(r#"{{"a":"{before} {secret} {after}","b":"{TOKEN}"}}"#);
            let (clean, redactions) = redacted(text.as_bytes());
            let clean = String::from_utf8(clean).unwrap();
            assert_eq!(redactions, 2, "{text}");
            assert!(!SECRETS.iter().any(|secret| clean.contains(secret)), "{clean}");
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&clean).is_ok(), "{clean}");
            assert!(clean.starts_with(&format!(r#"{{"a":"{before} "#)));
        }
    }
    let (clean, redactions) = redacted(format!("\"\\x {KEY}\"").as_bytes());
    assert_eq!((clean.starts_with(b"\"\\x [REDACTED"), redactions), (true, 1));
    let text = [b"\"\xff ", KEY.as_bytes(), b"\""].concat();
    let (clean, redactions) = redacted(&text);
    assert_eq!((clean.starts_with(b"\"\xff [REDACTED"), redactions), (true, 1));
}

#[test]
fn a_string_that_never_ends_is_redacted_to_the_end_of_the_text() {
    for end in ["", "\\", "\\\"", " and more"] {
        let (clean, redactions) = redacted(format!("[\"a {KEY}{end}").as_bytes());
        let clean = String::from_utf8(clean).unwrap();
        assert_eq!((clean.contains("REDACT-ME"), redactions), (false, 1), "{clean}");
    }
}

#[test]
fn text_outside_of_strings_is_left_to_whoever_stores_it() {
    let text = format!("{KEY} \"{KEY}\" {KEY}");
    let (clean, redactions) = redacted(text.as_bytes());
    assert_eq!(redactions, 1);
    assert!(clean.starts_with(KEY.as_bytes()) && clean.ends_with(KEY.as_bytes()));
}

#[test]
fn redacting_again_changes_nothing() {
    let text = format!("{{\"a\":{},\"b\":\"{TOKEN}\\/\"}}", nested(PEM, 2));
    let (once, _) = redacted(text.as_bytes());
    assert_eq!(redacted(&once), (once.clone(), 0));
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        3 => "[ -~\n\u{e9}\u{2028}\u{1f600}]{0,8}",
        1 => prop::sample::select(vec![KEY, TOKEN, PEM]).prop_map(str::to_owned),
    ];
    let line = prop::collection::vec(text, 0..4).prop_map(|pieces| pieces.join(" "));
    let leaf = prop_oneof![
        4 => line.clone().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 20, 4, move |inner| {
        prop_oneof![
            2 => prop::collection::vec((line.clone(), inner.clone()), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            1 => inner.prop_map(|value| Value::String(value.to_string())),
        ]
    })
}

/// Writes a value by the rules of `escape`, each of its texts changed by `change`.
fn write(value: &Value, escape: Escape, change: &dyn Fn(&str) -> String, out: &mut Vec<u8>) {
    let string = |text: &str, out: &mut Vec<u8>| {
        out.push(b'"');
        escape.escape_into(&change(text), out);
        out.push(b'"');
    };
    match value {
        Value::String(text) => string(text, out),
        Value::Array(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                out.extend_from_slice(if index > 0 { b", " } else { b"" });
                write(value, escape, change, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (index, (key, value)) in members.iter().enumerate() {
                out.extend_from_slice(if index > 0 { b"," } else { b"" });
                string(key, out);
                out.push(b':');
                write(value, escape, change, out);
            }
            out.push(b'}');
        }
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}

proptest! {
    #[test]
    fn random_json_stays_the_same_json_with_every_text_redacted(
        value in value(),
        escape in prop::sample::select(vec![
            Escape::JSON, Escape::PYTHON_ASCII, Escape::GO_HTML, Escape::PHP]),
    ) {
        let redactor = Redactor::core();
        let redact = |text: &str| {
            String::from_utf8(redactor.redact(text.as_bytes()).as_bytes().to_vec()).unwrap()
        };
        let (mut text, mut expected) = (Vec::new(), Vec::new());
        write(&value, escape, &str::to_owned, &mut text);
        write(&value, escape, &redact, &mut expected);
        let (clean, _) = redacted(&text);
        assert_no_secret(&clean);
        prop_assert_eq!(clean, one(&expected));
    }

    #[test]
    fn any_bytes_are_accounted_for(
        text in prop::collection::vec(
            prop_oneof![
                2 => prop::sample::select(vec!["\"", "\\", "\\\"", "{", ",", "\\u00", "\n", KEY]),
                1 => prop::sample::select(vec![TOKEN, PEM, "\u{e9}", "\\ud800"]),
            ],
            0..20),
        junk in any::<u8>(),
    ) {
        let mut text = text.concat().into_bytes();
        text.push(junk);
        let half = text.len() / 2;
        text.rotate_right(half);
        redacted(&text);
    }
}
