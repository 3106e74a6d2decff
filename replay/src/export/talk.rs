//! Messages, answers, calls and results of a recording in one form, whatever their dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use artifacts::{GetError, Source};
use ledger::content::Content;
use ledger::event::{HoleValue, ItemKind};
use ledger::history::{History, ListWalker, Request};
use ledger::id::{PartNo, RequestId, ToolCallId};
use ledger::wire::{Dialect, PartKind, Role, SlotKind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ExportError;
use crate::assemble::{AssembleError, Assembler};

/// A call as a message or an answer shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    /// A JSON text, as the model gave it.
    pub(super) arguments: String,
    /// Which call of the run it is, where an answer asks for it.
    pub(super) call: Option<ToolCallId>,
}

/// A result as a message shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) id: String,
    pub(super) texts: Vec<String>,
    /// The call that it is the output of, where that is on record.
    pub(super) call: Option<ToolCallId>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    Call(Called),
    Result(Returned),
    /// Media, signatures, encrypted content: no text.
    Other,
}

/// A message of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) pieces: Vec<Piece>,
}

impl Message {
    /// Its texts, one after the other.
    pub(super) fn texts(&self) -> Vec<&str> {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// What stands beside the messages of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) system: Option<String>,
    /// Definitions of tools, in the provider's form.
    pub(super) tools: Vec<Box<RawValue>>,
}

/// Reads a recording message by message.
pub(super) struct Talk<'h> {
    history: &'h History,
    source: &'h dyn Source,
    assembler: Assembler<'h>,
    lists: ListWalker<'h>,
    messages: BTreeMap<PartNo, Arc<Message>>,
}

impl<'h> Talk<'h> {
    pub(super) fn new(history: &'h History, source: &'h dyn Source) -> Self {
        Self {
            history,
            source,
            assembler: Assembler::new(history, source),
            lists: ListWalker::new(history),
            messages: BTreeMap::new(),
        }
    }

    pub(super) fn text(&self, content: &Content) -> Result<String, GetError> {
        Ok(String::from_utf8_lossy(&content.read(self.source)?).into_owned())
    }

    /// The messages of a request's list, in order.
    pub(super) fn messages(
        &mut self,
        request: RequestId,
    ) -> Result<Vec<Arc<Message>>, ExportError> {
        let bad = AssembleError::List { ordinal: request.ordinal() };
        let items = self.lists.lists(request).map_err(|_base| bad)?.items.clone();
        items.into_iter().map(|part| Ok(self.message(part)?)).collect()
    }

    /// One message.
    pub(super) fn message(&mut self, number: PartNo) -> Result<Arc<Message>, GetError> {
        if let Some(message) = self.messages.get(&number) {
            return Ok(Arc::clone(message));
        }
        let message = Arc::new(self.read(number)?);
        self.messages.insert(number, Arc::clone(&message));
        Ok(message)
    }

    fn read(&self, number: PartNo) -> Result<Message, GetError> {
        let part = self.history.part(number);
        let skeleton = self.history.skeleton(part);
        let mut pieces = Vec::new();
        let (mut calls, mut results) = (BTreeMap::new(), BTreeMap::new());
        for (slot, hole) in skeleton.slots.iter().zip(&part.holes) {
            let text = self.text(self.history.text(hole))?;
            match slot.kind {
                SlotKind::SYSTEM_TEXT | SlotKind::USER_TEXT | SlotKind::ASSISTANT_TEXT => {
                    pieces.push(Piece::Text(text));
                }
                SlotKind::THINKING => pieces.push(Piece::Thinking(text)),
                SlotKind::CALL_ID | SlotKind::TOOL_NAME | SlotKind::ARGUMENTS => {
                    let at = *calls.entry(slot.group).or_insert_with(|| {
                        pieces.push(Piece::Call(Called::default()));
                        pieces.len() - 1
                    });
                    let Some(Piece::Call(call)) = pieces.get_mut(at) else { continue };
                    match slot.kind {
                        SlotKind::CALL_ID => call.id = text,
                        SlotKind::TOOL_NAME => call.name = text,
                        _ => call.arguments = text,
                    }
                }
                SlotKind::RESULT_CALL_ID | SlotKind::TOOL_OUTPUT => {
                    let at = *results.entry(slot.group).or_insert_with(|| {
                        pieces.push(Piece::Result(Returned::default()));
                        pieces.len() - 1
                    });
                    let Some(Piece::Result(result)) = pieces.get_mut(at) else { continue };
                    if slot.kind == SlotKind::RESULT_CALL_ID {
                        result.id = text;
                    } else {
                        result.texts.push(text);
                    }
                    if let HoleValue::Output { call, .. } = hole.value {
                        result.call = Some(call);
                    }
                }
                SlotKind::MEDIA | SlotKind::OPAQUE | SlotKind::OTHER => pieces.push(Piece::Other),
                _ => {}
            }
        }
        Ok(Message { role: skeleton.role, pieces })
    }

