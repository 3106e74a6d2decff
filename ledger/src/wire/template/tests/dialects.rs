//! Goal: items as real clients send them are cut where they should be. Method: one table per
//! dialect, shapes taken from recorded requests.

use super::*;

const SYSTEM: SlotKind = SlotKind::SYSTEM_TEXT;
const USER: SlotKind = SlotKind::USER_TEXT;
const ASSISTANT: SlotKind = SlotKind::ASSISTANT_TEXT;
const THINKING: SlotKind = SlotKind::THINKING;
const OUTPUT: SlotKind = SlotKind::TOOL_OUTPUT;
const ARGUMENTS: SlotKind = SlotKind::ARGUMENTS;
const CALL_ID: SlotKind = SlotKind::CALL_ID;
const RESULT_CALL_ID: SlotKind = SlotKind::RESULT_CALL_ID;
const TOOL_NAME: SlotKind = SlotKind::TOOL_NAME;
const RESULT_NAME: SlotKind = SlotKind::RESULT_NAME;
const ITEM_ID: SlotKind = SlotKind::ITEM_ID;
const MEDIA: SlotKind = SlotKind::MEDIA;
const OPAQUE: SlotKind = SlotKind::OPAQUE;

/// Takes the line breaks and indentation out that only this file needs.
fn compact(part: &str) -> String {
    part.lines().map(str::trim_start).collect()
}

#[test]
fn anthropic_messages_are_cut() {
    let check = |part: &str, role, expected: &[Seen<'_>]| {
        check(Dialect::AnthropicMessages, &compact(part), role, expected);
    };
    check(r#"{"role":"user","content":"do \"it\"\n"}"#, Role::User, &[(USER, 0, "do \"it\"\n")]);
    check(
        r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>"},{"type":"text",
        "text":"go"},{"type":"image","source":{"type":"base64","media_type":"image/png",
        "data":"iVBO"}}]}"#,
        Role::User,
        &[(USER, 0, "<system-reminder>"), (USER, 1, "go"), (MEDIA, 2, "iVBO")],
    );
    check(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm",
        "signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0"},{"type":"text",
        "text":"ok"},{"type":"tool_use","id":"toolu_1","name":"Bash",
        "input":{"command":"ls -la","description":"List"}},{"type":"tool_use","id":"toolu_2",
        "name":"Read","input":{}}]}"#,
        Role::Assistant,
        &[
            (THINKING, 0, "hm"),
            (OPAQUE, 0, "c2ln"),
            (OPAQUE, 1, "ZGF0"),
            (ASSISTANT, 2, "ok"),
            (CALL_ID, 3, "toolu_1"),
            (TOOL_NAME, 3, "Bash"),
            (ARGUMENTS, 3, r#"{"command":"ls -la","description":"List"}"#),
            (CALL_ID, 4, "toolu_2"),
            (TOOL_NAME, 4, "Read"),
            (ARGUMENTS, 4, "{}"),
        ],
    );
    check(
        r#"{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result",
        "content":"total 8\n","is_error":false},{"type":"tool_result",
        "tool_use_id":"toolu_2","content":[{"type":"text","text":"a"},{"type":"text",
        "text":"b"}]},{"type":"text","text":"note"}]}"#,
        Role::User,
        &[
            (RESULT_CALL_ID, 0, "toolu_1"),
            (OUTPUT, 0, "total 8\n"),
            (RESULT_CALL_ID, 1, "toolu_2"),
            (OUTPUT, 1, "a"),
            (OUTPUT, 1, "b"),
            (USER, 2, "note"),
        ],
    );
}

#[test]
fn openai_chat_messages_are_cut() {
    let check = |part: &str, role, expected: &[Seen<'_>]| {
        check(Dialect::OpenAiChat, &compact(part), role, expected);
    };
    check(r#"{"role":"system","content":"Be."}"#, Role::System, &[(SYSTEM, 0, "Be.")]);
    check(r#"{"role":"developer","content":"Be."}"#, Role::System, &[(SYSTEM, 0, "Be.")]);
    check(
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url",
        "image_url":{"url":"data:image/png;base64,iVBO"}}]}"#,
        Role::User,
        &[(USER, 0, "see"), (MEDIA, 0, "data:image/png;base64,iVBO")],
    );
    check(
        r#"{"role":"assistant","content":null,"reasoning_content":"hm","reasoning":"so",
        "tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash",
        "arguments":"{\"command\": \"ls\"}"}},{"index":1,"id":"call_2","type":"function",
        "function":{"arguments":"","name":"read"}}]}"#,
        Role::Assistant,
        &[
            (THINKING, 0, "hm"),
            (THINKING, 0, "so"),
            (CALL_ID, 0, "call_1"),
            (TOOL_NAME, 0, "bash"),
            (ARGUMENTS, 0, r#"{"command": "ls"}"#),
            (CALL_ID, 1, "call_2"),
            (ARGUMENTS, 1, ""),
            (TOOL_NAME, 1, "read"),
        ],
    );
    check(
        r#"{"role":"tool","tool_call_id":"call_1","name":"bash","content":"a\tb"}"#,
        Role::Tool,
        &[(RESULT_CALL_ID, 0, "call_1"), (RESULT_NAME, 0, "bash"), (OUTPUT, 0, "a\tb")],
    );
    check(
        r#"{"content":[{"text":"out","type":"text"}],"role":"tool","tool_call_id":"call_1"}"#,
        Role::Tool,
        &[(OUTPUT, 0, "out"), (RESULT_CALL_ID, 0, "call_1")],
    );
}

