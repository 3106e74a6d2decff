//! The pack that a writer is filling: appended to, synced, and sealed with an index.
//!
//! Every failure is returned once and leaves the pack unusable; that the writer then stops is
//! the store's business.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::encode::{Coding, DICTIONARY, DICTIONARY_USED_BYTES_MAX, Encoded};
use super::index::{self, Entry, Sealing};
use super::name::PackName;
use super::pack::{RecordError, check_stored};
use super::unpack::{Bases, Stored};
use super::vfs::{self, OpenHow, Vfs, VfsFile, write_all_at};
use crate::error::PutError;
use crate::frame::{BaseKey, HEADER_U64, PackHeader, RecordHeader};
use crate::fs::PackIdent;
use crate::id::ArtifactId;

/// So many short artifacts of a pack are compressed by themselves before the pack gets its
/// dictionary: about what they would have saved with it pays for it.
const DICTIONARY_AFTER: u32 = 256;
/// Appended bytes are collected up to this length before they are written.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// Describes a pack that got its index and will not change any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedPack {
    /// The pack file.
    pub pack: PathBuf,
    /// Its index.
    pub index: PathBuf,
    /// The pack's number, which is part of its name.
    pub number: u32,
    /// Its writer's epoch, which is the other part.
    pub epoch: u32,
    /// Length of the pack file.
    pub pack_bytes: u64,
    /// SHA-256 of the pack file.
    pub pack_sha256: [u8; 32],
    /// Artifacts in the pack.
    pub artifacts: u64,
}

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct ActivePack {
    name: PackName,
    header: PackHeader,
    path: PathBuf,
    pub(crate) file: Arc<dyn VfsFile>,
    /// Bytes that are in the file; the pending ones follow.
    written_bytes: u64,
    /// Length of the file: what is beyond the written bytes is room that was reserved.
    file_bytes: u64,
    /// How much room is reserved at once; 0 for none.
    reserve_bytes: u64,
    pending: Vec<u8>,
    unsynced: bool,
    hasher: Sha256,
    /// Where each record stands, and its header.
    entries: BTreeMap<ArtifactId, (u64, RecordHeader)>,
    records: u64,
    /// Artifacts that were short enough for the dictionary.
    short: u32,
    has_dictionary: bool,
}

impl ActivePack {
    /// Creates the file, and makes its header and its directory entry durable.
    pub(crate) fn create(
        disk: &dyn Vfs,
        folder: &Path,
        number: u32,
        ident: PackIdent,
        reserve_bytes: u64,
    ) -> Result<Self, PutError> {
        let name = PackName { number, epoch: ident.epoch };
        let path = name.pack_path(folder);
        let file = disk.open(&path, OpenHow::CreateNew);
        let file = file.map_err(|source| failed(&path, 0, "create", source))?;
        let header = PackHeader { ident, number };
        let mut pack = Self {
            name,
            header,
            path,
            file,
            written_bytes: 0,
            file_bytes: 0,
            reserve_bytes,
            pending: Vec::new(),
            unsynced: false,
            hasher: Sha256::new(),
            entries: BTreeMap::new(),
            records: 0,
            short: 0,
            has_dictionary: false,
        };
        pack.take(&header.encode());
        pack.sync()?;
        sync_folder(disk, folder)?;
        Ok(pack)
    }

    pub(crate) fn name(&self) -> PackName {
        self.name
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the pack, with what is not written yet.
    pub(crate) fn bytes(&self) -> u64 {
        self.written_bytes + self.pending.len() as u64
    }

    /// Where the pack holds an artifact, with the header of its record.
    pub(crate) fn find(&self, id: &ArtifactId) -> Option<(u64, RecordHeader)> {
        self.entries.get(id).copied().filter(|(_, header)| !header.is_dictionary)
    }

    /// How an artifact of this length is best compressed.
    pub(crate) fn coding(&self, raw_bytes: usize) -> Coding {
        let short = raw_bytes as u64 <= DICTIONARY_USED_BYTES_MAX;
        if short && self.short >= DICTIONARY_AFTER { Coding::Dictionary } else { Coding::Alone }
    }

    /// Appends a record, and before it the dictionary if it needs one. It is durable after the
    /// next [`ActivePack::sync`].
    pub(crate) fn append(&mut self, encoded: &Encoded) -> Result<(), PutError> {
        if encoded.needs_dictionary() && !self.has_dictionary {
            self.has_dictionary = true;
            // Somebody's artifact of the same bytes serves as well, and stays an artifact.
            if !self.entries.contains_key(&DICTIONARY.encoded.id) {
                self.append_record(&DICTIONARY.encoded.header(), &DICTIONARY.encoded.stored)?;
            }
        }
        let header = encoded.header();
        if header.raw_bytes <= DICTIONARY_USED_BYTES_MAX {
            self.short = self.short.saturating_add(1);
        }
        self.append_record(&header, &encoded.stored)
    }

    fn append_record(&mut self, header: &RecordHeader, stored: &[u8]) -> Result<(), PutError> {
        let offset = self.bytes();
        let padding = header.record_bytes() - HEADER_U64 - header.stored_bytes;
        self.take(&header.encode());
        self.take(stored);
        self.take([0; 8].split_at(usize::try_from(padding).expect("padding is below 8")).0);
        self.records += 1;
        self.entries.insert(header.id, (offset, *header));
        if self.pending.len() >= PENDING_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Reads the stored bytes of a record of this pack, and checks their checksum.
    pub(crate) fn stored(
        &self,
        header: &RecordHeader,
        offset: u64,
    ) -> Result<Cow<'_, [u8]>, RecordError> {
        let start = offset + HEADER_U64;
        let bytes = usize::try_from(header.stored_bytes)
            .map_err(|error| RecordError::Io(io::Error::other(error)))?;
        let stored = if let Some(skipped) = start.checked_sub(self.written_bytes) {
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let pending = self.pending.get(skipped..).and_then(|rest| rest.get(..bytes));
            Cow::Borrowed(pending.unwrap_or_default())
        } else {
            let mut stored = vec![0; bytes];
            vfs::read_exact_at(&*self.file, &mut stored, start).map_err(RecordError::Io)?;
            Cow::Owned(stored)
        };
        check_stored(header, &stored).map_err(RecordError::Damaged)?;
        Ok(stored)
    }

    /// Hands all appended bytes to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), PutError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.reserve();
        let written = write_all_at(&*self.file, &self.pending, self.written_bytes);
        written.map_err(|source| failed(&self.path, self.written_bytes, "write", source))?;
        self.written_bytes += self.pending.len() as u64;
        self.file_bytes = self.file_bytes.max(self.written_bytes);
        self.pending.clear();
        Ok(())
    }

