//! Goal: a recording can be taken elsewhere, in its canonical form or as lines of JSON, and room
//! that nothing names can be given back. Method: round trips, compared file by file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{LocalDisk, Vfs};
use artifacts::fs::{Encoder, PackIdent, SharedStore, Store};
use artifacts::redact::Redactor;
use artifacts::{Source as _, StoreReader};
use ledger::fs::jsonl::{JsonlError, read_jsonl, write_jsonl};
use ledger::fs::{Ask, Journal, LogReader, LogWriter, export, gc, plan_gc};
use ledger::segment::Epoch;

use crate::log_support::{CREATED_UNIX_NS, KIND, ident, read, snapshot};

fn disk() -> Arc<dyn Vfs> {
    LocalDisk::shared()
}

pub(crate) fn journal(dir: &Path, epoch: u32) -> Journal {
    let ident = ident(epoch);
    let log = if dir.join("FORMAT").exists() {
        LogWriter::open(dir, Epoch(epoch), CREATED_UNIX_NS).unwrap()
    } else {
        LogWriter::create(dir, ident).unwrap()
    };
    let pack = PackIdent { ledger_id: ident.ledger_id.0, epoch, created_unix_ns: CREATED_UNIX_NS };
    Journal::new(log, Some(SharedStore::new(Store::create(&dir.join("art"), pack).unwrap())))
}

/// Appends events that each name an artifact; artifacts that no event names are put too.
fn record(journal: &Journal, numbers: std::ops::Range<u32>, unnamed: bool) {
    let mut encoder = Encoder::new().unwrap();
    for number in numbers {
        let content = format!("content {number} ").repeat(1 + number as usize % 3 * 40);
        let redacted = Redactor::core().redact(content.as_bytes()).into_owned();
        let store = journal.store().unwrap();
        let artifact = store.put(&mut encoder, &redacted).unwrap();
        let mut body = number.to_le_bytes().to_vec();
        if !unnamed {
            body.extend(artifact.id().as_bytes());
        }
        let wall = u64::from(number);
        journal.append_body(KIND, 1, wall, &body, Ask::Durable).unwrap();
    }
}

/// A recording of two sessions below `root`.
pub(crate) fn recording(root: &Path) -> PathBuf {
    let dir = root.join("recorded");
    for (epoch, numbers) in [(1, 0..20), (2, 15..30)] {
        let journal = journal(&dir, epoch);
        record(&journal, numbers, false);
        journal.seal().unwrap();
    }
    dir
}

pub(crate) fn export_of(from: &Path, into: &Path) -> PathBuf {
    export(&disk(), from, into).unwrap();
    into.to_path_buf()
}

/// Every file by its path below `dir`, without times.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = snapshot(dir).into_iter().filter(|(path, _)| path.is_file());
    files.map(|(path, (bytes, _))| (path.strip_prefix(dir).unwrap().to_owned(), bytes)).collect()
}

#[test]
fn an_export_is_the_same_whoever_makes_it_and_of_itself() {
    let root = tempfile::tempdir().unwrap();
    let recorded = recording(root.path());
    let first = export_of(&recorded, &root.path().join("first"));
    let again = export_of(&first, &root.path().join("again"));
    assert_eq!(files(&first), files(&again));
    assert_eq!(read(&first).bodies(), read(&recorded).bodies());
    let names: Vec<_> = files(&first).into_iter().map(|(path, _)| path).collect();
    assert!(names.contains(&"log/00000000000000000001-00000000.seg".into()), "{names:?}");
    assert!(names.contains(&"art/p-000001-00000000.pack".into()), "{names:?}");
    assert!(names.contains(&".gitattributes".into()), "{names:?}");

    // The same events, recorded in one session, have the same form.
    let other = root.path().join("other");
    let journal = journal(&other, 9);
    record(&journal, 0..20, false);
    record(&journal, 15..30, false);
    journal.seal().unwrap();
    assert_eq!(files(&export_of(&other, &root.path().join("third"))), files(&first));
}

#[test]
fn lines_of_json_come_back_as_the_canonical_form() {
    let root = tempfile::tempdir().unwrap();
    let recorded = recording(root.path());
    let mut lines = Vec::new();
    assert_eq!(write_jsonl(&disk(), &recorded, &mut lines).unwrap(), (35, 30));
    let back = root.path().join("back");
    read_jsonl(&disk(), &mut &*lines, &back, &Redactor::core()).unwrap();
    let exported = export_of(&recorded, &root.path().join("exported"));
    assert_eq!(files(&back), files(&exported));
}

