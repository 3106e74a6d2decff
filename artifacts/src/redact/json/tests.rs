//! Goal: in a JSON text secrets are found by their own looks and by the names of their members,
//! and what was JSON stays JSON. Method: texts with secrets at every level, look-alikes, and
//! random documents, read back with a parser.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PASSWORD: &str = "kitten-7xQ!9z";
const TOKEN: &str = " ghp_q7W8e9R0t1Y2u3I4o5P6a7S8q7W8e9R0t1Y2";
const KEY: &str = "q7W8e9R0t1Y2u3I4o5P6a7S8";

fn redacted(json: &str) -> String {
    let redactor = Redactor::core();
    let redacted = redactor.redact_json(json.as_bytes());
    String::from_utf8(redacted.as_bytes().to_vec()).expect("UTF-8 stays")
}

/// No secret is left, it is still JSON, and everything else is as it was.
#[track_caller]
fn check_gone(value: &Value, secret: &str) {
    for text in [value.to_string(), serde_json::to_string_pretty(value).expect("writes")] {
        let clean = redacted(&text);
        assert!(!clean.contains(secret), "{clean}");
        let clean: Value = serde_json::from_str(&clean).expect("JSON stays JSON");
        let mut expected = value.clone();
        strip(&mut expected, secret);
        let mut clean = clean;
        strip(&mut clean, secret);
        assert_eq!(clean, expected);
    }
}

/// Replaces the secret, or the placeholder for it, in every text by a mark.
fn strip(value: &mut Value, secret: &str) {
    match value {
        Value::String(text) => {
            while let Some(start) = text.find("[REDACTED:") {
                let end = start + text[start..].find(']').expect("a placeholder ends") + 1;
                text.replace_range(start..end, "<>");
            }
            *text = text.replace(secret, "<>");
        }
        Value::Array(all) => all.iter_mut().for_each(|value| strip(value, secret)),
        Value::Object(all) => all.values_mut().for_each(|value| strip(value, secret)),
        _ => {}
    }
}

#[test]
fn values_behind_names_are_replaced_wherever_they_stand() {
    for name in ["password", "dbPassword", "DB_PASSWORD", "passphrase", "user_passwd"] {
        check_gone(&json!({"a": {name: PASSWORD, "b": 1}}), PASSWORD);
        check_gone(&json!([{name: [PASSWORD, "x"]}]), PASSWORD);
        check_gone(&json!({name: {"value": PASSWORD, "note": "a few words"}}), PASSWORD);
        check_gone(&json!({"name": name, "value": PASSWORD}), PASSWORD);
        check_gone(&json!({"text": json!({name: PASSWORD}).to_string()}), PASSWORD);
    }
    for name in ["api_key", "x-api-key", "clientSecret", "ACCESS_TOKEN", "private_key", "token"] {
        check_gone(&json!({name: KEY}), KEY);
        check_gone(&json!({"headers": [{"name": name, "value": KEY}]}), KEY);
        check_gone(&json!({name: {"deep": {"deeper": [KEY]}}}), KEY);
    }
    check_gone(&json!({"authorization": format!("Bearer {KEY}")}), KEY);
    check_gone(&json!({"Cookie": format!("theme=dark; sid={KEY}")}), KEY);
    check_gone(
        &json!({"auths": {"host": {"auth": "dXNlcjprNXY5eDJtYQ=="}}}),
        "dXNlcjprNXY5eDJtYQ==",
    );
}

