//! Redacts an entry that is kept as a record: what its place in a HAR makes a credential.
//!
//! Values of credential headers, cookies and URL parameters are secrets whatever they look like,
//! and a HAR tells them twice and more: as headers, as cookies, as the query. They are found by
//! their place first, then wherever else they stand in the entry. What looks like a secret by
//! itself is left to the redactor.

use core::ops::Range;

use artifacts::redact::{Redacted, Redactor};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ledger::recorder::Recorder;
use ledger::wire::escape::{Escape, unescape};
use ledger::wire::span::{Cursor, ScanError, Value, ValueKind};

/// A credential shorter than this is replaced in its place and not wherever else its bytes stand.
const KNOWN_BYTES_MIN: usize = 8;

/// Strings in an entry are JSON in JSON: the body of an answer is one level down, a text in it
/// two, an argument of a call three.
const JSON_LEVELS: usize = 3;

/// What the value of a name is.
#[derive(Clone, Copy)]
enum Field {
    Header,
    Cookie,
    Parameter,
}

/// The entry without the credentials that its places tell. An entry that breaks off or has
/// another shape is redacted as far as it goes.
pub(crate) fn redact(recorder: &Recorder, entry: &[u8]) -> Vec<u8> {
    let mut walk = Walk {
        recorder,
        entry,
        cursor: Cursor::new(entry, 0),
        edits: Vec::new(),
        known: Vec::new(),
    };
    // Where the walk ends early, what it found so far still counts.
    let _broken = walk.entry();
    walk.finish()
}

struct Walk<'a> {
    recorder: &'a Recorder,
    entry: &'a [u8],
    cursor: Cursor<'a>,
    /// Insides of strings and what stands there instead, in order.
    edits: Vec<(Range<usize>, Vec<u8>)>,
    /// Credentials that were found.
    known: Vec<Vec<u8>>,
}

type Walked = Result<(), ScanError>;

