//! The lists that make up a body: numbering its parts, defining new ones, telling what changed.

use std::collections::{BTreeMap, HashMap};

use super::link::Linked;
use super::parts::{Define, NewPart, RawKey};
use super::prepare::{Prepared, PreparedItem};
use super::{RecordError, Recorder};
use crate::codec::{self, CodecError};
use crate::content::Content;
use crate::diff;
use crate::event::{
    Added, Cause, ContextEdited, Dropped, Event, MessageAdded, PartDef, PartUse, Returned, Splice,
    TextMeasure, ToolReturned, Unlinked,
};
use crate::id::{PartNo, SessionId};
use crate::wire::outline::{Outline, Piece};
use crate::wire::overlay;
use crate::wire::template::Template;
use crate::wire::{Escape, PartKind, Role, SlotKind};

/// The numbered lists of one body.
pub(super) struct Lists {
    pub(super) head: Pieces,
    pub(super) items: Vec<PartNo>,
    /// What changed in the items since the conversation's last request.
    pub(super) item_splices: Vec<Splice<PartNo>>,
    pub(super) tail: Pieces,
}

/// Parts before or after the messages.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) list: Vec<PartNo>,
    new: BTreeMap<PartNo, PartDef>,
}

impl Pieces {
    /// The list against an older one; parts that are new are defined where they first stand.
    pub(super) fn splices(&self, old: &[PartNo]) -> Vec<Splice<PartUse>> {
        let mut defined = std::collections::BTreeSet::new();
        let mut part_use = |part: PartNo| match self.new.get(&part) {
            Some(def) if defined.insert(part) => PartUse::New(def.clone()),
            _ => PartUse::Known(part),
        };
        diff::splices(old, &self.list)
            .into_iter()
            .map(|splice| Splice {
                at: splice.at,
                remove: splice.remove,
                insert: splice.insert.into_iter().map(&mut part_use).collect(),
            })
            .collect()
    }
}

/// A new item with everything that is told of it.
struct NewItem {
    def: PartDef,
    cause: Cause,
}

impl Recorder {
    /// Numbers the parts of a body and tells what is new in the conversation. The body's own
    /// items stand behind the first `keep` of the list before.
    pub(super) fn lists(
        &mut self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        session: SessionId,
        keep: usize,
    ) -> Result<Lists, RecordError> {
        self.observe_escape(prepared, session)?;
        let (items, item_splices) = self.items(prepared, session, keep)?;
        let head = self.pieces(prepared, &outline.head, session)?;
        let tail = self.pieces(prepared, &outline.tail, session)?;
        Ok(Lists { head, items, item_splices, tail })
    }

    /// Learns how the body's encoder escapes, from the items that are new.
    fn observe_escape(
        &mut self,
        prepared: &Prepared<'_>,
        session: SessionId,
    ) -> Result<(), RecordError> {
        let mut seen = Escape::JSON;
        for item in &prepared.items {
            if self.table.find(PartKind::Item, item.key).is_none() {
                let raw = prepared.body.get(item.span.clone()).unwrap_or_default();
                seen = seen.union(Escape::detect(raw));
            }
        }
        let session = self.session(session)?;
        session.escape = session.escape.union(seen);
        Ok(())
    }

    fn items(
        &mut self,
        prepared: &Prepared<'_>,
        session: SessionId,
        keep: usize,
    ) -> Result<(Vec<PartNo>, Vec<Splice<PartNo>>), RecordError> {
        // The list before is gone on with in place, so that a request costs what is new in it.
        let mut list = core::mem::take(&mut self.session(session)?.items);
        let old_len = list.len();
        let left = list.split_off(keep.min(old_len));
        let mut new = HashMap::new();
        for item in &prepared.items {
            if let Some(part) = self.table.find(PartKind::Item, item.key) {
                list.push(part);
                continue;
            }
            let raw = prepared.body.get(item.span.clone()).unwrap_or_default();
            let base = if item.marks.is_empty() { raw.into() } else { overlay::strip(raw).base };
            let (part, told) = self.item(prepared, session, &base, item)?;
            new.insert(part, told);
            list.push(part);
        }
        let mut splices = diff::splices(&left, list.get(keep..).unwrap_or_default());
        let narrow = |n: usize| u32::try_from(n).expect("lists are bounded by ITEMS_MAX");
        for splice in &mut splices {
            splice.at += narrow(keep);
        }
        self.tell_changes(session, old_len, &splices, new)?;
        Ok((list, splices))
    }

