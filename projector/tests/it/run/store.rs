//! Artifacts in memory, and contents made without a redactor.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use artifacts::{ArtifactId, ArtifactRef, GetError, Source};
use ledger::content::Content;

/// Artifacts in memory; counts how often each one is read.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) held: BTreeMap<ArtifactId, Arc<[u8]>>,
    pub(crate) reads: RefCell<BTreeMap<ArtifactId, u32>>,
}

impl Source for Store {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        let id = artifact.id();
        *self.reads.borrow_mut().entry(id).or_default() += 1;
        self.held.get(&id).map(Arc::clone).ok_or(GetError::Missing { id })
    }
}

impl Store {
    /// References and contents have no public constructor, but an event may always be decoded.
    pub(crate) fn stored(&mut self, bytes: &[u8]) -> Content {
        let id = ArtifactId::of(bytes);
        self.held.insert(id, bytes.into());
        let mut event = vec![1, 0, 0, 0];
        event.extend(id.as_bytes());
        event.extend((bytes.len() as u64).to_le_bytes());
        ledger::codec::decode(&event).unwrap()
    }
}

/// Content inside its event.
pub(crate) fn inline(bytes: &[u8]) -> Content {
    let mut event = vec![0, 0, 0, 0];
    event.extend((bytes.len() as u64).to_le_bytes());
    event.extend(bytes);
    ledger::codec::decode(&event).unwrap()
}
