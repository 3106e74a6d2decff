//! One pack, opened for reading: by its index where there is a good one, else by a scan.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunks::{ChunkTable, HEAD_BYTES, is_table, table_bytes};
use super::index::{Entry, IndexError, SealedIndex};
use super::name::{INDEX_SUFFIX, PACK_SUFFIX, PackName};
use super::scan::{self, PackBytes, read_range};
use super::unpack::{Bases, Stored, Unpacker, base_is_intact, unchunk_one, unpack};
use super::vfs::{Vfs, open_regular};
use crate::error::{DamageReason, GetError, OpenError};
use crate::frame::{
    BaseKey, CODEC_ZSTD, FORMAT_MAJOR, HEADER_U64, HeaderError, PACK_HEADER_U64, PackHeader,
    RecordHeader,
};
use crate::id::ArtifactId;

/// Says why a record does not yield its artifact.
#[derive(Debug)]
pub(crate) enum RecordError {
    Damaged(DamageReason),
    CodecUnsupported(u16),
    Io(io::Error),
}

/// An opened pack.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) name: PackName,
    pub(crate) path: PathBuf,
    pub(crate) index_path: PathBuf,
    /// What the pack says about itself. A damaged header does not keep its records from being
    /// read, since each of them proves itself.
    pub(crate) header: Result<PackHeader, DamageReason>,
    pub(crate) bytes: PackBytes,
    pub(crate) index: Index,
}

/// How the artifacts of a pack are found.
#[derive(Debug)]
pub(crate) enum Index {
    Sealed(SealedIndex),
    /// There is no index that can be used; the entries come from a scan.
    Scanned {
        entries: Vec<(ArtifactId, Entry)>,
        why: NoIndex,
    },
}

/// Why a pack was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoIndex {
    Missing,
    Damaged(DamageReason),
}

