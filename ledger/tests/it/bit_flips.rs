//! Goal: no flipped bit of a log goes unnoticed.
//! Method: flip every bit of small logs, one at a time, and count what the reader says. Bits that
//! may change without notice are counted exactly, so that a new one makes the test fail.

use std::fs;
use std::path::Path;

use ledger::fs::Tail;

use crate::log_support::{Close, bodies, boundaries, create, extend, read, segments, try_read};

/// How the reader answered to the flips of one file.
#[derive(Debug, Default, PartialEq)]
struct Count {
    refused: usize,
    corrupt: usize,
    torn: usize,
    harmless: usize,
}

/// Flips every bit of `file` and reads the log in `dir` each time.
fn flip_all(dir: &Path, file: &Path, mut check: impl FnMut(usize, &Verdict)) -> Count {
    let original = fs::read(file).unwrap();
    let good = read(dir).bodies();
    let mut count = Count::default();
    for bit in 0..original.len() * 8 {
        let mut flipped = original.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(file, &flipped).unwrap();
        let verdict = verdict(dir, &good);
        match verdict {
            Verdict::Refused => count.refused += 1,
            Verdict::Corrupt => count.corrupt += 1,
            Verdict::Torn => count.torn += 1,
            Verdict::Harmless => count.harmless += 1,
        }
        check(bit / 8, &verdict);
    }
    fs::write(file, &original).unwrap();
    println!("{} bits of {}: {count:?}", original.len() * 8, file.display());
    count
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Refused,
    Corrupt,
    Torn,
    Harmless,
}

/// Whatever is flipped, frames that are given are the frames that were written.
fn verdict(dir: &Path, good: &[Vec<u8>]) -> Verdict {
    let Ok(said) = try_read(dir) else {
        return Verdict::Refused;
    };
    let bodies = said.bodies();
    assert_eq!(bodies[..], good[..bodies.len()], "a changed frame was given");
    match said.end {
        Err(_) => Verdict::Corrupt,
        Ok(Tail::Torn { .. }) => Verdict::Torn,
        Ok(Tail::Clean) => {
            assert_eq!(bodies, good, "a frame is missing and nothing was said");
            Verdict::Harmless
        }
        Ok(tail) => panic!("an end of its own kind: {tail:?}"),
    }
}

#[test]
fn s05_s06_every_flipped_bit_of_a_segment_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let segment = segments(dir.path()).remove(0);
    let ends = boundaries(dir.path(), &segment);
    let seal_start = ends[ends.len() - 2];
    let count = flip_all(dir.path(), &segment, |byte, verdict| {
        // Only the last frame can be taken for an interrupted write; it is the seal.
        let expected = if byte < seal_start { Verdict::Corrupt } else { Verdict::Torn };
        assert_eq!(*verdict, expected, "byte {byte}");
    });
    let seal_bytes = ends[ends.len() - 1] - seal_start;
    assert_eq!(
        count,
        Count { refused: 0, corrupt: seal_start * 8, torn: seal_bytes * 8, harmless: 0 }
    );
}

#[test]
fn only_the_torn_bytes_of_an_old_segment_may_change() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Drop);
    let segment = segments(dir.path()).remove(0);
    let bytes = fs::read(&segment).unwrap();
    let ends = boundaries(dir.path(), &segment);
    // The last frame loses the end of its body, and its header stays good.
    let torn_bytes = bytes.len() - 16 - ends[ends.len() - 2];
    fs::write(&segment, &bytes[..bytes.len() - 16]).unwrap();
    extend(dir.path(), 0xb, &[b"after".to_vec()], Close::Seal);

    let count = flip_all(dir.path(), &segment, |_, _| {});
    let log_bytes = ends[ends.len() - 2];
    assert_eq!(
        count,
        Count { refused: 0, corrupt: log_bytes * 8, torn: 0, harmless: torn_bytes * 8 }
    );
}

#[test]
fn only_the_minor_of_the_format_file_may_change() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let format = dir.path().join("FORMAT");
    let count = flip_all(dir.path(), &format, |_, _| {});
    // A minor of 1, 2, 4 or 8 is one bit away from 0, and any minor is read.
    assert_eq!(count.harmless, 4);
    // Another ledger id is noticed at the segments, everything else in the file itself.
    assert!(count.corrupt > 0 && count.torn == 0, "{count:?}");
}
