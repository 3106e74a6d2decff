//! Redacts a JSON text string by string, in decoded form, and by the names of members.
//!
//! An escape can neither hide a secret nor be cut in half by a placeholder, only insides of
//! strings are replaced, and no span goes beyond the end of a string: what was JSON stays JSON,
//! with the escapes of its own encoder around the placeholders. The walk takes what comes: a text
//! that breaks off, lines of JSON, or an event stream is walked as far as its strings go.

use std::borrow::Cow;

use super::judge::member::{self, Announced};
use super::placeholder;
use super::rules::MEMBER;
use super::scan::{self, Span};
use super::{Redacted, Redaction, Redactor};

/// Strings that are JSON themselves are looked into so many levels deep.
const LEVELS_MAX: usize = 6;
/// How deep lists and objects are followed; below, names tell nothing.
const DEPTH_MAX: usize = 512;
/// No rule finds anything in a shorter text.
const TEXT_BYTES_MIN: usize = 8;

/// One string of a text, between its quotation marks.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    start: usize,
    end: usize,
    /// What the name before it announces, and whether it stands right behind that name.
    announced: Option<(Announced, bool)>,
}

/// A list or object around the place of the walk.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    is_object: bool,
    /// A name comes next.
    expects_name: bool,
    /// The member at hand; what `name` in `{"name":...,"value":...}` tells; what stands above.
    member: Option<Announced>,
    is_value: bool,
    paired: Option<Announced>,
    inherited: Option<Announced>,
}

impl Redactor {
    /// Redacts a JSON text: its strings, decoded, by the rules for texts and by the names of the
    /// members that hold them, then all of it as a text.
    ///
    /// Valid JSON stays valid. Numbers and other values without quotation marks are never
    /// replaced.
    pub fn redact_json<'a>(&self, json: &'a [u8]) -> Redacted<'a> {
        let first = self.redact_strings(json);
        let second = self.redact(first.as_bytes()).into_owned();
        first.followed_by(second)
    }

    /// Redacts the strings of a JSON text and nothing else, see [`Redactor::redact_json`].
    pub fn redact_strings<'a>(&self, json: &'a [u8]) -> Redacted<'a> {
        self.guarded(json, true, |redactor| redactor.replace_strings(json))
    }

    fn replace_strings<'a>(&self, json: &'a [u8]) -> Redacted<'a> {
        let (mut out, mut redactions, mut done) = (Vec::new(), Vec::new(), 0);
        for leaf in Walk::new(json) {
            let raw = json.get(leaf.start..leaf.end).unwrap_or_default();
            let text = decode(raw);
            let mut place = Place::default();
            for span in self.leaf_spans(&text, leaf.announced, LEVELS_MAX) {
                let local = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                let secret = text.get(local(span.start)..local(span.end)).unwrap_or_default();
                if placeholder::is_one(secret) {
                    continue;
                }
                let start = leaf.start + place.go_to(local(span.start), raw);
                let end = leaf.start + place.go_to(local(span.end), raw);
                out.extend_from_slice(json.get(done..start).unwrap_or_default());
                let offset = out.len() as u64;
                let mut plain = Vec::new();
                let found = self.write_placeholder(&span, secret, offset, &mut plain);
                escape_into(&plain, &mut out);
                let (bytes, raw_bytes) = (out.len() as u64 - offset, (end - start) as u64);
                redactions.extend(found.map(|found| Redaction { bytes, raw_bytes, ..found }));
                done = end;
            }
        }
        if redactions.is_empty() {
            return Redacted::unchanged(json);
        }
        out.extend_from_slice(json.get(done..).unwrap_or_default());
        Redacted::changed(out, redactions)
    }

    /// Spans in the decoded text of a string.
    fn leaf_spans(
        &self,
        text: &[u8],
        announced: Option<(Announced, bool)>,
        levels: usize,
    ) -> Vec<Span> {
        if text.len() < TEXT_BYTES_MIN {
            return Vec::new();
        }
        let mut spans = self.spans(text);
        let found = announced.map(|(what, direct)| member::found(what, direct, text));
        for found in found.into_iter().flatten() {
            let secret = text.get(found.start..found.end).unwrap_or_default();
            if self.engine.allow.has(secret) {
                continue;
            }
            self.locked().learn_value(secret, &MEMBER);
            let (start, end) = (found.start as u64, found.end as u64);
            spans.push(Span { start, end, rule: &MEMBER, flags: found.flags });
        }
        let inner = text.trim_ascii_start();
        if levels > 0 && matches!(inner.first(), Some(b'{' | b'[')) {
            spans.extend(self.inner_spans(text, levels - 1));
        }
        scan::unite(spans)
    }

    /// Spans in a text that is JSON itself, by its own strings.
    fn inner_spans(&self, json: &[u8], levels: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        for leaf in Walk::new(json) {
            let raw = json.get(leaf.start..leaf.end).unwrap_or_default();
            // Where nothing is escaped and no name tells more, the text around said it all.
            let is_json = matches!(raw.trim_ascii_start().first(), Some(b'{' | b'['));
            if leaf.announced.is_none() && !is_json && memchr::memchr(b'\\', raw).is_none() {
                continue;
            }
            let text = decode(raw);
            let mut place = Place::default();
            for span in self.leaf_spans(&text, leaf.announced, levels) {
                let local = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                let start = (leaf.start + place.go_to(local(span.start), raw)) as u64;
                let end = (leaf.start + place.go_to(local(span.end), raw)) as u64;
                spans.push(Span { start, end, ..span });
            }
        }
        spans
    }
}

