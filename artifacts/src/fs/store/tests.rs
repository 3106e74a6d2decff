//! Goal: a store that failed once says so for ever, packs follow each other, and a damaged copy
//! is replaced by a fresh one. Method: the file under an active pack is exchanged for a device
//! that fails in the wanted way, or its bytes are changed behind the store's back.

use std::fs::OpenOptions;

use super::*;
use crate::fs::Severity;
use crate::fs::vfs::{VfsFile, write_all_at};
use crate::redact::Redactor;

const IDENT: PackIdent = PackIdent { ledger_id: [7; 16], epoch: 9, created_unix_ns: 0 };

fn store(folder: &Path) -> Store {
    Store::create(folder, IDENT).expect("a fresh folder takes a store")
}

fn put(store: &mut Store, text: &str) -> Result<ArtifactRef, PutError> {
    store.put(&Redactor::core().redact(text.as_bytes()))
}

/// A file whose writes, or only whose syncs, fail.
fn device(path: &str) -> Arc<dyn VfsFile> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    Arc::new(file.expect("every Linux has it"))
}

fn is_failure<T>(result: &Result<T, PutError>, expected: &str) -> bool {
    matches!(result, Err(PutError::Io { action, .. }) if *action == expected)
}

#[test]
fn after_a_failed_write_every_call_returns_the_first_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = store(folder.path());
    let before = put(&mut store, "before").expect("stored");
    store.sync().expect("durable");
    store.active.file = device("/dev/full");
    put(&mut store, "after").expect("only collected so far");
    assert!(is_failure(&store.flush(), "write"));
    // The device would take this sync; the store does not ask it any more.
    store.active.file = device("/dev/null");
    assert!(is_failure(&store.sync(), "write"));
    assert!(is_failure(&store.flush(), "write"));
    assert!(is_failure(&put(&mut store, "before"), "write"));
    assert!(is_failure(&store.seal(), "write"));
    let reader = StoreReader::open(folder.path()).expect("readable");
    assert_eq!(reader.read(&before).expect("durable").as_ref(), b"before");
    assert_eq!(reader.len(), 1);
}

#[test]
fn after_a_failed_sync_the_store_does_not_try_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = store(folder.path());
    let good = Arc::clone(&store.active.file);
    put(&mut store, "text").expect("collected");
    // Writes to it succeed, syncs of it do not.
    store.active.file = device("/dev/null");
    assert!(is_failure(&store.sync(), "sync"));
    store.active.file = good;
    assert!(is_failure(&store.sync(), "sync"));
    assert!(is_failure(&put(&mut store, "more"), "sync"));
    assert!(is_failure(&store.seal(), "sync"));
}

#[test]
fn an_artifact_that_is_too_long_does_not_poison() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = store(folder.path());
    let long = vec![0; usize::try_from(ARTIFACT_BYTES_MAX).expect("64 bit") + 1];
    let refused = store.put(&Redactor::core().redact(&long));
    assert!(matches!(refused, Err(PutError::TooLong { bytes_max: ARTIFACT_BYTES_MAX, .. })));
    put(&mut store, "short").expect("stored");
}

#[test]
fn a_full_pack_is_sealed_and_the_next_number_follows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = store(folder.path());
    store.options.pack_bytes_target = 300;
    let texts: Vec<String> = (0..10).map(|number| format!("artifact number {number}")).collect();
    let references: Vec<_> =
        texts.iter().map(|text| put(&mut store, text).expect("stored")).collect();
    for (text, reference) in texts.iter().zip(&references) {
        assert_eq!(put(&mut store, text).expect("known"), *reference);
        assert_eq!(store.read(reference).expect("readable").as_ref(), text.as_bytes());
    }
    let last = store.seal().expect("sealed");
    assert_eq!(last.number, 5);
    let reader = StoreReader::open(folder.path()).expect("readable");
    assert_eq!(reader.len(), 10);
    let checked = reader.check_all(|finding| panic!("{finding}"));
    assert_eq!((checked.packs, checked.records, checked.findings), (5, 10, 0));
}

#[test]
fn s35_a_known_artifact_whose_copy_is_damaged_is_stored_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = store(folder.path());
    let reference = put(&mut store, "known").expect("stored");
    store.flush().expect("written");
    let first_copy_end = store.active.bytes();
    assert_eq!(put(&mut store, "known").expect("known"), reference);
    assert_eq!(store.active.bytes(), first_copy_end);
    write_all_at(&*store.active.file, b"K", 128 + 72).expect("damaged");
    assert_eq!(put(&mut store, "known").expect("stored again"), reference);
    assert_eq!(store.active.bytes(), first_copy_end + 72 + 8);
    assert_eq!(store.read(&reference).expect("the fresh copy").as_ref(), b"known");
    store.seal().expect("sealed");

    let reader = StoreReader::open(folder.path()).expect("readable");
    assert_eq!(reader.read(&reference).expect("the fresh copy").as_ref(), b"known");
    let mut findings = Vec::new();
    reader.check_all(|finding| findings.push((finding.offset, finding.severity)));
    // The damaged copy; the index was hashed as it was written, so the pack differs too.
    assert_eq!(findings, [(128, Severity::Damage), (0, Severity::Damage)]);
}
