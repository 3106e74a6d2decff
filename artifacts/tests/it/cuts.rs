//! Goal: a pack that ends anywhere yields exactly its whole records, says where the rest starts,
//! and is left alone. Method: every prefix of a pack of three records, without and with index.

use std::fs::{self, OpenOptions};
use std::path::Path;

use artifacts::fs::{FindingKind, Severity};
use artifacts::{ArtifactRef, GetError, Source as _, StoreReader};

use crate::support::{findings, folder, reader, sealed};

const TEXTS: [&[u8]; 3] = [b"first", b"", b"three three three three three three three"];

/// Where each record ends, from the lengths that the pack's headers say.
fn ends(pack: &[u8]) -> Vec<usize> {
    let (mut at, mut ends) = (128, Vec::new());
    while let Some(length) = pack.get(at + 16..).and_then(|rest| rest.first_chunk()) {
        let stored = usize::try_from(u64::from_le_bytes(*length)).expect("small");
        at += 72 + stored.next_multiple_of(8);
        ends.push(at);
    }
    ends
}

/// Cuts a file; no reader has it open.
fn shorten(path: &Path, bytes: usize) {
    let file = OpenOptions::new().write(true).open(path).expect("writable");
    file.set_len(bytes as u64).expect("cut");
}

fn check_reads(reader: &StoreReader, references: &[ArtifactRef], whole: usize) {
    assert_eq!(reader.len(), whole);
    for (position, (reference, text)) in references.iter().zip(TEXTS).enumerate() {
        let read = reader.read(reference);
        let as_expected = match &read {
            Ok(bytes) => position < whole && bytes.as_ref() == text,
            Err(GetError::Missing { id }) => position >= whole && *id == reference.id(),
            Err(_) => false,
        };
        assert!(as_expected, "{position} of {whole}: {read:?}");
    }
}

#[test]
fn every_cut_of_an_unsealed_pack_yields_its_whole_records_and_a_tail() {
    let folder = folder();
    let (references, sealed) = sealed(folder.path(), &TEXTS);
    fs::remove_file(&sealed.index).expect("the writer died before it wrote the index");
    let pack = fs::read(&sealed.pack).expect("readable");
    let ends = ends(&pack);
    assert_eq!((ends.len(), ends.last()), (3, Some(&pack.len())));
    for cut in (0..=pack.len()).rev() {
        shorten(&sealed.pack, cut);
        let reader = reader(folder.path());
        let whole = ends.iter().filter(|end| **end <= cut).count();
        check_reads(&reader, &references, whole);

        let mut found = findings(&reader);
        let index = found.pop().expect("a word about the index");
        assert!(matches!(index.kind, FindingKind::IndexMissing));
        assert_eq!(index.severity, Severity::Information);
        let start = ends.iter().copied().filter(|end| *end <= cut).max().unwrap_or(128);
        match found.as_slice() {
            [] => assert_eq!(start, cut),
            [tail] if cut < 128 => {
                assert!(matches!(tail.kind, FindingKind::PackHeader(_)));
                assert_eq!((tail.offset, tail.severity), (0, Severity::Tail));
            }
            [tail] => {
                let rest = (cut - start) as u64;
                assert!(matches!(tail.kind, FindingKind::TornTail { bytes, .. } if bytes == rest));
                assert_eq!((tail.offset, tail.severity), (start as u64, Severity::Tail));
            }
            more => panic!("{more:?}"),
        }
        assert_eq!(fs::read(&sealed.pack).expect("readable"), &pack[..cut]);
    }
}

#[test]
fn every_cut_of_a_sealed_pack_is_damage_and_its_whole_records_are_read() {
    let folder = folder();
    let (references, sealed) = sealed(folder.path(), &TEXTS);
    let pack = fs::read(&sealed.pack).expect("readable");
    let ends = ends(&pack);
    for cut in (0..pack.len()).rev() {
        shorten(&sealed.pack, cut);
        let reader = reader(folder.path());
        check_reads(&reader, &references, ends.iter().filter(|end| **end <= cut).count());
        let found = findings(&reader);
        assert!(found.iter().all(|finding| finding.severity == Severity::Damage), "{found:?}");
        assert!(found.iter().any(|finding| matches!(finding.kind, FindingKind::Index(_))));
    }
}

#[test]
fn every_cut_of_an_index_is_damage_and_everything_is_read() {
    let folder = folder();
    let (references, sealed) = sealed(folder.path(), &TEXTS);
    let index = fs::read(&sealed.index).expect("readable");
    for cut in (0..index.len()).rev() {
        shorten(&sealed.index, cut);
        let reader = reader(folder.path());
        check_reads(&reader, &references, 3);
        let found = findings(&reader);
        assert!(matches!(found.as_slice(), [one] if one.severity == Severity::Damage));
    }
}

#[test]
fn zeros_and_junk_behind_the_records_are_told_apart() {
    let folder = folder();
    let (references, sealed) = sealed(folder.path(), &TEXTS);
    fs::remove_file(&sealed.index).expect("no index");
    let pack = fs::read(&sealed.pack).expect("readable");
    for (rest, zeros) in [(vec![0; 70_000], true), (vec![0; 3], true), (vec![1; 200_000], false)] {
        fs::write(&sealed.pack, [pack.as_slice(), &rest].concat()).expect("written");
        let reader = reader(folder.path());
        check_reads(&reader, &references, 3);
        let tail = findings(&reader).swap_remove(0);
        assert_eq!((tail.offset, tail.severity), (pack.len() as u64, Severity::Tail));
        assert_eq!(matches!(tail.kind, FindingKind::ZeroTail { .. }), zeros);
    }
}
