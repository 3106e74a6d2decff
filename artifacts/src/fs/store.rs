//! The writing side: redacted bytes in, references out.
//!
//! The promise to the log is an order: what [`Store::sync`] has returned for is durable, so an
//! event that names it may be written. After a write or sync failed, nothing that the store says
//! about later bytes could be trusted, so it answers every later call with that first failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use super::active::SealedPack;
use super::active::{ActivePack, failed, header_of, sync_folder};
use super::codec::Packer;
use super::pack::{get_error, unpack};
use super::reader::{StoreReader, of_length};
use super::scan::PackBytes;
use crate::error::{GetError, PutError};
use crate::frame::{ARTIFACT_BYTES_MAX, RecordHeader};
use crate::fs::PackIdent;
use crate::id::ArtifactId;
use crate::redact::Redacted;
use crate::reference::ArtifactRef;
use crate::source::Source;

/// A pack that reached this length is sealed, and the next one is started.
const PACK_BYTES_TARGET: u64 = 256 << 20;

/// Stores artifacts in a folder, each once.
///
/// Dropping a store without [`Store::seal`] loses what was not synced and leaves a pack without
/// an index, as a crash does; everything that was synced stays readable.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    ident: PackIdent,
    older: StoreReader,
    active: ActivePack,
    packer: Packer,
    pack_bytes_target: u64,
    /// Packs that this store filled and sealed.
    full: Vec<SealedPack>,
    poison: Option<PutError>,
}

impl Store {
    /// Opens a folder for writing and starts a new pack in it.
    ///
    /// The folder is created if it is missing, its parent is not. Packs that are already there
    /// are read, so that nothing is stored twice, and never written. The caller holds the
    /// ledger's lock.
    pub fn create(art_dir: &Path, ident: PackIdent) -> Result<Self, PutError> {
        create_folder(art_dir)?;
        let older = StoreReader::open(art_dir)?;
        for pack in older.packs() {
            // A dead writer may have left bytes only in the page cache; what a duplicate is
            // answered with has to be durable first.
            if let PackBytes::File { file, .. } = &pack.bytes {
                file.sync_data().map_err(|source| failed(&pack.path, 0, "sync", source))?;
            }
        }
        let highest = older.packs().last().map_or(0, |pack| pack.name.number);
        let active = ActivePack::create(art_dir, number_after(highest, art_dir)?, ident)?;
        let packer = Packer::new().map_err(|source| failed(art_dir, 0, "start zstd", source))?;
        Ok(Self {
            folder: art_dir.to_path_buf(),
            ident,
            older,
            active,
            packer,
            pack_bytes_target: PACK_BYTES_TARGET,
            full: Vec::new(),
            poison: None,
        })
    }

    /// Stores redacted bytes, unless a good copy is there, and returns what an event may hold.
    ///
    /// The bytes are durable when the next [`Store::sync`] has returned. At most
    /// [`ARTIFACT_BYTES_MAX`] bytes are stored.
    pub fn put(&mut self, redacted: &Redacted<'_>) -> Result<ArtifactRef, PutError> {
        self.check_alive()?;
        let raw = redacted.as_bytes();
        let raw_bytes = raw.len() as u64;
        if raw_bytes > ARTIFACT_BYTES_MAX {
            let (found_bytes, bytes_max) = (raw_bytes, ARTIFACT_BYTES_MAX);
            return Err(PutError::TooLong { found_bytes, bytes_max });
        }
        let id = ArtifactId::of(raw);
        if !self.holds_intact(id) {
            let appended = self.append(id, raw);
            self.poisoning(appended)?;
        }
        Ok(ArtifactRef::stored(id, raw_bytes))
    }

    /// Hands everything to the operating system, so that it survives the end of this process.
    pub fn flush(&mut self) -> Result<(), PutError> {
        self.check_alive()?;
        let flushed = self.active.flush();
        self.poisoning(flushed)
    }

    /// Makes everything durable, so that it survives the loss of power.
    ///
    /// Costs nothing if nothing was stored since the last time.
    pub fn sync(&mut self) -> Result<(), PutError> {
        self.check_alive()?;
        let synced = self.active.sync();
        self.poisoning(synced)
    }

    /// Lists the packs that were full and are sealed already, oldest first.
    pub fn full_packs(&self) -> &[SealedPack] {
        &self.full
    }

    /// Makes everything durable, writes the index of the last pack, and ends the store.
    pub fn seal(mut self) -> Result<SealedPack, PutError> {
        self.check_alive()?;
        self.active.seal(&self.folder)
    }

    /// Returns true if a good copy of the artifact is stored.
    fn holds_intact(&self, id: ArtifactId) -> bool {
        let active = self.active.find(&id).is_some_and(|(entry, stored_crc)| {
            self.active.stored(&header_of(id, &entry, stored_crc), entry.offset).is_ok()
        });
        active || self.older.holds_intact(id)
    }

    fn append(&mut self, id: ArtifactId, raw: &[u8]) -> Result<(), PutError> {
        if self.active.bytes() >= self.pack_bytes_target {
            self.rotate()?;
        }
        let (codec, stored) = match self.packer.pack(raw) {
            Ok(packed) => packed,
            Err(source) => {
                return Err(failed(self.active.path(), self.active.bytes(), "compress", source));
            }
        };
        let stored_crc = crc32fast::hash(stored);
        let (raw_bytes, stored_bytes) = (raw.len() as u64, stored.len() as u64);
        let header = RecordHeader { codec, raw_bytes, stored_bytes, id, stored_crc };
        self.active.append(&header, stored)
    }

    /// Seals the full pack and starts the next; the old one is durable before the new one is.
    fn rotate(&mut self) -> Result<(), PutError> {
        let full = self.active.name();
        self.full.push(self.active.seal(&self.folder)?);
        let number = number_after(full.number, &self.folder)?;
        self.active = ActivePack::create(&self.folder, number, self.ident)?;
        self.older.add(full)?;
        Ok(())
    }

    fn check_alive(&self) -> Result<(), PutError> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// Remembers a failure for every later call.
    fn poisoning<T>(&mut self, result: Result<T, PutError>) -> Result<T, PutError> {
        if let Err(error) = &result {
            self.poison = Some(error.clone());
        }
        result
    }
}

/// Reads back what was put, also before it was written.
impl Source for Store {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        let id = artifact.id();
        let Some((entry, stored_crc)) = self.active.find(&id) else {
            return self.older.read(artifact);
        };
        let header = header_of(id, &entry, stored_crc);
        let raw = self.active.stored(&header, entry.offset).and_then(|stored| {
            unpack(&header, &stored, self.older.unpacker()).map(|raw| raw.into_owned().into())
        });
        let raw = raw.map_err(|error| get_error(id, self.active.path(), entry.offset, error))?;
        of_length(artifact, raw)
    }
}

fn create_folder(folder: &Path) -> Result<(), PutError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir(folder).map_err(|source| failed(folder, 0, "create", source))?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

fn number_after(highest: u32, folder: &Path) -> Result<u32, PutError> {
    let path = || folder.to_path_buf();
    highest.checked_add(1).ok_or_else(|| PutError::PackNumbers { path: path() })
}

#[cfg(test)]
mod tests;
