//! Redacts a JSON text string by string, so that an escape can neither hide a secret nor be cut
//! in half by a placeholder.

use std::borrow::Cow;

use artifacts::redact::Redactor;

use crate::wire::escape::{Escape, unescape};

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
    /// Spans that the redactor replaced.
    pub(crate) redactions: u32,
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

/// Redacts every string of `json`, keys included, in its decoded form.
///
/// A string that does not decode is redacted as it stands. Text outside of strings is left: it
/// ends up in a literal, and whoever stores that redacts it.
pub(crate) fn json<'a>(redactor: &Redactor, json: &'a [u8], hint: Escape) -> Cleaned<'a> {
    let mut out: Option<Vec<u8>> = None;
    let mut cleaned = Cleaned { text: Cow::Borrowed(json), edits: Vec::new(), redactions: 0 };
    let mut done = 0;
    let mut at = 0;
    while let Some(open) = find(json, b'"', at) {
        let start = open + 1;
        let end = string_end(json, start);
        let raw = json.get(start..end).unwrap_or_default();
        if let Some((replacement, redactions)) = string(redactor, raw, hint) {
            let buffer = out.get_or_insert_with(|| Vec::with_capacity(json.len()));
            buffer.extend_from_slice(json.get(done..start).unwrap_or_default());
            buffer.extend_from_slice(&replacement);
            let clean_bytes = replacement.len();
            cleaned.edits.push(Edit { raw_start: start, raw_end: end, clean_bytes });
            cleaned.redactions += redactions;
            done = end;
        }
        at = end + 1;
    }
    if let Some(mut buffer) = out {
        buffer.extend_from_slice(json.get(done..).unwrap_or_default());
        cleaned.text = Cow::Owned(buffer);
    }
    cleaned
}

/// The redacted form of one string's inside, when redaction changes it.
fn string(redactor: &Redactor, raw: &[u8], hint: Escape) -> Option<(Vec<u8>, u32)> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let Ok(text) = unescape(raw) else {
        let redacted = redactor.redact(raw);
        return redacted
            .is_changed()
            .then(|| (redacted.as_bytes().to_vec(), count(redacted.redactions().len())));
    };
    let redacted = redactor.redact(text.as_bytes());
    if !redacted.is_changed() {
        return None;
    }
    let redactions = count(redacted.redactions().len());
    let clean = String::from_utf8_lossy(redacted.as_bytes());
    let mut escaped = Vec::with_capacity(raw.len());
    hint.union(Escape::detect(raw)).escape_into(&clean, &mut escaped);
    Some((escaped, redactions))
}

fn find(json: &[u8], byte: u8, from: usize) -> Option<usize> {
    memchr::memchr(byte, json.get(from..)?).map(|at| from + at)
}

/// Offset of the quote that ends the string starting at `from`, or the end of the text.
fn string_end(json: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(hit) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += hit;
        if json.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    json.len()
}

#[cfg(test)]
mod tests;
