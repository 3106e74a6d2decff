//! Chat Completions.

use super::*;

const D: Dialect = Dialect::OpenAiChat;
const DONE: &str = "[DONE]";

fn chunk(delta: &str) -> String {
    format!(
        concat!(
            r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{delta},"#,
            r#""finish_reason":null}}]}}"#
        ),
        delta = delta
    )
}

fn finish(reason: &str) -> String {
    format!(r#"{{"id":"c1","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

fn calls(pieces: &str) -> String {
    chunk(&format!(r#"{{"tool_calls":[{pieces}]}}"#))
}

/// A stream of chunks with its two ends.
fn whole(chunks: &[String]) -> String {
    let end = finish("tool_calls");
    let mut events: Vec<&str> = chunks.iter().map(String::as_str).collect();
    events.extend([end.as_str(), DONE]);
    stream(&events)
}

fn full() -> String {
    whole(&[
        chunk(r#"{"role":"assistant","content":"","refusal":null}"#),
        chunk(r#"{"reasoning_content":"I th"}"#),
        chunk(r#"{"reasoning_content":"ink"}"#),
        chunk(r#"{"content":"Reading \ud83d\ude00 "}"#),
        chunk(r#"{"content":"it"}"#),
        calls(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#),
        calls(r#"{"index":0,"function":{"arguments":"{\"n\":"}}"#),
        calls(r#"{"index":1,"id":"b","function":{"name":"g","arguments":"["}}"#),
        calls(concat!(
            r#"{"index":0,"function":{"arguments":"1e400}"}},{"index":1,"#,
            r#""function":{"arguments":"]"}}"#
        )),
        concat!(
            r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":5,"#,
            r#""completion_tokens":6,"total_tokens":11,"#,
            r#""prompt_tokens_details":{"cached_tokens":4},"#,
            r#""completion_tokens_details":{"reasoning_tokens":2}}}"#
        )
        .to_owned(),
    ])
}

fn full_items() -> Vec<AnswerItem> {
    vec![
        thinking("I think", None),
        text("Reading \u{1f600} it"),
        call("a", "f", "{\"n\":1e400}"),
        call("b", "g", "[]"),
    ]
}

#[test]
fn a_stream_gives_message_and_calls() {
    let answer = reduce(D, STREAM, full().as_bytes());
    assert_eq!(answer.items, full_items());
    assert_eq!(answer.stop.as_deref(), Some("tool_calls"));
    assert_eq!((answer.model.as_deref(), answer.provider_id.as_deref()), (Some("m"), Some("c1")));
    let expected = Usage {
        input_tokens: Some(5),
        output_tokens: Some(6),
        cache_read_tokens: Some(4),
        cache_write_tokens: None,
        reasoning_tokens: Some(2),
        total_tokens: Some(11),
    };
    assert_eq!((answer.usage, answer.unparsed_events), (Some(expected), 0));
}

#[test]
fn a_stream_cut_anywhere_gives_a_beginning() {
    assert_eq!(cut_everywhere(D, &full()).items, full_items());
}

#[test]
fn a_stream_damaged_anywhere_is_reduced() {
    damage_everywhere(D, &full());
}

#[test]
fn either_end_is_enough() {
    let said = chunk(r#"{"content":"a"}"#);
    for (events, end) in [
        (vec![said.as_str()], End::Cut),
        (vec![said.as_str(), DONE], End::Terminal),
        (vec![said.as_str(), &finish("stop")], End::Terminal),
        (vec![said.as_str(), &finish("")], End::Cut),
    ] {
        assert_eq!(reduce(D, STREAM, stream(&events).as_bytes()).end, end, "{events:?}");
    }
}

#[test]
fn calls_stand_in_the_order_of_their_index() {
    let body = whole(&[
        calls(r#"{"index":1,"id":"b","function":{"name":"g","arguments":"2"}}"#),
        calls(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}"#),
    ]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!(answer.items, [call("a", "f", "1"), call("b", "g", "2")]);
}

#[test]
fn a_new_id_and_name_begin_a_call_under_a_used_or_missing_index() {
    for index in ["\"index\":0,", ""] {
        let body = whole(&[
            calls(&format!(r#"{{{index}"id":"a","function":{{"name":"f","arguments":"1"}}}}"#)),
            calls(&format!(r#"{{{index}"id":"b","function":{{"name":"f","arguments":"2"}}}}"#)),
            calls(&format!(r#"{{{index}"id":"","function":{{"arguments":"3"}}}}"#)),
            calls(&format!(r#"{{{index}"id":"b","function":{{"name":"f","arguments":"4"}}}}"#)),
        ]);
        let answer = reduce(D, STREAM, body.as_bytes());
        assert_eq!(answer.items, [call("a", "f", "1"), call("b", "f", "234")]);
    }
}

#[test]
fn a_call_is_complete_only_with_an_end_and_without_a_loss() {
    let said = calls(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#);
    let cut = stream(&[&said]);
    let lost = whole(&[said, calls(r#"{"index":0,"function":{"arguments":"\ud800"}}"#)]);
    for (body, unparsed) in [(cut, 0), (lost, 1)] {
        let answer = reduce(D, STREAM, body.as_bytes());
        assert_eq!(answer.items, [incomplete(call("a", "f", "{}"))]);
        assert_eq!(answer.unparsed_events, unparsed);
    }
}

#[test]
fn other_choices_and_unknown_events_are_counted() {
    let other = r#"{"choices":[{"index":1,"delta":{"content":"other"}}]}"#.to_owned();
    let unknown = r#"{"object":"something.else"}"#.to_owned();
    let body = whole(&[chunk(r#"{"content":"a"}"#), other, unknown, "null".to_owned()]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!((answer.items, answer.unparsed_events), (vec![text("a")], 3));
    let document = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"},
        {"message":{"content":"b"}}]}"#;
    let answer = reduce(D, JSON, document.as_bytes());
    assert_eq!((answer.items, answer.unparsed_events), (vec![text("a")], 1));
}

#[test]
fn an_error_in_a_stream_does_not_end_the_answer() {
    let error = r#"{"error":{"message":"about the prompt","type":"server_error","code":500}}"#;
    let body = stream(&[&chunk(r#"{"content":"a"}"#), error]);
    let answer = reduce(D, STREAM, body.as_bytes());
    let error = answer.error.expect("an error");
    assert_eq!(error.kind.as_deref(), Some("server_error"));
    assert_eq!(error.code.as_deref(), Some("500"));
    assert_eq!((answer.end, answer.items), (End::Cut, vec![text("a")]));
}

#[test]
fn a_document_gives_the_items_of_its_first_choice() {
    let body = r#"{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant",
        "content":"hi","reasoning":"hm","tool_calls":[
        {"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1e400}"}},
        {"id":"b","type":"function","function":{"name":"f","arguments":"{\"n\":1e400}"}},
        {"id":"x","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let answer = reduce(D, JSON, body.as_bytes());
    let expected = [
        thinking("hm", None),
        text("hi"),
        call("a", "f", "{\"n\":1e400}"),
        call("b", "f", "{\"n\":1e400}"),
        call("x", "patch", "*** Begin"),
    ];
    assert_eq!(answer.items, expected);
    assert_eq!((answer.end, answer.streamed), (End::Terminal, false));
    assert_eq!(answer.usage.expect("usage").output_tokens, Some(2));
}

#[test]
fn a_document_is_whole_without_a_reason_to_stop() {
    let body = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}"#;
    let answer = reduce(D, JSON, body.as_bytes());
    assert_eq!((answer.items, answer.stop), (vec![call("a", "f", "")], None));
}

#[test]
fn what_imitators_send_is_kept() {
    let body = whole(&[
        chunk(concat!(
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","#,
            r#""text":"hm"}]},{"type":"text","text":"hi"},{"type":"ref","id":1}]}"#
        )),
        chunk(r#"{"reasoning_content":"","reasoning":"!","reasoning_details":[{"e":1}]}"#),
        chunk(r#"{"refusal":"I \"ca"}"#),
        chunk(r#"{"refusal":"n't"}"#),
        chunk(r#"{"function_call":{"name":"old","arguments":{"k": 1}}}"#),
    ]);
    let answer = reduce(D, STREAM, body.as_bytes());
    let expected = [
        thinking("hm!", None),
        text("hi"),
        opaque("refusal", r#""I \"can't""#),
        opaque("ref", r#"{"type":"ref","id":1}"#),
        opaque("reasoning_details", r#"[{"e":1}]"#),
        call("", "old", r#"{"k": 1}"#),
    ];
    assert_eq!((answer.items, answer.unparsed_events), (expected.to_vec(), 0));
}
