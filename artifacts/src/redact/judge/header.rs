//! The value of an authorization, behind its header or behind the word `Bearer`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::accept::{self, Form};
use super::name::Kind;
use super::text::{Short, Text};
use super::{Edge, Judgement, Place};
use crate::redact::look::{self, fake};
use crate::redact::rules::Class;

/// The shortest token behind `Bearer` and its like.
const TOKEN_BYTES_MIN: usize = 8;
/// The shortest one where no header stands before it.
const ALONE_BYTES_MIN: usize = 20;
/// A password in base64 of so many bytes need not look like one.
const RANDOM_PAIR_BYTES_MIN: usize = 12;
/// The longest token.
const TOKEN_BYTES_MAX: usize = 16 << 10;
/// The most bytes between an authorization word and its value: quotes, colons, spaces.
const GLUE_BYTES_MAX: usize = 20;
/// The longest name of a header.
const NAME_BYTES_MAX: usize = 64;
/// Words before a credential that say how it is used.
const SCHEMES: [&[u8]; 8] =
    [b"bearer", b"basic", b"token", b"apikey", b"api-key", b"key", b"splunk", b"negotiate"];

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let anchor = text.bytes.get(place.start..place.end).unwrap_or_default();
    if anchor.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"bearer")) {
        let behind = place.behind();
        let in_word = behind.last().is_some_and(u8::is_ascii_alphanumeric);
        let start = text.run(place.end, GLUE_BYTES_MAX, |byte| byte == b' ')?;
        return match token(&text, start)? {
            Some(end) if !in_word && is_token(&text, start, end, ALONE_BYTES_MIN) => {
                Ok(Judgement::secret(start, end))
            }
            _ => nothing,
        };
    }
    let glue = |byte| {
        matches!(
            byte,
            b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'=' | b',' | b'\\' | b'[' | b'>'
        )
    };
    let word = match named(&text, place.end)? {
        Some(at) => at,
        None => text.run(place.end, GLUE_BYTES_MAX + 1, glue)?,
    };
    if word == place.end || word - place.end > 64 {
        return nothing;
    }
    let scheme = scheme(&text, word)?;
    let start = scheme.map_or(word, |(_, start)| start);
    let Some(end) = token(&text, start)? else { return nothing };
    let value = text.bytes.get(start..end).unwrap_or_default();
    // A short word before a colon may be the name of a header itself, to be judged as one.
    let is_name = value.len() <= NAME_BYTES_MAX && text.byte(end)? == Some(b':');
    let until = if is_name { start } else { end };
    let nothing = Ok(Judgement::Nothing { until: until.max(place.end) });
    let good = match scheme {
        Some((b"basic", _)) => is_basic(value),
        Some(_) => is_token(&text, start, end, TOKEN_BYTES_MIN),
        None => value.len() >= ALONE_BYTES_MIN && is_token(&text, start, end, TOKEN_BYTES_MIN),
    };
    if good { Ok(Judgement::secret(start, end)) } else { nothing }
}

/// Where the credential stands in the whole value of an authorization.
pub(super) fn credential(value: &[u8]) -> Option<(usize, usize)> {
    let text = Text { bytes: value, edge: Edge::End };
    let scheme = scheme(&text, 0).ok()?;
    let start = scheme.map_or(0, |(_, start)| start);
    let end = token(&text, start).ok()??;
    let credential = value.get(start..end)?;
    let good = match scheme {
        Some((b"basic", _)) => is_basic(credential),
        Some(_) => is_token(&text, start, end, TOKEN_BYTES_MIN),
        None => credential.len() >= ALONE_BYTES_MIN && is_token(&text, start, end, TOKEN_BYTES_MIN),
    };
    good.then_some((start, end))
}

/// `"name": "Authorization", "value": "..."`.
fn named(text: &Text<'_>, from: usize) -> Result<Option<usize>, Short> {
    let glue =
        |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b',' | b'\n' | b'\r' | b'\t');
    let at = text.run(from, 48, glue)?;
    if at == from || !text.has_word(at, b"value")? {
        return Ok(None);
    }
    let glue = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b':' | b'=');
    Ok(Some(text.run(at + b"value".len(), 16, glue)?))
}

/// The word that says how the credential is used, in lower case, and where that starts.
fn scheme(text: &Text<'_>, at: usize) -> Result<Option<(&'static [u8], usize)>, Short> {
    for word in SCHEMES {
        if !text.has_word(at, word)? {
            continue;
        }
        let end = at + word.len();
        let start = text.run(end, GLUE_BYTES_MAX, |byte| byte == b' ')?;
        if start > end {
            return Ok(Some((word, start)));
        }
        if text.has_text(end, b"%20")? {
            return Ok(Some((word, end + 3)));
        }
    }
    Ok(None)
}

/// Where the token ends that starts at `start`; `None` when something else follows it.
fn token(text: &Text<'_>, start: usize) -> Result<Option<usize>, Short> {
    let end = text.run(start, TOKEN_BYTES_MAX, |byte| Class::Bearer.has(byte))?;
    let next = text.byte(end)?;
    let code = matches!(next, Some(b'(' | b'[' | b'{' | b'<' | b'$'));
    Ok((!code).then_some(end))
}

fn is_token(text: &Text<'_>, start: usize, end: usize, least: usize) -> bool {
    let value = text.bytes.get(start..end).unwrap_or_default();
    value.len() >= least
        && !fake::is_fake(value)
        && (look::random_bytes(value) >= 8 || accept::is_secret(Kind::Generated, Form::Bare, value))
}

/// A name and a password in base64.
fn is_basic(value: &[u8]) -> bool {
    let Ok(plain) = STANDARD.decode(value) else { return false };
    let Some(colon) = plain.iter().position(|byte| *byte == b':') else { return false };
    let password = plain.get(colon + 1..).unwrap_or_default();
    let name = plain.get(..colon).unwrap_or_default();
    let printable = plain.iter().all(|byte| (b' '..0x7f).contains(byte));
    let is_pair = password.len() >= RANDOM_PAIR_BYTES_MIN && !accept::is_other(password);
    printable
        && (is_pair
            || is_password(password)
            || (password.len() < 3 && look::random_bytes(name) >= 12))
}

/// A password that is no placeholder, by itself.
pub(crate) fn is_password(password: &[u8]) -> bool {
    password.len() >= 4
        && !accept::is_other(password)
        && (!fake::is_words(password) || look::is_random(password))
}
