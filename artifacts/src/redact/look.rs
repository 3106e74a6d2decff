//! What a value looks like: random, or something that people and programs write.
//!
//! A name such as `password` says that a value could be a secret; it takes a look at the value to
//! tell `hunter2x9` from `get_password()`. All of it is integer arithmetic over at most a few
//! hundred bytes, so that the answer is the same on every machine.

pub(crate) mod entropy;
pub(crate) mod fake;
pub(crate) mod words;

/// Most bytes of a value that are looked at.
const LOOKED_AT_BYTES: usize = 512;
/// Letters of one kind in a row without a digit that a random piece has, at most, now and then.
const DIGITS_TAIL_MAX: usize = 4;

/// A text of at least this length can be random as a whole, whatever its pieces are.
const WHOLE_BYTES_MIN: usize = 16;

/// How many bytes of each kind a text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mix {
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digit: usize,
    pub(crate) other: usize,
}

impl Mix {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut mix = Self::default();
        for byte in text {
            match byte {
                b'a'..=b'z' => mix.lower += 1,
                b'A'..=b'Z' => mix.upper += 1,
                b'0'..=b'9' => mix.digit += 1,
                _ => mix.other += 1,
            }
        }
        mix
    }

    /// How many of lower case, capitals, digits and signs occur.
    pub(crate) fn kinds(self) -> usize {
        [self.lower, self.upper, self.digit, self.other].iter().filter(|n| **n > 0).count()
    }

    pub(crate) fn letters(self) -> usize {
        self.lower + self.upper
    }
}

/// 8-4-4-4-12 hex digits.
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns true if a text of letters, digits and signs has a piece that nobody would write as a
/// name: letters and digits mixed, or letters in an order that words do not have.
pub(crate) fn is_random(text: &[u8]) -> bool {
    random_bytes(text) > 0
}

/// How many bytes stand in random pieces. Pieces end at signs such as `-`, `_`, `.` and `/`.
pub(crate) fn random_bytes(text: &[u8]) -> usize {
    let text = text.get(..LOOKED_AT_BYTES).unwrap_or(text);
    let mix = Mix::of(text);
    let mixed = mix.upper >= 3 && mix.lower >= 3 && mix.digit > 0;
    if mixed && text.len() >= WHOLE_BYTES_MIN && words::are_unlikely_pieces(text) {
        return text.len() - mix.other;
    }
    let pieces = text.split(|byte| !byte.is_ascii_alphanumeric());
    pieces.filter(|piece| is_random_piece(piece)).map(<[u8]>::len).sum()
}

/// One piece of letters and digits.
fn is_random_piece(piece: &[u8]) -> bool {
    let mix = Mix::of(piece);
    if piece.len() < 6 || mix.letters() == 0 {
        return false;
    }
    if mix.digit == 0 {
        return words::are_unlikely(piece);
    }
    // `sha256`, `test1234`, `v2`: words, then a number.
    let tail = piece.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if tail == mix.digit && tail <= DIGITS_TAIL_MAX {
        let (word, _number) = piece.split_at(piece.len() - tail);
        return words::are_unlikely(word);
    }
    switches(piece) >= 2 || (mix.digit >= 3 && piece.len() >= 12)
}

/// How often letters change to digits or back.
fn switches(piece: &[u8]) -> usize {
    let changes = |pair: &[u8]| match pair {
        [a, b] => a.is_ascii_digit() != b.is_ascii_digit(),
        _ => false,
    };
    piece.windows(2).filter(|pair| changes(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_random() {
        for text in [
            "get_password",
            "AuthenticationTokenProvider",
            "sha256",
            "test1234",
            "my-secret-value-01",
            "com.example.application",
            "XMLHttpRequest",
            "password123",
            "2024-01-31",
            "oauth2_access",
            "node_modules/react",
        ] {
            assert!(!is_random(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn generated_values_are() {
        for text in [
            "k3v9x2ma",
            "qX7mZp2Rt9Lw",
            "3b18e512dba79e4c8300dd08aeb37f8e",
            "wJalrXUtnFEMI7K7MDENGbPxRfiCY",
            "xqzvkwjpfh",
            "prod-8f2k1l9z",
        ] {
            assert!(is_random(text.as_bytes()), "{text}");
        }
    }
}
