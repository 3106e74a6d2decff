//! Goal: every field of an entry comes out as it is documented, and what files in the wild
//! leave out is no error. Method: the small file field by field, then tables.

use super::{read, small_har};
use crate::har::members::{integer, thousandths};
use crate::har::{Body, Entry, Header, parse_entry};

fn entry(members: &str) -> String {
    format!("{{{members}\"request\":{{\"method\":\"GET\",\"url\":\"u\"}}}}")
}

fn parse(json: &str) -> Entry<'_> {
    parse_entry(json.as_bytes(), 0, 0).unwrap()
}

#[test]
fn the_fields_of_a_recorded_exchange_are_read() {
    let outcome = read(small_har().as_bytes());
    let (offset, bytes) = &outcome.entries[0];
    let entry = parse_entry(bytes, 4, *offset).unwrap();
    assert_eq!((entry.index, entry.offset), (4, *offset));
    assert_eq!(entry.started_unix_ns, Some(1_796_054_973_035_000_000));
    assert_eq!(entry.time_us, Some(28_600));
    assert_eq!((entry.sequence, entry.connection, entry.nth_on_connection), {
        (Some(1), Some(2), Some(3))
    });
    assert_eq!((entry.closed_by_client, entry.cut), (Some(true), Some(false)));
    assert_eq!(entry.web_socket_messages, None);

    let request = &entry.request;
    assert_eq!((&*request.method, &*request.http_version), ("POST", "HTTP/1.1"));
    assert_eq!(request.url, "http://127.0.0.1:1/v1/responses");
    assert_eq!(request.mime.as_deref(), Some("application/json"));
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    assert_eq!(request.headers, [header("Accept", "a, b"), header("accept", "\"c\\")]);
    let Body::Present(payload) = &request.body else { panic!() };
    assert_eq!(payload.bytes, br#"{"a":"\u00e9]}"}"#);

    let response = &entry.response;
    assert_eq!((response.status, &*response.status_text), (200, "OK"));
    assert_eq!(response.mime.as_deref(), Some("text/event-stream"));
    assert_eq!(response.content_bytes, Some(9));
    let Body::Present(payload) = &response.body else { panic!() };
    assert_eq!(payload.bytes, b"data: x\n\n");
    assert!(payload.declared_matches);
}

#[test]
fn web_socket_messages_are_handed_on_as_they_stand() {
    let outcome = read(small_har().as_bytes());
    let entry = parse_entry(&outcome.entries[1].1, 1, 0).unwrap();
    let messages = br#"[{"type":"send","opcode":"text","data":"{\"]\":1}"}]"#;
    assert_eq!(entry.web_socket_messages, Some(&messages[..]));
    assert_eq!(entry.started_unix_ns, Some(1_796_054_973_000_000_000));
    assert_eq!(parse(&entry_with_null()).web_socket_messages, None);
}

fn entry_with_null() -> String {
    entry("\"_webSocketMessages\":null,")
}

#[test]
fn what_files_in_the_wild_leave_out_is_absent() {
    let json = entry("");
    let entry = parse(&json);
    assert_eq!((entry.started_unix_ns, entry.time_us, entry.cut), (None, None, None));
    assert_eq!((entry.response.status, &entry.response.body), (0, &Body::Absent));
    assert_eq!((&entry.request.body, entry.request.headers.len()), (&Body::Absent, 0));
    for response in [
        "null",
        "{}",
        "{\"status\":0,\"content\":{}}",
        "{\"status\":0,\"headers\":null,\"content\":null,\"statusText\":null,\"bodySize\":null}",
    ] {
        let json = format!(
            "{{\"startedDateTime\":null,\"time\":null,\"response\":{response},\"request\":\
             {{\"method\":\"GET\",\"url\":\"u\",\"headers\":null,\"postData\":null}}}}"
        );
        assert_eq!(parse(&json).response.status, 0, "{response}");
    }
}

#[test]
fn dates_need_a_zone_and_fit_into_the_range() {
    for (date, unix_ns) in [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("1970-01-01T01:00:00.000000001+01:00", Some(1)),
        ("2026-11-30T16:09:33.035Z", Some(1_796_054_973_035_000_000)),
        ("2026-11-30T16:09:33.035", None),
        ("1969-12-31T23:59:59Z", None),
        ("9999-01-01T00:00:00Z", None),
        ("2026-02-30T00:00:00Z", None),
        ("", None),
        ("yesterday", None),
    ] {
        let json = entry(&format!("\"startedDateTime\":\"{date}\","));
        assert_eq!(parse(&json).started_unix_ns, unix_ns, "{date}");
    }
}

#[test]
fn milliseconds_become_microseconds_without_a_float() {
    for (text, us) in [
        ("0", Some(0)),
        ("28.6", Some(28_600)),
        ("0.0009", Some(0)),
        ("1.23456", Some(1_234)),
        ("1234567890123.5", Some(1_234_567_890_123_500)),
        ("2.86e1", Some(28_600)),
        ("286E-1", Some(28_600)),
        ("1e+2", Some(100_000)),
        ("1e-9", Some(0)),
        ("0e999999999", Some(0)),
        ("-1", None),
        ("-0.5", None),
        ("1e400", None),
        ("1e99999999999", None),
        ("18446744073709551.615", Some(u64::MAX)),
        ("18446744073709551.616", None),
    ] {
        assert_eq!(thousandths(text), us, "{text}");
    }
}

#[test]
fn whole_numbers_may_be_written_with_a_fraction_of_zeros() {
    for (text, number) in [
        ("200", Some(200)),
        ("-1", Some(-1)),
        ("200.0", Some(200)),
        ("200.5", None),
        ("1e3", None),
        ("9223372036854775808", None),
    ] {
        assert_eq!(integer(text), number, "{text}");
    }
}

#[test]
fn extensions_of_another_type_are_absent() {
    let json = entry(
        "\"_sequence\":\"7\",\"_connection\":{\"id\":1},\"_nthOnConnection\":-1,\
         \"_closedByClient\":1,\"_cut\":null,",
    );
    let entry = parse(&json);
    assert_eq!((entry.sequence, entry.connection, entry.nth_on_connection), (None, None, None));
    assert_eq!((entry.closed_by_client, entry.cut), (None, None));
}

#[test]
fn names_are_compared_unescaped_and_unknown_ones_may_hold_anything() {
    let json = "{\"\\ud800\":1,\"_cu\\u0074\":true,\"a\":\"\\ud800\",\
        \"request\":{\"method\":\"GET\",\"url\":\"u\"}}";
    assert_eq!(parse(json).cut, Some(true));
}
