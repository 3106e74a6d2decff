//! Makes foreign text safe to show: terminal escapes and direction marks become visible.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for characters that steer a terminal or turn the direction of what follows.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn push_visible(c: char, out: &mut String) {
    match c {
        '\u{7f}' => out.push_str("^?"),
        '\0'..='\u{1f}' => {
            out.push('^');
            out.push(char::from_u32(u32::from(c) + 0x40).unwrap_or('?'));
        }
        _ => write!(out, "\\u{{{:x}}}", u32::from(c)).expect("a string takes everything"),
    }
}

/// Appends formatted text.
pub(crate) fn push(out: &mut String, words: std::fmt::Arguments<'_>) {
    out.write_fmt(words).expect("a string takes everything");
}

/// Escapes for attributes and texts of XML; control characters have to be visible already.
pub(crate) fn xml_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no such characters, not even escaped.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// One line that cannot steer a terminal; line feeds and tabs become visible, too.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if steers(c) { push_visible(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Text that keeps its lines and tabs and cannot steer a terminal. Bytes that are not UTF-8
/// become `\xNN`.
pub(crate) fn lines(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if steers(c) && c != '\n' && c != '\t' {
                push_visible(c, &mut out);
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("a string takes everything");
        }
    }
    out
}

/// A line that no build server takes for a command: those begin with `::`, or have `##[` anywhere.
pub(crate) fn no_commands(line: &str) -> Cow<'_, str> {
    let starts = line.trim_start().starts_with("::");
    if !starts && !line.contains("##[") {
        return Cow::Borrowed(line);
    }
    let bare = line.replace("##[", "##\\[");
    Cow::Owned(if starts { ["\\", &bare].concat() } else { bare })
}

/// JSON text in which no string can steer a terminal. The value stays the same.
pub(crate) fn json(text: String) -> String {
    // Outside of strings there is ASCII only, and serde_json escapes below U+0020 by itself.
    let unsafe_in_json = |c: char| steers(c) && c != '\n';
    if !text.chars().any(unsafe_in_json) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unsafe_in_json(c) {
            write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes everything");
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_become_visible() {
        assert_eq!(one_line("a\u{1b}[31mb\tc\nd\u{7f}"), "a^[[31mb^Ic^Jd^?");
        assert_eq!(one_line("\u{9b}31m \u{202e}txt"), "\\u{9b}31m \\u{202e}txt");
        assert_eq!(one_line("plain \u{e9}"), "plain \u{e9}");
    }

    #[test]
    fn content_keeps_its_lines_and_shows_bytes_that_are_no_text() {
        assert_eq!(lines(b"a\tb\n\x1b]0;x\x07\xff\xc3\xa9\r\n"), "a\tb\n^[]0;x^G\\xff\u{e9}^M\n");
    }

    #[test]
    fn no_line_is_a_workflow_command() {
        let cases = [
            ("a ::error::b", "a ::error::b"),
            ("::error::b", "\\::error::b"),
            (" \t::stop-commands::x", "\\ \t::stop-commands::x"),
            ("a ##[error]b ##[x]", "a ##\\[error]b ##\\[x]"),
            ("::a ##[b]", "\\::a ##\\[b]"),
        ];
        for (line, shown) in cases {
            assert_eq!(no_commands(line), shown);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({"a": "\u{9b}x\u{7f}\u{2028}\u{1b}"});
        let text = json(serde_json::to_string_pretty(&value).unwrap());
        assert!(text.is_ascii());
        assert!(text.contains("\\u009bx\\u007f\\u2028\\u001b"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
