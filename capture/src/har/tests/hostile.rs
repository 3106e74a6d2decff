//! Goal: each shape that a file should not have ends in the error made for it.
//! Method: one table per kind of refusal, and the large shapes one by one.

use super::{drain, read, small_har};
use crate::har::{EntryError, HEADERS_MAX, HarError, HarReader, Limits, NotHarReason, parse_entry};

fn refusal(file: &[u8]) -> (u64, NotHarReason) {
    match read(file).end {
        Err(HarError::NotHar { offset, reason }) => (offset, reason),
        other => panic!("{:?}: {other:?}", String::from_utf8_lossy(file)),
    }
}

#[test]
fn what_is_no_har_is_told_with_place_and_reason() {
    use NotHarReason as Reason;
    let not_json = |found, expected| Reason::NotJson { found, expected };
    let cases: [(&[u8], u64, Reason); 17] = [
        (b"", 0, Reason::Empty),
        (b"\xef\xbb\xbf \r\n", 6, Reason::Empty),
        (b"\xff\xfe{\0", 0, Reason::Utf16),
        (b"hello", 0, Reason::NotAnObject { found: "a number or word" }),
        (b" [1]", 1, Reason::NotAnObject { found: "an array" }),
        (b"\0\0\0", 0, Reason::NotAnObject { found: "a byte that is not JSON" }),
        (b"{}", 2, Reason::NoLog),
        (b"{\"entries\":[1]}", 15, Reason::NoLog),
        (b"{\"type\":\"user\"}\n{\"type\":\"x\"}\n", 15, Reason::NoLog),
        (b"{\"log\":[]}", 7, Reason::LogNotAnObject { found: "an array" }),
        (b"{\"log\":null}", 7, Reason::LogNotAnObject { found: "a number or word" }),
        (b"{\"log\":{\"pages\":[]}}", 20, Reason::NoEntries),
        (b"{\"log\":{\"entries\":{}}}", 18, Reason::EntriesNotAnArray { found: "an object" }),
        (b"{log:1}", 1, not_json("a number or word", "a member name")),
        (b"{\"log\" {}}", 7, not_json("an object", "a colon")),
        (b"{\"a\":1 \"log\":{}}", 7, not_json("a string", "a comma or closing bracket")),
        (b"{\"log\":{\"pages\":[}}", 17, not_json("a closing bracket", "\"]\"")),
    ];
    for (file, offset, reason) in cases {
        assert_eq!(refusal(file), (offset, reason), "{:?}", String::from_utf8_lossy(file));
    }
}

