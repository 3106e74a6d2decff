//! Lists and objects behind the name of a secret: their strings are values.

use super::Flags;
use super::Found;
use super::accept::{self, Form, VALUE_BYTES_MAX};
use super::name::Kind;
use super::text::{Short, Text};

/// How far a list or object is followed.
const NESTED_BYTES_MAX: usize = 4096;
/// How deep.
const DEPTH_MAX: usize = 8;

/// Strings in the list or object that starts at `from` and are values. Stops quietly where the
/// text is no such thing; tells how far it came.
pub(crate) fn leaves(
    text: &Text<'_>,
    from: usize,
    kind: Kind,
) -> Result<(Vec<Found>, usize), Short> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (from, 0);
    while at - from < NESTED_BYTES_MAX {
        match text.byte(at)? {
            Some(b'[' | b'{') if depth < DEPTH_MAX => depth += 1,
            Some(b']' | b'}') => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            Some(b'"' | b'\'' | b'\\') => {
                let Some(quote) = text.quote(at)? else { break };
                let start = at + quote.len();
                let Some(end) = text.quoted_end(start, quote, VALUE_BYTES_MAX)? else { break };
                at = end + quote.len();
                let next = text.blanks(at, 8)?;
                let is_name = text.byte(next)? == Some(b':');
                let value = text.bytes.get(start..end).unwrap_or_default();
                if !is_name && accept::is_secret(kind, Form::Quoted, value) {
                    found.push(Found { start, end, flags: Flags::default() });
                }
                continue;
            }
            Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') => {}
            Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+') => {}
            _ => break,
        }
        at += 1;
    }
    Ok((found, at))
}
