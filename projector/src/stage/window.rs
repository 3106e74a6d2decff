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
    mut needs: impl FnMut(usize) -> I,
) -> Range<usize> {
    let head = usize::try_from(window.protect_head).unwrap_or(usize::MAX).min(count);
    let keep = usize::try_from(window.keep).unwrap_or(usize::MAX);
    let mut start = count.saturating_sub(keep).max(head);
    if window.boundary == Boundary::SafeGroup {
        // Every kept message is asked once: the window only grows towards the head.
        let mut checked = count;
        while checked > start {
            checked -= 1;
            // A call in the protected head is kept however small the window is.
            let calls = needs(checked).into_iter().filter(|call| *call >= head);
            start = calls.fold(start, usize::min);
        }
    }
    head..start
}

#[cfg(test)]
mod tests;
