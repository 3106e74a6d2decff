//! Decides whether a token may start behind given bytes.
//!
//! The `sk-` of `task-` and the digits of a digest start nothing. But the letter before a token
//! can be the end of an escape: of a JSON string, of a URL, or of a terminal color.

/// Returns true if a token that follows `before` is not the rest of a longer word.
pub(crate) fn lets_start(before: &[u8]) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !before.last().is_some_and(word)
        || ends_in_string_escape(before)
        || ends_in_percent_escape(before)
        || ends_in_color(before)
}

/// `\n` and its like, or `\u001b`, as JSON and most languages write them.
fn ends_in_string_escape(before: &[u8]) -> bool {
    let unicode =
        matches!(before.last_chunk::<6>(), Some([b'\\', b'u', digits @ ..]) if all_hex(digits));
    unicode || matches!(before, [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'])
}

/// `%3D`, as URLs write it.
fn ends_in_percent_escape(before: &[u8]) -> bool {
    matches!(before.last_chunk::<3>(), Some([b'%', digits @ ..]) if all_hex(digits))
}

/// `ESC [ 32 m`, with the escape byte itself or in one of its spellings.
fn ends_in_color(before: &[u8]) -> bool {
    let Some((last, rest)) = before.split_last() else { return false };
    let parameters = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let count = rest.iter().rev().take_while(|byte| parameters(byte)).count();
    let (rest, _) = rest.split_at(rest.len() - count);
    let Some(escape) = rest.strip_suffix(b"[") else { return false };
    let spellings: [&[u8]; 6] = [b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\033", b"\\e"];
    last.is_ascii_alphabetic() && spellings.iter().any(|spelling| escape.ends_with(spelling))
}

fn all_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_of_a_word_lets_nothing_start() {
        for before in ["ta", "risk_", "9", "x\\\\m", "\\u00g0", "%G0", "[32m", "x[0m", "n"] {
            assert!(!lets_start(before.as_bytes()), "{before}");
        }
    }

    #[test]
    fn punctuation_and_the_end_of_an_escape_let_a_token_start() {
        for before in [
            "",
            " ",
            "-",
            "+",
            "=",
            "\"",
            "]",
            "\u{e9}",
            "a\\n",
            "\\t",
            "\\u001b",
            "\\u000A",
            "%3D",
            "%20",
            "\x1b[32m",
            "\x1b[m",
            "\x1b[38;5;208m",
            "\\u001b[1m",
            "\\x1b[0m",
            "\\033[1;31m",
            "\\e[K",
        ] {
            assert!(lets_start(before.as_bytes()), "{before:?}");
        }
    }
}
