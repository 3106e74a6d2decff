//! What a fuzzer calls, and a test with the inputs that are kept: hostile packs and indexes.
//!
//! Random bytes have no good checksums, so the ones in the input are mended first; what is left to
//! find is what stands behind them. A body panics if something holds that must not.

use std::path::PathBuf;

use crate::frame::{HEADER_U64, PACK_HEADER_U64, RECORD_HEADER_BYTES, has_record_magic};
use crate::fs::hostile;
use crate::id::ArtifactId;

/// Longest input that is looked at, in bytes.
const INPUT_BYTES_MAX: usize = 1 << 20;

/// Reads `data` as the records of a pack; whatever is read has the hash it is named by.
pub fn pack(data: &[u8]) {
    let data = data.get(..INPUT_BYTES_MAX).unwrap_or(data);
    let start = usize::try_from(PACK_HEADER_U64).unwrap_or_default();
    let mut pack = vec![0; start];
    pack.extend_from_slice(data);
    for at in (start..pack.len()).step_by(8) {
        mend_record(pack.get_mut(at..).unwrap_or_default());
    }
    for (id, read) in hostile::read_all(pack, PathBuf::from("fuzzed.pack")) {
        assert!(read.is_none_or(|bytes| ArtifactId::of(&bytes) == id), "wrong bytes for {id}");
    }
}

/// Gives the record at the front of `rest`, if there is one, the checksums that fit it.
fn mend_record(rest: &mut [u8]) {
    if !has_record_magic(rest) || rest.len() < RECORD_HEADER_BYTES {
        return;
    }
    let (header, behind) = rest.split_at_mut(RECORD_HEADER_BYTES);
    let stored = header.get(16..24).and_then(|field| field.first_chunk()).copied();
    let stored = usize::try_from(u64::from_le_bytes(stored.unwrap_or_default()));
    if let Some(stored) = stored.ok().and_then(|length| behind.get(..length)) {
        put(header, 64, &crc32fast::hash(stored).to_le_bytes());
    }
    let crc = crc32fast::hash(header.get(..68).unwrap_or_default());
    put(header, 68, &crc.to_le_bytes());
}

/// Reads `data` as an index; whatever it lists is found again under its name.
pub fn index(data: &[u8]) {
    let mut file = data.get(..INPUT_BYTES_MAX).unwrap_or(data).to_vec();
    let entries = file.get(48..56).and_then(|field| field.first_chunk()).copied();
    let entries = usize::try_from(u64::from_le_bytes(entries.unwrap_or_default()));
    let entries = entries.unwrap_or(usize::MAX).min(file.len());
    let (keys, places) = (1152, entries.saturating_mul(32).saturating_add(1152));
    for (field, section) in [(104, 128..keys), (108, keys..places), (112, places..file.len())] {
        let crc = crc32fast::hash(file.get(section).unwrap_or_default());
        put(&mut file, field, &crc.to_le_bytes());
    }
    let crc = crc32fast::hash(file.get(..124).unwrap_or_default());
    put(&mut file, 124, &crc.to_le_bytes());
    hostile::look_up_all(file);
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(slot) = bytes.get_mut(at..at + field.len()) {
        slot.copy_from_slice(field);
    }
}

const _: () = assert!(HEADER_U64 == 72, "the offsets above are those of the byte table");
