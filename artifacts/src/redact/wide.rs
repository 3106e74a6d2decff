//! UTF-16 in a text of bytes: stretches in which every other byte is zero, read without the
//! zeros and judged as any text.
//!
//! Nobody says that a text is UTF-16, and a text can be both: what a console of Windows printed
//! stands in the middle of what another program did. So stretches are looked for where a zero
//! stands, which is nowhere in most texts.

use super::judge::Edge;
use super::judge::text::Short;
use super::stream::MAXSPAN_BYTES;

/// The shortest stretch, in characters.
const CHARACTERS_MIN: usize = 8;
/// In a long stretch a zero is a place to start at once in so many bytes.
const RESTART_BYTES: u64 = 8 << 10;
/// How much of a stretch that goes on is looked at again from such a place.
const OVERLAP_BYTES: usize = 16 << 10;

/// A stretch of UTF-16.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Where its first character starts.
    pub(super) start: usize,
    /// Zeros before this place start no other stretch.
    pub(super) until: usize,
    /// Its characters, in Latin-1.
    pub(super) text: Vec<u8>,
}

/// Places of zeros in `from..to` at which a stretch can start; the first byte of the window
/// stands at `base` in the whole text.
pub(super) fn starts(
    window: &[u8],
    from: usize,
    to: usize,
    base: u64,
) -> impl Iterator<Item = usize> {
    let searched = window.get(from..to.min(window.len())).unwrap_or_default();
    memchr::memchr_iter(0, searched).map(move |at| from + at).filter(move |at| {
        let byte = |back: usize| at.checked_sub(back).and_then(|at| window.get(at)).copied();
        let text = |byte: Option<u8>| byte.is_some_and(is_text);
        let inside = byte(2) == Some(0) && text(byte(1)) && text(byte(3));
        let starts = text(byte(1)) || text(window.get(at + 1).copied());
        starts && (!inside || (base + *at as u64) % RESTART_BYTES < 2)
    })
}

/// The stretch that the zero at `at` belongs to.
pub(super) fn stretch(window: &[u8], at: usize, edge: Edge) -> Result<Option<Stretch>, Short> {
    let before = at.checked_sub(1).filter(|at| window.get(*at).copied().is_some_and(is_text));
    let start = before.unwrap_or(at);
    let character = usize::from(before.is_none());
    let mut text = Vec::new();
    let mut end = start;
    while end - start < MAXSPAN_BYTES {
        let Some([first, second]) = window.get(end..end + 2) else {
            if edge == Edge::More {
                return Err(Short);
            }
            break;
        };
        let (byte, zero) = if character == 0 { (*first, *second) } else { (*second, *first) };
        if zero != 0 || !is_text(byte) {
            break;
        }
        text.push(byte);
        end += 2;
    }
    let goes_on = end - start >= MAXSPAN_BYTES;
    let until = if goes_on { end - OVERLAP_BYTES } else { end.max(at + 1) };
    Ok((text.len() >= CHARACTERS_MIN).then_some(Stretch { start, until, text }))
}

/// ASCII, and the letters of Latin-1, which are the same in Unicode.
const fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0xa0..)
}

/// A secret in UTF-16 without its zeros, and whether a zero comes first; `None` if it is not
/// that.
pub(super) fn narrow(secret: &[u8]) -> Option<(Vec<u8>, bool)> {
    let zero_first = secret.first() == Some(&0);
    let character = |pair: &[u8]| match pair {
        [zero, byte] if zero_first && *zero == 0 => Some(*byte),
        [byte, zero] if !zero_first && *zero == 0 => Some(*byte),
        _ => None,
    };
    let text: Option<Vec<u8>> = secret.chunks(2).map(character).collect();
    Some((text?, zero_first))
}

