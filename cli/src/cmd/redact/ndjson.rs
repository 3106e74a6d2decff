//! The line protocol: one text a line, in hex, and one answer a line, in order.

use std::io::{BufRead as _, BufReader, Read};

use artifacts::redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Ended, Failure, Kind, Outcome};
use crate::ui::Ui;

/// The longest line: 256 MB of hex digits hold a text of 128 MB.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A question. Fields that are not known are passed over.
#[derive(Deserialize)]
struct Question<'a> {
    /// Given back as it came.
    #[serde(borrow)]
    id: &'a RawValue,
    /// The text, in hex.
    x: String,
    /// Values that are secrets, in hex.
    #[serde(default)]
    known: Vec<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a RawValue,
    y: String,
    spans: Vec<(u64, u64, String)>,
}

pub(super) fn answer(redactor: &Redactor, input: &mut dyn Read, name: &str, ui: &mut Ui) -> Ended {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let mut limited = input.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line).map_err(|error| super::unreadable(name, &error))?;
        if line.is_empty() {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = one(redactor, &line).map_err(|why| {
            Failure::new(Kind::Format, format!("{name}, line {number}: {why}"))
                .hint("a line is {\"id\":\"...\",\"x\":\"hex digits\"}")
        })?;
        ui.line(format_args!("{answer}"))?;
        ui.flush()?;
    }
    Ok(Outcome::Fine)
}

fn one(redactor: &Redactor, line: &[u8]) -> Result<String, String> {
    // The message of the parser can quote what it read.
    let question: Question<'_> = serde_json::from_slice(line)
        .map_err(|error| format!("not an object with id and x, at column {}", error.column()))?;
    let text = from_hex(&question.x).ok_or("x is not hex digits, two for each byte")?;
    let redactor = redactor.for_new_run();
    for value in &question.known {
        let value = from_hex(value).ok_or("known is not a list of hex digits")?;
        redactor.know(&value);
    }
    let redacted = redactor.redact(&text);
    let spans = redacted.redactions().iter().map(|span| {
        let name = redactor.rule_about(span.rule).map_or_else(String::new, |(name, _)| name);
        (span.offset, span.bytes, name)
    });
    let answer = Answer { id: question.id, y: to_hex(redacted.as_bytes()), spans: spans.collect() };
    serde_json::to_string(&answer).map_err(|error| error.to_string())
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS.get(usize::from(n & 15)).copied().unwrap_or(b'0'));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_both_ways() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&all)), Some(all));
        assert_eq!(from_hex("0G"), None);
        assert_eq!(from_hex("0"), None);
        assert_eq!(from_hex("aF"), Some(vec![0xaf]));
    }
}
