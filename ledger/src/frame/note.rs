//! What the log says about itself in frames of its own, apart from seals.
//!
//! | kind | name | body, in the layout of events |
//! |---|---|---|
//! | 2 | `log_gap` | [`Gap`]: frames were lost here, and a repair left them out |
//! | 0x8003 | `log_full` | two `u64`: frames and bytes that the full disk did not take |

use bincode::{Decode, Encode};

use super::{Chain, KIND_SKIPPABLE_BIT, Seq};
use crate::codec::{self, CodecError};

/// The kind of a gap. A reader that does not know it must not read on.
pub const KIND_LOG_GAP: u16 = 2;
/// The kind of the last frame before the seal of a log whose disk was full.
pub const KIND_LOG_FULL: u16 = 3 | KIND_SKIPPABLE_BIT;

/// Frames that are missing, in a log that a repair wrote.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Gap {
    /// First sequence number of the damaged log that is missing.
    from_seq: u64,
    /// Last one that is missing; below `from_seq` if nothing good stands behind.
    to_seq: u64,
    /// Bytes of the damaged log that were left out.
    pub lost_bytes: u64,
    /// Their SHA-256.
    pub lost_sha256: [u8; 32],
    /// Chain of the damaged log in front of them.
    chain_before: [u8; 32],
    /// Chain in the first good frame behind them; zeros without one.
    chain_after: [u8; 32],
    /// What was wrong.
    pub reason: String,
}

/// Where a gap lies in the log that was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapPlace {
    /// First sequence number that is missing.
    pub from: Seq,
    /// Last one that is missing; `None` if nothing good stands behind.
    pub to: Option<Seq>,
    /// Chain in front of the gap.
    pub chain_before: Chain,
    /// Chain in the first good frame behind it; zeros without one.
    pub chain_after: Chain,
}

impl Gap {
    /// Describes a gap of `lost` bytes.
    pub fn new(place: GapPlace, lost_bytes: u64, lost_sha256: [u8; 32], reason: String) -> Self {
        let from_seq = place.from.0;
        let to_seq = place.to.map_or(from_seq.saturating_sub(1), |seq| seq.0);
        let (chain_before, chain_after) = (place.chain_before.0, place.chain_after.0);
        Self { from_seq, to_seq, lost_bytes, lost_sha256, chain_before, chain_after, reason }
    }

    /// Returns where it lies in the damaged log.
    pub fn place(&self) -> GapPlace {
        GapPlace {
            from: Seq(self.from_seq),
            to: (self.to_seq >= self.from_seq).then_some(Seq(self.to_seq)),
            chain_before: Chain(self.chain_before),
            chain_after: Chain(self.chain_after),
        }
    }

    /// Encodes the body of its frame.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        codec::encode(self)
    }

    /// Decodes the body of its frame.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        codec::decode(body)
    }
}

/// What a full disk did not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Full {
    /// Frames that were refused, and are not in the log.
    pub frames: u64,
    /// Their length in bytes.
    pub bytes: u64,
}

impl Full {
    /// Encodes the body of its frame.
    pub fn encode(self) -> Result<Vec<u8>, CodecError> {
        codec::encode(&self)
    }

    /// Decodes the body of its frame.
    pub fn decode(body: &[u8]) -> Result<Self, CodecError> {
        codec::decode(body)
    }
}
