//! The body codec: bincode 2.0.1 in its legacy layout, and nothing else anywhere.
//!
//! Layout: fixed-width little-endian integers, `u64` lengths, `u32` enum tags, one byte for an
//! option or a bool, structs as their fields in order. Bodies are decoded only from slices whose
//! checksum was verified, with a byte limit, and must be used up to the last byte.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::{Decode, Encode};

/// Largest event body, in bytes; bigger content is an artifact.
pub const EVENT_BODY_BYTES_MAX: usize = 16 << 20;

/// How many bytes a value takes in memory for each byte of its encoding, at most: a known part
/// in a list is 8 bytes stored and 136 in memory. The codec's limit counts memory.
pub const MEMORY_PER_BODY_BYTE_MAX: usize = 32;

/// Bodies up to this size are decoded with no more than [`EVENT_BODY_BYTES_MAX`] of memory.
const SMALL_BODY_BYTES_MAX: usize = EVENT_BODY_BYTES_MAX / MEMORY_PER_BODY_BYTE_MAX;
/// Most memory that the length fields of one body can ask for, in bytes.
const MEMORY_BYTES_MAX: usize = EVENT_BODY_BYTES_MAX * MEMORY_PER_BODY_BYTE_MAX;

type Legacy<const LIMIT: usize> = Configuration<LittleEndian, Fixint, Limit<LIMIT>>;

fn legacy<const LIMIT: usize>() -> Legacy<LIMIT> {
    bincode::config::legacy().with_limit::<LIMIT>()
}

/// Why a body could not be decoded. Carries no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes are not a value of this type.
    #[error("not a valid body: {reason}")]
    Invalid {
        /// The codec's own words.
        reason: String,
    },
    /// Bytes are left over.
    #[error("{bytes} bytes left over")]
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// The value does not fit a frame.
    #[error("body larger than {EVENT_BODY_BYTES_MAX} bytes")]
    TooLarge,
}

/// Encodes one value.
///
/// # Errors
/// The value is larger than [`EVENT_BODY_BYTES_MAX`].
pub fn encode<T: Encode>(value: &T) -> Result<Vec<u8>, CodecError> {
    let bytes = bincode::encode_to_vec(value, legacy::<EVENT_BODY_BYTES_MAX>())
        .map_err(|_limit| CodecError::TooLarge)?;
    if bytes.len() > EVENT_BODY_BYTES_MAX {
        return Err(CodecError::TooLarge);
    }
    Ok(bytes)
}

/// Decodes one value that fills `bytes`.
///
/// # Errors
/// The bytes are not such a value, or do not end with it.
pub fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, CodecError> {
    if bytes.len() > EVENT_BODY_BYTES_MAX {
        return Err(CodecError::TooLarge);
    }
    let decoded = if bytes.len() > SMALL_BODY_BYTES_MAX {
        bincode::decode_from_slice(bytes, legacy::<MEMORY_BYTES_MAX>())
    } else {
        bincode::decode_from_slice(bytes, legacy::<EVENT_BODY_BYTES_MAX>())
    };
    let (value, used) =
        decoded.map_err(|error| CodecError::Invalid { reason: describe(&error) })?;
    if used != bytes.len() {
        return Err(CodecError::Trailing { bytes: bytes.len() - used });
    }
    Ok(value)
}

/// A kind of error without the bytes that caused it.
fn describe(error: &bincode::error::DecodeError) -> String {
    use bincode::error::DecodeError as E;
    let words = match error {
        E::UnexpectedEnd { .. } => "ends early",
        E::LimitExceeded => "a length exceeds the limit",
        E::UnexpectedVariant { .. } => "unknown variant",
        E::Utf8 { .. } => "text is not utf-8",
        E::InvalidBooleanValue(_) => "a flag is neither 0 nor 1",
        _ => "not this layout",
    };
    words.to_owned()
}
