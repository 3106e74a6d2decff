//! `window`: which messages of a request are left out.
//!
//! The stretch that is left out is found from both ends, so that a request costs the messages
//! that are kept and not those that are left out. At an event, or where a request would not fit,
//! what is left out once stays left out.

use core::ops::Range;

use ledger::wire::Role;

use super::memory::Memory;
use crate::fold::list::{Ground, List};
use crate::policy::op::{Parity, Role as Says};
use crate::policy::{At, Boundary, Budget, KeepUnit, Window, share};

/// Leaves out what `step` leaves out of the messages that reach its layer, where it acts. False:
/// an amount that it rests on is not known.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, at, step): (usize, At, &Window),
    memory: &mut Memory,
    (fires, budget, tokens): (bool, &Budget, u64),
) -> bool {
    if at == At::Request {
        let gap = if fires { gap(list, ground, layer, step) } else { 0..0 };
        let first = gap.start;
        list.leave_out(ground, layer, gap);
        mark(list, ground, (layer, step), first);
        return true;
    }
    let mut known = true;
    if fires {
        let gap = if let Some(free) = step.unwind_until_free {
            let fits = free.value(budget).zip(budget.window);
            let fits = fits.map(|(free, window)| window.saturating_sub(free));
            known = fits.is_some();
            let excess = fits.map_or(0, |fits| tokens.saturating_sub(fits));
            unwound(list, ground, (layer, step), excess)
        } else {
            gap(list, ground, layer + 1, step)
        };
        let gone: alloc::vec::Vec<_> =
            gap.filter(|position| list.reaches(*position, layer + 1)).collect();
        memory.leave_out(list, ground, layer, gone);
    }
    show(list, ground, (layer, step));
    known
}

/// Takes up what was left out before.
pub(crate) fn prepare(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Window),
    memory: &mut Memory,
) {
    memory.take_up(list, ground, layer);
    show(list, ground, (layer, step));
}

/// Puts the marker in the place of what the layer has left out for good.
fn show(list: &mut List, ground: Ground<'_, '_>, (layer, step): (usize, &Window)) {
    if step.gap_marker.is_empty() {
        return;
    }
    let gone = |at: &usize| list.reaches(*at, layer) && !list.reaches(*at, layer + 1);
    let first = if left_out(list, layer) > 0 { (0..list.len()).find(gone) } else { None };
    mark(list, ground, (layer, step), first.unwrap_or(0));
}

/// Messages that the layer leaves out.
fn left_out(list: &List, layer: usize) -> u64 {
    let (given, left) = (list.sums(layer), list.sums(layer + 1));
    (given.messages - given.added) - (left.messages - left.added)
}

/// Puts the marker in the place of the messages that the layer leaves out.
fn mark(list: &mut List, ground: Ground<'_, '_>, (layer, step): (usize, &Window), at: usize) {
    if step.gap_marker.is_empty() {
        return;
    }
    let gone = left_out(list, layer);
    let text = step.gap_marker.replace("{n}", &alloc::format!("{gone}"));
    let marker = (gone > 0).then(|| ground.said(layer, at, Says::User, &text));
    list.insert(layer, marker.into_iter().collect());
}

/// Positions of the first message that is left out and of the first behind them, among the
/// messages that reach `view`.
fn gap(list: &List, ground: Ground<'_, '_>, view: usize, step: &Window) -> Range<usize> {
    let role = |position: usize| {
        list.at(position).map_or(Role::Unknown, |(part, _)| ground.index.part(part).role)
    };
    let mut head = u64::from(step.protect_head);
    let mut end = list.next(view, 0).unwrap_or(list.len());
    let (mut system_tokens, mut protected) = (0, 0);
    if step.protect_system {
        while end < list.len() && role(end) == Role::System {
            system_tokens += list.tokens_at(ground, view, end);
            (head, protected) = (head.saturating_sub(1), protected + 1);
            end = list.next(view, end + 1).unwrap_or(list.len());
        }
    }
    for _ in 0..head {
        if end < list.len() {
            protected += 1;
            end = list.next(view, end + 1).unwrap_or(list.len());
        }
    }
    let sums = list.sums(view);
    let behind = (sums.messages - sums.added).saturating_sub(protected);
    if step.keep.as_ref().is_some_and(|keep| keep.oldest) {
        let start = oldest(list, ground, view, step, (end, system_tokens));
        return start..list.len();
    }
    let Some(begin) = begin(list, ground, view, step, (end, behind, system_tokens)) else {
        return 0..0;
    };
    let mut start = list.next(view, begin).unwrap_or(list.len()).max(end);
    if step.parity == Parity::Even {
        let gone = (end..start).filter(|position| list.reaches(*position, view)).count();
        if !gone.is_multiple_of(2) {
            start = list.previous(view, start).unwrap_or(start);
        }
    }
    match step.boundary {
        Boundary::Any => end..start,
        Boundary::SafeGroup => safe(list, view, end..start),
        Boundary::User | Boundary::Assistant | Boundary::NoTool => {
            let fits = |position: usize| match step.boundary {
                Boundary::User => list
                    .at(position)
                    .is_some_and(|(part, _)| ground.index.part(part).is_user_turn()),
                Boundary::Assistant => role(position) == Role::Assistant,
                _ => !list.has_results(ground, position),
            };
            while start < list.len() && !fits(start) {
                start = list.next(view, start + 1).unwrap_or(list.len());
            }
            end..start
        }
    }
}

