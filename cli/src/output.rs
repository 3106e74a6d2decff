//! Result files: each appears whole or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::{Failure, file};

/// Writes a file beside its place and moves it there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    atomically(path, bytes).map_err(|error| file("write", path, &error))
}

fn atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        // A pipe or a device cannot be replaced by a file.
        return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".counterfold-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Whoever collects reports may be another user; the umask still applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut draft = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("nowhere/report"), b"x").is_err());
        assert!(write(folder.path(), b"x").is_err());
    }
}