#[test]
fn lines_that_were_cut_changed_or_exchanged_are_refused_with_their_number() {
    let root = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    write_jsonl(&disk(), &recording(root.path()), &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let all: Vec<&str> = lines.lines().collect();
    let refused = |name: &str, text: &str| -> (u64, &'static str) {
        let into = root.path().join(name);
        match read_jsonl(&disk(), &mut text.as_bytes(), &into, &Redactor::core()) {
            Err(JsonlError::Line { line, what }) => (line, what),
            other => panic!("{name}: {other:?}"),
        }
    };
    for cut in 1..all.len() {
        let (line, _) = refused(&format!("cut-{cut}"), &(all[..cut].join("\n") + "\n"));
        assert_eq!(line, cut as u64 + 1);
    }
    let changed = lines.replacen("content", "contend", 1);
    assert_eq!(refused("changed", &changed), (2, "artifact does not have its name"));
    let mut swapped = all.clone();
    swapped.swap(40, 41);
    assert_eq!(refused("swapped", &swapped.join("\n")), (41, "line is out of order"));
    let missing = [&all[..35], &all[36..]].concat().join("\n") + "\n";
    assert_eq!(refused("missing", &missing).1, "line is out of order");
    let key = format!("\"text\":\"ghp_{}\"", "a1B2".repeat(9));
    let secret = r#"{"artifact":"ID",TEXT}"#.replace("TEXT", &key);
    let content = format!("ghp_{}", "a1B2".repeat(9));
    let id = artifacts::ArtifactId::of(content.as_bytes()).to_string();
    let planted = [all[0], &secret.replace("ID", &id)].join("\n") + "\n";
    assert_eq!(refused("secret", &planted), (2, "holds what the rules of redaction replace"));
}

#[test]
fn s36_what_nothing_names_is_given_back_and_what_is_named_stays() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let first = journal(&dir, 1);
    record(&first, 0..20, true);
    record(&first, 20..24, false);
    let blocked = gc(&disk(), &dir, Epoch(7), false).unwrap_err();
    assert!(matches!(blocked, ledger::fs::GcError::Lock(_)), "{blocked:?}");
    first.seal().unwrap();
    let bodies = read(&dir).bodies();
    let before = files(&dir);
    let plan = plan_gc(&disk(), &dir).unwrap();
    assert_eq!((plan.packs.len(), plan.packs[0].artifacts.len()), (1, 4));
    assert_eq!(files(&dir), before, "a plan changes nothing");

    assert_eq!(gc(&disk(), &dir, Epoch(7), false).unwrap(), plan);
    let store = StoreReader::open(&dir.join("art")).unwrap();
    assert_eq!(store.len(), 4);
    for (id, ..) in store.iter() {
        store.read(&store.reference(&id).unwrap()).unwrap();
    }
    assert_eq!(read(&dir).bodies(), bodies);
    assert!(dir.join("quarantine/p-000001-00000001.pack").exists());
    // The next run empties the quarantine, and finds nothing more to do.
    let next = gc(&disk(), &dir, Epoch(8), false).unwrap();
    assert_eq!((next.packs.len(), next.removed.len()), (0, 2));
    assert_eq!(fs::read_dir(dir.join("quarantine")).unwrap().count(), 0);
}

#[test]
fn s39_threads_that_append_at_once_are_told_their_own_places() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let journal = journal(&dir, 1);
    let mut told: Vec<(u64, u32)> = std::thread::scope(|scope| {
        let append = |thread: u32| {
            let journal = &journal;
            scope.spawn(move || {
                let mut told = Vec::new();
                for number in 0..50 {
                    let name = thread << 8 | number;
                    let ask = if number % 2 == 0 { Ask::Durable } else { Ask::Written };
                    let body = name.to_le_bytes();
                    let ack = journal.append_body(KIND, 1, 0, &body, ask).unwrap();
                    assert_eq!(ack.is, ask);
                    told.push((ack.seq.0, name));
                }
                told
            })
        };
        let threads: Vec<_> = (0..8).map(append).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    journal.seal().unwrap();
    told.sort_unstable();
    let mut reader = LogReader::open(&dir).unwrap();
    let found: Vec<(u64, u32)> = reader
        .frames()
        .map(Result::unwrap)
        .filter(|frame| !frame.is_seal())
        .map(|frame| (frame.seq().0, u32::from_le_bytes(frame.body().try_into().unwrap())))
        .collect();
    assert_eq!(found, told);
}
