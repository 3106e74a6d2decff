//! Compares two JSON texts as values: what a canonical comparison forgives, and what not.
//!
//! Forgiven by design: order of members, white space outside of strings, spelling of escapes.
//! Not forgiven: spelling of numbers (`1` and `1.0` are the same number and not the same
//! request), order of elements, a member that is there twice.

use std::borrow::Cow;

use super::escape::unescape;
use super::span::{Cursor, ScanError, ValueKind};

/// True when both texts hold the same value.
///
/// # Errors
/// A text is no JSON, or nested beyond the scanner's limit.
pub fn same_value(a: &[u8], b: &[u8]) -> Result<bool, ScanError> {
    let (mut left, mut right) = (Cursor::new(a, 0), Cursor::new(b, 0));
    // The whole texts are scanned first, so that the comparison meets valid JSON of bounded depth.
    for cursor in [&left, &right] {
        let mut whole = cursor.clone();
        whole.skip_value()?;
        whole.skip_space();
        if whole.pos() != whole.bytes().len() {
            return Err(ScanError::Unexpected { offset: whole.pos() });
        }
    }
    same(&mut left, &mut right)
}

fn same(left: &mut Cursor<'_>, right: &mut Cursor<'_>) -> Result<bool, ScanError> {
    let kind = left.kind()?;
    if kind != right.kind()? {
        return Ok(false);
    }
    match kind {
        ValueKind::Object => same_members(left, right),
        ValueKind::Array => same_elements(left, right),
        ValueKind::String => Ok(string(left)? == string(right)?),
        ValueKind::Number | ValueKind::Literal => Ok(raw(left)? == raw(right)?),
    }
}

fn raw<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], ScanError> {
    let value = cursor.skip_value()?;
    Ok(cursor.bytes().get(value.span).unwrap_or_default())
}

/// The text of a string, or its bytes as they stand where they have no text (lone surrogates).
fn string<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, [u8]>, ScanError> {
    let quoted = raw(cursor)?;
    let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    Ok(decoded(inside))
}

fn decoded(inside: &[u8]) -> Cow<'_, [u8]> {
    match unescape(inside) {
        Ok(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
        Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        Err(_no_text) => Cow::Borrowed(inside),
    }
}

fn same_elements(left: &mut Cursor<'_>, right: &mut Cursor<'_>) -> Result<bool, ScanError> {
    left.expect(b'[')?;
    right.expect(b'[')?;
    let mut first = true;
    loop {
        match (left.next_element(first)?, right.next_element(first)?) {
            (true, true) if same(left, right)? => first = false,
            (false, false) => return Ok(true),
            _ => return Ok(false),
        }
    }
}

/// A member: its decoded key, and where its value begins.
type Member<'a> = (Cow<'a, [u8]>, usize);

fn members<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Member<'a>>, ScanError> {
    cursor.expect(b'{')?;
    let mut out = Vec::new();
    while let Some(key) = cursor.next_key(out.is_empty())? {
        let inside = cursor.bytes().get(key.start + 1..key.end - 1).unwrap_or_default();
        let start = cursor.pos();
        cursor.skip_value()?;
        out.push((decoded(inside), start));
    }
    out.sort();
    Ok(out)
}

fn same_members(left: &mut Cursor<'_>, right: &mut Cursor<'_>) -> Result<bool, ScanError> {
    let (ours, theirs) = (members(left)?, members(right)?);
    if ours.len() != theirs.len() {
        return Ok(false);
    }
    for ((key, at), (other, other_at)) in ours.iter().zip(&theirs) {
        let mut value = Cursor::new(left.bytes(), *at);
        let mut other_value = Cursor::new(right.bytes(), *other_at);
        if key != other || !same(&mut value, &mut other_value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::same_value;

    fn check(a: &str, b: &str, expected: bool) {
        assert_eq!(same_value(a.as_bytes(), b.as_bytes()), Ok(expected), "{a} and {b}");
        assert_eq!(same_value(b.as_bytes(), a.as_bytes()), Ok(expected), "{b} and {a}");
    }

    #[test]
    fn order_of_members_space_and_escapes_are_forgiven() {
        let one = r#"{"a":1,"b":[true,{"c":"x","d":null}]}"#;
        let other = r#"{ "b" : [true,{"d":null,"c":"x"}], "a":1}"#;
        check(one, other, true);
        check(r#""\u0041\/""#, r#""A/""#, true);
        check("[]", "[ ]", true);
    }

    #[test]
    fn numbers_elements_and_members_are_not() {
        check("1", "1.0", false);
        check("1e400", "1E400", false);
        check("[1,2]", "[2,1]", false);
        check("[1]", "[1,1]", false);
        check(r#"{"a":1}"#, r#"{"a":1,"a":1}"#, false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check(r#"{"a":"x"}"#, r#"{"a":"y"}"#, false);
        check("null", "false", false);
        check(r#""\ud83d""#, r#""\ud83e""#, false);
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for bad in ["", "{", "[1,]", "{} {}", "\"a"] {
            assert!(same_value(bad.as_bytes(), b"{}").is_err(), "{bad}");
        }
    }
}
