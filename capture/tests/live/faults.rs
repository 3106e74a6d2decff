//! What can go wrong between a client and an upstream, and what is then recorded and answered.

use std::time::Duration;

use capture::live::OnFailure;
use capture::live::answering::{Asked, Given, Piece};
use ledger::history::End;

use crate::client::{Client, ask};
use crate::stage::{Stage, given};

const CHAT: &str = "/v1/chat/completions";
const TURN: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;
const EVENT: &[u8] =
    b"data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
const LAST: &[u8] = b"data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// Longer than any test waits: whoever is still there then has been forgotten.
const NEVER: Duration = Duration::from_mins(10);

fn stream(pieces: &[(Duration, &[u8])]) -> Given {
    Given {
        status: 200,
        headers: vec![("content-type".to_owned(), b"text/event-stream".to_vec())],
        body: pieces
            .iter()
            .map(|(after, bytes)| Piece { after: *after, bytes: bytes.to_vec() })
            .collect(),
        cut: false,
    }
}

fn now(bytes: &[u8]) -> (Duration, &[u8]) {
    (Duration::ZERO, bytes)
}

fn ok(_index: usize, _asked: &Asked) -> Given {
    stream(&[now(EVENT), now(LAST)])
}

#[test]
fn an_event_is_passed_on_before_the_next_one_exists() {
    let stage = Stage::new(|_, _: &Asked| stream(&[now(EVENT), (NEVER, LAST)]));
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    assert_eq!(client.head().status, 200);
    assert_eq!(client.chunk().unwrap(), EVENT);
    client.hang_up();
    let run = stage.end();
    assert_eq!(run.history.requests()[0].answer.as_ref().unwrap().0, End::Aborted);
}

#[test]
fn a_client_that_hangs_up_after_the_last_event_has_had_its_answer() {
    let stage = Stage::new(|_, _: &Asked| stream(&[now(EVENT), now(LAST), (NEVER, b"\n")]));
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    client.head();
    let mut got = Vec::new();
    while got.len() < EVENT.len() + LAST.len() {
        got.extend(client.chunk().unwrap());
    }
    client.hang_up();
    let run = stage.end();
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(*end, End::Received);
    assert_eq!(run.text(answer.body.as_ref().unwrap()).as_bytes(), [EVENT, LAST].concat());
}

