//! `window`: which messages of a request are left out.
//!
//! The stretch that is left out is found from both ends, so that a request costs the messages
//! that are kept and not those that are left out.

use core::ops::Range;

use ledger::wire::Role;

use crate::fold::list::{Ground, List};
use crate::policy::{Boundary, KeepUnit, Window};

/// Leaves out what `step` leaves out of the messages that reach its layer, where it acts.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Window),
    fires: bool,
) {
    let gap = if fires { gap(list, ground, layer, step) } else { 0..0 };
    list.leave_out(ground, layer, gap);
}

/// Positions of the first message that is left out and of the first behind them.
fn gap(list: &List, ground: Ground<'_, '_>, layer: usize, step: &Window) -> Range<usize> {
    let count = list.sums(layer).messages;
    let role = |position: usize| {
        list.at(position).map_or(Role::Unknown, |(part, _)| ground.index.part(part).role)
    };
    let mut head = u64::from(step.protect_head);
    let mut end = list.next(layer, 0).unwrap_or(list.len());
    let mut system_tokens = 0;
    if step.protect_system {
        while end < list.len() && role(end) == Role::System {
            system_tokens += list.tokens_at(ground, layer, end);
            head = head.saturating_sub(1);
            end = list.next(layer, end + 1).unwrap_or(list.len());
        }
    }
    for _ in 0..head {
        if end < list.len() {
            end = list.next(layer, end + 1).unwrap_or(list.len());
        }
    }
    let Some(keep) = step.keep.as_ref() else { return 0..0 };
    let mut start = match keep.unit {
        KeepUnit::Messages => {
            if count <= head.saturating_add(keep.n) {
                return 0..0;
            }
            newest(list, layer, keep.n)
        }
        KeepUnit::Tokens => fitting(list, ground, layer, keep.n.saturating_sub(system_tokens), end),
        KeepUnit::UserTurns => turns(list, layer, keep.n),
        KeepUnit::Results => results(list, layer, keep.n),
    };
    start = list.next(layer, start).unwrap_or(list.len()).max(end);
    match step.boundary {
        Boundary::Any => end..start,
        Boundary::SafeGroup => safe(list, layer, end..start),
        Boundary::User | Boundary::Assistant | Boundary::NoTool => {
            let fits = |position: usize| match step.boundary {
                Boundary::User => list
                    .at(position)
                    .is_some_and(|(part, _)| ground.index.part(part).is_user_turn()),
                Boundary::Assistant => role(position) == Role::Assistant,
                _ => !list.has_results(ground, position),
            };
            while start < list.len() && !fits(start) {
                start = list.next(layer, start + 1).unwrap_or(list.len());
            }
            end..start
        }
    }
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
