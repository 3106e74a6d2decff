//! One frame of the log: an 80-byte header with a checksum of its own, a body, zero padding.
//! This file knows bytes, not events, and does no IO.
//!
//! A header is believed only after its checksum matched, so that no length, sequence number or
//! flag is ever used unprotected. All integers are little-endian.
//!
//! | off | len | field |
//! |---|---|---|
//! | 0 | 4 | magic `EVF1` |
//! | 4 | 4 | body bytes, at most [`FRAME_BODY_BYTES_MAX`] |
//! | 8 | 8 | sequence number, exactly the previous one + 1, the first is 1 |
//! | 16 | 2 | kind; with bit 15 set a reader that does not know the kind may skip the frame |
//! | 18 | 2 | version of the kind |
//! | 20 | 4 | flags, see below |
//! | 24 | 8 | highest sequence number whose sync had returned when this frame was written, or 0 |
//! | 32 | 32 | chain: SHA-256(previous chain, bytes 0..32, bytes 64..72, body) |
//! | 64 | 8 | wall clock, Unix nanoseconds: data, never order |
//! | 72 | 4 | CRC32 of the body |
//! | 76 | 4 | CRC32 of (segment number u32, writer epoch u32, ledger id 0..8, bytes 0..76) |
//! | 80 | n | body |
//! | 80+n | 0..7 | zero padding, so that every frame starts at a multiple of 8; checked |
//!
//! Flags: bit 0 first frame of its batch, bit 1 last frame of its batch, bit 2 seal frame, bit 3
//! body compressed (reserved, refused when set), bits 8..16 body codec (0 fixed layout, only in
//! seal frames; 1 bincode legacy). All other bits are zero.
//!
//! CRC32 is the IEEE polynomial and guards against accidents. The chain gives a log a head that
//! somebody can keep: whoever has it notices every later change. It is no signature.

#[cfg(feature = "fs")]
mod batch;
#[cfg(feature = "fs")]
mod draft;
mod fault;
mod note;
mod seal;
mod tail;
#[cfg(test)]
mod tests;

use core::fmt;

use sha2::{Digest as _, Sha256};

#[cfg(feature = "fs")]
pub(crate) use batch::{Batch, NewFrame};
#[cfg(feature = "fs")]
pub use draft::FrameDraft;
pub use fault::FrameFault;
pub use note::{Full, Gap, GapPlace, KIND_LOG_FULL, KIND_LOG_GAP};
pub use seal::{PackLength, Seal};
pub use tail::{Evidence, judge_tail};

/// First bytes of every frame.
pub const FRAME_MAGIC: [u8; 4] = *b"EVF1";
/// Longest body of one frame: 16 MiB. Bigger content is an artifact.
pub const FRAME_BODY_BYTES_MAX: usize = 16 << 20;
/// A batch that holds more than this many bytes takes no further frame: 8 MiB.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// A writer with more unsynced bytes than this syncs before it writes again: 8 MiB.
pub const UNSYNCED_BYTES_MAX: usize = 8 << 20;
/// The kind of a seal frame.
pub const KIND_SEAL: u16 = 1;
/// The bit of a kind that allows a reader that does not know it to skip the frame.
pub const KIND_SKIPPABLE_BIT: u16 = 1 << 15;

const FLAG_FIRST_IN_BATCH: u32 = 1;
const FLAG_LAST_IN_BATCH: u32 = 1 << 1;
const FLAG_SEAL: u32 = 1 << 2;
const CODEC_SHIFT: u32 = 8;
const CODEC_FIXED: u32 = 0;
const CODEC_BINCODE_LEGACY: u32 = 1;

/// A place in the log; the first frame has 1, and 0 stands for "before the first".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// The place before the first frame.
    pub const ZERO: Self = Self(0);

    /// Returns the next place, or `None` at the end of the numbers.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The SHA-256 that a frame and everything before it hash to; displayed as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(pub [u8; 32]);

impl Chain {
    /// The chain before the first frame of a log.
    pub const ZERO: Self = Self([0; 32]);
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

/// The end of a log as somebody can keep it: the last sequence number and its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last frame's sequence number, or 0 for an empty log.
    pub seq: Seq,
    /// The last frame's chain, or zeros for an empty log.
    pub chain: Chain,
}

impl Head {
    /// The head of a log without frames.
    pub const EMPTY: Self = Self { seq: Seq::ZERO, chain: Chain::ZERO };
}

/// Shows the form that people copy: `seq:chain`.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.chain)
    }
}

/// What seeds the header checksum, so that a frame is good in its own segment only.
#[derive(Clone, Debug)]
pub struct FrameSalt(crc32fast::Hasher);

impl FrameSalt {
    /// Makes the seed of a segment from its number, its writer's epoch and its ledger.
    pub fn new(segment_number: u32, epoch: u32, ledger_head: [u8; 8]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&segment_number.to_le_bytes());
        hasher.update(&epoch.to_le_bytes());
        hasher.update(&ledger_head);
        Self(hasher)
    }

    pub(crate) fn crc(&self, bytes: &[u8]) -> u32 {
        let mut hasher = self.0.clone();
        hasher.update(bytes);
        hasher.finalize()
    }
}

