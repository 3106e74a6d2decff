//! Strings as the source has them: UTF-16 code units that need not pair up.
//!
//! A length, a cut or an order of the source counts these units. A cut may leave half of a
//! character behind, which no `str` can hold; so bytes are made at the end only.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A string of UTF-16 code units. Its order is that of the units.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Vec<u16>);

impl Text {
    /// An empty text.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A text of these units.
    pub fn from_units(units: &[u16]) -> Self {
        Self(units.to_vec())
    }

    /// The number of UTF-16 code units.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is no unit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The units.
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// The units of a range, which is cut to what there is.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let to = to.min(self.0.len());
        Self(self.0.get(from.min(to)..to).unwrap_or_default().to_vec())
    }

    /// The first `units` units.
    #[must_use]
    pub fn head(&self, units: usize) -> Self {
        self.slice(0, units)
    }

    /// Appends one unit.
    pub fn push_unit(&mut self, unit: u16) {
        self.0.push(unit);
    }

    /// Appends a text.
    pub fn push(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Appends a string.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend(text.encode_utf16());
    }

    /// As UTF-8. Half a character becomes U+FFFD, as when the source hashes or sends it.
    pub fn to_utf8(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }

    /// Length of [`Self::to_utf8`], in bytes.
    pub fn utf8_bytes(&self) -> usize {
        let points = char::decode_utf16(self.0.iter().copied());
        points.map(|point| point.map_or(3, char::len_utf8)).sum()
    }

    /// Without white space at the end.
    #[must_use]
    pub fn trim_end(&self) -> Self {
        let end = self.0.iter().rposition(|unit| !is_space(*unit)).map_or(0, |last| last + 1);
        self.head(end)
    }

    /// Without white space at both ends.
    #[must_use]
    pub fn trim(&self) -> Self {
        let start = self.0.iter().position(|unit| !is_space(*unit)).unwrap_or(self.0.len());
        self.slice(start, self.0.len()).trim_end()
    }

    /// Each run of white space as one blank, none at the ends.
    #[must_use]
    pub fn collapsed(&self) -> Self {
        let words = self.0.split(|unit| is_space(*unit)).filter(|word| !word.is_empty());
        let words: Vec<&[u16]> = words.collect();
        Self(words.join(&u16::from(b' ')))
    }

    /// True when the text has `part` in it. The empty text is in every text.
    pub fn contains(&self, part: &Self) -> bool {
        part.is_empty() || self.0.windows(part.len()).any(|window| window == part.units())
    }

    /// Small letters, by the rules of Unicode that know no language.
    #[must_use]
    pub fn lowercase(&self) -> Self {
        let mut out = Self::new();
        let mut whole = String::new();
        for point in char::decode_utf16(self.0.iter().copied()) {
            match point {
                Ok(point) => whole.push(point),
                Err(half) => {
                    out.push_str(&core::mem::take(&mut whole).to_lowercase());
                    out.push_unit(half.unpaired_surrogate());
                }
            }
        }
        out.push_str(&whole.to_lowercase());
        out
    }
}

/// White space as a regular expression of the source's language has it.
pub fn is_space(unit: u16) -> bool {
    matches!(unit, 0x09..=0x0d | 0x20 | 0xa0 | 0x1680 | 0x2000..=0x200a)
        || matches!(unit, 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 | 0xfeff)
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0.iter().copied().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.to_utf8())
    }
}

// Texts are content; what is printed while looking for a mistake is their length.
impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Text({} units)", self.0.len())
    }
}
