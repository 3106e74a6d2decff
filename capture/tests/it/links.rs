//! Goal: what an answer asked for and what came back find each other, also where ids are missing,
//! repeated or wrong, and never so that a recording cannot be read. Method: short conversations
//! in each dialect; causes, calls and outputs compared with what was said.

use ledger::event::{Cause, Unlinked};
use ledger::id::{RequestId, ToolCallId};

use crate::support::{ANTHROPIC, Exchange, GEMINI, RESPONSES, Run};

const USER: &str = r#"{"role":"user","content":"go"}"#;

fn answer(number: u32) -> Cause {
    Cause::Answer(RequestId::new(number))
}

fn result(number: u32) -> Cause {
    Cause::ToolResult(ToolCallId::new(number))
}

fn outputs(texts: &[Option<&str>]) -> Vec<Option<Vec<String>>> {
    texts.iter().map(|text| text.map(|text| vec![text.to_owned()])).collect()
}

/// An assistant message of Chat that asks for calls, each an id and a name.
fn chat_calls(calls: &[(&str, &str)]) -> String {
    let call = |(id, name): &(&str, &str)| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}"#
        )
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
}

fn chat_answer(message: &str) -> String {
    format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}"#)
}

fn chat_result(id: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
}

fn gemini_body(contents: &[&str]) -> String {
    format!(r#"{{"contents":[{}]}}"#, contents.join(","))
}

fn gemini_answer(content: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{content},"finishReason":"STOP"}}]}}"#)
}

fn gemini_calls(calls: &[(&str, u32)]) -> String {
    let call = |(name, number): &(&str, u32)| {
        format!(r#"{{"functionCall":{{"name":"{name}","args":{{"n":{number}}}}}}}"#)
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    format!(r#"{{"role":"model","parts":[{}]}}"#, calls.join(","))
}

fn gemini_results(results: &[(&str, &str)]) -> String {
    let result = |(name, output): &(&str, &str)| {
        format!(r#"{{"functionResponse":{{"name":"{name}","response":{{"output":"{output}"}}}}}}"#)
    };
    let results: Vec<_> = results.iter().map(result).collect();
    format!(r#"{{"role":"user","parts":[{}]}}"#, results.join(","))
}

const GEMINI_USER: &str = r#"{"role":"user","parts":[{"text":"go"}]}"#;

#[test]
fn parallel_results_in_swapped_order_find_their_calls() {
    let asked = chat_calls(&[("a", "f"), ("b", "f")]);
    let (first, second) = (chat_result("b", "of b"), chat_result("a", "of a"));
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, &first, &second]),
    ]);
    assert_eq!(run.causes(1), [answer(0), result(1), result(0)]);
    assert_eq!(run.outputs(), outputs(&[Some("of a"), Some("of b")]));
}

#[test]
fn a_result_before_its_call_is_of_no_call_then_of_it() {
    let asked = chat_calls(&[("a", "f")]);
    let early = chat_result("a", "early");
    let late = chat_result("a", "late");
    let run = Run::of(&[
        Exchange::chat(&[USER, &early]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &early, &asked, &late]),
    ]);
    assert_eq!(run.causes(0), [Cause::UserInput, Cause::Unlinked(Unlinked::NoSuchCall)]);
    assert_eq!(run.causes(1), [answer(0), result(0)]);
    assert_eq!(run.outputs(), outputs(&[Some("late")]));
}

#[test]
fn a_second_result_of_a_call_is_told_apart() {
    let asked = chat_calls(&[("a", "f")]);
    let (one, two) = (chat_result("a", "one"), chat_result("a", "two"));
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, &one]).answer(chat_answer("{\"content\":\"x\"}")),
        Exchange::chat(&[USER, &asked, &two]),
        Exchange::chat(&[USER, &asked, &one, &two]),
    ]);
    assert_eq!(run.causes(1), [answer(0), result(0)]);
    assert_eq!(run.causes(2), [Cause::Unlinked(Unlinked::SecondResult)]);
    assert_eq!(run.causes(3), [Cause::Returned]);
    assert_eq!(run.outputs(), outputs(&[Some("one")]));
}