    /// What an answer says.
    pub(super) fn answer(&self, request: &Request) -> Result<Vec<Piece>, GetError> {
        let items = request.answer.iter().flat_map(|(_, answer)| answer.items.iter());
        let own = |content: &Option<Content>| match content {
            Some(content) => self.text(content),
            None => Ok(String::new()),
        };
        let id = request.captured.request;
        let mut pieces = Vec::new();
        for (number, item) in (0_u16..).zip(items) {
            let text = self.text(&item.text)?;
            pieces.push(match item.kind {
                ItemKind::Text => Piece::Text(text),
                ItemKind::Thinking => Piece::Thinking(text),
                ItemKind::ToolCall => Piece::Call(Called {
                    id: own(&item.call_id)?,
                    name: own(&item.name)?,
                    arguments: text,
                    call: self.history.call_of(id, number),
                }),
                ItemKind::Opaque => Piece::Other,
            });
        }
        Ok(pieces)
    }

    /// What stands beside the messages.
    pub(super) fn frame(&mut self, request: &Request) -> Result<Frame, ExportError> {
        let id = request.captured.request;
        let bad = AssembleError::List { ordinal: id.ordinal() };
        let lists = self.lists.lists(id).map_err(|_base| bad)?;
        let parts: Vec<PartNo> = lists.head.iter().chain(&lists.tail).copied().collect();
        let mut frame = Frame::default();
        for part in parts {
            let kind = self.history.skeleton(self.history.part(part)).kind;
            if !matches!(kind, PartKind::System | PartKind::Tools) {
                continue;
            }
            let member = [b"{".as_slice(), &self.assembler.part(part)?, b"}"].concat();
            let members: BTreeMap<String, Box<RawValue>> =
                serde_json::from_slice(&member).unwrap_or_default();
            for value in members.into_values() {
                if kind == PartKind::System {
                    let value = serde_json::from_str(value.get()).unwrap_or_default();
                    frame.system = Some(texts(&value));
                } else {
                    frame.tools = serde_json::from_str(value.get()).unwrap_or_default();
                }
            }
        }
        Ok(frame)
    }
}

/// The texts of a system prompt: a text, or blocks or parts with texts.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let inner = members.get("text").or_else(|| members.get("parts"));
            inner.map(texts).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Token counts with what was cached in the input, which one provider counts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

/// The token counts of an answer.
pub(super) fn counts(request: &Request) -> Option<Counts> {
    let usage = request.answer.as_ref()?.1.usage?;
    let cached = usage.cache_read_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
    let apart = request.dialect == Dialect::AnthropicMessages;
    let input = usage.input_tokens.map(|it| if apart { it.saturating_add(cached) } else { it });
    Some(Counts {
        input,
        output: usage.output_tokens,
        cache_read: usage.cache_read_tokens,
        cache_write: usage.cache_write_tokens,
        reasoning: usage.reasoning_tokens,
    })
}

/// The client that a `user-agent` names, and its version.
pub(super) fn client(user_agent: Option<&str>) -> (String, String) {
    let unknown = || "unknown".to_owned();
    let product = user_agent.and_then(|it| it.split_ascii_whitespace().next()).unwrap_or_default();
    let (name, version) = product.split_once('/').unwrap_or((product, ""));
    let or_unknown = |text: &str| if text.is_empty() { unknown() } else { text.to_owned() };
    (or_unknown(name), or_unknown(version))
}
