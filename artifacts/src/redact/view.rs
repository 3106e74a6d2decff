//! A text without the escapes in it: of terminals, and of JSON strings.
//!
//! Tools color what they found, in the middle of a word if need be, and encoders write `\/` for
//! `/`. Such views are made only where a candidate failed at an escape.

use super::judge::text::{Short, Text};

/// A text without escapes, and where each of its bytes ended in the text with them.
pub(crate) struct View {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

/// The longest control sequence, and the most text that a view is made of.
const SEQUENCE_BYTES_MAX: usize = 32;
const RAW_BYTES_MAX: usize = 8192;

/// Returns up to `most` bytes of the text from `from` on, without escapes. Stops at
/// what is neither an escape nor accepted by `has`.
pub(crate) fn without_escapes(
    text: &Text<'_>,
    from: usize,
    most: usize,
    has: impl Fn(u8) -> bool,
) -> Result<View, Short> {
    let mut view = View { bytes: Vec::new(), ends: Vec::new() };
    let mut at = from;
    while view.bytes.len() < most && at - from < RAW_BYTES_MAX {
        let Some(byte) = text.byte(at)? else { break };
        match byte {
            0x1b => match control(text, at + 1)? {
                Some(end) => at = end,
                None => break,
            },
            b'\\' => match escape(text, at)? {
                Some((None, end)) => at = end,
                Some((Some(byte), end)) => {
                    if !has(byte) {
                        break;
                    }
                    view.bytes.push(byte);
                    view.ends.push(end);
                    at = end;
                }
                None => break,
            },
            _ if has(byte) => {
                view.bytes.push(byte);
                at += 1;
                view.ends.push(at);
            }
            _ => break,
        }
    }
    Ok(view)
}

/// Where the control sequence ends whose `[` stands at `from`.
fn control(text: &Text<'_>, from: usize) -> Result<Option<usize>, Short> {
    if text.byte(from)? != Some(b'[') {
        return Ok(None);
    }
    let parameters = |byte: u8| matches!(byte, b'0'..=b'?');
    let end = text.run(from + 1, SEQUENCE_BYTES_MAX, parameters)?;
    Ok(text.byte(end)?.filter(u8::is_ascii_alphabetic).map(|_| end + 1))
}

/// The byte that an escape stands for, or none for a control sequence, and where it ends.
fn escape(text: &Text<'_>, at: usize) -> Result<Option<(Option<u8>, usize)>, Short> {
    let past = text.run(at, 4, |byte| byte == b'\\')?;
    match text.byte(past)? {
        Some(b'/') => Ok(Some((Some(b'/'), past + 1))),
        Some(b'u') => {
            let digits_end = text.run(past + 1, 4, |byte| byte.is_ascii_hexdigit())?;
            let digits = text.bytes.get(past + 1..digits_end).unwrap_or_default();
            let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 4);
            let code = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
            match code.map(u8::try_from) {
                Some(Ok(0x1b)) => Ok(control(text, digits_end)?.map(|end| (None, end))),
                Some(Ok(byte)) if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' => {
                    Ok(Some((Some(byte), digits_end)))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
