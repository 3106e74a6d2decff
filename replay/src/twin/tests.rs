//! Goal: what is declared may differ and nothing else. Method: pairs of small bodies, each with
//! the difference that has to be found or tolerated.

use std::sync::Arc;

use super::alias::Aliases;
use super::compare::Compare;
use super::{Outcome, Rules};

fn compared(own: &str, other: &str) -> Outcome {
    Compare::new(Arc::new(Rules::known()), Aliases::default(), Vec::new())
        .bodies(own.as_bytes(), other.as_bytes())
}

#[track_caller]
fn equal(own: &str, other: &str) {
    assert_eq!(compared(own, other), Outcome::Equal);
}

#[track_caller]
fn differs(own: &str, other: &str, place: &str, what: &str) {
    match compared(own, other) {
        Outcome::Different(found) => {
            assert_eq!((found.pointer.as_str(), found.what), (place, what));
        }
        other => panic!("{other:?}"),
    }
}

const UUID: [&str; 2] =
    ["01a22d37-5c8d-7913-bace-157c67ed75ca", "01a22d37-e475-75a1-bcf3-2e298f8383e7"];

#[test]
fn the_same_bytes_are_identical() {
    let body = r#"{"a": [1, "x", {"b": null}], "c": {}}"#;
    assert_eq!(compared(body, body), Outcome::Identical);
    assert_eq!(compared("not json", "not json"), Outcome::Identical);
}

#[test]
fn words_that_were_declared_as_a_pair_stand_for_one_another_and_for_nothing_else() {
    let compared = |own: &str, other: &str| {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pairs = vec![pair("staging", "stage"), pair("build-one", "release/2")];
        let rules = Arc::new(Rules { pairs, ..Rules::known() });
        let mut compare = Compare::new(rules, Aliases::default(), Vec::new());
        compare.bodies(own.as_bytes(), other.as_bytes())
    };
    let own = r#"{"a":"on staging: build-one, staging","b":["build-one"]}"#;
    let other = r#"{"a":"on stage: release/2, stage","b":["release/2"]}"#;
    assert_eq!(compared(own, other), Outcome::Equal);
    let mixed = other.replacen("stage", "release/2", 1);
    assert!(matches!(compared(own, &mixed), Outcome::Different(_)));
    let more = other.replace("on stage:", "at stage:");
    assert!(matches!(compared(own, &more), Outcome::Different(_)));
}

#[test]
fn ids_and_times_may_differ_where_they_are_declared() {
    equal(
        &format!(r#"{{"a":"msg_{}","b":"{}"}}"#, UUID[0], UUID[0]),
        &format!(r#"{{"a":"msg_{}","b":"{}"}}"#, UUID[1], UUID[1]),
    );
    equal(
        r#"{"o":"Chunk ID: 3f3c15\nWall time: 0.0000 seconds\nOutput:\nx"}"#,
        r#"{"o":"Chunk ID: 801018\nWall time: 0.1379 seconds\nOutput:\nx"}"#,
    );
    equal(
        r#"{"o":"see /tmp/pi-bash-63357b426b7f1e42.log."}"#,
        r#"{"o":"see /tmp/pi-bash-e7af21d876580458.log."}"#,
    );
    equal(r#"{"create_time": 1.5}"#, r#"{"create_time": 2.25}"#);
    equal(r#"{"turn_id":"a"}"#, r#"{"turn_id":"b"}"#);
    let nested = |id: &str| format!(r#"{{"x":"{{\"turn_id\":\"{id}\",\"n\":1}}"}}"#);
    equal(&nested("aa"), &nested("bb"));
    equal(
        r#"{"client_metadata":{"a":1,"turn_id":"x"}}"#,
        r#"{"client_metadata":{"turn_id":"y","a":1}}"#,
    );
}

#[test]
fn an_id_stands_for_one_other_id() {
    let two = |first: &str, second: &str| format!(r#"["{first}","{second}"]"#);
    let clash = "id that stands for another one elsewhere";
    differs(&two(UUID[0], UUID[0]), &two(UUID[1], &UUID[1].replace('7', "8")), "/1", clash);
    differs(&two(UUID[0], &UUID[0].replace('7', "8")), &two(UUID[1], UUID[1]), "/1", clash);
}

#[test]
fn everything_else_is_a_difference() {
    differs(r#"{"a":1}"#, r#"{"a":2}"#, "/a", "value");
    differs(r#"{"a":1}"#, r#"{"a":"1"}"#, "/a", "kind of value");
    differs(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, "", "number of entries");
    differs(r#"{"a":1}"#, r#"{"b":1}"#, "", "name of a member");
    differs(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, "", "name of a member");
    differs("[1,2]", "[1]", "", "number of entries");
    differs("[]", "[1]", "", "number of entries");
    differs(r#"{"a": 1}"#, r#"{"a":1}"#, "/a", "white space");
    differs(r#"{"a":{}}"#, r#"{"a":[]}"#, "/a", "kind of value");
    differs(r#"["x 10 y"]"#, r#"["x 11 y"]"#, "/0", "text");
    differs(r#"["Original token count: 10"]"#, r#"["Original token count: 11"]"#, "/0", "text");
    differs(r#"["abc"]"#, r#"["abcd"]"#, "/0", "text");
    // A short word with a digit is no id.
    differs(r#"["frame 9c6316b9 view"]"#, r#"["frame 9c6316b8 view"]"#, "/0", "text");
    differs(r#"{"temperature":1.5}"#, r#"{"temperature":1.6}"#, "/temperature", "value");
    differs("[1] ", "[1]", "", "bytes behind the body");
}

#[test]
fn the_place_in_a_text_is_told() {
    let Outcome::Different(found) = compared(r#"["\u00e9\u00e9 one"]"#, r#"["\u00e9\u00e9 two"]"#)
    else {
        panic!("differs")
    };
    assert_eq!((found.own_at, found.other_at), (5, 5));
}

#[test]
fn no_cut_of_a_body_is_taken_for_the_whole() {
    let whole = r#"{"client_metadata": {"a": [1, {"b": "x\"y"}]}, "c": [[], {}, -1.5e3, null]}"#;
    for cut in 0..whole.len() {
        let outcome = compared(whole, &whole[..cut]);
        assert!(matches!(outcome, Outcome::Different(_)), "{cut}");
        let outcome = compared(&whole[..cut], whole);
        assert!(matches!(outcome, Outcome::Different(_)), "{cut}");
    }
}
