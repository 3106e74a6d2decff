//! `generateContent` of Gemini.

use super::*;

const D: Dialect = Dialect::GeminiGenerate;

fn chunk(parts: &str, rest: &str) -> String {
    format!(
        concat!(
            r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{rest},"#,
            r#""index":0}}],"usageMetadata":{{"promptTokenCount":8,"#,
            r#""candidatesTokenCount":2,"cachedContentTokenCount":5,"#,
            r#""thoughtsTokenCount":3,"totalTokenCount":13}},"modelVersion":"m","#,
            r#""responseId":"r1"}}"#
        ),
        parts = parts,
        rest = rest
    )
}

fn chunks() -> [String; 6] {
    [
        chunk(r#"{"text":"I th","thought":true}"#, ""),
        chunk(r#"{"text":"ink","thought":true,"thoughtSignature":"c2"}"#, ""),
        chunk(r#"{"text":"Rea"},{"text":"ding"}"#, ""),
        chunk(r#"{"text":" \u00e9"}"#, ""),
        chunk(
            concat!(
                r#"{"functionCall":{"name":"f","args":{"n" : 1e400},"id":"a"},"#,
                r#""thoughtSignature":"c2ln"},{"functionCall":{"name":"g","args":{}}}"#
            ),
            "",
        ),
        chunk(r#"{"text":""}"#, r#","finishReason":"STOP""#),
    ]
}

fn full() -> String {
    stream(&chunks().each_ref().map(String::as_str))
}

fn full_items() -> Vec<AnswerItem> {
    vec![
        thinking("I think", Some("c2")),
        text("Reading \u{e9}"),
        call("a", "f", "{\"n\" : 1e400}"),
        opaque("thoughtSignature", "\"c2ln\""),
        call("", "g", "{}"),
    ]
}

fn reduced(parts: &str) -> Answer {
    reduce(D, JSON, chunk(parts, "").as_bytes())
}

#[test]
fn a_stream_joins_parts_of_the_same_kind() {
    let answer = reduce(D, STREAM, full().replace('\n', "\r\n").as_bytes());
    assert_eq!(answer.items, full_items());
    assert_eq!(answer.stop.as_deref(), Some("STOP"));
    assert_eq!((answer.model.as_deref(), answer.provider_id.as_deref()), (Some("m"), Some("r1")));
    let expected = Usage {
        input_tokens: Some(8),
        output_tokens: Some(2),
        cache_read_tokens: Some(5),
        cache_write_tokens: None,
        reasoning_tokens: Some(3),
        total_tokens: Some(13),
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
fn a_list_of_chunks_is_read_as_far_as_it_goes() {
    let list = format!("[{}\n]", chunks().join(",\r\n"));
    let answer = reduce(D, JSON, list.as_bytes());
    assert_eq!((answer.items, answer.end), (full_items(), End::Terminal));
    assert!(!answer.streamed);
    let mut seen = 0;
    for cut in 1..list.len() {
        let part = reduce(D, JSON, &list.as_bytes()[..cut]);
        assert!(part.items.len() >= seen, "items vanish at byte {cut}");
        seen = part.items.len();
        assert!(part.items.iter().zip(full_items()).all(|(item, full)| begins(item, &full)));
        assert_eq!(part.unparsed_events, 0);
    }
    assert_eq!(seen, full_items().len());
}

#[test]
fn one_object_is_a_whole_answer() {
    let answer = reduced(r#"{"text":"a"},{"thought":true,"text":"b"},{"text":"c"}"#);
    assert_eq!(answer.items, [text("a"), thinking("b", None), text("c")]);
    assert_eq!((answer.end, answer.stop), (End::Terminal, None));
}

#[test]
fn parts_of_other_kinds_are_kept_whole() {
    let image = r#"{"thought":false,"inlineData":{"mimeType":"image/png","data":"AA=="}}"#;
    let code = r#"{"executableCode":{"code":"1"}}"#;
    let partial = r#"{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a"}]}}"#;
    let begun = r#"{"functionCall":{"name":"f","willContinue":true}}"#;
    let answer = reduced(&[image, code, partial, begun, "{}"].join(","));
    let expected = [
        opaque("inlineData", image),
        opaque("executableCode", code),
        opaque("functionCall", partial),
        opaque("functionCall", begun),
    ];
    assert_eq!((answer.items, answer.unparsed_events), (expected.to_vec(), 0));
}

#[test]
fn a_signature_behind_a_text_separates_it_from_the_next() {
    let parts = r#"{"text":"a"},{"text":"","thoughtSignature":"s"},{"text":"b"},{"text":"c"}"#;
    let expected = [text("a"), opaque("thoughtSignature", "\"s\""), text("bc")];
    assert_eq!(reduced(parts).items, expected);
}

#[test]
fn a_part_that_cannot_be_read_costs_only_itself() {
    let answer = reduced(r#"{"text":"a"},{"text":"\ud800"},7,{"text":"b"}"#);
    assert_eq!((answer.items, answer.unparsed_events), (vec![text("ab")], 2));
}

#[test]
fn a_blocked_prompt_ends_the_answer() {
    let body = stream(&[r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#]);
    let answer = reduce(D, STREAM, body.as_bytes());
    assert_eq!((answer.end, answer.stop.as_deref()), (End::Terminal, Some("SAFETY")));
    assert_eq!(answer.unparsed_events, 0);
}

#[test]
fn other_candidates_and_unknown_events_are_counted() {
    let events = [
        concat!(
            r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}},"#,
            r#"{"content":{"parts":[{"text":"b"}]}}]}"#
        ),
        r#"{"candidates":[{"index":1,"finishReason":"STOP"}]}"#,
        r#"{"something":1}"#,
    ];
    let answer = reduce(D, STREAM, stream(&events).as_bytes());
    assert_eq!((answer.items, answer.unparsed_events), (vec![text("a")], 3));
    assert_eq!(answer.end, End::Cut);
}

#[test]
fn an_error_in_a_stream_does_not_end_the_answer() {
    let error = r#"{"error":{"code":503,"message":"about foo","status":"UNAVAILABLE"}}"#;
    let body = stream(&[&chunk(r#"{"text":"a"}"#, ""), error]);
    let answer = reduce(D, STREAM, body.as_bytes());
    let error = answer.error.expect("an error");
    assert_eq!(error.kind.as_deref(), Some("UNAVAILABLE"));
    assert_eq!(error.code.as_deref(), Some("503"));
    assert_eq!((answer.end, answer.items), (End::Cut, vec![text("a")]));
}