#[test]
fn a_client_that_hangs_up_before_leaves_what_it_was_given_and_ends_the_upstream() {
    let stage = Stage::new(|_, _: &Asked| stream(&[now(EVENT), (NEVER, LAST)]));
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    client.head();
    client.chunk().unwrap();
    client.hang_up();
    let run = stage.end();
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(*end, End::Aborted);
    assert_eq!(run.text(answer.body.as_ref().unwrap()).as_bytes(), EVENT);
    assert_eq!(run.reasons(), ["client hung up before the answer's end"]);
    assert_eq!(
        run.text(&run.history.records()[1].bytes),
        format!(r#"{{"delivered_bytes":{},"request":1}}"#, EVENT.len())
    );
}

#[test]
fn a_client_that_hangs_up_before_the_answer_leaves_its_request() {
    let stage = Stage::new(|_, _: &Asked| stream(&[(NEVER, EVENT)]));
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    // The request is captured before it is sent, so whoever is asked upstream was captured.
    while stage.upstream.asked.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    client.hang_up();
    let run = stage.end();
    // With status and fields it broke off, without them it failed.
    assert_ne!(run.history.requests()[0].answer.as_ref().unwrap().0, End::Received);
    assert_eq!(run.body(0), TURN);
}

#[test]
fn an_upstream_that_breaks_off_is_seen_by_the_client_and_recorded() {
    let stage = Stage::new(|_, _: &Asked| Given { cut: true, ..stream(&[now(EVENT)]) });
    let answer = ask(stage.addr(), CHAT, &[], TURN);
    assert_eq!((answer.status, answer.whole), (200, false));
    assert!(answer.body == EVENT);
    let run = stage.end();
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(*end, End::Aborted);
    assert_eq!(run.text(answer.body.as_ref().unwrap()).as_bytes(), EVENT);
}

#[test]
fn an_upstream_that_is_not_there_is_a_502_and_a_failed_answer() {
    let mut stage = Stage::new(ok);
    stage.without_upstream();
    let answer = ask(stage.addr(), CHAT, &[], TURN);
    assert_eq!(answer.status, 502);
    assert!(String::from_utf8(answer.body).unwrap().contains("cannot be reached"));
    let run = stage.end();
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!((*end, answer.status), (End::Failed, 0));
}

#[test]
fn a_request_that_cannot_be_recorded_is_not_sent() {
    let stage = Stage::new(ok);
    let answer = ask(stage.addr(), CHAT, &[("content-encoding", "made-up")], TURN);
    assert_eq!(answer.status, 502);
    assert!(String::from_utf8(answer.body).unwrap().contains("was not sent"));
    assert!(stage.upstream.asked.lock().unwrap().is_empty());
    let run = stage.end();
    assert_eq!(run.report.requests, 0);
    assert!(run.history.closed().unwrap().complete);
}

#[test]
fn on_request_it_is_sent_all_the_same_and_the_run_says_so() {
    let stage = Stage::with(ok, OnFailure::SendAnyway);
    let answer = ask(stage.addr(), CHAT, &[("content-encoding", "made-up")], TURN);
    assert_eq!(answer.status, 200);
    let run = stage.end();
    assert_eq!((run.report.requests, run.report.uncaptured), (0, 1));
    assert!(!run.history.closed().unwrap().complete);
    assert_eq!(run.reasons(), ["request sent without being captured"]);
}

#[test]
fn a_bomb_is_refused_at_the_limit() {
    // A zstd frame that repeats one byte until it is longer than any body may be.
    let mut bomb = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
    let blocks = capture::live::REQUEST_BYTES_MAX / (128 << 10);
    for last in std::iter::repeat_n(0_u32, blocks).chain([1]) {
        bomb.extend_from_slice(&((128_u32 << 10) << 3 | 1 << 1 | last).to_le_bytes()[..3]);
        bomb.push(0);
    }
    let stage = Stage::new(ok);
    let answer = ask(stage.addr(), CHAT, &[("content-encoding", "zstd")], &bomb);
    assert_eq!(answer.status, 502);
    assert!(stage.upstream.asked.lock().unwrap().is_empty());
    assert_eq!(stage.end().report.requests, 0);
}

#[test]
fn what_asks_no_model_for_anything_is_passed_and_kept_as_a_record() {
    let stage = Stage::new(|_, _: &Asked| given(404, "application/json", b"{\"no\":1}"));
    let mut client = Client::connect(stage.addr());
    client.send("GET", "/v1/models?key=AIzaSyA1234567890abcdefghijklmnopqrstuvw", &[], b"");
    let answer = client.answer();
    assert_eq!((answer.status, answer.body.as_slice()), (404, &b"{\"no\":1}"[..]));
    // The connection stays open for the next one.
    client.send("POST", "/v1/messages/count_tokens", &[], TURN);
    assert_eq!(client.answer().status, 404);
    let run = stage.end();
    assert_eq!((run.report.requests, run.report.side), (0, 2));
    let told = run.text(&run.history.records()[1].bytes);
    assert!(told.contains("/v1/messages/count_tokens"), "{told}");
    assert!(told.contains("hello"), "{told}");
    assert!(!run.bytes().windows(12).any(|window| window == b"AIzaSyA12345"));
}

#[test]
fn keys_pass_to_the_upstream_and_never_to_the_disk() {
    let stage = Stage::new(ok);
    let key = "sk-proj-Tg3hJ9vKq2LmN8pR5sXw7yZbC4dF6gH1";
    for name in ["authorization", "x-api-key", "x-goog-api-key", "cookie"] {
        let value = if name == "authorization" { format!("Bearer {key}") } else { key.to_owned() };
        assert_eq!(ask(stage.addr(), CHAT, &[(name, &value)], TURN).status, 200);
        let asked = stage.upstream.asked.lock().unwrap().last().unwrap().clone();
        assert!(asked.headers.contains(&(name.to_owned(), value.into_bytes())));
    }
    let run = stage.end();
    assert!(!run.bytes().windows(key.len()).any(|window| window == key.as_bytes()));
}

#[test]
fn malformed_requests_are_answered_and_others_go_on() {
    let stage = Stage::new(ok);
    for bytes in [
        &b"nonsense\r\n\r\n"[..],
        b"POST /v1/x HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /v1/x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/x HTTP/1.1\r\nBad Name: x\r\n\r\n",
    ] {
        let mut client = Client::connect(stage.addr());
        client.write(bytes);
        assert_eq!(client.head().status, 400);
    }
    assert_eq!(ask(stage.addr(), CHAT, &[], TURN).status, 200);
    assert_eq!(stage.end().report.requests, 1);
}

#[test]
fn many_streams_at_once_are_all_passed_and_recorded() {
    let stage = Stage::new(ok);
    let addr = stage.addr();
    std::thread::scope(|scope| {
        for number in 0..64 {
            scope.spawn(move || {
                let body = String::from_utf8(TURN.to_vec()).unwrap();
                let body = body.replace("hello", &format!("hello {number}"));
                let answer = ask(addr, CHAT, &[], body.as_bytes());
                assert_eq!(answer.body, [EVENT, LAST].concat());
            });
        }
    });
    let run = stage.end();
    assert_eq!((run.report.requests, run.report.conversations), (64, 64));
    assert!(
        run.history.requests().iter().all(|one| one.answer.as_ref().unwrap().0 == End::Received)
    );
}

#[test]
fn a_slow_reader_holds_the_upstream_back_and_loses_nothing() {
    let pieces = 64;
    let piece = vec![b'x'; 256 << 10];
    let big = piece.clone();
    let stage = Stage::new(move |_, _: &Asked| {
        let all: Vec<_> = std::iter::repeat_n(now(&big), pieces).collect();
        stream(&all)
    });
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    client.head();
    let mut got = 0;
    while let Some(chunk) = client.chunk() {
        got += chunk.len();
        if chunk.is_empty() {
            break;
        }
        for _ in 0..100 {
            std::thread::yield_now();
        }
    }
    assert_eq!(got, pieces * piece.len());
    let run = stage.end();
    let (_, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(run.text(answer.body.as_ref().unwrap()).len(), pieces * piece.len());
}

#[test]
fn a_request_is_on_the_disk_before_the_upstream_sees_it() {
    use std::sync::{Arc, Mutex};
    let recording = Arc::new(Mutex::new(std::path::PathBuf::new()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (there, found) = (Arc::clone(&recording), Arc::clone(&seen));
    let stage = Stage::new(move |index, asked| {
        // A reader of the files as they are at this moment.
        let mut log = ledger::fs::LogReader::open(&there.lock().unwrap()).unwrap();
        let history = ledger::fs::history(&mut log).unwrap();
        found.lock().unwrap().push(history.requests().len());
        ok(index, asked)
    });
    *recording.lock().unwrap() = stage.recording();
    for _ in 0..3 {
        ask(stage.addr(), CHAT, &[], TURN);
    }
    stage.end();
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn connections_and_the_pieces_of_an_answer_are_told() {
    let stage = Stage::new(|_, _: &Asked| stream(&[now(EVENT), now(EVENT), now(LAST)]));
    let mut client = Client::connect(stage.addr());
    for _ in 0..2 {
        client.send("POST", CHAT, &[], TURN);
        assert!(client.answer().whole);
    }
    ask(stage.addr(), CHAT, &[], TURN);
    let run = stage.end();
    let told: Vec<_> = (0..3).map(|index| run.exchange(index)).collect();
    let on = |side: &str| -> Vec<_> {
        let pair = |it: &serde_json::Value| {
            (it[side]["connection"].as_u64(), it[side]["nth_on_connection"].as_u64())
        };
        told.iter().map(pair).collect()
    };
    assert_eq!(on("client"), [(Some(1), Some(1)), (Some(1), Some(2)), (Some(2), Some(1))]);
    // The first request opens a connection; the pool decides about the others.
    assert_eq!(on("upstream")[0], (Some(1), Some(1)));
    for it in &told {
        let bytes: u64 =
            it["pieces"].as_array().unwrap().iter().map(|p| p[1].as_u64().unwrap()).sum();
        assert_eq!(bytes, (2 * EVENT.len() + LAST.len()) as u64);
        assert_eq!(it["upstream"]["tls"], serde_json::Value::Null);
        assert!(it["head_us"].is_u64() && it["captured_us"].is_u64());
    }
}

#[test]
fn an_error_of_the_upstream_passes_as_it_is_and_is_a_failed_answer() {
    let statuses = [429, 500, 529, 200];
    let stage = Stage::new(move |index, _: &Asked| {
        let mut given = given(statuses[index], "application/json", b"{\"error\":{}}");
        given.headers.push(("retry-after".to_owned(), b"1".to_vec()));
        if index == 3 { stream(&[now(EVENT), now(LAST)]) } else { given }
    });
    for status in statuses {
        let answer = ask(stage.addr(), CHAT, &[], TURN);
        assert_eq!((answer.status, answer.whole), (status, true));
        assert_eq!(answer.header("retry-after").is_some(), status != 200);
    }
    let run = stage.end();
    assert_eq!(run.report.conversations, 1);
    let told: Vec<_> = run
        .history
        .requests()
        .iter()
        .map(|request| (request.captured.attempt, request.answer.as_ref().unwrap().0))
        .collect();
    let failed = End::Failed;
    assert_eq!(told, [(1, failed), (2, failed), (3, failed), (4, End::Received)]);
}

#[test]
fn a_stalled_upstream_is_waited_for_and_what_came_is_kept() {
    let stage = Stage::new(|_, _: &Asked| stream(&[now(EVENT), (NEVER, LAST)]));
    let mut client = Client::connect(stage.addr());
    client.send("POST", CHAT, &[], TURN);
    client.head();
    assert_eq!(client.chunk().unwrap(), EVENT);
    // The run ends while the client is still waiting: its answer is cut, and not ended.
    let run = stage.end();
    assert_eq!(client.chunk(), None);
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(*end, End::Aborted);
    assert_eq!(run.text(answer.body.as_ref().unwrap()).as_bytes(), EVENT);
}

#[test]
fn a_bomb_in_an_answer_passes_and_is_recorded_as_far_as_is_kept() {
    use std::io::Write as _;
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..=(capture::live::ANSWER_BYTES_MAX >> 20) {
        bomb.write_all(&zeros).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let length = bomb.len();
    let stage = Stage::new(move |_, _: &Asked| {
        let mut given = given(200, "text/event-stream", &bomb);
        given.headers.push(("content-encoding".to_owned(), b"gzip".to_vec()));
        given
    });
    let answer = ask(stage.addr(), CHAT, &[], TURN);
    assert!(answer.whole);
    let run = stage.end();
    let (end, answer) = run.history.requests()[0].answer.as_ref().unwrap();
    assert_eq!(*end, End::Aborted);
    let kept = answer.body.as_ref().map_or(0, ledger::content::Content::len);
    assert!(kept <= 200 * length as u64, "{kept}");
}

#[test]
fn a_body_beyond_the_limit_is_refused_before_it_is_read() {
    let stage = Stage::new(ok);
    let mut client = Client::connect(stage.addr());
    let length = capture::live::REQUEST_BYTES_MAX + 1;
    client.write(
        format!("POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n").as_bytes(),
    );
    assert_eq!(client.answer().status, 413);
    assert_eq!(stage.end().report.requests, 0);
}

#[test]
fn a_body_of_200_mb_passes_and_is_recorded() {
    let stage = Stage::new(ok);
    let body = [
        &br#"{"model":"m","messages":[{"role":"user","content":""#[..],
        "tool output line with words 0123456789\\n".repeat(200_000_000 / 40).as_bytes(),
        br#""}]}"#,
    ]
    .concat();
    assert!(body.len() > 199_000_000);
    assert_eq!(ask(stage.addr(), CHAT, &[], &body).status, 200);
    assert!(stage.upstream.asked.lock().unwrap()[0].body == body);
    let run = stage.end();
    assert!(run.body(0) == body);
    assert_eq!(run.history.requests()[0].captured.rung, ledger::event::Rung::WireExact);
}

const CALLS: &str = r#"{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_9","type":"function","function":{"name":"sh","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;

#[test]
fn an_output_that_the_client_saved_is_taken_whole_and_joined_to_its_call() {
    let stage = Stage::new(|_, _: &Asked| given(200, "application/json", CALLS.as_bytes()));
    ask(stage.addr(), CHAT, &[], TURN);
    let whole = "the first line of it\n".repeat(500);
    let path = stage.saved().join("tool-output.txt");
    std::fs::write(&path, &whole).unwrap();
    let sent = format!("the first line of it\n... Full output saved to: {}", path.display());
    let body = serde_json::json!({ "model": "m", "messages": [
        { "role": "user", "content": "hello" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "call_9", "type": "function", "function": { "name": "sh", "arguments": "{}" } }
        ] },
        { "role": "tool", "tool_call_id": "call_9", "content": sent },
    ] })
    .to_string();
    ask(stage.addr(), CHAT, &[], body.as_bytes());
    // The file is read behind the request, before the recording is closed.
    let run = stage.end();
    assert_eq!((run.report.spilled, run.report.unspilled), (1, 0));
    let found = &run.history.calls()[0].found[0];
    assert_eq!(found.source, "spill");
    assert_eq!(run.text(&found.pieces[0].text), whole);
    assert!(run.body(1) == body.as_bytes());
}

#[test]
fn an_upgrade_is_answered_so_that_clients_send_plain_requests() {
    let stage = Stage::new(ok);
    let mut client = Client::connect(stage.addr());
    let fields = [("connection", "Upgrade"), ("upgrade", "websocket")];
    client.send("GET", "/v1/responses", &fields, b"");
    assert_eq!(client.answer().status, 426);
    client.send("POST", CHAT, &[], TURN);
    assert_eq!(client.answer().status, 200);
    assert_eq!(stage.end().report.requests, 1);
}

#[test]
fn a_field_that_smuggles_another_one_in_is_refused_before_anything_is_sent() {
    let stage = Stage::new(ok);
    for smuggled in ["X-A: a\rX-B: b", "X-A: a\nX-B : b", "X A: b", "X-A: a\0b"] {
        let mut client = Client::connect(stage.addr());
        let head = format!("POST {CHAT} HTTP/1.1\r\nHost: x\r\n{smuggled}\r\n");
        client.write(&[head.as_bytes(), b"Content-Length: 2\r\n\r\n{}"].concat());
        assert_eq!(client.answer().status, 400, "{smuggled:?}");
    }
    assert!(stage.upstream.asked.lock().unwrap().is_empty());
    assert_eq!(stage.end().report.requests, 0);
}
