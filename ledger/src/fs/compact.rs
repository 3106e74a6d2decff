//! Writes the packs of a recording again, with artifacts that are alike as differences.
//!
//! The order is that of a collection: the new packs are durable before the old ones are moved
//! into `quarantine/`, and a collection removes them. Every artifact is kept, named or not, and
//! every one is read and compared with its name on the way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::Vfs;
use artifacts::fs::{Compacted, Compaction, PackIdent, PackUse, Store, StoreOptions};
use artifacts::{PutError, StoreReader};

use super::lock::{DirLock, refuse_remote};
use super::retire::retire;
use super::{FileError, LockError, LogReader, OpenError};
use crate::segment::Epoch;

/// Why nothing was compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The recording cannot have a writer now.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The recording does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The artifacts do not open.
    #[error(transparent)]
    Store(#[from] artifacts::OpenError),
    /// An artifact is damaged, or cannot be written.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A file cannot be moved or removed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactReport {
    /// What became of the artifacts.
    pub artifacts: Compacted,
    /// Lengths of all packs before, in bytes.
    pub before_bytes: u64,
    /// Lengths of all packs now, in bytes.
    pub after_bytes: u64,
    /// Packs that were moved into the quarantine; none if nothing was won.
    pub replaced: Vec<PathBuf>,
}

/// Compacts the packs of the recording in `dir`, under the lock of a writer.
///
/// # Errors
/// Somebody writes, an artifact is damaged, or something cannot be read or written. The old packs
/// then stay where they are.
pub fn compact(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    epoch: Epoch,
    allow_remote: bool,
) -> Result<CompactReport, CompactError> {
    if !allow_remote {
        refuse_remote(&**vfs, dir)?;
    }
    let ledger_id = LogReader::open_on(Arc::clone(vfs), dir)?.ledger_id();
    let _lock = DirLock::acquire(vfs, dir)?;
    let art = dir.join("art");
    let from = StoreReader::open_on(Arc::clone(vfs), &art)?;
    let before_bytes = from.disk_bytes();
    let ident = PackIdent { ledger_id: ledger_id.0, epoch: epoch.0, created_unix_ns: 0 };
    let written = rewrite(vfs, &art, &from, ident);
    let old: Vec<PackUse> = from.pack_uses(&BTreeSet::new());
    let is_old = |path: &Path| old.iter().any(|pack| pack.pack == path || pack.index == path);
    let is_won = written.as_ref().is_ok_and(|(_, after_bytes)| *after_bytes < before_bytes);
    if !is_won {
        discard(&**vfs, &art, is_old)?;
        let (artifacts, _) = written?;
        let (after_bytes, replaced) = (before_bytes, Vec::new());
        return Ok(CompactReport { artifacts, before_bytes, after_bytes, replaced });
    }
    let (artifacts, after_bytes) = written?;
    let files = old.iter().map(|pack| (pack.pack.as_path(), pack.index.as_path()));
    retire(&**vfs, dir, files)?;
    let replaced = old.into_iter().map(|pack| pack.pack).collect();
    Ok(CompactReport { artifacts, before_bytes, after_bytes, replaced })
}

/// Writes all artifacts into new packs, and returns their length.
fn rewrite(
    vfs: &Arc<dyn Vfs>,
    art: &Path,
    from: &StoreReader,
    ident: PackIdent,
) -> Result<(Compacted, u64), PutError> {
    let mut into = Store::create_on(Arc::clone(vfs), art, ident, StoreOptions::BATCHED)?;
    let mut compaction = Compaction::new(from);
    for id in from.in_order() {
        compaction.copy(&mut into, &id)?;
    }
    let full: u64 = into.full_packs().iter().map(|pack| pack.pack_bytes).sum();
    let last = into.seal()?;
    Ok((compaction.done(), full + last.pack_bytes))
}

/// Removes the packs that this compaction wrote: they hold nothing that the old ones do not.
fn discard(vfs: &dyn Vfs, art: &Path, is_old: impl Fn(&Path) -> bool) -> Result<(), FileError> {
    let names = vfs.list(art).map_err(|source| FileError::new("list", art, source))?;
    let is_pack = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "pack" || end == "idx" || end == "tmp")
    };
    let mut new: Vec<PathBuf> = names.iter().map(|name| art.join(name)).filter(is_pack).collect();
    // An index goes before its pack, so that no index is ever without.
    new.sort();
    for path in new.iter().filter(|path| !is_old(path)) {
        vfs.remove(path).map_err(|source| FileError::new("remove", path, source))?;
    }
    Ok(())
}
