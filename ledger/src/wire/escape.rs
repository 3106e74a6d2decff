//! How JSON encoders write a string, and back: unescape once, escape again to the same bytes.
//!
//! An encoder is described by a few switches. [`Escape::detect`] reads them off an escaped
//! string; whoever relies on them proves them by escaping again and comparing. A string that no
//! combination of switches reproduces is kept as it stands.

use std::borrow::Cow;

/// The switches of one encoder, in one byte. Zero is `JSON.stringify`, `serde_json`, orjson and
/// Python's `json.dumps(ensure_ascii=False)`, which all write the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, bincode::Encode, bincode::Decode)]
pub struct Escape(u8);

const NON_ASCII: u8 = 1;
const HTML: u8 = 1 << 1;
const SOLIDUS: u8 = 1 << 2;
const LINE_SEPARATORS: u8 = 1 << 3;
const UPPER_HEX: u8 = 1 << 4;
const DELETE: u8 = 1 << 5;
const LONG_BF: u8 = 1 << 6;
const RAW: u8 = 1 << 7;

/// Why an escaped string could not be turned into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnescapeError {
    /// A `\u` escape names half of a surrogate pair.
    #[error("lone surrogate at offset {offset}")]
    LoneSurrogate {
        /// Offset in the escaped string.
        offset: usize,
    },
    /// The bytes between the escapes are not UTF-8.
    #[error("not utf-8")]
    NotUtf8,
    /// A backslash is followed by something that is not an escape.
    #[error("bad escape at offset {offset}")]
    BadEscape {
        /// Offset in the escaped string.
        offset: usize,
    },
}

impl Escape {
    /// `JSON.stringify`, `serde_json`, orjson, Python with `ensure_ascii=False`.
    pub const JSON: Self = Self(0);
    /// Python's `json.dumps` default (`ensure_ascii=True`).
    pub const PYTHON_ASCII: Self = Self(NON_ASCII | DELETE);
    /// Go's `encoding/json` default (HTML-safe).
    pub const GO_HTML: Self = Self(HTML | LINE_SEPARATORS);
    /// PHP's `json_encode` default.
    pub const PHP: Self = Self(NON_ASCII | SOLIDUS);
    /// No escaping at all: the text is itself a JSON value (tool arguments sent as an object).
    pub const VERBATIM: Self = Self(RAW);

    /// The switches as stored.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Reads the switches off an escaped string (what stands between the quotes).
    ///
    /// The result is a candidate: what the string does not show is left at the default.
    pub fn detect(escaped: &[u8]) -> Self {
        let mut seen = 0;
        let mut rest = escaped;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            match rest.get(at + 1) {
                Some(b'/') => seen |= SOLIDUS,
                Some(b'u') => seen |= Self::detect_unicode(rest.get(at + 2..at + 6)),
                _ => {}
            }
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        Self(seen)
    }

    fn detect_unicode(digits: Option<&[u8]>) -> u8 {
        let Some(code) = digits.and_then(hex4) else { return 0 };
        let upper = digits.is_some_and(|d| d.iter().any(u8::is_ascii_uppercase));
        let case = if upper { UPPER_HEX } else { 0 };
        case | match code {
            0x08 | 0x0c => LONG_BF,
            0x26 | 0x3c | 0x3e => HTML,
            0x7f => DELETE,
            0x2028 | 0x2029 => LINE_SEPARATORS,
            0x80.. => NON_ASCII,
            _ => 0,
        }
    }

    /// Unions two observations of one encoder.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Appends `text` as this encoder writes it, without quotes.
    pub fn escape_into(self, text: &str, out: &mut Vec<u8>) {
        let bytes = text.as_bytes();
        if self.0 & RAW != 0 {
            out.extend_from_slice(bytes);
            return;
        }
        let plain = self.plain_table();
        let mut done = 0;
        let mut at = 0;
        while let Some(hit) = next_special(bytes, at, plain) {
            let (written, width) = self.special(text, hit);
            if let Some(written) = written {
                out.extend_from_slice(bytes.get(done..hit).unwrap_or_default());
                out.extend_from_slice(written.as_bytes());
                done = hit + width;
            }
            at = hit + width;
        }
        out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    }

