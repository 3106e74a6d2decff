//! Names the place of a byte in a JSON text as a JSON pointer (RFC 6901).

use super::escape::unescape;
use super::span::{Cursor, ScanError, ValueKind};

/// Pointers are cut to this many levels; deeper places get the pointer of the value around them.
const LEVELS_MAX: usize = 64;

/// The pointer of the innermost value (or member) that holds the byte at `offset`.
///
/// A text that is no JSON gives the pointer of what could be read before it breaks, at worst the
/// empty pointer, which names the whole text.
pub fn pointer_at(text: &[u8], offset: usize) -> String {
    let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut cursor = Cursor::new(text, start);
    let mut pointer = String::new();
    for _level in 0..LEVELS_MAX {
        match descend(&mut cursor, offset) {
            Ok(Some(step)) => {
                pointer.push('/');
                pointer.push_str(&step);
            }
            Ok(None) | Err(_) => break,
        }
    }
    pointer
}

/// Moves the cursor to the child value that holds `offset` and names the child.
fn descend(cursor: &mut Cursor<'_>, offset: usize) -> Result<Option<String>, ScanError> {
    match cursor.kind()? {
        ValueKind::Object => {
            cursor.expect(b'{')?;
            let mut first = true;
            while let Some(key) = cursor.next_key(first)? {
                first = false;
                let name = cursor.bytes().get(key.start + 1..key.end - 1).unwrap_or_default();
                let before = cursor.clone();
                if offset < key.start {
                    return Ok(None);
                }
                let end = end_of(cursor);
                if offset < end {
                    *cursor = before;
                    return Ok(Some(escape_step(name)));
                }
                cursor.skip_value()?;
            }
            Ok(None)
        }
        ValueKind::Array => {
            cursor.expect(b'[')?;
            let mut index = 0_usize;
            while cursor.next_element(index == 0)? {
                if offset < cursor.pos() {
                    return Ok(None);
                }
                if offset < end_of(cursor) {
                    return Ok(Some(index.to_string()));
                }
                cursor.skip_value()?;
                index += 1;
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// End of the next value, or the end of the text when the value is broken.
fn end_of(cursor: &Cursor<'_>) -> usize {
    let mut ahead = cursor.clone();
    ahead.skip_value().map_or(cursor.bytes().len(), |value| value.span.end)
}

/// The step for a member; a name that does not decode is taken as it stands.
fn escape_step(name: &[u8]) -> String {
    let name = unescape(name).unwrap_or_else(|_undecodable| String::from_utf8_lossy(name));
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
