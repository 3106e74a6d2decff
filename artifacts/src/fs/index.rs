//! The index of a sealed pack: which artifact stands where.
//!
//! An index is derived: whatever is wrong with it, the pack's own record headers say the same,
//! and the reader falls back to them. It is written once, under a temporary name, and renamed.

use std::io;
use std::path::Path;

use super::vfs::{FileView, Vfs, open_regular};
use crate::error::DamageReason;
use crate::frame::{
    FORMAT_MAJOR, FORMAT_MINOR, Fields, HEADER_BYTES_FIELD, HeaderError, PackHeader, RecordHeader,
    Taken, checked, looks_converted,
};
use crate::fs::PackIdent;
use crate::id::{ArtifactId, ID_BYTES};

const INDEX_MAGIC: [u8; 8] = *b"\x89EVI\r\n\x1a\n";
/// Bytes in an index header.
const INDEX_HEADER_BYTES: usize = 128;
/// Bytes in the table of first-byte counts.
const FAN_OUT_BYTES: usize = 256 * 4;
/// Bytes in one entry of the array beside the keys.
const ENTRY_BYTES: usize = 24;
/// Most artifacts in one index; the counts in the fan-out are 32 bits wide.
const ENTRIES_MAX: usize = u32::MAX as usize;

/// Where a pack holds an artifact, as its index and its record header both say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Offset of the record header in the pack.
    pub(crate) offset: u64,
    pub(crate) raw_bytes: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) codec: u16,
    /// The record helps to read others, and is no artifact of a run.
    pub(crate) is_dictionary: bool,
}

impl Entry {
    /// Describes the record whose header stands at `offset`.
    pub(crate) fn of(offset: u64, header: &RecordHeader) -> Self {
        let RecordHeader { codec, raw_bytes, stored_bytes, is_dictionary, .. } = *header;
        Self { offset, raw_bytes, stored_bytes, codec, is_dictionary }
    }

    /// | offset | bytes | field |
    /// |---|---|---|
    /// | 0 | 8 | offset of the record header |
    /// | 8 | 8 | raw length |
    /// | 16 | 4 | stored length |
    /// | 20 | 2 | codec |
    /// | 22 | 2 | flags, as in the record |
    fn encode(&self) -> [u8; ENTRY_BYTES] {
        let stored_bytes = u32::try_from(self.stored_bytes).expect("a stored length is <= 1 GiB");
        let mut out = [0; ENTRY_BYTES];
        let (words, tail) = out.split_at_mut(16);
        words.copy_from_slice([self.offset, self.raw_bytes].map(u64::to_le_bytes).as_flattened());
        let (stored, tail) = tail.split_at_mut(4);
        stored.copy_from_slice(&stored_bytes.to_le_bytes());
        let (codec, flags) = tail.split_at_mut(2);
        codec.copy_from_slice(&self.codec.to_le_bytes());
        flags.copy_from_slice(&u16::from(self.is_dictionary).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let mut fields = Taken(bytes);
        let offset = u64::from_le_bytes(fields.array());
        let raw_bytes = u64::from_le_bytes(fields.array());
        let stored_bytes = u64::from(u32::from_le_bytes(fields.array()));
        let codec = u16::from_le_bytes(fields.array());
        let is_dictionary = u16::from_le_bytes(fields.array()) & 1 != 0;
        Self { offset, raw_bytes, stored_bytes, codec, is_dictionary }
    }
}

/// What an index says about the pack it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealing {
    pub(crate) pack: PackHeader,
    pub(crate) pack_bytes: u64,
    pub(crate) pack_sha256: [u8; 32],
    /// Records in the pack, with those that a later copy of the same artifact replaced.
    pub(crate) records: u64,
}

