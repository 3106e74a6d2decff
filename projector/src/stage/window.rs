//! `window`: which messages of a request are left out.

use core::ops::Range;

use crate::policy::{Boundary, Window};

/// The messages that are left out of a list of `count`.
///
/// `needs` gives, for a message, the positions of the earlier messages that hold the calls which
/// it has results for.
pub fn dropped<I: IntoIterator<Item = usize>>(
    window: &Window,
    count: usize,
    needs: impl FnMut(usize) -> I,
) -> Range<usize> {
    let head = usize::try_from(window.protect_head).unwrap_or(usize::MAX).min(count);
    let keep = window.keep.as_ref().map_or(u64::MAX, |keep| keep.n);
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let start = count.saturating_sub(keep).max(head);
    match window.boundary {
        Boundary::SafeGroup => safe(head..start, count, needs),
        _ => head..start,
    }
}

/// Shrinks a gap until no call and its result stand on different sides of an edge.
///
/// One walk from the newest message to the head: each message behind the head is asked once.
fn safe<I: IntoIterator<Item = usize>>(
    gap: Range<usize>,
    count: usize,
    mut needs: impl FnMut(usize) -> I,
) -> Range<usize> {
    let Range { start: protected, end: mut start } = gap;
    let mut at = count;
    while at > start {
        at -= 1;
        // A call in the protected head is kept however small the window is.
        let calls = needs(at).into_iter().filter(|call| *call >= protected);
        start = calls.fold(start, usize::min);
    }
    // The head may end where nothing between there and the window needs a call before there; it
    // ends at the first such place.
    let mut head = start;
    let mut first_call = start;
    while at > protected {
        at -= 1;
        first_call = needs(at).into_iter().fold(first_call, usize::min);
        if first_call >= at {
            head = at;
        }
    }
    head..start
}

#[cfg(test)]
mod tests;
