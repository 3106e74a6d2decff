//! The ways in which programs print a value.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::FORM_BYTES_MIN;
use crate::redact::judge::Flags;

/// One way.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// Pieces of it are secrets as well.
    pub(super) has_pieces: bool,
    pub(super) coding: Coding,
}

/// What a form is of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// The value itself.
    Value,
    /// Escaped, quoted or spelled out.
    Written,
    /// It stands in a run of base64, whose ends belong to it.
    Base64,
    Utf16,
}

impl Form {
    pub(super) fn flags(&self) -> Flags {
        match self.coding {
            Coding::Value => Flags::default(),
            Coding::Utf16 => Flags::WIDE,
            Coding::Written | Coding::Base64 => Flags::ENCODED,
        }
    }

    pub(super) fn is_value(&self) -> bool {
        self.coding == Coding::Value
    }

    fn of(bytes: Vec<u8>, coding: Coding) -> Self {
        Self { bytes, has_pieces: false, coding }
    }
}

/// All forms of a value that are long enough, each once.
pub(super) fn forms(value: &[u8], encoded: bool) -> Vec<Form> {
    let has_pieces = !value.contains(&b' ');
    let mut forms = vec![Form { has_pieces, ..Form::of(value.to_vec(), Coding::Value) }];
    if encoded {
        let all = [
            (Coding::Written, written(value)),
            (Coding::Base64, base64(value)),
            (Coding::Utf16, wide(value)),
        ];
        for (coding, texts) in all {
            forms.extend(texts.into_iter().map(|bytes| Form::of(bytes, coding)));
        }
    }
    let mut kept: Vec<Form> = Vec::new();
    for form in forms {
        if form.bytes.len() >= FORM_BYTES_MIN && !kept.iter().any(|known| known.bytes == form.bytes)
        {
            kept.push(form);
        }
    }
    kept
}

/// In UTF-16, with the low byte first and last.
fn wide(value: &[u8]) -> Vec<Vec<u8>> {
    // ASCII is found by whoever reads UTF-16 as a text.
    let text = std::str::from_utf8(value).ok().filter(|text| !text.is_ascii());
    let Some(text) = text else { return Vec::new() };
    let low_first = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let high_first = text.encode_utf16().flat_map(|unit| unit.swap_bytes().to_le_bytes());
    vec![low_first, high_first.collect()]
}

/// Escaped, quoted and spelled out in digits.
fn written(value: &[u8]) -> Vec<Vec<u8>> {
    let json = json(value);
    let mut all = vec![json.clone(), self::json(&json)];
    if let Ok(text) = std::str::from_utf8(value) {
        for upper in [false, true] {
            all.push(units(text, upper, false));
            all.push(units(text, upper, true));
        }
        all.push(html(text, "&#39;", "&quot;"));
        all.push(html(text, "&apos;", "&#34;"));
        all.push(html(text, "&#x27;", "&quot;"));
        all.push(html(text, "'", "\""));
    }
    for upper in [false, true] {
        for kept in ["", "-_.~", "-_.!~*'()", "-_.~/", "-_.~:/?#[]@!$&'()*+,;="] {
            all.push(percent(value, kept.as_bytes(), upper, false));
        }
        all.push(percent(value, b"-_.*", upper, true));
        all.push(hex(value, upper));
    }
    all.push(replaced(value, b"'", b"'\\''"));
    all.push(replaced(value, b"'", b"'\"'\"'"));
    all.push(shell(value));
    for quoted in [replaced(value, b"'", b"'\\''"), replaced(value, b"'", b"'\"'\"'"), shell(value)]
    {
        all.push(self::json(&quoted));
    }
    if let Ok(text) = std::str::from_utf8(value) {
        for apostrophe in ["&#39;", "&#x27;"] {
            all.push(self::json(&html(text, apostrophe, "&quot;")));
        }
    }
    let backslashed = replaced(value, b"\\", b"\\\\");
    all.push(self::json(&replaced(&backslashed, b"'", b"\\'")));
    all.push(replaced(&backslashed, b"'", b"\\'"));
    all.push(
        value.iter().flat_map(|byte| [b"\\x".to_vec(), hex(&[*byte], false)].concat()).collect(),
    );
    let pairs: Vec<_> = value.iter().map(|byte| hex(&[*byte], false)).collect();
    all.push(pairs.join(&b' '));
    if value.contains(&b'\n') {
        for line_break in [b"\\n".as_slice(), b" ", b"\r\n", b"\\r\\n", b"", b"\\\\n"] {
            all.push(replaced(value, b"\n", line_break));
        }
    }
    all
}

