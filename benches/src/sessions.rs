//! Session files that are made up: the same bytes for the same size, every output another one.

use std::fmt::Write as _;

use serde_json::json;

/// Words of which outputs are made.
const WORDS: [&str; 32] = [
    "fn",
    "let",
    "return",
    "error",
    "value",
    "self",
    "config",
    "request",
    "the",
    "buffer",
    "while",
    "match",
    "test",
    "result",
    "path",
    "index",
    "src/main.rs",
    "assert_eq!",
    "in",
    "for",
    "token",
    "parse",
    "warning:",
    "unused",
    "variable",
    "passed",
    "0x1f",
    "42",
    "None",
    "Some",
    "impl",
    "//",
];

/// A source of numbers without a clock.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).unwrap_or(0)
    }
}

/// Lines as a program prints them.
fn output(chance: &mut Chance, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 128);
    let mut line = 1;
    while text.len() < bytes {
        write!(text, "{line:5}\t").expect("a string takes all that is written to it");
        for _word in 0..4 + chance.next() % 9 {
            text.push_str(WORDS.get(chance.next() % WORDS.len()).copied().unwrap_or("word"));
            text.push(if chance.next().is_multiple_of(11) { '"' } else { ' ' });
        }
        text.push('\n');
        line += 1;
    }
    text
}

/// Rows of Claude Code, up to about so many bytes: a call and its output in turn, every output of
/// 2 to 10 KB and once more beside it, as the client writes them.
pub fn claude_code(bytes: usize) -> String {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + (1 << 16));
    let mut parent = json!(null);
    let mut turn = 0;
    while text.len() < bytes {
        let call = format!("toolu_{turn}");
        let path = format!("src/file{turn}.rs");
        let size = 2048 + chance.next() % 8192;
        let output = output(&mut chance, size);
        let rows = [
            json!({"type": "assistant", "message": {
                "id": format!("msg_{turn}"), "role": "assistant", "model": "m",
                "content": [
                    {"type": "text", "text": "I look at the next file."},
                    {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": path}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 9, "cache_read_input_tokens": turn, "output_tokens": 60},
            }}),
            json!({"type": "user", "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": output},
            ]}, "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false}}),
        ];
        for (number, mut row) in rows.into_iter().enumerate() {
            let uuid = json!(format!("{turn:08x}-0000-4000-8000-00000000000{number}"));
            let members = [
                ("parentUuid", core::mem::replace(&mut parent, uuid.clone())),
                ("uuid", uuid),
                ("sessionId", json!("11111111-1111-4111-8111-111111111111")),
                ("version", json!("2.1.91")),
                ("timestamp", json!("2026-05-05T10:00:00.000Z")),
            ];
            if let Some(row) = row.as_object_mut() {
                row.extend(members.map(|(name, value)| (name.to_owned(), value)));
            }
            text.push_str(&row.to_string());
            text.push('\n');
        }
        turn += 1;
    }
    text
}

/// Items of Codex, up to about so many bytes: a call, its output, and a count of tokens in turn.
pub fn codex(bytes: usize) -> String {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut text = String::with_capacity(bytes + (1 << 16));
    let mut row = |kind: &str, payload: serde_json::Value| {
        let row = json!({
            "timestamp": "2026-05-05T10:00:00.000Z", "type": kind, "payload": payload,
        });
        text.push_str(&row.to_string());
        text.push('\n');
        text.len()
    };
    row(
        "session_meta",
        json!({"id": "s", "cli_version": "0.140.0",
        "base_instructions": {"text": "You are a coding agent."}}),
    );
    let mut turn = 0_u64;
    let mut length = 0;
    while length < bytes {
        let call = format!("call_{turn}");
        let size = 2048 + chance.next() % 8192;
        let output = output(&mut chance, size);
        let arguments = json!({"command": ["sed", "-n", turn]}).to_string();
        row(
            "response_item",
            json!({"type": "function_call", "call_id": call, "name": "shell",
            "arguments": arguments}),
        );
        row(
            "response_item",
            json!({"type": "function_call_output", "call_id": call,
            "output": output}),
        );
        let usage = json!({"input_tokens": 9 * turn, "output_tokens": 60, "total_tokens": turn});
        length = row(
            "event_msg",
            json!({"type": "token_count", "info": {
            "total_token_usage": usage, "last_token_usage": usage}}),
        );
        turn += 1;
    }
    text
}