#[test]
fn a_value_is_found_through_escapes_and_beyond_any_distance() {
    let quoted = "kit\"ten\\7xQ!9z";
    check_gone(&json!({"password": quoted}), quoted);
    let far: Vec<String> = (0..2000).map(|n| format!("text number {n}")).collect();
    check_gone(&json!({"secrets": {"a": far, "b": KEY}}), KEY);
    let coded: Vec<_> = PASSWORD.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let coded = coded.concat();
    let clean = redacted(&format!(r#"{{"password":"{coded}"}}"#));
    assert!(clean.contains("[REDACTED:memb"), "{clean}");
}

#[test]
fn names_alone_make_no_secret() {
    for text in [
        r#"{"properties":{"token":{"type":"string","description":"The token to pass along"}}}"#,
        r#"{"password":{"type":"string","minLength":8,"title":"Password field","x":[1,true]}}"#,
        r#"{"max_tokens":4096,"input_tokens":123456789,"token":1234567890123}"#,
        r#"{"secrets":["DATABASE_URL","REDIS_URL"],"password":"${DB_PASSWORD}"}"#,
        r#"{"required":["username","password"],"name":"token","value":"abbreviation"}"#,
        r#"{"next_page_token":"q7W8e9R0t1Y2u3I4o5P6a7S8","name":"x","value":"q7W8e9R0t1"}"#,
        r#"{"api_key":"<your key>","authorization":"Bearer <token>","cookie":"theme=dark"}"#,
        r#"{"password":"Please choose another password","token":"expression expected"}"#,
    ] {
        assert_eq!(redacted(text), text);
    }
}

#[test]
fn lines_and_streams_of_json_are_texts_of_their_own() {
    let line = json!({"password": PASSWORD}).to_string();
    let lines = format!("{line}\n{{\"a\":[\n{line}\ndata: {line}\n\nevent: x\ndata: {line}\n");
    let clean = redacted(&lines);
    assert!(!clean.contains(PASSWORD), "{clean}");
    assert_eq!(clean.lines().count(), lines.lines().count());
}

#[test]
fn a_span_tells_its_lengths_with_and_without_escapes() {
    let secret = "kit\"ten\\7xQ!9z";
    let text = json!({"password": secret}).to_string();
    let redactor = Redactor::core();
    let redacted = redactor.redact_json(text.as_bytes());
    let [span] = redacted.redactions() else { panic!("one span") };
    assert_eq!((span.raw_bytes, span.text_bytes), (16, (32, 14)));
    assert_eq!((span.offset, span.bytes), (13, 32));
}

/// Documents that are dense with names, secrets and the signs that escapes are made of.
fn document() -> impl Strategy<Value = Value> {
    let names = ["password", "token", "a", "value", "name", "authorization", "cookie"];
    let texts = [PASSWORD, KEY, "a\\n", "\"", "\\", "\n", "{\"password\":\"", "\u{1f600}", "words"];
    let text = prop::collection::vec(prop::sample::select(texts.to_vec()), 0..4)
        .prop_map(|pieces| Value::String(pieces.concat()));
    let name = prop::sample::select(names.to_vec());
    text.prop_recursive(4, 24, 4, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..4);
        prop_oneof![
            2 => members.prop_map(|all| {
                let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
                Value::Object(all.into_iter().map(owned).collect())
            }),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            1 => inner.prop_map(|value| Value::String(value.to_string())),
        ]
    })
}

proptest! {
    #[test]
    fn json_stays_json_and_once_is_enough(value in document(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).expect("writes")
        } else {
            value.to_string()
        };
        let redactor = Redactor::core();
        let once = redactor.redact_json(text.as_bytes()).into_owned();
        let read: Result<Value, _> = serde_json::from_slice(once.as_bytes());
        prop_assert!(read.is_ok(), "{}", String::from_utf8_lossy(once.as_bytes()));
        let again = redactor.for_new_run();
        let twice = again.redact_json(once.as_bytes());
        prop_assert_eq!(twice.as_bytes(), once.as_bytes());
    }

    #[test]
    fn any_text_at_all_is_walked_to_its_end(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["\"", "\\", "{", "}", "[", "]", ":", ",", "\\ud83d", "\n",
                "password", TOKEN, "\u{e9}"]),
            0..40),
    ) {
        let text = pieces.concat();
        let redactor = Redactor::core();
        let clean = redactor.redact_json(text.as_bytes());
        prop_assert!(!String::from_utf8_lossy(clean.as_bytes()).contains(TOKEN.trim()));
    }
}
