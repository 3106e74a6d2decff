//! Decides, from an anchor on, whether a secret follows and where it ends.
//!
//! Hand-written and bounded: a judgement looks at each byte of the text it is given at most a
//! few times, and the text is at most `MAXSPAN_BYTES` long. No class contains a quote, a control
//! character, or, but for line breaks inside keys, a backslash, so that a placeholder can take
//! the place of a secret inside a JSON string.

use super::placeholder::line_break_bytes;
use super::rules::{Class, Shape};
use super::scan::Edge;

/// The shortest first or second part of a JSON Web Token, with its `eyJ`.
const JWT_PART_BYTES_MIN: usize = 8;
/// The shortest third part of a JSON Web Token.
const JWT_SIGNATURE_BYTES_MIN: usize = 16;
/// The shortest token behind `Bearer`.
const BEARER_BYTES_MIN: usize = 20;
/// The most bytes between an authorization word and `Bearer`: quotes, colons, spaces.
const BEARER_GLUE_BYTES_MAX: usize = 16;
/// The longest label of a private key: what stands between `BEGIN` and the dashes.
const PEM_LABEL_BYTES_MAX: usize = 40;
/// The longest word before `PRIVATE KEY`. It is kept, so no secret may fit into it.
const PEM_WORD_BYTES_MAX: usize = 12;
/// The body of a key has a run of base64 of at least this length; prose has not.
const PEM_RUN_BYTES_MIN: usize = 24;
/// The line of dashes that ends a label and starts the last line.
const DASHES: &[u8] = b"-----";

/// The answer about one anchor. Positions count from the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// These bytes are a secret.
    Secret { start: usize, end: usize },
    /// This is none, and no anchor of this rule before `until` starts one either.
    Nothing { until: usize },
    /// More text could change the answer.
    Open,
}

/// Judges the text that starts with an anchor of `anchor_bytes` bytes.
pub(crate) fn judge(shape: Shape, text: &[u8], anchor_bytes: usize, edge: Edge) -> Judgement {
    match shape {
        Shape::Token { class, bytes_min, needs_digit, .. } => {
            let Ok(end) = run(text, anchor_bytes, edge, |byte| class.has(byte)) else {
                return Judgement::Open;
            };
            let token = text.get(anchor_bytes..end).unwrap_or_default();
            let good = !needs_digit || token.iter().any(u8::is_ascii_digit);
            if good && token.len() >= bytes_min {
                Judgement::Secret { start: 0, end }
            } else {
                Judgement::Nothing { until: end }
            }
        }
        Shape::Jwt => jwt(text, edge).unwrap_or(Judgement::Open),
        Shape::Bearer => bearer(text, anchor_bytes, edge).unwrap_or(Judgement::Open),
        Shape::Pem => pem(text, anchor_bytes, edge).unwrap_or(Judgement::Open),
        Shape::Named => Judgement::Nothing { until: anchor_bytes },
    }
}

/// The text ends before the question is answered, and more may come.
struct Short;

/// Returns where the run of bytes that starts at `from` ends.
fn run(text: &[u8], from: usize, edge: Edge, has: impl Fn(u8) -> bool) -> Result<usize, Short> {
    let rest = text.get(from..).unwrap_or_default();
    match rest.iter().position(|byte| !has(*byte)) {
        Some(length) => Ok(from + length),
        None if edge == Edge::More => Err(Short),
        None => Ok(text.len()),
    }
}

/// Returns true if `expected`, in any case, stands at `from`.
fn has_at(text: &[u8], from: usize, expected: &[u8], edge: Edge) -> Result<bool, Short> {
    let rest = text.get(from..).unwrap_or_default();
    match rest.get(..expected.len()) {
        Some(found) => Ok(found.eq_ignore_ascii_case(expected)),
        None if edge == Edge::More => Err(Short),
        None => Ok(false),
    }
}

fn jwt(text: &[u8], edge: Edge) -> Result<Judgement, Short> {
    let has = |byte| Class::Url.has(byte);
    let header_end = run(text, 0, edge, has)?;
    let nothing = Ok(Judgement::Nothing { until: header_end });
    // The case of the letters counts, and every other spelling is left to `starts_with`.
    if !has_at(text, header_end, b".eyJ", edge)?
        || !text.get(header_end..).unwrap_or_default().starts_with(b".eyJ")
    {
        return nothing;
    }
    let payload_end = run(text, header_end + 1, edge, has)?;
    if !has_at(text, payload_end, b".", edge)? {
        return nothing;
    }
    let end = run(text, payload_end + 1, edge, has)?;
    let long = header_end >= JWT_PART_BYTES_MIN
        && payload_end - header_end > JWT_PART_BYTES_MIN
        && end - payload_end > JWT_SIGNATURE_BYTES_MIN;
    if long { Ok(Judgement::Secret { start: 0, end }) } else { nothing }
}

fn bearer(text: &[u8], anchor_bytes: usize, edge: Edge) -> Result<Judgement, Short> {
    let nothing = Ok(Judgement::Nothing { until: anchor_bytes });
    let glue =
        |byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'=' | b',' | b'\\');
    let word = run(text, anchor_bytes, edge, glue)?;
    if word - anchor_bytes > BEARER_GLUE_BYTES_MAX || !has_at(text, word, b"bearer", edge)? {
        return nothing;
    }
    let space = word + b"bearer".len();
    let mut start = run(text, space, edge, |byte| byte == b' ')?;
    if start == space && has_at(text, space, b"%20", edge)? {
        start = space + b"%20".len();
    }
    let token = |byte: u8| Class::Url.has(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let end = run(text, start, edge, token)?;
    if start > space && end - start >= BEARER_BYTES_MIN {
        Ok(Judgement::Secret { start, end })
    } else {
        nothing
    }
}

fn pem(text: &[u8], anchor_bytes: usize, edge: Edge) -> Result<Judgement, Short> {
    let nothing = Ok(Judgement::Nothing { until: anchor_bytes });
    let in_label = |byte: u8| byte == b' ' || Class::UpperAlnum.has(byte);
    let label_end = run(text, anchor_bytes, edge, in_label)?;
    let label = text.get(anchor_bytes..label_end).unwrap_or_default();
    if label.len() > PEM_LABEL_BYTES_MAX
        || !is_private_key(label)
        || !has_at(text, label_end, DASHES, edge)?
    {
        return nothing;
    }
    let mut at = label_end + DASHES.len();
    let (mut start, mut end) = (None, at);
    let (mut base64, mut longest) = (0, 0);
    loop {
        let unit = pem_unit(text.get(at..).unwrap_or_default(), edge)?;
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
        Some(start) if longest >= PEM_RUN_BYTES_MIN => Ok(Judgement::Secret { start, end }),
        _ => nothing,
    }
}

/// `PRIVATE KEY`, with at most one short word before it and perhaps `BLOCK` behind.
fn is_private_key(label: &[u8]) -> bool {
    let label = label.strip_suffix(b" BLOCK").unwrap_or(label);
    let Some(word) = label.strip_suffix(b"PRIVATE KEY") else { return false };
    match word.split_last() {
        None => true,
        Some((b' ', word)) => word.len() <= PEM_WORD_BYTES_MAX && !word.contains(&b' '),
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

fn pem_unit(text: &[u8], edge: Edge) -> Result<Unit, Short> {
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
        0xe2 if has_at(text, 0, ARROW, edge)? => Unit::Other(ARROW.len()),
        _ => match line_break_bytes(text) {
            0 => Unit::Stop,
            bytes => Unit::Break(bytes),
        },
    })
}