    /// Defines one new item and links it.
    fn item(
        &mut self,
        prepared: &Prepared<'_>,
        session: SessionId,
        base: &[u8],
        item: &PreparedItem,
    ) -> Result<(PartNo, NewItem), RecordError> {
        let hint = self.session(session)?.escape;
        let mut define = Define {
            writer: &mut self.writer,
            redactor: &self.redactor,
            table: &mut self.table,
            dialect: prepared.dialect,
            hint,
        };
        let part = define.clean(PartKind::Item, base);
        let template = define.cut(&part);
        let linked = self.links.link(session, &template);
        let cause = cause_of(&template, &linked, self.links.has_answer(session));
        let returns = returns(&mut define, &part, &template, &linked)?;
        let (def, info) = define.define(&part, &template, linked.sources, Some(item.digest))?;
        for (event, keys) in returns {
            let call = event.call;
            let texts = event.output.iter().map(|returned| returned.text.clone()).collect();
            self.append(&Event::ToolReturned(event))?;
            self.links.returned(call, texts, keys);
        }
        let number = self.table.add(item.key, info)?;
        Ok((number, NewItem { def, cause }))
    }

    /// Appends `context_edited` for what changed inside the list and `message_added` for what
    /// was put at its end. What replaces the end one for one is an edit; what goes beyond it was
    /// appended.
    fn tell_changes(
        &mut self,
        session: SessionId,
        old_len: usize,
        splices: &[Splice<PartNo>],
        mut new: HashMap<PartNo, NewItem>,
    ) -> Result<(), RecordError> {
        let mut edits = Vec::new();
        let mut appended = Vec::new();
        for splice in splices {
            let at_end = splice.at as usize + splice.remove as usize == old_len;
            let inside = if at_end { splice.remove as usize } else { splice.insert.len() };
            let (edited, beyond) = splice.insert.split_at(inside.min(splice.insert.len()));
            if splice.remove > 0 || !edited.is_empty() {
                let insert = edited.iter().map(|part| added(*part, &mut new, true)).collect();
                edits.push(Splice { at: splice.at, remove: splice.remove, insert });
            }
            appended.extend(beyond.iter().map(|part| added(*part, &mut new, false)));
        }
        if !edits.is_empty() {
            self.tell_edits(session, edits)?;
        }
        if !appended.is_empty() {
            self.tell_added(session, appended)?;
        }
        Ok(())
    }

    /// Appends messages, in as many events as it takes.
    fn tell_added(&mut self, session: SessionId, added: Vec<Added>) -> Result<(), RecordError> {
        let event = MessageAdded { session, added };
        if event.added.len() < 2 || !too_large(&event) {
            return self.append(&Event::MessageAdded(event));
        }
        let mut first = event.added;
        let second = first.split_off(first.len() / 2);
        self.tell_added(session, first)?;
        self.tell_added(session, second)
    }

    /// Edits the message list, in as many events as it takes: a later one speaks of the list as
    /// the earlier one left it.
    fn tell_edits(
        &mut self,
        session: SessionId,
        splices: Vec<Splice<Added>>,
    ) -> Result<(), RecordError> {
        let event = ContextEdited { session, splices };
        if !too_large(&event) {
            return self.append(&Event::ContextEdited(event));
        }
        match halves(event.splices) {
            (first, second) if second.is_empty() => {
                self.append(&Event::ContextEdited(ContextEdited { session, splices: first }))
            }
            (first, second) => {
                self.tell_edits(session, first)?;
                self.tell_edits(session, second)
            }
        }
    }

    /// Numbers the parts before or after the messages; new ones are defined with the request.
    fn pieces(
        &mut self,
        prepared: &Prepared<'_>,
        pieces: &[Piece],
        session: SessionId,
    ) -> Result<Pieces, RecordError> {
        let hint = self.session(session)?.escape;
        let mut out = Pieces::default();
        for piece in pieces {
            let raw = prepared.body.get(piece.span.clone()).unwrap_or_default();
            let key = RawKey::of(raw);
            if let Some(part) = self.table.find(piece.kind, key) {
                out.list.push(part);
                continue;
            }
            let mut define = Define {
                writer: &mut self.writer,
                redactor: &self.redactor,
                table: &mut self.table,
                dialect: prepared.dialect,
                hint,
            };
            let part = define.clean(piece.kind, raw);
            let template = define.cut(&part);
            let (def, info) = define.define(&part, &template, Vec::new(), None)?;
            let number = self.table.add(key, info)?;
            out.new.insert(number, def);
            out.list.push(number);
        }
        Ok(out)
    }
}

