//! Reduces answers of Anthropic's Messages.
//!
//! The content is a list of blocks. In a stream each block begins with its frame, is
//! filled by deltas and ends; in a document it comes whole, so a document is taken in as
//! blocks that begin and end at once. Of a block that never ended, text, thinking and a
//! tool call are kept as far as they came; anything else is counted.

use std::collections::BTreeMap;

use super::leaf::{Fields, Leaf};
use super::{AnswerItem, Head, Misread, Reduce, Usage};

#[derive(Default)]
pub(super) struct Messages {
    blocks: BTreeMap<u64, Block>,
    /// What the provider says it did to the context before the model saw it.
    edits: Vec<AnswerItem>,
}

struct Block {
    body: Body,
    ended: bool,
    /// Whether it ended and no event was lost since it began.
    whole: bool,
    damaged_before: u32,
}

enum Body {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Tool {
        id: Option<String>,
        name: String,
        input: String,
        json: String,
    },
    /// The frame, cut where its `input` stands so that the deltas can take its place.
    Opaque {
        kind: String,
        before: String,
        input: String,
        after: String,
        json: String,
    },
}

impl Reduce for Messages {
    fn event(&mut self, head: &mut Head, name: &str, data: &[u8]) -> Result<(), Misread> {
        let event = Fields::read(data)?;
        let kind = event.get("type").text()?;
        let index = event.get("index");
        match kind.as_deref().unwrap_or(name) {
            "ping" => Ok(()),
            "message_start" => self.message(head, &event.get("message").fields()?),
            "content_block_start" => self.begin(head, index, event.get("content_block")),
            "content_block_delta" => {
                let delta = event.get("delta").fields()?;
                self.block(index)?.fill(&delta)
            }
            "content_block_stop" => {
                let damaged = head.damaged;
                self.block(index)?.end(damaged);
                Ok(())
            }
            "message_delta" => {
                head.stop(event.get("delta").fields_if_any()?.get("stop_reason"));
                count(head, event.get("usage"))?;
                self.edits(event.get("context_management"))
            }
            "message_stop" => {
                head.terminal = true;
                self.end_all(head);
                Ok(())
            }
            "error" => {
                head.fail(event.get("error"));
                Ok(())
            }
            _ => Err(Misread::Unknown),
        }
    }

    fn document(&mut self, head: &mut Head, data: &[u8]) -> Result<(), Misread> {
        let message = Fields::read(data)?;
        let error = message.get("error");
        if !error.is_missing() {
            head.fail(error);
            return Ok(());
        }
        if message.get("content").is_missing() {
            return Err(Misread::Unknown);
        }
        self.message(head, &message)?;
        self.edits(message.get("context_management"))
    }

    fn finish(self, head: &mut Head) -> Vec<AnswerItem> {
        let mut items = Vec::new();
        for block in self.blocks.into_values() {
            match block.into_item() {
                Some(item) => items.push(item),
                None => head.skip(),
            }
        }
        items.extend(self.edits);
        items
    }
}

impl Messages {
    /// Takes in a message: the empty one that opens a stream, or a whole one.
    fn message(&mut self, head: &mut Head, message: &Fields<'_>) -> Result<(), Misread> {
        head.started = true;
        head.identify(message.get("id"), message.get("model"));
        head.stop(message.get("stop_reason"));
        count(head, message.get("usage"))?;
        for (index, span) in (0u64..).zip(message.get("content").list()?) {
            match Block::begin(head, span) {
                Ok(mut block) => {
                    block.end(head.damaged);
                    self.blocks.insert(index, block);
                }
                Err(why) => head.misread(&why),
            }
        }
        Ok(())
    }

    fn begin(&mut self, head: &mut Head, index: Leaf<'_>, span: Leaf<'_>) -> Result<(), Misread> {
        head.started = true;
        let index = index.number().ok_or(Misread::Unknown)?;
        if self.blocks.contains_key(&index) {
            return Err(Misread::Unknown);
        }
        self.blocks.insert(index, Block::begin(head, span)?);
        Ok(())
    }

    /// The block that an event speaks of, if it has begun and not ended.
    fn block(&mut self, index: Leaf<'_>) -> Result<&mut Block, Misread> {
        let block = index.number().and_then(|index| self.blocks.get_mut(&index));
        block.filter(|block| !block.ended).ok_or(Misread::Unknown)
    }

    fn end_all(&mut self, head: &Head) {
        for block in self.blocks.values_mut().filter(|block| !block.ended) {
            block.end(head.damaged);
        }
    }

