//! Goal: whatever way an artifact is stored, its bytes come back, or an error. Method: a pack with
//! every codec that another program wrote, read whole, cut everywhere and with every bit flipped;
//! and what this crate writes, read back whole and in parts.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use artifacts::fs::{CHUNK_BYTES, Compaction, FindingKind, Severity};
use artifacts::{ArtifactId, ArtifactRef, DamageReason, GetError, Source as _, StoreReader};

use crate::support::{findings, folder, put, reader, record, record_over, writer};

const PACK: &[u8] = include_bytes!("../golden/p-000001-3f9a6c01.pack");
const INDEX: &[u8] = include_bytes!("../golden/p-000001-3f9a6c01.idx");

/// What stands in the golden pack, in its order; the dictionary is no artifact.
fn golden() -> [Vec<u8>; 4] {
    let line = |at: u32| format!("line {at} of a file that is read again\n");
    let text: String = (0..40).map(line).collect();
    let edited = text.replace("line 20 of", "line twenty of");
    let number = |at: u32| format!("{:06}\n", at / 1000);
    let long: String = (0..10_000).map(number).collect();
    ["short line 7 of a file\n".into(), text.into(), edited.into(), long.into()]
}

fn write_golden(folder: &Path, with_index: bool) {
    fs::write(folder.join("p-000001-3f9a6c01.pack"), PACK).expect("written");
    if with_index {
        fs::write(folder.join("p-000001-3f9a6c01.idx"), INDEX).expect("written");
    }
}

#[test]
fn a_pack_of_another_program_is_read_whole_with_and_without_its_index() {
    for with_index in [true, false] {
        let folder = folder();
        write_golden(folder.path(), with_index);
        let reader = reader(folder.path());
        let found = findings(&reader);
        assert!(found.iter().all(|one| one.severity == Severity::Information), "{found:?}");
        assert_eq!(found.is_empty(), with_index);
        let mut listed = BTreeSet::new();
        for raw in golden() {
            let reference = reader.reference(&ArtifactId::of(&raw)).expect("listed");
            assert!(reader.read(&reference).expect("readable").as_ref() == raw);
            listed.insert(reference.id());
        }
        assert_eq!(reader.iter().map(|(id, ..)| id).collect::<BTreeSet<_>>(), listed);
        assert_eq!((reader.len(), reader.find_prefix("").len()), (4, 4));
        assert_eq!(reader.in_order(), golden().map(|raw| ArtifactId::of(&raw)));
    }
}

/// What is read is right or refused; returns how many artifacts were read.
fn check_reads(reader: &StoreReader) -> usize {
    let mut read = 0;
    for raw in golden() {
        let Some(reference) = reader.reference(&ArtifactId::of(&raw)) else { continue };
        if let Ok(bytes) = reader.read(&reference) {
            assert!(bytes.as_ref() == raw);
            read += 1;
        }
        if let Ok(part) = reader.read_range(&reference, 3..9)
            && reference.bytes() == raw.len() as u64
        {
            assert!(*part == raw[3..9]);
        }
    }
    read
}

#[test]
fn every_cut_of_a_pack_with_all_codecs_yields_what_is_whole() {
    let folder = folder();
    write_golden(folder.path(), false);
    let file = OpenOptions::new().write(true).open(folder.path().join("p-000001-3f9a6c01.pack"));
    let file = file.expect("writable");
    let mut last = 4;
    for cut in (0..PACK.len()).rev() {
        file.set_len(cut as u64).expect("cut");
        let reader = reader(folder.path());
        let read = check_reads(&reader);
        assert!(read == reader.len() && read <= last, "{cut}");
        assert!(findings(&reader).iter().all(|one| one.severity <= Severity::Tail), "{cut}");
        last = read;
    }
    assert_eq!(last, 0);
}

#[test]
fn every_flipped_bit_of_a_pack_with_all_codecs_is_found() {
    let folder = folder();
    write_golden(folder.path(), true);
    for (name, good) in [("p-000001-3f9a6c01.pack", PACK), ("p-000001-3f9a6c01.idx", INDEX)] {
        let file = OpenOptions::new().write(true).open(folder.path().join(name)).expect("writable");
        // The fan-out is long and all alike; the flips of another test cover it.
        let bits = (0..8 * good.len()).filter(|bit| name.ends_with("pack") || bit % 7 == 0);
        for bit in bits {
            let at = (bit / 8) as u64;
            file.write_all_at(&[good[bit / 8] ^ (1 << (bit % 8))], at).expect("damaged");
            if let Ok(reader) = StoreReader::open(folder.path()) {
                assert!(!findings(&reader).is_empty(), "{name} bit {bit}");
                check_reads(&reader);
            }
            file.write_all_at(&good[bit / 8..=bit / 8], at).expect("restored");
        }
    }
    assert_eq!(check_reads(&reader(folder.path())), 4);
}

