//! Streams, documents and what is neither; the same for all dialects.

use super::*;

const ALL: [Dialect; 4] = [
    Dialect::AnthropicMessages,
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::GeminiGenerate,
];

#[test]
fn an_empty_body_has_not_started() {
    for dialect in ALL {
        for (mime, body) in [(STREAM, ""), (STREAM, ": keep-alive\n\n"), (JSON, ""), (JSON, " ")] {
            let answer = reduce(dialect, mime, body.as_bytes());
            assert_eq!(answer.end, End::NotStarted);
            assert_eq!((answer.items, answer.unparsed_events), (vec![], 0));
            assert_eq!(answer.streamed, mime == STREAM);
        }
    }
}

#[test]
fn what_is_neither_stream_nor_document_is_counted() {
    for dialect in ALL {
        for body in ["<html>busy</html>", "{\"a\":x}", "[nothing", "{\"a\":1} trailing", "[] x"] {
            let answer = reduce(dialect, "text/html", body.as_bytes());
            assert_eq!(answer.unparsed_events, 1, "{dialect:?} {body}");
            assert!(answer.items.is_empty() && answer.error.is_none());
        }
    }
}

#[test]
fn a_document_of_another_kind_has_ended_and_is_counted() {
    for dialect in ALL {
        let answer = reduce(dialect, JSON, b"{\"object\":\"list\",\"data\":[]}");
        assert_eq!((answer.end, answer.unparsed_events), (End::Terminal, 1));
    }
}

#[test]
fn a_document_torn_anywhere_is_cut() {
    let document = "{\"id\":\"\\u00e9\\n\",\n\"a\":[-0.5e-10,\ntrue , null,{}],\"b\":1e400}";
    for dialect in ALL {
        for cut in 1..document.len() {
            let answer = reduce(dialect, JSON, &document.as_bytes()[..cut]);
            assert_eq!((answer.end, answer.unparsed_events), (End::Cut, 0), "at byte {cut}");
            assert!(!answer.streamed && answer.items.is_empty());
        }
        assert_eq!(reduce(dialect, JSON, document.as_bytes()).end, End::Terminal);
    }
}

#[test]
fn an_error_document_gives_its_names_and_not_its_message() {
    let cases = [
        (r#"{"error":{"message":"about foo","type":"t","code":null}}"#, Some("t"), None),
        (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, Some("overloaded_error"), None),
        (r#"{"error":{"code":429,"status":"EXHAUSTED"}}"#, Some("EXHAUSTED"), Some("429")),
        (r#"{"error":{"type":"t","code":"no such model foo"}}"#, Some("t"), None),
        (r#"{"error":"about foo"}"#, None, None),
        (r#"[{"error":{"code":1e400,"status":"s"}}]"#, Some("s"), None),
    ];
    for dialect in ALL {
        for (body, kind, code) in cases {
            // Some servers label their error documents as streams.
            for mime in [JSON, STREAM] {
                let list_of_events = body.starts_with('[') && dialect != Dialect::GeminiGenerate;
                if list_of_events {
                    continue;
                }
                let answer = reduce(dialect, mime, body.as_bytes());
                let error = answer.error.expect("an error");
                assert_eq!((error.kind.as_deref(), error.code.as_deref()), (kind, code));
                assert_eq!((answer.end, answer.unparsed_events), (End::Terminal, 0));
            }
        }
    }
}

#[test]
fn a_long_error_code_is_not_kept() {
    let code = "x".repeat(97);
    let body = format!(r#"{{"error":{{"code":"{code}"}}}}"#);
    let answer = reduce(Dialect::OpenAiChat, JSON, body.as_bytes());
    assert_eq!(answer.error, Some(AnswerError::default()));
}

#[test]
fn a_byte_order_mark_and_any_line_end_change_nothing() {
    let events = [
        r#"{"choices":[{"index":0,"delta":{"content":"h\r\n\u00e9"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    let body = stream(&events);
    let expected = reduce(Dialect::OpenAiChat, STREAM, body.as_bytes());
    assert_eq!(expected.items, [text("h\r\n\u{e9}")]);
    for end in ["\n", "\r", "\r\n"] {
        for mime in [STREAM, JSON, ""] {
            let framed = format!("\u{feff}{}", body.replace('\n', end));
            assert_eq!(reduce(Dialect::OpenAiChat, mime, framed.as_bytes()), expected);
        }
    }
}

#[test]
fn a_torn_event_is_counted_only_behind_the_end() {
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let cases = [(format!("{finish}data: {{\"usa"), End::Terminal, 1), {
        let body = "data: {\"choices\":[]}\n\ndata: {\"cho".to_owned();
        (body, End::Cut, 0)
    }];
    for (body, end, unparsed) in cases {
        let answer = reduce(Dialect::OpenAiChat, STREAM, body.as_bytes());
        assert_eq!((answer.end, answer.unparsed_events), (end, unparsed));
    }
}

#[test]
fn half_a_surrogate_pair_and_bytes_that_are_no_text_are_counted() {
    let good = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    for bad in [&b"\\ud800"[..], b"\xff", b"\\q", b"\x01"] {
        let mut body = good.as_bytes().to_vec();
        body.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"");
        body.extend_from_slice(bad);
        body.extend_from_slice(b"\"}}]}\n\n");
        body.extend_from_slice(good.as_bytes());
        let answer = reduce(Dialect::OpenAiChat, STREAM, &body);
        assert_eq!(answer.items, [text("aa")]);
        assert_eq!(answer.unparsed_events, 1, "{bad:?}");
    }
}

#[test]
fn deep_nesting_and_large_numbers_pass_through_arguments() {
    let deep = format!("{}1e400{}", "[".repeat(20_000), "]".repeat(20_000));
    let args = format!("{{\"a\" :{deep},\"b\":-0.0e-999, \"c\":\"\\ud800\"}}");
    let gemini = format!(
        concat!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","#,
            r#""args":{args}}}}}]}}}}]}}"#
        ),
        args = args
    );
    let messages =
        format!(r#"{{"content":[{{"type":"tool_use","id":"i","name":"f","input":{args}}}]}}"#);
    for (dialect, id, body) in
        [(Dialect::GeminiGenerate, "", gemini), (Dialect::AnthropicMessages, "i", messages)]
    {
        let answer = reduce(dialect, JSON, body.as_bytes());
        assert_eq!(answer.unparsed_events, 0);
        assert!(answer.items == [call(id, "f", &args)]);
    }
}

#[test]
fn a_name_that_stands_twice_counts_with_its_last_value() {
    let body = br#"{"id":"a","id":"b","choices":[{"message":{"content":"x","content":"y"}}]}"#;
    let answer = reduce(Dialect::OpenAiChat, JSON, body);
    assert_eq!(answer.provider_id.as_deref(), Some("b"));
    assert_eq!(answer.items, [text("y")]);
}
