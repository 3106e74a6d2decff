//! Finds what caused a new message part: which answer, which call, or nobody on record.
//!
//! A link is only made where the recorded answer or output holds the very bytes, so that a part
//! with a cause is rebuilt from the cause and not from itself.

use std::collections::{BTreeMap, HashMap};

use super::parts::RawKey;
use crate::content::Content;
use crate::event::{HoleValue, ItemKind, Unlinked};
use crate::id::{RequestId, SessionId, ToolCallId};
use crate::wire::SlotKind;
use crate::wire::template::{Slot, Template};

/// Item of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemRef {
    pub(super) request: RequestId,
    pub(super) item: u16,
}

/// Where a slot's text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Text(ItemRef),
    CallId(ItemRef),
    ItemId(ItemRef),
    ToolName(ItemRef),
    Output { call: ToolCallId, index: u16 },
}

impl Source {
    pub(super) fn into_value(self) -> HoleValue {
        match self {
            Self::Text(ItemRef { request, item }) => HoleValue::AnswerText { request, item },
            Self::CallId(ItemRef { request, item }) => HoleValue::AnswerCallId { request, item },
            Self::ItemId(ItemRef { request, item }) => HoleValue::AnswerItemId { request, item },
            Self::ToolName(ItemRef { request, item }) => {
                HoleValue::AnswerToolName { request, item }
            }
            Self::Output { call, index } => HoleValue::Output { call, index },
        }
    }
}

/// One item of a recorded answer, as far as links need it. Texts are redacted ones.
#[derive(Clone, Debug)]
pub(super) struct ItemFacts {
    pub(super) kind: ItemKind,
    pub(super) text: RawKey,
    pub(super) item_id: Option<Vec<u8>>,
    pub(super) call_id: Option<Vec<u8>>,
    pub(super) name: Vec<u8>,
    pub(super) call: Option<ToolCallId>,
}

/// A call as far as it is known.
#[derive(Debug)]
pub(super) struct Call {
    item: ItemRef,
    pub(super) session: SessionId,
    /// The texts that it returned, as stored.
    pub(super) texts: Vec<Content>,
    /// Keys of the texts that it returned, once it has.
    returned: Option<Vec<RawKey>>,
}

/// Answers and calls of a run, by everything that a later message may name them with.
#[derive(Debug, Default)]
pub(super) struct Links {
    answers: HashMap<RequestId, Vec<ItemFacts>>,
    by_text: HashMap<(SessionId, ItemKey), ItemRef>,
    by_item_id: HashMap<Vec<u8>, ItemRef>,
    /// Calls that have an id, oldest first: of a conversation, and of any. Ids repeat.
    by_call_id: HashMap<(Option<SessionId>, Vec<u8>), Vec<ToolCallId>>,
    calls: BTreeMap<ToolCallId, Call>,
    /// Calls of a conversation that have not returned, oldest first.
    open: HashMap<SessionId, Vec<ToolCallId>>,
    /// Conversations that have had an answer.
    answered: HashMap<SessionId, RequestId>,
    /// Calls that have returned, in that order.
    returns: Vec<ToolCallId>,
}

type ItemKey = (bool, RawKey);

/// What a new part turned out to be.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// One per slot.
    pub(super) sources: Vec<Option<Source>>,
    /// The answer that it repeats.
    pub(super) answer: Option<RequestId>,
    /// Results in it: the call, and the slots that hold its output when it returns here for the
    /// first time.
    pub(super) results: Vec<ResultLink>,
    /// Results whose call is not known, or that differ from what the call returned before.
    pub(super) unlinked: Option<Unlinked>,
}

/// A tool result in a part.
#[derive(Debug)]
pub(super) struct ResultLink {
    pub(super) call: ToolCallId,
    /// The call had not returned before.
    pub(super) first: bool,
    /// Slots that hold its output.
    pub(super) output: Vec<usize>,
}

impl Links {
    /// True for a call that an answer asked for.
    pub(super) fn is_known(&self, call: ToolCallId) -> bool {
        self.calls.contains_key(&call)
    }

    /// All calls, in order, with the item that asks for each.
    pub(super) fn calls(&self) -> impl Iterator<Item = (ToolCallId, Option<&ItemFacts>, &Call)> {
        self.calls.iter().map(|(id, call)| (*id, self.facts(call.item), call))
    }

    /// A call, with the item that asks for it.
    pub(super) fn call(&self, id: ToolCallId) -> Option<(Option<&ItemFacts>, &Call)> {
        self.calls.get(&id).map(|call| (self.facts(call.item), call))
    }

    /// Calls in the order in which they returned.
    pub(super) fn returns(&self) -> &[ToolCallId] {
        &self.returns
    }

