//! The name of an artifact: the SHA-256 of its (redacted) bytes, nothing else in front.
//!
//! `sha256sum` on the bytes prints the same 64 digits. The digest of unredacted bytes is never
//! an id: it would let anyone confirm a guessed secret.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Bytes in an [`ArtifactId`].
pub(crate) const ID_BYTES: usize = 32;
/// Hexadecimal digits in the text form of an [`ArtifactId`].
const ID_DIGITS: usize = 2 * ID_BYTES;

/// Names an artifact by the SHA-256 of its bytes.
///
/// The text form, in `Display`, `Debug` and `FromStr`, is 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct ArtifactId([u8; ID_BYTES]);

/// Says why a text is not an artifact id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseIdError {
    /// The text has another length than 64 bytes.
    #[error("found {found_bytes} bytes, an artifact id has {ID_DIGITS} digits")]
    Length {
        /// Length of the text.
        found_bytes: usize,
    },
    /// A byte of the text is not a lowercase hexadecimal digit.
    #[error("offset {offset}: not a lowercase hexadecimal digit")]
    Digit {
        /// Where in the text.
        offset: usize,
    },
}

impl ArtifactId {
    /// Hashes bytes into the id that they have as an artifact.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes an id that was stored as its 32 bytes.
    pub const fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ArtifactId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != ID_BYTES || !rest.is_empty() {
            return Err(ParseIdError::Length { found_bytes: text.len() });
        }
        let mut id = [0; ID_BYTES];
        for (index, (byte, [high, low])) in id.iter_mut().zip(pairs).enumerate() {
            let high = nibble(*high).ok_or(ParseIdError::Digit { offset: 2 * index })?;
            let low = nibble(*low).ok_or(ParseIdError::Digit { offset: 2 * index + 1 })?;
            *byte = high << 4 | low;
        }
        Ok(Self(id))
    }
}

/// The value of one lowercase hexadecimal digit.
pub(crate) fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_id_is_what_sha256sum_prints() {
        let id = ArtifactId::of(b"abc");
        assert_eq!(id.to_string(), ABC);
        assert_eq!(std::format!("{id:?}"), ABC);
        assert_eq!(id.as_bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn the_text_form_comes_back_and_has_one_spelling() {
        assert_eq!(ABC.parse::<ArtifactId>(), Ok(ArtifactId::of(b"abc")));
        let upper = ABC.to_uppercase();
        assert_eq!(upper.parse::<ArtifactId>(), Err(ParseIdError::Digit { offset: 0 }));
        let short = &ABC[1..];
        assert_eq!(short.parse::<ArtifactId>(), Err(ParseIdError::Length { found_bytes: 63 }));
        let long = std::format!("{ABC}0");
        assert_eq!(long.parse::<ArtifactId>(), Err(ParseIdError::Length { found_bytes: 65 }));
        let odd = std::format!("{short}g");
        assert_eq!(odd.parse::<ArtifactId>(), Err(ParseIdError::Digit { offset: 63 }));
    }
}
