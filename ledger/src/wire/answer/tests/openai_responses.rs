//! Responses of `OpenAI`.

use super::*;

const D: Dialect = Dialect::OpenAiResponses;
const MESSAGE: &str = concat!(
    r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","#,
    r#""content":[{"type":"output_text","text":"Hello","annotations":[]},"#,
    r#"{"type":"refusal","refusal":"no"}]}"#
);
const CALL: &str = concat!(
    r#"{"id":"fc_1","type":"function_call","status":"completed","#,
    r#""call_id":"call_1","name":"exec","arguments":"{\"n\":1e400}"}"#
);
const PATCH: &str = concat!(
    r#"{"id":"ct_1","type":"custom_tool_call","call_id":"call_2","#,
    r#""name":"apply_patch","input":"*** Begin\n"}"#
);
const SEALED: &str = concat!(
    r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","#,
    r#""text":"Think"}],"encrypted_content":"gAAA"}"#
);

fn event(kind: &str, fields: &str) -> String {
    format!(r#"{{"type":"response.{kind}",{fields}}}"#)
}

fn added(index: u32, item: &str) -> String {
    event("output_item.added", &format!(r#""output_index":{index},"item":{item}"#))
}

fn done(index: u32, item: &str) -> String {
    event("output_item.done", &format!(r#""output_index":{index},"item":{item}"#))
}

fn piece(kind: &str, index: u32, fields: &str) -> String {
    event(kind, &format!(r#""output_index":{index},{fields}"#))
}

fn completed(output: &str) -> String {
    event(
        "completed",
        &format!(
            concat!(
                r#""response":{{"id":"resp_1","model":"m","status":"completed","#,
                r#""output":[{output}],"error":null,"incomplete_details":null,"#,
                r#""usage":{{"input_tokens":9,"input_tokens_details":{{"cached_tokens":4}},"#,
                r#""output_tokens":3,"output_tokens_details":{{"reasoning_tokens":1}},"#,
                r#""total_tokens":12}}}}"#
            ),
            output = output
        ),
    )
}

fn created() -> String {
    event("created", r#""response":{"id":"resp_1","model":"m","output":[]}"#)
}

fn body(events: &[String]) -> String {
    stream(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn full() -> String {
    body(&[
        created(),
        event("in_progress", r#""response":{"id":"resp_1"}"#),
        added(0, r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":""}"#),
        piece("reasoning_summary_part.added", 0, r#""summary_index":0"#),
        piece("reasoning_summary_text.delta", 0, r#""summary_index":0,"delta":"Th""#),
        piece("reasoning_summary_text.done", 0, r#""summary_index":0,"text":"Think""#),
        done(0, SEALED),
        added(1, r#"{"id":"msg_1","type":"message","content":[]}"#),
        piece("content_part.added", 1, r#""item_id":"msg_1","content_index":0"#),
        piece("output_text.delta", 1, r#""item_id":"msg_1","content_index":0,"delta":"Hel""#),
        piece("output_text.delta", 1, r#""item_id":"msg_1","content_index":0,"delta":"lo""#),
        piece("output_text.done", 1, r#""item_id":"msg_1","content_index":0,"text":"Hello""#),
        piece("refusal.delta", 1, r#""content_index":1,"delta":"no""#),
        done(1, MESSAGE),
        added(
            2,
            concat!(
                r#"{"id":"fc_1","type":"function_call","call_id":"call_1","name":"exec","#,
                r#""arguments":""}"#
            ),
        ),
        added(
            3,
            r#"{"id":"ct_1","type":"custom_tool_call","call_id":"call_2","name":"apply_patch"}"#,
        ),
        piece("function_call_arguments.delta", 2, r#""item_id":"fc_1","delta":"{\"n\":""#),
        piece("custom_tool_call_input.delta", 3, r#""item_id":"ct_1","delta":"*** B""#),
        piece("function_call_arguments.delta", 2, r#""item_id":"fc_1","delta":"1e400}""#),
        piece("function_call_arguments.done", 2, r#""arguments":"{\"n\":1e400}""#),
        done(2, CALL),
        done(3, PATCH),
        completed(&[SEALED, MESSAGE, CALL, PATCH].join(",")),
    ])
}

fn item_text(text: &str) -> AnswerItem {
    AnswerItem::Text { text: text.to_owned(), item_id: Some("msg_1".to_owned()) }
}

fn item_call(id: &str, call_id: &str, name: &str, arguments: &str) -> AnswerItem {
    AnswerItem::ToolCall {
        call_id: Some(call_id.to_owned()),
        item_id: Some(id.to_owned()),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        complete: true,
    }
}

fn full_items() -> Vec<AnswerItem> {
    vec![
        opaque("reasoning", SEALED),
        item_text("Hello"),
        opaque("refusal", r#"{"type":"refusal","refusal":"no"}"#),
        item_call("fc_1", "call_1", "exec", "{\"n\":1e400}"),
        item_call("ct_1", "call_2", "apply_patch", "*** Begin\n"),
    ]
}

#[test]
fn a_stream_gives_its_items_in_order() {
    let answer = reduce(D, STREAM, full().as_bytes());
    assert_eq!(answer.items, full_items());
    assert_eq!(answer.stop.as_deref(), Some("completed"));
    let names = (answer.model.as_deref(), answer.provider_id.as_deref());
    assert_eq!(names, (Some("m"), Some("resp_1")));
    let expected = Usage {
        input_tokens: Some(9),
        output_tokens: Some(3),
        cache_read_tokens: Some(4),
        cache_write_tokens: None,
        reasoning_tokens: Some(1),
        total_tokens: Some(12),
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
fn an_item_that_was_done_before_a_cut_is_whole() {
    let events = [
        created(),
        done(0, CALL),
        added(1, r#"{"id":"fc_2","type":"function_call","call_id":"call_9","name":"exec"}"#),
        piece("function_call_arguments.delta", 1, r#""delta":"{\"a""#),
    ];
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    let partial = incomplete(item_call("fc_2", "call_9", "exec", "{\"a"));
    let expected = [item_call("fc_1", "call_1", "exec", "{\"n\":1e400}"), partial];
    assert_eq!(answer.items, expected);
    assert_eq!((answer.end, answer.unparsed_events), (End::Cut, 0));
}

#[test]
fn the_last_event_fills_in_what_was_never_done_and_nothing_else() {
    let changed = MESSAGE.replace("Hello", "Changed");
    let events = [
        done(0, MESSAGE),
        piece("function_call_arguments.delta", 1, r#""delta":"{\"n""#),
        completed(&[&changed, CALL, PATCH].join(",")),
    ];
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    assert_eq!(answer.items, full_items()[1..]);
    let events = [done(0, CALL), completed("")];
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    assert_eq!(answer.items, full_items()[3..4]);
}

#[test]
fn an_item_that_cannot_be_read_falls_back_to_its_pieces() {
    let bad = MESSAGE.replace("Hello", "\\ud800");
    let events = [
        piece("output_text.delta", 0, r#""item_id":"msg_1","content_index":0,"delta":"He""#),
        done(0, &bad),
    ];
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    assert_eq!((answer.items, answer.unparsed_events), (vec![item_text("He")], 1));
}

#[test]
fn items_without_an_index_follow_each_other() {
    let without = |event: String| {
        event.replace(r#""output_index":0,"#, "").replace(r#""output_index":1,"#, "")
    };
    let events = [
        added(0, r#"{"id":"msg_1","type":"message"}"#),
        piece("output_text.delta", 0, r#""item_id":"msg_1","delta":"He""#),
        done(0, MESSAGE),
        done(1, CALL),
        done(1, PATCH),
    ]
    .map(without);
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    assert_eq!(answer.items, full_items()[1..]);
}

#[test]
fn items_without_index_and_id_do_not_replace_each_other() {
    let bare = |arguments: &str| {
        let item = format!(r#"{{"type":"function_call","name":"f","arguments":"{arguments}"}}"#);
        event("output_item.done", &format!(r#""item":{item}"#))
    };
    let answer = reduce(D, STREAM, body(&[bare("1"), bare("2")]).as_bytes());
    assert_eq!(answer.items, [call("", "f", "1"), call("", "f", "2")]);
}

#[test]
fn a_response_that_stops_early_says_why() {
    let cases = [
        (
            "incomplete",
            r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#,
        ),
        ("failed", r#""status":"failed","error":{"code":"server_error","message":"about foo"}"#),
    ];
    let [incomplete, failed] = cases.map(|(kind, fields)| {
        let event = event(kind, &format!(r#""response":{{{fields},"output":[]}}"#));
        let answer = reduce(D, STREAM, body(&[event]).as_bytes());
        assert_eq!((answer.end, answer.unparsed_events), (End::Terminal, 0));
        answer
    });
    assert_eq!(incomplete.stop.as_deref(), Some("max_output_tokens"));
    assert_eq!(incomplete.error, None);
    assert_eq!(failed.stop.as_deref(), Some("failed"));
    let code = failed.error.expect("an error").code;
    assert_eq!(code.as_deref(), Some("server_error"));
}

#[test]
fn an_error_event_is_read_flat_or_nested() {
    for event in [
        r#"{"type":"error","code":"rate_limit_exceeded","message":"about foo"}"#,
        r#"{"type":"error","error":{"type":"error","code":"rate_limit_exceeded"}}"#,
    ] {
        let answer = reduce(D, STREAM, stream(&[event]).as_bytes());
        let error = answer.error.expect("an error");
        assert_eq!(error.code.as_deref(), Some("rate_limit_exceeded"));
        assert_eq!(answer.end, End::NotStarted);
    }
}

#[test]
fn unknown_events_and_lost_provider_tools_are_counted() {
    let events = [
        event("something.new", r#""output_index":0"#),
        r#"{"type":"vendor.limits"}"#.to_owned(),
        added(0, r#"{"id":"ws_1","type":"web_search_call"}"#),
        event("web_search_call.searching", r#""output_index":0"#),
        done(1, CALL),
        done(1, CALL),
    ];
    let answer = reduce(D, STREAM, body(&events).as_bytes());
    assert_eq!(answer.items, full_items()[3..4]);
    assert_eq!(answer.unparsed_events, 4);
}

#[test]
fn a_call_that_the_wire_marks_incomplete_is_so() {
    let marked = CALL.replace("completed", "incomplete");
    let answer = reduce(D, STREAM, body(&[done(0, &marked)]).as_bytes());
    assert_eq!(answer.items, [incomplete(item_call("fc_1", "call_1", "exec", "{\"n\":1e400}"))]);
}

#[test]
fn a_document_gives_its_output() {
    let open = concat!(
        r#"{"id":"rs_2","type":"reasoning","summary":[{"type":"summary_text","#,
        r#""text":"a"}],"content":[{"type":"reasoning_text","text":"b"}]}"#
    );
    let empty = r#"{"id":"rs_3","type":"reasoning","summary":[]}"#;
    let search = r#"{"id":"ws_1","type":"web_search_call","action":{"n":1e400}}"#;
    let output = [open, empty, search, CALL].join(",");
    let document = format!(
        concat!(
            r#"{{"id":"resp_1","object":"response","status":"completed","#,
            r#""output":[{output}],"usage":null}}"#
        ),
        output = output
    );
    let thought = |text: &str| AnswerItem::Thinking {
        text: text.to_owned(),
        signature: None,
        item_id: Some("rs_2".to_owned()),
    };
    let answer = reduce(D, JSON, document.as_bytes());
    let expected = [
        thought("a"),
        thought("b"),
        opaque("reasoning", empty),
        opaque("web_search_call", search),
        item_call("fc_1", "call_1", "exec", "{\"n\":1e400}"),
    ];
    assert_eq!(answer.items, expected);
    assert_eq!((answer.usage, answer.unparsed_events), (None, 0));
}

#[test]
fn an_item_id_out_of_all_reason_is_left_out() {
    for (length, kept) in [(1024, true), (1025, false)] {
        let id = "x".repeat(length);
        let item = MESSAGE.replace("msg_1", &id);
        let answer = reduce(D, STREAM, body(&[done(0, &item)]).as_bytes());
        let item_id = kept.then_some(id);
        assert_eq!(answer.items[0], AnswerItem::Text { text: "Hello".to_owned(), item_id });
    }
}
