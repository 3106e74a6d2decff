//! A lenient reader of JSON values: what programs wrote badly is read as they meant it, and said.
//!
//! A value keeps the bytes that it was read from, so that what is passed on is passed on as it
//! stood. Lone surrogates, raw control characters, bytes that are no UTF-8, unknown escapes and
//! `NaN` are read with a note; a text that ends early or goes on wrongly is refused with its
//! place. The ledger's own scanner is strict; it proves bytes, this one saves them.

use std::borrow::Cow;

use ledger::wire::Escape;
use memchr::memchr2;

/// Deepest nesting that is read. Real records stay below 30; the ledger's scanner has room for
/// what is put around one.
const DEPTH_MAX: usize = 200;

/// A value and the bytes that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Json<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) value: Value<'a>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    /// Its text is in `raw`.
    Number,
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text ends inside of one.
    Torn,
    /// A byte that cannot stand here.
    Wrong { at: usize },
    /// Deeper than [`DEPTH_MAX`].
    TooDeep,
}

/// A value at the beginning of a text.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) json: Json<'a>,
    /// Where it ends.
    pub(crate) end: usize,
    /// It was not written as JSON is.
    pub(crate) repaired: bool,
}

/// Reads the value that `text` begins with, after white space.
pub(crate) fn read(text: &[u8]) -> Result<Read<'_>, Fault> {
    let mut reader = Reader { text, at: 0, repaired: false };
    let json = reader.value(0)?;
    Ok(Read { json, end: reader.at, repaired: reader.repaired })
}

/// Reads a text that is one value and nothing else.
pub(crate) fn whole(text: &[u8]) -> Option<Json<'_>> {
    let read = read(text).ok()?;
    text.get(read.end..)?.trim_ascii().is_empty().then_some(read.json)
}

impl<'a> Json<'a> {
    /// The member of this name; of several, the last.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Value::Object(members) = &self.value else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The value at the end of a path of names.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The text of a member.
    pub(crate) fn str(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    /// The text of a member that is not empty.
    pub(crate) fn name(&self, name: &str) -> Option<&str> {
        self.str(name).filter(|text| !text.is_empty())
    }

    pub(crate) fn list(&self) -> &[Self] {
        if let Value::List(list) = &self.value { list } else { &[] }
    }

    /// The elements of a member.
    pub(crate) fn items(&self, name: &str) -> &[Self] {
        self.get(name).map(Self::list).unwrap_or_default()
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    pub(crate) fn members(&self) -> &[(Cow<'a, str>, Self)] {
        if let Value::Object(members) = &self.value { members } else { &[] }
    }

    /// A whole number that is not negative; of a fraction, what stands before the point.
    pub(crate) fn count(&self) -> Option<u64> {
        let Value::Number = self.value else { return None };
        let text = std::str::from_utf8(self.raw).ok()?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if fraction.contains(['e', 'E']) { None } else { whole.parse().ok() }
    }

    /// The whole number of a member.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.count()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name).map(|json| &json.value), Some(Value::Bool(true)))
    }

    /// A member that is there and not null.
    pub(crate) fn some(&self, name: &str) -> Option<&Self> {
        self.get(name).filter(|json| json.value != Value::Null)
    }

    /// The value as JSON is written.
    pub(crate) fn clean(&self, out: &mut Vec<u8>) {
        match &self.value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Number => out.extend_from_slice(self.raw),
            Value::Text(text) => write_text(text, out),
            Value::List(list) => write_list(list, out, Self::clean),
            Value::Object(members) => write_object(members, out, Self::clean),
        }
    }
}

/// A list, whose values `write` writes.
pub(crate) fn write_list<'j>(
    list: &[Json<'j>],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Json<'j>, &mut Vec<u8>),
) {
    out.push(b'[');
    for (index, value) in list.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// An object, whose values `write` writes.
pub(crate) fn write_object<'j, N: AsRef<str>>(
    members: &[(N, Json<'j>)],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Json<'j>, &mut Vec<u8>),
) {
    out.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(name.as_ref(), out);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

/// A text as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    Escape::JSON.escape_into(text, out);
    out.push(b'"');
}

/// A text as a JSON string, by itself.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_text(text, &mut out);
    out
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    repaired: bool,
}

