//! Tags of placeholders: equal secrets have the same tag, and nobody can guess from a tag.
//!
//! Whatever is derived from a secret alone lets anyone test guesses, so a tag comes from a key
//! that never goes into a recording: 80 bits of an HMAC. And whoever has the key could still test
//! guesses at what is easily guessed: weak values, and all values where there is no key, get a
//! number in the order in which the run met them.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Characters of a tag.
const TAG_BYTES: usize = 16;
/// The alphabet of base32.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;
/// Names the way tags are made, so that another way gives other tags.
const DOMAIN: &[u8] = b"rdx1";

/// A key for tags. It stays outside of recordings; `Debug` shows its id only.
#[derive(Clone, PartialEq, Eq)]
pub struct TagKey {
    bytes: [u8; KEY_BYTES],
}

impl TagKey {
    /// The key of test fixtures. It is public: tags made with it hide nothing.
    pub const PUBLIC_TEST_KEY: Self = Self { bytes: *b"public key of test fixtures only" };

    /// A key of the given bytes.
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self { bytes }
    }

    /// Names the key without telling it: the first 8 bytes of an HMAC of a constant.
    pub fn id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        id.copy_from_slice(&self.hmac(&[b"key id"])[..8]);
        id
    }

    /// The tag of a secret of a class of rules.
    pub(crate) fn tag(&self, class: &str, secret: &[u8]) -> Tag {
        let mac = self.hmac(&[DOMAIN, class.as_bytes(), &[0], secret]);
        let mut characters = [b'-'; TAG_BYTES];
        for (at, character) in characters.iter_mut().enumerate() {
            let bit = at * 5;
            let high = u16::from(mac.get(bit / 8).copied().unwrap_or_default()) << 8;
            let low = u16::from(mac.get(bit / 8 + 1).copied().unwrap_or_default());
            let digit = usize::from(((high | low) >> (11 - bit % 8)) & 31);
            *character = BASE32.get(digit).copied().unwrap_or(b'-');
        }
        Tag { characters, length: TAG_BYTES }
    }

    /// HMAC-SHA256 (RFC 2104) of the pieces, one behind the other.
    fn hmac(&self, pieces: &[&[u8]]) -> [u8; 32] {
        let pad = |with: u8| {
            let mut block = [with; BLOCK_BYTES];
            block.iter_mut().zip(self.bytes).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let mut inner = Sha256::new_with_prefix(pad(0x36));
        for piece in pieces {
            inner.update(piece);
        }
        let mut outer = Sha256::new_with_prefix(pad(0x5c));
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

impl fmt::Debug for TagKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TagKey({:02x?})", self.id())
    }
}

impl Drop for TagKey {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.bytes);
    }
}

/// The part of a placeholder that tells secrets apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    characters: [u8; TAG_BYTES],
    length: usize,
}

impl Tag {
    /// The tag of the secret that is the `number`th of its run.
    pub(crate) fn ordinal(number: u32) -> Self {
        let mut tag = Self { characters: [b'~'; TAG_BYTES], length: TAG_BYTES };
        let text = format!("#{number:04}");
        tag.characters.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        tag
    }

    pub(crate) fn as_str(&self) -> &str {
        let used = self.characters.get(..self.length).unwrap_or_default();
        std::str::from_utf8(used).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_depend_on_key_class_and_secret() {
        let key = TagKey::PUBLIC_TEST_KEY;
        let tag = key.tag("oaik", b"secret");
        assert_eq!(tag.as_str().len(), 16);
        assert_eq!(tag, key.tag("oaik", b"secret"));
        assert_ne!(tag, key.tag("oaik", b"secres"));
        assert_ne!(tag, key.tag("oai", b"ksecret"));
        assert_ne!(tag, TagKey::new([7; 32]).tag("oaik", b"secret"));
    }

    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        // Test case 1 has a key of 20 bytes, which HMAC fills up with zeros.
        let mut bytes = [0; 32];
        bytes[..20].fill(0x0b);
        let mac = TagKey::new(bytes).hmac(&[b"Hi ", b"There"]);
        assert_eq!(mac[..8], [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
    }

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", TagKey::new([0x41; 32]));
        assert!(!shown.contains("41, 41") && !shown.contains("AAAA"), "{shown}");
    }
}