#[test]
fn two_results_of_one_call_in_one_message_make_no_second_return() {
    let asked =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
    let block =
        |text: &str| format!(r#"{{"type":"tool_result","tool_use_id":"a","content":"{text}"}}"#);
    for (second, cause) in [("one", result(0)), ("two", Cause::Unlinked(Unlinked::SecondResult))] {
        let both = format!(r#"{{"role":"user","content":[{},{}]}}"#, block("one"), block(second));
        let body = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let reply = format!(r#"{{"type":"message","stop_reason":"tool_use",{}"#, &asked[1..]);
        let run = Run::of(&[
            Exchange::post(ANTHROPIC, body(&[USER])).answer(reply),
            Exchange::post(ANTHROPIC, body(&[USER, asked, &both])),
        ]);
        assert_eq!(run.causes(1), [answer(0), cause]);
        assert_eq!(run.outputs(), outputs(&[Some("one")]));
    }
}

#[test]
fn t42_a_result_that_fits_two_calls_of_an_answer_is_joined_to_neither() {
    let asked = chat_calls(&[("a", "f"), ("b", "g"), ("a", "h")]);
    let (one, two) = (chat_result("a", "one"), chat_result("a", "two"));
    let other = chat_result("b", "of b");
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, &one, &other, &two]),
    ]);
    assert_eq!(run.history.calls().len(), 3);
    let several = Cause::Unlinked(Unlinked::SeveralCalls);
    assert_eq!(run.causes(1), [answer(0), several, result(1), several]);
    assert_eq!(run.outputs(), outputs(&[None, Some("of b"), None]));
}

#[test]
fn t41_an_id_that_comes_again_pairs_with_the_call_that_waits() {
    let (first, second) = (chat_calls(&[("call_0", "f")]), chat_calls(&[("call_0", "g")]));
    let (one, two) = (chat_result("call_0", "one"), chat_result("call_0", "two"));
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&first)),
        Exchange::chat(&[USER, &first, &one]).answer(chat_answer(&second)),
        Exchange::chat(&[USER, &first, &one, &second, &two]),
    ]);
    assert_eq!(run.causes(1), [answer(0), result(0)]);
    assert_eq!(run.causes(2), [answer(1), result(1)]);
    assert_eq!(run.outputs(), outputs(&[Some("one"), Some("two")]));
    // The first one was given up: its id is that of the last answer's call now.
    let more = r#"{"role":"user","content":"never mind"}"#;
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&first)),
        Exchange::chat(&[USER, more]).answer(chat_answer(&second)),
        Exchange::chat(&[USER, more, &second, &two]),
    ]);
    assert_eq!(run.causes(2), [answer(1), result(1)]);
    assert_eq!(run.outputs(), outputs(&[None, Some("two")]));
}

#[test]
fn t40_a_result_of_a_call_that_two_other_conversations_have_is_of_no_call() {
    let other = r#"{"role":"user","content":"other"}"#;
    let third = r#"{"role":"user","content":"third"}"#;
    let asked = chat_calls(&[("call_1", "f")]);
    let late = chat_result("call_1", "late");
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[other]).answer(chat_answer(&asked)),
        Exchange::chat(&[third]).answer(chat_answer(r#"{"content":"hm"}"#)),
        Exchange::chat(&[third, &late]),
    ]);
    assert_eq!(run.lanes(), [vec![1], vec![2], vec![3, 4]]);
    assert_eq!(run.causes(3), [Cause::Unlinked(Unlinked::SeveralCalls)]);
    assert_eq!(run.outputs(), outputs(&[None, None]));
}

#[test]
fn one_id_in_two_conversations_names_two_calls() {
    let other = r#"{"role":"user","content":"other"}"#;
    let asked = chat_calls(&[("call_1", "f")]);
    let (one, two) = (chat_result("call_1", "one"), chat_result("call_1", "two"));
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[other]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, &one]),
        Exchange::chat(&[other, &asked, &two]),
    ]);
    assert_eq!(run.lanes(), [vec![1, 3], vec![2, 4]]);
    assert_eq!(run.outputs(), outputs(&[Some("one"), Some("two")]));
    assert_eq!(run.causes(3)[1], result(1));
}