/// A folder with one unsealed pack of these records.
fn with_records(records: &[Vec<u8>]) -> (tempfile::TempDir, StoreReader) {
    let folder = folder();
    fs::write(
        folder.path().join("p-000001-3f9a6c01.pack"),
        [&PACK[..128], &records.concat()].concat(),
    )
    .expect("written");
    let reader = reader(folder.path());
    (folder, reader)
}

fn reason(reader: &StoreReader, raw: &[u8]) -> Option<DamageReason> {
    let reference = reader.reference(&ArtifactId::of(raw)).expect("listed");
    match reader.read(&reference) {
        Err(GetError::Damaged { reason, .. }) => Some(reason),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

#[test]
fn a_base_that_is_missing_or_needs_a_base_itself_is_refused() {
    let id = |raw: &[u8]| *ArtifactId::of(raw).as_bytes();
    let delta = |raw: &[u8], base: &[u8]| record_over(3, raw, b"stored", id(base));
    for codec in [2, 3] {
        let (_folder, reader) = with_records(&[record_over(codec, b"lost", b"x", id(b"nowhere"))]);
        assert_eq!(reason(&reader, b"lost"), Some(DamageReason::Base));
        let found = findings(&reader).swap_remove(0);
        assert!(matches!(found.kind, FindingKind::Record { reason: DamageReason::Base, .. }));
    }
    // Over itself, over each other, and over one that is over a good one.
    let good = record(0, 4, id(b"good"), b"good");
    let (_folder, reader) = with_records(&[
        delta(b"self", b"self"),
        delta(b"left", b"right"),
        delta(b"right", b"left"),
        good,
        delta(b"one", b"good"),
        delta(b"two", b"one"),
        record_over(2, b"four", b"stored", id(b"five")),
        record_over(2, b"five", b"stored", id(b"four")),
    ]);
    for raw in [b"self".as_slice(), b"left", b"right", b"two", b"four", b"five"] {
        assert_eq!(reason(&reader, raw), Some(DamageReason::Base), "{raw:?}");
    }
    assert_eq!(reason(&reader, b"one"), Some(DamageReason::Compression));
}

#[test]
fn a_table_that_does_not_fit_its_chunks_is_refused_whole_and_in_parts() {
    let long = golden()[3].clone();
    let id = *ArtifactId::of(&long).as_bytes();
    let at = PACK.windows(4).position(|bytes| bytes == b"EVC1").expect("a table") - 8;
    let stored = &PACK[at..];
    let table_bytes = 20 + 8 * 2 + 4;
    // Every word of the table, with a checksum that fits: chunk length, count, lengths, sums.
    for word in (4..table_bytes - 4).step_by(4).filter(|word| *word != 8) {
        let mut wrong = stored.to_vec();
        wrong[word] = wrong[word].wrapping_add(1);
        let crc = crc32fast::hash(&wrong[..table_bytes - 4]).to_le_bytes();
        wrong[table_bytes - 4..table_bytes].copy_from_slice(&crc);
        let (_folder, reader) = with_records(&[record(1, long.len() as u64, id, &wrong)]);
        assert!(reason(&reader, &long).is_some(), "word {word}");
        let reference = reader.reference(&ArtifactId::of(&long)).expect("listed");
        for start in [0, 65_530, 69_990] {
            match reader.read_range(&reference, start..start + 10) {
                Ok(part) => {
                    let from = usize::try_from(start).expect("small");
                    assert!(*part == long[from..][..10], "{start}");
                }
                Err(error) => assert!(matches!(error, GetError::Damaged { .. }), "{error}"),
            }
        }
    }
}

/// Lines that differ, so that no chunk is like another.
fn numbered(lines: u64) -> Vec<u8> {
    let line = |at: u64| format!("{at} {}\n", at * at % 10_007);
    (0..lines).map(line).collect::<String>().into_bytes()
}

#[test]
fn a_part_of_a_long_artifact_is_read_without_the_rest() {
    let folder = folder();
    let long = numbered(300_000);
    assert!(long.len() as u64 > 3 * CHUNK_BYTES);
    let mut store = writer(folder.path(), 1);
    let reference = put(&mut store, &long);
    let short = put(&mut store, b"short");
    let sealed = store.seal().expect("sealed");
    let end = long.len() as u64;
    let edge = CHUNK_BYTES;
    let ranges =
        [0..0, 0..10, edge - 5..edge + 5, edge..2 * edge, 5..end - 5, end - 9..end, end..end + 5];
    let check = |reader: &StoreReader| {
        for range in &ranges {
            let part = reader.read_range(&reference, range.clone()).expect("readable");
            let at = |at: u64| usize::try_from(at).expect("small").min(long.len());
            let (from, to) = (at(range.start), at(range.end));
            assert!(*part == long[from..to], "{range:?}");
        }
        let part = reader.read_range(&short, 1..3).expect("readable");
        assert_eq!(part.as_ref(), b"ho");
    };
    check(&reader(folder.path()));
    fs::remove_file(&sealed.index).expect("removed");
    check(&reader(folder.path()));
    // A damaged chunk costs the ranges that touch it.
    let mut pack = fs::read(&sealed.pack).expect("readable");
    let middle = pack.len() / 2;
    pack[middle] ^= 1;
    fs::write(&sealed.pack, pack).expect("damaged");
    let reader = reader(folder.path());
    assert!(reader.read_range(&reference, 0..10).is_ok());
    assert!(reader.read_range(&reference, end - 9..end).is_ok());
    let middle = end / 2;
    assert!(matches!(
        reader.read_range(&reference, middle - edge..middle + edge),
        Err(GetError::Damaged { .. })
    ));
}

fn short_texts() -> Vec<Vec<u8>> {
    let text = |at: u32| {
        format!(
            "{{\"role\":\"tool\",\"tool_call_id\":\"call_{at:04}\",\"content\":\"error[E0{}]: \
             mismatched types in src/lib.rs:{at}\"}}",
            at * 37 % 1000
        )
    };
    (0..600).map(|at| text(at).into_bytes()).collect()
}

#[test]
fn many_short_artifacts_share_the_dictionary_of_their_pack() {
    let folder = folder();
    let texts = short_texts();
    let mut store = writer(folder.path(), 1);
    let references: Vec<ArtifactRef> = texts.iter().map(|text| put(&mut store, text)).collect();
    for (reference, text) in references.iter().zip(&texts) {
        assert_eq!(store.read(reference).expect("readable").as_ref(), text);
    }
    let sealed = store.seal().expect("sealed");
    let reader = reader(folder.path());
    assert!(findings(&reader).is_empty());
    assert_eq!((reader.len(), sealed.artifacts), (600, 601));
    let stored: Vec<u64> = references
        .iter()
        .map(|reference| {
            let found = reader.iter().find(|(id, ..)| *id == reference.id());
            found.map_or(0, |(_, _, stored, _)| stored)
        })
        .collect();
    let (before, after): (u64, u64) = (stored[..256].iter().sum(), stored[344..].iter().sum());
    assert!(after * 5 < before * 4, "{after} with the dictionary, {before} without");
    for (reference, text) in references.iter().zip(&texts) {
        assert_eq!(reader.read(reference).expect("readable").as_ref(), text);
    }
}

/// A file of 300 lines, and what each of some edits makes of it.
fn versions() -> Vec<Vec<u8>> {
    let mut lines: Vec<String> =
        (0..300).map(|at| format!("let value_{at} = {};", at * 7919 % 10_007)).collect();
    let mut edit = |version: usize| {
        lines[version * 17 % 300] = format!("// edited in version {version}");
        lines.join("\n").into_bytes()
    };
    (0..15).map(&mut edit).collect()
}

#[test]
fn versions_of_one_text_are_compacted_to_their_differences() {
    let (from, into) = (folder(), folder());
    let mut store = writer(from.path(), 1);
    let versions = versions();
    let references: Vec<ArtifactRef> = versions.iter().map(|raw| put(&mut store, raw)).collect();
    let other = put(&mut store, &numbered(500));
    store.seal().expect("sealed");
    let from = reader(from.path());
    let mut store = writer(into.path(), 2);
    let mut compaction = Compaction::new(&from);
    for id in from.in_order() {
        compaction.copy(&mut store, &id).expect("copied");
    }
    let done = compaction.done();
    assert_eq!((done.artifacts, done.deltas), (16, 14));
    assert!(done.after_bytes * 3 < done.before_bytes, "{done:?}");
    for (reference, raw) in references.iter().zip(&versions) {
        assert_eq!(store.read(reference).expect("readable").as_ref(), raw);
    }
    store.seal().expect("sealed");
    let compact = reader(into.path());
    assert!(findings(&compact).is_empty());
    for (reference, raw) in references.iter().zip(&versions) {
        assert_eq!(compact.read(reference).expect("readable").as_ref(), raw);
        let part = compact.read_range(reference, 100..200).expect("readable");
        assert!(*part == raw[100..200]);
    }
    assert!(compact.read(&other).is_ok());
    // What is only named by way of a difference is in use as well.
    let named = BTreeSet::from([references[14].id()]);
    let used = compact.pack_uses(&named).swap_remove(0);
    assert!(used.named_bytes > done.before_bytes / 32, "{used:?}");
}

#[test]
fn a_difference_whose_base_is_damaged_is_stored_again() {
    let folder = folder();
    write_golden(folder.path(), true);
    let [_, text, edited, _] = golden();
    let at = PACK.windows(32).position(|bytes| bytes == ArtifactId::of(&text).as_bytes());
    let mut pack = PACK.to_vec();
    pack[at.expect("listed") + 40] ^= 1;
    fs::write(folder.path().join("p-000001-3f9a6c01.pack"), &pack).expect("damaged");
    let mut store = writer(folder.path(), 2);
    let reference = put(&mut store, &edited);
    assert_eq!(store.seal().expect("sealed").artifacts, 1);
    assert_eq!(reader(folder.path()).read(&reference).expect("fresh").as_ref(), edited);
}
