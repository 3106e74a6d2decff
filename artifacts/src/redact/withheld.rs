//! What stands in the place of a text that could not be redacted: a reason and a length, and no
//! byte of the text.
//!
//! Redaction fails closed. Whatever goes wrong in it, the text does not go on as it was.

use std::fmt::Write as _;

/// Why a text was kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The redactor failed on it.
    Failed,
    /// Nothing was to be stored, see [`super::Redactor::withholding`].
    Unwanted,
}

const START: &[u8] = b"[WITHHELD:";
/// The longest tombstone with its quotation marks.
const BYTES_MAX: usize = 48;

impl Withheld {
    /// The word in a tombstone and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Unwanted => "unwanted",
        }
    }

    /// The reason of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Failed, Self::Unwanted].into_iter().find(|reason| reason.name() == name)
    }
}

/// A failure of redaction that has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub reason: Withheld,
    /// Length of what was kept back, in bytes.
    pub raw_bytes: u64,
}

/// Writes a tombstone; with quotation marks where a JSON value has to stand.
pub(super) fn tombstone(reason: Withheld, raw_bytes: u64, in_json: bool) -> Vec<u8> {
    let quote = if in_json { "\"" } else { "" };
    let mut text = String::new();
    write!(text, "{quote}[WITHHELD:{}:{raw_bytes}]{quote}", reason.name())
        .expect("writing into a string");
    text.into_bytes()
}

/// Returns true if all of a text is a tombstone: nothing is left in it to keep back.
pub(super) fn is_tombstone(text: &[u8]) -> bool {
    if text.len() > BYTES_MAX {
        return false;
    }
    let quoted = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let inside = quoted.unwrap_or(text).strip_prefix(START).and_then(|it| it.strip_suffix(b"]"));
    let Some(colon) = inside.and_then(|it| it.iter().position(|byte| *byte == b':')) else {
        return false;
    };
    let (name, number) = inside.unwrap_or_default().split_at(colon);
    let number = number.get(1..).unwrap_or_default();
    let known = std::str::from_utf8(name).ok().and_then(Withheld::from_name);
    known.is_some() && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_are_recognized_and_nothing_else_is() {
        for reason in [Withheld::Failed, Withheld::Unwanted] {
            for in_json in [false, true] {
                assert!(is_tombstone(&tombstone(reason, u64::MAX, in_json)));
                assert!(tombstone(reason, u64::MAX, in_json).len() <= BYTES_MAX);
            }
        }
        for text in
            ["", "[WITHHELD:]", "[WITHHELD:failed:]", "[WITHHELD:x:1]", "[WITHHELD:failed:1] "]
        {
            assert!(!is_tombstone(text.as_bytes()), "{text}");
        }
    }
}
