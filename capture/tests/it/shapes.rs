//! Goal: every entry becomes a request or a record, whatever is missing from it or wrong with
//! it. Method: one entry of each odd kind between two ordinary ones.

use capture::import::NoteKind;
use ledger::event::Rung;
use ledger::history::End;

use crate::support::{CHAT, Exchange, RESPONSES, Run, Stands, har};

const USER: &str = r#"{"role":"user","content":"go"}"#;
const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;

/// Imports an entry between two ordinary requests and checks that those are whole.
#[track_caller]
fn between(entry: &str) -> Run {
    let plain = Exchange::chat(&[USER]).json();
    let run = Run::of_file(har(&[plain.clone(), entry.to_owned(), plain]).as_bytes());
    let last = run.bodies.len() - 1;
    assert!(last > 0);
    run.assert_exact(0, BODY.as_bytes(), true);
    run.assert_exact(last, BODY.as_bytes(), true);
    run
}

/// Checks that an entry is kept as it stands.
#[track_caller]
fn kept(entry: &str, why: NoteKind) {
    let run = between(entry);
    assert_eq!(run.notes, [(why, 1)], "{entry}");
    let [record] = run.history.records() else { panic!("{} records", run.history.records().len()) };
    assert_eq!((record.index, record.reason.as_str()), (1, why.words()));
    assert_eq!(run.text(&record.bytes), entry);
}

#[test]
fn what_is_no_model_request_is_kept_as_it_stands() {
    kept(&Exchange::new("GET", "http://h/v1/models").json(), NoteKind::SideExchange);
    kept(&Exchange::new("HEAD", "http://h/").json(), NoteKind::SideExchange);
    kept(&Exchange::new("GET", "http://h/v1/messages").json(), NoteKind::SideExchange);
    kept(&Exchange::post("http://h/api/show", r#"{"name":"m"}"#).json(), NoteKind::SideExchange);
    kept(&Exchange::post("http://h/rpc", "not json").json(), NoteKind::SideExchange);
    kept(&Exchange::post("http://h/rpc", [0xff, 0x00]).json(), NoteKind::SideExchange);
    kept(&Exchange::new("POST", CHAT).json(), NoteKind::NoBody);
    let not_base64 = r#"{"request":{"method":"POST","url":"http://h/v1/messages",
        "postData":{"text":"*","encoding":"base64"}}}"#;
    kept(not_base64, NoteKind::NoBody);
}