/// Lays out an index over `entries`, which are in the order of their keys, each key once.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic `89 'E' 'V' 'I' 0D 0A 1A 0A` |
/// | 8 | 2 | format major |
/// | 10 | 2 | format minor |
/// | 12 | 4 | header length, 128 |
/// | 16 | 16 | ledger id |
/// | 32 | 4 | pack number |
/// | 36 | 4 | writer epoch |
/// | 40 | 8 | created, as in the pack header |
/// | 48 | 8 | entries, n |
/// | 56 | 8 | records in the pack |
/// | 64 | 8 | length of the pack |
/// | 72 | 32 | SHA-256 of the pack |
/// | 104 | 4 | CRC-32 of the fan-out |
/// | 108 | 4 | CRC-32 of the keys |
/// | 112 | 4 | CRC-32 of the entries |
/// | 116 | 8 | zero |
/// | 124 | 4 | CRC-32 of bytes 0..124 |
/// | 128 | 1024 | fan-out: for each first byte, how many keys have at most it, as `u32` |
/// | 1152 | 32 n | keys, ascending |
/// | 1152 + 32 n | 24 n | entries, in the order of the keys |
pub(crate) fn encode(sealing: &Sealing, entries: &[(ArtifactId, Entry)]) -> Vec<u8> {
    assert!(entries.len() <= ENTRIES_MAX, "a pack is far shorter than that many records");
    let mut counts = [0_u32; 256];
    for (id, _) in entries {
        let [first, ..] = id.as_bytes();
        counts.iter_mut().skip(usize::from(*first)).for_each(|count| *count += 1);
    }
    let fan_out = counts.map(u32::to_le_bytes);
    let keys: Vec<u8> = entries.iter().flat_map(|(id, _)| *id.as_bytes()).collect();
    let places: Vec<u8> = entries.iter().flat_map(|(_, entry)| entry.encode()).collect();

    let PackHeader { ident, number } = sealing.pack;
    let mut out = Fields::<INDEX_HEADER_BYTES>::new();
    out.put(&INDEX_MAGIC);
    out.put(&FORMAT_MAJOR.to_le_bytes());
    out.put(&FORMAT_MINOR.to_le_bytes());
    out.put(&HEADER_BYTES_FIELD.to_le_bytes());
    out.put(&ident.ledger_id);
    out.put(&number.to_le_bytes());
    out.put(&ident.epoch.to_le_bytes());
    out.put(&ident.created_unix_ns.to_le_bytes());
    out.put(&(entries.len() as u64).to_le_bytes());
    out.put(&sealing.records.to_le_bytes());
    out.put(&sealing.pack_bytes.to_le_bytes());
    out.put(&sealing.pack_sha256);
    for section in [fan_out.as_flattened(), &keys, &places] {
        out.put(&crc32fast::hash(section).to_le_bytes());
    }
    out.put(&[0; 8]);
    [out.seal().as_slice(), fan_out.as_flattened(), &keys, &places].concat()
}

/// A checked index, mapped.
#[derive(Debug)]
pub(crate) struct SealedIndex {
    map: FileView,
    sealing: Sealing,
    entries: usize,
}

/// Says why there is no usable index.
#[derive(Debug)]
pub(crate) enum IndexError {
    Io(io::Error),
    Header(HeaderError),
}

impl<E: Into<HeaderError>> From<E> for IndexError {
    fn from(error: E) -> Self {
        Self::Header(error.into())
    }
}

impl SealedIndex {
    /// Maps an index and checks all of its checksums and its order.
    pub(crate) fn open(vfs: &dyn Vfs, path: &Path) -> Result<Self, IndexError> {
        let map = open_regular(vfs, path).and_then(|file| file.view()).map_err(IndexError::Io)?;
        Ok(Self::of(map)?)
    }

    /// Checks the bytes of an index.
    pub(crate) fn of(map: FileView) -> Result<Self, HeaderError> {
        let (sealing, entries) = check(&map)?;
        Ok(Self { map, sealing, entries })
    }

    pub(crate) fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// The `position`-th artifact in the order of ids.
    pub(crate) fn get(&self, position: usize) -> Option<(ArtifactId, Entry)> {
        let key = self.keys().get(position)?;
        let (entries, _) = self.section(self.places_start()).as_chunks();
        Some((ArtifactId::from_bytes(*key), Entry::decode(entries.get(position)?)))
    }

