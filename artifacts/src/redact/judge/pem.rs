//! Private keys: what stands between the two lines of dashes, kept line by line.
//!
//! A key is a state and not a pattern: its body goes on until the line that ends it, until a byte
//! that no body has, or for 64 KiB. Line breaks may be escaped, lines may have a gutter.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::text::{Short, Text};
use super::{Edge, Flags, Found, Judgement, Place};
use crate::redact::placeholder::line_break_bytes;
use crate::redact::rules::Class;

/// The longest label of a private key: what stands between `BEGIN` and the dashes.
const LABEL_BYTES_MAX: usize = 40;
/// The longest word before `PRIVATE KEY`. It is kept, so no secret may fit into it.
const WORD_BYTES_MAX: usize = 12;
/// The body of a key has a run of base64 of at least this length; prose has not.
const RUN_BYTES_MIN: usize = 24;
/// Bytes of base64 that tell what they are the beginning of, and the fewest that a key has.
const BASE64_HEAD_BYTES: usize = 64;
const BASE64_BYTES_MIN: usize = 100;
/// The deepest indentation of a line of base64.
const INDENT_BYTES_MAX: usize = 32;
/// Lengths of the lines that programs wrap base64 in.
const WRAPPED_BYTES: std::ops::RangeInclusive<usize> = 60..=80;
/// The line of dashes that ends a label and starts the last line.
const DASHES: &[u8] = b"-----";

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let nothing = Ok(Judgement::Nothing { until: place.end });
    let in_label = |byte: u8| byte == b' ' || Class::UpperAlnum.has(byte);
    let label_end = text.run(place.end, LABEL_BYTES_MAX + 1, in_label)?;
    let label = text.bytes.get(place.end..label_end).unwrap_or_default();
    if label.len() > LABEL_BYTES_MAX
        || !is_private_key(label)
        || !text.has_text(label_end, DASHES)?
    {
        return nothing;
    }
    let mut at = label_end + DASHES.len();
    let (mut start, mut end) = (None, at);
    let (mut base64, mut longest) = (0, 0);
    loop {
        let unit = unit(text.bytes.get(at..).unwrap_or_default(), text.edge)?;
        base64 = if unit == Unit::Base64 { base64 + 1 } else { 0 };
        longest = longest.max(base64);
        at += match unit {
            Unit::Break(bytes) => bytes,
            Unit::Blank => 1,
            Unit::Base64 | Unit::Other(_) => {
                start = start.or(Some(at));
                let bytes = if let Unit::Other(bytes) = unit { bytes } else { 1 };
                end = at + bytes;
                bytes
            }
            Unit::Stop => break,
        };
    }
    match start {
        Some(start) if longest >= RUN_BYTES_MIN => Ok(Judgement::secret(start, end)),
        _ => Ok(Judgement::Nothing { until: at }),
    }
}

/// A private key whose text is in base64, as in the files of cluster tools.
pub(crate) fn in_base64(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let mut end = text.run(place.start, usize::MAX, |byte| Class::Base64.has(byte))?;
    let line_bytes = end - place.start;
    // Lines of one length, and a last one that may be shorter.
    while WRAPPED_BYTES.contains(&line_bytes) {
        let Some(start) = next_line(&text, end)? else { break };
        let next = text.run(start, line_bytes + 1, |byte| Class::Base64.has(byte))?;
        let length = next - start;
        let ends = !text.byte(next)?.is_some_and(|byte| byte.is_ascii_graphic() && byte != b'"');
        let fits = length == line_bytes || (ends && length.is_multiple_of(4));
        if length == 0 || length > line_bytes || !fits {
            break;
        }
        end = next;
        if length < line_bytes {
            break;
        }
    }
    let head = text.bytes.get(place.start..place.start + BASE64_HEAD_BYTES).unwrap_or_default();
    let plain = STANDARD_NO_PAD.decode(head).unwrap_or_default();
    let is_key = plain.windows(11).any(|piece| piece == b"PRIVATE KEY");
    if !is_key || end - place.start < BASE64_BYTES_MIN {
        return Ok(Judgement::Nothing { until: end });
    }
    Ok(Judgement::Secret(Found { start: place.start, end, flags: Flags::ENCODED }))
}

/// Where the text of the next line starts, if this one ends at `at`.
fn next_line(text: &Text<'_>, at: usize) -> Result<Option<usize>, Short> {
    let mut start = at;
    for ending in [&[b"\r".as_slice(), b"\\r"], &[b"\n".as_slice(), b"\\n"]] {
        for spelling in ending {
            if text.has_text(start, spelling)? {
                start += spelling.len();
                break;
            }
        }
    }
    Ok(if start == at { None } else { Some(text.blanks(start, INDENT_BYTES_MAX)?) })
}

/// `PRIVATE KEY`, with at most one short word before it and perhaps `BLOCK` behind.
fn is_private_key(label: &[u8]) -> bool {
    let label = label.strip_suffix(b" BLOCK").unwrap_or(label);
    let Some(word) = label.strip_suffix(b"PRIVATE KEY") else { return false };
    match word.split_last() {
        None => true,
        Some((b' ', word)) => word.len() <= WORD_BYTES_MAX && !word.contains(&b' '),
        Some(_) => false,
    }
}

/// One piece of the body of a key, which is never split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Break(usize),
    Blank,
    Base64,
    /// What headers, gutters and escapes consist of.
    Other(usize),
    /// The end of the body. Fewer dashes at the end of the text are not one yet, but then the end
    /// of the text is reached, and the body is judged again when there is more.
    Stop,
}

/// The arrow that some tools put between a line number and the line.
const ARROW: &[u8] = "\u{2192}".as_bytes();

fn unit(text: &[u8], edge: Edge) -> Result<Unit, Short> {
    let Some(first) = text.first() else {
        return if edge == Edge::More { Err(Short) } else { Ok(Unit::Stop) };
    };
    Ok(match first {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => Unit::Base64,
        b' ' | b'\t' => Unit::Blank,
        b'-' if text.starts_with(DASHES) => Unit::Stop,
        b'-' | b':' | b',' | b'.' | b'|' | b'>' => Unit::Other(1),
        b'\\' if edge == Edge::More && text.iter().all(|byte| *byte == b'\\') => return Err(Short),
        b'\\' if text.get(1) == Some(&b'/') => Unit::Other(2),
        0xe2 if Text { bytes: text, edge }.has_text(0, ARROW)? => Unit::Other(ARROW.len()),
        _ => match line_break_bytes(text) {
            0 => Unit::Stop,
            bytes => Unit::Break(bytes),
        },
    })
}
