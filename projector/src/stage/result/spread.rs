//! A text of the right size between two ends: what is not on record is stood in for.

use alloc::borrow::ToOwned as _;
use alloc::string::String;

use super::{GAP, TOKEN_BYTES};

/// Longest stretch that is stood in for, in bytes.
const GAP_BYTES_MAX: u64 = 256 << 20;
/// Stands for a stretch of a size that nobody told, in bytes and in lines.
const UNTOLD_BYTES: u64 = 1 << 20;
const UNTOLD_LINES: u64 = 4096;

/// Both ends, and what the text says of what is between them.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) head: String,
    pub(super) tail: String,
    /// Code points that are gone, as the marker counts; `None` where nothing counts them.
    pub(super) hidden_chars: Option<u64>,
    /// Code points that an earlier step put in the place of what it hid.
    pub(super) marker_chars: u64,
    /// Bytes that an earlier step hid.
    pub(super) hidden_before: u64,
    /// Of the whole output, where the text says it.
    pub(super) total_chars: Option<u64>,
    pub(super) tokens: Option<u64>,
    pub(super) lines: Option<u64>,
}

impl Ends {
    /// A text of the right size with these ends; `None` where what is told of it does not add up,
    /// or where nothing is told and a step `counts`.
    pub(super) fn spread(&self, head: &str, tail: &str, counts: bool) -> Option<String> {
        let chars = |text: &str| text.chars().count() as u64;
        let shown = chars(&self.head).checked_add(chars(&self.tail))?;
        let hidden = match (self.hidden_chars, self.total_chars, self.tokens) {
            (Some(hidden), ..) => Some(hidden),
            (None, Some(total), _) => Some(total.checked_sub(shown)?),
            // Some number of bytes that makes so many tokens.
            (None, None, Some(tokens)) => {
                Some(tokens.checked_mul(TOKEN_BYTES)?.checked_sub(shown)?)
            }
            (None, None, None) => None,
        };
        let Some(hidden) = hidden else {
            return (!counts).then(|| between(head, tail, UNTOLD_BYTES, UNTOLD_LINES)).flatten();
        };
        let cut = hidden.checked_add(shown)?;
        let total = cut.checked_sub(self.marker_chars)?.checked_add(self.hidden_before)?;
        let gap = total.checked_sub(chars(head))?.checked_sub(chars(tail))?;
        if gap > GAP_BYTES_MAX {
            return None;
        }
        // What is not on record counts as one byte a character, unless the text says otherwise.
        let bytes = (head.len() + tail.len()) as u64 + gap;
        if self.tokens.is_some_and(|tokens| tokens != bytes.div_ceil(TOKEN_BYTES)) {
            return None;
        }
        let feeds = match self.lines {
            None => 0,
            Some(lines) => {
                let shown = head.matches('\n').count() + tail.matches('\n').count();
                let ended = u64::from(!tail.is_empty() && !tail.ends_with('\n'));
                lines.checked_sub(shown as u64)?.checked_sub(ended)?
            }
        };
        between(head, tail, gap, feeds)
    }
}

/// `gap` bytes between two ends, so many of them line feeds. Those are in the middle, so that what
/// stands beside the ends is no text.
fn between(head: &str, tail: &str, gap: u64, feeds: u64) -> Option<String> {
    let plain = gap.checked_sub(feeds)?;
    let (before, feeds) = (usize::try_from(plain / 2).ok()?, usize::try_from(feeds).ok()?);
    let behind = usize::try_from(plain).ok()? - before;
    if gap > 0 && (before == 0 || behind == 0) {
        return None;
    }
    let mut out = head.to_owned();
    out.extend(core::iter::repeat_n(GAP, before));
    out.extend(core::iter::repeat_n('\n', feeds));
    out.extend(core::iter::repeat_n(GAP, behind));
    out.push_str(tail);
    Some(out)
}
