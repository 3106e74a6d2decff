//! Goal: compressed files give the same entries, and damage is told from a short plain file.
//! Method: the same file in each coding, every cut of it, and each byte of it broken.

use std::io::{self, Read, Write as _};

use super::{Outcome, drain, read, small_har};
use crate::har::{CodedFault, FileCoding, HarError, HarReader, Limits, open, sniff};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd_with_checksum(plain: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Entries that do not compress, so that a cut file still holds some of them.
fn long_har() -> String {
    let mut state = 1_u64;
    let mut text = || {
        let mut text = String::new();
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(char::from(b'a' + u8::try_from(state >> 60).unwrap()));
        }
        text
    };
    let elements: Vec<String> = (0..40).map(|_| format!("{{\"t\":\"{}\"}}", text())).collect();
    format!("{{\"log\":{{\"entries\":[{}]}}}}", elements.join(","))
}

fn read_coded(file: Vec<u8>) -> Outcome {
    drain(&mut HarReader::new(sniff(io::Cursor::new(file)).unwrap(), Limits::STANDARD))
}

type Encode = fn(&[u8]) -> Vec<u8>;

fn codings() -> [(FileCoding, Encode); 2] {
    [(FileCoding::Gzip, gzip), (FileCoding::Zstd, zstd_with_checksum)]
}

#[test]
fn a_compressed_file_gives_the_entries_of_the_plain_one() {
    let file = small_har();
    let plain = read(file.as_bytes());
    let (head, tail) = file.as_bytes().split_at(100);
    for (coding, encode) in codings() {
        let joined = [encode(head), encode(tail)].concat();
        for coded in [encode(file.as_bytes()), joined] {
            let outcome = read_coded(coded);
            outcome.end.unwrap();
            assert_eq!(outcome.entries, plain.entries, "{coding}");
        }
    }
    let outcome = read_coded(file.into_bytes());
    outcome.end.unwrap();
    assert_eq!(outcome.entries, plain.entries);
}

#[test]
fn a_file_with_the_longest_window_is_read() {
    let file = small_har();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(file.as_bytes()).unwrap();
    let outcome = read_coded(encoder.finish().unwrap());
    outcome.end.unwrap();
    assert_eq!(outcome.entries.len(), 2);
}

#[test]
fn a_window_that_is_too_large_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(small_har().as_bytes()).unwrap();
    let outcome = read_coded(encoder.finish().unwrap());
    assert!(matches!(outcome.end, Err(HarError::Coded { fault: CodedFault::Damaged, .. })));
}

#[test]
fn every_cut_of_a_compressed_file_is_named_as_such() {
    let file = small_har();
    let whole = read(file.as_bytes()).entries;
    for (expected, encode) in codings() {
        let coded = encode(file.as_bytes());
        for cut in 4..coded.len() {
            let outcome = read_coded(coded[..cut].to_vec());
            match outcome.end {
                Err(HarError::Coded { coding, fault, offset, entries_read, .. }) => {
                    assert_eq!((coding, fault), (expected, CodedFault::Cut), "cut at {cut}");
                    assert!(offset <= file.len() as u64);
                    assert_eq!(entries_read, outcome.entries.len() as u64);
                }
                other => panic!("{expected} cut at {cut}: {other:?}"),
            }
            assert_eq!(outcome.entries, whole[..outcome.entries.len()], "cut at {cut}");
        }
    }
}

#[test]
fn entries_before_a_cut_of_the_compressed_file_are_kept() {
    let file = long_har();
    let whole = read(file.as_bytes()).entries;
    for (coding, encode) in codings() {
        let coded = encode(file.as_bytes());
        let outcome = read_coded(coded[..coded.len() / 2].to_vec());
        assert!(outcome.entries.len() > 10, "{coding}: {}", outcome.entries.len());
        assert!(outcome.entries == whole[..outcome.entries.len()]);
        assert!(matches!(outcome.end, Err(HarError::Coded { fault: CodedFault::Cut, .. })));
    }
}

#[test]
fn no_flipped_byte_of_a_compressed_file_is_taken_for_a_whole_file() {
    let file = small_har();
    let whole = read(file.as_bytes()).entries;
    for (coding, encode) in codings() {
        let coded = encode(file.as_bytes());
        for at in 0..coded.len() {
            let mut broken = coded.clone();
            broken[at] ^= 0xff;
            let outcome = read_coded(broken);
            // The gzip header holds a time and a system that change nothing.
            let harmless = coding == FileCoding::Gzip && (4..10).contains(&at);
            assert_eq!(outcome.end.is_ok(), harmless, "{coding} at {at}");
            if harmless {
                assert_eq!(outcome.entries, whole);
            }
        }
    }
}

#[test]
fn an_error_of_the_file_itself_is_not_blamed_on_its_coding() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(5))
        }
    }
    let coded = zstd_with_checksum(small_har().as_bytes());
    let file = io::Cursor::new(coded[..20].to_vec()).chain(Failing);
    let outcome = drain(&mut HarReader::new(sniff(file).unwrap(), Limits::STANDARD));
    assert!(matches!(outcome.end, Err(HarError::Io { entries_read: 0, .. })), "{:?}", outcome.end);
}

#[test]
fn a_file_is_opened_by_its_path_and_a_missing_one_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.har.zst");
    match open(&path) {
        Err(HarError::Open { path: named, .. }) => assert_eq!(named, path),
        other => panic!("{other:?}"),
    }
    std::fs::write(&path, zstd_with_checksum(small_har().as_bytes())).unwrap();
    let outcome = drain(&mut open(&path).unwrap());
    outcome.end.unwrap();
    assert_eq!(outcome.entries.len(), 2);
}
