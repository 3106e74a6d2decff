//! The header of a segment file, its file name, and the ids that both carry. No IO.
//!
//! Every writer starts a segment of its own, and its header says how much of the segment before
//! is log. So no file is ever cut, rewound or reused, and what a crash left stays where it is.
//! All integers are little-endian.
//!
//! | off | len | field |
//! |---|---|---|
//! | 0 | 8 | magic `89 'E' 'V' 'L' 0D 0A 1A 0A`, which text conversion breaks |
//! | 8 | 2 | format major |
//! | 10 | 2 | format minor |
//! | 12 | 4 | header length, 128 |
//! | 16 | 16 | ledger id |
//! | 32 | 8 | sequence number of the first frame |
//! | 40 | 4 | segment number, previous + 1, the first is 1 |
//! | 44 | 4 | writer epoch |
//! | 48 | 8 | created, Unix nanoseconds: information only |
//! | 56 | 8 | valid length of the previous segment, 0 in the first: bytes beyond are not log |
//! | 64 | 32 | chain at that length, zeros in the first |
//! | 96 | 1 | checksum kind, 1 is CRC32 (IEEE) |
//! | 97 | 1 | hash kind, 1 is SHA-256 |
//! | 98 | 26 | reserved, must be 0 |
//! | 124 | 4 | CRC32 of bytes 0..124 |
//!
//! The file name is `<first sequence, 20 digits>-<epoch, 8 hex digits>.seg`.

mod fault;
#[cfg(test)]
mod tests;

use core::fmt;

pub use fault::SegmentFault;

use crate::frame::{Chain, FrameSalt, Seq, part, write_hex};

/// First bytes of every segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"\x89EVL\r\n\x1a\n";
/// The format that this version writes; another major is refused.
pub const FORMAT_MAJOR: u16 = 1;
/// The minor of the format that this version writes; any minor is read.
pub const FORMAT_MINOR: u16 = 0;
/// Longest segment that is read: 1 GiB.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// A segment of at least this many bytes is sealed and followed by a new one: 64 MiB.
pub const SEGMENT_ROTATE_BYTES: u64 = 64 << 20;

/// Checksum kind and hash kind.
const ALGORITHMS: [u8; 2] = [1, 1];

/// Names one ledger; random, displayed as 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId(pub [u8; 16]);

impl LedgerId {
    /// Returns the bytes of the id.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses 32 lowercase hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, rest) = text.as_bytes().as_chunks::<2>();
        if digits.len() != 16 || !rest.is_empty() {
            return None;
        }
        let mut id = [0; 16];
        for (byte, [high, low]) in id.iter_mut().zip(digits) {
            *byte = (hex_digit(*high)? << 4) | hex_digit(*low)?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// Names one run of a writer, so that two of them never share a file; displayed as 8 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// Returns the epoch as it stands in headers.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// What a new log is to be called; the caller supplies the randomness and the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdent {
    /// The ledger's id, the same in every segment.
    pub ledger_id: LedgerId,
    /// The epoch of the writer that creates it.
    pub epoch: Epoch,
    /// Wall clock in Unix nanoseconds, for information only.
    pub created_unix_ns: u64,
}

/// The decoded header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The ledger that the segment belongs to.
    pub ledger_id: LedgerId,
    /// Sequence number of its first frame.
    pub first_seq: Seq,
    /// Its place among the segments, from 1.
    pub number: u32,
    /// The writer that made it.
    pub epoch: Epoch,
    /// Wall clock in Unix nanoseconds, for information only.
    pub created_unix_ns: u64,
    /// How many bytes of the previous segment are log.
    pub prev_valid_bytes: u64,
    /// Chain at that place.
    pub prev_chain: Chain,
}

impl SegmentHeader {
    /// Length of an encoded header.
    pub const ENCODED_BYTES: usize = 128;

    /// Returns the header of the first segment of a new log.
    pub fn first(ident: LogIdent) -> Self {
        Self {
            ledger_id: ident.ledger_id,
            first_seq: Seq(1),
            number: 1,
            epoch: ident.epoch,
            created_unix_ns: ident.created_unix_ns,
            prev_valid_bytes: 0,
            prev_chain: Chain::ZERO,
        }
    }

    /// Returns the seed of the frame checksums in this segment.
    pub fn salt(&self) -> FrameSalt {
        FrameSalt::new(self.number, self.epoch.0, part::<0, 8, _>(&self.ledger_id.0))
    }

    /// Returns the file name that belongs to this header.
    pub fn file_name(&self) -> String {
        SegmentName { first_seq: self.first_seq, epoch: self.epoch }.to_string()
    }

