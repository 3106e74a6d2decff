//! A projector that is slow and plain: it writes every body out and applies the steps to texts
//! whose characters know whether they were recorded. It shares only the cut of one text with the
//! real one.

use std::collections::{BTreeMap, BTreeSet};

use ledger::event::Dropped;
use ledger::wire::SlotKind;
use projector::policy::{Boundary, Budget, CapText, ClearResults, Metric, Op, Step, Window};
use projector::projection::{Assumption, Refusal};
use projector::text::{self, Context};
use projector::{Account, Fidelity, Policy};

use crate::run::{Model, Part, Piece, Request, Slot, mark};

/// What a request looks like under a policy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Naive {
    pub(crate) body: Vec<u8>,
    pub(crate) account: Account,
    pub(crate) fidelity: Fidelity,
}

/// A result by its place in the list: part, how many equal parts stand before it, and group.
type Listed = (usize, usize, u16);

/// Results that stay cleared, for each step.
type Sticky = BTreeMap<usize, BTreeSet<Listed>>;

/// A text with, for each character, whether it was recorded.
type Text = Vec<(char, bool)>;

/// A message on its way.
struct Message<'m> {
    number: usize,
    part: &'m Part,
    /// One for each slot of the part.
    texts: Vec<Text>,
    capped: BTreeSet<u16>,
    cleared: BTreeSet<u16>,
    dropped: bool,
}

/// The body as it was recorded.
pub(crate) fn recorded(model: &Model, request: &Request) -> Vec<u8> {
    render(model, request, &messages(model, request))
}

/// All requests of a run, in order of capture.
pub(crate) fn project(model: &Model, policy: &Policy) -> Vec<Naive> {
    let mut sticky: BTreeMap<usize, Sticky> = BTreeMap::new();
    let one =
        |request: &Request| one(model, policy, request, sticky.entry(request.session).or_default());
    model.requests.iter().map(one).collect()
}

fn one(model: &Model, policy: &Policy, request: &Request, sticky: &mut Sticky) -> Naive {
    let mut list = messages(model, request);
    for message in &mut list {
        cap_message(model, policy, message);
    }
    for (index, step) in policy.steps.iter().enumerate() {
        match &step.op {
            Op::ClearResults(clear) => {
                let sticky = sticky.entry(index).or_default();
                // What was cleared before is cleared when the trigger looks.
                let cleared = clear_results(model, (step, clear), false, &mut list, sticky);
                let bytes = render(model, request, &list).len() as u64;
                let results = list.iter().filter(|m| !m.dropped).map(|m| m.part.results.len());
                let results = results.sum::<usize>() as u64 - cleared;
                let fires = step.trigger.as_ref().is_none_or(|trigger| {
                    let metric = match trigger.metric {
                        Metric::EstTokens => bytes.div_ceil(4),
                        _ => results,
                    };
                    trigger.fires(metric, &Budget::default()).unwrap()
                });
                clear_results(model, (step, clear), fires, &mut list, sticky);
            }
            Op::Window(window) => drop_messages(window, &mut list),
            _ => {}
        }
    }
    let body = render(model, request, &list);
    let before = recorded(model, request);
    let account = account(&list, &body, &before);
    Naive { fidelity: fidelity(model, policy, request), account, body }
}

fn messages<'m>(model: &'m Model, request: &Request) -> Vec<Message<'m>> {
    let message = |number: &usize| {
        let part = &model.parts[*number];
        let texts = slots(part).map(|slot| slot.text.chars().map(|c| (c, true)).collect());
        Message {
            number: *number,
            part,
            texts: texts.collect(),
            capped: BTreeSet::new(),
            cleared: BTreeSet::new(),
            dropped: false,
        }
    };
    request.items.iter().map(message).collect()
}

fn slots(part: &Part) -> impl Iterator<Item = &Slot> {
    part.pieces.iter().filter_map(|piece| match piece {
        Piece::Slot(slot) => Some(slot),
        Piece::Literal(_) => None,
    })
}

fn tool(model: &Model, call: Option<usize>) -> Option<&[u8]> {
    call.map(|call| model.calls[call].tool.as_bytes())
}