#[test]
fn a_post_to_an_unknown_path_is_a_request_when_its_body_is_one() {
    let run = Run::of(&[
        Exchange::post("http://h/gateway", BODY),
        Exchange::post("http://h/gateway", BODY).header("Anthropic-Version", "2023-06-01"),
        Exchange::post("http://h/gateway", r#"{"model":"m","input":"go"}"#),
        Exchange::post("http://h/gateway", r#"{"contents":[]}"#),
        Exchange::post("http://h/gateway", r#"{"messages":[]}"#),
    ]);
    let dialects: Vec<_> = run.history.requests().iter().map(|r| r.dialect.name()).collect();
    assert_eq!(dialects, ["openai-chat", "anthropic", "openai-responses", "gemini"]);
    assert_eq!(run.history.records().len(), 1);
}

#[test]
fn a_web_socket_is_kept_as_it_stands() {
    let messages = r#","_webSocketMessages":[{"type":"send","opcode":1,
        "data":"{\"type\":\"response.create\",\"input\":[],\"generate\":false}"}]"#;
    kept(&Exchange::new("GET", RESPONSES).status(101).more(messages).json(), NoteKind::WebSocket);
    kept(&Exchange::new("GET", RESPONSES).status(101).json(), NoteKind::WebSocket);
    kept(&Exchange::post(RESPONSES, "{}").more(messages).json(), NoteKind::WebSocket);
}

#[test]
fn turns_on_a_web_socket_become_requests_and_what_is_left_stays_with_the_entry() {
    let quoted = |data: &str| serde_json::Value::from(data).to_string();
    let sent = |time: f64, data: &str| {
        format!(r#"{{"type":"send","opcode":1,"time":{time},"data":{}}}"#, quoted(data))
    };
    let got = |time: f64, data: &str| {
        format!(r#"{{"type":"receive","opcode":"text","time":{time},"data":{}}}"#, quoted(data))
    };
    let done = |id: &str| {
        let item = r#"{"type":"message","role":"assistant","content":[]}"#;
        format!(
            r#"{{"type":"response.completed","response":{{"id":"{id}","status":"completed","output":[{item}]}}}}"#
        )
    };
    let user = r#"{"type":"message","role":"user","content":"hello"}"#;
    let messages = [
        sent(1.0, r#"{"type":"session.update"}"#),
        sent(2.0, &format!(r#"{{"type":"response.create","model":"m","input":[{user}]}}"#)),
        got(2.5, &done("r1")),
        sent(
            3.0,
            &format!(
                r#"{{"type":"response.create","model":"m","previous_response_id":"r1","input":[{user}]}}"#
            ),
        ),
    ];
    let messages = format!(r#","_webSocketMessages":[{}]"#, messages.join(","));
    let run = Run::of(&[Exchange::new("GET", RESPONSES).status(101).more(&messages)]);
    let requests = run.history.requests();
    assert_eq!(requests.len(), 2);
    let answers: Vec<_> = requests
        .iter()
        .map(|request| request.answer.as_ref().map(|(end, answer)| (*end, answer.time_us)))
        .collect();
    // The second turn was never answered.
    assert_eq!(answers[0], Some((End::Received, Some(500_000))));
    assert_eq!(answers[1].unwrap().0, End::Failed);
    assert!(requests.iter().all(|request| request.captured.rung == Rung::Reconstructed));
    assert_eq!(run.history.sessions().len(), 1);
    let entry = run.history.records().last().unwrap();
    assert_eq!(entry.reason, NoteKind::WebSocket.words());
    let kept: serde_json::Value = serde_json::from_str(&run.text(&entry.bytes)).unwrap();
    let left = kept["_webSocketMessages"].as_array().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["data"], r#"{"type":"session.update"}"#);
}

#[test]
fn an_element_that_is_no_entry_is_kept_as_it_stands() {
    for element in [
        "null",
        "17",
        "\"text\"",
        "{}",
        "[]",
        r#"{"request":null}"#,
        r#"{"request":{}}"#,
        r#"{"request":{"method":"POST"}}"#,
        r#"{"request":{"method":7,"url":"http://h/"}}"#,
        r#"{"request":{"method":"POST","url":"http://h/","headers":{}}}"#,
    ] {
        kept(element, NoteKind::Unparsed);
    }
}

#[test]
fn a_request_without_an_answer_failed() {
    for response in ["", r#","response":null"#, r#","response":{}"#] {
        let entry = format!(
            r#"{{"request":{{"method":"POST","url":"{CHAT}",
                "postData":{{"text":{}}}}}{response}}}"#,
            crate::support::quoted(BODY)
        );
        let run = between(&entry);
        assert_eq!(run.bodies.len(), 3);
        assert_eq!(run.end(1), End::Failed);
        let (_, answer) = run.request(1).answer.as_ref().unwrap();
        assert_eq!((answer.status, answer.body.is_none()), (0, true));
    }
}

#[test]
fn members_of_the_wrong_size_or_type_cost_nothing_but_themselves() {
    let entry = format!(
        r#"{{"startedDateTime":"yesterday","time":1e400,"_sequence":"x","_cut":7,
            "request":{{"method":"POST","url":"{CHAT}","bodySize":18446744073709551616,
            "postData":{{"text":{}}}}},"response":{{"status":99999}}}}"#,
        crate::support::quoted(BODY)
    );
    let run = between(&entry);
    run.assert_exact(1, BODY.as_bytes(), true);
    assert_eq!(run.end(1), End::Failed);
}

#[test]
fn a_body_of_another_length_than_declared_is_not_called_exact() {
    let entry = |bytes: i64| {
        format!(
            r#"{{"request":{{"method":"POST","url":"{CHAT}","bodySize":{bytes},
                "postData":{{"text":{}}}}}}}"#,
            crate::support::quoted(BODY)
        )
    };
    let length = i64::try_from(BODY.len()).unwrap();
    for (bytes, rung, notes) in [
        (length, Rung::BodyExact, vec![]),
        (-1, Rung::BodyExact, vec![]),
        (length + 1, Rung::Reconstructed, vec![(NoteKind::LengthDiffers, 1)]),
        (0, Rung::Reconstructed, vec![(NoteKind::LengthDiffers, 1)]),
    ] {
        let run = between(&entry(bytes));
        assert_eq!((run.request(1).captured.rung, run.notes), (rung, notes), "{bytes}");
        assert_eq!(run.bodies[1], BODY.as_bytes());
    }
}

#[test]
fn half_a_surrogate_in_the_file_is_kept_and_not_called_exact() {
    let escaped =
        r#"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a \ud83d b\"}]}"#;
    let entry = Exchange::new("POST", CHAT).body(Stands::Escaped(escaped.to_owned()));
    let run = between(&entry.json());
    assert_eq!(run.request(1).captured.rung, Rung::Reconstructed);
    assert_eq!(run.notes, [(NoteKind::NotUtf8, 1)]);
    let body = &run.bodies[1];
    assert!(body.windows(7).any(|bytes| bytes == b"a \xed\xa0\xbd b"));
    assert!(run.request(1).captured.unsplit.is_none());
}

#[test]
fn more_headers_than_are_read_make_an_entry_that_is_kept_as_it_stands() {
    let entry = |count: usize| {
        let headers = vec!["{}"; count].join(",");
        format!(r#"{{"request":{{"method":"GET","url":"http://h/","headers":[{headers}]}}}}"#)
    };
    kept(&entry(10_000), NoteKind::SideExchange);
    kept(&entry(10_001), NoteKind::Unparsed);
}