impl Pack {
    /// Opens the pack with this name; a sealed one is mapped, unless `remote` says that the
    /// file system cannot be trusted to keep the file.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        folder: &Path,
        name: PackName,
        remote: bool,
    ) -> Result<Self, OpenError> {
        let (path, index_path) = (name.pack_path(folder), name.index_path(folder));
        let failed = |action| {
            let path = path.clone();
            move |source| OpenError::Io { path, action, source: Arc::new(source) }
        };
        let file = open_regular(vfs, &path).map_err(failed("open"))?;
        let bytes = file.stat().map_err(failed("read the length"))?.bytes;
        let head = read_range(&*file, 0, bytes.min(PACK_HEADER_U64)).map_err(failed("read"))?;
        let header = match PackHeader::decode(&head) {
            Ok(header) if header_is_named(&header, name) => Ok(header),
            Ok(_) => Err(DamageReason::HeaderField { field: "pack number and epoch" }),
            Err(error) => Err(readable(error, &path, PACK_SUFFIX)?),
        };
        let why = match open_index(vfs, &index_path, name, header, bytes)? {
            Ok(index) if remote => {
                let (bytes, index) = (PackBytes::File { file, bytes }, Index::Sealed(index));
                return Ok(Self { name, path, index_path, header, bytes, index });
            }
            Ok(index) => {
                let mapped = file.view().map_err(failed("map"))?;
                if mapped.len() as u64 == bytes {
                    let (bytes, index) = (PackBytes::Mapped(mapped), Index::Sealed(index));
                    return Ok(Self { name, path, index_path, header, bytes, index });
                }
                NoIndex::Damaged(DamageReason::IndexMismatch { field: "pack length" })
            }
            Err(why) => why,
        };
        let bytes = PackBytes::File { file, bytes };
        let entries = scan::entries(&bytes).map_err(failed("read"))?;
        let index = Index::Scanned { entries, why };
        Ok(Self { name, path, index_path, header, bytes, index })
    }

    /// The number of artifacts.
    pub(crate) fn len(&self) -> usize {
        match &self.index {
            Index::Sealed(index) => index.len(),
            Index::Scanned { entries, .. } => entries.len(),
        }
    }

    /// The `position`-th artifact in the order of ids.
    pub(crate) fn get(&self, position: usize) -> Option<(ArtifactId, Entry)> {
        match &self.index {
            Index::Sealed(index) => index.get(position),
            Index::Scanned { entries, .. } => entries.get(position).copied(),
        }
    }

    /// The position of the first id that is not below `id`.
    pub(crate) fn lower_bound(&self, id: &ArtifactId) -> usize {
        match &self.index {
            Index::Sealed(index) => index.lower_bound(id),
            Index::Scanned { entries, .. } => entries.partition_point(|(key, _)| key < id),
        }
    }

    /// Where the pack holds `id`, if it does.
    pub(crate) fn find(&self, id: &ArtifactId) -> Option<Entry> {
        let (found, entry) = self.get(self.lower_bound(id))?;
        (found == *id && !entry.is_dictionary).then_some(entry)
    }

    /// Reads the artifact that the index places at `entry`.
    pub(crate) fn read(
        &self,
        id: ArtifactId,
        entry: &Entry,
        unpacker: &Unpacker,
    ) -> Result<Arc<[u8]>, GetError> {
        let record = self.record_of(id, entry).and_then(|(header, stored)| {
            unpack(&header, &stored, unpacker, self).map(|raw| raw.into_owned().into())
        });
        record.map_err(|error| get_error(id, &self.path, entry.offset, error))
    }

    /// Reads a part of the artifact that the index places at `entry`, without the rest of it;
    /// `None` if it is not stored in chunks.
    ///
    /// `range` is within the artifact.
    pub(crate) fn read_part(
        &self,
        id: ArtifactId,
        entry: &Entry,
        range: Range<u64>,
    ) -> Result<Option<Arc<[u8]>>, GetError> {
        let part = self.part_of(id, entry, range);
        part.map_err(|error| get_error(id, &self.path, entry.offset, error))
    }

    fn part_of(
        &self,
        id: ArtifactId,
        entry: &Entry,
        range: Range<u64>,
    ) -> Result<Option<Arc<[u8]>>, RecordError> {
        if entry.codec != CODEC_ZSTD {
            return Ok(None);
        }
        let header = self.header_of(id, entry)?;
        let at = entry.offset + HEADER_U64;
        let head = self.bytes.range(at, HEAD_BYTES as u64).map_err(RecordError::Io)?;
        if !is_table(&head) {
            return Ok(None);
        }
        let table = table_bytes(&head, header.raw_bytes).map_err(RecordError::Damaged)?;
        let table = self.bytes.range(at, table).map_err(RecordError::Io)?;
        let table = ChunkTable::decode(&table, header.raw_bytes, header.stored_bytes)
            .map_err(RecordError::Damaged)?;
        let wanted =
            table.parts().filter(|part| part.raw.start < range.end && range.start < part.raw.end);
        let mut context = zstd::zstd_safe::DCtx::create();
        let mut raw = Vec::new();
        for part in wanted {
            let bytes = u64::from(part.chunk.stored_bytes);
            let frame = self.bytes.range(at + part.stored_at, bytes).map_err(RecordError::Io)?;
            let chunk = part
                .chunk
                .check(&frame)
                .and_then(|()| unchunk_one(&mut context, &frame, part.raw.end - part.raw.start));
            let chunk = chunk.map_err(RecordError::Damaged)?;
            let skipped = usize::try_from(range.start.saturating_sub(part.raw.start));
            let left = usize::try_from(range.end.min(part.raw.end) - part.raw.start);
            let wanted = skipped.ok().zip(left.ok()).and_then(|(from, to)| chunk.get(from..to));
            raw.extend_from_slice(wanted.unwrap_or_default());
        }
        Ok(Some(raw.into()))
    }

    /// Returns true if the stored bytes at `entry`, and what is needed to read them, still have
    /// their checksums.
    pub(crate) fn is_intact(&self, id: ArtifactId, entry: &Entry) -> bool {
        self.record_of(id, entry).is_ok_and(|(header, _)| base_is_intact(&header, self))
    }

    /// The offset of what the record at `entry` needs, if it needs something that is there.
    pub(crate) fn base_entry(&self, id: ArtifactId, entry: &Entry) -> Option<(ArtifactId, Entry)> {
        let header = self.header_of(id, entry).ok()?;
        header.needs_base().then(|| self.find_key(header.base))?
    }

    /// The first artifact whose id begins with `key`.
    fn find_key(&self, key: BaseKey) -> Option<(ArtifactId, Entry)> {
        let found = self.get(self.lower_bound(&key.first_id()))?;
        (BaseKey::of(&found.0) == key).then_some(found)
    }

    /// Reads the header of the record at `entry` and compares it with what the index says.
    fn header_of(&self, id: ArtifactId, entry: &Entry) -> Result<RecordHeader, RecordError> {
        let header = self.bytes.range(entry.offset, HEADER_U64).map_err(RecordError::Io)?;
        let header = RecordHeader::decode(&header).map_err(RecordError::Damaged)?;
        check_listed(id, entry, &header).map(|()| header)
    }

    /// Reads the record at `entry` and compares it with what the index says.
    fn record_of(&self, id: ArtifactId, entry: &Entry) -> Result<Stored<'_>, RecordError> {
        let (header, stored) = self.record(entry.offset)?;
        check_listed(id, entry, &header)?;
        Ok((header, stored))
    }

    /// Reads the record at `offset`; its header and its stored bytes have their checksums.
    pub(crate) fn record(&self, offset: u64) -> Result<Stored<'_>, RecordError> {
        let header = self.bytes.range(offset, HEADER_U64).map_err(RecordError::Io)?;
        let header = RecordHeader::decode(&header).map_err(RecordError::Damaged)?;
        // The range never reaches beyond the file, so that a large length allocates nothing.
        let range = self.bytes.range(offset + HEADER_U64, header.stored_bytes);
        let stored = range.map_err(RecordError::Io)?;
        check_stored(&header, &stored).map_err(RecordError::Damaged)?;
        Ok((header, stored))
    }
}

