//! Marks that a client moves from message to message: taken out of the item, kept per request.
//!
//! A moved `cache_control` would otherwise make a new message of one that did not change.

use core::ops::Range;
use std::borrow::Cow;

use super::span::{Cursor, ScanError, ValueKind};

/// The member that is treated as an overlay, with its quotes.
const MARK_KEY: &[u8] = b"\"cache_control\"";
/// Arguments of a call: the model's own JSON, where a member of this name is no mark. They fill
/// one slot, and a mark inside a slot could not be placed again.
const ARGUMENT_KEYS: [&[u8]; 2] = [b"\"input\"", b"\"args\""];
/// Most marks that are taken out of one item (Anthropic allows four per request); beyond it the
/// item is kept as sent.
pub const MARKS_MAX: usize = 16;
/// Containers deeper than this are not searched for marks.
const SEARCH_DEPTH_MAX: usize = 16;

/// One mark: the bytes that were taken out and where they stood in what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset in the item without its marks.
    pub offset: usize,
    /// The member with the comma that went with it.
    pub bytes: Vec<u8>,
}

/// An item without its marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripped<'a> {
    /// What is left.
    pub base: Cow<'a, [u8]>,
    /// What was taken out, in order.
    pub marks: Vec<Mark>,
}

/// Takes the marks out of one item.
pub fn strip(item: &[u8]) -> Stripped<'_> {
    let whole = || Stripped { base: Cow::Borrowed(item), marks: Vec::new() };
    if memchr::memmem::find(item, MARK_KEY).is_none() {
        return whole();
    }
    let mut spans = Vec::new();
    let mut cursor = Cursor::new(item, 0);
    if search(&mut cursor, 0, &mut spans).is_err() || spans.is_empty() || spans.len() > MARKS_MAX {
        return whole();
    }
    let mut base = Vec::with_capacity(item.len());
    let mut marks = Vec::with_capacity(spans.len());
    let mut at = 0;
    for span in spans {
        base.extend_from_slice(item.get(at..span.start).unwrap_or_default());
        let bytes = item.get(span.clone()).unwrap_or_default().to_vec();
        marks.push(Mark { offset: base.len(), bytes });
        at = span.end;
    }
    base.extend_from_slice(item.get(at..).unwrap_or_default());
    Stripped { base: Cow::Owned(base), marks }
}

/// Puts marks back. Offsets past the end leave the mark at the end.
pub fn restore(base: &[u8], marks: &[Mark]) -> Vec<u8> {
    let mut out =
        Vec::with_capacity(base.len() + marks.iter().map(|m| m.bytes.len()).sum::<usize>());
    let mut at = 0;
    for mark in marks {
        let next = mark.offset.clamp(at, base.len());
        out.extend_from_slice(base.get(at..next).unwrap_or_default());
        out.extend_from_slice(&mark.bytes);
        at = next;
    }
    out.extend_from_slice(base.get(at..).unwrap_or_default());
    out
}

/// Collects the spans of marks with the comma before them, or after a first member.
fn search(
    cursor: &mut Cursor<'_>,
    depth: usize,
    out: &mut Vec<Range<usize>>,
) -> Result<(), ScanError> {
    let kind = cursor.kind()?;
    if depth >= SEARCH_DEPTH_MAX || !matches!(kind, ValueKind::Object | ValueKind::Array) {
        cursor.skip_value()?;
        return Ok(());
    }
    if kind == ValueKind::Array {
        cursor.expect(b'[')?;
        let mut first = true;
        while cursor.next_element(first)? {
            first = false;
            search(cursor, depth + 1, out)?;
        }
        return Ok(());
    }
    cursor.expect(b'{')?;
    let mut member_start = cursor.pos();
    let mut first = true;
    while let Some(key) = cursor.next_key(first)? {
        let name = cursor.bytes().get(key.clone()).unwrap_or_default();
        if name == MARK_KEY {
            let value = cursor.skip_value()?;
            let mut end = value.span.end;
            let start = if first { key.start } else { member_start };
            if first {
                let mut ahead = Cursor::new(cursor.bytes(), end);
                if ahead.expect(b',').is_ok() {
                    ahead.skip_space();
                    end = ahead.pos();
                    // The next member becomes the first one of what is left.
                    *cursor = Cursor::new(cursor.bytes(), end);
                    out.push(start..end);
                    member_start = end;
                    continue;
                }
            }
            out.push(start..end);
        } else if ARGUMENT_KEYS.contains(&name) {
            cursor.skip_value()?;
        } else {
            search(cursor, depth + 1, out)?;
        }
        member_start = cursor.pos();
        first = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
