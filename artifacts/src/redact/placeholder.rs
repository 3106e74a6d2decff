//! What stands in the place of a secret.
//!
//! `[REDACTED:<rule>:<tag>]`, filled up with `~` before the bracket to the length of the secret,
//! so that cuts by bytes, characters or lines fall where they fell. Line breaks inside a secret
//! stay where they are. A secret shorter than the placeholder makes the text grow, and the
//! redaction keeps both lengths. No quote, backslash or space: it can stand in a JSON string.
//!
//! The tag will tell equal secrets from different ones. It has to come from a key: whatever is
//! derived from the secret alone lets anyone test guesses. Until stores have keys it is
//! constant; [`TAG`] is the one place to change.

use super::rules::Rule;

/// The shortest placeholder.
pub(crate) const PLACEHOLDER_BYTES_MIN: usize = 32;
/// Says that there is no tag.
const TAG: &str = "----------------";
/// Most backslashes before the `n` or `r` of an escaped line break.
const BACKSLASHES_MAX: usize = 4;

/// Appends the placeholder for `secret`.
pub(crate) fn write(rule: &Rule, secret: &[u8], out: &mut Vec<u8>) {
    let head = format!("[REDACTED:{}:{TAG}", rule.name);
    let slots = units(secret).filter(|(is_break, _)| !is_break).count();
    let length = slots.max(PLACEHOLDER_BYTES_MIN);
    let fill = std::iter::repeat_n(b'~', length.saturating_sub(head.len() + 1));
    let mut glyphs = head.bytes().chain(fill).chain([b']']);
    let mut left = slots;
    for (is_break, bytes) in units(secret) {
        if is_break {
            out.extend_from_slice(bytes);
            continue;
        }
        left -= 1;
        if left > 0 {
            out.extend(glyphs.next());
        } else {
            out.extend(glyphs.by_ref());
        }
    }
    out.extend(glyphs);
}

/// Cuts a secret into single bytes and line breaks.
fn units(mut secret: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    std::iter::from_fn(move || {
        let breaks = line_break_bytes(secret);
        let (unit, rest) = secret.split_at_checked(breaks.max(1))?;
        secret = rest;
        Some((breaks > 0, unit))
    })
}

/// The length of the line break at the start of `text`, escaped or not; 0 if there is none.
pub(crate) fn line_break_bytes(text: &[u8]) -> usize {
    if let [b'\n' | b'\r', ..] = text {
        return 1;
    }
    let backslashes = text.iter().take(BACKSLASHES_MAX).take_while(|byte| **byte == b'\\').count();
    match text.get(backslashes) {
        Some(b'n' | b'r') if backslashes > 0 => backslashes + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::rules::RULES;

    fn written(secret: &str) -> String {
        let mut out = Vec::new();
        write(&RULES[1], secret.as_bytes(), &mut out);
        String::from_utf8(out).expect("a placeholder is ASCII")
    }

    #[test]
    fn it_has_the_length_of_the_secret_or_grows_to_the_minimum() {
        assert_eq!(written(&"s".repeat(32)), "[REDACTED:oaik:----------------]");
        assert_eq!(written(&"s".repeat(35)), "[REDACTED:oaik:----------------~~~]");
        for length in [0, 1, 31] {
            assert_eq!(written(&"s".repeat(length)), "[REDACTED:oaik:----------------]");
        }
        for length in 32..200 {
            assert_eq!(written(&"s".repeat(length)).len(), length);
        }
    }

    #[test]
    fn line_breaks_stay_where_they_are() {
        let line = "s".repeat(40);
        let fill = "~".repeat(8);
        let all = "~".repeat(40);
        let last = "~".repeat(39);
        for line_break in ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n"] {
            let secret = [line.as_str(), &line, &line].join(line_break);
            let expected = format!("[REDACTED:oaik:----------------~{fill}");
            let expected = [expected, all.clone(), last.clone() + "]"].join(line_break);
            assert_eq!(written(&secret), expected);
        }
        assert_eq!(written("a\nb"), "[\nREDACTED:oaik:----------------]");
        assert_eq!(written("\\n"), "\\n[REDACTED:oaik:----------------]");
    }

    #[test]
    fn it_needs_no_escape_and_is_its_own_placeholder() {
        for rule in &RULES {
            let mut once = Vec::new();
            write(rule, b"secret\nsecret", &mut once);
            assert!(once.iter().all(|byte| byte.is_ascii_graphic() || *byte == b'\n'));
            assert!(!once.iter().any(|byte| b"\"'\\`".contains(byte)));
            let mut twice = Vec::new();
            write(rule, &once, &mut twice);
            assert_eq!(once, twice);
        }
    }
}
