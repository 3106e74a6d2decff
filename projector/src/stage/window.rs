//! `window`: which messages of a request are left out.

use core::ops::Range;

use crate::policy::{Boundary, Window};

/// The messages that are left out of a list of `count`.
///
/// `needs` gives, for a message, the position of the oldest message that holds a call which this
/// one has a result for, if that is an earlier one.
pub fn dropped(
    window: &Window,
    count: usize,
    mut needs: impl FnMut(usize) -> Option<usize>,
) -> Range<usize> {
    let head = usize::try_from(window.protect_head).unwrap_or(usize::MAX).min(count);
    let keep = usize::try_from(window.keep).unwrap_or(usize::MAX);
    let mut start = count.saturating_sub(keep).max(head);
    if window.boundary == Boundary::SafeGroup {
        // Every kept message is asked once: the window only grows towards the head.
        let mut checked = count;
        while checked > start {
            checked -= 1;
            if let Some(call) = needs(checked) {
                start = start.min(call).max(head);
            }
        }
    }
    head..start
}

#[cfg(test)]
mod tests;