/// Finds the strings of a text, each with what its name announces.
struct Walk<'a> {
    json: &'a [u8],
    at: usize,
    levels: Vec<Level>,
    /// Levels beyond [`DEPTH_MAX`].
    deeper: usize,
}

impl<'a> Walk<'a> {
    fn new(json: &'a [u8]) -> Self {
        Self { json, at: 0, levels: Vec::new(), deeper: 0 }
    }

    fn opened(&mut self, is_object: bool) {
        if self.levels.len() >= DEPTH_MAX {
            self.deeper += 1;
            return;
        }
        let inherited = self.levels.last().and_then(|level| level.member.or(level.inherited));
        self.levels.push(Level {
            is_object,
            expects_name: is_object,
            inherited,
            ..Level::default()
        });
    }

    fn closed(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else {
            self.levels.pop();
        }
    }

    /// The string whose inside starts at `start`.
    fn string(&mut self, start: usize) -> Leaf {
        let end = string_end(self.json, start);
        self.at = end + 1;
        let mut leaf = Leaf { start, end, announced: None };
        let raw = self.json.get(start..end).unwrap_or_default();
        if self.deeper > 0 {
            return leaf;
        }
        let Some(level) = self.levels.last_mut() else { return leaf };
        if level.is_object && level.expects_name {
            let name = decode(raw);
            level.member = member::announced(&name);
            level.is_value = matches!(&*name, b"name" | b"key" | b"header");
            if &*name == b"value" && level.member.is_none() {
                level.member = level.paired;
            }
            return leaf;
        }
        if level.is_object && level.is_value {
            level.paired = member::announced(&decode(raw));
        }
        leaf.announced = match (level.member, level.inherited) {
            (Some(member), _) => Some((member, level.is_object)),
            (None, inherited) => inherited.map(|announced| (announced, false)),
        };
        leaf
    }
}

impl Iterator for Walk<'_> {
    type Item = Leaf;

    fn next(&mut self) -> Option<Leaf> {
        while let Some(byte) = self.json.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return Some(self.string(self.at)),
                b'{' => self.opened(true),
                b'[' => self.opened(false),
                b'}' | b']' => self.closed(),
                b':' if self.deeper == 0 => {
                    if let Some(level) = self.levels.last_mut() {
                        level.expects_name = false;
                    }
                }
                b',' if self.deeper == 0 => {
                    if let Some(level) = self.levels.last_mut().filter(|level| level.is_object) {
                        (level.expects_name, level.member) = (true, None);
                        level.is_value = false;
                    }
                }
                // Between lines of JSON nothing is open.
                b'\n' if self.levels.len() == 1 && self.starts_a_text() => self.levels.clear(),
                _ => {}
            }
        }
        None
    }
}

