//! Goal: each kind of damage has its own answer. Method: a folder per kind, made by hand.

use std::fs;
use std::path::Path;

use artifacts::fs::{ARTIFACT_BYTES_MAX, FindingKind, Severity};
use artifacts::{ArtifactId, DamageReason, GetError, OpenError, Source as _, StoreReader};

use crate::support::{files, findings, folder, put, reader, record, sealed, writer};

#[test]
fn s20_an_index_that_is_gone_changes_nothing_that_is_read() {
    let folder = folder();
    let texts: Vec<Vec<u8>> = (0..50_u8).map(|at| vec![at; 10 + usize::from(at)]).collect();
    let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let (references, sealed) = sealed(folder.path(), &slices);
    let list = |reader: &StoreReader| {
        let entries = reader.iter().map(|(id, raw, stored, place)| (id, raw, stored, place.offset));
        entries.collect::<Vec<_>>()
    };
    let with_index = list(&reader(folder.path()));
    assert!(with_index.is_sorted() && with_index.len() == 50);
    fs::remove_file(&sealed.index).expect("removed");
    let before = files(folder.path());
    let reader = reader(folder.path());
    assert_eq!(list(&reader), with_index);
    for (reference, text) in references.iter().zip(&texts) {
        assert_eq!(reader.read(reference).expect("readable").as_ref(), text);
    }
    let found = findings(&reader);
    assert!(matches!(found.as_slice(), [one] if one.severity == Severity::Information));
    assert!(files(folder.path()) == before, "reading never writes");
}

#[test]
fn a_file_that_was_converted_as_text_says_so() {
    for suffix in [".pack", ".idx"] {
        let folder = folder();
        let (_, sealed) = sealed(folder.path(), &[b"text"]);
        let path = if suffix == ".pack" { &sealed.pack } else { &sealed.index };
        let good = fs::read(path).expect("readable");
        let to_lf = replace(&good, b"\r\n", b"\n");
        let to_crlf = replace(&to_lf, b"\n", b"\r\n");
        for mangled in [to_lf, to_crlf, replace(&good, b"\n", b"\r\n")] {
            fs::write(path, mangled).expect("mangled");
            let error = StoreReader::open(folder.path()).expect_err("refused");
            assert!(matches!(&error, OpenError::ConvertedAsText { path: at, .. } if at == path));
            let hint = format!("`*{suffix} binary` in .gitattributes");
            assert!(error.to_string().contains(&hint), "{error}");
        }
    }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(from) {
            out.extend(to);
            rest = behind;
        } else {
            out.push(*first);
            rest = behind;
        }
    }
    out
}

/// A folder with one unsealed pack: a good record, the given ones, another good record.
fn with_records(folder: &Path, records: &[Vec<u8>]) -> StoreReader {
    let (_, sealed) = sealed(folder, &[b"good"]);
    fs::remove_file(&sealed.index).expect("removed");
    let mut pack = fs::read(&sealed.pack).expect("readable");
    pack.extend(records.concat());
    pack.extend(record(0, 4, *ArtifactId::of(b"last").as_bytes(), b"last"));
    fs::write(&sealed.pack, pack).expect("written");
    reader(folder)
}

#[test]
fn an_unknown_codec_is_listed_skipped_and_refused_by_number() {
    for codec in [4, u16::MAX] {
        let folder = folder();
        let id = ArtifactId::of(b"stored by a later version");
        let later = record(codec, 25, *id.as_bytes(), b"something");
        let reader = with_records(folder.path(), &[later]);
        assert_eq!(reader.len(), 3);
        let reference = reader.reference(&id).expect("listed");
        let error = reader.read(&reference).expect_err("refused");
        assert!(matches!(error, GetError::CodecUnsupported { codec: found, .. } if found == codec));
        let last = reader.reference(&ArtifactId::of(b"last")).expect("listed");
        assert_eq!(reader.read(&last).expect("readable").as_ref(), b"last");
        let found = findings(&reader).swap_remove(0);
        assert!(
            matches!(found.kind, FindingKind::CodecUnsupported { codec: at, .. } if at == codec)
        );
        assert_eq!(found.severity, Severity::Unchecked);
    }
}

