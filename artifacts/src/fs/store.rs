//! The writing side: redacted bytes in, references out.
//!
//! The promise to the log is an order: what [`Store::sync`] has returned for is durable, so an
//! event that names it may be written. After a write or sync failed, nothing that the store says
//! about later bytes could be trusted, so it answers every later call with that first failure.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use super::active::SealedPack;
use super::active::{ActivePack, PackSync, failed, sync_folder};
use super::encode::{Coding, Encoded, Encoder};
use super::pack::get_error;
use super::reader::{StoreReader, of_length};
use super::scan::PackBytes;
use super::unpack::{base_is_intact, unpack};
use super::vfs::{LocalDisk, Vfs};
use crate::error::{GetError, PutError};
use crate::frame::ARTIFACT_BYTES_MAX;
use crate::fs::PackIdent;
use crate::id::ArtifactId;
use crate::redact::Redacted;
use crate::reference::ArtifactRef;
use crate::source::Source;

/// How a store uses its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// A pack that reached this length is sealed, and the next one is started.
    pub pack_bytes_target: u64,
    /// Room that is reserved at once for what will be written, in bytes; 0 for none. It makes
    /// each sync cheaper, and a store that syncs seldom does not need it.
    pub reserve_bytes: u64,
}

impl StoreOptions {
    /// For imports, which sync once: packs of 256 MiB, nothing reserved.
    pub const BATCHED: Self = Self { pack_bytes_target: 256 << 20, reserve_bytes: 0 };
    /// For live recording, which syncs each request: 16 MiB are reserved at once.
    pub const LIVE: Self = Self { reserve_bytes: 16 << 20, ..Self::BATCHED };
}

