//! Messages that a policy adds, as each request format writes them.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ledger::wire::{Dialect, Escape};

use crate::policy::op::Role;

/// Writes messages of a policy into a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen {
    pub(crate) dialect: Dialect,
    pub(crate) escape: Escape,
}

impl Pen {
    /// A message of one text.
    pub(crate) fn message(self, role: Role, text: &str) -> Arc<[u8]> {
        let (before, behind) = match self.dialect {
            // Instructions are no messages there: the user says them.
            Dialect::AnthropicMessages => match role {
                Role::User | Role::System => ("{\"role\":\"user\",\"content\":\"", "\"}"),
                Role::Assistant => ("{\"role\":\"assistant\",\"content\":\"", "\"}"),
            },
            Dialect::OpenAiChat => match role {
                Role::User => ("{\"role\":\"user\",\"content\":\"", "\"}"),
                Role::System => ("{\"role\":\"system\",\"content\":\"", "\"}"),
                Role::Assistant => ("{\"role\":\"assistant\",\"content\":\"", "\"}"),
            },
            Dialect::OpenAiResponses => match role {
                Role::User => (
                    "{\"type\":\"message\",\"role\":\"user\",\
                     \"content\":[{\"type\":\"input_text\",\"text\":\"",
                    "\"}]}",
                ),
                Role::System => (
                    "{\"type\":\"message\",\"role\":\"developer\",\
                     \"content\":[{\"type\":\"input_text\",\"text\":\"",
                    "\"}]}",
                ),
                Role::Assistant => (
                    "{\"type\":\"message\",\"role\":\"assistant\",\
                     \"content\":[{\"type\":\"output_text\",\"text\":\"",
                    "\"}]}",
                ),
            },
            Dialect::GeminiGenerate => match role {
                Role::User | Role::System => {
                    ("{\"role\":\"user\",\"parts\":[{\"text\":\"", "\"}]}")
                }
                Role::Assistant => ("{\"role\":\"model\",\"parts\":[{\"text\":\"", "\"}]}"),
            },
        };
        self.write(&[Ok(before), Err(text), Ok(behind)])
    }

    /// The result of a call, by the call's id and the name of its tool.
    pub(crate) fn result(self, id: &str, tool: &str, text: &str) -> Arc<[u8]> {
        match self.dialect {
            Dialect::AnthropicMessages => self.write(&[
                Ok("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\""),
                Err(id),
                Ok("\",\"content\":\""),
                Err(text),
                Ok("\"}]}"),
            ]),
            Dialect::OpenAiChat => self.write(&[
                Ok("{\"role\":\"tool\",\"tool_call_id\":\""),
                Err(id),
                Ok("\",\"content\":\""),
                Err(text),
                Ok("\"}"),
            ]),
            Dialect::OpenAiResponses => self.write(&[
                Ok("{\"type\":\"function_call_output\",\"call_id\":\""),
                Err(id),
                Ok("\",\"output\":\""),
                Err(text),
                Ok("\"}"),
            ]),
            Dialect::GeminiGenerate => self.write(&[
                Ok("{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\""),
                Err(tool),
                Ok("\",\"response\":{\"output\":\""),
                Err(text),
                Ok("\"}}}]}"),
            ]),
        }
    }

    /// A block of one text, as it stands among the blocks of a message; `input` where the message
    /// is an input of the Responses format.
    pub(crate) fn block(self, text: &str) -> Arc<[u8]> {
        let before = match self.dialect {
            Dialect::AnthropicMessages | Dialect::OpenAiChat => "{\"type\":\"text\",\"text\":\"",
            Dialect::OpenAiResponses => "{\"type\":\"input_text\",\"text\":\"",
            Dialect::GeminiGenerate => "{\"text\":\"",
        };
        self.write(&[Ok(before), Err(text), Ok("\"}")])
    }

    /// Writes JSON as it is, and texts as the request escapes them.
    fn write(self, pieces: &[Result<&str, &str>]) -> Arc<[u8]> {
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                Ok(json) => out.extend_from_slice(json.as_bytes()),
                Err(text) => self.escape.escape_into(text, &mut out),
            }
        }
        out.into()
    }
}

/// A summary that nobody has made: it says so, and has the size that is assumed for it.
pub(crate) fn placeholder(messages: usize, tokens: u64, units: u64) -> String {
    assumed(&alloc::format!("summary of {messages} messages"), tokens, units)
}

/// A text that is not on record: it says what it stands for, and has the size that is assumed.
pub(crate) fn assumed(what: &str, tokens: u64, units: u64) -> String {
    let mut text = alloc::format!("[{what}, assumed: {tokens} tokens]");
    let wanted = usize::try_from(units).unwrap_or(usize::MAX).min(4 << 20);
    if text.len() < wanted {
        text.push(' ');
    }
    while text.len() < wanted {
        text.push('.');
    }
    text
}
