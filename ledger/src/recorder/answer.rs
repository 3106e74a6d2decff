//! Records an answer: its bytes, what it says, and the calls that it asks for.

use super::headers::Direction;
use super::link::{ItemFacts, ItemRef};
use super::parts::{RawKey, put};
use super::{RecordError, Recorder};
use crate::content::Content;
use crate::event::{self, Answered, Event, ItemKind, ToolCalled};
use crate::id::RequestId;
use crate::wire::answer::{self as wire_answer, AnswerItem, End};
use crate::wire::Dialect;

/// Items of one answer that are recorded; a real one has a dozen. What goes beyond is still in
/// the answer's bytes.
const ITEMS_MAX: usize = u16::MAX as usize;

/// What came back for a request.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    /// HTTP status; 0 when there was no answer.
    pub status: u16,
    /// Header fields in order.
    pub headers: &'a [(String, Vec<u8>)],
    /// Media type of the body.
    pub mime: &'a str,
    /// The body, content coding undone.
    pub body: Option<&'a [u8]>,
    /// How long the exchange took, microseconds.
    pub time_us: Option<u64>,
    /// The connection broke before the answer's end.
    pub cut: bool,
}

impl Recorder {
    /// Records the answer to a request.
    ///
    /// # Errors
    /// The fact cannot be written, or the request is not known.
    pub fn answered(
        &mut self,
        request: RequestId,
        dialect: Dialect,
        reply: &Reply<'_>,
    ) -> Result<(), RecordError> {
        let session = self.session_of(request)?;
        let ok = (200..300).contains(&reply.status);
        let body = reply.body.unwrap_or_default();
        let mut answer = wire_answer::reduce(dialect, reply.mime, body);
        answer.items.truncate(ITEMS_MAX);
        let cut = reply.cut || answer.end == End::Cut;
        let (items, facts, clean) = self.answer_items(&answer.items)?;
        let (body, body_withheld) = self.answer_body(reply.body, clean)?;
        let told = Answered {
            request,
            status: reply.status,
            time_us: reply.time_us,
            headers: self.headers(request, Direction::Answer, reply.headers)?,
            body,
            body_withheld,
            items,
            usage: answer.usage.map(usage),
            stop: self.optional(answer.stop.as_deref())?,
            answer_id: self.optional(answer.provider_id.as_deref())?,
            unparsed_events: answer.unparsed_events,
        };
        let complete = ok && !cut && answer.end == End::Terminal;
        self.append(&if complete {
            Event::ResponseReceived(told)
        } else if ok {
            Event::ResponseAborted(told)
        } else {
            Event::ResponseFailed(told)
        })?;
        let facts = self.calls(request, facts)?;
        self.links.add_answer(session, request, facts);
        if complete {
            self.session(session)?.unanswered = false;
        }
        Ok(())
    }

    /// The items in our words, what links need of them, and whether all of them were clean.
    #[expect(clippy::type_complexity, reason = "three results of one pass, used once")]
    fn answer_items(
        &mut self,
        items: &[AnswerItem],
    ) -> Result<(Vec<event::AnswerItem>, Vec<ItemFacts>, bool), RecordError> {
        let mut told = Vec::with_capacity(items.len());
        let mut facts = Vec::with_capacity(items.len());
        let mut clean = true;
        for item in items {
            let view = ItemView::of(item);
            let redacted = if view.json {
                self.redact_json(view.text)
            } else {
                self.redactor.redact(view.text).into_owned()
            };
            clean &= redacted.as_bytes() == view.text;
            told.push(event::AnswerItem {
                kind: view.kind,
                complete: view.complete,
                text: put(&mut self.store, &redacted)?,
                item_id: self.optional(view.item_id)?,
                call_id: self.optional(view.call_id)?,
                name: self.optional(view.name)?,
            });
            let name = view.name.unwrap_or_default().as_bytes();
            facts.push(ItemFacts {
                kind: view.kind,
                text: RawKey::of(redacted.as_bytes()),
                item_id: view.item_id.map(|id| id.as_bytes().to_vec()),
                call_id: view.call_id.map(|id| id.as_bytes().to_vec()),
                name: self.redactor.redact(name).as_bytes().to_vec(),
                call: None,
            });
        }
        Ok((told, facts, clean))
    }

    /// Mints ids for the calls of an answer.
    fn calls(
        &mut self,
        request: RequestId,
        mut facts: Vec<ItemFacts>,
    ) -> Result<Vec<ItemFacts>, RecordError> {
        let session = self.session_of(request)?;
        for (item, fact) in facts.iter_mut().enumerate() {
            if fact.kind != ItemKind::ToolCall {
                continue;
            }
            let item = u16::try_from(item).expect("items were cut to ITEMS_MAX");
            let call =
                self.links.next_call().ok_or(RecordError::TooMany { what: "tool calls" })?;
            self.append(&Event::ToolCalled(ToolCalled { call, request, item }))?;
            let at = ItemRef { request, item };
            self.links.add_call(session, at, fact.call_id.as_deref());
            fact.call = Some(call);
        }
        Ok(facts)
    }

    /// The body, unless a secret shows only when its pieces are put together: then the pieces
    /// would still hold it, and the body is kept back.
    fn answer_body(
        &mut self,
        body: Option<&[u8]>,
        clean: bool,
    ) -> Result<(Option<Content>, bool), RecordError> {
        let Some(body) = body.filter(|body| !body.is_empty()) else { return Ok((None, false)) };
        if !clean {
            return Ok((None, true));
        }
        let redacted = self.redact_json(body);
        Ok((Some(put(&mut self.store, &redacted)?), false))
    }

    fn optional(&mut self, text: Option<&str>) -> Result<Option<Content>, RecordError> {
        text.map(|text| self.content(text.as_bytes())).transpose()
    }
}

/// The fields of an item that are recorded, whatever its kind.
struct ItemView<'a> {
    kind: ItemKind,
    complete: bool,
    /// The text is itself JSON.
    json: bool,
    text: &'a [u8],
    item_id: Option<&'a str>,
    call_id: Option<&'a str>,
    name: Option<&'a str>,
}

impl<'a> ItemView<'a> {
    fn of(item: &'a AnswerItem) -> Self {
        let blank = Self {
            kind: ItemKind::Text,
            complete: true,
            json: false,
            text: &[],
            item_id: None,
            call_id: None,
            name: None,
        };
        match item {
            AnswerItem::Text { text, item_id } => {
                Self { text: text.as_bytes(), item_id: item_id.as_deref(), ..blank }
            }
            AnswerItem::Thinking { text, item_id, .. } => Self {
                kind: ItemKind::Thinking,
                text: text.as_bytes(),
                item_id: item_id.as_deref(),
                ..blank
            },
            AnswerItem::ToolCall { call_id, item_id, name, arguments, complete } => Self {
                kind: ItemKind::ToolCall,
                complete: *complete,
                json: true,
                text: arguments.as_bytes(),
                item_id: item_id.as_deref(),
                call_id: call_id.as_deref(),
                name: Some(name),
            },
            AnswerItem::Opaque { kind, raw } => Self {
                kind: ItemKind::Opaque,
                json: true,
                text: raw,
                name: Some(kind),
                ..blank
            },
        }
    }
}

fn usage(usage: wire_answer::Usage) -> event::Usage {
    event::Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        total_tokens: usage.total_tokens,
    }
}
