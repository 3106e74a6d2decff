//! Builds small runs by hand: the events of a history, and beside them the plain texts from which
//! every body can be put together without looking at the history.

mod store;

use ledger::content::Content;
use ledger::event::{
    Added, AnswerItem, Answered, Cause, ContextEdited, Dropped, Event, Headers, Hole, HoleValue,
    ItemKind, MessageAdded, Origin, OutputFound, Overlay, PartDef, PartUse, RequestCaptured,
    Returned, RunOpened, Rung, SessionBasis, SessionOpened, Skeleton, SkeletonUse, SlotDef, Splice,
    Splices, TextMeasure, ToolCalled, ToolReturned, Transfer, Unsplit,
};
use ledger::history::{Builder, History};
use ledger::id::{PartNo, RequestId, RunId, SessionId, SkeletonNo, ToolCallId};
use ledger::wire::{Dialect, Escape, PartKind, Role, SlotKind};

use store::{Store, inline};

/// Own texts of this many bytes and more are stored, shorter ones ride in their event.
const STORED_BYTES_MIN: usize = 12;
/// Every so many requests of a conversation the lists are told in full.
const FULL_LIST_EVERY: usize = 3;
const SEPARATOR: &str = ", ";

/// A stretch of a message.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Bytes around the slots.
    Literal(String),
    /// A text in its place.
    Slot(Slot),
}

/// A text in its place.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: SlotKind,
    pub(crate) group: u16,
    pub(crate) escape: Escape,
    pub(crate) text: String,
    value: HoleValue,
}

/// A part as plain texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) pieces: Vec<Piece>,
    /// For each result: its group, its call, and whether it is the output on record for it.
    pub(crate) results: Vec<(u16, Option<usize>, bool)>,
    pub(crate) calls: Vec<usize>,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The provider's id.
    id: String,
    pub(crate) tool: String,
    pub(crate) dropped: Dropped,
    returned: bool,
    request: RequestId,
    item: u16,
    session: usize,
}

/// A request as plain lists.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) session: usize,
    pub(crate) head: Vec<usize>,
    pub(crate) items: Vec<usize>,
    pub(crate) tail: Vec<usize>,
    /// Item, and offset in its literal.
    pub(crate) marks: Vec<(usize, usize)>,
    pub(crate) edited: bool,
    pub(crate) unsplit: bool,
}

/// All that a run says, as plain texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) parts: Vec<Part>,
    pub(crate) calls: Vec<Call>,
    pub(crate) requests: Vec<Request>,
}

impl Model {
    pub(crate) fn separator() -> &'static [u8] {
        SEPARATOR.as_bytes()
    }

    /// Length of a part's literal.
    pub(crate) fn literal_bytes(&self, part: usize) -> usize {
        let literal = |piece: &Piece| match piece {
            Piece::Literal(text) => text.len(),
            Piece::Slot(_) => 0,
        };
        self.parts[part].pieces.iter().map(literal).sum()
    }
}