/// How the bytes of a body are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCodec {
    /// A layout written down byte by byte; seal frames have it, and no other frame.
    Fixed,
    /// bincode with fixed-width little-endian integers.
    BincodeLegacy,
}

/// The decoded flags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The frame opens a batch, the unit of one write.
    pub first_in_batch: bool,
    /// The frame closes a batch.
    pub last_in_batch: bool,
    /// How to read the body; [`BodyCodec::Fixed`] also says that this is a seal frame.
    pub codec: BodyCodec,
}

impl Flags {
    fn encode(self) -> u32 {
        let mut bits = match self.codec {
            BodyCodec::Fixed => FLAG_SEAL | (CODEC_FIXED << CODEC_SHIFT),
            BodyCodec::BincodeLegacy => CODEC_BINCODE_LEGACY << CODEC_SHIFT,
        };
        if self.first_in_batch {
            bits |= FLAG_FIRST_IN_BATCH;
        }
        if self.last_in_batch {
            bits |= FLAG_LAST_IN_BATCH;
        }
        bits
    }

    /// Reserved bits, the compression bit and unknown codecs leave a remainder and are refused.
    fn decode(bits: u32) -> Option<Self> {
        let codec = match bits & !(FLAG_FIRST_IN_BATCH | FLAG_LAST_IN_BATCH) {
            FLAG_SEAL => BodyCodec::Fixed,
            rest if rest == CODEC_BINCODE_LEGACY << CODEC_SHIFT => BodyCodec::BincodeLegacy,
            _ => return None,
        };
        Some(Self {
            first_in_batch: bits & FLAG_FIRST_IN_BATCH != 0,
            last_in_batch: bits & FLAG_LAST_IN_BATCH != 0,
            codec,
        })
    }
}

/// The decoded header of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Length of the body without its padding.
    pub body_bytes: u32,
    /// Place in the log.
    pub seq: Seq,
    /// What the body is; the layers above give it a meaning.
    pub kind: u16,
    /// Version of the kind's body.
    pub version: u16,
    /// Batch borders, seal and codec.
    pub flags: Flags,
    /// Highest place that was known to be on disk when this frame was written.
    pub durable_seq: Seq,
    /// Hash of this frame and all before it.
    pub chain: Chain,
    /// Wall clock in Unix nanoseconds.
    pub wall_unix_ns: u64,
    /// CRC32 of the body.
    pub body_crc: u32,
}

impl FrameHeader {
    /// Length of an encoded header.
    pub const ENCODED_BYTES: usize = 80;

    /// Returns the length of the whole frame: header, body and padding.
    pub fn frame_bytes(&self) -> usize {
        let body_bytes = self.body_bytes as usize;
        Self::ENCODED_BYTES + body_bytes + padding_bytes(body_bytes)
    }

    /// Returns whether this is a seal frame.
    pub fn is_seal(&self) -> bool {
        self.flags.codec == BodyCodec::Fixed
    }

    /// Encodes the header for the segment that `salt` stands for.
    pub fn encode(&self, salt: &FrameSalt) -> [u8; Self::ENCODED_BYTES] {
        let mut out = [0; Self::ENCODED_BYTES];
        out[0..4].copy_from_slice(&FRAME_MAGIC);
        out[4..8].copy_from_slice(&self.body_bytes.to_le_bytes());
        out[8..16].copy_from_slice(&self.seq.0.to_le_bytes());
        out[16..18].copy_from_slice(&self.kind.to_le_bytes());
        out[18..20].copy_from_slice(&self.version.to_le_bytes());
        out[20..24].copy_from_slice(&self.flags.encode().to_le_bytes());
        out[24..32].copy_from_slice(&self.durable_seq.0.to_le_bytes());
        out[32..64].copy_from_slice(&self.chain.0);
        out[64..72].copy_from_slice(&self.wall_unix_ns.to_le_bytes());
        out[72..76].copy_from_slice(&self.body_crc.to_le_bytes());
        let crc = salt.crc(&out[0..76]);
        out[76..80].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a header; the checksum comes before every other field but the magic.
    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES], salt: &FrameSalt) -> Result<Self, FrameFault> {
        if part::<0, 4, _>(bytes) != FRAME_MAGIC {
            return Err(FrameFault::Magic);
        }
        let found = u32::from_le_bytes(part::<76, 4, _>(bytes));
        let expected = salt.crc(&bytes[0..76]);
        if found != expected {
            return Err(FrameFault::HeaderCrc { found, expected });
        }
        let bits = u32::from_le_bytes(part::<20, 4, _>(bytes));
        let flags = Flags::decode(bits).ok_or(FrameFault::Flags { found: bits })?;
        let header = Self {
            body_bytes: u32::from_le_bytes(part::<4, 4, _>(bytes)),
            seq: Seq(u64::from_le_bytes(part::<8, 8, _>(bytes))),
            kind: u16::from_le_bytes(part::<16, 2, _>(bytes)),
            version: u16::from_le_bytes(part::<18, 2, _>(bytes)),
            flags,
            durable_seq: Seq(u64::from_le_bytes(part::<24, 8, _>(bytes))),
            chain: Chain(part::<32, 32, _>(bytes)),
            wall_unix_ns: u64::from_le_bytes(part::<64, 8, _>(bytes)),
            body_crc: u32::from_le_bytes(part::<72, 4, _>(bytes)),
        };
        header.check_fields()?;
        Ok(header)
    }

    /// No writer makes a header that fails here, whatever a crash did to it afterwards.
    fn check_fields(&self) -> Result<(), FrameFault> {
        let body_bytes = self.body_bytes as usize;
        if body_bytes > FRAME_BODY_BYTES_MAX {
            return Err(FrameFault::BodyTooLong { found: body_bytes, max: FRAME_BODY_BYTES_MAX });
        }
        if self.durable_seq >= self.seq {
            return Err(FrameFault::DurableSeq { found: self.durable_seq, seq: self.seq });
        }
        if self.is_seal() != (self.kind == KIND_SEAL) {
            return Err(FrameFault::SealKind { kind: self.kind });
        }
        Ok(())
    }
}

