//! Reduces answers of the Responses API.
//!
//! The answer is a list of items. `response.output_item.done` brings an item whole, and a
//! client such as Codex resends what it got that way before a cut, so that event is the
//! authority; the list in the last event fills in what never got it. Only for an item that
//! has neither do the deltas count, as a partial text or an incomplete call.

use std::collections::BTreeMap;

use super::leaf::{Fields, Leaf};
use super::{AnswerItem, Head, Misread, Reduce, Usage};

/// Progress of items whose whole text comes with their end; on a cut they are lost.
const PROGRESS: [&str; 9] = [
    "response.content_part.",
    "response.reasoning_summary_part.",
    "response.output_text.annotation.",
    "response.web_search_call.",
    "response.file_search_call.",
    "response.code_interpreter_call",
    "response.image_generation_call.",
    "response.mcp_",
    "response.refusal.",
];

#[derive(Default)]
pub(super) struct Responses {
    slots: BTreeMap<u64, Slot>,
}

/// One place of the output list.
#[derive(Default)]
struct Slot {
    done: Option<Vec<AnswerItem>>,
    kind: String,
    item_id: Option<String>,
    call_id: Option<String>,
    name: String,
    arguments: String,
    parts: BTreeMap<(PartKind, u64), String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartKind {
    Summary,
    Reasoning,
    Output,
}

impl Reduce for Responses {
    fn event(&mut self, head: &mut Head, name: &str, data: &[u8]) -> Result<(), Misread> {
        let event = Fields::read(data)?;
        let kind = event.get("type").text()?;
        let kind = kind.as_deref().unwrap_or(name);
        head.started |= kind.starts_with("response.");
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                let response = event.get("response").fields()?;
                head.identify(response.get("id"), response.get("model"));
                Ok(())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                head.terminal = true;
                self.response(head, &event.get("response").fields()?)
            }
            "response.output_item.added" => self.begin(&event),
            "response.output_item.done" => self.end(&event),
            "keepalive" => Ok(()),
            "error" => {
                let nested = event.get("error");
                let flat = serde_json::from_slice(data)?;
                head.fail(if nested.is_missing() { flat } else { nested });
                Ok(())
            }
            _ if PROGRESS.iter().any(|known| kind.starts_with(known)) => Ok(()),
            _ => self.piece(kind, &event),
        }
    }

    fn document(&mut self, head: &mut Head, data: &[u8]) -> Result<(), Misread> {
        let response = Fields::read(data)?;
        if response.get("output").is_missing() && response.get("error").is_missing() {
            return Err(Misread::Unknown);
        }
        self.response(head, &response)
    }

    fn finish(self, head: &mut Head) -> Vec<AnswerItem> {
        let mut items = Vec::new();
        for slot in self.slots.into_values() {
            if slot.done.is_none() && !slot.can_be_partial() {
                head.skip();
            }
            slot.into_items(&mut items);
        }
        items
    }
}

