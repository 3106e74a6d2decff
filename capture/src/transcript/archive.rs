//! Zip archives of JSON documents, their entries one after the other, each within a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use zip::ZipArchive;

use super::adapter::{DOCUMENT_BYTES_MAX, Stop};

/// Entries that are read.
const ENTRIES_MAX: usize = 1 << 16;

pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

pub(super) fn is_archive_file(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut first)?;
    Ok(is_archive(&first))
}

/// Takes a document of an archive, by its name.
pub(super) type TakeDocument<'t> = dyn FnMut(&str, &[u8]) -> Result<(), Stop> + 't;

/// Hands every JSON document of an archive to `take`, in the order of their names.
pub(super) fn each(path: &Path, take: &mut TakeDocument<'_>) -> Result<(), Stop> {
    let broken = |_error| Stop::Container("the archive cannot be opened");
    let mut archive = ZipArchive::new(File::open(path)?).map_err(broken)?;
    let mut names: Vec<String> = archive.file_names().map(str::to_owned).collect();
    names.sort();
    for name in names.iter().take(ENTRIES_MAX).filter(|name| !name.ends_with('/')) {
        let broken = |_error| Stop::Container("an entry of the archive cannot be opened");
        let entry = archive.by_name(name).map_err(broken)?;
        let mut document = Vec::new();
        entry.take(DOCUMENT_BYTES_MAX).read_to_end(&mut document)?;
        take(name, &document)?;
    }
    Ok(())
}