    /// Encodes the header.
    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut out = [0; Self::ENCODED_BYTES];
        out[0..8].copy_from_slice(&SEGMENT_MAGIC);
        out[8..10].copy_from_slice(&FORMAT_MAJOR.to_le_bytes());
        out[10..12].copy_from_slice(&FORMAT_MINOR.to_le_bytes());
        out[12..16].copy_from_slice(&128u32.to_le_bytes());
        out[16..32].copy_from_slice(&self.ledger_id.0);
        out[32..40].copy_from_slice(&self.first_seq.0.to_le_bytes());
        out[40..44].copy_from_slice(&self.number.to_le_bytes());
        out[44..48].copy_from_slice(&self.epoch.0.to_le_bytes());
        out[48..56].copy_from_slice(&self.created_unix_ns.to_le_bytes());
        out[56..64].copy_from_slice(&self.prev_valid_bytes.to_le_bytes());
        out[64..96].copy_from_slice(&self.prev_chain.0);
        out[96..98].copy_from_slice(&ALGORITHMS);
        let crc = crc32fast::hash(&out[0..124]);
        out[124..128].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the header at the start of a file; `start` may be longer than the header.
    ///
    /// Text conversion is looked for first, because it also moves everything behind the magic,
    /// and the checksum comes before every field.
    pub fn decode(start: &[u8]) -> Result<Self, SegmentFault> {
        if is_text_converted(start) {
            return Err(SegmentFault::TextConverted);
        }
        let bytes = start
            .first_chunk::<{ Self::ENCODED_BYTES }>()
            .ok_or(SegmentFault::HeaderShort { found: start.len() })?;
        if part::<0, 8, _>(bytes) != SEGMENT_MAGIC {
            return Err(SegmentFault::Magic);
        }
        let found = u32::from_le_bytes(part::<124, 4, _>(bytes));
        let expected = crc32fast::hash(&bytes[0..124]);
        if found != expected {
            return Err(SegmentFault::HeaderCrc { found, expected });
        }
        check_version(bytes)?;
        Ok(Self {
            ledger_id: LedgerId(part::<16, 16, _>(bytes)),
            first_seq: Seq(u64::from_le_bytes(part::<32, 8, _>(bytes))),
            number: u32::from_le_bytes(part::<40, 4, _>(bytes)),
            epoch: Epoch(u32::from_le_bytes(part::<44, 4, _>(bytes))),
            created_unix_ns: u64::from_le_bytes(part::<48, 8, _>(bytes)),
            prev_valid_bytes: u64::from_le_bytes(part::<56, 8, _>(bytes)),
            prev_chain: Chain(part::<64, 32, _>(bytes)),
        })
    }

    /// Checks that this segment follows `prev`, whose file has `prev_file_bytes`.
    ///
    /// Without `prev` it must be the first of its log. The chain itself is compared by whoever
    /// reads the frames in between.
    pub fn check_link(&self, prev: Option<(&Self, u64)>) -> Result<(), SegmentFault> {
        let expected = prev.map_or(1, |(header, _)| u64::from(header.number) + 1);
        if u64::from(self.number) != expected {
            return Err(SegmentFault::Number { found: self.number, expected });
        }
        let (first_seq, file_bytes) = match prev {
            Some((header, file_bytes)) => (header.first_seq, file_bytes),
            None if self.first_seq == Seq(1) && self.prev_chain == Chain::ZERO => (Seq(1), 0),
            None => return Err(SegmentFault::FirstSegment),
        };
        let header_bytes = if prev.is_some() { Self::ENCODED_BYTES as u64 } else { 0 };
        if self.prev_valid_bytes < header_bytes || self.prev_valid_bytes > file_bytes {
            return Err(SegmentFault::PrevLength {
                found: file_bytes,
                expected: self.prev_valid_bytes,
            });
        }
        if self.first_seq < first_seq {
            return Err(SegmentFault::FirstSeq { found: self.first_seq, expected: first_seq });
        }
        Ok(())
    }
}

/// Refuses what only another version can read; the checksum was good.
fn check_version(bytes: &[u8; SegmentHeader::ENCODED_BYTES]) -> Result<(), SegmentFault> {
    let major = u16::from_le_bytes(part::<8, 2, _>(bytes));
    if major != FORMAT_MAJOR {
        return Err(SegmentFault::Major { found: major, expected: FORMAT_MAJOR });
    }
    let header_bytes = u32::from_le_bytes(part::<12, 4, _>(bytes));
    if header_bytes != 128 {
        return Err(SegmentFault::HeaderLength { found: header_bytes });
    }
    let algorithms = part::<96, 2, _>(bytes);
    if algorithms != ALGORITHMS {
        return Err(SegmentFault::Algorithms { found: algorithms });
    }
    if part::<98, 26, _>(bytes) != [0; 26] {
        return Err(SegmentFault::Reserved);
    }
    Ok(())
}

/// Recognizes the magic after a conversion of line ends or of bytes above 127.
fn is_text_converted(start: &[u8]) -> bool {
    const CONVERTED: [&[u8]; 7] = [
        b"\x89EVL\r\r\n\x1a\r\n", // every LF became CRLF
        b"\x89EVL\r\n\x1a\r\n",   // only a lone LF did
        b"\x89EVL\n\x1a\n",       // CRLF became LF
        b"\x89EVL\n\n\x1a\n",     // CR became LF
        b"\x09EVL\r\n\x1a\n",     // the high bit was dropped
        b"\xc2\x89EVL",           // taken for Latin-1 and encoded as UTF-8
        b"\xef\xbf\xbdEVL",       // replaced as invalid UTF-8
    ];
    CONVERTED.iter().any(|magic| start.starts_with(magic))
}

/// What a segment's file name says; the header must say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    /// Sequence number of the first frame.
    pub first_seq: Seq,
    /// The writer's epoch.
    pub epoch: Epoch,
}

impl SegmentName {
    /// The ending of every segment's file name.
    pub const SUFFIX: &str = ".seg";

    /// Parses a file name; `None` when no writer would have given it.
    pub fn parse(file_name: &str) -> Option<Self> {
        let (first_seq, epoch) = file_name.strip_suffix(Self::SUFFIX)?.split_once('-')?;
        let name = Self {
            first_seq: Seq(first_seq.parse().ok()?),
            epoch: Epoch(u32::from_str_radix(epoch, 16).ok()?),
        };
        // Signs, capitals and missing zeros would be other spellings of the same name.
        (name.to_string() == file_name).then_some(name)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{}{}", self.first_seq.0, self.epoch, Self::SUFFIX)
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