/// A block of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Block<'b> {
    Reasoning(&'b str),
    Text(&'b str),
    /// A call of this tool.
    Call(&'b str),
    /// A call by its id, its tool and its arguments.
    CallAs(&'b str, &'b str, &'b str),
}

/// A history, its artifacts, and what they must say.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) history: History,
    pub(crate) store: Store,
    pub(crate) model: Model,
}

#[derive(Debug, Default)]
struct Conversation {
    items: Vec<usize>,
    last: Option<(RequestId, Vec<usize>)>,
    unanswered: bool,
    edited: bool,
    requests: usize,
}

/// The lists of a request; parts around the messages with what defines or names them.
struct Lists {
    head: Option<(usize, PartUse)>,
    items: Vec<usize>,
    tail: Option<(usize, PartUse)>,
}

/// A run while it is written.
#[derive(Debug)]
pub(crate) struct Run {
    builder: Builder,
    seq: u64,
    store: Store,
    model: Model,
    sessions: Vec<Conversation>,
    skeletons: Vec<Skeleton>,
    escape: Escape,
    frame: Option<(usize, usize)>,
}

impl Run {
    pub(crate) fn new() -> Self {
        let mut run = Self {
            builder: Builder::new(),
            seq: 0,
            store: Store::default(),
            model: Model::default(),
            sessions: Vec::new(),
            skeletons: Vec::new(),
            escape: Escape::JSON,
            frame: None,
        };
        run.push(Event::RunOpened(RunOpened {
            run: RunId::from_bytes([7; 16]),
            origin: Origin::Api,
            source: None,
            recorder: "test".into(),
            ruleset: ("none".into(), 1, [0; 32]),
            opened_unix_ns: 0,
        }));
        run
    }

    pub(crate) fn finish(self) -> Made {
        Made { history: self.builder.finish().unwrap(), store: self.store, model: self.model }
    }

    fn push(&mut self, event: Event) {
        self.builder.push(self.seq, event).unwrap();
        self.seq += 1;
    }

    /// How the texts of the parts to come are escaped.
    pub(crate) fn escape(&mut self, escape: Escape) {
        self.escape = escape;
    }

    pub(crate) fn session(&mut self) -> usize {
        let session = self.sessions.len();
        self.sessions.push(Conversation::default());
        self.push(Event::SessionOpened(SessionOpened {
            session: SessionId::new(narrow(session)),
            parent: None,
            basis: SessionBasis::Content,
            client_session: None,
            aliases: Vec::new(),
        }));
        session
    }

    pub(crate) fn items(&self, session: usize) -> &[usize] {
        &self.sessions[session].items
    }

    pub(crate) fn literal_bytes(&self, part: usize) -> usize {
        self.model.literal_bytes(part)
    }

    /// True when a request of the conversation waits for its answer.
    pub(crate) fn is_unanswered(&self, session: usize) -> bool {
        self.sessions[session].unanswered
    }

    /// Calls of the conversation that have not returned.
    pub(crate) fn open_calls(&self, session: usize) -> Vec<usize> {
        let open = |call: &usize| {
            let call = &self.model.calls[*call];
            call.session == session && !call.returned
        };
        (0..self.model.calls.len()).filter(open).collect()
    }

    fn own(&mut self, text: &str) -> HoleValue {
        HoleValue::Own(self.content(text))
    }

    fn content(&mut self, text: &str) -> Content {
        if text.len() < STORED_BYTES_MIN {
            inline(text.as_bytes())
        } else {
            self.store.stored(text.as_bytes())
        }
    }

    fn slot(&self, kind: SlotKind, group: usize, text: &str, value: HoleValue) -> Piece {
        let (group, text) = (u16::try_from(group).unwrap(), text.to_owned());
        Piece::Slot(Slot { kind, group, escape: self.escape, text, value })
    }

    /// Numbers a part and gives its definition.
    fn define(&mut self, part: Part, kind: PartKind, role: Role) -> (usize, PartUse) {
        let (mut literal, mut slots, mut holes) = (String::new(), Vec::new(), Vec::new());
        for piece in &part.pieces {
            match piece {
                Piece::Literal(text) => literal += text,
                Piece::Slot(Slot { kind, group, escape, text, value }) => {
                    let offset = narrow(literal.len());
                    slots.push(SlotDef { offset, kind: *kind, group: *group });
                    let mut escaped = Vec::new();
                    escape.escape_into(text, &mut escaped);
                    let (escape, escaped_bytes) = (*escape, escaped.len() as u64);
                    holes.push(Hole { escape, escaped_bytes, value: value.clone() });
                }
            }
        }
        let literal = self.content(&literal);
        let skeleton = Skeleton { part_kind: kind.tag(), role: role.tag(), literal, slots };
        let known = self.skeletons.iter().position(|known| *known == skeleton);
        let skeleton = if let Some(known) = known {
            SkeletonUse::Known(SkeletonNo::new(narrow(known)))
        } else {
            self.skeletons.push(skeleton.clone());
            SkeletonUse::New(skeleton)
        };
        self.model.parts.push(part);
        let number = self.model.parts.len() - 1;
        (number, PartUse::New(PartDef { digest: [0; 32], skeleton, holes }))
    }

    /// Appends a message that is new.
    fn add(&mut self, session: usize, part: Part, role: Role) -> usize {
        let (number, part) = self.define(part, PartKind::Item, role);
        self.append(session, number, part);
        number
    }

    fn append(&mut self, session: usize, number: usize, part: PartUse) {
        self.sessions[session].items.push(number);
        let added = vec![Added { part, cause: Cause::UserInput }];
        let session = SessionId::new(narrow(session));
        self.push(Event::MessageAdded(MessageAdded { session, added }));
    }

    /// A user message.
    pub(crate) fn say(&mut self, session: usize, text: &str) -> usize {
        let value = self.own(text);
        let slot = self.slot(SlotKind::USER_TEXT, 0, text, value);
        let pieces = vec![literal("{\"role\":\"user\",\"content\":\""), slot, literal("\"}")];
        self.add(session, Part { pieces, ..Part::default() }, Role::User)
    }

    /// A message of a text.
    pub(crate) fn speak(&mut self, session: usize, role: Role, text: &str) -> usize {
        let (word, kind) = match role {
            Role::System => ("system", SlotKind::SYSTEM_TEXT),
            Role::Assistant => ("assistant", SlotKind::ASSISTANT_TEXT),
            _ => ("user", SlotKind::USER_TEXT),
        };
        let value = self.own(text);
        let slot = self.slot(kind, 0, text, value);
        let begin = literal(&format!("{{\"role\":\"{word}\",\"content\":\""));
        let pieces = vec![begin, slot, literal("\"}")];
        self.add(session, Part { pieces, ..Part::default() }, role)
    }

    /// The whole output of a call, beside what was sent.
    pub(crate) fn found(&mut self, call: usize, text: &str) {
        let piece = Returned { text: self.content(text), measure: TextMeasure::of(text) };
        self.push(Event::OutputFound(OutputFound {
            call: ToolCallId::new(narrow(call)),
            index: 0,
            source: "transcript".into(),
            record: 0,
            pieces: vec![piece],
            dropped: Dropped::Bytes(0),
            redactions: 0,
        }));
    }

    /// The answer to the conversation's last request calls tools; the message says so.
    pub(crate) fn ask(&mut self, session: usize, tools: &[&str]) -> Vec<usize> {
        let request = self.sessions[session].last.clone().unwrap().0;
        self.sessions[session].unanswered = false;
        let item = |kind, text: String| AnswerItem {
            kind,
            complete: true,
            text: inline(text.as_bytes()),
            item_id: None,
            call_id: None,
            name: None,
        };
        let mut items = vec![item(ItemKind::Text, "I call.".into())];
        let mut pieces = vec![literal("{\"role\":\"assistant\",\"content\":[{\"text\":\"")];
        let value = HoleValue::AnswerText { request, item: 0 };
        pieces.push(self.slot(SlotKind::ASSISTANT_TEXT, 0, "I call.", value));
        let mut calls = Vec::new();
        for (nth, tool) in tools.iter().enumerate() {
            let call = self.model.calls.len();
            let (id, arguments) = (format!("call_{call}"), format!("{{\"n\": \"{call}\"}}"));
            let number = u16::try_from(nth + 1).unwrap();
            items.push(AnswerItem {
                call_id: Some(inline(id.as_bytes())),
                name: Some(inline(tool.as_bytes())),
                ..item(ItemKind::ToolCall, arguments.clone())
            });
            pieces.push(literal("\"},{\"id\":\""));
            let value = HoleValue::AnswerCallId { request, item: number };
            pieces.push(self.slot(SlotKind::CALL_ID, nth + 1, &id, value));
            pieces.push(literal("\",\"name\":\""));
            let value = HoleValue::AnswerToolName { request, item: number };
            pieces.push(self.slot(SlotKind::TOOL_NAME, nth + 1, tool, value));
            pieces.push(literal("\",\"input\":\""));
            let value = HoleValue::AnswerText { request, item: number };
            pieces.push(self.slot(SlotKind::ARGUMENTS, nth + 1, &arguments, value));
            let (tool, dropped) = ((*tool).to_owned(), Dropped::Unknown);
            let call = Call { id, tool, dropped, returned: false, request, item: number, session };
            calls.push(self.model.calls.len());
            self.model.calls.push(call);
        }
        pieces.push(literal("\"}]}"));
        self.push(Event::ResponseReceived(answered(request, items)));
        for call in &calls {
            let Call { request, item, .. } = self.model.calls[*call];
            let call = ToolCallId::new(narrow(*call));
            self.push(Event::ToolCalled(ToolCalled { call, request, item }));
        }
        self.add(
            session,
            Part { pieces, calls: calls.clone(), ..Part::default() },
            Role::Assistant,
        );
        calls
    }

    /// The answer to the conversation's last request, and the message that repeats it.
    pub(crate) fn answer(&mut self, session: usize, blocks: &[Block<'_>]) -> Vec<usize> {
        let request = self.sessions[session].last.clone().unwrap().0;
        self.sessions[session].unanswered = false;
        let (mut items, mut pieces, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for (group, block) in blocks.iter().enumerate() {
            let begin = if group == 0 { "{\"role\":\"assistant\",\"content\":[" } else { "," };
            pieces.push(literal(begin));
            let item = u16::try_from(items.len()).unwrap();
            let said = |kind, text: &str| AnswerItem {
                kind,
                complete: true,
                text: inline(text.as_bytes()),
                item_id: None,
                call_id: None,
                name: None,
            };
            match block {
                Block::Reasoning(text) => {
                    let value = self.own(text);
                    pieces.push(literal("{\"thinking\":\""));
                    pieces.push(self.slot(SlotKind::THINKING, group, text, value));
                }
                Block::Text(text) => {
                    items.push(said(ItemKind::Text, text));
                    let value = HoleValue::AnswerText { request, item };
                    pieces.push(literal("{\"text\":\""));
                    pieces.push(self.slot(SlotKind::ASSISTANT_TEXT, group, text, value));
                }
                Block::Call(_) | Block::CallAs(..) => {
                    let call = self.model.calls.len() + calls.len();
                    let (id, tool, arguments) = match block {
                        Block::CallAs(id, tool, arguments) => ((*id).to_owned(), *tool, *arguments),
                        Block::Call(tool) => (format!("call_{call}"), *tool, "{}"),
                        _ => unreachable!(),
                    };
                    items.push(AnswerItem {
                        call_id: Some(inline(id.as_bytes())),
                        name: Some(inline(tool.as_bytes())),
                        ..said(ItemKind::ToolCall, arguments)
                    });
                    pieces.push(literal("{\"id\":\""));
                    let value = HoleValue::AnswerCallId { request, item };
                    pieces.push(self.slot(SlotKind::CALL_ID, group, &id, value));
                    pieces.push(literal("\",\"input\":\""));
                    let value = HoleValue::AnswerText { request, item };
                    pieces.push(self.slot(SlotKind::ARGUMENTS, group, arguments, value));
                    calls.push((id, tool.to_owned(), item));
                }
            }
            pieces.push(literal("\"}"));
        }
        pieces.push(literal("]}"));
        self.push(Event::ResponseReceived(answered(request, items)));
        let mut numbers = Vec::new();
        for (id, tool, item) in calls {
            let call = ToolCallId::new(narrow(self.model.calls.len()));
            self.push(Event::ToolCalled(ToolCalled { call, request, item }));
            numbers.push(self.model.calls.len());
            let dropped = Dropped::Unknown;
            let call = Call { id, tool, dropped, returned: false, request, item, session };
            self.model.calls.push(call);
        }
        let part = Part { pieces, calls: numbers.clone(), ..Part::default() };
        self.add(session, part, Role::Assistant);
        numbers
    }

    /// Calls return, and one message carries their results.
    pub(crate) fn tell(
        &mut self,
        session: usize,
        results: &[(usize, &[&str])],
        dropped: Dropped,
    ) -> usize {
        let mut part = Part::default();
        for (group, (call, texts)) in results.iter().enumerate() {
            let output = texts.iter().map(|text| Returned {
                text: self.store.stored(text.as_bytes()),
                measure: TextMeasure::of(text),
            });
            let output = output.collect();
            let id = ToolCallId::new(narrow(*call));
            let returned = ToolReturned { call: id, output, dropped, redactions: 0 };
            self.push(Event::ToolReturned(returned));
            self.model.calls[*call].dropped = dropped;
            self.model.calls[*call].returned = true;
            let value = |index| HoleValue::Output { call: id, index };
            let texts: Vec<_> = (0..).map(value).zip(texts.iter().copied()).collect();
            self.result(&mut part, group, Some(*call), &texts);
            part.results.push((u16::try_from(group).unwrap(), Some(*call), true));
        }
        part.pieces.push(literal("]}"));
        self.add(session, part, Role::User)
    }

    /// A result that is not the output on record: of a call that returned before, or of none.
    pub(crate) fn tell_again(&mut self, session: usize, call: Option<usize>, text: &str) -> usize {
        let mut part = Part::default();
        let texts = [(self.own(text), text)];
        self.result(&mut part, 0, call, &texts);
        part.results.push((0, call, false));
        part.pieces.push(literal("]}"));
        self.add(session, part, Role::User)
    }

    /// A message of results, each by the id that it names: of a call, whose first result is the
    /// output on record, or of none.
    pub(crate) fn tell_as(&mut self, session: usize, results: &[(&str, &str)]) -> usize {
        let mut part = Part::default();
        for (group, (id, text)) in results.iter().enumerate() {
            let call =
                self.model.calls.iter().rposition(|it| it.session == session && it.id == *id);
            let fresh = call.filter(|call| !self.model.calls[*call].returned);
            let value = match fresh {
                Some(call) => {
                    let number = ToolCallId::new(narrow(call));
                    let measure = TextMeasure::of(text);
                    let text = self.store.stored(text.as_bytes());
                    let output = vec![Returned { text, measure }];
                    let dropped = Dropped::Bytes(0);
                    let returned = ToolReturned { call: number, output, dropped, redactions: 0 };
                    self.push(Event::ToolReturned(returned));
                    self.model.calls[call].returned = true;
                    self.model.calls[call].dropped = dropped;
                    HoleValue::Output { call: number, index: 0 }
                }
                None => self.own(text),
            };
            match call {
                Some(_) => self.result(&mut part, group, call, &[(value, text)]),
                None => self.stray(&mut part, group, id, (value, text)),
            }
            part.results.push((u16::try_from(group).unwrap(), call, fresh.is_some()));
        }
        part.pieces.push(literal("]}"));
        self.add(session, part, Role::User)
    }

    /// A result of a call that is not on record.
    fn stray(&mut self, part: &mut Part, group: usize, id: &str, output: (HoleValue, &str)) {
        let value = self.own(id);
        self.result_of(part, group, (id.to_owned(), value), &[output]);
    }

    fn result(
        &mut self,
        part: &mut Part,
        group: usize,
        call: Option<usize>,
        texts: &[(HoleValue, &str)],
    ) {
        let named = match call {
            Some(call) => {
                let Call { request, item, ref id, .. } = self.model.calls[call];
                (id.clone(), HoleValue::AnswerCallId { request, item })
            }
            None => ("call_x".into(), self.own("call_x")),
        };
        self.result_of(part, group, named, texts);
    }

    fn result_of(
        &mut self,
        part: &mut Part,
        group: usize,
        (id, value): (String, HoleValue),
        texts: &[(HoleValue, &str)],
    ) {
        let begin = if group == 0 { "{\"role\":\"user\",\"content\":[" } else { "," };
        part.pieces.push(literal(begin));
        part.pieces.push(literal("{\"tool_use_id\":\""));
        part.pieces.push(self.slot(SlotKind::RESULT_CALL_ID, group, &id, value));
        part.pieces.push(literal("\",\"content\":[{\"text\":\""));
        for (nth, (value, text)) in texts.iter().enumerate() {
            if nth > 0 {
                part.pieces.push(literal("\"},{\"text\":\""));
            }
            let slot = self.slot(SlotKind::TOOL_OUTPUT, group, text, value.clone());
            part.pieces.push(slot);
        }
        part.pieces.push(literal("\"}]}"));
    }

    /// A part that was seen before is appended.
    pub(crate) fn again(&mut self, session: usize, part: usize) {
        self.append(session, part, PartUse::Known(PartNo::new(narrow(part))));
    }

    /// The client replaces messages by others that were seen before.
    pub(crate) fn edit(&mut self, session: usize, at: usize, remove: usize, insert: &[usize]) {
        let state = &mut self.sessions[session];
        state.edited = true;
        state.items.splice(at..at + remove, insert.iter().copied());
        let insert = insert.iter().map(|part| Added {
            part: PartUse::Known(PartNo::new(narrow(*part))),
            cause: Cause::Returned,
        });
        let (at, remove, insert) = (narrow(at), narrow(remove), insert.collect());
        self.push(Event::ContextEdited(ContextEdited {
            session: SessionId::new(narrow(session)),
            splices: vec![Splice { at, remove, insert }],
        }));
    }

    /// A request with marks, given as item and offset in its literal.
    pub(crate) fn request(&mut self, session: usize, marks: &[(usize, usize)]) -> RequestId {
        let lists = self.lists(session);
        let mut marks = marks.to_vec();
        marks.sort_unstable();
        self.capture(session, lists, marks, None)
    }

    /// A request whose body could not be split.
    pub(crate) fn unsplit(&mut self, session: usize, body: &str) -> RequestId {
        let part = Part { pieces: vec![literal(body)], ..Part::default() };
        let whole = self.define(part, PartKind::Verbatim, Role::Unknown);
        let lists = Lists { head: Some(whole), items: Vec::new(), tail: None };
        let unsplit = Unsplit { reason: "not a body at offset 0".into() };
        self.capture(session, lists, Vec::new(), Some(unsplit))
    }

    /// The messages, and the parts around them: the same for all, defined by the first request.
    fn lists(&mut self, session: usize) -> Lists {
        let items = self.sessions[session].items.clone();
        let known = |part: usize| Some((part, PartUse::Known(PartNo::new(narrow(part)))));
        if let Some((head, tail)) = self.frame {
            return Lists { head: known(head), items, tail: known(tail) };
        }
        let system = "You are \"brief\".\n";
        let value = self.own(system);
        let slot = self.slot(SlotKind::SYSTEM_TEXT, 0, system, value);
        let pieces = vec![literal("{\"system\":\""), slot, literal("\",\"messages\":[")];
        let part = Part { pieces, ..Part::default() };
        let head = self.define(part, PartKind::System, Role::System);
        let part = Part { pieces: vec![literal("]}")], ..Part::default() };
        let tail = self.define(part, PartKind::Glue, Role::Unknown);
        self.frame = Some((head.0, tail.0));
        Lists { head: Some(head), items, tail: Some(tail) }
    }

    fn capture(
        &mut self,
        session: usize,
        Lists { head, items, tail }: Lists,
        marks: Vec<(usize, usize)>,
        unsplit: Option<Unsplit>,
    ) -> RequestId {
        let (head, head_use): (Vec<_>, Vec<_>) = head.into_iter().unzip();
        let (tail, tail_use): (Vec<_>, Vec<_>) = tail.into_iter().unzip();
        let request = RequestId::new(narrow(self.model.requests.len()));
        let state = &mut self.sessions[session];
        let model = Request {
            id: request,
            session,
            head,
            items: items.clone(),
            tail,
            marks: marks.clone(),
            edited: state.edited,
            unsplit: unsplit.is_some(),
        };
        let body_bytes = crate::naive::recorded(&self.model, &model).len() as u64;
        self.model.requests.push(model);
        let full = state.requests.is_multiple_of(FULL_LIST_EVERY) || unsplit.is_some();
        state.requests += 1;
        let base = state.last.take().filter(|_| !full);
        state.last = Some((request, items.clone()));
        state.unanswered = true;
        let (base, old) = base.unzip();
        let splices = splices(&old.unwrap_or_default(), &items, base.is_none(), head_use, tail_use);
        let overlay = |(item, offset): (usize, usize)| Overlay {
            item: narrow(item),
            offset: narrow(offset),
            bytes: inline(mark(item, offset).as_bytes()),
        };
        let captured = RequestCaptured {
            request,
            session: SessionId::new(narrow(session)),
            attempt: 1,
            attempt_of: None,
            dialect: Dialect::AnthropicMessages.tag(),
            model: None,
            body_bytes,
            body_digest: [0; 32],
            component_digests: [[0; 32]; 4],
            rung: Rung::BodyExact,
            redactions: 0,
            transfer: Transfer { content_coding: None, sent_bytes: body_bytes },
            policy: None,
            unsplit,
            base,
            separator: inline(SEPARATOR.as_bytes()),
            escape: self.escape,
            splices,
            overlays: marks.into_iter().map(overlay).collect(),
            propensity: None,
        };
        self.push(Event::RequestCaptured(captured));
        request
    }
}

/// Lists against those of the request before: the messages as one change, the rest when in full.
fn splices(
    old: &[usize],
    items: &[usize],
    full: bool,
    head: Vec<PartUse>,
    tail: Vec<PartUse>,
) -> Splices {
    let same = old.iter().zip(items).take_while(|(old, new)| old == new).count();
    let insert = items[same..].iter().map(|part| PartNo::new(narrow(*part))).collect();
    let items = Splice { at: narrow(same), remove: narrow(old.len() - same), insert };
    let all = |insert| if full { vec![Splice { at: 0, remove: 0, insert }] } else { Vec::new() };
    Splices { head: all(head), items: vec![items], tail: all(tail) }
}

fn answered(request: RequestId, items: Vec<AnswerItem>) -> Answered {
    Answered {
        request,
        status: 200,
        time_us: None,
        headers: Headers::Full(Vec::new()),
        body: None,
        body_withheld: false,
        items,
        usage: None,
        stop: None,
        answer_id: None,
        unparsed_events: 0,
    }
}

/// The mark that a request carries on an item; no two are the same.
pub(crate) fn mark(item: usize, offset: usize) -> String {
    format!(",\"cache_control\":[{item},{offset}]")
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}
