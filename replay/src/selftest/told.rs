//! Changes of what the events tell of a message list, and of nothing else: the parts of every
//! request stay as they were recorded, so that only the fold can notice.
//!
//! Parts are numbered in the order in which they are defined, so none may be taken out or moved.
//! The list is made wrong by an edit that the client never made.

use ledger::event::{Added, Cause, ContextEdited, Event, PartUse, Splice};
use ledger::id::{PartNo, SessionId};

use super::class::Class;
use super::mutate::Changes;

/// Makes the change at an event that adds messages; empty where that is not possible.
pub(super) fn changes(class: Class, events: &[Event], index: usize) -> Changes {
    let Some((before, [event @ Event::MessageAdded(added), after @ ..])) =
        events.split_at_checked(index)
    else {
        return Vec::new();
    };
    let session = added.session;
    if !is_sent_as_it_is(after, session) {
        return Vec::new();
    }
    let length = before.iter().fold(0, |length, event| grown(length, event, session));
    let splice = match class {
        Class::DroppedMessage => dropped(length, &added.added),
        _ => reordered(length, &added.added, definitions(before)),
    };
    let Some(splice) = splice else { return Vec::new() };
    let edit = Event::ContextEdited(ContextEdited { session, splices: vec![splice] });
    vec![(index, vec![event.clone(), edit])]
}

/// True when a request of the conversation follows, and no edit: what edits say of places would
/// not fit a list that was changed.
fn is_sent_as_it_is(after: &[Event], session: SessionId) -> bool {
    let edits = |event: &Event| matches!(event, Event::ContextEdited(e) if e.session == session);
    let sends = |event: &Event| matches!(event, Event::RequestCaptured(r) if r.session == session);
    !after.iter().any(edits) && after.iter().any(sends)
}

/// The last of the new messages goes.
fn dropped(length: u32, added: &[Added]) -> Option<Splice<Added>> {
    let at = length + u32::try_from(added.len().checked_sub(1)?).ok()?;
    Some(Splice { at, remove: 1, insert: Vec::new() })
}

/// The first two of the new messages that follow each other and differ change places.
fn reordered(length: u32, added: &[Added], mut next: u32) -> Option<Splice<Added>> {
    let number = |added: &Added| match added.part {
        PartUse::Known(part) => part,
        PartUse::New(_) => {
            next += 1;
            PartNo::new(next - 1)
        }
    };
    let numbers: Vec<PartNo> = added.iter().map(number).collect();
    let (at, first, second) = numbers.windows(2).enumerate().find_map(|(at, pair)| match pair {
        [first, second] if first != second => Some((at, *first, *second)),
        _ => None,
    })?;
    let known = |part| Added { part: PartUse::Known(part), cause: Cause::Returned };
    let at = length + u32::try_from(at).ok()?;
    Some(Splice { at, remove: 2, insert: vec![known(second), known(first)] })
}

/// Length of a conversation's list after an event.
fn grown(length: u32, event: &Event, session: SessionId) -> u32 {
    let count = |added: &[Added]| u32::try_from(added.len()).unwrap_or(u32::MAX);
    match event {
        Event::MessageAdded(added) if added.session == session => length + count(&added.added),
        Event::ContextEdited(edited) if edited.session == session => edited
            .splices
            .iter()
            .fold(length, |length, splice| length + count(&splice.insert) - splice.remove),
        _ => length,
    }
}

/// How many parts the events define.
fn definitions(events: &[Event]) -> u32 {
    let is_new = |part: &PartUse| matches!(part, PartUse::New(_));
    let new = |added: &[Added]| added.iter().filter(|added| is_new(&added.part)).count();
    let defined = |event: &Event| match event {
        Event::MessageAdded(added) => new(&added.added),
        Event::ContextEdited(edited) => {
            edited.splices.iter().map(|splice| new(&splice.insert)).sum()
        }
        Event::RequestCaptured(captured) => {
            let splices = captured.splices.head.iter().chain(&captured.splices.tail);
            splices.flat_map(|splice| &splice.insert).filter(|part| is_new(part)).count()
        }
        _ => 0,
    };
    u32::try_from(events.iter().map(defined).sum::<usize>()).unwrap_or(u32::MAX)
}
