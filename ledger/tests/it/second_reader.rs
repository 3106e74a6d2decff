//! Goal: the format is what its reference says. Method: a reader in another language, written
//! from the reference alone, reads what this crate wrote and has to say the same.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use artifacts::StoreReader;
use ledger::fs::LogReader;
use sha2::{Digest as _, Sha256};

use crate::log_support::{Close, bodies, create, extend};
use crate::recording::{export_of, recording};

fn second_reader(dir: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reader.py");
    let ran = Command::new("python3").arg(script).arg(dir).output().expect("python3 is there");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("it prints ASCII")
}

fn ours(dir: &Path) -> String {
    let mut reader = LogReader::open(dir).unwrap();
    let mut lines = String::new();
    for frame in reader.frames() {
        let frame = frame.unwrap();
        let digest = Sha256::digest(frame.body());
        writeln!(lines, "{} {} {digest:x}", frame.seq(), frame.kind()).unwrap();
    }
    let mut said = format!("{}\n{lines}", reader.head());
    if let Ok(store) = StoreReader::open(&dir.join("art")) {
        let listed = store.iter();
        let mut records: Vec<_> = listed
            .map(|(id, raw, _, place)| (place.pack.to_path_buf(), place.offset, id, raw))
            .collect();
        records.sort();
        for (_, _, id, raw) in records {
            // What is short is stored as it is.
            let codec = u32::from(raw > 100);
            writeln!(said, "{id} {codec} {raw}").unwrap();
        }
    }
    said
}

#[test]
fn a_reader_written_from_the_reference_reads_every_form_of_a_log() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Drop);
    assert_eq!(second_reader(dir.path()), ours(dir.path()));
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    extend(dir.path(), 0xc, &bodies(), Close::Seal);
    assert_eq!(second_reader(dir.path()), ours(dir.path()));
}

#[test]
fn a_reader_written_from_the_reference_reads_packs_and_exports() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = recording(dir.path());
    assert_eq!(second_reader(&recorded), ours(&recorded));
    let exported = export_of(&recorded, &dir.path().join("exported"));
    assert_eq!(second_reader(&exported), ours(&exported));
}