#[test]
fn broken_json_behind_the_entries_keeps_them_and_names_the_byte() {
    let cases: [(&[u8], u64, u64); 9] = [
        (b"{\"log\":{\"entries\":[{},]}}", 22, 1),
        (b"{\"log\":{\"entries\":[,{}]}}", 19, 0),
        (b"{\"log\":{\"entries\":[{} {}]}}", 22, 1),
        (b"{\"log\":{\"entries\":[{}}}}", 21, 1),
        (b"{\"log\":{\"entries\":[{},\0\0\0", 22, 1),
        (b"{\"log\":{\"entries\":[{},{\"a\":[1}]}}", 29, 1),
        (b"{\"log\":{\"entries\":[{}],}}", 23, 1),
        (b"{\"log\":{\"entries\":[{}]}}\0", 24, 1),
        (b"{\"log\":{\"entries\":[{}]}}{\"log\":{}}", 24, 1),
    ];
    for (file, place, complete) in cases {
        let outcome = read(file);
        assert_eq!(outcome.entries.len() as u64, complete);
        match outcome.end {
            Err(HarError::Malformed { offset, entries_read, .. }) => {
                let shown = String::from_utf8_lossy(file);
                assert_eq!((offset, entries_read), (place, complete), "{shown:?}");
            }
            other => panic!("{:?}: {other:?}", String::from_utf8_lossy(file)),
        }
    }
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_are_tolerated() {
    let plain = small_har().replace("\r\n", "\n");
    let file = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    let outcome = read(file.as_bytes());
    outcome.end.unwrap();
    assert_eq!(outcome.entries.len(), 2);
    for (offset, bytes) in outcome.entries {
        let at = usize::try_from(offset).unwrap();
        assert_eq!(&file.as_bytes()[at..at + bytes.len()], &bytes[..]);
        parse_entry(&bytes, 0, offset).unwrap();
    }
}

#[test]
fn an_entry_that_does_not_parse_costs_only_itself() {
    let good = r#"{"request":{"method":"GET","url":"u"}}"#;
    let cases = [
        ("7", "member of the wrong type"),
        ("nope", "not JSON"),
        (r#"{"request":nope}"#, "not JSON"),
        ("{\"request\":{\"method\":\0}}", "not JSON"),
        (r#"{"request":[]}"#, "member of the wrong type"),
        (r#"{"request":{"method":"GET","url":5}}"#, "member of the wrong type"),
        (r#"{"time":"secret","request":{}}"#, "member of the wrong type"),
        ("{}", "has no request"),
        (r#"{"request":{"method":"GET"}}"#, "has no request.url"),
    ];
    for (bad, told) in cases {
        let file = format!("{{\"log\":{{\"entries\":[{bad},{good}]}}}}");
        let outcome = read(file.as_bytes());
        outcome.end.unwrap();
        let [(bad_offset, bad_bytes), (good_offset, good_bytes)] = &outcome.entries[..] else {
            panic!("{bad}: {} entries", outcome.entries.len());
        };
        let error = parse_entry(bad_bytes, 0, *bad_offset).unwrap_err();
        assert!(error.to_string().ends_with(told), "{bad}: {error}");
        parse_entry(good_bytes, 1, *good_offset).unwrap();
    }
}

#[test]
fn an_entry_error_points_at_the_trouble_and_quotes_nothing() {
    let entry = "{\n \"request\": {\"method\": \"GET\",\n  \"url\": [\"secret\"]}}";
    match parse_entry(entry.as_bytes(), 3, 1000).unwrap_err() {
        error @ EntryError::Shape { offset, index: 3 } => {
            let trouble = entry.find('[').unwrap() as u64 + 1000;
            assert!((trouble..=trouble + 1).contains(&offset), "{offset} and {trouble}");
            assert!(!error.to_string().contains("secret"));
            assert!(!format!("{error:?}").contains("secret"));
        }
        other => panic!("{other:?}"),
    }
    let entry = r#"{"request":{"method":"GET","url":"u"},"response":{"status":"secret"}}"#;
    let error = parse_entry(entry.as_bytes(), 0, 0).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"));
}

#[test]
fn deep_nesting_costs_one_entry_and_no_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let file = format!("{{\"a\":{deep},\"log\":{{\"entries\":[{{}},{deep},{{\"a\":1}}]}}}}");
    let mut reader = HarReader::new(file.as_bytes(), Limits::STANDARD);
    assert_eq!(reader.next_entry().unwrap().unwrap().bytes, b"{}");
    match reader.next_entry() {
        Err(error @ HarError::EntryTooDeep { index: 1, depth_max: 512, .. }) => {
            assert!(!error.is_final());
        }
        other => panic!("{other:?}"),
    }
    let last = reader.next_entry().unwrap().unwrap();
    assert_eq!((last.index, last.bytes), (2, &b"{\"a\":1}"[..]));
    assert!(reader.next_entry().unwrap().is_none());
}

#[test]
fn brackets_that_are_never_closed_are_a_truncated_file() {
    let file = format!("{{\"log\":{{\"entries\":[{{}},{}", "[".repeat(100_000));
    let outcome = read(file.as_bytes());
    assert_eq!(outcome.entries.len(), 1);
    assert!(matches!(outcome.end, Err(HarError::Truncated { entries_read: 1, .. })));
}

#[test]
fn the_deepest_entry_that_is_framed_is_also_parsed() {
    let deep = format!("{}{}", "[".repeat(511), "]".repeat(511));
    let entry = format!("{{\"x\":{deep},\"request\":{{\"method\":\"GET\",\"url\":\"u\"}}}}");
    let file = format!("{{\"log\":{{\"entries\":[{entry}]}}}}");
    let outcome = read(file.as_bytes());
    outcome.end.unwrap();
    assert_eq!(parse_entry(&outcome.entries[0].1, 0, 0).unwrap().request.url, "u");
}

#[test]
fn an_entry_above_the_limit_costs_only_itself_at_any_chunk_size() {
    let limits = Limits { entry_bytes_max: 10, depth_max: 8 };
    let file = br#"{"log":{"entries":["12345678","123456789",{"a":1}]}}"#;
    for chunk_bytes in [1, 5, 1000] {
        let chunks = super::Dripping { rest: file, chunk_bytes };
        let mut reader = HarReader::new(chunks, limits);
        assert_eq!(reader.next_entry().unwrap().unwrap().bytes, b"\"12345678\"");
        match reader.next_entry() {
            Err(error @ HarError::EntryTooLarge { offset: 30, index: 1, entry_bytes_max: 10 }) => {
                assert!(!error.is_final());
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(reader.next_entry().unwrap().unwrap().index, 2);
        drain_rest(&mut reader);
    }
}

fn drain_rest<R: std::io::Read>(reader: &mut HarReader<R>) {
    assert!(reader.next_entry().unwrap().is_none());
    assert!(reader.next_entry().unwrap().is_none());
}

#[test]
fn a_string_of_200_megabytes_is_read_or_passed_over() {
    use std::io::Read as _;
    let long_bytes = 200_000_000;
    let file = |before: &'static [u8], behind: &'static [u8]| {
        before.chain(std::io::repeat(b'x').take(long_bytes)).chain(behind)
    };
    let few_bytes = 1_000_000;
    let inside = file(b"{\"log\":{\"entries\":[\"", b"\",7]}}");
    let mut reader = HarReader::new(inside, Limits::STANDARD);
    assert_eq!(reader.next_entry().unwrap().unwrap().bytes.len() as u64, long_bytes + 2);
    assert_eq!(reader.next_entry().unwrap().unwrap().bytes, b"7");
    drain_rest(&mut reader);
    let outside = file(b"{\"log\":{\"comment\":\"", b"\",\"entries\":[7]}}");
    let mut reader = HarReader::new(outside, Limits::STANDARD);
    assert_eq!(reader.next_entry().unwrap().unwrap().bytes, b"7");
    assert_eq!(reader.comment(), None);
    assert!(reader.held_bytes() < few_bytes, "{}", reader.held_bytes());
    let name = file(b"{\"log\":{\"", b"\":1,\"entries\":[7]}}");
    let mut reader = HarReader::new(name, Limits::STANDARD);
    assert_eq!(drain(&mut reader).texts(), ["7"]);
    assert!(reader.held_bytes() < few_bytes, "{}", reader.held_bytes());
    let refused = file(b"{\"log\":{\"entries\":[\"", b"\",7]}}");
    let limits = Limits { entry_bytes_max: 100_000, ..Limits::STANDARD };
    let mut reader = HarReader::new(refused, limits);
    assert!(matches!(reader.next_entry(), Err(HarError::EntryTooLarge { .. })));
    assert_eq!(reader.next_entry().unwrap().unwrap().bytes, b"7");
    assert!(reader.held_bytes() < few_bytes, "{}", reader.held_bytes());
}

#[test]
fn numbers_beyond_every_type_are_absent_not_errors() {
    let entry = br#"{"time":1e400,"x":-1e999999,"_sequence":123456789012345678901234567890,
        "request":{"method":"GET","url":"u","bodySize":1e400,"headersSize":1e400},
        "response":{"status":99999999999999999999,"bodySize":-1}}"#;
    let entry = parse_entry(entry, 0, 0).unwrap();
    assert_eq!((entry.time_us, entry.sequence, entry.response.status), (None, None, 0));
}

#[test]
fn of_repeated_members_the_last_one_wins() {
    let entry = br#"{"request":{"method":"A","url":"a","postData":{"text":"lost"}},
        "request":{"method":"B","url":"a","url":"b","postData":{"text":"x","text":"y"},
        "headers":[{"name":"n","value":"1"}],"headers":[{"name":"n","value":"2"}]},
        "response":{"status":1},"response":null}"#;
    let entry = parse_entry(entry, 0, 0).unwrap();
    assert_eq!((&*entry.request.method, &*entry.request.url), ("B", "b"));
    let [header] = &entry.request.headers[..] else { panic!() };
    assert_eq!(header.value, b"2");
    assert_eq!(entry.response.status, 0);
    match entry.request.body {
        crate::har::Body::Present(payload) => assert_eq!(payload.bytes, b"y"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_number_of_headers_is_bounded() {
    let entry = |count: usize| {
        let headers = vec!["{}"; count].join(",");
        format!("{{\"request\":{{\"method\":\"G\",\"url\":\"u\",\"headers\":[{headers}]}}}}")
    };
    let most = entry(HEADERS_MAX);
    assert_eq!(parse_entry(most.as_bytes(), 0, 0).unwrap().request.headers.len(), HEADERS_MAX);
    let more = entry(HEADERS_MAX + 1);
    assert!(matches!(parse_entry(more.as_bytes(), 0, 0), Err(EntryError::Shape { .. })));
}

#[test]
fn debug_output_of_an_entry_holds_no_content() {
    let entry = br#"{"request":{"method":"POST","url":"http://h/?key=secret","headers":[
        {"name":"authorization","value":"secret"}],"postData":{"text":"secret"}},
        "response":{"content":{"text":"secret"}}}"#;
    let raw = crate::har::RawEntry { index: 0, offset: 0, bytes: entry };
    let parsed = parse_entry(entry, 0, 0).unwrap();
    let shown = format!("{raw:?} {parsed:?}");
    assert!(shown.contains("authorization"));
    assert!(!shown.contains("secret"), "{shown}");
}