/// Writes ASCII in UTF-16.
pub(super) fn widen(text: &[u8], zero_first: bool, out: &mut Vec<u8>) {
    for byte in text {
        out.extend(if zero_first { [0, *byte] } else { [*byte, 0] });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Redactor;

    const KEY: &str = "ghp_q7W8e9R0t1Y2u3I4o5P6q7W8e9R0t1Y2u3I4";

    fn utf16(text: &str, zero_first: bool) -> Vec<u8> {
        let unit = |unit: u16| if zero_first { unit.swap_bytes() } else { unit }.to_le_bytes();
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn secrets_in_utf_16_are_replaced_by_placeholders_in_utf_16() {
        for zero_first in [false, true] {
            for before in ["", "\u{feff}", "\u{e9}t\u{e9} ", "PASSWORD=no\r\n"] {
                let text = utf16(&format!("{before}key={KEY}\r\nend"), zero_first);
                let redactor = Redactor::core();
                let redacted = redactor.redact(&text);
                assert_eq!(redacted.as_bytes().len(), text.len());
                let units = redacted.as_bytes().chunks(2).map(|pair| {
                    let unit = u16::from_le_bytes([pair[0], pair[1]]);
                    if zero_first { unit.swap_bytes() } else { unit }
                });
                let read = String::from_utf16(&units.collect::<Vec<_>>()).expect("UTF-16 stays");
                let tag = "[REDACTED:ghtk:#0001~~~~~~~~~~~~~~~~~~~]";
                assert_eq!(read, format!("{before}key={tag}\r\nend"));
                let again = redactor.for_new_run();
                assert_eq!(again.redact(redacted.as_bytes()).as_bytes(), redacted.as_bytes());
                // The same secret as bytes is the same.
                assert_eq!(redactor.redact(KEY.as_bytes()).as_bytes(), tag.as_bytes());
            }
        }
    }

    #[test]
    fn known_values_and_values_behind_names_are_found_in_utf_16() {
        let redactor = Redactor::core();
        assert!(redactor.know("caf\u{e9}-k3v9x2".as_bytes()));
        for text in ["x caf\u{e9}-k3v9x2 y", "PASSWORD=kitten-7xQ!9z\r\n"] {
            for zero_first in [false, true] {
                let text = utf16(text, zero_first);
                let redacted = redactor.redact(&text);
                assert_eq!(redacted.redactions().len(), 1);
                assert!(redacted.as_bytes().len().is_multiple_of(2));
            }
        }
    }

    proptest! {
        #[test]
        fn a_stream_finds_in_utf_16_what_the_whole_text_gives(
            lines in prop::collection::vec(0..4_usize, 1..6),
            zero_first in any::<bool>(),
            odd in any::<bool>(),
            length in 1..200_usize,
        ) {
            let mut text = if odd { b"x".to_vec() } else { Vec::new() };
            for line in lines {
                match line {
                    0 => text.extend(utf16(KEY, zero_first)),
                    1 => text.extend(utf16("just words in a row, and no more\n", zero_first)),
                    2 => text.extend(b"and bytes\n"),
                    _ => text.extend([0; 40]),
                }
            }
            let redactor = Redactor::core();
            let whole = redactor.redact(&text);
            let run = redactor.for_new_run();
            let (mut stream, mut out) = (run.stream(), Vec::new());
            text.chunks(length).for_each(|piece| stream.push(piece, &mut out));
            let found = stream.finish(&mut out);
            prop_assert_eq!(found.as_slice(), whole.redactions());
            prop_assert_eq!(out.as_slice(), whole.as_bytes());
        }
    }

    #[test]
    fn a_secret_is_found_anywhere_in_a_long_stretch() {
        let words = "some words and numbers 12 in a line\n".repeat(3000);
        for at in (0..words.len()).step_by(5003) {
            let text = format!("{} {KEY} {}", &words[..at], &words[at..]);
            let redactor = Redactor::core();
            let wide = utf16(&text, false);
            let redacted = redactor.redact(&wide);
            assert_eq!(redacted.redactions().len(), 1, "{at}");
            assert_eq!(redacted.redactions()[0].raw_bytes, 2 * KEY.len() as u64);
        }
    }
}
