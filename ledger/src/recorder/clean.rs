//! Redacts a JSON text string by string, so that an escape can neither hide a secret nor be cut
//! in half by a placeholder.

use core::ops::Range;
use std::borrow::Cow;

use artifacts::redact::{Redacted, Redactor};

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

/// The stretches that a plain redaction replaced, in coordinates of the text before it.
pub(crate) fn edits_of(redactions: &[artifacts::redact::Redaction]) -> Vec<Edit> {
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
        for (inside, clean) in replacements(redactor, raw, hint) {
            let edit = Edit {
                raw_start: start + inside.start,
                raw_end: start + inside.end,
                clean_bytes: clean.len(),
            };
            let buffer = out.get_or_insert_with(|| Vec::with_capacity(json.len()));
            buffer.extend_from_slice(json.get(done..edit.raw_start).unwrap_or_default());
            buffer.extend_from_slice(&clean);
            done = edit.raw_end;
            cleaned.edits.push(edit);
            cleaned.redactions = cleaned.redactions.saturating_add(1);
        }
        at = end + 1;
    }
    if let Some(mut buffer) = out {
        buffer.extend_from_slice(json.get(done..).unwrap_or_default());
        cleaned.text = Cow::Owned(buffer);
    }
    cleaned
}

/// Stretches of one string's inside that are replaced, and what stands there instead. The bytes
/// around them stay as they were escaped.
fn replacements(redactor: &Redactor, raw: &[u8], hint: Escape) -> Vec<(Range<usize>, Vec<u8>)> {
    let Ok(text) = unescape(raw) else {
        return spans(&redactor.redact(raw)).collect();
    };
    let redacted = redactor.redact(text.as_bytes());
    if !redacted.is_changed() {
        return Vec::new();
    }
    let escape = hint.union(Escape::detect(raw));
    let mut place = Place { raw: 0, text: 0 };
    spans(&redacted)
        .map(|(inside, clean)| {
            let start = place.go_to(inside.start, raw);
            let end = place.go_to(inside.end, raw);
            let mut escaped = Vec::with_capacity(clean.len());
            escape.escape_into(&String::from_utf8_lossy(&clean), &mut escaped);
            (start..end, escaped)
        })
        .collect()
}

/// What was replaced: where it stood before, and the placeholder.
fn spans(redacted: &Redacted<'_>) -> impl Iterator<Item = (Range<usize>, Vec<u8>)> {
    let narrow = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (mut raw_end, mut clean_end) = (0, 0);
    redacted.redactions().iter().map(move |redaction| {
        let clean = narrow(redaction.offset)..narrow(redaction.offset + redaction.bytes);
        let start = raw_end + (clean.start - clean_end);
        (raw_end, clean_end) = (start + narrow(redaction.raw_bytes), clean.end);
        (start..raw_end, redacted.as_bytes().get(clean).unwrap_or_default().to_vec())
    })
}

/// The same place in an escaped string and in its text.
struct Place {
    raw: usize,
    text: usize,
}

impl Place {
    /// Goes on to an offset in the text and returns the one in the escaped string, which is known
    /// to decode.
    fn go_to(&mut self, text: usize, raw: &[u8]) -> usize {
        while self.text < text && self.raw < raw.len() {
            let (raw_bytes, text_bytes) = match raw.get(self.raw..) {
                Some([b'\\', b'u', ..]) => {
                    let one = raw.get(self.raw..self.raw + 6).unwrap_or_default();
                    let pair = raw.get(self.raw..self.raw + 12).unwrap_or_default();
                    match (unescape(one), unescape(pair)) {
                        (Ok(one), _) => (6, one.len()),
                        (_, Ok(pair)) => (12, pair.len()),
                        _ => (6, 1),
                    }
                }
                Some([b'\\', ..]) => (2, 1),
                _ => (1, 1),
            };
            self.raw += raw_bytes;
            self.text += text_bytes;
        }
        self.raw
    }
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
