//! Packs that are not used any more: moved aside at once, removed later.

use std::path::{Path, PathBuf};

use artifacts::fs::vfs::{Vfs, sync_folder};

use super::FileError;

/// The folder for packs that are not used any more.
const QUARANTINE: &str = "quarantine";

/// A pack that something replaces, and its index, which need not exist.
pub(crate) type PackFiles<'a> = (&'a Path, &'a Path);

/// Moves packs of the recording in `dir` into its quarantine, and makes that durable.
///
/// What replaces them is durable already. Readers that have them open keep them.
pub(crate) fn retire<'a>(
    vfs: &dyn Vfs,
    dir: &Path,
    packs: impl Iterator<Item = PackFiles<'a>>,
) -> Result<(), FileError> {
    let quarantine = dir.join(QUARANTINE);
    let failed = |action| {
        let path = &quarantine;
        move |source| FileError::new(action, path, source)
    };
    if vfs.stat(&quarantine).map_err(failed("inspect"))?.is_none() {
        vfs.create_dir(&quarantine).map_err(failed("create"))?;
        sync_folder(vfs, dir).map_err(failed("sync"))?;
    }
    for (pack, index) in packs {
        for path in [index, pack] {
            let to = quarantine.join(path.file_name().unwrap_or_default());
            if vfs.stat(path).map_err(failed("inspect"))?.is_some() {
                vfs.rename(path, &to).map_err(|source| FileError::new("move", path, source))?;
            }
        }
    }
    sync_folder(vfs, &quarantine).map_err(failed("sync"))?;
    sync_folder(vfs, &dir.join("art")).map_err(failed("sync"))
}

/// Lists what [`retire`] moved aside.
pub(crate) fn retired(vfs: &dyn Vfs, dir: &Path) -> Vec<PathBuf> {
    let quarantine = dir.join(QUARANTINE);
    let Ok(names) = vfs.list(&quarantine) else { return Vec::new() };
    let is_pack =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "pack" || end == "idx");
    let mut found: Vec<_> =
        names.iter().map(|name| quarantine.join(name)).filter(is_pack).collect();
    found.sort();
    found
}