    /// Makes all appended bytes durable.
    pub(crate) fn sync(&mut self) -> Result<(), PutError> {
        if let Some(sync) = self.begin_sync()? {
            sync.run()?;
            self.end_sync(&sync);
        }
        Ok(())
    }

    /// Hands all bytes to the operating system and says what is left to do, if anything.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PackSync>, PutError> {
        self.flush()?;
        Ok(self.unsynced.then(|| PackSync {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
            bytes: self.written_bytes,
        }))
    }

    /// Notes that a sync has returned; what was appended since it began is not durable.
    pub(crate) fn end_sync(&mut self, sync: &PackSync) {
        if sync.path == self.path && sync.bytes == self.bytes() {
            self.unsynced = false;
        }
    }

    /// Reserves room for what is pending, so that a sync need not record a new length. Without
    /// room, or where that cannot be done, the write itself tells.
    fn reserve(&mut self) {
        let needed = self.bytes();
        if self.reserve_bytes == 0 || needed <= self.file_bytes {
            return;
        }
        let file_bytes = needed.next_multiple_of(self.reserve_bytes);
        match self.file.allocate(file_bytes) {
            Ok(()) => self.file_bytes = file_bytes,
            Err(_) => self.reserve_bytes = 0,
        }
    }

    /// Gives reserved room back: an index states the length of its pack.
    fn release(&mut self) -> Result<(), PutError> {
        self.flush()?;
        if self.file_bytes > self.written_bytes {
            let cut = self.file.set_len(self.written_bytes);
            cut.map_err(|source| failed(&self.path, self.written_bytes, "cut", source))?;
            self.file_bytes = self.written_bytes;
            self.unsynced = true;
        }
        Ok(())
    }

    /// Makes the pack durable, then writes its index under a temporary name and renames it.
    pub(crate) fn seal(&mut self, disk: &dyn Vfs, folder: &Path) -> Result<SealedPack, PutError> {
        self.release()?;
        self.sync()?;
        let sealing = Sealing {
            pack: self.header,
            pack_bytes: self.bytes(),
            pack_sha256: self.hasher.clone().finalize().into(),
            records: self.records,
        };
        let listed = self.entries.iter();
        let entries: Vec<_> =
            listed.map(|(id, (offset, header))| (*id, Entry::of(*offset, header))).collect();
        let (temporary, index) = (self.name.temporary_path(folder), self.name.index_path(folder));
        let written = vfs::put_file(disk, &temporary, &index, &index::encode(&sealing, &entries));
        written.map_err(|source| failed(&index, 0, "write", source))?;
        Ok(SealedPack {
            pack: self.path.clone(),
            index,
            number: self.name.number,
            epoch: self.name.epoch,
            pack_bytes: sealing.pack_bytes,
            pack_sha256: sealing.pack_sha256,
            artifacts: entries.len() as u64,
        })
    }

    fn take(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.pending.extend_from_slice(bytes);
        self.unsynced = true;
    }
}

/// A sync of a pack that can run while others append to it.
#[derive(Debug)]
pub(crate) struct PackSync {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    /// Bytes that it makes durable.
    bytes: u64,
}

impl PackSync {
    pub(crate) fn run(&self) -> Result<(), PutError> {
        self.file.sync_data().map_err(|source| failed(&self.path, 0, "sync", source))
    }
}

impl Bases for ActivePack {
    fn base(&self, key: BaseKey) -> Result<Option<Stored<'_>>, RecordError> {
        let found = self.entries.range(key.first_id()..).next();
        let Some((_, (offset, header))) = found.filter(|(id, _)| BaseKey::of(id) == key) else {
            return Ok(None);
        };
        Ok(Some((*header, self.stored(header, *offset)?)))
    }
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(disk: &dyn Vfs, folder: &Path) -> Result<(), PutError> {
    vfs::sync_folder(disk, folder).map_err(|source| failed(folder, 0, "sync the folder", source))
}

pub(crate) fn failed(
    path: &Path,
    offset: u64,
    action: &'static str,
    source: io::Error,
) -> PutError {
    PutError::Io { path: path.to_path_buf(), offset, action, source: Arc::new(source) }
}
