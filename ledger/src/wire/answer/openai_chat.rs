//! Reduces answers of Chat Completions and its many imitators.
//!
//! A Chat message has no order between its fields, so the items stand in the order of the
//! message: reasoning, content, what else the message holds, then the tool calls by their
//! index. The first choice alone is the answer; events of others are counted.

use std::collections::BTreeMap;

use super::leaf::{Fields, Leaf};
use super::{AnswerItem, Head, Misread, Reduce, Usage};

/// What a message can hold beside text and calls; kept as it is.
const OTHERS: [&str; 4] = ["reasoning_details", "thinking_blocks", "audio", "images"];

#[derive(Default)]
pub(super) struct Chat {
    thinking: String,
    text: String,
    /// The escaped text of the refusal, so that its raw form can be put together.
    refusal: String,
    others: Vec<AnswerItem>,
    calls: BTreeMap<CallKey, Call>,
    last: Option<CallKey>,
    closed_whole: bool,
}

/// The index on the wire, and which of the calls that some servers send under one index.
type CallKey = (u64, u64);

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Reduce for Chat {
    fn event(&mut self, head: &mut Head, _name: &str, data: &[u8]) -> Result<(), Misread> {
        let chunk = Fields::read(data)?;
        let error = chunk.get("error");
        if !error.is_missing() {
            head.fail(error);
            return Ok(());
        }
        if chunk.get("choices").is_missing() && chunk.get("usage").is_missing() {
            return Err(Misread::Unknown);
        }
        head.started = true;
        head.identify(chunk.get("id"), chunk.get("model"));
        head.count(usage(&chunk.get("usage").fields_if_any()?)?);
        for (place, choice) in (0u64..).zip(chunk.get("choices").list()?) {
            let choice = choice.fields()?;
            if choice.get("index").number().unwrap_or(place) == 0 {
                self.choice(head, &choice)?;
            } else {
                head.skip();
            }
        }
        Ok(())
    }

    fn done(&mut self, head: &mut Head) {
        self.close(head);
    }

    fn document(&mut self, head: &mut Head, data: &[u8]) -> Result<(), Misread> {
        let outcome = self.event(head, "", data);
        self.close(head);
        outcome
    }

    fn finish(self, _head: &mut Head) -> Vec<AnswerItem> {
        let mut items = Vec::new();
        if !self.thinking.is_empty() {
            items.push(AnswerItem::Thinking {
                text: self.thinking,
                signature: None,
                item_id: None,
            });
        }
        if !self.text.is_empty() {
            items.push(AnswerItem::Text { text: self.text, item_id: None });
        }
        if !self.refusal.is_empty() {
            let raw = format!("\"{}\"", self.refusal).into_bytes();
            items.push(AnswerItem::Opaque { kind: "refusal".to_owned(), raw });
        }
        items.extend(self.others);
        items.extend(self.calls.into_values().map(|call| AnswerItem::ToolCall {
            call_id: Some(call.id).filter(|id| !id.is_empty()),
            item_id: None,
            name: call.name,
            arguments: call.arguments,
            complete: self.closed_whole,
        }));
        items
    }
}

impl Chat {
    /// The calls are whole if nothing was lost up to the first sign of the end.
    fn close(&mut self, head: &mut Head) {
        if !head.terminal {
            head.terminal = true;
            self.closed_whole = head.damaged == 0;
        }
    }

    fn choice(&mut self, head: &mut Head, choice: &Fields<'_>) -> Result<(), Misread> {
        for name in ["delta", "message"] {
            self.message(&choice.get(name).fields_if_any()?)?;
        }
        let finished = choice.get("finish_reason");
        if !finished.is_empty() {
            head.stop(finished);
            self.close(head);
        }
        Ok(())
    }

