//! Makes sure that a recording has one writer: a lock on its LOCK file, on a local file system.
//! Readers need neither.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::FlockOperation;

use super::{FileError, LOCK_FILE, LockError};

/// The lock of a recording; it ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Takes the lock without waiting.
    pub(crate) fn acquire(dir: &Path) -> Result<Self, LockError> {
        let path = dir.join(LOCK_FILE);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| FileError::new("open", &path, source))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(LockError::Held { path }),
            Err(errno) => Err(FileError::new("lock", &path, io::Error::from(errno)).into()),
        }
    }
}

/// Refuses folders on network and user-space file systems, where a lock may be granted twice and
/// a sync may mean nothing.
#[cfg(target_os = "linux")]
pub(crate) fn refuse_remote(dir: &Path) -> Result<(), LockError> {
    let stat = rustix::fs::statfs(dir)
        .map_err(|errno| FileError::new("inspect", dir, io::Error::from(errno)))?;
    // The type of the field differs between machines, its low 32 bits do not.
    let magic = u32::try_from(i128::from(stat.f_type) & 0xffff_ffff).unwrap_or_default();
    match remote_kind(magic) {
        Some(kind) => Err(LockError::Remote { kind, path: dir.to_path_buf() }),
        None => Ok(()),
    }
}

/// Other systems have no numbers to go by.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_remote(_dir: &Path) -> Result<(), LockError> {
    Ok(())
}

/// Names the file systems that `statfs(2)` lists with these numbers.
#[cfg(target_os = "linux")]
fn remote_kind(magic: u32) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0x517b | 0xfe53_4d42 => Some("SMB"),
        0xff53_4d42 => Some("CIFS"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn remote_file_systems_are_known_by_their_numbers() {
        let kinds = [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x6573_5546];
        let names: Vec<_> = kinds.into_iter().filter_map(remote_kind).collect();
        assert_eq!(names, ["NFS", "SMB", "SMB", "CIFS", "9p", "FUSE"]);
        let ext4_tmpfs_btrfs_overlay = [0xef53, 0x0102_1994, 0x9123_683e, 0x794c_7630];
        assert!(ext4_tmpfs_btrfs_overlay.into_iter().all(|magic| remote_kind(magic).is_none()));
    }
}