impl Walk<'_> {
    fn redactor(&self) -> &Redactor {
        self.recorder.redactor()
    }

    fn entry(&mut self) -> Walked {
        self.members(&mut |walk, name| match name {
            b"request" | b"response" => walk.message(),
            _ => walk.skip(),
        })
    }

    fn message(&mut self) -> Walked {
        self.members(&mut |walk, name| match name {
            b"headers" => walk.fields(Field::Header),
            b"cookies" => walk.fields(Field::Cookie),
            b"queryString" => walk.fields(Field::Parameter),
            b"url" | b"redirectURL" => {
                let value = walk.cursor.skip_value()?;
                walk.replace(&value, &|redactor, text| {
                    redactor.redact_url(text).as_bytes().to_vec()
                });
                Ok(())
            }
            b"postData" | b"content" => walk.body(),
            _ => walk.skip(),
        })
    }

    /// A list of names and values, or an object of them.
    fn fields(&mut self, kind: Field) -> Walked {
        if self.cursor.kind()? == ValueKind::Object {
            return self.members(&mut |walk, name| {
                let value = walk.cursor.skip_value()?;
                walk.field(kind, &[name.to_vec()], &value);
                Ok(())
            });
        }
        self.elements(&mut |walk| {
            let (mut names, mut values) = (Vec::new(), Vec::new());
            walk.members(&mut |walk, member| {
                let value = walk.cursor.skip_value()?;
                match member {
                    b"name" => names.extend(walk.text(&value)),
                    b"value" => values.push(value),
                    _ => {}
                }
                Ok(())
            })?;
            for value in values {
                walk.field(kind, &names, &value);
            }
            Ok(())
        })
    }

    fn field(&mut self, kind: Field, names: &[Vec<u8>], value: &Value) {
        let Some(text) = self.text(value) else { return };
        let is_secret = match kind {
            Field::Header => false,
            Field::Cookie => true,
            Field::Parameter => names.iter().any(|name| {
                let url = [b"?", name.as_slice(), b"=x"].concat();
                self.redactor().redact_url(&url).is_changed()
            }),
        };
        let mut names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
        if is_secret {
            // The field of a request whose whole value is a credential.
            names = vec!["cookie".into()];
        }
        let redacted = names.iter().map(|name| self.recorder.redact_field(name, &text));
        let Some(redacted) = redacted.into_iter().find(Redacted::is_changed) else { return };
        if let Some(found) = redacted.redactions().first() {
            self.remember(&text, found.offset, found.raw_bytes);
        }
        self.replace(value, &|_redactor, _text| redacted.as_bytes().to_vec());
    }

    fn remember(&mut self, text: &[u8], offset: u64, bytes: u64) {
        let (Ok(start), Ok(length)) = (usize::try_from(offset), usize::try_from(bytes)) else {
            return;
        };
        let credential = text.get(start..start.saturating_add(length)).unwrap_or_default();
        if credential.len() >= KNOWN_BYTES_MIN && !self.known.iter().any(|it| it == credential) {
            self.known.push(credential.to_vec());
        }
    }

    /// A body: its form fields, and its text where that stands as base64.
    fn body(&mut self) -> Walked {
        let (mut texts, mut is_base64) = (Vec::new(), false);
        self.members(&mut |walk, name| {
            if name == b"params" {
                return walk.fields(Field::Parameter);
            }
            let value = walk.cursor.skip_value()?;
            match name {
                b"text" => texts.push(value),
                b"encoding" => is_base64 |= walk.text(&value).is_some_and(|it| it == b"base64"),
                _ => {}
            }
            Ok(())
        })?;
        for value in texts.iter().filter(|_| is_base64) {
            let plain = self.text(value).and_then(|text| STANDARD.decode(text).ok());
            let Some(plain) = plain else { continue };
            let redacted = self.recorder.redact_json(&plain);
            if redacted.as_bytes() != plain {
                let coded = STANDARD.encode(redacted.as_bytes()).into_bytes();
                self.replace(value, &|_redactor, _text| coded.clone());
            }
        }
        Ok(())
    }

    /// Calls `each` at every value of an object, with its decoded name; passes over anything else.
    fn members(&mut self, each: &mut dyn FnMut(&mut Self, &[u8]) -> Walked) -> Walked {
        if self.cursor.kind()? != ValueKind::Object {
            return self.skip();
        }
        self.cursor.expect(b'{')?;
        let mut first = true;
        while let Some(key) = self.cursor.next_key(first)? {
            first = false;
            let name = self.entry.get(key.start + 1..key.end - 1).unwrap_or_default();
            match unescape(name) {
                Ok(name) => each(self, name.as_bytes())?,
                Err(_) => each(self, name)?,
            }
        }
        Ok(())
    }

    /// Calls `each` at every element of a list; passes over anything else.
    fn elements(&mut self, each: &mut dyn FnMut(&mut Self) -> Walked) -> Walked {
        if self.cursor.kind()? != ValueKind::Array {
            return self.skip();
        }
        self.cursor.expect(b'[')?;
        let mut first = true;
        while self.cursor.next_element(first)? {
            first = false;
            each(self)?;
        }
        Ok(())
    }

    fn skip(&mut self) -> Walked {
        self.cursor.skip_value().map(drop)
    }

    /// The text of a string, as it stands where it does not decode.
    fn text(&self, value: &Value) -> Option<Vec<u8>> {
        let raw = self.entry.get(inside(value)?)?;
        Some(unescape(raw).map_or_else(|_| raw.to_vec(), |text| text.as_bytes().to_vec()))
    }

    /// Replaces the text of a string, where that changes it.
    fn replace(&mut self, value: &Value, with: &dyn Fn(&Redactor, &[u8]) -> Vec<u8>) {
        let (Some(inside), Some(text)) = (inside(value), self.text(value)) else { return };
        let clean = with(self.redactor(), &text);
        if clean != text {
            let mut escaped = Vec::with_capacity(clean.len());
            Escape::JSON.escape_into(&String::from_utf8_lossy(&clean), &mut escaped);
            self.edits.push((inside, escaped));
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.edits.sort_by_key(|(inside, _)| inside.start);
        let mut out = Vec::with_capacity(self.entry.len());
        let mut at = 0;
        for (inside, clean) in &self.edits {
            out.extend_from_slice(self.entry.get(at..inside.start).unwrap_or_default());
            out.extend_from_slice(clean);
            at = inside.end;
        }
        out.extend_from_slice(self.entry.get(at..).unwrap_or_default());
        // The longest first: one credential can be a part of another.
        self.known.sort_by_key(|credential| core::cmp::Reverse(credential.len()));
        for credential in &self.known {
            let clean = self.recorder.redactor().redact_header("cookie", credential);
            let mut text = String::from_utf8_lossy(credential).into_owned();
            for _level in 0..JSON_LEVELS {
                let mut escaped = Vec::with_capacity(text.len());
                Escape::JSON.escape_into(&text, &mut escaped);
                out = replace_all(&out, &escaped, clean.as_bytes());
                text = String::from_utf8_lossy(&escaped).into_owned();
            }
        }
        out
    }
}

/// Where the inside of a string stands.
fn inside(value: &Value) -> Option<Range<usize>> {
    (value.kind == ValueKind::String).then(|| value.span.start + 1..value.span.end - 1)
}

fn replace_all(text: &[u8], known: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for hit in memchr::memmem::find_iter(text, known) {
        out.extend_from_slice(text.get(at..hit).unwrap_or_default());
        out.extend_from_slice(by);
        at = hit + known.len();
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    out
}
