//! What the tests share: a store in a temporary folder, and its files as bytes.

use std::fs;
use std::path::{Path, PathBuf};

use artifacts::fs::{Finding, PackIdent, SealedPack};
use artifacts::redact::Redactor;
use artifacts::{ArtifactRef, Store, StoreReader};

pub(crate) const IDENT: PackIdent =
    PackIdent { ledger_id: *b"0123456789abcdef", epoch: 0x3f9a_6c01, created_unix_ns: 5 };

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub(crate) fn writer(folder: &Path, epoch: u32) -> Store {
    Store::create(folder, PackIdent { epoch, ..IDENT }).expect("the folder takes a writer")
}

pub(crate) fn put(store: &mut Store, bytes: &[u8]) -> ArtifactRef {
    store.put(&Redactor::core().redact(bytes)).expect("stored")
}

/// Seals a store of these artifacts.
pub(crate) fn sealed(folder: &Path, artifacts: &[&[u8]]) -> (Vec<ArtifactRef>, SealedPack) {
    let mut store = writer(folder, IDENT.epoch);
    let references = artifacts.iter().map(|bytes| put(&mut store, bytes)).collect();
    (references, store.seal().expect("sealed"))
}

pub(crate) fn reader(folder: &Path) -> StoreReader {
    StoreReader::open(folder).expect("the folder opens")
}

pub(crate) fn findings(reader: &StoreReader) -> Vec<Finding> {
    let mut findings = Vec::new();
    let checked = reader.check_all(|finding| findings.push(finding));
    assert_eq!(checked.findings, findings.len() as u64);
    findings
}

/// Every file of the folder with its bytes, by name.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("listed").map(|entry| entry.expect("listed").path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("readable"))).collect()
}

/// A record as any writer could leave it, with good checksums.
pub(crate) fn record(codec: u16, raw_bytes: u64, id: [u8; 32], stored: &[u8]) -> Vec<u8> {
    record_with(codec, raw_bytes, id, stored, [0; 8])
}

/// A record of `raw` that needs the record with the id `base`.
pub(crate) fn record_over(codec: u16, raw: &[u8], stored: &[u8], base: [u8; 32]) -> Vec<u8> {
    let id = *artifacts::ArtifactId::of(raw).as_bytes();
    let key = *base.first_chunk().expect("32 bytes");
    record_with(codec, raw.len() as u64, id, stored, key)
}

fn record_with(codec: u16, raw_bytes: u64, id: [u8; 32], stored: &[u8], base: [u8; 8]) -> Vec<u8> {
    let mut record = b"EVA1".to_vec();
    record.extend(codec.to_le_bytes());
    record.extend([0; 2]);
    record.extend(raw_bytes.to_le_bytes());
    record.extend((stored.len() as u64).to_le_bytes());
    record.extend(base);
    record.extend(id);
    record.extend(crc32fast::hash(stored).to_le_bytes());
    record.extend(crc32fast::hash(&record).to_le_bytes());
    record.extend(stored);
    record.resize(record.len().next_multiple_of(8), 0);
    record
}