fn cap_message(model: &Model, policy: &Policy, message: &mut Message<'_>) {
    let part = message.part;
    for (slot, text) in slots(part).zip(&mut message.texts) {
        if slot.kind != SlotKind::TOOL_OUTPUT {
            continue;
        }
        let (_, call, _) = part.results.iter().find(|(group, ..)| *group == slot.group).unwrap();
        for step in &policy.steps {
            let Op::CapText(cap) = &step.op else { continue };
            if step.applies.to(tool(model, *call)) && cap_one(cap, text) {
                message.capped.insert(slot.group);
            }
        }
    }
}

/// Cuts a text; tells whether there was something to cut.
fn cap_one(cap: &CapText, text: &mut Text) -> bool {
    let plain: String = text.iter().map(|(c, _)| *c).collect();
    let Some(cut) = text::cap_text(cap, &plain, &Context::default()).unwrap() else { return false };
    let whole = std::mem::take(text);
    for piece in &cut.pieces {
        match piece {
            text::Piece::Kept(range) => {
                let [from, to] = [range.start, range.end].map(|at| plain[..at].chars().count());
                text.extend(&whole[from..to]);
            }
            text::Piece::Inserted(marker) => text.extend(marker.chars().map(|c| (c, false))),
            text::Piece::Half(_) => panic!("no cap of these cuts through a character"),
        }
    }
    true
}