#[test]
fn a_decompression_bomb_is_refused_before_it_is_unpacked() {
    let id = ArtifactId::of(b"bomb");
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).expect("compressed");
    // The frame holds far more than the header says, or the header promises what is not there.
    for raw_bytes in [4, ARTIFACT_BYTES_MAX] {
        let folder = folder();
        let reader = with_records(folder.path(), &[record(1, raw_bytes, *id.as_bytes(), &bomb)]);
        let reference = reader.reference(&id).expect("listed");
        let error = reader.read(&reference).expect_err("refused");
        let reason = DamageReason::RawLength;
        assert!(matches!(error, GetError::Damaged { reason: found, .. } if found == reason));
    }
    // A length beyond the maximum is no header at all.
    for raw_bytes in [ARTIFACT_BYTES_MAX + 1, u64::MAX] {
        let folder = folder();
        let reader = with_records(folder.path(), &[record(1, raw_bytes, *id.as_bytes(), &bomb)]);
        assert_eq!((reader.len(), reader.contains(&id)), (2, false));
        let gap = findings(&reader).swap_remove(0);
        let field = DamageReason::HeaderField { field: "raw length" };
        assert!(matches!(gap.kind, FindingKind::Gap { reason, .. } if reason == field), "{gap}");
    }
}

#[test]
fn bytes_that_do_not_hash_to_their_name_are_never_returned() {
    let folder = folder();
    let id = ArtifactId::of(b"right");
    let reader = with_records(folder.path(), &[record(0, 5, *id.as_bytes(), b"wrong")]);
    let reference = reader.reference(&id).expect("listed");
    let error = reader.read(&reference).expect_err("refused");
    assert!(matches!(error, GetError::Damaged { reason: DamageReason::Digest, .. }));
    let text = error.to_string();
    assert!(text.contains("offset 208") && text.contains(&id.to_string()), "{text}");
    assert!(!text.contains("wrong") && !text.contains("right"), "{text}");
}

#[test]
fn an_artifact_of_another_length_than_its_reference_is_refused() {
    let folder = folder();
    sealed(folder.path(), &[b"four"]);
    let mut stored = ArtifactId::of(b"four").as_bytes().to_vec();
    stored.extend(5_u64.to_le_bytes());
    let (reference, _) =
        bincode::decode_from_slice(&stored, bincode::config::legacy()).expect("decodes");
    let error = reader(folder.path()).read(&reference).expect_err("refused");
    assert!(matches!(error, GetError::Length { found_bytes: 4, expected_bytes: 5, .. }));
}

#[test]
fn an_older_good_copy_is_returned_when_the_newest_is_damaged() {
    let folder = folder();
    let (references, first) = sealed(folder.path(), &[b"twice"]);
    let text = fs::read(&first.pack).expect("readable");
    let mut store = writer(folder.path(), 2);
    put(&mut store, b"other");
    let second = store.seal().expect("sealed");
    fs::remove_file(&second.index).expect("removed");
    // The second pack gets a copy of the record, and that copy is damaged.
    let mut pack = fs::read(&second.pack).expect("readable");
    pack.extend(&text[128..]);
    let length = pack.len();
    pack[length - 8] ^= 1;
    fs::write(&second.pack, pack).expect("written");
    let reader = reader(folder.path());
    assert_eq!(reader.len(), 2);
    assert_eq!(reader.read(&references[0]).expect("readable").as_ref(), b"twice");
}

#[test]
fn a_copy_in_an_older_pack_that_is_damaged_is_stored_again_and_the_newest_is_listed() {
    let folder = folder();
    let (references, first) = sealed(folder.path(), &[b"kept", b"hurt"]);
    let mut pack = fs::read(&first.pack).expect("readable");
    let length = pack.len();
    pack[length - 8] ^= 1;
    fs::write(&first.pack, pack).expect("damaged");
    let mut store = writer(folder.path(), 2);
    assert_eq!(put(&mut store, b"kept"), references[0]);
    assert_eq!(put(&mut store, b"hurt"), references[1]);
    let second = store.seal().expect("sealed");
    assert_eq!(second.artifacts, 1);
    let reader = reader(folder.path());
    assert_eq!(reader.read(&references[1]).expect("the fresh copy").as_ref(), b"hurt");
    let mut places: Vec<_> = reader.iter().map(|(id, _, _, place)| (id, place.pack)).collect();
    places.sort_by_key(|(id, _)| *id == references[1].id());
    let expected =
        [(references[0].id(), first.pack.as_path()), (references[1].id(), second.pack.as_path())];
    assert_eq!(places, expected);
}

#[test]
fn the_last_copy_in_an_unsealed_pack_speaks_and_the_damaged_one_is_reported() {
    let folder = folder();
    let id = ArtifactId::of(b"copied");
    let mut damaged = record(0, 6, *id.as_bytes(), b"copied");
    damaged[72] = b'C';
    let fresh = record(0, 6, *id.as_bytes(), b"copied");
    let reader = with_records(folder.path(), &[damaged, fresh]);
    let reference = reader.reference(&id).expect("listed");
    assert_eq!(reader.read(&reference).expect("the fresh copy").as_ref(), b"copied");
    let found = findings(&reader).swap_remove(0);
    let reason = DamageReason::StoredChecksum;
    assert!(matches!(found.kind, FindingKind::Record { reason: at, .. } if at == reason));
    assert_eq!((found.offset, found.severity), (208, Severity::Damage));
}