    /// The position of the first id that is not below `id`.
    pub(crate) fn lower_bound(&self, id: &ArtifactId) -> usize {
        let [first, ..] = id.as_bytes();
        let (counts, _) = self.section(INDEX_HEADER_BYTES).as_chunks::<4>();
        let count = |at: usize| {
            let count = counts.get(at).map_or(0, |bytes| u32::from_le_bytes(*bytes));
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        let start = usize::from(*first).checked_sub(1).map_or(0, count);
        let bucket = self.keys().get(start..count(usize::from(*first))).unwrap_or_default();
        start + bucket.partition_point(|key| key < id.as_bytes())
    }

    fn keys(&self) -> &[[u8; ID_BYTES]] {
        let (keys, _) = self.section(INDEX_HEADER_BYTES + FAN_OUT_BYTES).as_chunks();
        keys.get(..self.entries).unwrap_or_default()
    }

    fn places_start(&self) -> usize {
        INDEX_HEADER_BYTES + FAN_OUT_BYTES + self.entries * ID_BYTES
    }

    fn section(&self, start: usize) -> &[u8] {
        self.map.get(start..).unwrap_or_default()
    }
}

/// Checks an index file whole; returns what it says about its pack, and its number of entries.
fn check(file: &[u8]) -> Result<(Sealing, usize), HeaderError> {
    if looks_converted(file, *b"EVI") {
        return Err(HeaderError::ConvertedAsText);
    }
    let header = checked::<INDEX_HEADER_BYTES>(file, &INDEX_MAGIC)?;
    let mut fields = Taken(header);
    let minor = fields.format()?;
    let ledger_id = fields.array();
    let number = u32::from_le_bytes(fields.array());
    let epoch = u32::from_le_bytes(fields.array());
    let created_unix_ns = u64::from_le_bytes(fields.array());
    let entries = u64::from_le_bytes(fields.array());
    let records = u64::from_le_bytes(fields.array());
    let pack_bytes = u64::from_le_bytes(fields.array());
    let pack_sha256 = fields.array();
    let crcs = [(); 3].map(|()| u32::from_le_bytes(fields.array()));
    let reserved = fields.array::<8>();
    fields.expect_that("reserved", reserved == [0; 8] || minor > FORMAT_MINOR)?;

    let pack = PackHeader { ident: PackIdent { ledger_id, epoch, created_unix_ns }, number };
    let sealing = Sealing { pack, pack_bytes, pack_sha256, records };
    let entries = check_sections(file, entries, crcs)?;
    Ok((sealing, entries))
}

/// Checks the three sections behind the header; returns the number of entries.
fn check_sections(file: &[u8], entries: u64, crcs: [u32; 3]) -> Result<usize, DamageReason> {
    let body = file.get(INDEX_HEADER_BYTES..).unwrap_or_default();
    let bytes_of =
        |entries: usize| entries.checked_mul(ID_BYTES + ENTRY_BYTES)?.checked_add(FAN_OUT_BYTES);
    let count = usize::try_from(entries).ok().filter(|count| *count <= ENTRIES_MAX);
    let expected =
        count.and_then(bytes_of).ok_or(DamageReason::HeaderField { field: "entries" })?;
    if body.len() != expected {
        let [found_bytes, expected_bytes] = [body.len(), expected].map(|len| len as u64);
        return Err(DamageReason::Cut { found_bytes, expected_bytes });
    }
    let count = count.unwrap_or_default();
    let (fan_out, rest) = body.split_at_checked(FAN_OUT_BYTES).unwrap_or_default();
    let (keys, places) = rest.split_at_checked(count * ID_BYTES).unwrap_or_default();
    let sections = [("fan-out", fan_out), ("keys", keys), ("entries", places)];
    for ((section, bytes), crc) in sections.into_iter().zip(crcs) {
        if crc32fast::hash(bytes) != crc {
            return Err(DamageReason::IndexChecksum { section });
        }
    }
    let (keys, _) = keys.as_chunks::<ID_BYTES>();
    if !keys.is_sorted_by(|left, right| left < right) {
        return Err(DamageReason::IndexMismatch { field: "order of keys" });
    }
    let (counts, _) = fan_out.as_chunks::<4>();
    for (first, found) in counts.iter().enumerate() {
        let up_to = keys.partition_point(|[byte, ..]| usize::from(*byte) <= first);
        if u64::from(u32::from_le_bytes(*found)) != up_to as u64 {
            return Err(DamageReason::IndexMismatch { field: "fan-out" });
        }
    }
    Ok(count)
}