#[test]
fn all_blocks_of_a_result_belong_to_its_call() {
    let asked = chat_calls(&[("a", "f"), ("b", "f")]);
    let blocks = r#"{"role":"tool","tool_call_id":"a","content":[{"type":"text",
        "text":"one"},{"type":"text","text":"two"}]}"#;
    let other = chat_result("b", "three");
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, blocks, &other]),
    ]);
    let all = [vec!["one".to_owned(), "two".to_owned()], vec!["three".to_owned()]].map(Some);
    assert_eq!(run.outputs(), all);
    assert_eq!(run.causes(1), [answer(0), result(0), result(1)]);

    let call = |id: &str| {
        format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#)
    };
    let calls = [call("a"), call("b")].join(",");
    let blocks = r#"{"type":"function_call_output","call_id":"a","output":[{"type":"input_text",
        "text":"one"},{"type":"input_text","text":"two"}]}"#;
    let other = r#"{"type":"function_call_output","call_id":"b","output":"three"}"#;
    let run = Run::of(&[
        Exchange::post(RESPONSES, format!(r#"{{"input":[{USER}]}}"#))
            .answer(format!(r#"{{"status":"completed","output":[{calls}]}}"#)),
        Exchange::post(RESPONSES, format!(r#"{{"input":[{USER},{calls},{blocks},{other}]}}"#)),
    ]);
    assert_eq!(run.outputs(), all);
}

#[test]
fn text_that_is_no_result_is_taken_for_none() {
    let asked =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
    let reply = format!(r#"{{"type":"message","stop_reason":"tool_use",{}"#, &asked[1..]);
    let found = r#"{"role":"user","content":[{"type":"search_result","source":"s",
        "content":[{"type":"text","text":"found"}]}]}"#;
    let body = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
    let run = Run::of(&[
        Exchange::post(ANTHROPIC, body(&[USER])).answer(reply),
        Exchange::post(ANTHROPIC, body(&[USER, asked, found])),
    ]);
    assert_eq!(run.outputs(), outputs(&[None]));
}

#[test]
fn calls_without_ids_are_found_by_name_and_order() {
    let asked = gemini_calls(&[("f", 1), ("g", 2), ("f", 3)]);
    let back = gemini_results(&[("g", "of 2"), ("f", "of 1"), ("f", "of 3")]);
    let run = Run::of(&[
        Exchange::post(GEMINI, gemini_body(&[GEMINI_USER])).answer(gemini_answer(&asked)),
        Exchange::post(GEMINI, gemini_body(&[GEMINI_USER, &asked, &back])),
    ]);
    assert_eq!(run.causes(1), [answer(0), result(1)]);
    assert_eq!(run.outputs(), outputs(&[Some("of 1"), Some("of 2"), Some("of 3")]));
}

#[test]
fn a_call_that_was_given_up_does_not_take_the_result_of_a_later_one() {
    let (one, two) = (gemini_calls(&[("f", 1)]), gemini_calls(&[("f", 2)]));
    let more = r#"{"role":"user","parts":[{"text":"never mind, do this"}]}"#;
    let back = gemini_results(&[("f", "of 2")]);
    let run = Run::of(&[
        Exchange::post(GEMINI, gemini_body(&[GEMINI_USER])).answer(gemini_answer(&one)),
        Exchange::post(GEMINI, gemini_body(&[GEMINI_USER, more])).answer(gemini_answer(&two)),
        Exchange::post(GEMINI, gemini_body(&[GEMINI_USER, more, &two, &back])),
    ]);
    assert_eq!(run.causes(2), [answer(1), result(1)]);
    assert_eq!(run.outputs(), outputs(&[None, Some("of 2")]));
}

#[test]
fn t40_results_of_unknown_calls_and_unnamed_results_are_of_no_call() {
    let asked = chat_calls(&[("a", "f")]);
    let unnamed = r#"{"role":"tool","content":"who asked?"}"#;
    let unknown = chat_result("z", "who asked?");
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(&asked)),
        Exchange::chat(&[USER, &asked, unnamed, &unknown]),
    ]);
    let nobody = Cause::Unlinked(Unlinked::NoSuchCall);
    assert_eq!(run.causes(1), [answer(0), nobody, nobody]);
    assert_eq!(run.outputs(), outputs(&[None]));
}