#[test]
fn openai_responses_items_are_cut() {
    let check = |part: &str, role, expected: &[Seen<'_>]| {
        check(Dialect::OpenAiResponses, &compact(part), role, expected);
    };
    check("\"just text\"", Role::Unknown, &[(USER, 0, "just text")]);
    check(
        r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"Rules"}]}"#,
        Role::System,
        &[(SYSTEM, 0, "Rules")],
    );
    check(
        r#"{"role":"user","content":[{"type":"input_text","text":"go"},{"type":"input_image",
        "image_url":"data:x"}]}"#,
        Role::User,
        &[(USER, 0, "go"), (MEDIA, 0, "data:x")],
    );
    check(
        r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text",
        "text":"ok","annotations":[]}],"status":"completed"}"#,
        Role::Assistant,
        &[(ITEM_ID, 0, "msg_1"), (ASSISTANT, 0, "ok")],
    );
    check(
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"},
        {"type":"summary_text","text":"so"}],"encrypted_content":"Z0FB"}"#,
        Role::Assistant,
        &[(ITEM_ID, 0, "rs_1"), (THINKING, 0, "hm"), (THINKING, 0, "so"), (OPAQUE, 0, "Z0FB")],
    );
    check(
        r#"{"type":"function_call","id":"fc_1","name":"exec","arguments":"{\"cmd\":\"ls\"}",
        "call_id":"call_1"}"#,
        Role::Assistant,
        &[
            (ITEM_ID, 0, "fc_1"),
            (TOOL_NAME, 0, "exec"),
            (ARGUMENTS, 0, r#"{"cmd":"ls"}"#),
            (CALL_ID, 0, "call_1"),
        ],
    );
    check(
        r#"{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch",
        "input":"*** Begin"}"#,
        Role::Assistant,
        &[(CALL_ID, 0, "call_2"), (TOOL_NAME, 0, "apply_patch"), (ARGUMENTS, 0, "*** Begin")],
    );
    check(
        r#"{"type":"function_call_output","call_id":"call_1","output":"Chunk ID: 1\nOutput:\n"}"#,
        Role::Tool,
        &[(RESULT_CALL_ID, 0, "call_1"), (OUTPUT, 0, "Chunk ID: 1\nOutput:\n")],
    );
    check(
        r#"{"call_id":"call_2","output":[{"type":"input_text","text":"a"},{"type":"input_text",
        "text":"b"}],"type":"custom_tool_call_output"}"#,
        Role::Tool,
        &[(RESULT_CALL_ID, 0, "call_2"), (OUTPUT, 0, "a"), (OUTPUT, 0, "b")],
    );
}

#[test]
fn gemini_contents_are_cut() {
    let check = |part: &str, role, expected: &[Seen<'_>]| {
        check(Dialect::GeminiGenerate, &compact(part), role, expected);
    };
    check(
        r#"{"role":"user","parts":[{"text":"This is"},{"inlineData":{"mimeType":"image/png",
        "data":"iVBO"}}]}"#,
        Role::User,
        &[(USER, 0, "This is"), (MEDIA, 1, "iVBO")],
    );
    check(
        r#"{"parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"run",
        "args":{"command":"ls","n":[1,2]}},"thoughtSignature":"c2ln"}],"role":"model"}"#,
        Role::Assistant,
        &[
            (ASSISTANT, 0, "hm"),
            (CALL_ID, 1, "c1"),
            (TOOL_NAME, 1, "run"),
            (ARGUMENTS, 1, r#"{"command":"ls","n":[1,2]}"#),
            (OPAQUE, 1, "c2ln"),
        ],
    );
    check(
        r#"{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run",
        "response":{"output":"total 8","exit":0,"more":[{"stderr":"none"}]}}},
        {"functionResponse":{"name":"read","response":{"error":""}}}]}"#,
        Role::User,
        &[
            (RESULT_CALL_ID, 0, "c1"),
            (RESULT_NAME, 0, "run"),
            (OUTPUT, 0, "total 8"),
            (OUTPUT, 0, "none"),
            (RESULT_NAME, 1, "read"),
            (OUTPUT, 1, ""),
        ],
    );
}

#[test]
fn rules_of_one_dialect_do_not_reach_into_another() {
    let anthropic = r#"{"role":"user","content":[{"tool_use_id":"t","content":"out"}]}"#;
    check(Dialect::OpenAiChat, anthropic, Role::User, &[]);
    let gemini = r#"{"role":"user","parts":[{"text":"a"}]}"#;
    check(Dialect::OpenAiResponses, gemini, Role::User, &[]);
    let chat = r#"{"role":"tool","tool_call_id":"c","content":"out"}"#;
    check(Dialect::AnthropicMessages, chat, Role::Tool, &[(OUTPUT, 0, "out")]);
}

#[test]
fn a_kind_of_slot_has_its_word_and_later_kinds_are_unknown() {
    let words: Vec<_> =
        (0..=15_u8).map(|tag| crate::codec::decode::<SlotKind>(&[tag]).unwrap().name()).collect();
    assert_eq!(
        words,
        [
            "unknown",
            "system text",
            "user text",
            "assistant text",
            "thinking",
            "tool output",
            "arguments",
            "call id",
            "result call id",
            "tool name",
            "item id",
            "media",
            "opaque",
            "other",
            "result name",
            "unknown",
        ]
    );
}
