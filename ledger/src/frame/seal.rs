//! The body of a seal frame: what a segment that was closed in order contains.
//! The layout is fixed and little-endian; it does not go through the event codec.
//!
//! | off | len | field |
//! |---|---|---|
//! | 0 | 8 | frames in the segment before the seal |
//! | 8 | 8 | sum of their body bytes |
//! | 16 | 32 | chain before the seal |
//! | 48 | 4 | number of packs, n |
//! | 52 | 4 | reserved, must be 0 |
//! | 56 | 16 n | per pack: number u32, epoch u32, durable length u64 |

use super::{Chain, FrameFault, part};

/// How much of an artifact pack was known to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLength {
    /// The pack's number in its file name.
    pub number: u32,
    /// The pack's writer epoch in its file name.
    pub epoch: u32,
    /// Bytes of the pack that were durable.
    pub bytes: u64,
}

impl PackLength {
    pub(super) const ENCODED_BYTES: usize = 16;

    fn encode(self) -> [u8; Self::ENCODED_BYTES] {
        let mut out = [0; Self::ENCODED_BYTES];
        out[0..4].copy_from_slice(&self.number.to_le_bytes());
        out[4..8].copy_from_slice(&self.epoch.to_le_bytes());
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        Self {
            number: u32::from_le_bytes(part::<0, 4, _>(bytes)),
            epoch: u32::from_le_bytes(part::<4, 4, _>(bytes)),
            bytes: u64::from_le_bytes(part::<8, 8, _>(bytes)),
        }
    }
}

/// The decoded body of a seal frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Frames in the segment before the seal.
    pub frames: u64,
    /// Sum of their body lengths.
    pub body_bytes: u64,
    /// Chain of the frame before the seal.
    pub chain: Chain,
    /// The artifact packs that the log may refer to.
    pub packs: Vec<PackLength>,
}

impl Seal {
    /// Length of the part before the list of packs.
    pub const FIXED_BYTES: usize = 56;

    /// Encodes the body. Whether it fits a frame is for the writer of the frame to check.
    pub fn encode(&self) -> Vec<u8> {
        // More packs than a u32 counts are far more than a frame can hold.
        let packs = u32::try_from(self.packs.len()).unwrap_or(u32::MAX);
        let list_bytes = self.packs.len() * PackLength::ENCODED_BYTES;
        let mut out = Vec::with_capacity(Self::FIXED_BYTES + list_bytes);
        out.extend_from_slice(&self.frames.to_le_bytes());
        out.extend_from_slice(&self.body_bytes.to_le_bytes());
        out.extend_from_slice(&self.chain.0);
        out.extend_from_slice(&packs.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for pack in &self.packs {
            out.extend_from_slice(&pack.encode());
        }
        out
    }

    /// Decodes a body whose checksum was good.
    pub fn decode(body: &[u8]) -> Result<Self, FrameFault> {
        let (fixed, list) =
            body.split_first_chunk::<{ Self::FIXED_BYTES }>().ok_or(FrameFault::Seal)?;
        let count = u32::from_le_bytes(part::<48, 4, _>(fixed)) as usize;
        let (packs, remainder) = list.as_chunks::<{ PackLength::ENCODED_BYTES }>();
        let reserved = part::<52, 4, _>(fixed);
        if packs.len() != count || !remainder.is_empty() || reserved != [0; 4] {
            return Err(FrameFault::Seal);
        }
        Ok(Self {
            frames: u64::from_le_bytes(part::<0, 8, _>(fixed)),
            body_bytes: u64::from_le_bytes(part::<8, 8, _>(fixed)),
            chain: Chain(part::<16, 32, _>(fixed)),
            packs: packs.iter().map(PackLength::decode).collect(),
        })
    }
}
