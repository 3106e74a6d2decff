//! A redacted JSON text with an account of what was replaced, so that places in the raw text can
//! be found again.

use std::borrow::Cow;

use artifacts::redact::{Redaction, Redactor};

use crate::wire::escape::{Escape, unescape};
use crate::wire::template::Slot;

/// A stretch of the raw text that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Where it began in the raw text.
    pub(crate) raw_start: usize,
    /// Where it ended in the raw text.
    pub(crate) raw_end: usize,
    /// Length of what stands there now.
    pub(crate) clean_bytes: usize,
}

/// A redacted text and what was done to it.
#[derive(Debug)]
pub(crate) struct Cleaned<'a> {
    /// The redacted text.
    pub(crate) text: Cow<'a, [u8]>,
    /// Replaced stretches, in order.
    pub(crate) edits: Vec<Edit>,
    /// What was replaced in them, as the redactor tells it.
    pub(crate) redactions: Vec<Redaction>,
    /// All of it was kept back.
    pub(crate) withheld: bool,
}

impl Cleaned<'_> {
    /// What was replaced in the text of a slot, with places and lengths in that text.
    pub(crate) fn inside(&self, slot: &Slot<'_>) -> Vec<Redaction> {
        let narrow = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let first = self.redactions.partition_point(|it| narrow(it.offset) < slot.span.start);
        let rest = self.redactions.get(first..).unwrap_or_default();
        let inside = rest.iter().take_while(|it| narrow(it.offset + it.bytes) <= slot.span.end);
        let in_text = |it: &Redaction| {
            let before = self.text.get(slot.span.start..narrow(it.offset)).unwrap_or_default();
            let is_raw = slot.escape == Escape::VERBATIM;
            let offset = if is_raw { before.len() } else { unescape(before).ok()?.len() };
            let (bytes, raw_bytes) = if is_raw { (it.bytes, it.raw_bytes) } else { it.text_bytes };
            let (offset, text_bytes) = (offset as u64, (bytes, raw_bytes));
            Some(Redaction { offset, bytes, raw_bytes, text_bytes, ..*it })
        };
        inside.filter_map(in_text).collect()
    }
}

/// Where a raw offset stands in the redacted text.
pub(crate) fn moved(edits: &[Edit], raw: usize) -> usize {
    let mut shifted = raw;
    for edit in edits {
        if edit.raw_end > raw {
            break;
        }
        shifted = shifted + edit.clean_bytes - (edit.raw_end - edit.raw_start);
    }
    shifted
}

/// The stretches that a plain redaction replaced, in coordinates of the text before it.
pub(crate) fn edits_of(redactions: &[Redaction]) -> Vec<Edit> {
    let narrow = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut grown = 0_i128;
    let mut edits = Vec::with_capacity(redactions.len());
    for redaction in redactions {
        let raw_start = u64::try_from(i128::from(redaction.offset) - grown).unwrap_or(0);
        let raw_end = raw_start.saturating_add(redaction.raw_bytes);
        grown += i128::from(redaction.bytes) - i128::from(redaction.raw_bytes);
        edits.push(Edit {
            raw_start: narrow(raw_start),
            raw_end: narrow(raw_end),
            clean_bytes: narrow(redaction.bytes),
        });
    }
    edits
}

/// Redacts every string of `json`, names included, in its decoded form.
///
/// Text outside of strings is left: it ends up in a literal, and whoever stores that redacts it.
pub(crate) fn json<'a>(redactor: &Redactor, json: &'a [u8]) -> Cleaned<'a> {
    let redacted = redactor.redact_strings(json);
    if !redacted.is_changed() {
        return Cleaned {
            text: Cow::Borrowed(json),
            edits: Vec::new(),
            redactions: Vec::new(),
            withheld: false,
        };
    }
    let redactions = redacted.redactions().to_vec();
    let withheld = redacted.withheld().is_some();
    let edits = if withheld {
        let clean_bytes = redacted.as_bytes().len();
        vec![Edit { raw_start: 0, raw_end: json.len(), clean_bytes }]
    } else {
        edits_of(&redactions)
    };
    Cleaned { text: Cow::Owned(redacted.as_bytes().to_vec()), edits, redactions, withheld }
}

#[cfg(test)]
mod tests;