#[test]
fn s22_a_pack_that_is_cut_under_its_reader_is_an_error_and_not_the_end() {
    let folder = folder();
    // Bytes that do not compress.
    let mut state = 7_u64;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state.to_le_bytes()[7]
    };
    let texts: [Vec<u8>; 3] = [(); 3].map(|()| (0..40_000).map(|_| byte()).collect());
    let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let (references, sealed) = sealed(folder.path(), &slices);
    let reader = reader(folder.path());
    let pack = fs::OpenOptions::new().write(true).open(&sealed.pack).expect("writable");
    pack.set_len(4096).expect("cut");
    assert!(matches!(reader.read(&references[2]), Err(GetError::Unreadable { .. })));
    assert!(findings(&reader).iter().any(|found| found.severity >= Severity::Unchecked));
}

#[test]
fn padding_that_is_not_zero_is_found() {
    let folder = folder();
    let mut padded = record(0, 3, *ArtifactId::of(b"pad").as_bytes(), b"pad");
    *padded.last_mut().expect("not empty") = 1;
    let found = findings(&with_records(folder.path(), &[padded])).swap_remove(0);
    let reason = DamageReason::Padding;
    assert!(matches!(found.kind, FindingKind::Record { reason: at, .. } if at == reason));
}

#[test]
fn a_long_record_with_a_damaged_header_is_a_gap_and_the_next_is_found() {
    for length in [65_536 - 72, 65_536 - 64, 200_000] {
        let folder = folder();
        let long = vec![b'x'; length];
        let mut damaged = record(0, length as u64, *ArtifactId::of(&long).as_bytes(), &long);
        damaged[9] ^= 1;
        let gap_bytes = damaged.len() as u64;
        let reader = with_records(folder.path(), &[damaged]);
        assert!(reader.contains(&ArtifactId::of(b"last")) && reader.len() == 2);
        let gap = findings(&reader).swap_remove(0);
        assert!(
            matches!(gap.kind, FindingKind::Gap { bytes, reason: DamageReason::HeaderChecksum }
            if bytes == gap_bytes)
        );
        assert_eq!((gap.offset, gap.severity), (208, Severity::Damage));
    }
}

#[test]
fn packs_that_changed_places_or_ledgers_are_found() {
    let folder = folder();
    let (references, sealed) = sealed(folder.path(), &[b"moved"]);
    let moved = folder.path().join("p-000002-3f9a6c01.pack");
    fs::rename(&sealed.pack, &moved).expect("renamed");
    let reader = reader(folder.path());
    assert_eq!(reader.read(&references[0]).expect("readable").as_ref(), b"moved");
    let found = findings(&reader);
    assert!(found.iter().any(|one| matches!(one.kind, FindingKind::PackHeader(_))), "{found:?}");
    drop(reader);

    let other = crate::support::folder();
    let ident = artifacts::fs::PackIdent { ledger_id: [1; 16], ..crate::support::IDENT };
    let stranger = artifacts::Store::create(other.path(), ident).expect("created");
    let stranger = stranger.seal().expect("sealed");
    fs::rename(&moved, &sealed.pack).expect("moved back");
    let target = folder.path().join("p-000002-3f9a6c01.pack");
    let mut pack = fs::read(&stranger.pack).expect("readable");
    pack[40] = 2;
    let crc = crc32fast::hash(&pack[..124]).to_le_bytes();
    pack[124..128].copy_from_slice(&crc);
    fs::write(&target, pack).expect("written");
    let found = findings(&crate::support::reader(folder.path()));
    assert!(found.iter().any(|one| matches!(one.kind, FindingKind::ForeignPack)), "{found:?}");
}

#[test]
fn a_missing_folder_is_an_error_and_an_empty_one_is_an_empty_store() {
    let folder = folder();
    let missing = StoreReader::open(&folder.path().join("no"));
    assert!(matches!(missing, Err(OpenError::Io { action: "list", .. })));
    fs::write(folder.path().join("notes.txt"), "not ours").expect("written");
    let reader = reader(folder.path());
    assert_eq!((reader.len(), reader.stored_bytes(), reader.disk_bytes()), (0, 0, 0));
    assert!(reader.is_empty() && findings(&reader).is_empty());
}
