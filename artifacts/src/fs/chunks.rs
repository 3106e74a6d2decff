//! Long artifacts as chunks that are compressed each by itself, so that a part can be read
//! without the rest.
//!
//! The stored bytes are one skippable zstd frame with the lengths and checksums of the chunks,
//! then one zstd frame per chunk: `zstd -d` makes the artifact of them. Whoever reads the whole
//! checks the table as well, so that it cannot say anything else than the frames.

use std::ops::Range;

use crate::error::DamageReason;

/// Artifacts above this length are stored in chunks of it: 1 MiB.
pub const CHUNK_BYTES: u64 = 1 << 20;
/// The shortest chunks that a reader takes, which bounds the length of a table.
const CHUNK_BYTES_MIN: u64 = 64 << 10;
/// The longest chunks that a reader takes.
const CHUNK_BYTES_MAX: u64 = 16 << 20;
/// Magic of a skippable frame, its length, and what says that the rest is a table.
const SKIPPABLE_MAGIC: [u8; 4] = [0x5c, 0x2a, 0x4d, 0x18];
const TABLE_MAGIC: [u8; 4] = *b"EVC1";
/// Bytes in front of the entries.
pub(crate) const HEAD_BYTES: usize = 20;
/// Bytes per chunk: its stored length, and the CRC-32 of its stored bytes.
const ENTRY_BYTES: usize = 8;
/// Bytes of the checksum behind the entries.
const CRC_BYTES: usize = 4;

/// Where the chunks of one artifact stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkTable {
    chunk_bytes: u64,
    raw_bytes: u64,
    chunks: Vec<Chunk>,
    /// Bytes of the table itself, in front of the first chunk.
    table_bytes: u64,
}

/// The stored form of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) stored_bytes: u32,
    pub(crate) stored_crc: u32,
}

/// What stands where in the stored bytes and in the artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset in the stored bytes.
    pub(crate) stored_at: u64,
    pub(crate) chunk: Chunk,
    /// The bytes of the artifact that it holds.
    pub(crate) raw: Range<u64>,
}

/// Says whether stored bytes of codec 1 begin with a table.
pub(crate) fn is_table(stored: &[u8]) -> bool {
    stored.starts_with(&SKIPPABLE_MAGIC)
        && stored.get(8..).is_some_and(|rest| rest.starts_with(&TABLE_MAGIC))
}

/// Lays out a table.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 4 | `5C 2A 4D 18`, a skippable frame |
/// | 4 | 4 | length of what follows |
/// | 8 | 4 | magic `EVC1` |
/// | 12 | 4 | length of a chunk, 64 KiB to 16 MiB; the last one is shorter |
/// | 16 | 4 | number of chunks, n |
/// | 20 | 8 n | per chunk: its stored length, the CRC-32 of its stored bytes |
/// | 20 + 8 n | 4 | CRC-32 of bytes 0..20 + 8 n |
pub(crate) fn encode(chunks: &[Chunk]) -> Vec<u8> {
    let narrow = |length: usize| u32::try_from(length).expect("a table has at most 1024 chunks");
    let rest = HEAD_BYTES - 8 + chunks.len() * ENTRY_BYTES + CRC_BYTES;
    let chunk_bytes = u32::try_from(CHUNK_BYTES).expect("a chunk is 1 MiB");
    let mut table = SKIPPABLE_MAGIC.to_vec();
    table.extend(narrow(rest).to_le_bytes());
    table.extend(TABLE_MAGIC);
    table.extend(chunk_bytes.to_le_bytes());
    table.extend(narrow(chunks.len()).to_le_bytes());
    for chunk in chunks {
        table.extend(chunk.stored_bytes.to_le_bytes());
        table.extend(chunk.stored_crc.to_le_bytes());
    }
    let crc = crc32fast::hash(&table);
    table.extend(crc.to_le_bytes());
    table
}

