//! A store that several threads put into at once.
//!
//! Hashing, compressing and summing happen outside of the lock, in the thread that puts; a sync
//! runs outside of it too, so that it holds nobody up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::active::failed;
use super::encode::Encoder;
use super::store::{SealedPack, Store, checked_bytes};
use crate::error::{GetError, PutError};
use crate::id::ArtifactId;
use crate::redact::Redacted;
use crate::reference::ArtifactRef;
use crate::source::Source;

/// A [`Store`] behind a lock that is held for copying bytes only.
#[derive(Debug)]
pub struct SharedStore(Mutex<Store>);

impl SharedStore {
    /// Shares a store.
    pub fn new(store: Store) -> Self {
        Self(Mutex::new(store))
    }

    /// Stores redacted bytes; see [`Store::put`]. `encoder` belongs to the calling thread.
    pub fn put(
        &self,
        encoder: &mut Encoder,
        redacted: &Redacted<'_>,
    ) -> Result<ArtifactRef, PutError> {
        let raw = checked_bytes(redacted)?;
        let id = ArtifactId::of(raw);
        let reference = ArtifactRef::stored(id, raw.len() as u64);
        let coding = {
            let store = self.store();
            store.check_alive()?;
            if store.holds_intact(id) {
                return Ok(reference);
            }
            store.coding(raw.len())
        };
        let encoded = encoder.encode(id, raw, coding);
        let encoded = encoded.map_err(|source| failed("art".as_ref(), 0, "compress", source))?;
        self.store().put_encoded(&encoded)?;
        encoder.take_back(encoded);
        Ok(reference)
    }

    /// Makes durable everything that was put before the call; see [`Store::sync`].
    ///
    /// One thread at a time calls it: the one that is about to write the log.
    pub fn sync(&self) -> Result<(), PutError> {
        let Some(sync) = self.store().begin_sync()? else { return Ok(()) };
        let result = sync.run();
        self.store().end_sync(&sync, result)
    }

    /// Lists the packs that were full and are sealed already, oldest first.
    pub fn full_packs(&self) -> Vec<SealedPack> {
        self.store().full_packs().to_vec()
    }

    /// Ends the store and returns all packs that it filled; see [`Store::seal`].
    pub fn seal(self) -> Result<Vec<SealedPack>, PutError> {
        let store = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut packs = store.full_packs().to_vec();
        packs.push(store.seal()?);
        Ok(packs)
    }

    /// A thread that panicked left the store as it was before or after a whole call.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for SharedStore {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        self.store().read(artifact)
    }
}