type Got<T> = Result<T, Fault>;

impl<'a> Reader<'a> {
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Got<u8> {
        self.text.get(self.at).copied().ok_or(Fault::Torn)
    }

    fn wrong<T>(&self) -> Got<T> {
        Err(Fault::Wrong { at: self.at })
    }

    fn value(&mut self, depth: usize) -> Got<Json<'a>> {
        self.space();
        let start = self.at;
        let value = match self.peek()? {
            b'{' | b'[' if depth >= DEPTH_MAX => return Err(Fault::TooDeep),
            b'{' => self.object(depth)?,
            b'[' => self.elements(depth)?,
            b'"' => Value::Text(self.string()?),
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.literal()?,
        };
        let raw = self.text.get(start..self.at).unwrap_or_default();
        Ok(Json { raw, value })
    }

    fn object(&mut self, depth: usize) -> Got<Value<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek()? != b'"' {
                return self.wrong();
            }
            let name = self.string()?;
            self.space();
            if self.peek()? != b':' {
                return self.wrong();
            }
            self.at += 1;
            members.push((name, self.value(depth + 1)?));
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return self.wrong(),
            }
        }
        self.at += 1;
        Ok(Value::Object(members))
    }

    fn elements(&mut self, depth: usize) -> Got<Value<'a>> {
        self.at += 1;
        let mut list = Vec::new();
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return self.wrong(),
            }
        }
        self.at += 1;
        Ok(Value::List(list))
    }

    fn number(&mut self) -> Got<Value<'a>> {
        let start = self.at;
        let more = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| more(byte)).count();
        self.at += length;
        if rest.get(..length) == Some(b"-")
            && rest.get(length..).is_some_and(|it| it.starts_with(b"Infinity"))
        {
            self.at += b"Infinity".len();
            self.repaired = true;
            return Ok(Value::Null);
        }
        let text = rest.get(..length).unwrap_or_default();
        let ends_here = start + length == self.text.len();
        if is_number(text) {
            Ok(Value::Number)
        } else if ends_here {
            Err(Fault::Torn)
        } else {
            Err(Fault::Wrong { at: start })
        }
    }

    fn literal(&mut self) -> Got<Value<'a>> {
        let known = [
            (&b"true"[..], Value::Bool(true), false),
            (b"false", Value::Bool(false), false),
            (b"null", Value::Null, false),
            (b"NaN", Value::Null, true),
            (b"Infinity", Value::Null, true),
        ];
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value, repaired) in known {
            if rest.starts_with(word) {
                self.at += word.len();
                self.repaired |= repaired;
                return Ok(value);
            }
            if word.starts_with(rest) {
                return Err(Fault::Torn);
            }
        }
        self.wrong()
    }

    /// The text of the string whose quote is next.
    fn string(&mut self) -> Got<Cow<'a, str>> {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            at += memchr2(b'"', b'\\', rest).ok_or(Fault::Torn)?;
            if self.text.get(at) == Some(&b'"') {
                break;
            }
            escaped = true;
            at += 2;
        }
        self.at = at + 1;
        let inside = self.text.get(start..at).unwrap_or_default();
        self.repaired |= inside.iter().any(|byte| *byte < 0x20);
        if escaped {
            return Ok(Cow::Owned(self.unescaped(inside)));
        }
        let text = String::from_utf8_lossy(inside);
        self.repaired |= matches!(text, Cow::Owned(_));
        Ok(text)
    }

    fn unescaped(&mut self, inside: &[u8]) -> String {
        let mut out = Vec::with_capacity(inside.len());
        let mut at = 0;
        while let Some(rest) = inside.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            out.extend_from_slice(rest.get(..plain).unwrap_or_default());
            at += plain;
            if plain == rest.len() {
                break;
            }
            let (text, used) = self.escape(inside.get(at..).unwrap_or_default());
            let mut buffer = [0; 4];
            out.extend_from_slice(text.encode_utf8(&mut buffer).as_bytes());
            at += used;
        }
        String::from_utf8(out).unwrap_or_else(|error| {
            self.repaired = true;
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }

    /// The character of the escape that `rest` begins with, and its length.
    fn escape(&mut self, rest: &[u8]) -> (char, usize) {
        let simple = match rest.get(1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'u') => return self.code(rest),
            _ => {
                // The backslash stands for itself, and what follows for what it is.
                self.repaired = true;
                return ('\\', 1);
            }
        };
        (simple, 2)
    }

    fn code(&mut self, rest: &[u8]) -> (char, usize) {
        let Some(first) = unit(rest) else {
            self.repaired = true;
            return ('\\', 1);
        };
        if let Some(character) = char::from_u32(first) {
            return (character, 6);
        }
        let second = rest.get(6..).and_then(unit).filter(|unit| (0xdc00..0xe000).contains(unit));
        let pair = second.filter(|_| first < 0xdc00);
        let joined = pair
            .and_then(|low| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)));
        if let Some(character) = joined {
            return (character, 12);
        }
        self.repaired = true;
        (char::REPLACEMENT_CHARACTER, 6)
    }
}

