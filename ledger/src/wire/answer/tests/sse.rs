//! The event stream format, without any dialect.

use super::super::sse::{SseEvent, SseEvents};

/// Name, data and whether a blank line closed it, of each event.
fn events(body: &[u8]) -> Vec<(String, String, bool)> {
    let own = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the cases are UTF-8");
    let flat = |event: SseEvent<'_>| (own(event.name), own(&event.data), event.closed);
    SseEvents::new(body).map(flat).collect()
}

fn event(name: &str, data: &str, closed: bool) -> (String, String, bool) {
    (name.to_owned(), data.to_owned(), closed)
}

#[test]
fn every_line_end_gives_the_same_events() {
    let body = "event: a\ndata: 1\ndata:2\n\n: note\nid: 7\nretry: 10\ndata:  3\n\n\n\ndata\n\n";
    let expected = vec![event("a", "1\n2", true), event("", " 3", true), event("", "", true)];
    for end in ["\n", "\r", "\r\n"] {
        assert_eq!(events(body.replace('\n', end).as_bytes()), expected, "with {end:?}");
    }
    let mixed = b"event: a\r\ndata: 1\rdata:2\n\r\ndata:  3\r\rdata\n\n";
    assert_eq!(events(mixed), expected);
}

#[test]
fn an_event_without_its_blank_line_is_given_out_as_not_closed() {
    assert_eq!(events(b"data: 1\n\ndata: 2"), [event("", "1", true), event("", "2", false)]);
    assert_eq!(events(b"data: 2\n"), [event("", "2", false)]);
    assert_eq!(events(b"data: 2\r\n\r"), [event("", "2", true)]);
}

#[test]
fn an_event_without_data_is_none_and_its_name_is_forgotten() {
    assert_eq!(events(b"event: a\n\ndata: 1\n\n"), [event("", "1", true)]);
    assert_eq!(events(b"event: a\n"), []);
    assert_eq!(events(b": only a comment\n\n"), []);
    assert_eq!(events(b"database: 1\n data: 1\n\n"), []);
}
