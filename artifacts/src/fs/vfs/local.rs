//! The file system of this machine.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use super::{FileId, FileView, Lock, OpenHow, Stat, Vfs, VfsFile};

/// The disk that paths lead to.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl LocalDisk {
    /// Returns the disk in the form in which writers and readers take one.
    pub fn shared() -> Arc<dyn Vfs> {
        Arc::new(Self)
    }
}

impl Vfs for LocalDisk {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        match how {
            OpenHow::Read => options.read(true),
            OpenHow::CreateNew => options.read(true).write(true).create_new(true),
            OpenHow::Replace => options.read(true).write(true).create(true).truncate(true),
        };
        Ok(Arc::new(options.open(path)?))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(stat_of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                let id = stat_of(&file.metadata()?).id;
                Ok(Some(Box::new(LocalLock { _file: file, id })))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    #[cfg(target_os = "linux")]
    fn remote_kind(&self, dir: &Path) -> io::Result<Option<&'static str>> {
        let stat = rustix::fs::statfs(dir)?;
        // The type of the field differs between machines, its low 32 bits do not.
        let magic = u32::try_from(i128::from(stat.f_type) & 0xffff_ffff).unwrap_or_default();
        Ok(remote_kind(magic))
    }

    /// Other systems have no numbers to go by.
    #[cfg(not(target_os = "linux"))]
    fn remote_kind(&self, _dir: &Path) -> io::Result<Option<&'static str>> {
        Ok(None)
    }
}

#[derive(Debug)]
struct LocalLock {
    _file: File,
    id: FileId,
}

impl Lock for LocalLock {
    fn id(&self) -> FileId {
        self.id
    }
}

impl VfsFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    #[cfg(target_os = "linux")]
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(self, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn allocate(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&self.metadata()?))
    }

    fn view(&self) -> io::Result<FileView> {
        FileView::map(self)
    }

    #[cfg(target_os = "linux")]
    fn drop_cache(&self) -> io::Result<()> {
        Ok(rustix::fs::fadvise(self, 0, None, rustix::fs::Advice::DontNeed)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn drop_cache(&self) -> io::Result<()> {
        Ok(())
    }
}

fn stat_of(found: &fs::Metadata) -> Stat {
    Stat {
        is_file: found.is_file(),
        is_dir: found.is_dir(),
        bytes: found.len(),
        id: FileId { device: found.dev(), inode: found.ino() },
    }
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
    fn s25_remote_file_systems_are_known_by_their_numbers() {
        let kinds = [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x6573_5546];
        let names: Vec<_> = kinds.into_iter().filter_map(remote_kind).collect();
        assert_eq!(names, ["NFS", "SMB", "SMB", "CIFS", "9p", "FUSE"]);
        let ext4_tmpfs_btrfs_overlay = [0xef53, 0x0102_1994, 0x9123_683e, 0x794c_7630];
        assert!(ext4_tmpfs_btrfs_overlay.into_iter().all(|magic| remote_kind(magic).is_none()));
    }
}