    /// Length of `text` as this encoder writes it, in bytes, without quotes.
    pub fn escaped_bytes(self, text: &str) -> u64 {
        if self.0 & RAW != 0 {
            return text.len() as u64;
        }
        let bytes = text.as_bytes();
        let plain = self.plain_table();
        let mut total = bytes.len() as u64;
        let mut at = 0;
        while let Some(hit) = next_special(bytes, at, plain) {
            let (written, width) = self.special(text, hit);
            if let Some(written) = written {
                total = total - width as u64 + written.as_bytes().len() as u64;
            }
            at = hit + width;
        }
        total
    }

    /// True when escaping `text` gives exactly `escaped`.
    pub fn reproduces(self, text: &str, escaped: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        self.escape_into(text, scratch);
        scratch == escaped
    }

    fn plain_table(self) -> &'static [bool; 256] {
        // Non-ASCII bytes only matter to encoders that escape some of them.
        if self.0 & (NON_ASCII | LINE_SEPARATORS) != 0 {
            &TABLE_ALL
        } else if self.0 & (HTML | SOLIDUS | DELETE) != 0 {
            &TABLE_ASCII
        } else {
            &TABLE_JSON
        }
    }

    /// What stands for the character at `at`, if it is escaped, and its width in `text`.
    fn special(self, text: &str, at: usize) -> (Option<Written>, usize) {
        let Some(c) = text.get(at..).and_then(|t| t.chars().next()) else {
            return (None, 1);
        };
        let on = |bit: u8| self.0 & bit != 0;
        let written = match c {
            '"' => Some(Written::short(b'"')),
            '\\' => Some(Written::short(b'\\')),
            '\n' => Some(Written::short(b'n')),
            '\r' => Some(Written::short(b'r')),
            '\t' => Some(Written::short(b't')),
            '\u{8}' if !on(LONG_BF) => Some(Written::short(b'b')),
            '\u{c}' if !on(LONG_BF) => Some(Written::short(b'f')),
            '\0'..='\u{1f}' => Some(self.unicode(c)),
            '/' if on(SOLIDUS) => Some(Written::short(b'/')),
            '<' | '>' | '&' if on(HTML) => Some(self.unicode(c)),
            '\u{7f}' if on(DELETE) => Some(self.unicode(c)),
            '\u{2028}' | '\u{2029}' if on(LINE_SEPARATORS | NON_ASCII) => Some(self.unicode(c)),
            '\u{80}'.. if on(NON_ASCII) => Some(self.unicode(c)),
            _ => None,
        };
        (written, c.len_utf8())
    }

    fn unicode(self, c: char) -> Written {
        let digits: &[u8; 16] =
            if self.0 & UPPER_HEX != 0 { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let mut units = [0; 2];
        let mut written = Written { bytes: [0; 12], len: 0 };
        for unit in c.encode_utf16(&mut units).iter() {
            written.push(b'\\');
            written.push(b'u');
            for shift in [12, 8, 4, 0] {
                let nibble = usize::from(unit >> shift & 0xf);
                written.push(digits.get(nibble).copied().unwrap_or(b'0'));
            }
        }
        written
    }
}

/// One escape sequence; the longest is a surrogate pair, 12 bytes.
struct Written {
    bytes: [u8; 12],
    len: usize,
}

