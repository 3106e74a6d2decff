//! Classes of bytes that the run of a token consists of.

/// A class of bytes. None has a quote, a backslash, a blank or a control character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Hex digits.
    Hex,
    /// Digits.
    Digits,
    /// Letters and digits.
    Alnum,
    /// Capital letters and digits.
    UpperAlnum,
    /// Letters, digits, `-` and `_`.
    Url,
    /// Letters, digits, `-`, `_` and `.`.
    UrlDot,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Those, `-` and `_`.
    Base64Url,
    /// Letters, digits, `-`, `_`, `.` and `~`.
    UrlDotTilde,
    /// What the path of a URL consists of.
    Path,
    /// Letters, digits, `-`, `_`, `.`, `~`, `+`, `/`, `=`: what may follow `Bearer`.
    Bearer,
}

impl Class {
    pub(crate) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Digits => byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::UpperAlnum => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::UrlDot => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Base64Url => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
            }
            Self::UrlDotTilde => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
            }
            Self::Path => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/' | b'@' | b'+')
            }
            Self::Bearer => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
            }
        }
    }
}
