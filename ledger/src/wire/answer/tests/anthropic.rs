//! Messages of Anthropic.

use super::*;

const D: Dialect = Dialect::AnthropicMessages;

fn start(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// A stream that begins a message, has the blocks, and ends it.
fn message(blocks: &[String]) -> String {
    let mut events = vec![
        concat!(
            r#"{"type":"message_start","message":{"id":"msg_1","model":"m","#,
            r#""content":[],"usage":{"input_tokens":7,"cache_creation_input_tokens":2,"#,
            r#""cache_read_input_tokens":3,"output_tokens":1}}}"#
        ),
        r#"{"type":"ping"}"#,
    ];
    events.extend(blocks.iter().map(String::as_str));
    events.push(concat!(
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","#,
        r#""stop_sequence":null},"usage":{"output_tokens":16}}"#
    ));
    events.push(r#"{"type":"message_stop"}"#);
    stream(&events)
}

fn full() -> String {
    message(&[
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"Let me "}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"see"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        stop(0),
        start(1, r#"{"type":"redacted_thinking","data":"ZW5j"}"#),
        stop(1),
        start(2, r#"{"type":"text","text":""}"#),
        delta(2, r#"{"type":"text_delta","text":"On \u00e9"}"#),
        delta(2, r#"{"type":"text_delta","text":" it"}"#),
        stop(2),
        start(3, r#"{"type":"tool_use","id":"t1","name":"bash","input":{}}"#),
        delta(3, r#"{"type":"input_json_delta","partial_json":""}"#),
        delta(3, r#"{"type":"input_json_delta","partial_json":"{\"n\": 1e4"}"#),
        delta(3, r#"{"type":"input_json_delta","partial_json":"00}"}"#),
        stop(3),
        start(4, r#"{"type":"tool_use","id":"t2","name":"ls","input":{ }}"#),
        stop(4),
    ])
}

fn full_items() -> Vec<AnswerItem> {
    vec![
        thinking("Let me see", Some("c2ln")),
        opaque("redacted_thinking", r#"{"type":"redacted_thinking","data":"ZW5j"}"#),
        text("On \u{e9} it"),
        call("t1", "bash", r#"{"n": 1e400}"#),
        call("t2", "ls", "{ }"),
    ]
}

#[test]
fn a_stream_gives_its_blocks_in_order() {
    let answer = reduce(D, STREAM, full().as_bytes());
    assert_eq!(answer.items, full_items());
    assert_eq!(answer.stop.as_deref(), Some("tool_use"));
    assert_eq!(answer.model.as_deref(), Some("m"));
    assert_eq!(answer.provider_id.as_deref(), Some("msg_1"));
    let usage = answer.usage.expect("usage");
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(7), Some(16)));
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (Some(3), Some(2)));
    assert_eq!((usage.reasoning_tokens, usage.total_tokens), (None, None));
    assert_eq!((answer.unparsed_events, answer.error), (0, None));
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
fn blocks_that_interleave_are_told_apart_by_index() {
    let body = message(&[
        start(1, r#"{"type":"tool_use","id":"b","name":"g","input":{}}"#),
        start(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#),
        delta(1, r#"{"type":"input_json_delta","partial_json":"[2"}"#),
        delta(0, r#"{"type":"input_json_delta","partial_json":"[1"}"#),
        delta(1, r#"{"type":"input_json_delta","partial_json":"]"}"#),
        stop(1),
        delta(0, r#"{"type":"input_json_delta","partial_json":"]"}"#),
        stop(0),
    ]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!(answer.items, [call("a", "f", "[1]"), call("b", "g", "[2]")]);
}

#[test]
fn a_call_that_was_cut_is_incomplete_and_has_no_invented_arguments() {
    let begun = start(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#);
    let body = stream(&[&begun]);
    assert_eq!(reduce(D, STREAM, body.as_bytes()).items, [incomplete(call("a", "f", ""))]);
    let piece = delta(0, r#"{"type":"input_json_delta","partial_json":"{\"x"}"#);
    let body = stream(&[&begun, &piece]);
    assert_eq!(reduce(D, STREAM, body.as_bytes()).items, [incomplete(call("a", "f", "{\"x"))]);
}

#[test]
fn a_call_with_a_lost_piece_is_incomplete_and_the_next_is_not() {
    let lost = delta(0, r#"{"type":"input_json_delta","partial_json":"\ud800"}"#);
    let body = message(&[
        start(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#),
        lost,
        stop(0),
        start(1, r#"{"type":"tool_use","id":"b","name":"g","input":{"k":1}}"#),
        stop(1),
    ]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!(answer.unparsed_events, 1);
    assert_eq!(answer.items, [incomplete(call("a", "f", "{}")), call("b", "g", "{\"k\":1}")]);
}

#[test]
fn the_end_of_the_message_ends_every_block() {
    let body = message(&[start(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#)]);
    assert_eq!(reduce(D, STREAM, body.as_bytes()).items, [call("a", "f", "{}")]);
}

#[test]
fn the_input_of_a_provider_tool_is_put_into_its_frame() {
    let frame = r#"{"type":"server_tool_use", "id":"s","input":{},"name":"web_search"}"#;
    let piece = delta(0, r#"{"type":"input_json_delta","partial_json":"{\"q\":1e400}"}"#);
    let body = message(&[start(0, frame), piece.clone(), stop(0)]);
    let expected = frame.replace("{}", "{\"q\":1e400}");
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!(answer.items, [opaque("server_tool_use", &expected)]);
    let bare = message(&[start(0, frame), stop(0)]);
    assert_eq!(reduce(D, STREAM, bare.as_bytes()).items, [opaque("server_tool_use", frame)]);
}

#[test]
fn a_provider_tool_that_is_not_whole_is_counted_and_not_kept() {
    let begun = start(0, r#"{"type":"server_tool_use","id":"s","input":{}}"#);
    let piece = delta(0, r#"{"type":"input_json_delta","partial_json":"{}"}"#);
    let lost = delta(0, r#"{"type":"input_json_delta","partial_json":"\ud800"}"#);
    let cut = stream(&[&begun, &piece]);
    let holed = message(&[begun, piece, lost, stop(0)]);
    for (body, unparsed) in [(cut, 1), (holed, 2)] {
        let answer = reduce(D, STREAM, body.as_bytes());
        assert_eq!((answer.items, answer.unparsed_events), (vec![], unparsed));
    }
}

#[test]
fn unknown_and_misplaced_events_are_counted() {
    let body = message(&[
        r#"{"type":"content_block_pause"}"#.to_owned(),
        start(0, r#"{"type":"text","text":"a"}"#),
        start(0, r#"{"type":"text","text":"again"}"#),
        delta(0, r#"{"type":"citations_delta","citation":{}}"#),
        delta(1, r#"{"type":"text_delta","text":"b"}"#),
        stop(0),
        delta(0, r#"{"type":"text_delta","text":"late"}"#),
    ]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!((answer.items, answer.unparsed_events), (vec![text("a")], 5));
}

#[test]
fn an_error_event_does_not_end_the_answer() {
    let error =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"about the prompt"}}"#;
    let answer = reduce(D, STREAM, stream(&[error]).as_bytes());
    assert_eq!(answer.error.expect("an error").kind.as_deref(), Some("overloaded_error"));
    assert_eq!((answer.end, answer.unparsed_events), (End::NotStarted, 0));
    let block = start(0, r#"{"type":"text","text":"a"}"#);
    let answer = reduce(D, STREAM, stream(&[&block, error]).as_bytes());
    assert_eq!((answer.end, answer.items), (End::Cut, vec![text("a")]));
}

#[test]
fn a_document_keeps_the_spans_of_its_inputs() {
    let body = r#"{"id":"msg_1","type":"message","model":"m","content":[
        {"type":"thinking","thinking":"hm","signature":"s"},
        {"type":"text","text":"hi","citations":null},
        {"type":"text","text":"\ud800"},
        {"type":"tool_use","id":"t","name":"f","input": {"b" : 1e400, "a":[ ]}}
    ],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2},
    "context_management":{"applied_edits":[{"type":"clear_tool_uses"}]}}"#;
    let answer = reduce(D, JSON, body.as_bytes());
    let edits = r#"{"applied_edits":[{"type":"clear_tool_uses"}]}"#;
    let expected = [
        thinking("hm", Some("s")),
        text("hi"),
        call("t", "f", r#"{"b" : 1e400, "a":[ ]}"#),
        opaque("context_management", edits),
    ];
    assert_eq!(answer.items, expected);
    assert_eq!((answer.end, answer.streamed, answer.unparsed_events), (End::Terminal, false, 1));
    assert_eq!(answer.stop.as_deref(), Some("tool_use"));
}

#[test]
fn edits_of_the_context_are_kept_where_there_are_any() {
    let with = |edits: &str| {
        let event = format!(
            concat!(
                r#"{{"type":"message_delta","delta":{{}},"#,
                r#""context_management":{{"applied_edits":{edits}}}}}"#
            ),
            edits = edits
        );
        reduce(D, STREAM, stream(&[&event]).as_bytes()).items
    };
    assert_eq!(with("[ ]"), []);
    assert_eq!(with("[1]"), [opaque("context_management", r#"{"applied_edits":[1]}"#)]);
}