fn json(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            _ => out.push(*byte),
        }
    }
    out
}

/// With `\u` escapes: of everything, or of what is not plain ASCII.
fn units(text: &str, upper: bool, all: bool) -> Vec<u8> {
    let mut out = String::new();
    for character in text.chars() {
        let plain = character.is_ascii_alphanumeric()
            || (character.is_ascii_graphic() && !"\"\\<>&'".contains(character));
        if plain && !all {
            out.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            let written =
                if upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
            written.expect("writing into a string");
        }
    }
    out.into_bytes()
}

fn html(text: &str, apostrophe: &str, quote: &str) -> Vec<u8> {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\'', apostrophe).replace('"', quote).into_bytes()
}

fn percent(value: &[u8], kept: &[u8], upper: bool, plus: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_alphanumeric() || kept.contains(byte) {
            out.push(*byte);
        } else if plus && *byte == b' ' {
            out.push(b'+');
        } else {
            out.push(b'%');
            out.extend(hex(&[*byte], upper));
        }
    }
    out
}

fn hex(value: &[u8], upper: bool) -> Vec<u8> {
    let digits = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let digit = |n: u8| digits.get(usize::from(n & 15)).copied().unwrap_or(b'0');
    value.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// With a backslash before every sign that a shell knows.
fn shell(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_graphic() && !byte.is_ascii_alphanumeric() && !b"-_./:,=@%+".contains(byte)
        {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

fn replaced(value: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(value.len()), 0);
    for hit in memchr::memmem::find_iter(value, from) {
        out.extend_from_slice(value.get(at..hit).unwrap_or_default());
        out.extend_from_slice(to);
        at = hit + from.len();
    }
    out.extend_from_slice(value.get(at..).unwrap_or_default());
    out
}

/// What of the value's own bits base64 shows, wherever in a group of three bytes it starts.
fn base64(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for before in 0..3 {
        let padded = [vec![0; before], value.to_vec()].concat();
        for engine in [&STANDARD, &URL_SAFE] {
            let text = engine.encode(&padded);
            let text = text.trim_end_matches('=').as_bytes();
            // Characters that also hold bits of what stands before or behind are left out.
            let start = (before * 8).div_ceil(6);
            let end = text.len() - usize::from(!padded.len().is_multiple_of(3));
            all.push(text.get(start..end).unwrap_or_default().to_vec());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_value_is_found_at_every_alignment() {
        let value = b"k3v9-x2ma-Pq7z";
        for before in 0..6 {
            for behind in 0..3 {
                let text = [vec![b'u'; before], value.to_vec(), vec![b'v'; behind]].concat();
                let coded = STANDARD.encode(text);
                let is_in = |form: &Vec<u8>| memchr::memmem::find(coded.as_bytes(), form).is_some();
                assert!(base64(value).iter().any(is_in), "{before} {behind}");
            }
        }
    }

    #[test]
    fn forms_are_long_enough_and_different() {
        let forms = forms(b"a\"b\\c&d'e f", true);
        for (at, form) in forms.iter().enumerate() {
            assert!(form.bytes.len() >= FORM_BYTES_MIN);
            assert!(forms.iter().skip(at + 1).all(|other| other.bytes != form.bytes));
        }
        let has = |text: &str| forms.iter().any(|form| form.bytes == text.as_bytes());
        assert!(has("a\\\"b\\\\c&d'e f"));
        assert!(has("a%22b%5Cc%26d%27e%20f"));
        assert!(has("a&quot;b\\c&amp;d&#39;e f"));
        assert!(has("612262"[..6].repeat(0).as_str()) || forms.len() > 10);
    }
}