/// Stores artifacts in a folder, each once.
///
/// Dropping a store without [`Store::seal`] loses what was not synced and leaves a pack without
/// an index, as a crash does; everything that was synced stays readable.
#[derive(Debug)]
pub struct Store {
    vfs: Arc<dyn Vfs>,
    folder: PathBuf,
    ident: PackIdent,
    older: StoreReader,
    active: ActivePack,
    encoder: Encoder,
    options: StoreOptions,
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
        Self::create_on(LocalDisk::shared(), art_dir, ident, StoreOptions::BATCHED)
    }

    /// Opens a folder of `vfs` for writing, as [`Store::create`] does.
    pub fn create_on(
        vfs: Arc<dyn Vfs>,
        art_dir: &Path,
        ident: PackIdent,
        options: StoreOptions,
    ) -> Result<Self, PutError> {
        create_folder(&*vfs, art_dir)?;
        let older = StoreReader::open_on(Arc::clone(&vfs), art_dir)?;
        for pack in older.packs() {
            // A dead writer may have left bytes only in the page cache; what a duplicate is
            // answered with has to be durable first.
            if let PackBytes::File { file, .. } = &pack.bytes {
                file.sync_data().map_err(|source| failed(&pack.path, 0, "sync", source))?;
            }
        }
        let highest = older.packs().last().map_or(0, |pack| pack.name.number);
        let number = number_after(highest, art_dir)?;
        let active = ActivePack::create(&*vfs, art_dir, number, ident, options.reserve_bytes)?;
        let encoder = Encoder::new().map_err(|source| failed(art_dir, 0, "start zstd", source))?;
        Ok(Self {
            vfs,
            folder: art_dir.to_path_buf(),
            ident,
            older,
            active,
            encoder,
            options,
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
        let raw = checked_bytes(redacted)?;
        let id = ArtifactId::of(raw);
        if !self.holds_intact(id) {
            self.encode_and_append(id, raw)?;
        }
        Ok(ArtifactRef::stored(id, raw.len() as u64))
    }

    /// Stores an artifact of another store, whose bytes were redacted when they came into it.
    ///
    /// Bytes that do not hash to the id are refused.
    pub fn copy_from(&mut self, from: &StoreReader, id: &ArtifactId) -> Result<(), PutError> {
        self.check_alive()?;
        if self.holds_intact(*id) { Ok(()) } else { self.copy_again(from, id) }
    }

    /// Stores an artifact of another store in the pack that is being filled, even if an older
    /// pack of this folder holds it; see [`Store::copy_from`].
    pub fn copy_again(&mut self, from: &StoreReader, id: &ArtifactId) -> Result<(), PutError> {
        self.check_alive()?;
        if self.is_in_active(id) {
            return Ok(());
        }
        let reference = from.reference(id).ok_or(GetError::Missing { id: *id })?;
        let raw = from.read(&reference)?;
        self.encode_and_append(*id, &raw)
    }

    fn encode_and_append(&mut self, id: ArtifactId, raw: &[u8]) -> Result<(), PutError> {
        let encoded = self.encode(id, raw)?;
        self.append(&encoded)?;
        self.encoder.take_back(encoded);
        Ok(())
    }

    /// Compresses an artifact for the pack that is being filled.
    pub(crate) fn encode(&mut self, id: ArtifactId, raw: &[u8]) -> Result<Encoded, PutError> {
        let encoded = self.encoder.encode(id, raw, self.active.coding(raw.len()));
        self.compressed(encoded)
    }

    /// Remembers that a compression failed.
    pub(crate) fn compressed<T>(&mut self, result: io::Result<T>) -> Result<T, PutError> {
        let place = (self.active.path(), self.active.bytes());
        let result = result.map_err(|source| failed(place.0, place.1, "compress", source));
        self.poisoning(result)
    }

    /// How an artifact of this length is best compressed for the pack that is being filled.
    pub(crate) fn coding(&self, raw_bytes: usize) -> Coding {
        self.active.coding(raw_bytes)
    }

    /// Returns true if the artifact stands in the pack that is being filled.
    pub(crate) fn is_in_active(&self, id: &ArtifactId) -> bool {
        self.active.find(id).is_some()
    }

    /// Stores what an [`Encoder`] of the caller made, unless it is there.
    pub(crate) fn put_encoded(&mut self, encoded: &Encoded) -> Result<(), PutError> {
        self.check_alive()?;
        // Another thread may have been faster.
        if self.holds_intact(encoded.id) {
            return Ok(());
        }
        self.append(encoded)
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

    /// Begins a sync that does not keep others from putting; see [`Store::sync`].
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PackSync>, PutError> {
        self.check_alive()?;
        let begun = self.active.begin_sync();
        self.poisoning(begun)
    }

    /// Ends the sync that [`Store::begin_sync`] began.
    pub(crate) fn end_sync(
        &mut self,
        sync: &PackSync,
        result: Result<(), PutError>,
    ) -> Result<(), PutError> {
        self.poisoning(result)?;
        self.active.end_sync(sync);
        Ok(())
    }

    /// Lists the packs that were full and are sealed already, oldest first.
    pub fn full_packs(&self) -> &[SealedPack] {
        &self.full
    }

    /// Makes everything durable, writes the index of the last pack, and ends the store.
    pub fn seal(mut self) -> Result<SealedPack, PutError> {
        self.check_alive()?;
        self.active.seal(&*self.vfs, &self.folder)
    }

    /// Returns true if a good copy of the artifact is stored.
    pub(crate) fn holds_intact(&self, id: ArtifactId) -> bool {
        let active = self.active.find(&id).is_some_and(|(offset, header)| {
            self.active.stored(&header, offset).is_ok() && base_is_intact(&header, &self.active)
        });
        active || self.older.holds_intact(id)
    }

    pub(crate) fn append(&mut self, encoded: &Encoded) -> Result<(), PutError> {
        let appended = self.try_append(encoded);
        self.poisoning(appended)
    }

    fn try_append(&mut self, encoded: &Encoded) -> Result<(), PutError> {
        if self.active.bytes() >= self.options.pack_bytes_target {
            self.rotate()?;
        }
        self.active.append(encoded)
    }

    /// Seals the full pack and starts the next; the old one is durable before the new one is.
    fn rotate(&mut self) -> Result<(), PutError> {
        let full = self.active.name();
        self.full.push(self.active.seal(&*self.vfs, &self.folder)?);
        let number = number_after(full.number, &self.folder)?;
        let reserve_bytes = self.options.reserve_bytes;
        self.active =
            ActivePack::create(&*self.vfs, &self.folder, number, self.ident, reserve_bytes)?;
        self.older.add(full)?;
        Ok(())
    }

    pub(crate) fn check_alive(&self) -> Result<(), PutError> {
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
        let Some((offset, header)) = self.active.find(&id) else {
            return self.older.read(artifact);
        };
        let raw = self.active.stored(&header, offset).and_then(|stored| {
            let raw = unpack(&header, &stored, self.older.unpacker(), &self.active)?;
            Ok(raw.into_owned().into())
        });
        let raw = raw.map_err(|error| get_error(id, self.active.path(), offset, error))?;
        of_length(artifact, raw)
    }
}

/// Returns the bytes of an artifact that is not too long.
pub(crate) fn checked_bytes<'a>(redacted: &'a Redacted<'_>) -> Result<&'a [u8], PutError> {
    let raw = redacted.as_bytes();
    let (found_bytes, bytes_max) = (raw.len() as u64, ARTIFACT_BYTES_MAX);
    if found_bytes > bytes_max {
        return Err(PutError::TooLong { found_bytes, bytes_max });
    }
    Ok(raw)
}

fn create_folder(vfs: &dyn Vfs, folder: &Path) -> Result<(), PutError> {
    let stat = vfs.stat(folder).map_err(|source| failed(folder, 0, "inspect", source))?;
    if !stat.is_some_and(|stat| stat.is_dir) {
        vfs.create_dir(folder).map_err(|source| failed(folder, 0, "create", source))?;
    }
    // A folder that is there may be the leftover of a writer that died before its name was
    // durable.
    sync_folder(vfs, folder.parent().unwrap_or(Path::new("")))
}

fn number_after(highest: u32, folder: &Path) -> Result<u32, PutError> {
    let path = || folder.to_path_buf();
    highest.checked_add(1).ok_or_else(|| PutError::PackNumbers { path: path() })
}

#[cfg(test)]
mod tests;
