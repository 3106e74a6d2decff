//! Goal: the format is what its reference says. Method: a reader in another language, written
//! from the reference alone, reads what this crate wrote and has to say the same.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use artifacts::StoreReader;
use artifacts::fs::Encoder;
use artifacts::fs::vfs::LocalDisk;
use artifacts::redact::Redactor;
use ledger::fs::{LogReader, compact};
use ledger::segment::Epoch;
use sha2::{Digest as _, Sha256};

use crate::log_support::{Close, bodies, create, extend};
use crate::recording::{export_of, journal, recording};

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
            writeln!(said, "{id} {raw}").unwrap();
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

#[test]
fn a_reader_written_from_the_reference_reads_dictionaries_chunks_and_differences() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let first = journal(&dir, 1);
    let mut encoder = Encoder::new().unwrap();
    let mut put = |bytes: &[u8]| {
        first.store().unwrap().put(&mut encoder, &Redactor::core().redact(bytes)).unwrap();
    };
    for number in 0..300 {
        put(format!("{{\"role\":\"tool\",\"content\":\"{number} lines\"}}").repeat(9).as_bytes());
        let line = |at: u32| format!("{at} {}\n", if at == number { 0 } else { at * 7919 % 997 });
        put((0..300).map(line).collect::<String>().as_bytes());
    }
    put(&b"a line of a long log\n".repeat(100_000));
    first.seal().unwrap();
    assert_eq!(second_reader(&dir), ours(&dir));
    let report = compact(&LocalDisk::shared(), &dir, Epoch(5), false).unwrap();
    assert!(report.artifacts.deltas > 280 && report.after_bytes * 2 < report.before_bytes);
    assert_eq!((report.artifacts.artifacts, report.replaced.len()), (601, 1));
    assert_eq!(second_reader(&dir), ours(&dir));
    // What is as short as it gets stays as it is, and nothing is left of the attempt.
    let again = compact(&LocalDisk::shared(), &dir, Epoch(6), false).unwrap();
    assert_eq!((again.replaced.len(), again.after_bytes), (0, report.after_bytes));
    assert_eq!(std::fs::read_dir(dir.join("art")).unwrap().count(), 2);
}

#[test]
fn a_reader_written_from_the_reference_reads_the_pack_of_another_program() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = "30313233343536373839616263646566";
    let format = format!(
        "counterfold recording\nformat 1.0\nledger {ledger}\nincompat\nro_compat\ncompat\n"
    );
    std::fs::write(dir.path().join("FORMAT"), format).unwrap();
    for folder in ["log", "art"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../artifacts/tests/golden");
    for name in ["p-000001-3f9a6c01.pack", "p-000001-3f9a6c01.idx"] {
        std::fs::copy(golden.join(name), dir.path().join("art").join(name)).unwrap();
    }
    let said = second_reader(dir.path());
    assert_eq!(said.lines().filter(|line| line.len() > 64).count(), 5, "{said}");
}
