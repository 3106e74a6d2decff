//! A small HAR file, written by hand: three requests, two tool calls with different outputs,
//! numbers, a tool schema and composed characters.

use serde_json::{Value, json};

/// Lines of a tool output; long enough for an artifact of its own.
const OUTPUT_LINES: usize = 30;

/// The file.
pub(crate) fn har() -> String {
    let bodies = bodies();
    let answers = [answer(&call("c1")), answer(&call("c2")), answer(&done())];
    let entries: Vec<Value> = bodies.iter().zip(&answers).map(|(b, a)| entry(b, a)).collect();
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

/// The bodies of its requests.
pub(crate) fn bodies() -> [String; 3] {
    let first = vec![
        json!({"role": "system", "content": "Be brief. It is a caf\u{e9}."}),
        json!({"role": "user", "content": "Look around in Z\u{fc}rich."}),
    ];
    let mut second = first.clone();
    second.extend([call("c1"), result("c1", "one")]);
    let mut third = second.clone();
    third.extend([call("c2"), result("c2", "two")]);
    [first, second, third].map(|messages| {
        json!({
            "model": "m", "temperature": 1, "max_tokens": 640, "messages": messages,
            "tools": [{"type": "function", "function": {
                "name": "sh", "description": "Run it.", "parameters": {"type": "object"}
            }}]
        })
        .to_string()
    })
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "sh", "arguments": "{}"}}
    ]})
}

fn done() -> Value {
    json!({"role": "assistant", "content": "done"})
}

fn result(id: &str, word: &str) -> Value {
    let output = format!("line {word} of a na\u{ef}ve caf\u{e9} tool\n").repeat(OUTPUT_LINES);
    json!({"role": "tool", "tool_call_id": id, "content": output})
}

fn answer(message: &Value) -> String {
    json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string()
}

fn entry(body: &str, answer: &str) -> Value {
    json!({
        "startedDateTime": "2026-11-30T10:00:00Z", "time": 1,
        "request": {"method": "POST", "url": "http://h/v1/chat/completions", "headers": [],
            "postData": {"mimeType": "application/json", "text": body}},
        "response": {"status": 200, "headers": [],
            "content": {"mimeType": "application/json", "text": answer}}
    })
}
