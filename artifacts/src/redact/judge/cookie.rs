//! Values in a cookie header. Names and attributes stay, and so do values that say nothing.

use super::text::{Short, Text};
use super::{Flags, Found, Judgement, Place};
use crate::redact::look::{self, fake};

/// Attributes of `Set-Cookie`.
const ATTRIBUTES: [&[u8]; 9] = [
    b"path",
    b"domain",
    b"expires",
    b"max-age",
    b"samesite",
    b"secure",
    b"httponly",
    b"version",
    b"priority",
];
/// Most bytes of a header that are looked at.
const HEADER_BYTES_MAX: usize = 8192;
/// Random bytes that a value needs.
const RANDOM_BYTES_MIN: usize = 10;

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let Some(at) = value_at(&text, place.end)? else { return nothing };
    let end = text.run(at, HEADER_BYTES_MAX, is_value_byte)?;
    Ok(Judgement::several(pairs(text.bytes, at, end), end.max(place.end)))
}

/// Values of the pairs in `at..end` of a text.
pub(super) fn pairs(text: &[u8], mut at: usize, end: usize) -> Vec<Found> {
    let mut found = Vec::new();
    while at < end {
        let pair = text.get(at..end).unwrap_or_default();
        let pair_end = pair.iter().position(|byte| *byte == b';').map_or(end, |n| at + n);
        let pair = text.get(at..pair_end).unwrap_or_default();
        if let Some(equals) = pair.iter().position(|byte| *byte == b'=') {
            let name = pair.get(..equals).unwrap_or_default().trim_ascii();
            let value = pair.get(equals + 1..).unwrap_or_default();
            let is_attribute = ATTRIBUTES.iter().any(|it| name.eq_ignore_ascii_case(it));
            if !is_attribute && is_secret(value) {
                let start = at + equals + 1;
                found.push(Found { start, end: pair_end, flags: Flags::default() });
            }
        }
        at = pair_end + 1;
    }
    found
}

/// Where the value of the header starts that ends in the anchor.
fn value_at(text: &Text<'_>, from: usize) -> Result<Option<usize>, Short> {
    let mut at = from;
    if text.byte(at)? == Some(b's') {
        at += 1;
    }
    if let Some(quote) = text.quote(at)? {
        at += quote.len();
    }
    let glue_end = text.run(at, 12, |byte| matches!(byte, b' ' | b':' | b'=' | b'[' | b','))?;
    if glue_end == at {
        return Ok(None);
    }
    let named = text.quote(glue_end)?.filter(|_| true);
    let mut start = glue_end + named.map_or(0, super::text::Quote::len);
    if text.has_word(start, b"value")? {
        let past = start + b"value".len();
        let glue = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b':' | b'=');
        start = text.run(past, 16, glue)?;
    }
    Ok(Some(start))
}

const fn is_value_byte(byte: u8) -> bool {
    (byte.is_ascii_graphic() || byte == b' ')
        && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'<' | b'>' | b'{' | b'}' | b'(' | b')')
}

fn is_secret(value: &[u8]) -> bool {
    !fake::is_fake(value)
        && !value.contains(&b' ')
        && !value.starts_with(b"[REDACTED:")
        && look::random_bytes(value) >= RANDOM_BYTES_MIN
}