#[test]
fn assistant_messages_that_nobody_said_are_told_apart() {
    let example = r#"{"role":"assistant","content":"as an example"}"#;
    let invented = r#"{"role":"assistant","content":"never said"}"#;
    let said = r#"{"role":"assistant","content":"said"}"#;
    let run = Run::of(&[
        Exchange::chat(&[USER, example]).answer(chat_answer(said)),
        Exchange::chat(&[USER, example, said, invented]),
    ]);
    assert_eq!(run.causes(0), [Cause::UserInput, Cause::Inserted]);
    assert_eq!(run.causes(1), [answer(0), Cause::Unlinked(Unlinked::NoSuchAnswer)]);
}

#[test]
fn a_call_without_a_name_or_with_broken_arguments_is_recorded() {
    let asked = r#"{"role":"assistant","tool_calls":[{"index":0,"id":"",
        "function":{"arguments":"{\"a\":"}},{"index":1,"id":"b","function":{"name":"",
        "arguments":"not json \" \\"}}]}"#;
    let run = Run::of(&[
        Exchange::chat(&[USER]).answer(chat_answer(asked)),
        Exchange::chat(&[USER, asked, &chat_result("b", "o")]),
    ]);
    assert_eq!(run.history.calls().len(), 2);
    assert_eq!(run.outputs(), outputs(&[None, Some("o")]));
}

#[test]
fn more_items_than_one_event_can_hold_are_cut_and_the_answer_is_kept_whole() {
    let text = "x".repeat(300);
    let item = |number: usize| {
        format!(
            r#"{{"type":"function_call","call_id":"{number} {text}","name":"{text}",
                "arguments":"{number}{text}"}}"#
        )
    };
    let items: Vec<_> = (0..30_000).map(item).collect();
    let reply = format!(r#"{{"status":"completed","output":[{}]}}"#, items.join(","));
    let run = Run::of(&[
        Exchange::post(RESPONSES, r#"{"input":"a"}"#).answer(reply.clone()),
        Exchange::post(RESPONSES, r#"{"input":"b"}"#),
    ]);
    let (_, answer) = run.request(0).answer.as_ref().unwrap();
    assert!(run.text(answer.body.as_ref().unwrap()) == reply);
    assert!(!answer.items.is_empty());
    assert_eq!(run.history.calls().len(), answer.items.len());
}

#[test]
fn the_same_message_twice_in_a_body_is_one_part() {
    let run =
        Run::of(&[Exchange::chat(&[USER, USER, USER]), Exchange::chat(&[USER, USER, USER, USER])]);
    assert_eq!(run.lanes(), [vec![1, 2]]);
    run.assert_exact(1, &run.bodies[1].clone(), true);
    let items = run
        .history
        .parts()
        .iter()
        .filter(|part| run.history.skeleton(part).kind == ledger::wire::PartKind::Item);
    assert_eq!(items.count(), 1);
}

#[test]
fn moved_marks_make_no_new_message() {
    let text = |marked: bool, text: &str| {
        let mark = if marked { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
        format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"{mark}}}]}}"#)
    };
    let body = |messages: &[String]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
    let first = body(&[text(true, "one")]);
    let second = body(&[text(false, "one"), text(true, "two")]);
    let run = Run::of(&[
        Exchange::post(ANTHROPIC, first.clone()),
        Exchange::post(ANTHROPIC, second.clone()),
    ]);
    run.assert_exact(0, first.as_bytes(), true);
    run.assert_exact(1, second.as_bytes(), true);
    assert_eq!(run.causes(1), [Cause::UserInput]);
    assert_eq!(run.lanes(), [vec![1, 2]]);
}
