//! Assignments: a name, what joins it to a value, and the value, in any language or file format.
//!
//! Only the value is replaced. It is a secret when its name announces one ([`name`]) and the
//! value itself looks like one ([`accept`]).

use super::accept::{self, Form, VALUE_BYTES_MAX, VALUE_BYTES_MIN};
use super::name::{self, Kind};
use super::text::{Quote, Short, Text};
use super::{Judgement, Place, nested};
use crate::redact::look;

/// Most bytes of a name before and behind its anchor.
const NAME_BYTES_MAX: usize = 64;
/// Most blanks on one side of an operator.
const BLANKS_MAX: usize = 24;
/// Random bytes that a generated value without quotes needs where names could stand as well.
const BARE_RANDOM_BYTES_MIN: usize = 12;
/// Names inside a value without quotes of this length are not looked at on their own.
const LONG_BYTES_MIN: usize = 64;
/// The longest word between a colon and an equals sign (a type), or before a parenthesis.
const TYPE_BYTES_MAX: usize = 40;
/// The longest parameters of a terminal color.
const COLOR_BYTES_MAX: usize = 24;
/// What joins names to values, the longest first. A value can begin with any other sign.
const OPERATORS: [&[u8]; 14] = [
    b"===", b"!==", b"||=", b":?=", b"::=", b":=", b"=>", b"==", b"?=", b"+=", b"!=", b"?:", b"=",
    b":",
];

/// How a value is joined to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// `=` without blanks.
    Tight,
    /// Another operator.
    Operator,
    /// The end of a tag.
    Tag,
    /// Only blanks, behind an option or a word of a format.
    Blank,
    /// A comma or a parenthesis: a string must follow.
    Argument,
}

/// Where a value stands.
#[derive(Clone, Copy, Debug)]
struct Value {
    start: usize,
    end: usize,
    quote: Option<Quote>,
}

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    // Another anchor of the same name may start inside this one.
    let mut nothing = Ok(Judgement::Nothing { until: place.start });
    if is_other_word(&text, place)? {
        return nothing;
    }
    // An anchor can end in what joins the name to its value.
    let anchor = text.bytes.get(place.start..place.end).unwrap_or_default();
    let beyond = anchor.iter().rev().take_while(|byte| !is_name_byte(**byte)).count();
    let name_end = text.run(place.end - beyond, NAME_BYTES_MAX, is_name_byte)?;
    let name = name(place, &text, name_end);
    let Some((lead, at)) = lead(&text, name_end, &name, place)? else { return nothing };
    let Some(kind) = name::kind(name.text()) else { return nothing };
    if matches!(text.byte(at)?, Some(b'[' | b'{')) && lead != Lead::Blank && lead != Lead::Tag {
        let (found, end) = nested::leaves(&text, at, kind)?;
        return Ok(Judgement::several(found, end));
    }
    let Some(value) = value(&text, at, lead)? else { return nothing };
    let bytes = text.bytes.get(value.start..value.end).unwrap_or_default();
    if bytes.len() >= LONG_BYTES_MIN && value.quote.is_none() {
        // What other names in one long run would be the names of was seen here.
        nothing = Ok(Judgement::Nothing { until: value.end });
    }
    let good = match value.quote {
        Some(_) => accept::is_secret(kind, Form::Quoted, bytes),
        None => is_bare_secret(kind, lead, &name, bytes),
    };
    if good { Ok(Judgement::secret(value.start, value.end)) } else { nothing }
}

