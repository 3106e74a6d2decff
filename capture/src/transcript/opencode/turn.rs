//! One message of opencode with its parts, wherever they are kept.

use crate::transcript::adapter::Stop;
use crate::transcript::anthropic::{self, Answer, list, message};
use crate::transcript::json::Json;
use crate::transcript::plain::Plain;
use crate::transcript::scribe::{Fate, Scribe, Tag};
use crate::transcript::time::of_value;

/// One message with its parts.
#[derive(Debug, Default)]
pub(super) struct Turn {
    user: bool,
    model: Option<String>,
    usage: Option<Vec<u8>>,
    texts: Vec<Vec<u8>>,
    blocks: Vec<Vec<u8>>,
    /// Results: call, text, whether it failed, and the longer copy.
    results: Vec<(String, String, bool, Option<String>)>,
}

impl Turn {
    /// Takes the head of a message.
    pub(super) fn of(head: &Json<'_>, scribe: &mut Scribe) -> Self {
        scribe.time(head.at(&["time", "created"]).and_then(of_value));
        if let Some(cost) = head.get("cost") {
            scribe.tally.cost_of(cost);
        }
        Self {
            user: head.str("role") == Some("user"),
            model: head.str("modelID").map(str::to_owned),
            usage: head.get("tokens").and_then(usage),
            ..Self::default()
        }
    }

    /// Takes a part of it.
    pub(super) fn part(&mut self, part: &Json<'_>) -> Fate {
        match part.str("type") {
            Some("text") => {
                let block = anthropic::text_block(part.str("text").unwrap_or_default());
                if self.user { self.texts.push(block) } else { self.blocks.push(block) }
            }
            Some("reasoning") => {
                self.blocks.push(anthropic::thinking_block(part.str("text").unwrap_or_default()));
            }
            Some("tool") => self.call(part),
            Some("step-finish") => {
                if let Some(tokens) = part.get("tokens").and_then(usage) {
                    self.usage = Some(tokens);
                }
                return Fate::Aside("mark of a step");
            }
            Some("step-start" | "snapshot" | "patch" | "agent" | "retry") => {
                return Fate::Aside("mark of a step");
            }
            Some("file" | "compaction" | "subtask") => {
                return Fate::Aside("part whose text in the request is not told");
            }
            _ => return Fate::Unknown("part of an unknown type"),
        }
        Fate::Used
    }

    fn call(&mut self, part: &Json<'_>) {
        let id = part.str("callID").unwrap_or_default();
        let state = part.get("state");
        let input = state.and_then(|state| state.get("input")).map_or(&b"{}"[..], |it| it.raw);
        self.blocks.push(anthropic::call_block(id, part.str("tool").unwrap_or_default(), input));
        let Some(state) = state else { return };
        let failed = state.str("status") == Some("error");
        let seen = state.str("output").or_else(|| state.str("error"));
        let longer = state.at(&["metadata", "output"]).and_then(Json::text);
        if let Some(seen) = seen {
            let whole = longer.filter(|longer| longer.len() > seen.len()).map(str::to_owned);
            self.results.push((id.to_owned(), seen.to_owned(), failed, whole));
        }
    }

    /// Says it in the conversation.
    pub(super) fn say(
        self,
        plain: &mut Plain,
        record: u64,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        if self.user {
            scribe.say(plain.talk, Tag::Prompt, message("user", &list(&self.texts)));
            return Ok(());
        }
        let answer = Answer {
            id: None,
            model: self.model,
            blocks: self.blocks,
            stop: None,
            usage: self.usage,
        };
        plain.answer(scribe, &answer)?;
        for (call, text, failed, whole) in self.results {
            plain.result(scribe, &call, &text, failed);
            if let Some(whole) = whole {
                scribe.found(plain.talk, &call, record, whole);
            }
        }
        Ok(())
    }
}

fn usage(tokens: &Json<'_>) -> Option<Vec<u8>> {
    let cache = |name: &str| tokens.at(&["cache", name]).and_then(Json::count);
    anthropic::usage(&[
        ("input_tokens", tokens.number("input")),
        ("cache_creation_input_tokens", cache("write")),
        ("cache_read_input_tokens", cache("read")),
        ("output_tokens", tokens.number("output")),
    ])
}
