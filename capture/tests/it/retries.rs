//! Goal: a send that repeats a failed one is an attempt of it, and what arrived before a break
//! is on record and recognized when it comes back. Method: error statuses and cut streams before
//! the same request.

use ledger::event::{Cause, ItemKind};
use ledger::history::End;
use ledger::id::RequestId;

use crate::support::{ANTHROPIC, CHAT, Exchange, RESPONSES, Run, Stands};

const USER: &str = r#"{"role":"user","content":"go"}"#;

/// Attempt and first attempt of each request.
fn attempts(run: &Run) -> Vec<(u16, Option<u64>)> {
    let told = |request: &ledger::history::Request| {
        let captured = &request.captured;
        (captured.attempt, captured.attempt_of.map(RequestId::ordinal))
    };
    run.history.requests().iter().map(told).collect()
}

fn chat() -> Exchange {
    Exchange::chat(&[USER])
}

const DONE: &str = r#"{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}"#;

#[test]
fn m49_a_repeated_request_is_an_attempt_until_it_is_answered() {
    let error = r#"{"error":{"message":"slow down","code":"rate_limited"}}"#;
    let begun = r#"{"choices":[{"delta":{"content":"do"}}]}"#;
    let run = Run::of(&[
        chat().status(429).answer(error),
        chat().status(500).answer("<html>oops</html>"),
        chat().stream(&[begun]),
        chat().status(0),
        chat().answer(DONE),
        chat().answer(DONE),
    ]);
    let ends: Vec<_> = (0..6).map(|index| run.end(index)).collect();
    assert_eq!(
        ends,
        [End::Failed, End::Failed, End::Aborted, End::Failed, End::Received, End::Received]
    );
    assert_eq!(
        attempts(&run),
        [(1, None), (2, Some(1)), (3, Some(1)), (4, Some(1)), (5, Some(1)), (1, None)]
    );
    assert_eq!(run.lanes(), [vec![1, 2, 3, 4, 5, 6]]);
}

#[test]
fn m49_a_request_with_something_new_is_no_attempt() {
    let more = r#"{"role":"user","content":"more"}"#;
    let run = Run::of(&[chat().status(500), Exchange::chat(&[USER, more]), chat()]);
    assert_eq!(attempts(&run), [(1, None), (1, None), (1, None)]);
}

#[test]
fn attempts_of_two_conversations_are_counted_apart() {
    let other = || Exchange::chat(&[r#"{"role":"user","content":"other"}"#]);
    let run = Run::of(&[chat().status(500), other(), chat().answer(DONE), other(), chat()]);
    assert_eq!(attempts(&run), [(1, None), (1, None), (2, Some(1)), (2, Some(2)), (1, None)]);
}

#[test]
fn a_stream_that_the_file_calls_cut_is_aborted_though_it_looks_whole() {
    let done = r#"{"choices":[{"delta":{"content":"d"},"finish_reason":"stop"}]}"#;
    let run = Run::of(&[
        chat().stream(&[done, "[DONE]"]).more(r#","_cut":true"#),
        chat().stream(&[done, "[DONE]"]).more(r#","_cut":false"#),
    ]);
    assert_eq!((run.end(0), run.end(1)), (End::Aborted, End::Received));
    assert_eq!(attempts(&run), [(1, None), (2, Some(1))]);
}

#[test]
fn text_that_arrived_before_a_break_is_known_when_it_comes_back() {
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message",
        "id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]}}"#;
    let begun = r#"{"type":"response.output_item.added","output_index":1,
        "item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"sh","arguments":""}}"#;
    let said = r#"{"type":"message","id":"msg_1","role":"assistant",
        "content":[{"type":"output_text","text":"Let me see."}]}"#;
    let body = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
    let run = Run::of(&[
        Exchange::post(RESPONSES, body(&[USER])).stream(&[done, begun]),
        Exchange::post(RESPONSES, body(&[USER, said])),
    ]);
    assert_eq!(run.end(0), End::Aborted);
    assert_eq!(run.causes(1), [Cause::Answer(RequestId::new(0))]);
    // It is not the same request, as it brings something new.
    assert_eq!(attempts(&run), [(1, None), (1, None)]);
    let kinds: Vec<_> = run.items(0).iter().map(|item| (item.kind, item.complete)).collect();
    assert_eq!(kinds, [(ItemKind::Text, true), (ItemKind::ToolCall, false)]);
    let [message] =
        run.history.parts().iter().rev().filter(|p| p.holes.len() == 2).collect::<Vec<_>>()[..]
    else {
        panic!("the message has an id and a text");
    };
    assert!(
        message.holes.iter().all(|hole| !matches!(hole.value, ledger::event::HoleValue::Own(_)))
    );
}

#[test]
fn partial_text_of_a_cut_stream_is_on_record() {
    let events = [
        r#"{"type":"message_start","message":{"id":"m1","content":[],"usage":{"input_tokens":7}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta",
            "text":"Half a sen"}}"#,
    ];
    let body = format!(r#"{{"messages":[{USER}]}}"#);
    let stream = crate::support::sse(&events);
    for torn in ["", "data: {\"type\":\"content_block_delta\",\"ind", "data: \u{1}"] {
        let cut = Stands::Bytes((stream.clone() + torn).into_bytes());
        let partial = r#"{"role":"assistant","content":[{"type":"text","text":"Half a sen"}]}"#;
        let run = Run::of(&[
            Exchange::post(ANTHROPIC, body.clone()).answer_as("text/event-stream", cut),
            Exchange::post(ANTHROPIC, format!(r#"{{"messages":[{USER},{partial}]}}"#)),
        ]);
        assert_eq!(run.end(0), End::Aborted);
        let [item] = run.items(0) else { panic!("{:?}", run.items(0)) };
        assert_eq!(run.text(&item.text), "Half a sen");
        assert_eq!(run.causes(1), [Cause::Answer(RequestId::new(0))]);
    }
}

#[test]
fn answers_that_are_none_of_the_dialect_are_kept_as_they_came() {
    let reply = |bytes: &[u8]| {
        let run = Run::of(&[Exchange::post(CHAT, r#"{"messages":[]}"#)
            .answer_as("text/event-stream", Stands::Bytes(bytes.to_vec()))]);
        let (end, answer) = run.request(0).answer.clone().unwrap();
        assert_eq!(
            answer.body.map(|body| body.read(&run.store).unwrap().to_vec()).unwrap_or_default(),
            bytes
        );
        assert!(!answer.body_withheld);
        end
    };
    assert_eq!(reply(b"<html>"), End::Aborted);
    assert_eq!(reply(b"\xff\xfe\x00"), End::Aborted);
    assert_eq!(reply(b"data: [DONE]\n\n"), End::Received);
    assert_eq!(reply(b""), End::Aborted);
    assert_eq!(reply(br#"{"unknown":"document"}"#), End::Received);
    assert_eq!(reply(&b"[".repeat(100_000)), End::Aborted);
    assert_eq!(reply(&b"{\"a\":".repeat(100_000)), End::Aborted);
}