    /// Remembers a call of an answer.
    pub(super) fn add_call(
        &mut self,
        call: ToolCallId,
        session: SessionId,
        item: ItemRef,
        call_id: Option<&[u8]>,
    ) {
        self.calls.insert(call, Call { item, session, returned: None, texts: Vec::new() });
        self.open.entry(session).or_default().push(call);
        if let Some(id) = call_id {
            for of in [Some(session), None] {
                self.by_call_id.entry((of, id.to_vec())).or_default().push(call);
            }
        }
    }

    /// Remembers an answer.
    pub(super) fn add_answer(
        &mut self,
        session: SessionId,
        request: RequestId,
        items: Vec<ItemFacts>,
    ) {
        for (item, facts) in items.iter().enumerate() {
            let Ok(item) = u16::try_from(item) else { break };
            let at = ItemRef { request, item };
            if matches!(facts.kind, ItemKind::Text | ItemKind::Thinking) {
                let thinking = facts.kind == ItemKind::Thinking;
                self.by_text.insert((session, (thinking, facts.text)), at);
            }
            if let Some(id) = &facts.item_id {
                self.by_item_id.insert(id.clone(), at);
            }
        }
        if !items.is_empty() {
            self.answered.insert(session, request);
        }
        self.answers.insert(request, items);
    }

    /// True once the conversation has had an answer.
    pub(super) fn has_answer(&self, session: SessionId) -> bool {
        self.answered.contains_key(&session)
    }

    fn facts(&self, at: ItemRef) -> Option<&ItemFacts> {
        self.answers.get(&at.request)?.get(usize::from(at.item))
    }

    /// The only call with this id: of the conversation, else of all.
    pub(super) fn call_by_id(&self, session: SessionId, id: &[u8]) -> Option<ToolCallId> {
        match self.calls_by_id(session, id) {
            [call] => Some(*call),
            _ => None,
        }
    }

    /// Calls with this id: of the conversation, else of all.
    fn calls_by_id(&self, session: SessionId, id: &[u8]) -> &[ToolCallId] {
        let own = self.by_call_id.get(&(Some(session), id.to_vec()));
        own.or_else(|| self.by_call_id.get(&(None, id.to_vec()))).map_or(&[], Vec::as_slice)
    }

