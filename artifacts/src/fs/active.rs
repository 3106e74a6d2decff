//! The pack that a writer is filling: appended to, synced, and sealed with an index.
//!
//! Every failure is returned once and leaves the pack unusable; that the writer then stops is
//! the store's business.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::index::{self, Entry, Sealing};
use super::name::PackName;
use super::pack::{RecordError, check_stored};
use crate::error::PutError;
use crate::frame::{HEADER_U64, PackHeader, RecordHeader};
use crate::fs::PackIdent;
use crate::id::ArtifactId;

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
    pub(crate) file: File,
    /// Bytes that are in the file; the pending ones follow.
    written_bytes: u64,
    pending: Vec<u8>,
    unsynced: bool,
    hasher: Sha256,
    entries: BTreeMap<ArtifactId, (Entry, u32)>,
    records: u64,
}

impl ActivePack {
    /// Creates the file, and makes its header and its directory entry durable.
    pub(crate) fn create(folder: &Path, number: u32, ident: PackIdent) -> Result<Self, PutError> {
        let name = PackName { number, epoch: ident.epoch };
        let path = name.pack_path(folder);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|source| failed(&path, 0, "create", source))?;
        let header = PackHeader { ident, number };
        let mut pack = Self {
            name,
            header,
            path,
            file,
            written_bytes: 0,
            pending: Vec::new(),
            unsynced: false,
            hasher: Sha256::new(),
            entries: BTreeMap::new(),
            records: 0,
        };
        pack.take(&header.encode());
        pack.sync()?;
        sync_folder(folder)?;
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

    /// Where the pack holds an artifact, with the checksum of its stored bytes.
    pub(crate) fn find(&self, id: &ArtifactId) -> Option<(Entry, u32)> {
        self.entries.get(id).copied()
    }

    /// Appends a record. It is durable after the next [`ActivePack::sync`].
    pub(crate) fn append(&mut self, header: &RecordHeader, stored: &[u8]) -> Result<(), PutError> {
        let entry = Entry::of(self.bytes(), header);
        let padding = header.record_bytes() - HEADER_U64 - header.stored_bytes;
        self.take(&header.encode());
        self.take(stored);
        self.take([0; 8].split_at(usize::try_from(padding).expect("padding is below 8")).0);
        self.records += 1;
        self.entries.insert(header.id, (entry, header.stored_crc));
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
            self.file.read_exact_at(&mut stored, start).map_err(RecordError::Io)?;
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
        let written = self.file.write_all_at(&self.pending, self.written_bytes);
        written.map_err(|source| failed(&self.path, self.written_bytes, "write", source))?;
        self.written_bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Makes all appended bytes durable.
    pub(crate) fn sync(&mut self) -> Result<(), PutError> {
        self.flush()?;
        if self.unsynced {
            self.file.sync_data().map_err(|source| failed(&self.path, 0, "sync", source))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Makes the pack durable, then writes its index under a temporary name and renames it.
    pub(crate) fn seal(&mut self, folder: &Path) -> Result<SealedPack, PutError> {
        self.sync()?;
        let sealing = Sealing {
            pack: self.header,
            pack_bytes: self.bytes(),
            pack_sha256: self.hasher.clone().finalize().into(),
            records: self.records,
        };
        let entries: Vec<_> = self.entries.iter().map(|(id, (entry, _))| (*id, *entry)).collect();
        let (temporary, index) = (self.name.temporary_path(folder), self.name.index_path(folder));
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(&index::encode(&sealing, &entries))?;
            file.sync_all()
        });
        written.map_err(|source| failed(&temporary, 0, "write", source))?;
        let renamed = fs::rename(&temporary, &index);
        renamed.map_err(|source| failed(&index, 0, "rename to", source))?;
        sync_folder(folder)?;
        Ok(SealedPack {
            pack: self.path.clone(),
            index,
            number: self.name.number,
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

/// The record header that an entry of the active pack stands for.
pub(crate) fn header_of(id: ArtifactId, entry: &Entry, stored_crc: u32) -> RecordHeader {
    let Entry { raw_bytes, stored_bytes, codec, .. } = *entry;
    RecordHeader { codec, raw_bytes, stored_bytes, id, stored_crc }
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), PutError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| failed(folder, 0, "sync the folder", source))
}

pub(crate) fn failed(
    path: &Path,
    offset: u64,
    action: &'static str,
    source: io::Error,
) -> PutError {
    PutError::Io { path: path.to_path_buf(), offset, action, source: Arc::new(source) }
}
