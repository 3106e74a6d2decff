//! Walks a pack by its record headers, for packs without an index and for checks.
//!
//! A header is believed only with its own checksum, so that a damaged length never decides where
//! the next record is: after one, the walk looks for the next position with a good header.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::index::Entry;
use super::vfs::{FileView, VfsFile, read_exact_at};
use crate::error::DamageReason;
use crate::frame::{
    ALIGN_BYTES, HEADER_U64, PACK_HEADER_U64, RECORD_HEADER_BYTES, RecordHeader, has_record_magic,
};
use crate::id::ArtifactId;

/// How much of a file is looked at in one step while searching.
const WINDOW_BYTES: u64 = 64 << 10;

/// The bytes of a pack: mapped once it is sealed, read in pieces before.
#[derive(Debug)]
pub(crate) enum PackBytes {
    Mapped(FileView),
    /// A file that may still grow; what is beyond `bytes` is not looked at.
    File {
        file: Arc<dyn VfsFile>,
        bytes: u64,
    },
}

impl PackBytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Mapped(map) => map.len() as u64,
            Self::File { bytes, .. } => *bytes,
        }
    }

    /// Returns up to `bytes` bytes from `offset`, fewer only where the pack ends.
    pub(crate) fn range(&self, offset: u64, bytes: u64) -> io::Result<Cow<'_, [u8]>> {
        let start = offset.min(self.len());
        let end = start.saturating_add(bytes).min(self.len());
        match self {
            Self::Mapped(map) => {
                let [start, end] = [start, end].map(usize::try_from);
                let range = start.map_err(io::Error::other)?..end.map_err(io::Error::other)?;
                map.probe(range.clone())?;
                Ok(Cow::Borrowed(map.get(range).unwrap_or_default()))
            }
            Self::File { file, .. } => read_range(&**file, start, end - start).map(Cow::Owned),
        }
    }
}

/// Reads bytes that the file has; the caller bounds `bytes` by the length of the file.
pub(crate) fn read_range(file: &dyn VfsFile, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut range = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    read_exact_at(file, &mut range, offset)?;
    Ok(range)
}

/// What stands at one place of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A whole record; its stored bytes are not checked yet.
    Record { offset: u64, header: RecordHeader },
    /// Bytes that are no record, with a good record behind them.
    Gap { offset: u64, bytes: u64, reason: DamageReason },
    /// Bytes that are no record, up to the end of the file.
    Tail { offset: u64, bytes: u64, kind: TailKind },
}

/// What the end of a pack looks like when it is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TailKind {
    /// Only zeros: room that was never written.
    Zeros,
    /// A record that is not whole.
    Torn(DamageReason),
}

/// Yields everything in a pack behind its header, without gaps and in order.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pack: &'a PackBytes,
    at: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(pack: &'a PackBytes) -> Self {
        Self { pack, at: PACK_HEADER_U64 }
    }

    fn step(&mut self) -> io::Result<Item> {
        let offset = self.at;
        let left = self.pack.len() - offset;
        let reason = match RecordHeader::decode(&self.pack.range(offset, HEADER_U64)?) {
            Ok(header) if header.record_bytes() <= left => {
                self.at += header.record_bytes();
                return Ok(Item::Record { offset, header });
            }
            Ok(header) => {
                // The length can be trusted, and it says that nothing comes behind.
                let expected_bytes = header.record_bytes();
                self.at = self.pack.len();
                let kind = TailKind::Torn(DamageReason::Cut { found_bytes: left, expected_bytes });
                return Ok(Item::Tail { offset, bytes: left, kind });
            }
            Err(reason) => reason,
        };
        if let Some(next) = self.next_good(offset + ALIGN_BYTES)? {
            self.at = next;
            return Ok(Item::Gap { offset, bytes: next - offset, reason });
        }
        self.at = self.pack.len();
        let kind = if self.only_zeros(offset)? { TailKind::Zeros } else { TailKind::Torn(reason) };
        Ok(Item::Tail { offset, bytes: left, kind })
    }

    /// The first position from `from` at which a whole record with a good header starts.
    fn next_good(&self, from: u64) -> io::Result<Option<u64>> {
        let end = self.pack.len();
        let mut window_start = from;
        while window_start < end {
            let window = self.pack.range(window_start, WINDOW_BYTES + HEADER_U64)?;
            let slots = window.chunks(8).zip((window_start..).step_by(8));
            let starts = slots.filter(|(slot, _)| has_record_magic(slot)).map(|(_, at)| at);
            for at in starts.take_while(|at| *at < window_start + WINDOW_BYTES) {
                let skipped = usize::try_from(at - window_start).map_err(io::Error::other)?;
                let rest = window.get(skipped..).unwrap_or_default();
                match RecordHeader::decode(rest.get(..RECORD_HEADER_BYTES).unwrap_or_default()) {
                    Ok(header) if header.record_bytes() <= end - at => return Ok(Some(at)),
                    _ => {}
                }
            }
            window_start += WINDOW_BYTES;
        }
        Ok(None)
    }

    fn only_zeros(&self, from: u64) -> io::Result<bool> {
        let mut at = from;
        while at < self.pack.len() {
            if self.pack.range(at, WINDOW_BYTES)?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += WINDOW_BYTES;
        }
        Ok(true)
    }
}

impl Iterator for Walk<'_> {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<io::Result<Item>> {
        if self.at >= self.pack.len() {
            return None;
        }
        let item = self.step();
        if item.is_err() {
            self.at = self.pack.len();
        }
        Some(item)
    }
}

/// Lists the artifacts of a pack in the order of their ids; of several copies, the last.
///
/// What is no record is left out: a check reports it.
pub(crate) fn entries(pack: &PackBytes) -> io::Result<Vec<(ArtifactId, Entry)>> {
    let mut found = Vec::new();
    for item in Walk::new(pack) {
        if let Item::Record { offset, header } = item? {
            found.push((header.id, Entry::of(offset, &header)));
        }
    }
    found.sort_by_key(|(id, entry)| (*id, std::cmp::Reverse(entry.offset)));
    found.dedup_by_key(|(id, _)| *id);
    Ok(found)
}