/// The length of the table that begins with `head`, for an artifact of `raw_bytes` bytes.
///
/// Bounded by the lengths that chunks may have, whatever the head says.
pub(crate) fn table_bytes(head: &[u8], raw_bytes: u64) -> Result<u64, DamageReason> {
    let (_, chunks) = decode_head(head, raw_bytes)?;
    Ok((HEAD_BYTES + CRC_BYTES) as u64 + chunks * ENTRY_BYTES as u64)
}

/// Chunk length and number of chunks.
fn decode_head(head: &[u8], raw_bytes: u64) -> Result<(u64, u64), DamageReason> {
    let word = |at: usize| {
        let word = head.get(at..).and_then(|rest| rest.first_chunk());
        word.map(|word| u64::from(u32::from_le_bytes(*word))).ok_or(DamageReason::ChunkTable)
    };
    let (rest, chunk_bytes, chunks) = (word(4)?, word(12)?, word(16)?);
    let good = is_table(head)
        && (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&chunk_bytes)
        && chunks == raw_bytes.div_ceil(chunk_bytes)
        && rest == (HEAD_BYTES - 8 + CRC_BYTES) as u64 + chunks * ENTRY_BYTES as u64;
    if good { Ok((chunk_bytes, chunks)) } else { Err(DamageReason::ChunkTable) }
}

impl ChunkTable {
    /// Reads the table of an artifact of `raw_bytes` bytes, which is stored in `stored_bytes`.
    pub(crate) fn decode(
        table: &[u8],
        raw_bytes: u64,
        stored_bytes: u64,
    ) -> Result<Self, DamageReason> {
        let (chunk_bytes, count) = decode_head(table, raw_bytes)?;
        let (words, crc) = table.split_last_chunk::<CRC_BYTES>().ok_or(DamageReason::ChunkTable)?;
        if crc32fast::hash(words) != u32::from_le_bytes(*crc) {
            return Err(DamageReason::ChunkTable);
        }
        let (entries, _) = words.get(HEAD_BYTES..).unwrap_or_default().as_chunks::<ENTRY_BYTES>();
        let chunks: Vec<Chunk> = entries.iter().copied().map(decode_entry).collect();
        let table_bytes = table.len() as u64;
        let sum: u64 = chunks.iter().map(|chunk| u64::from(chunk.stored_bytes)).sum();
        if chunks.len() as u64 != count || table_bytes + sum != stored_bytes {
            return Err(DamageReason::ChunkTable);
        }
        Ok(Self { chunk_bytes, raw_bytes, chunks, table_bytes })
    }

    /// The chunks, one behind the other.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let mut stored_at = self.table_bytes;
        let starts = (0..).map(|number: u64| number * self.chunk_bytes);
        self.chunks.iter().zip(starts).map(move |(chunk, start)| {
            let raw = start..(start + self.chunk_bytes).min(self.raw_bytes);
            let part = Part { stored_at, chunk: *chunk, raw };
            stored_at += u64::from(chunk.stored_bytes);
            part
        })
    }
}

fn decode_entry(entry: [u8; ENTRY_BYTES]) -> Chunk {
    let mut fields = crate::frame::Taken(&entry);
    let stored_bytes = u32::from_le_bytes(fields.array());
    Chunk { stored_bytes, stored_crc: u32::from_le_bytes(fields.array()) }
}

impl Chunk {
    /// Describes the stored bytes of a chunk.
    pub(crate) fn of(stored: &[u8]) -> Self {
        let stored_bytes = u32::try_from(stored.len()).expect("a chunk is 1 MiB");
        Self { stored_bytes, stored_crc: crc32fast::hash(stored) }
    }

    /// Compares stored bytes with their table.
    pub(crate) fn check(self, stored: &[u8]) -> Result<(), DamageReason> {
        if stored.len() as u64 != u64::from(self.stored_bytes) {
            let [found_bytes, expected_bytes] = [stored.len() as u64, u64::from(self.stored_bytes)];
            return Err(DamageReason::Cut { found_bytes, expected_bytes });
        }
        let same = crc32fast::hash(stored) == self.stored_crc;
        if same { Ok(()) } else { Err(DamageReason::StoredChecksum) }
    }
}
