//! `window`: which messages of a request are left out.
//!
//! The stretch that is left out is found from both ends, so that a request costs the messages
//! that are kept and not those that are left out.

use core::ops::Range;

use crate::fold::list::{Ground, List};
use crate::policy::{Boundary, Window};

/// Leaves out what `step` leaves out of the messages that reach its layer.
pub(crate) fn run(list: &mut List, ground: Ground<'_, '_>, (layer, step): (usize, &Window)) {
    let gap = gap(list, layer, step);
    list.leave_out(ground, layer, gap);
}

/// Positions of the first message that is left out and of the first behind them.
fn gap(list: &List, layer: usize, step: &Window) -> Range<usize> {
    let count = list.sums(layer).messages;
    let (head, keep) = (u64::from(step.protect_head), step.keep.as_ref().map_or(0, |keep| keep.n));
    if count <= head.saturating_add(keep) {
        return 0..0;
    }
    let mut start = list.len();
    for _ in 0..keep {
        start = list.previous(layer, start).unwrap_or(start);
    }
    let mut end = list.next(layer, 0).unwrap_or(start);
    for _ in 0..head {
        end = list.next(layer, end + 1).unwrap_or(start);
    }
    let start = list.next(layer, start).unwrap_or(start);
    match step.boundary {
        Boundary::Any => end..start,
        _ => safe(list, layer, end..start),
    }
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
