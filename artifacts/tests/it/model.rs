//! Goal: a store is a map from hashes to bytes that survives its writers. Method: generated
//! operations on a store and on a `BTreeMap`, compared after every step.

use std::collections::BTreeMap;
use std::path::Path;

use artifacts::{ArtifactId, ArtifactRef, Source as _, Store};
use proptest::prelude::*;

use crate::support::{findings, folder, put, reader, writer};

#[derive(Clone, Debug)]
enum Operation {
    Put(Vec<u8>),
    Flush,
    Sync,
    Seal,
    /// The writer ends without a word.
    Drop,
}

fn operation() -> impl Strategy<Value = Operation> {
    let bytes = prop_oneof![
        4 => prop::collection::vec(0..4_u8, 0..6),
        1 => prop::collection::vec(any::<u8>(), 0..3000),
        1 => (any::<u8>(), 0..100_000_usize).prop_map(|(byte, length)| vec![byte; length]),
    ];
    prop_oneof![
        8 => bytes.prop_map(Operation::Put),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Sync),
        1 => Just(Operation::Seal),
        1 => Just(Operation::Drop),
    ]
}

type Map = BTreeMap<ArtifactId, (ArtifactRef, Vec<u8>)>;

/// The folder holds the map, and nothing else.
fn check_folder(folder: &Path, map: &Map) -> Result<(), TestCaseError> {
    let reader = reader(folder);
    prop_assert_eq!(reader.len(), map.len());
    let listed: Vec<_> = reader.iter().map(|(id, raw, _, _)| (id, raw)).collect();
    let expected: Vec<_> = map.values().map(|(known, _)| (known.id(), known.bytes())).collect();
    prop_assert_eq!(listed, expected);
    for (id, (known, bytes)) in map {
        prop_assert!(reader.contains(id));
        prop_assert_eq!(reader.reference(id), Some(*known));
        prop_assert_eq!(&*reader.read(known).expect("readable"), bytes.as_slice());
    }
    for digits in [0, 1, 2, 3, 64] {
        for id in map.keys() {
            let prefix = &id.to_string()[..digits];
            let with = map.keys().filter(|id| id.to_string().starts_with(prefix));
            prop_assert_eq!(reader.find_prefix(prefix), with.copied().collect::<Vec<_>>());
        }
    }
    let damage = findings(&reader)
        .into_iter()
        .filter(|finding| !matches!(finding.severity, artifacts::fs::Severity::Information));
    prop_assert_eq!(damage.count(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_store_is_a_map_that_survives_its_writers(
        operations in prop::collection::vec(operation(), 1..30),
    ) {
        let folder = folder();
        let mut epoch = 1;
        let mut store: Store = writer(folder.path(), epoch);
        // What is in the files, and what only the writer has.
        let (mut kept, mut pending) = (Map::new(), Map::new());
        for operation in operations {
            match operation {
                Operation::Put(bytes) => {
                    let known = put(&mut store, &bytes);
                    prop_assert_eq!(known.id(), ArtifactId::of(&bytes));
                    prop_assert_eq!(known.bytes(), bytes.len() as u64);
                    prop_assert_eq!(&*store.read(&known).expect("readable"), bytes.as_slice());
                    if !kept.contains_key(&known.id()) {
                        pending.insert(known.id(), (known, bytes));
                    }
                    continue;
                }
                Operation::Flush => {
                    store.flush().expect("written");
                    kept.append(&mut pending);
                }
                Operation::Sync => {
                    store.sync().expect("durable");
                    kept.append(&mut pending);
                }
                Operation::Seal | Operation::Drop => {
                    if matches!(operation, Operation::Seal) {
                        let sealed = store.seal().expect("sealed");
                        prop_assert_eq!(sealed.number, epoch);
                        kept.append(&mut pending);
                    } else {
                        drop(store);
                        pending.clear();
                    }
                    epoch += 1;
                    store = writer(folder.path(), epoch);
                }
            }
            check_folder(folder.path(), &kept)?;
        }
    }
}

#[test]
fn a_prefix_that_is_no_prefix_of_an_id_finds_nothing() {
    let folder = folder();
    let mut store = writer(folder.path(), 1);
    let id = put(&mut store, b"abc").id();
    store.sync().expect("durable");
    let reader = reader(folder.path());
    assert_eq!(reader.find_prefix("ba7816bf"), [id]);
    assert_eq!(reader.find_prefix(""), [id]);
    let long = format!("{id}0");
    for wrong in ["BA", "xy", "ba7816be", "ba 7", long.as_str(), "\u{e9}"] {
        assert_eq!(reader.find_prefix(wrong), []);
    }
}

#[test]
fn a_reader_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<artifacts::StoreReader>();
    shared::<artifacts::redact::Redactor>();
}
