//! Goal: the framed slices are exactly the elements, whatever the file looks like and however
//! it arrives. Method: every cut, several chunk sizes, and `RawValue` as the oracle.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Dripping, drain, read, small_har};
use crate::har::framer::Framer;
use crate::har::{HarError, HarReader, Limits};

#[derive(Deserialize)]
struct Oracle<'a> {
    #[serde(borrow)]
    log: OracleLog<'a>,
}

#[derive(Deserialize)]
struct OracleLog<'a> {
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

/// The elements of a file as (offset, text), by `serde_json`.
fn oracle(file: &str) -> Vec<(u64, Vec<u8>)> {
    let parsed: Oracle<'_> = serde_json::from_str(file).unwrap();
    let elements = parsed.log.entries.iter().map(|raw| raw.get());
    let start = file.as_ptr().addr();
    elements.map(|text| ((text.as_ptr().addr() - start) as u64, text.as_bytes().to_vec())).collect()
}

#[test]
fn the_elements_of_a_small_file_are_found_where_they_stand() {
    let file = small_har();
    let outcome = read(file.as_bytes());
    outcome.end.unwrap();
    assert_eq!(outcome.entries.len(), 2);
    assert_eq!(outcome.entries, oracle(&file));
}

#[test]
fn every_cut_yields_exactly_the_complete_entries_and_then_says_so() {
    let file = small_har();
    let whole = oracle(&file);
    let json_bytes = file.trim_end().len();
    for cut in 1..json_bytes {
        let complete: Vec<_> = whole
            .iter()
            .filter(|(offset, bytes)| usize::try_from(*offset).unwrap() + bytes.len() <= cut)
            .cloned()
            .collect();
        let mut reader = HarReader::new(&file.as_bytes()[..cut], Limits::STANDARD);
        let outcome = drain(&mut reader);
        assert_eq!(outcome.entries, complete, "cut at {cut}");
        match outcome.end {
            Err(HarError::Truncated { offset, entries_read }) => {
                assert_eq!(offset, cut as u64);
                assert_eq!(entries_read, complete.len() as u64, "cut at {cut}");
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
        assert!(matches!(reader.next_entry(), Err(HarError::Stopped { .. })));
    }
    assert!(read(&file.as_bytes()[..json_bytes]).end.is_ok());
}

#[test]
fn every_cut_of_an_entry_is_refused_by_the_parser_without_a_panic() {
    let file = small_har();
    for (offset, bytes) in oracle(&file) {
        for cut in 0..bytes.len() {
            assert!(crate::har::parse_entry(&bytes[..cut], 0, offset).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn chunks_of_any_size_give_the_same_entries() {
    let file = small_har();
    let whole = oracle(&file);
    for chunk_bytes in [1, 2, 3, 7, 64, 1000] {
        let chunks = Dripping { rest: file.as_bytes(), chunk_bytes };
        let outcome = drain(&mut HarReader::new(chunks, Limits::STANDARD));
        outcome.end.unwrap();
        assert_eq!(outcome.entries, whole, "chunks of {chunk_bytes}");
    }
}

#[test]
fn entries_larger_than_one_read_keep_their_bytes_and_offsets() {
    let body = "\\\\\\\"x\\n]".repeat(100_000);
    let elements: Vec<String> = (0..5).map(|n| format!("{{\"n\":{n},\"t\":\"{body}\"}}")).collect();
    let file = format!("{{\"log\":{{\"entries\":[{}]}}}}", elements.join(", "));
    let whole = oracle(&file);
    for chunk_bytes in [4093, usize::MAX] {
        let chunks = Dripping { rest: file.as_bytes(), chunk_bytes };
        let outcome = drain(&mut HarReader::new(chunks, Limits::STANDARD));
        outcome.end.unwrap();
        assert!(outcome.entries == whole, "chunks of {chunk_bytes}");
    }
}

#[test]
fn the_head_is_known_before_the_first_entry_if_it_stands_there() {
    let file = small_har();
    let mut reader = HarReader::new(file.as_bytes(), Limits::STANDARD);
    reader.read_head().unwrap();
    assert_eq!(reader.version(), Some("1.2"));
    assert_eq!(reader.creator().unwrap().name, "server");
    assert_eq!(reader.browser().unwrap().version, "0.1");
    assert_eq!(reader.comment(), None);
    drain(&mut reader).end.unwrap();
    assert_eq!(reader.comment(), Some("why"));
}

#[test]
fn entries_may_stand_before_everything_else() {
    let file = r#"{"x":[{"log":1}],"log":{"entries":[{"a":1}],"pages":[{"entries":[2]}],
        "creator":{"name":"n","name":"m","version":null},"browser":[],"version":7}}"#;
    let mut reader = HarReader::new(file.as_bytes(), Limits::STANDARD);
    let outcome = drain(&mut reader);
    outcome.end.as_ref().unwrap();
    assert_eq!(outcome.texts(), [r#"{"a":1}"#]);
    assert_eq!(reader.creator().unwrap().name, "m");
    assert_eq!((reader.browser(), reader.version()), (None, None));
}

#[test]
fn repeated_entries_and_logs_are_read_in_file_order() {
    let file = r#"{"log":{"entries":[1,2],"entries":[]},"log":{"\u0065ntries":[3]}}"#;
    let outcome = read(file.as_bytes());
    outcome.end.as_ref().unwrap();
    assert_eq!(outcome.texts(), ["1", "2", "3"]);
}

#[test]
fn the_framer_finds_the_end_of_each_kind_of_value_at_every_split() {
    for (value, behind) in [
        ("{}", ","),
        ("[[],{\"]\":\"}\"}]", "]"),
        ("\"\"", " "),
        (r#""a\\\"b\\""#, "\""),
        ("-1.5e+3", "}"),
        ("true", "\n"),
    ] {
        let chunk = format!("{value}{behind}");
        for split in 0..=value.len() {
            let (first, second) = chunk.as_bytes().split_at(split);
            let mut framer = Framer::new(8);
            let early = framer.feed(first).unwrap();
            // Only what closes itself can be told to end without a look at the next byte.
            if early.is_some() {
                assert_eq!((early, split), (Some(value.len()), value.len()), "{value}");
                continue;
            }
            let late = framer.feed(second).unwrap();
            assert_eq!(late.map(|count| count + split), Some(value.len()), "{value} at {split}");
        }
    }
}

#[test]
fn the_framer_refuses_the_wrong_closing_bracket() {
    for value in ["{]", "[}", "{\"a\":[1}", "]", ",", "\0"] {
        let fault = Framer::new(8).feed(value.as_bytes()).unwrap_err();
        assert_eq!(fault.at, value.len() - 1, "{value:?}");
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "[\\PC\"\\\\\\[\\]{},:\n\u{0}]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec(("[a\"\\\\\\]}]{0,4}", inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn framing_agrees_with_the_parser_on_any_json(
        elements in prop::collection::vec(json(), 0..6),
        others in prop::collection::vec(json(), 0..3),
        chunk_bytes in 1_usize..40,
    ) {
        let mut log = serde_json::Map::new();
        for (number, other) in others.into_iter().enumerate() {
            log.insert(format!("a{number}"), other.clone());
            log.insert(format!("z{number}"), other);
        }
        log.insert("entries".to_owned(), elements.into());
        let document = serde_json::json!({ "log": log });
        for file in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let chunks = Dripping { rest: file.as_bytes(), chunk_bytes };
            let outcome = drain(&mut HarReader::new(chunks, Limits::STANDARD));
            prop_assert!(outcome.end.is_ok(), "{:?}", outcome.end);
            prop_assert_eq!(outcome.entries, oracle(&file));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(
        prop_oneof![Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b'\\'),
            Just(b','), Just(b':'), Just(b'1'), Just(b' '), any::<u8>()], 0..40))
    {
        let mut file = br#"{"log":{"entries":[1,"#.to_vec();
        file.extend(&bytes);
        let outcome = read(&file);
        prop_assert!(!outcome.entries.is_empty());
        for (offset, entry) in outcome.entries {
            let at = usize::try_from(offset).unwrap();
            prop_assert_eq!(&file[at..at + entry.len()], &entry[..]);
        }
        // Without the opening the bytes are no HAR, and mostly no JSON.
        prop_assert!(read(&bytes).end.is_err());
    }
}
