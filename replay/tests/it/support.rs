//! Imports shared by the tests, and a reader of HAR files that shares nothing with ours.

pub(crate) mod small;

use std::path::Path;

use capture::har::{Body, HarReader, Limits, parse_entry, sniff};
use replay::Recording;
use tempfile::TempDir;

/// A case, imported into a folder of its own.
pub(crate) struct Imported {
    pub(crate) recording: Recording,
    _folder: TempDir,
}

pub(crate) fn import(case: &str) -> Imported {
    import_file(&fixtures::har(case))
}

pub(crate) fn import_file(file: &Path) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let report = fixtures::import(file, folder.path()).unwrap();
    let recording = Recording::open(&report.recording).unwrap();
    Imported { recording, _folder: folder }
}

/// The bodies of all model requests of a case, straight from the file.
pub(crate) fn bodies(case: &str) -> Vec<Vec<u8>> {
    let file = std::fs::File::open(fixtures::har(case)).unwrap();
    let mut reader = HarReader::new(sniff(file).unwrap(), Limits::STANDARD);
    let mut out = Vec::new();
    while let Some(raw) = reader.next_entry().unwrap() {
        let entry = parse_entry(raw.bytes, raw.index, raw.offset).unwrap();
        let Body::Present(body) = entry.request.body else { continue };
        if ledger::wire::Dialect::of_path(&entry.request.url).is_some() {
            out.push(body.bytes);
        }
    }
    out
}
