//! Records an answer: its bytes, what it says, and the calls that it asks for.

use artifacts::redact::Redacted;

use super::headers::Direction;
use super::link::{ItemFacts, ItemRef};
use super::parts::RawKey;
use super::{RecordError, Recorder};
use crate::content::Content;
use crate::event::{self, Answered, Event, ItemKind, ToolCalled};
use crate::id::RequestId;
use crate::wire::Dialect;
use crate::wire::answer::{self as wire_answer, AnswerItem, End};
use crate::wire::template::string_members;

/// Items of one answer that are recorded; a real one has a dozen. What goes beyond is still in
/// the answer's bytes.
const ITEMS_MAX: usize = u16::MAX as usize;
/// What the items of one answer may add up to, as they are told in one event.
const ITEMS_BYTES_MAX: usize = 2 << 20;
/// What an item adds beside its texts.
const ITEM_BYTES: usize = 64;

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
        let answer = wire_answer::reduce(dialect, reply.mime, body);
        let cut = reply.cut || answer.end == End::Cut;
        let (items, facts, clean) = self.answer_items(&answer.items)?;
        let left_out = u32::try_from(answer.items.len() - items.len()).unwrap_or(u32::MAX);
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
            unparsed_events: answer.unparsed_events.saturating_add(left_out),
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
    fn answer_items(
        &mut self,
        items: &[AnswerItem],
    ) -> Result<(Vec<event::AnswerItem>, Vec<ItemFacts>, bool), RecordError> {
        let mut told = Vec::new();
        let mut facts = Vec::new();
        let mut clean = true;
        let mut told_bytes = 0;
        for item in items {
            let view = ItemView::of(item);
            let redacted = self.redact_item(&view);
            let name = self.redactor.redact(view.name.unwrap_or_default().as_bytes());
            clean &= redacted.as_bytes() == view.text && !name.is_changed();
            told_bytes += view.told_bytes(self.writer.inline_bytes_max());
            if told.len() == ITEMS_MAX || told_bytes > ITEMS_BYTES_MAX {
                continue;
            }
            told.push(event::AnswerItem {
                kind: view.kind,
                complete: view.complete,
                text: self.writer.content(&redacted)?,
                item_id: self.optional(view.item_id)?,
                call_id: self.optional(view.call_id)?,
                name: self.optional(view.name)?,
            });
            facts.push(ItemFacts {
                kind: view.kind,
                text: RawKey::of(redacted.as_bytes()),
                item_id: view.item_id.map(|id| id.as_bytes().to_vec()),
                call_id: view.call_id.map(|id| id.as_bytes().to_vec()),
                name: name.as_bytes().to_vec(),
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
            let call = self.desk.next_call();
            if call.number() == u32::MAX {
                return Err(RecordError::TooMany { what: "tool calls" });
            }
            self.append(&Event::ToolCalled(ToolCalled { call, request, item }))?;
            let at = ItemRef { request, item };
            self.links.add_call(call, session, at, fact.call_id.as_deref());
            fact.call = Some(call);
        }
        Ok(facts)
    }

    /// The body, unless what it says holds a secret: the pieces of a stream could still hold it
    /// when they are put together, and the body is kept back.
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
        Ok((Some(self.writer.content(&redacted)?), false))
    }

    fn redact_item(&self, item: &ItemView<'_>) -> Redacted<'static> {
        if item.json {
            self.redact_json(item.text)
        } else {
            self.redactor.redact(item.text).into_owned()
        }
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
    /// What the item adds to an event at most; texts above `inline_bytes_max` are stored apart.
    fn told_bytes(&self, inline_bytes_max: usize) -> usize {
        let names = [self.item_id, self.call_id, self.name];
        let names = names.into_iter().flatten().map(str::as_bytes);
        let texts = names.chain([self.text]).map(|text| text.len().min(inline_bytes_max));
        ITEM_BYTES + texts.sum::<usize>()
    }

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
                item_id: opaque_id(raw),
                name: Some(kind),
                ..blank
            },
        }
    }
}

/// The id of an item that is passed through, by which the client may name it later.
fn opaque_id(raw: &[u8]) -> Option<&str> {
    let [id] = string_members(raw, [b"\"id\""]);
    std::str::from_utf8(id?).ok().filter(|id| !id.contains('\\'))
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