/// The code unit of `\uXXXX`.
fn unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, 16).ok()
}

/// True for a number as JSON writes it.
fn is_number(text: &[u8]) -> bool {
    let mut cursor = ledger::wire::span::Cursor::new(text, 0);
    cursor.skip_value().is_ok() && cursor.pos() == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &[u8]) -> (String, bool) {
        let read = read(json).unwrap();
        (read.json.text().unwrap().to_owned(), read.repaired)
    }

    #[test]
    fn what_json_allows_is_read_without_a_note() {
        let read =
            read(br#" {"a": [1, -2.5e3, true, null], "b": "x\u00e9\ud83d\ude00\n"} tail"#).unwrap();
        assert!(!read.repaired);
        assert_eq!(read.json.str("b"), Some("x\u{e9}\u{1f600}\n"));
        assert_eq!(read.json.items("a").len(), 4);
        assert_eq!(read.json.items("a")[1].raw, b"-2.5e3");
        assert_eq!(read.end, 61);
    }

    #[test]
    fn what_programs_write_badly_is_read_with_a_note() {
        let bad: [(&[u8], &str); 6] = [
            (br#""a\ud83db""#, "a\u{fffd}b"),
            (br#""a\udc00""#, "a\u{fffd}"),
            (b"\"a\nb\"", "a\nb"),
            (b"\"a\xffb\"", "a\u{fffd}b"),
            (br#""a\qb""#, "a\\qb"),
            (br#""a\u12""#, "a\\u12"),
        ];
        for (json, wanted) in bad {
            assert_eq!(text(json), (wanted.to_owned(), true));
        }
        assert_eq!(text("\"a\u{2028}b\"".as_bytes()), ("a\u{2028}b".to_owned(), false));
    }

    #[test]
    fn every_beginning_of_a_value_is_torn() {
        let json = br#"{"a":[1,{"b":"c\n"}],"d":true,"e":-1}"#;
        for cut in 0..json.len() {
            assert_eq!(read(&json[..cut]).unwrap_err(), Fault::Torn, "{cut}");
        }
        assert!(read(json).is_ok());
    }

    #[test]
    fn what_is_written_again_says_the_same() {
        let json = b"{\"a\":\"x\\ud800\\n\",\"n\":1.50,\"l\":[NaN,false]}";
        let mut clean = Vec::new();
        read(json).unwrap().json.clean(&mut clean);
        assert_eq!(clean, "{\"a\":\"x\u{fffd}\\n\",\"n\":1.50,\"l\":[null,false]}".as_bytes());
        assert!(!read(&clean).unwrap().repaired);
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
        assert_eq!(read(&deep).unwrap_err(), Fault::TooDeep);
    }
}
