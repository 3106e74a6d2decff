//! What an event holds instead of bytes: a name and a length.
//!
//! There is no public constructor. A reference comes from `Store::put`, so that the bytes were
//! stored first, or from decoding an event that was written under the same rule.

use crate::id::ArtifactId;

/// Refers to a stored artifact by its id and its length.
///
/// The stored form is fixed: the 32 bytes of the id, then the length as a little-endian `u64`,
/// which is what the derived encoding yields under `bincode::config::legacy()`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode,
)]
pub struct ArtifactRef {
    id: ArtifactId,
    bytes: u64,
}

impl ArtifactRef {
    /// Names bytes that the store holds.
    #[cfg(feature = "fs")]
    pub(crate) const fn stored(id: ArtifactId, bytes: u64) -> Self {
        Self { id, bytes }
    }

    /// Returns the SHA-256 of the redacted bytes.
    pub const fn id(&self) -> ArtifactId {
        self.id
    }

    /// Returns the length of the redacted bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_the_id_and_a_little_endian_length() {
        let config = bincode::config::legacy();
        let reference = ArtifactRef { id: ArtifactId::of(b"abc"), bytes: 0x0102_0304 };
        let stored = bincode::encode_to_vec(reference, config).expect("encodes into memory");
        let mut golden = ArtifactId::of(b"abc").as_bytes().to_vec();
        golden.extend([4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(stored, golden);

        let owned = bincode::decode_from_slice::<ArtifactRef, _>(&golden, config);
        assert_eq!(owned.expect("decodes"), (reference, 40));
        let borrowed = bincode::borrow_decode_from_slice::<ArtifactRef, _>(&golden, config);
        assert_eq!(borrowed.expect("decodes"), (reference, 40));
        for cut in 0..golden.len() {
            let cut = bincode::decode_from_slice::<ArtifactRef, _>(&golden[..cut], config);
            assert!(cut.is_err());
        }
    }
}