/// `tokens`, `secretary`, `tokenize`: the anchor goes on as another word.
fn is_other_word(text: &Text<'_>, place: &Place<'_>) -> Result<bool, Short> {
    let last = text.bytes.get(place.end.saturating_sub(1)).copied().unwrap_or_default();
    let next = text.byte(place.end)?;
    let same_case = |byte: u8| {
        (last.is_ascii_lowercase() && byte.is_ascii_lowercase())
            || (last.is_ascii_uppercase() && byte.is_ascii_uppercase())
    };
    if !next.is_some_and(same_case) {
        return Ok(false);
    }
    let anchor = text.bytes.get(place.start..place.end).unwrap_or_default();
    let plural = matches!(anchor, b"ecret" | b"redential" | b"ECRET" | b"REDENTIAL");
    let after = text.byte(place.end + 1)?;
    let ends = matches!(next, Some(b's' | b'S')) && !after.is_some_and(is_letter);
    Ok(!(plural && ends))
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The name around an anchor.
struct Name {
    bytes: Vec<u8>,
    /// What stands before it.
    before: Option<u8>,
}

impl Name {
    /// The name without the dashes of an option.
    fn text(&self) -> &[u8] {
        let dashes = self.bytes.iter().take_while(|byte| matches!(byte, b'-' | b'.')).count();
        self.bytes.get(dashes..).unwrap_or_default()
    }

    fn is_option(&self) -> bool {
        self.bytes.first() == Some(&b'-')
    }

    /// `DB_PASSWORD`, or a parameter of a URL: what follows `=` is a value and no expression.
    fn is_variable(&self) -> bool {
        let upper = !self.bytes.iter().any(u8::is_ascii_lowercase);
        (upper && self.bytes.len() > 3) || matches!(self.before, Some(b'?' | b'&' | b';'))
    }
}

fn name(place: &Place<'_>, text: &Text<'_>, end: usize) -> Name {
    let behind = place.behind();
    let is_part = |byte: &&u8| is_name_byte(**byte) || **byte == b'.';
    let length = behind.iter().rev().take(NAME_BYTES_MAX).take_while(is_part).count();
    let (before, left) = behind.split_at(behind.len() - length);
    // The letter behind a backslash belongs to an escape.
    let escaped = match (before.last(), left.first()) {
        (Some(b'\\'), Some(b'n' | b'r' | b't' | b'b' | b'f' | b'u' | b'e')) => 1,
        _ => 0,
    };
    let escaped = if before.last() == Some(&b'[') { color_bytes(left) } else { escaped };
    let mut bytes = left.get(escaped..).unwrap_or_default().to_vec();
    bytes.extend_from_slice(text.bytes.get(place.start..end).unwrap_or_default());
    Name { bytes, before: if escaped > 0 { None } else { before.last().copied() } }
}

/// How much of the beginning of a name is the end of a terminal color.
fn color_bytes(name: &[u8]) -> usize {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && name.get(digits) == Some(&b'm') { digits + 1 } else { 0 }
}

/// Goes past terminal colors.
fn past_colors(text: &Text<'_>, mut at: usize) -> Result<usize, Short> {
    const STARTS: [&[u8]; 4] = [b"\x1b[", b"\\u001b[", b"\\u001B[", b"\\x1b["];
    while matches!(text.byte(at)?, Some(0x1b | b'\\')) {
        let mut start = None;
        for spelling in STARTS {
            if text.has_text(at, spelling)? {
                start = Some(at + spelling.len());
            }
        }
        let Some(start) = start else { break };
        let end = text.run(start, COLOR_BYTES_MAX, |byte| matches!(byte, b'0'..=b'?'))?;
        if !text.byte(end)?.is_some_and(|byte| byte.is_ascii_alphabetic()) {
            break;
        }
        at = end + 1;
    }
    Ok(at)
}

/// What joins the name to a value, and where that starts.
fn lead(
    text: &Text<'_>,
    name_end: usize,
    name: &Name,
    place: &Place<'_>,
) -> Result<Option<(Lead, usize)>, Short> {
    let mut at = name_end;
    let closed = text.quote(at)?;
    if let Some(quote) = closed {
        at += quote.len();
        if matches!(text.byte(at)?, Some(b']')) {
            at += 1;
        }
    }
    at = past_colors(text, at)?;
    let blanks_end = text.blanks(at, BLANKS_MAX)?;
    let tight = blanks_end == at;
    let first = text.byte(blanks_end)?;
    let lead = match first {
        Some(b'=' | b':' | b'?' | b'+' | b'|' | b'!') => {
            let mut end = None;
            for operator in OPERATORS {
                if text.has_text(blanks_end, operator)? {
                    end = Some(blanks_end + operator.len());
                    break;
                }
            }
            let Some(end) = end else { return Ok(None) };
            // A path of names.
            if first == Some(b':') && text.byte(end)? == Some(b':') {
                return Ok(None);
            }
            let colored = past_colors(text, end)?;
            let value_at = past_colors(text, text.blanks(colored, BLANKS_MAX)?)?;
            let lead = if tight && value_at == colored && first == Some(b'=') {
                Lead::Tight
            } else {
                Lead::Operator
            };
            let at = if first == Some(b':') { past_type(text, value_at)? } else { value_at };
            Some((lead, at))
        }
        Some(b'>') if tight && closed.is_none() && is_tag(name) => {
            Some((Lead::Tag, blanks_end + 1))
        }
        Some(b',') if closed.is_some() => match named_value(text, blanks_end)? {
            Some(found) => Some(found),
            None => Some((Lead::Argument, text.blanks(blanks_end + 1, BLANKS_MAX)?)),
        },
        Some(b'(') if tight && closed.is_none() => Some((Lead::Argument, blanks_end + 1)),
        Some(b'\n' | b'\r' | b'v' | b'V') => named_value(text, at)?,
        Some(_) if !tight && closed.is_none() => blank_lead(text, blanks_end, name, place)?,
        _ => None,
    };
    Ok(lead)
}

/// An option and its value, `password is ...`, a string behind the word, or a line of a netrc file.
fn blank_lead(
    text: &Text<'_>,
    at: usize,
    name: &Name,
    place: &Place<'_>,
) -> Result<Option<(Lead, usize)>, Short> {
    if name.is_option() {
        return Ok(Some((Lead::Blank, at)));
    }
    if let Some(is_end) = text.one_of(at, &[b"is ", b"is: ", b"to "])? {
        return Ok(Some((Lead::Operator, text.blanks(is_end, BLANKS_MAX)?)));
    }
    let behind = place.behind();
    let word = |word: &[u8]| memchr::memmem::rfind(behind, word).is_some();
    let netrc = name.bytes == b"password" && (word(b"login ") || word(b"machine "));
    let quoted = matches!(text.byte(at)?, Some(b'\'' | b'"')) && name.text().len() <= 16;
    let config = matches!(name.text(), b"requirepass" | b"masterauth");
    Ok((netrc || quoted || config).then_some((Lead::Blank, at)))
}

fn is_tag(name: &Name) -> bool {
    matches!(name.before, Some(b'<' | b':'))
}

/// `"name": "PASSWORD", "value": "..."`, or the same in YAML and XML.
fn named_value(text: &Text<'_>, from: usize) -> Result<Option<(Lead, usize)>, Short> {
    let glue = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',');
    let mut at = text.run(from, 64, glue)?;
    if let Some(quote) = text.quote(at)? {
        at += quote.len();
    }
    if !text.has_word(at, b"value")? {
        return Ok(None);
    }
    at += b"value".len();
    if let Some(quote) = text.quote(at)? {
        at += quote.len();
    }
    at = text.blanks(at, BLANKS_MAX)?;
    if !matches!(text.byte(at)?, Some(b':' | b'=')) {
        return Ok(None);
    }
    Ok(Some((Lead::Operator, text.blanks(at + 1, BLANKS_MAX)?)))
}

