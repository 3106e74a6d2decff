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

/// An archive, its entries by name.
pub(super) struct Archive(ZipArchive<File>);

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, Stop> {
        let broken = |_error| Stop::Container("the archive cannot be opened");
        ZipArchive::new(File::open(path)?).map(Self).map_err(broken)
    }

    /// Names of its documents, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.0.file_names().filter(|name| !name.ends_with('/'));
        let mut names: Vec<String> = names.take(ENTRIES_MAX).map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The bytes of a document, within the bound of one.
    pub(super) fn document(&mut self, name: &str) -> Result<Vec<u8>, Stop> {
        let broken = |_error| Stop::Container("an entry of the archive cannot be opened");
        let entry = self.0.by_name(name).map_err(broken)?;
        let mut document = Vec::new();
        entry.take(DOCUMENT_BYTES_MAX).read_to_end(&mut document)?;
        Ok(document)
    }
}