    /// The call that a message repeats under this id: the only one, else the latest one whose name
    /// and arguments stand beside the id. Each is repeated once in a message.
    fn repeated_call(
        &self,
        session: SessionId,
        slots: &[Slot<'_>],
        at: &Slot<'_>,
        taken: &[ItemRef],
    ) -> Option<ItemRef> {
        let calls = self.calls_by_id(session, at.text.as_bytes());
        if let [call] = calls {
            return self.call_item(*call);
        }
        let says = |facts: &ItemFacts| {
            slots.iter().filter(|slot| slot.group == at.group).all(|slot| match slot.kind {
                SlotKind::TOOL_NAME => slot.text.as_bytes() == facts.name,
                SlotKind::ARGUMENTS => RawKey::of(slot.text.as_bytes()) == facts.text,
                _ => true,
            })
        };
        let items = calls.iter().rev().filter_map(|call| self.call_item(*call));
        let mut fitting = items.filter(|item| !taken.contains(item));
        fitting.find(|item| self.facts(*item).is_some_and(says))
    }

    /// The call whose result a message holds under this id. Several calls may have it: one of the
    /// last answer that has not returned goes before others, which the client may have given up;
    /// then one that has not returned; then one that returned these very texts. A call of another
    /// conversation is taken when no other has its id, or by its texts.
    fn returning_call(
        &self,
        session: SessionId,
        id: &[u8],
        texts: &[RawKey],
        here: &[ResultLink],
    ) -> Result<ToolCallId, Unlinked> {
        let calls = self.calls_by_id(session, id);
        match calls {
            [] => return Err(Unlinked::NoSuchCall),
            [call] => return Ok(*call),
            _ => {}
        }
        let returned = |call: ToolCallId| self.calls.get(&call)?.returned.as_deref();
        let is_open = |call: &ToolCallId| {
            self.calls.get(call).is_some_and(|call| call.session == session)
                && returned(*call).is_none()
                && here.iter().all(|result| result.call != *call)
        };
        let last = self.answered.get(&session);
        let is_last =
            |call: &ToolCallId| self.call_item(*call).is_some_and(|at| last == Some(&at.request));
        let open: Vec<_> = calls.iter().copied().filter(is_open).collect();
        let of_last: Vec<_> = open.iter().copied().filter(is_last).collect();
        match (of_last.as_slice(), open.as_slice()) {
            ([call], _) | ([], [call]) => Ok(*call),
            ([], []) => {
                let same = |call: &ToolCallId| returned(*call) == Some(texts);
                calls.iter().copied().rfind(same).ok_or(Unlinked::SeveralCalls)
            }
            _ => Err(Unlinked::SeveralCalls),
        }
    }

    fn call_item(&self, call: ToolCallId) -> Option<ItemRef> {
        self.calls.get(&call).map(|call| call.item)
    }

    /// Finds the causes of a part's slots.
    pub(super) fn link(&self, session: SessionId, template: &Template<'_>) -> Linked {
        let slots = &template.slots;
        let mut linked = Linked { sources: vec![None; slots.len()], ..Linked::default() };
        self.link_calls(session, slots, &mut linked);
        self.link_texts(session, slots, &mut linked);
        self.link_results(session, slots, &mut linked);
        linked
    }

    /// Calls and item ids: the names by which an answer is known.
    fn link_calls(&self, session: SessionId, slots: &[Slot<'_>], linked: &mut Linked) {
        let mut taken = Vec::new();
        for (index, slot) in slots.iter().enumerate() {
            let found = match slot.kind {
                SlotKind::CALL_ID => {
                    self.repeated_call(session, slots, slot, &taken).map(Source::CallId)
                }
                SlotKind::ITEM_ID => {
                    self.by_item_id.get(slot.text.as_bytes()).copied().map(Source::ItemId)
                }
                _ => None,
            };
            let Some(source) = found else { continue };
            let (Source::CallId(at) | Source::ItemId(at)) = source else { continue };
            set(linked, index, source);
            linked.answer.get_or_insert(at.request);
            if let Source::CallId(at) = source {
                taken.push(at);
                self.link_call_group(slots, slot.group, at, linked);
            }
        }
        self.link_unnamed_calls(session, slots, &mut taken, linked);
    }

    /// Name and arguments beside a call id.
    fn link_call_group(&self, slots: &[Slot<'_>], group: u16, at: ItemRef, linked: &mut Linked) {
        let Some(facts) = self.facts(at) else { return };
        for (index, slot) in slots.iter().enumerate().filter(|(_, s)| s.group == group) {
            if slot.kind == SlotKind::TOOL_NAME && slot.text.as_bytes() == facts.name {
                set(linked, index, Source::ToolName(at));
            } else if slot.kind == SlotKind::ARGUMENTS
                && RawKey::of(slot.text.as_bytes()) == facts.text
            {
                set(linked, index, Source::Text(at));
            }
        }
    }

    /// Calls without an id (Gemini): by order among the last answer's calls of that name.
    fn link_unnamed_calls(
        &self,
        session: SessionId,
        slots: &[Slot<'_>],
        taken: &mut Vec<ItemRef>,
        linked: &mut Linked,
    ) {
        let Some(&request) = self.answered.get(&session) else { return };
        let Some(items) = self.answers.get(&request) else { return };
        for (index, slot) in slots.iter().enumerate() {
            let named = slot.kind == SlotKind::TOOL_NAME
                && linked.sources.get(index).is_some_and(Option::is_none)
                && !slots.iter().any(|s| s.kind == SlotKind::CALL_ID && s.group == slot.group);
            if !named {
                continue;
            }
            let found = items.iter().enumerate().find_map(|(item, facts)| {
                let at = ItemRef { request, item: u16::try_from(item).ok()? };
                let same = facts.call.is_some() && facts.name == slot.text.as_bytes();
                (same && !taken.contains(&at)).then_some(at)
            });
            let Some(at) = found else { continue };
            taken.push(at);
            linked.answer.get_or_insert(request);
            self.link_call_group(slots, slot.group, at, linked);
        }
    }

    fn link_texts(&self, session: SessionId, slots: &[Slot<'_>], linked: &mut Linked) {
        for (index, slot) in slots.iter().enumerate() {
            let thinking = match slot.kind {
                SlotKind::ASSISTANT_TEXT => false,
                SlotKind::THINKING => true,
                _ => continue,
            };
            let key = (thinking, RawKey::of(slot.text.as_bytes()));
            let own = linked.answer.and_then(|request| self.text_in(request, key));
            if let Some(at) = own.or_else(|| self.by_text.get(&(session, key)).copied()) {
                set(linked, index, Source::Text(at));
                linked.answer.get_or_insert(at.request);
            }
        }
    }

    fn text_in(&self, request: RequestId, (thinking, key): ItemKey) -> Option<ItemRef> {
        let kind = if thinking { ItemKind::Thinking } else { ItemKind::Text };
        let items = self.answers.get(&request)?;
        let item = items.iter().position(|facts| facts.kind == kind && facts.text == key)?;
        Some(ItemRef { request, item: u16::try_from(item).ok()? })
    }

    fn link_results(&self, session: SessionId, slots: &[Slot<'_>], linked: &mut Linked) {
        let mut groups: Vec<u16> = slots
            .iter()
            .filter(|s| s.kind == SlotKind::TOOL_OUTPUT || s.kind == SlotKind::RESULT_CALL_ID)
            .map(|s| s.group)
            .collect();
        groups.dedup();
        let mut used = Vec::new();
        for group in groups {
            let in_group = |kind| {
                slots.iter().enumerate().filter(move |(_, s)| s.group == group && s.kind == kind)
            };
            let named = in_group(SlotKind::RESULT_CALL_ID).next();
            let call = if let Some((_, slot)) = named {
                let texts: Vec<_> = in_group(SlotKind::TOOL_OUTPUT)
                    .map(|(_, slot)| RawKey::of(slot.text.as_bytes()))
                    .collect();
                let id = slot.text.as_bytes();
                self.returning_call(session, id, &texts, &linked.results)
            } else {
                // Without an id or a name it is not said that this is a result of anything.
                let name = in_group(SlotKind::RESULT_NAME).next().map(|(_, s)| s);
                name.and_then(|name| self.next_open(session, name, &used))
                    .ok_or(Unlinked::NoSuchCall)
            };
            let call = match call {
                Ok(call) => call,
                Err(unlinked) => {
                    linked.unlinked = Some(unlinked);
                    continue;
                }
            };
            used.push(call);
            if let Some((index, _)) = named
                && let Some(at) = self.call_item(call)
            {
                set(linked, index, Source::CallId(at));
            }
            if let Some((index, slot)) = in_group(SlotKind::RESULT_NAME).next()
                && let Some(at) = self.call_item(call)
                && self.facts(at).is_some_and(|facts| facts.name == slot.text.as_bytes())
            {
                set(linked, index, Source::ToolName(at));
            }
            let outputs: Vec<usize> =
                in_group(SlotKind::TOOL_OUTPUT).map(|(index, _)| index).collect();
            self.link_output(slots, call, outputs, linked);
        }
    }

    fn link_output(
        &self,
        slots: &[Slot<'_>],
        call: ToolCallId,
        outputs: Vec<usize>,
        linked: &mut Linked,
    ) {
        let keys = |indexes: &[usize]| -> Vec<RawKey> {
            let texts = indexes.iter().filter_map(|index| slots.get(*index));
            texts.map(|slot| RawKey::of(slot.text.as_bytes())).collect()
        };
        // It may have returned in an earlier message, or in this one.
        let here = linked.results.iter().find(|result| result.call == call);
        let returned = match here {
            Some(result) => Some(keys(&result.output)),
            None => self.calls.get(&call).and_then(|call| call.returned.clone()),
        };
        let first = returned.is_none();
        if returned.is_some_and(|returned| returned != keys(&outputs)) {
            linked.unlinked = Some(Unlinked::SecondResult);
            return;
        }
        for (index, slot) in outputs.iter().enumerate() {
            if let Ok(index) = u16::try_from(index) {
                set(linked, *slot, Source::Output { call, index });
            }
        }
        linked.results.push(ResultLink { call, first, output: outputs });
    }

    /// The oldest call of this name that has not returned; one of the last answer before others,
    /// which the client may have given up.
    fn next_open(
        &self,
        session: SessionId,
        name: &Slot<'_>,
        used: &[ToolCallId],
    ) -> Option<ToolCallId> {
        let last = self.answered.get(&session);
        let of_last =
            |call: &&ToolCallId| self.call_item(**call).is_some_and(|at| last == Some(&at.request));
        let fits = |call: &&ToolCallId| {
            let facts = self.call_item(**call).and_then(|at| self.facts(at));
            !used.contains(call) && facts.is_some_and(|facts| facts.name == name.text.as_bytes())
        };
        let open = || self.open.get(&session).into_iter().flatten();
        open().filter(of_last).find(fits).or_else(|| open().find(fits)).copied()
    }

    /// Remembers that a call returned these texts.
    pub(super) fn returned(&mut self, call: ToolCallId, texts: Vec<Content>, keys: Vec<RawKey>) {
        if let Some(state) = self.calls.get_mut(&call) {
            state.returned = Some(keys);
            state.texts = texts;
            self.returns.push(call);
            if let Some(open) = self.open.get_mut(&state.session) {
                // Calls return roughly in order, so the search ends near the front.
                if let Some(at) = open.iter().position(|other| *other == call) {
                    open.remove(at);
                }
            }
        }
    }
}

fn set(linked: &mut Linked, index: usize, source: Source) {
    if let Some(slot) = linked.sources.get_mut(index) {
        *slot = Some(source);
    }
}
