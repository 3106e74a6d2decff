//! A small HAR file, written by hand: one conversation in each dialect, and a list of models.

use serde_json::{Value, json};

/// Lines of the tool output in each conversation; longer than the smallest cap.
const OUTPUT_LINES: usize = 60;

/// A file with nine entries: twice four requests, and one exchange that asks no model.
pub(crate) fn tiny() -> String {
    let mut entries = vec![models()];
    for conversation in [anthropic, chat, responses, gemini] {
        let output = output();
        for (index, (url, body, answer)) in conversation(&output).into_iter().enumerate() {
            entries.push(entry(index, &url, &body.to_string(), &answer.to_string()));
        }
    }
    har(&entries)
}

/// One request whose body is larger than any pipe buffers.
pub(crate) fn large() -> String {
    let text = "all work and no play\n".repeat(40_000);
    let body = json!({"model": "m", "max_tokens": 1, "messages": [
        {"role": "user", "content": text}
    ]});
    har(&[entry(0, "http://127.0.0.1/v1/messages", &body.to_string(), "{}")])
}

/// Requests whose texts are so long that each is an artifact.
pub(crate) fn texts(count: usize) -> String {
    let request = |index: usize| {
        let text = format!("text {index} ").repeat(200);
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        entry(index, "http://127.0.0.1/v1/chat/completions", &body.to_string(), "{}")
    };
    har(&(0..count).map(request).collect::<Vec<_>>())
}

/// A request whose body is no object, so that it cannot be split.
pub(crate) fn unsplit() -> String {
    har(&[entry(0, "http://127.0.0.1/v1/messages", "[1, 2]", "{}")])
}

pub(crate) fn har(entries: &[Value]) -> String {
    json!({"log": {
        "version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries
    }})
    .to_string()
}

pub(crate) fn entry(second: usize, url: &str, body: &str, answer: &str) -> Value {
    json!({
        "startedDateTime": format!("2026-01-02T03:04:{second:02}.000Z"),
        "time": 12.5,
        "request": {
            "method": "POST", "url": url, "httpVersion": "HTTP/1.1",
            "headers": [
                {"name": "content-type", "value": "application/json"},
                {"name": "user-agent", "value": "tiny/1.0 (test)"}
            ],
            "postData": {"mimeType": "application/json", "text": body},
            "bodySize": body.len()
        },
        "response": {
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"size": answer.len(), "mimeType": "application/json", "text": answer},
            "bodySize": answer.len()
        }
    })
}

fn models() -> Value {
    let mut entry = entry(0, "http://127.0.0.1/v1/models", "", "{\"data\":[]}");
    let request = entry["request"].as_object_mut().unwrap();
    request.insert("method".to_owned(), json!("GET"));
    request.remove("postData");
    request.insert("bodySize".to_owned(), json!(0));
    entry
}

/// Terminal escapes and direction marks included: they must not reach a terminal.
fn output() -> String {
    let first = "\u{1b}[31mred\u{1b}[0m caf\u{e9} \u{202e}mirrors".to_owned();
    let line = |number: usize| format!("line {number:03} of the output of a tool, as it came");
    let lines: Vec<_> = [first].into_iter().chain((1..=OUTPUT_LINES).map(line)).collect();
    lines.join("\n") + "\n"
}

type Exchange = (String, Value, Value);

fn anthropic(output: &str) -> Vec<Exchange> {
    let body = |messages: Value| {
        json!({"model": "claude-tiny", "max_tokens": 64, "system": "Be brief.", "tools": [
            {"name": "bash", "input_schema": {"type": "object"}}
        ], "messages": messages})
    };
    let user = json!({"role": "user", "content": "Look around."});
    let call = json!([
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"cmd": "ls"}}
    ]);
    let answer = |content: &Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-tiny",
            "content": content, "stop_reason": "tool_use",
            "usage": {"input_tokens": 10, "output_tokens": 5}})
    };
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}
    ]});
    let url = "http://127.0.0.1/v1/messages".to_owned();
    let second = json!([user, {"role": "assistant", "content": call}, result]);
    vec![
        (url.clone(), body(json!([user])), answer(&call)),
        (url, body(second), answer(&json!([{"type": "text", "text": "Done."}]))),
    ]
}

fn chat(output: &str) -> Vec<Exchange> {
    let body = |messages: Value| json!({"model": "gpt-tiny", "messages": messages});
    let system = json!({"role": "system", "content": "Be brief."});
    let user = json!({"role": "user", "content": "Look around."});
    let call = json!({"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {
            "name": "bash", "arguments": "{\"cmd\":\"ls\"}"
        }}
    ]});
    let answer = |message: &Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-tiny",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
    };
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": output});
    let url = "http://127.0.0.1/v1/chat/completions".to_owned();
    vec![
        (url.clone(), body(json!([system, user])), answer(&call)),
        (
            url,
            body(json!([system, user, call, result])),
            answer(&json!({"role": "assistant", "content": "Done."})),
        ),
    ]
}

fn responses(output: &str) -> Vec<Exchange> {
    let body = |input: Value| {
        json!({
            "model": "gpt-tiny", "instructions": "Be brief.", "input": input, "store": false
        })
    };
    let text = json!({"type": "input_text", "text": "Look around."});
    let user = json!({"type": "message", "role": "user", "content": [text]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_r1",
        "name": "bash", "arguments": "{\"cmd\":\"ls\"}"});
    let answer = |item: &Value| {
        json!({"id": "resp_1", "object": "response", "status": "completed", "output": [item],
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
    };
    let result = json!({"type": "function_call_output", "call_id": "call_r1", "output": output});
    let done = json!({"type": "message", "id": "msg_r1", "role": "assistant", "content": [
        {"type": "output_text", "text": "Done."}
    ]});
    let url = "http://127.0.0.1/v1/responses".to_owned();
    vec![
        (url.clone(), body(json!([user])), answer(&call)),
        (url, body(json!([user, call, result])), answer(&done)),
    ]
}

fn gemini(output: &str) -> Vec<Exchange> {
    let system = json!({"parts": [{"text": "Be brief."}]});
    let body = |contents: Value| json!({"systemInstruction": system, "contents": contents});
    let user = json!({"role": "user", "parts": [{"text": "Look around."}]});
    let call = json!({"role": "model", "parts": [
        {"functionCall": {"name": "bash", "args": {"cmd": "ls"}}}
    ]});
    let answer = |content: &Value| {
        json!({"candidates": [{"content": content, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5,
                "totalTokenCount": 15}})
    };
    let result = json!({"role": "user", "parts": [
        {"functionResponse": {"name": "bash", "response": {"output": output}}}
    ]});
    let done = json!({"role": "model", "parts": [{"text": "Done."}]});
    let url = "http://127.0.0.1/v1beta/models/gemini-tiny:generateContent".to_owned();
    vec![
        (url.clone(), body(json!([user])), answer(&call)),
        (url, body(json!([user, call, result])), answer(&done)),
    ]
}