/// What a frame must be to come next.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Seed of the segment.
    pub salt: FrameSalt,
    /// The next sequence number.
    pub seq: Seq,
    /// The chain of the frame before.
    pub chain: Chain,
}

/// Checks the frame at the start of `rest` completely and returns its header and body.
///
/// The order is header checksum, sequence, length against the bytes there are, body checksum,
/// padding, chain. Nothing is allocated.
pub fn check_frame<'a>(
    rest: &'a [u8],
    expected: &Expected,
) -> Result<(FrameHeader, &'a [u8]), FrameFault> {
    let (header, body) = check_sums(rest, expected)?;
    let head = rest.first_chunk().expect("a frame that was checked has its header");
    if chain_of(expected.chain, head, body) != header.chain {
        return Err(FrameFault::Chain);
    }
    Ok((header, body))
}

/// As [`check_frame`], without the chain: finds what happened by accident, at several times the
/// speed of the digest.
pub fn check_sums<'a>(
    rest: &'a [u8],
    expected: &Expected,
) -> Result<(FrameHeader, &'a [u8]), FrameFault> {
    let Some(head) = rest.first_chunk::<{ FrameHeader::ENCODED_BYTES }>() else {
        return Err(FrameFault::HeaderShort { found: rest.len() });
    };
    let header = FrameHeader::decode(head, &expected.salt)?;
    if header.seq != expected.seq {
        return Err(FrameFault::Seq { found: header.seq, expected: expected.seq });
    }
    let body = check_body(rest, &header)?;
    Ok((header, body))
}

/// Checks the body at the start of `rest`, behind its header, and returns it.
pub(crate) fn check_body<'a>(rest: &'a [u8], header: &FrameHeader) -> Result<&'a [u8], FrameFault> {
    let after = rest.get(FrameHeader::ENCODED_BYTES..).unwrap_or_default();
    let body_bytes = header.body_bytes as usize;
    let padded_bytes = body_bytes + padding_bytes(body_bytes);
    let short = FrameFault::BodyShort { found: after.len(), expected: padded_bytes };
    let padded = after.get(..padded_bytes).ok_or(short)?;
    let (body, padding) = padded.split_at_checked(body_bytes).ok_or(short)?;
    let crc = crc32fast::hash(body);
    if crc != header.body_crc {
        return Err(FrameFault::BodyCrc { found: crc, expected: header.body_crc });
    }
    if padding.iter().any(|byte| *byte != 0) {
        return Err(FrameFault::Padding);
    }
    Ok(body)
}

/// Number of zero bytes after a body.
fn padding_bytes(body_bytes: usize) -> usize {
    body_bytes.next_multiple_of(8) - body_bytes
}

pub(crate) fn chain_of(
    prev: Chain,
    header: &[u8; FrameHeader::ENCODED_BYTES],
    body: &[u8],
) -> Chain {
    let mut hasher = Sha256::new();
    hasher.update(prev.0);
    hasher.update(&header[0..32]);
    hasher.update(&header[64..72]);
    hasher.update(body);
    Chain(hasher.finalize().into())
}

/// Copies `N` bytes at `AT` out of a fixed record; a range outside of it does not compile.
pub(crate) fn part<const AT: usize, const N: usize, const LEN: usize>(
    bytes: &[u8; LEN],
) -> [u8; N] {
    const { assert!(AT + N <= LEN, "the field lies inside the record") };
    let field = bytes.get(AT..AT + N).and_then(|field| field.first_chunk());
    *field.expect("the range was checked when this was compiled")
}

pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