impl Walk<'_> {
    /// Returns true if a line that is a text of its own starts here.
    fn starts_a_text(&self) -> bool {
        let rest = self.json.get(self.at..).unwrap_or_default();
        rest.starts_with(b"{\"") || rest.starts_with(b"data:") || rest.starts_with(b"event:")
    }
}

/// Where the quotation mark stands that ends the string whose inside starts at `from`; the end of
/// the text if there is none.
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

/// The text of a string. An escape that is none stands for itself; half of a surrogate pair is
/// three bytes, as in WTF-8.
fn decode(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let (mut text, mut at) = (Vec::with_capacity(raw.len()), 0);
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        text.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        if at < raw.len() {
            let unit = Unit::at(raw, at);
            text.extend_from_slice(unit.text());
            at += unit.raw_bytes;
        }
    }
    Cow::Owned(text)
}

/// One escape, or one byte.
struct Unit {
    raw_bytes: usize,
    bytes: [u8; 4],
    length: usize,
}

impl Unit {
    fn at(raw: &[u8], at: usize) -> Self {
        let one = |raw_bytes, byte| Self { raw_bytes, bytes: [byte, 0, 0, 0], length: 1 };
        let first = raw.get(at).copied().unwrap_or_default();
        if first != b'\\' {
            return one(1, first);
        }
        match raw.get(at + 1) {
            Some(mark @ (b'"' | b'\\' | b'/')) => one(2, *mark),
            Some(b'n') => one(2, b'\n'),
            Some(b'r') => one(2, b'\r'),
            Some(b't') => one(2, b'\t'),
            Some(b'b') => one(2, 8),
            Some(b'f') => one(2, 12),
            Some(b'u') => Self::unicode(raw, at).unwrap_or_else(|| one(1, first)),
            _ => one(1, first),
        }
    }

    fn unicode(raw: &[u8], at: usize) -> Option<Self> {
        let unit = |from: usize| {
            let digits = raw.get(from..from + 4).filter(|it| it.iter().all(u8::is_ascii_hexdigit));
            u16::from_str_radix(std::str::from_utf8(digits?).ok()?, 16).ok()
        };
        let first = unit(at + 2)?;
        let second = (raw.get(at + 6..at + 8) == Some(b"\\u")).then(|| unit(at + 8)).flatten();
        let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
        let is_high = (0xd800..0xdc00).contains(&first);
        let mut bytes = [0; 4];
        if let (true, Some(character)) = (is_high, pair) {
            let length = character.encode_utf8(&mut bytes).len();
            return Some(Self { raw_bytes: 12, bytes, length });
        }
        let length = if let Some(character) = char::from_u32(u32::from(first)) {
            character.encode_utf8(&mut bytes).len()
        } else {
            let [low, high] = first.to_le_bytes();
            bytes = [0xe0 | high >> 4, 0x80 | (high & 15) << 2 | low >> 6, 0x80 | low & 0x3f, 0];
            3
        };
        Some(Self { raw_bytes: 6, bytes, length })
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The same place in an escaped string and in its text.
#[derive(Default)]
struct Place {
    raw: usize,
    text: usize,
}

impl Place {
    /// Goes on to an offset in the text and returns the one in the escaped string.
    fn go_to(&mut self, text: usize, raw: &[u8]) -> usize {
        while self.text < text && self.raw < raw.len() {
            let rest = raw.get(self.raw..).unwrap_or_default();
            let most = text - self.text;
            let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len()).min(most);
            self.raw += plain;
            self.text += plain;
            if plain < most && self.raw < raw.len() {
                let unit = Unit::at(raw, self.raw);
                self.raw += unit.raw_bytes;
                self.text += unit.length;
            }
        }
        self.raw
    }
}

/// Writes a placeholder into a string. It needs an escape only for the line breaks that it keeps.
fn escape_into(placeholder: &[u8], out: &mut Vec<u8>) {
    for byte in placeholder {
        match byte {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\\' => out.extend(b"\\\\"),
            _ => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests;
