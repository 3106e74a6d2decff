//! The seam between this format and a disk: the few calls through which log and packs are
//! written and read.
//!
//! [`LocalDisk`] is the file system of the machine. Tests have a second implementor: a disk in
//! memory that tears, reorders and loses what was not synced.

mod local;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use self::local::LocalDisk;
pub use super::map::FileView;

/// A file system, as far as recordings need one.
pub trait Vfs: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn VfsFile>>;
    /// Creates one folder.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns the names in a folder, in no particular order.
    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>>;
    /// Says what stands at a path; `None` if nothing does.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;
    /// Renames a file over another one, or to a free name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the lock on a file, which is created if it is missing, without waiting.
    ///
    /// `None` says that somebody else holds it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>>;
    /// Names the kind of file system below `dir`, if its locks and syncs cannot be relied on.
    fn remote_kind(&self, dir: &Path) -> io::Result<Option<&'static str>>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// For reading; it has to be there.
    Read,
    /// For reading and writing; nothing may have this name yet.
    CreateNew,
    /// For writing a temporary file, whose leftover is emptied.
    Replace,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// A regular file, and not a folder, pipe or device.
    pub is_file: bool,
    /// A folder.
    pub is_dir: bool,
    /// Length in bytes.
    pub bytes: u64,
    /// Which file it is, whatever its name.
    pub id: FileId,
}

/// Device and inode: equal for two names of one file, different after a file was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// A held lock; it ends with the value, or with the process.
pub trait Lock: fmt::Debug + Send + Sync {
    /// Which file is locked.
    fn id(&self) -> FileId;
}

/// An open file.
pub trait VfsFile: fmt::Debug + Send + Sync {
    /// Reads some bytes at `offset`; 0 at the end of the file.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes some of `bytes` at `offset` and says how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Returns when all bytes written are on disk, with the length of the file.
    fn sync_data(&self) -> io::Result<()>;
    /// Cuts or extends the file.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Reserves space up to `bytes` and extends the file to it with zeros.
    fn allocate(&self, bytes: u64) -> io::Result<()>;
    /// Says what the file is.
    fn stat(&self) -> io::Result<Stat>;
    /// Returns the whole file, which nobody changes any more.
    fn view(&self) -> io::Result<FileView>;
    /// Forgets what the system keeps of the file in memory, so that the next read asks the disk.
    fn drop_cache(&self) -> io::Result<()>;
}

/// Reads exactly these bytes.
pub fn read_exact_at(file: &dyn VfsFile, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.read_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes`; a short write is continued, a write of nothing is an error.
pub fn write_all_at(file: &dyn VfsFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads up to `bytes` bytes from `offset`, fewer only where the file ends.
///
/// The length of the file bounds what is allocated, whatever `bytes` says.
pub fn read_up_to(file: &dyn VfsFile, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let left = file.stat()?.bytes.saturating_sub(offset).min(bytes);
    let mut read = vec![0; usize::try_from(left).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(rest) = read.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    read.truncate(filled);
    Ok(read)
}

/// Reads at most `bytes_max` bytes from the start of a regular file.
pub fn read_start(vfs: &dyn Vfs, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_up_to(&*open_regular(vfs, path)?, 0, bytes_max)
}

/// Opens a regular file for reading.
pub fn open_regular(vfs: &dyn Vfs, path: &Path) -> io::Result<Arc<dyn VfsFile>> {
    // Opening a pipe would wait for its other end, so this is asked first.
    match vfs.stat(path)? {
        None => Err(io::ErrorKind::NotFound.into()),
        Some(stat) if !stat.is_file => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
        }
        Some(_) => vfs.open(path, OpenHow::Read),
    }
}

/// Makes the names in a folder durable; the empty path is the current folder.
pub fn sync_folder(vfs: &dyn Vfs, dir: &Path) -> io::Result<()> {
    // The parent of a relative path of one part is the empty path.
    vfs.sync_dir(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
}

/// Puts a small file in place in one step: it is there and whole, or it is not there.
pub fn put_file(vfs: &dyn Vfs, temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = vfs.open(temporary, OpenHow::Replace)?;
    write_all_at(&*file, bytes, 0)?;
    file.sync_data()?;
    vfs.rename(temporary, path)?;
    sync_folder(vfs, path.parent().unwrap_or(Path::new("")))
}

/// Returns true if the system says that there is no room.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