/// Clears what stays cleared, and what is old where the step acts. Gives how many it has cleared.
fn clear_results(
    model: &Model,
    (found, step): (&Step, &ClearResults),
    fires: bool,
    list: &mut [Message<'_>],
    sticky: &mut BTreeSet<Listed>,
) -> u64 {
    let mut cleared = 0;
    let mut results = Vec::new();
    for (position, message) in list.iter().enumerate().filter(|(_, m)| !m.dropped) {
        let equal = list[..position].iter().filter(|m| m.number == message.number).count();
        for (group, call, _) in &message.part.results {
            let is_for = found.applies.to(tool(model, *call));
            results.push((position, is_for, (message.number, equal, *group)));
        }
    }
    let keep = usize::try_from(step.keep.n).unwrap();
    let old = results.len().saturating_sub(keep);
    let old = if fires { old } else { 0 };
    let stays = sticky.clone();
    for (nth, (position, is_for, listed)) in results.into_iter().enumerate() {
        if !is_for || (nth >= old && !stays.contains(&listed)) {
            continue;
        }
        if step.sticky {
            sticky.insert(listed);
        }
        let (_, _, group) = listed;
        if list[position].cleared.insert(group) {
            cleared += 1;
            replace(&mut list[position], group, step.text());
        }
    }
    cleared
}

fn replace(message: &mut Message<'_>, group: u16, replacement: &str) {
    let mut text = replacement;
    for (slot, shown) in slots(message.part).zip(&mut message.texts) {
        if slot.kind == SlotKind::TOOL_OUTPUT && slot.group == group {
            *shown = text.chars().map(|c| (c, false)).collect();
            text = "";
        }
    }
}

/// Positions of a result and of the call it belongs to, for each result of the list.
fn pairs(list: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (position, message) in list.iter().enumerate() {
        for (_, call, _) in &message.part.results {
            let holds = |m: &Message<'_>| call.is_some_and(|call| m.part.calls.contains(&call));
            pairs.extend(list[..position].iter().rposition(holds).map(|call| (position, call)));
        }
    }
    pairs
}

fn drop_messages(step: &Window, list: &mut [Message<'_>]) {
    let left: Vec<usize> = (0..list.len()).filter(|at| !list[*at].dropped).collect();
    let mut head = usize::try_from(step.protect_head).unwrap().min(left.len());
    let keep = usize::try_from(step.keep.as_ref().unwrap().n).unwrap();
    let mut start = left.len().saturating_sub(keep).max(head);
    let pairs = pairs(list);
    let torn = |head: usize, start: usize, kept: &[usize]| {
        let gone = |at: &usize| left[head..start].contains(at);
        pairs.iter().any(|(result, call)| {
            (gone(call) && kept.contains(result)) || (kept.contains(call) && gone(result))
        })
    };
    // First the window grows until it has the calls that it needs, then the head.
    while step.boundary == Boundary::SafeGroup && torn(head, start, &left[start..]) {
        start -= 1;
    }
    while step.boundary == Boundary::SafeGroup && torn(head, start, &left[..head]) {
        head += 1;
    }
    for position in &left[head..start] {
        list[*position].dropped = true;
    }
}

fn is_counted(slot: &Slot) -> bool {
    let kind = slot.kind;
    kind != SlotKind::CALL_ID && kind != SlotKind::RESULT_CALL_ID && kind != SlotKind::TOOL_NAME
}

fn account(list: &[Message<'_>], body: &[u8], before: &[u8]) -> Account {
    let mut account = Account {
        body_bytes: body.len() as u64,
        recorded_bytes: before.len() as u64,
        tokens: (body.len() as u64).div_ceil(4),
        changed: body != before,
        ..Account::default()
    };
    let count = |number: usize| u32::try_from(number).unwrap();
    for message in list {
        for (slot, text) in slots(message.part).zip(&message.texts).filter(|(s, _)| is_counted(s)) {
            let kept = text.iter().filter(|(_, recorded)| *recorded && !message.dropped);
            let kept: usize = kept.map(|(c, _)| c.len_utf8()).sum();
            account.hidden_bytes += (slot.text.len() - kept) as u64;
        }
        account.dropped_messages += u32::from(message.dropped);
        if !message.dropped {
            account.cleared_results += count(message.cleared.len());
            account.capped_results += count(message.capped.difference(&message.cleared).count());
        }
    }
    let broken = |(result, call): &&(usize, usize)| list[*result].dropped != list[*call].dropped;
    account.broken_pairs = count(pairs(list).iter().filter(broken).count());
    account
}

fn fidelity(model: &Model, policy: &Policy, request: &Request) -> Fidelity {
    if policy.steps.is_empty() {
        return Fidelity::Exact;
    }
    if request.unsplit {
        return Fidelity::Refused(Refusal::Unsplit { step: 0 });
    }
    for (step, found) in policy.steps.iter().enumerate() {
        let Op::CapText(_) = &found.op else { continue };
        let results = request.items.iter().flat_map(|part| &model.parts[*part].results);
        for (_, call, is_output) in results {
            let dropped = call.map(|call| model.calls[call].dropped);
            let whole = *is_output && dropped == Some(Dropped::Bytes(0));
            if !whole && found.applies.to(tool(model, *call)) {
                return Fidelity::Assumed(Assumption::SentIsWhole { step });
            }
        }
    }
    if request.edited {
        return Fidelity::Assumed(Assumption::EditsKept { step: 0 });
    }
    Fidelity::Derived
}

/// Writes a request out.
fn render(model: &Model, request: &Request, list: &[Message<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in &request.head {
        render_part(&model.parts[*part], &plain(&model.parts[*part]), &[], &mut out);
    }
    let mut first = true;
    for (position, message) in list.iter().enumerate().filter(|(_, m)| !m.dropped) {
        if !first {
            out.extend(Model::separator());
        }
        first = false;
        let marks = request.marks.iter().filter(|(item, _)| *item == position);
        let marks: Vec<_> = marks.map(|(item, at)| (*at, mark(*item, *at))).collect();
        let texts = message.texts.iter().map(|text| text.iter().map(|(c, _)| *c).collect());
        render_part(message.part, &texts.collect::<Vec<_>>(), &marks, &mut out);
    }
    for part in &request.tail {
        render_part(&model.parts[*part], &plain(&model.parts[*part]), &[], &mut out);
    }
    out
}

fn plain(part: &Part) -> Vec<String> {
    slots(part).map(|slot| slot.text.clone()).collect()
}

/// Writes a part out. A mark at an offset where a slot stands comes after it.
fn render_part(part: &Part, texts: &[String], marks: &[(usize, String)], out: &mut Vec<u8>) {
    let mut at = 0;
    let mut marks = marks.iter().peekable();
    let mut texts = texts.iter();
    for piece in &part.pieces {
        match piece {
            Piece::Literal(literal) => {
                for byte in literal.bytes() {
                    while let Some((_, mark)) = marks.next_if(|(offset, _)| *offset == at) {
                        out.extend(mark.as_bytes());
                    }
                    out.push(byte);
                    at += 1;
                }
            }
            Piece::Slot(slot) => slot.escape.escape_into(texts.next().unwrap(), out),
        }
    }
    for (_, mark) in marks {
        out.extend(mark.as_bytes());
    }
}