impl Written {
    fn short(letter: u8) -> Self {
        let mut written = Self { bytes: [0; 12], len: 0 };
        written.push(b'\\');
        written.push(letter);
        written
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Bytes that every encoder must look at, and those that only some do.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, bounded by the loop")]
const fn table(ascii: bool, high: bool) -> [bool; 256] {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        special[byte] = byte < 0x20
            || byte == b'"' as usize
            || byte == b'\\' as usize
            || (ascii
                && (byte == b'<' as usize
                    || byte == b'>' as usize
                    || byte == b'&' as usize
                    || byte == b'/' as usize
                    || byte == 0x7f))
            || (high && byte >= 0xc0);
        byte += 1;
    }
    special
}

static TABLE_JSON: [bool; 256] = table(false, false);
static TABLE_ASCII: [bool; 256] = table(true, false);
static TABLE_ALL: [bool; 256] = table(true, true);

/// Offset of the first byte at or after `from` that `special` marks.
///
/// Most text is runs of 20 to 80 plain bytes, so eight bytes are tested at once: the word test
/// marks a superset (controls, quotes, backslashes and everything the tables may name), and the
/// table decides.
fn next_special(bytes: &[u8], from: usize, special: &[bool; 256]) -> Option<usize> {
    let json_only = std::ptr::eq(special, &raw const TABLE_JSON);
    let mut at = from;
    if json_only {
        while let Some(word) = bytes.get(at..at + 8).and_then(|w| <[u8; 8]>::try_from(w).ok()) {
            let marks = json_marks(u64::from_le_bytes(word));
            if marks != 0 {
                return Some(at + (marks.trailing_zeros() / 8) as usize);
            }
            at += 8;
        }
    }
    let rest = bytes.get(at..)?;
    let hit = rest.iter().position(|b| special.get(usize::from(*b)).copied().unwrap_or(false))?;
    Some(at + hit)
}

/// Marks the high bit of each byte that is below 0x20, a quote or a backslash.
///
/// Only the lowest mark is exact (a borrow can run into the bytes above it), and only the lowest
/// is used.
fn json_marks(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const QUOTE: u64 = 0x22;
    const BACKSLASH: u64 = 0x5c;
    let below = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * QUOTE);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = word ^ (ONES * BACKSLASH);
    let slash = slash.wrapping_sub(ONES) & !slash;
    (below | quote | slash) & HIGH
}

fn hex4(digits: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(digits).ok()?;
    if text.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(text, 16).ok()
}

/// Turns an escaped string (what stands between the quotes) into text.
///
/// Borrowed when there is nothing to unescape. Raw control characters are let through: escaping
/// again shows whether they can be kept.
///
/// # Errors
/// Lone surrogates, bytes that are not UTF-8, and escapes that JSON does not know.
pub fn unescape(escaped: &[u8]) -> Result<Cow<'_, str>, UnescapeError> {
    let text = std::str::from_utf8(escaped).map_err(|_invalid| UnescapeError::NotUtf8)?;
    if memchr::memchr(b'\\', escaped).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(hit) = memchr::memchr(b'\\', escaped.get(at..).unwrap_or_default()) {
        out.push_str(text.get(at..at + hit).unwrap_or_default());
        at += hit;
        let bad = UnescapeError::BadEscape { offset: at };
        let plain = match escaped.get(at + 1).ok_or(bad)? {
            b'u' => {
                let (c, width) = unescape_unicode(escaped, at)?;
                out.push(c);
                at += width;
                continue;
            }
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return Err(bad),
        };
        out.push(plain);
        at += 2;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Ok(Cow::Owned(out))
}

/// The character that the `\u` escape at `at` names, and how many bytes it takes.
fn unescape_unicode(escaped: &[u8], at: usize) -> Result<(char, usize), UnescapeError> {
    let unit = |from: usize| escaped.get(from..from + 4).and_then(hex4);
    let bad = UnescapeError::BadEscape { offset: at };
    let lone = UnescapeError::LoneSurrogate { offset: at };
    let first = unit(at + 2).ok_or(bad)?;
    if !(0xd800..0xe000).contains(&first) {
        return Ok((char::from_u32(u32::from(first)).ok_or(bad)?, 6));
    }
    if escaped.get(at + 6..at + 8) != Some(b"\\u") {
        return Err(lone);
    }
    let second = unit(at + 8).ok_or(bad)?;
    let pair = char::decode_utf16([first, second]).next();
    pair.and_then(Result::ok).map(|c| (c, 12)).ok_or(lone)
}

#[cfg(test)]
mod tests;
