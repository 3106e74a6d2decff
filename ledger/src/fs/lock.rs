//! Makes sure that a recording has one writer: a lock on its LOCK file, on a local file system.
//! Readers need neither.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{Lock, Vfs};

use super::{FileError, LOCK_FILE, LockError};

/// The lock of a recording; it ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct DirLock {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    lock: Box<dyn Lock>,
}

impl DirLock {
    /// Takes the lock without waiting.
    pub(crate) fn acquire(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<Self, LockError> {
        let path = dir.join(LOCK_FILE);
        match vfs.lock(&path).map_err(|source| FileError::new("lock", &path, source))? {
            Some(lock) => Ok(Self { vfs: Arc::clone(vfs), path, lock }),
            None => Err(LockError::Held { path }),
        }
    }

    /// Checks that LOCK is still the file that is locked.
    ///
    /// Somebody who removed it let a second writer in, and this one has to stop.
    pub(crate) fn check_held(&self) -> Result<(), FileError> {
        let stat = self.vfs.stat(&self.path);
        let stat = stat.map_err(|source| FileError::new("inspect", &self.path, source))?;
        if stat.is_some_and(|stat| stat.id == self.lock.id()) {
            return Ok(());
        }
        let source = std::io::Error::other("the lock file was removed or replaced");
        Err(FileError::new("keep the lock on", &self.path, source))
    }
}

/// Refuses folders on network and user-space file systems, where a lock may be granted twice and
/// a sync may mean nothing.
pub(crate) fn refuse_remote(vfs: &dyn Vfs, dir: &Path) -> Result<(), LockError> {
    let kind = vfs.remote_kind(dir).map_err(|source| FileError::new("inspect", dir, source))?;
    match kind {
        Some(kind) => Err(LockError::Remote { kind, path: dir.to_path_buf() }),
        None => Ok(()),
    }
}