/// Goes past the type in `name: Type = value`.
fn past_type(text: &Text<'_>, from: usize) -> Result<usize, Short> {
    let in_type = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'<' | b'>' | b'&' | b'[' | b']' | b'|' | b' ' | b'?' | b'.')
    };
    let end = text.run(from, TYPE_BYTES_MAX, in_type)?;
    let typed = end > from && text.byte(end)? == Some(b'=') && text.byte(end + 1)? != Some(b'=');
    let starts = text.byte(from)?.is_some_and(|byte| is_letter(byte) || byte == b'&');
    if typed && starts { text.blanks(end + 1, BLANKS_MAX) } else { Ok(from) }
}

/// The value that starts at `at`, quoted or not.
fn value(text: &Text<'_>, at: usize, lead: Lead) -> Result<Option<Value>, Short> {
    if let Some(open) = opened(text, at)? {
        let (quote, start) = open;
        let end = text.quoted_end(start, quote, VALUE_BYTES_MAX)?;
        return Ok(end.map(|end| Value { start, end, quote: Some(quote) }));
    }
    if lead == Lead::Argument {
        return Ok(None);
    }
    let end = text.run(at, VALUE_BYTES_MAX, is_bare)?;
    if end - at < VALUE_BYTES_MIN {
        return Ok(None);
    }
    let code = matches!(text.byte(end)?, Some(b'(' | b'[' | b'{' | b'`'))
        || (lead != Lead::Tag && text.byte(end)? == Some(b'<'));
    if code {
        return Ok(None);
    }
    let bytes = text.bytes.get(at..end).unwrap_or_default();
    let stops = bytes.iter().rev().take_while(|byte| matches!(byte, b'.' | b':' | b'?')).count();
    Ok(Some(Value { start: at, end: end - stops, quote: None }))
}

/// The quotation mark of a string at `at`, perhaps inside a call or behind a letter that says
/// what kind of string it is; and where its inside starts.
fn opened(text: &Text<'_>, at: usize) -> Result<Option<(Quote, usize)>, Short> {
    if let Some(quote) = text.quote(at)? {
        return Ok(Some((quote, at + quote.len())));
    }
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'@');
    let word_end = text.run(at, TYPE_BYTES_MAX, word)?;
    let inside = match text.byte(word_end)? {
        Some(b'(') if word_end > at => word_end + 1,
        _ if word_end - at <= 2 => word_end,
        _ => return Ok(None),
    };
    let quote = text.quote(inside)?;
    Ok(quote.map(|quote| (quote, inside + quote.len())))
}

/// Bytes of a value without quotation marks.
pub(crate) const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b'\\'
                | b','
                | b';'
                | b'<'
                | b'>'
                | b'('
                | b')'
                | b'{'
                | b'}'
                | b'['
                | b']'
                | b'|'
                | b'&'
        )
}

fn is_bare_secret(kind: Kind, lead: Lead, name: &Name, value: &[u8]) -> bool {
    if !accept::is_secret(kind, Form::Bare, value) {
        return false;
    }
    let sure = (lead == Lead::Tight && name.is_variable()) || lead == Lead::Tag;
    let config = kind == Kind::Password || lead == Lead::Blank;
    sure || config || look::random_bytes(value) >= BARE_RANDOM_BYTES_MIN
}