impl Bases for Pack {
    fn base(&self, key: BaseKey) -> Result<Option<Stored<'_>>, RecordError> {
        let found = self.find_key(key);
        found.map(|(id, entry)| self.record_of(id, &entry)).transpose()
    }
}

/// Compares a record with what an index says about it.
fn check_listed(id: ArtifactId, entry: &Entry, header: &RecordHeader) -> Result<(), RecordError> {
    if header.id != id || Entry::of(entry.offset, header) != *entry {
        let reason = DamageReason::IndexMismatch { field: "record" };
        return Err(RecordError::Damaged(reason));
    }
    Ok(())
}

/// Checks the stored bytes of a record against its header.
pub(crate) fn check_stored(header: &RecordHeader, stored: &[u8]) -> Result<(), DamageReason> {
    let (found_bytes, expected_bytes) = (stored.len() as u64, header.stored_bytes);
    if found_bytes != expected_bytes {
        return Err(DamageReason::Cut { found_bytes, expected_bytes });
    }
    if crc32fast::hash(stored) != header.stored_crc {
        return Err(DamageReason::StoredChecksum);
    }
    Ok(())
}

/// Says about the artifact `id` what its record said.
pub(crate) fn get_error(id: ArtifactId, path: &Path, offset: u64, error: RecordError) -> GetError {
    let path = Some(path.display().to_string());
    match error {
        RecordError::Damaged(reason) => GetError::Damaged { id, path, offset, reason },
        RecordError::CodecUnsupported(codec) => {
            GetError::CodecUnsupported { id, path, offset, codec }
        }
        RecordError::Io(source) => {
            GetError::Unreadable { id, path, offset, source: Arc::new(source) }
        }
    }
}

fn header_is_named(header: &PackHeader, name: PackName) -> bool {
    header.number == name.number && header.ident.epoch == name.epoch
}

/// Opens the index and compares it with the pack; the inner error says why to scan instead.
fn open_index(
    vfs: &dyn Vfs,
    path: &Path,
    name: PackName,
    header: Result<PackHeader, DamageReason>,
    pack_bytes: u64,
) -> Result<Result<SealedIndex, NoIndex>, OpenError> {
    let index = match SealedIndex::open(vfs, path) {
        Ok(index) => index,
        Err(IndexError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err(NoIndex::Missing));
        }
        Err(IndexError::Io(source)) => {
            let (path, source) = (path.to_path_buf(), Arc::new(source));
            return Err(OpenError::Io { path, action: "map", source });
        }
        Err(IndexError::Header(error)) => {
            return readable(error, path, INDEX_SUFFIX).map(|why| Err(NoIndex::Damaged(why)));
        }
    };
    let sealing = index.sealing();
    let differs =
        if header.map_or(!header_is_named(&sealing.pack, name), |pack| pack != sealing.pack) {
            "pack header"
        } else if sealing.pack_bytes != pack_bytes {
            "pack length"
        } else {
            return Ok(Ok(index));
        };
    Ok(Err(NoIndex::Damaged(DamageReason::IndexMismatch { field: differs })))
}

/// Separates damage, which can be worked around, from files that must not be read at all.
fn readable(
    error: HeaderError,
    path: &Path,
    suffix: &'static str,
) -> Result<DamageReason, OpenError> {
    let path = path.to_path_buf();
    match error {
        HeaderError::Damaged(reason) => Ok(reason),
        HeaderError::ConvertedAsText => Err(OpenError::ConvertedAsText { path, suffix }),
        HeaderError::Version(found_major) => {
            Err(OpenError::Version { path, found_major, expected_major: FORMAT_MAJOR })
        }
    }
}