/// Where the part that is kept begins; `None`: nothing is left out.
fn begin(
    list: &List,
    ground: Ground<'_, '_>,
    view: usize,
    step: &Window,
    (end, behind, system_tokens): (usize, u64, u64),
) -> Option<usize> {
    let Some(keep) = step.keep.as_ref() else {
        let gone = share(behind, step.drop_per_mille?);
        return Some(nth(list, view, end, gone));
    };
    let begin = match keep.unit {
        KeepUnit::Messages => {
            if behind <= keep.n {
                return None;
            }
            newest(list, view, keep.n)
        }
        KeepUnit::Tokens => fitting(list, ground, view, keep.n.saturating_sub(system_tokens), end),
        KeepUnit::UserTurns => turns(list, view, keep.n),
        KeepUnit::Results => results(list, view, keep.n),
    };
    Some(match keep.min {
        0 => begin,
        least => begin.min(newest(list, view, u64::from(least))),
    })
}

/// Where the oldest messages end that are kept, behind the head.
fn oldest(
    list: &List,
    ground: Ground<'_, '_>,
    view: usize,
    step: &Window,
    (head, system_tokens): (usize, u64),
) -> usize {
    let Some(keep) = step.keep.as_ref() else { return list.len() };
    let mut left = match keep.unit {
        KeepUnit::Tokens => keep.n.saturating_sub(system_tokens),
        _ => keep.n,
    };
    let mut at = list.next(view, head).unwrap_or(list.len());
    let mut kept = 0;
    while at < list.len() {
        let takes = match keep.unit {
            KeepUnit::Tokens => list.tokens_at(ground, view, at),
            KeepUnit::Messages => 1,
            KeepUnit::UserTurns => {
                let turn =
                    list.at(at).is_some_and(|(part, _)| ground.index.part(part).is_user_turn());
                u64::from(turn)
            }
            KeepUnit::Results => u64::from(list.has_results(ground, at)),
        };
        match left.checked_sub(takes) {
            Some(rest) => left = rest,
            None if kept < u64::from(keep.min) => left = 0,
            None => break,
        }
        kept += 1;
        at = list.next(view, at + 1).unwrap_or(list.len());
    }
    at
}

/// The message behind so many, from a position on.
fn nth(list: &List, view: usize, from: usize, count: u64) -> usize {
    let mut at = list.next(view, from).unwrap_or(list.len());
    for _ in 0..count {
        at = list.next(view, at + 1).unwrap_or(list.len());
    }
    at
}

/// The newest pairs of messages that have so many tokens together.
fn unwound(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Window),
    tokens: u64,
) -> Range<usize> {
    let view = layer + 1;
    let head = nth(list, view, 0, u64::from(step.protect_head));
    let mut left = tokens;
    let mut start = list.len();
    while left > 0 {
        let Some(last) = list.previous(view, start).filter(|at| *at >= head) else { break };
        let first = list.previous(view, last).filter(|at| *at >= head).unwrap_or(last);
        for position in [last, first].into_iter().take(1 + usize::from(first != last)) {
            left = left.saturating_sub(list.tokens_at(ground, view, position));
        }
        start = first;
    }
    start..list.len()
}

/// Where the newest so many messages begin.
fn newest(list: &List, layer: usize, count: u64) -> usize {
    let mut start = list.len();
    for _ in 0..count {
        start = list.previous(layer, start).unwrap_or(start);
    }
    start
}

/// Where the newest messages begin that together have at most so many tokens.
fn fitting(list: &List, ground: Ground<'_, '_>, layer: usize, tokens: u64, end: usize) -> usize {
    let mut start = list.len();
    let mut left = tokens;
    while let Some(message) = list.previous(layer, start).filter(|message| *message >= end) {
        let Some(rest) = left.checked_sub(list.tokens_at(ground, layer, message)) else { break };
        (left, start) = (rest, message);
    }
    start
}

/// Where the newest so many user turns begin; at the beginning where there are fewer.
fn turns(list: &List, layer: usize, count: u64) -> usize {
    let nth = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut turns = list.user_turns().iter().rev().filter(|at| list.reaches(**at, layer));
    turns.nth(nth).copied().unwrap_or(0)
}

/// Where the newest so many results begin; at the beginning where there are fewer.
fn results(list: &List, layer: usize, count: u64) -> usize {
    let nth = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut results = list.results().iter().rev().filter(|(at, _)| list.reaches(*at, layer));
    results.nth(nth).map_or(0, |(position, _)| *position)
}

/// Shrinks a gap until no call and its result stand on different sides of an edge.
fn safe(list: &List, layer: usize, gap: Range<usize>) -> Range<usize> {
    let Range { start: protected, end: mut start } = gap;
    let mut at = list.len();
    while let Some(message) = list.previous(layer, at).filter(|message| *message >= start) {
        at = message;
        let calls = list.links(message).filter(|link| link.result == message);
        // A call in the protected head is kept however small the window is.
        let calls = calls.map(|link| link.call).filter(|call| *call >= protected);
        start = calls.filter(|call| list.reaches(*call, layer)).fold(start, usize::min);
    }
    // The head grows by the results of its calls that would be left out, and by what stands
    // between; those may be calls in turn.
    let mut head = protected;
    let mut at = 0;
    while let Some(message) = list.next(layer, at).filter(|message| *message < head) {
        at = message + 1;
        let results = list.links(message).filter(|link| link.call == message);
        let results = results.map(|link| link.result).filter(|result| *result < start);
        let last = results.filter(|result| list.reaches(*result, layer)).max();
        head = last.map_or(head, |result| head.max(result + 1));
    }
    head.min(start)..start
}
