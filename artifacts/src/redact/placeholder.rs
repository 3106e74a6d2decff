//! What stands in the place of a secret.
//!
//! `[REDACTED:<rule>:<tag>]`, filled up with `~` before the bracket to the length of the secret,
//! so that cuts by bytes, characters or lines fall where they fell. Line breaks inside a secret
//! stay where they are. A secret shorter than the placeholder makes the text grow, and the
//! redaction keeps both lengths. No quote, backslash or space: it can stand in a JSON string.
//!
//! The tag tells equal secrets from different ones, see [`super::tag`].

use super::tag::Tag;

/// The shortest placeholder.
pub(crate) const PLACEHOLDER_BYTES_MIN: usize = 32;
/// How every placeholder starts.
pub(crate) const START: &[u8] = b"[REDACTED:";
/// Most backslashes before the `n` or `r` of an escaped line break.
const BACKSLASHES_MAX: usize = 4;

/// Appends the placeholder for `secret`. One that stands for itself is kept as it is.
pub(crate) fn write(name: &str, tag: &Tag, secret: &[u8], out: &mut Vec<u8>) {
    if is_one(secret) {
        out.extend_from_slice(secret);
        return;
    }
    let head = format!("[REDACTED:{name}:{}", tag.as_str());
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

/// Returns true if `text` is a placeholder, perhaps with line breaks in it.
pub(crate) fn is_one(text: &[u8]) -> bool {
    let glyphs = || units(text).filter(|(is_break, _)| !is_break).filter_map(|(_, b)| b.first());
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"[:#~-]".contains(byte);
    glyphs().take(START.len()).eq(START.iter())
        && glyphs().last() == Some(&b']')
        && glyphs().filter(|byte| **byte == b']').count() == 1
        && glyphs().all(inside)
        && glyphs().count() >= PLACEHOLDER_BYTES_MIN
}

/// Cuts a secret at its line breaks.
pub(crate) fn lines(mut secret: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let skipped = units(secret).take_while(|(is_break, _)| *is_break);
        let skipped: usize = skipped.map(|(_, bytes)| bytes.len()).sum();
        let rest = secret.get(skipped..).filter(|rest| !rest.is_empty())?;
        let length = units(rest).take_while(|(is_break, _)| !is_break).count();
        let (line, behind) = rest.split_at(length);
        secret = behind;
        Some(line)
    })
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

    fn written(secret: &str) -> String {
        let mut out = Vec::new();
        write("oaik", &Tag::ordinal(7), secret.as_bytes(), &mut out);
        String::from_utf8(out).expect("a placeholder is ASCII")
    }

    #[test]
    fn it_has_the_length_of_the_secret_or_grows_to_the_minimum() {
        assert_eq!(written(&"s".repeat(32)), "[REDACTED:oaik:#0007~~~~~~~~~~~]");
        assert_eq!(written(&"s".repeat(35)), "[REDACTED:oaik:#0007~~~~~~~~~~~~~~]");
        for length in [0, 1, 31] {
            assert_eq!(written(&"s".repeat(length)), "[REDACTED:oaik:#0007~~~~~~~~~~~]");
        }
        for length in 32..200 {
            assert_eq!(written(&"s".repeat(length)).len(), length);
        }
    }

    #[test]
    fn line_breaks_stay_where_they_are() {
        let line = "s".repeat(40);
        let all = "~".repeat(40);
        let last = "~".repeat(39);
        for line_break in ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n"] {
            let secret = [line.as_str(), &line, &line].join(line_break);
            let expected = format!("[REDACTED:oaik:#0007{}", "~".repeat(20));
            let expected = [expected, all.clone(), last.clone() + "]"].join(line_break);
            assert_eq!(written(&secret), expected);
        }
        assert_eq!(written("a\nb"), "[\nREDACTED:oaik:#0007~~~~~~~~~~~]");
        assert_eq!(written("\\n"), "\\n[REDACTED:oaik:#0007~~~~~~~~~~~]");
    }

    #[test]
    fn it_needs_no_escape_and_is_its_own_placeholder() {
        let once = written("secret\nsecret");
        assert!(once.bytes().all(|byte| byte.is_ascii_graphic() || byte == b'\n'));
        assert!(!once.bytes().any(|byte| b"\"'\\`".contains(&byte)));
        assert!(is_one(once.as_bytes()));
        assert_eq!(written(&once), once);
    }
}
