//! Artifacts that were read, kept up to a budget, since requests repeat them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use artifacts::{ArtifactId, ArtifactRef, GetError, Source, StoreReader};

/// Bytes that are kept. Beyond it the cache starts afresh, which costs reading again and nothing
/// else.
const CACHE_BYTES_MAX: u64 = 256 << 20;

/// A store with a cache; may be shared between threads.
#[derive(Debug)]
pub struct CachedSource {
    store: StoreReader,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: u64,
    artifacts: HashMap<ArtifactId, Arc<[u8]>>,
}

impl CachedSource {
    /// Puts a cache before a store.
    pub fn new(store: StoreReader) -> Self {
        Self { store, kept: Mutex::new(Kept::default()) }
    }

    /// The store behind it.
    pub fn store(&self) -> &StoreReader {
        &self.store
    }
}

impl Source for CachedSource {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = lock().artifacts.get(&artifact.id()) {
            return Ok(Arc::clone(bytes));
        }
        let bytes = self.store.read(artifact)?;
        let mut kept = lock();
        if kept.bytes + artifact.bytes() > CACHE_BYTES_MAX {
            *kept = Kept::default();
        }
        kept.bytes += artifact.bytes();
        kept.artifacts.insert(artifact.id(), Arc::clone(&bytes));
        Ok(bytes)
    }
}