    fn message(&mut self, message: &Fields<'_>) -> Result<(), Misread> {
        if let Some(text) = message.get("content").text()? {
            self.text.push_str(&text);
        }
        for part in message.get("content").list()? {
            self.part(part)?;
        }
        let thinking = match message.get("reasoning_content").word()? {
            Some(thinking) => Some(thinking),
            None => message.get("reasoning").text()?,
        };
        self.thinking.push_str(&thinking.unwrap_or_default());
        self.refusal.push_str(inside_quotes(message.get("refusal")));
        for kind in OTHERS {
            let span = message.get(kind);
            if !span.is_empty() {
                self.other(kind, span);
            }
        }
        for call in message.get("tool_calls").list()? {
            let call = call.fields()?;
            let inner = match call.get("function") {
                function if function.is_object() => function,
                _ => call.get("custom"),
            };
            self.call(call.get("index").number(), call.get("id"), inner)?;
        }
        let old = message.get("function_call");
        if old.is_object() {
            self.call(None, Leaf::default(), old)?;
        }
        Ok(())
    }

    fn part(&mut self, span: Leaf<'_>) -> Result<(), Misread> {
        let part = span.fields()?;
        let kind = part.get("type").text()?.unwrap_or_default();
        match &*kind {
            "text" => self.text.push_str(&part.get("text").text()?.unwrap_or_default()),
            "thinking" => {
                for inner in part.get("thinking").list()? {
                    let inner = inner.fields()?;
                    self.thinking.push_str(&inner.get("text").text()?.unwrap_or_default());
                }
            }
            kind => self.other(kind, span),
        }
        Ok(())
    }

    /// Takes in a piece of a call; `inner` holds its name and arguments.
    fn call(&mut self, index: Option<u64>, id: Leaf<'_>, inner: Leaf<'_>) -> Result<(), Misread> {
        let inner = inner.fields_if_any()?;
        let id = id.text()?.unwrap_or_default();
        let name = inner.get("name").text()?.unwrap_or_default();
        let key = self.key_for(index, &id, &name);
        self.last = Some(key);
        let call = self.calls.entry(key).or_default();
        if call.id.is_empty() {
            call.id.push_str(&id);
        }
        // Some servers repeat the name in every piece, others send it in pieces.
        if call.name != name {
            call.name.push_str(&name);
        }
        for arguments in [inner.get("arguments"), inner.get("input")] {
            match arguments.text()? {
                Some(text) => call.arguments.push_str(&text),
                None => call.arguments.push_str(arguments.raw().unwrap_or_default()),
            }
        }
        Ok(())
    }

    /// Finds the call that a piece belongs to. A new id together with a name begins a new
    /// call even under an index that is taken, since some servers give all calls one index
    /// or none.
    fn key_for(&self, index: Option<u64>, id: &str, name: &str) -> CallKey {
        let known = match index {
            Some(index) => self.calls.range((index, 0)..=(index, u64::MAX)).next_back(),
            None => self.last.and_then(|key| self.calls.get_key_value(&key)),
        };
        match known {
            None => (index.unwrap_or_default(), 0),
            Some((key, call)) if id.is_empty() || name.is_empty() || call.id == id => *key,
            Some((key, call)) if call.id.is_empty() => *key,
            Some((key, _)) => (key.0, key.1.saturating_add(1)),
        }
    }

    fn other(&mut self, kind: &str, span: Leaf<'_>) {
        self.others.push(AnswerItem::Opaque { kind: kind.to_owned(), raw: span.to_bytes() });
    }
}

/// The escaped text of a string; empty for anything else.
fn inside_quotes(leaf: Leaf<'_>) -> &str {
    let raw = leaf.raw().unwrap_or_default();
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default()
}

fn usage(counts: &Fields<'_>) -> Result<Usage, Misread> {
    let read = counts.get("prompt_tokens_details").fields_if_any()?;
    let written = counts.get("completion_tokens_details").fields_if_any()?;
    let cached = read.get("cached_tokens").number();
    Ok(Usage {
        input_tokens: counts.get("prompt_tokens").number(),
        output_tokens: counts.get("completion_tokens").number(),
        cache_read_tokens: cached.or_else(|| counts.get("prompt_cache_hit_tokens").number()),
        cache_write_tokens: read.get("cache_write_tokens").number(),
        reasoning_tokens: written.get("reasoning_tokens").number(),
        total_tokens: counts.get("total_tokens").number(),
    })
}