/// True when an event does not fit a frame.
fn too_large<T: bincode::Encode>(event: &T) -> bool {
    matches!(codec::encode(event), Err(CodecError::TooLarge))
}

/// Edits that have the same effect one after the other; none as the second where there is no way
/// to halve them.
fn halves(mut splices: Vec<Splice<Added>>) -> (Vec<Splice<Added>>, Vec<Splice<Added>>) {
    let narrow = |n: usize| u32::try_from(n).expect("lists are bounded by ITEMS_MAX");
    if let [only] = splices.as_mut_slice() {
        let rest = only.insert.split_off(only.insert.len() / 2);
        let at = only.at + narrow(only.insert.len());
        let second = if only.insert.is_empty() {
            only.insert = rest;
            Vec::new()
        } else {
            vec![Splice { at, remove: 0, insert: rest }]
        };
        return (splices, second);
    }
    let mut second = splices.split_off(splices.len() / 2);
    let inserted: usize = splices.iter().map(|splice| splice.insert.len()).sum();
    let removed: u32 = splices.iter().map(|splice| splice.remove).sum();
    for splice in &mut second {
        splice.at = splice.at - removed + narrow(inserted);
    }
    (splices, second)
}

fn added(part: PartNo, new: &mut HashMap<PartNo, NewItem>, inside: bool) -> Added {
    match new.remove(&part) {
        Some(NewItem { def, cause }) => {
            // User text in the middle of the list was not typed there.
            let cause = if inside && cause == Cause::UserInput { Cause::Inserted } else { cause };
            Added { part: PartUse::New(def), cause }
        }
        None => Added { part: PartUse::Known(part), cause: Cause::Returned },
    }
}

/// What brought a new item, judged by who speaks and what was found.
fn cause_of(template: &Template<'_>, linked: &Linked, answered: bool) -> Cause {
    if let Some(reason) = linked.unlinked {
        return Cause::Unlinked(reason);
    }
    if let Some(result) = linked.results.first() {
        return Cause::ToolResult(result.call);
    }
    let speaks = |kind| template.slots.iter().any(|slot| slot.kind == kind);
    let model = template.role == Role::Assistant
        || speaks(SlotKind::ARGUMENTS)
        || speaks(SlotKind::CALL_ID);
    match linked.answer {
        Some(request) if model => Cause::Answer(request),
        // Before the first answer, assistant text can only be the client's (examples).
        _ if model && answered => Cause::Unlinked(Unlinked::NoSuchAnswer),
        _ if model || template.role == Role::System => Cause::Inserted,
        _ => Cause::UserInput,
    }
}

/// Stores outputs that return here for the first time, before anything can name them.
fn returns(
    define: &mut Define<'_>,
    part: &NewPart<'_>,
    template: &Template<'_>,
    linked: &Linked,
) -> Result<Vec<(ToolReturned, Vec<RawKey>)>, RecordError> {
    let mut out = Vec::new();
    for result in linked.results.iter().filter(|result| result.first) {
        let mut event = ToolReturned {
            call: result.call,
            output: Vec::new(),
            dropped: Dropped::Unknown,
            redactions: 0,
        };
        let mut keys = Vec::new();
        for slot in result.output.iter().filter_map(|index| template.slots.get(*index)) {
            let redacted = define.redactor.redact(slot.text.as_bytes());
            let redacted = redacted.with_earlier(&part.clean.inside(slot));
            let count = u32::try_from(redacted.redactions().len()).unwrap_or(u32::MAX);
            event.redactions = event.redactions.saturating_add(count);
            let text = Content::stored(define.writer.put(&redacted)?);
            event.output.push(Returned { text, measure: TextMeasure::of(&slot.text) });
            keys.push(RawKey::of(slot.text.as_bytes()));
        }
        out.push((event, keys));
    }
    Ok(out)
}
