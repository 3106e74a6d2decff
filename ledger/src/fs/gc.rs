//! Gives back the room of artifacts that no event names. A plan comes first; nothing is removed
//! at once.
//!
//! The artifacts that are still named are copied out of a pack that is mostly waste, the new
//! pack is durable, and then the old one is moved into `quarantine/`. The next run removes what
//! it finds there. Readers that have the old pack open keep it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::Vfs;
use artifacts::fs::{PackIdent, PackUse, Store, StoreOptions};
use artifacts::{ArtifactId, PutError, StoreReader};

use super::lock::{DirLock, refuse_remote};
use super::marks::{MarkError, named_artifacts};
use super::retire::{retire, retired};
use super::{FileError, LockError, LogReader, OpenError};
use crate::segment::Epoch;

/// A pack is rewritten if less than this share of it is named.
const KEPT_PERCENT_MIN: u64 = 50;

/// Why nothing was collected, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GcError {
    /// The recording cannot have a writer now.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// What the log names is not known.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// The artifacts do not open.
    #[error(transparent)]
    Store(#[from] artifacts::OpenError),
    /// An artifact cannot be copied.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A file cannot be moved or removed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a collection would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcPlan {
    /// Packs that would be rewritten without what is not named.
    pub packs: Vec<PackUse>,
    /// Bytes that this would give back, once the quarantine is emptied.
    pub freed_bytes: u64,
    /// Packs in the quarantine, which would be removed.
    pub removed: Vec<PathBuf>,
}

/// Says what [`gc`] would do. Takes no lock, and changes nothing.
///
/// # Errors
/// The log or the packs cannot be read.
pub fn plan_gc(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<GcPlan, GcError> {
    Ok(plan(vfs, dir)?.0)
}

/// Carries the plan out, under the lock of a writer.
///
/// # Errors
/// Somebody writes, or something cannot be read or written. Nothing named is ever lost: a pack
/// is moved only after its copies are durable.
pub fn gc(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    epoch: Epoch,
    allow_remote: bool,
) -> Result<GcPlan, GcError> {
    if !allow_remote {
        refuse_remote(&**vfs, dir)?;
    }
    let _lock = DirLock::acquire(vfs, dir)?;
    let (plan, store, named) = plan(vfs, dir)?;
    for path in &plan.removed {
        vfs.remove(path).map_err(|source| FileError::new("remove", path, source))?;
    }
    if plan.packs.is_empty() {
        return Ok(plan);
    }
    let ledger_id = LogReader::open_on(Arc::clone(vfs), dir).map_err(MarkError::from)?.ledger_id();
    let ident = PackIdent { ledger_id: ledger_id.0, epoch: epoch.0, created_unix_ns: 0 };
    let art = dir.join("art");
    let mut copies = Store::create_on(Arc::clone(vfs), &art, ident, StoreOptions::BATCHED)?;
    for pack in &plan.packs {
        for id in pack.artifacts.iter().filter(|id| named.contains(id)) {
            copies.copy_again(&store, id)?;
        }
    }
    copies.seal()?;
    let files = plan.packs.iter().map(|pack| (pack.pack.as_path(), pack.index.as_path()));
    retire(&**vfs, dir, files)?;
    Ok(plan)
}

type Planned = (GcPlan, StoreReader, BTreeSet<ArtifactId>);

fn plan(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<Planned, GcError> {
    let store = StoreReader::open_on(Arc::clone(vfs), &dir.join("art"))?;
    let named = named_artifacts(vfs, dir, &store)?;
    let mut plan = GcPlan::default();
    for pack in store.pack_uses(&named) {
        if pack.named_bytes * 100 < pack.bytes * KEPT_PERCENT_MIN && pack.bytes > pack.named_bytes {
            plan.freed_bytes += pack.bytes - pack.named_bytes;
            plan.packs.push(pack);
        }
    }
    plan.removed = retired(&**vfs, dir);
    Ok((plan, store, named))
}

impl From<OpenError> for GcError {
    fn from(error: OpenError) -> Self {
        Self::Mark(MarkError::Open(error))
    }
}