impl Responses {
    /// Takes in the whole response: a document, or the payload of the last event.
    fn response(&mut self, head: &mut Head, response: &Fields<'_>) -> Result<(), Misread> {
        head.started = true;
        head.identify(response.get("id"), response.get("model"));
        head.stop(response.get("status"));
        head.stop(response.get("incomplete_details").fields_if_any()?.get("reason"));
        head.count(usage(&response.get("usage").fields_if_any()?)?);
        let error = response.get("error");
        if !error.is_missing() {
            head.fail(error);
        }
        for (index, span) in (0u64..).zip(response.get("output").list()?) {
            let slot = self.slots.entry(index).or_default();
            if slot.done.is_none() {
                match items_of(span) {
                    Ok(items) => slot.done = Some(items),
                    Err(why) => head.misread(&why),
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, event: &Fields<'_>) -> Result<(), Misread> {
        let item = event.get("item").fields()?;
        let slot = self.slot(event.get("output_index"), item.get("id"));
        slot.kind = item.get("type").label().unwrap_or_default();
        slot.call_id = item.get("call_id").label();
        slot.name = item.get("name").label().unwrap_or_default();
        Ok(())
    }

    fn end(&mut self, event: &Fields<'_>) -> Result<(), Misread> {
        let span = event.get("item");
        let items = items_of(span)?;
        let slot = self.slot(event.get("output_index"), span.fields()?.get("id"));
        if slot.done.is_some() {
            return Err(Misread::Unknown);
        }
        slot.done = Some(items);
        Ok(())
    }

    /// Takes in a piece of an item, or the piece as a whole at its end.
    fn piece(&mut self, kind: &str, event: &Fields<'_>) -> Result<(), Misread> {
        let (stem, moment) = kind.rsplit_once('.').ok_or(Misread::Unknown)?;
        let (target, whole) = match stem {
            "response.output_text" => (Some(PartKind::Output), "text"),
            "response.reasoning_summary_text" => (Some(PartKind::Summary), "text"),
            "response.reasoning_text" => (Some(PartKind::Reasoning), "text"),
            "response.function_call_arguments" => (None, "arguments"),
            "response.custom_tool_call_input" => (None, "input"),
            _ => return Err(Misread::Unknown),
        };
        let text = match moment {
            "delta" => event.get("delta").text()?,
            "done" => event.get(whole).text()?,
            _ => None,
        };
        let text = text.ok_or(Misread::Unknown)?;
        let index = match target {
            Some(PartKind::Summary) => event.get("summary_index").number(),
            _ => event.get("content_index").number(),
        };
        let slot = self.slot(event.get("output_index"), event.get("item_id"));
        let kept = match target {
            Some(part) => slot.parts.entry((part, index.unwrap_or_default())).or_default(),
            None => &mut slot.arguments,
        };
        if moment == "done" {
            kept.clear();
        }
        kept.push_str(&text);
        Ok(())
    }

    /// The place that an event speaks of. Without an index it is the last place if the id
    /// is the same, else a new one; ids alone cannot decide, as some proxies change them
    /// from event to event.
    fn slot(&mut self, index: Leaf<'_>, id: Leaf<'_>) -> &mut Slot {
        let id = id.item_id();
        let index = index.number().unwrap_or_else(|| match self.slots.last_key_value() {
            None => 0,
            Some((last, slot)) if slot.item_id == id && slot.done.is_none() => *last,
            Some((last, _)) => last.saturating_add(1),
        });
        let slot = self.slots.entry(index).or_default();
        slot.item_id = slot.item_id.take().or(id);
        slot
    }
}

impl Slot {
    /// Whether the kind of the item has a form that says it is not whole.
    fn can_be_partial(&self) -> bool {
        self.is_call() || matches!(self.kind.as_str(), "" | "message" | "reasoning")
    }

    fn is_call(&self) -> bool {
        matches!(self.kind.as_str(), "function_call" | "custom_tool_call")
    }

    fn into_items(self, items: &mut Vec<AnswerItem>) {
        if let Some(done) = self.done {
            items.extend(done);
            return;
        }
        let call = self.is_call() || !self.arguments.is_empty();
        for ((kind, _), text) in self.parts {
            let item_id = self.item_id.clone();
            items.push(match kind {
                PartKind::Output => AnswerItem::Text { text, item_id },
                _ => AnswerItem::Thinking { text, signature: None, item_id },
            });
        }
        if call {
            items.push(AnswerItem::ToolCall {
                call_id: self.call_id,
                item_id: self.item_id,
                name: self.name,
                arguments: self.arguments,
                complete: false,
            });
        }
    }
}

/// What a whole output item says.
fn items_of(span: Leaf<'_>) -> Result<Vec<AnswerItem>, Misread> {
    let item = span.fields()?;
    let kind = item.get("type").label().unwrap_or_default();
    let item_id = || item.get("id").item_id();
    let mut items = Vec::new();
    match kind.as_str() {
        "message" => {
            for span in item.get("content").list()? {
                let part = span.fields()?;
                let kind = part.get("type").label().unwrap_or_default();
                items.push(match part.get("text").text()? {
                    Some(text) if kind == "output_text" => {
                        AnswerItem::Text { text: text.into_owned(), item_id: item_id() }
                    }
                    _ => opaque(kind, span),
                });
            }
        }
        "function_call" => items.push(call(&item, item.get("arguments"))?),
        "custom_tool_call" => items.push(call(&item, item.get("input"))?),
        "reasoning" if item.get("encrypted_content").is_empty() => {
            for span in ["summary", "content"].iter().map(|name| item.get(name)) {
                for part in span.list()? {
                    let text = part.fields()?.get("text").text()?.ok_or(Misread::Unknown)?;
                    items.push(AnswerItem::Thinking {
                        text: text.into_owned(),
                        signature: None,
                        item_id: item_id(),
                    });
                }
            }
            if items.is_empty() {
                items.push(opaque(kind, span));
            }
        }
        _ => items.push(opaque(kind, span)),
    }
    Ok(items)
}

fn call(item: &Fields<'_>, arguments: Leaf<'_>) -> Result<AnswerItem, Misread> {
    let text = match arguments.text()? {
        Some(text) => text.into_owned(),
        None => arguments.raw().unwrap_or_default().to_owned(),
    };
    Ok(AnswerItem::ToolCall {
        call_id: item.get("call_id").label(),
        item_id: item.get("id").item_id(),
        name: item.get("name").text()?.unwrap_or_default().into_owned(),
        arguments: text,
        complete: item.get("status").raw() != Some("\"incomplete\""),
    })
}

fn opaque(kind: String, span: Leaf<'_>) -> AnswerItem {
    AnswerItem::Opaque { kind, raw: span.to_bytes() }
}

fn usage(counts: &Fields<'_>) -> Result<Usage, Misread> {
    let read = counts.get("input_tokens_details").fields_if_any()?;
    let written = counts.get("output_tokens_details").fields_if_any()?;
    Ok(Usage {
        input_tokens: counts.get("input_tokens").number(),
        output_tokens: counts.get("output_tokens").number(),
        cache_read_tokens: read.get("cached_tokens").number(),
        cache_write_tokens: None,
        reasoning_tokens: written.get("reasoning_tokens").number(),
        total_tokens: counts.get("total_tokens").number(),
    })
}