    fn edits(&mut self, span: Leaf<'_>) -> Result<(), Misread> {
        if !span.fields_if_any()?.get("applied_edits").is_empty() {
            let kind = "context_management".to_owned();
            self.edits.push(AnswerItem::Opaque { kind, raw: span.to_bytes() });
        }
        Ok(())
    }
}

impl Block {
    fn begin(head: &Head, span: Leaf<'_>) -> Result<Self, Misread> {
        let frame = span.fields()?;
        let text = |name: &str| Ok::<_, Misread>(frame.get(name).text()?.unwrap_or_default());
        let kind = text("type")?.into_owned();
        let body = match kind.as_str() {
            "text" => Body::Text(text("text")?.into_owned()),
            "thinking" => Body::Thinking {
                text: text("thinking")?.into_owned(),
                signature: text("signature")?.into_owned(),
            },
            "tool_use" => Body::Tool {
                id: frame.get("id").label(),
                name: text("name")?.into_owned(),
                input: frame.get("input").raw().unwrap_or_default().to_owned(),
                json: String::new(),
            },
            _ => opaque(kind, span, frame.get("input")),
        };
        Ok(Self { body, ended: false, whole: false, damaged_before: head.damaged })
    }

    fn fill(&mut self, delta: &Fields<'_>) -> Result<(), Misread> {
        let kind = delta.get("type").text()?.unwrap_or_default();
        match (&mut self.body, &*kind) {
            (Body::Text(text), "text_delta") => push(text, delta.get("text")),
            (Body::Thinking { text, .. }, "thinking_delta") => push(text, delta.get("thinking")),
            (Body::Thinking { signature, .. }, "signature_delta") => {
                push(signature, delta.get("signature"))
            }
            (Body::Tool { json, .. } | Body::Opaque { json, .. }, "input_json_delta") => {
                push(json, delta.get("partial_json"))
            }
            _ => Err(Misread::Unknown),
        }
    }

    fn end(&mut self, damaged: u32) {
        self.ended = true;
        self.whole = damaged == self.damaged_before;
    }

    fn into_item(self) -> Option<AnswerItem> {
        let ended = self.ended;
        let pick = |json: String, input: String| if json.is_empty() { input } else { json };
        match self.body {
            Body::Text(text) => Some(AnswerItem::Text { text, item_id: None }),
            Body::Thinking { text, signature } => Some(AnswerItem::Thinking {
                text,
                signature: Some(signature).filter(|signature| !signature.is_empty()),
                item_id: None,
            }),
            Body::Tool { id, name, input, json } => Some(AnswerItem::ToolCall {
                call_id: id,
                item_id: None,
                name,
                // The `{}` of the frame is no argument text until no delta can follow.
                arguments: if ended { pick(json, input) } else { json },
                complete: self.whole,
            }),
            Body::Opaque { .. } if !self.whole => None,
            Body::Opaque { kind, before, input, after, json } => {
                let raw = [before, pick(json, input), after].concat().into_bytes();
                Some(AnswerItem::Opaque { kind, raw })
            }
        }
    }
}

/// Cuts a frame around its `input`, which is a part of it.
fn opaque(kind: String, span: Leaf<'_>, input: Leaf<'_>) -> Body {
    let frame = span.raw().unwrap_or_default();
    let input = input.raw().unwrap_or_default();
    let at = (input.as_ptr() as usize).checked_sub(frame.as_ptr() as usize);
    let cut = at.filter(|_| !input.is_empty()).and_then(|at| frame.split_at_checked(at));
    let (before, rest) = cut.unwrap_or((frame, ""));
    let (input, after) = rest.split_at_checked(input.len()).unwrap_or(("", rest));
    Body::Opaque {
        kind,
        before: before.to_owned(),
        input: input.to_owned(),
        after: after.to_owned(),
        json: String::new(),
    }
}

fn push(text: &mut String, piece: Leaf<'_>) -> Result<(), Misread> {
    text.push_str(&piece.text()?.ok_or(Misread::Unknown)?);
    Ok(())
}

fn count(head: &mut Head, usage: Leaf<'_>) -> Result<(), Misread> {
    let counts = usage.fields_if_any()?;
    head.count(Usage {
        input_tokens: counts.get("input_tokens").number(),
        output_tokens: counts.get("output_tokens").number(),
        cache_read_tokens: counts.get("cache_read_input_tokens").number(),
        cache_write_tokens: counts.get("cache_creation_input_tokens").number(),
        reasoning_tokens: None,
        total_tokens: None,
    });
    Ok(())
}
