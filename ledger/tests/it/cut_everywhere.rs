//! Goal: a log that was cut anywhere gives exactly its whole frames and says how it ends.
//! Method: cut a small log at every length; read it; continue it; compare the files.

use std::fs;
use std::path::{Path, PathBuf};

use ledger::fs::{Damage, Tail};
use ledger::segment::SegmentFault;

use crate::log_support::{
    Close, HEADER_BYTES, bodies, boundaries, create, extend, read, segments, snapshot,
};

/// A log whose last segment can be cut: `close` says whether it is sealed.
fn one_segment(dir: &Path, bodies: &[Vec<u8>], close: Close) -> (PathBuf, Vec<u8>, Vec<usize>) {
    create(dir, bodies, close);
    let segment = segments(dir).remove(0);
    let bytes = fs::read(&segment).unwrap();
    let ends = boundaries(dir, &segment);
    (segment, bytes, ends)
}

/// How a log ends whose only segment was cut to `cut` bytes.
fn check_tail(tail: &Tail, cut: usize, ends: &[usize]) {
    let end = ends.iter().copied().rfind(|end| *end <= cut).unwrap_or(0);
    if end == cut {
        assert_eq!(*tail, Tail::Open, "cut at {cut}, between two frames");
        return;
    }
    let Tail::Torn { offset, bytes, reason, .. } = tail else {
        panic!("cut at {cut}: {tail:?}");
    };
    assert_eq!((*offset, *bytes), (end as u64, (cut - end) as u64), "cut at {cut}");
    let in_header = matches!(reason, Damage::Segment(SegmentFault::HeaderShort { .. }));
    assert_eq!(in_header, cut < HEADER_BYTES, "cut at {cut}: {reason:?}");
}

#[test]
fn s01_every_cut_gives_the_whole_frames_and_a_typed_tail() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, bytes, ends) = one_segment(dir.path(), &bodies(), Close::Seal);
    assert_eq!(ends.len(), 1 + bodies().len() + 1, "all frames and the seal");
    for cut in 0..bytes.len() {
        fs::write(&segment, &bytes[..cut]).unwrap();
        let before = snapshot(dir.path());
        let said = read(dir.path());
        let whole = ends.iter().skip(1).filter(|end| **end <= cut).count();
        assert_eq!(said.frames.len(), whole, "cut at {cut}");
        assert_eq!(said.bodies()[..], bodies()[..whole.min(bodies().len())]);
        if cut == 0 {
            // An empty file is torn too: it was created, and nothing came of it.
            assert!(matches!(said.end, Ok(Tail::Torn { offset: 0, bytes: 0, .. })));
        } else {
            check_tail(&said.end.unwrap(), cut, &ends);
        }
        assert!(snapshot(dir.path()) == before, "cut at {cut}: reading changed a file");
    }
    fs::write(&segment, &bytes).unwrap();
    assert_eq!(read(dir.path()).end.unwrap(), Tail::Clean);
}

#[test]
fn s02_every_cut_can_be_continued_without_touching_the_old_segment() {
    let root = tempfile::tempdir().unwrap();
    // Three frames are enough, since every cut costs a dozen syncs.
    let bodies = &bodies()[2..];
    let (segment, bytes, ends) = one_segment(&root.path().join("whole"), bodies, Close::Drop);
    let format = fs::read(root.path().join("whole/FORMAT")).unwrap();
    let name = segment.file_name().unwrap();
    for cut in 0..=bytes.len() {
        let dir = root.path().join(format!("cut-{cut}"));
        fs::create_dir_all(dir.join("log")).unwrap();
        fs::write(dir.join("FORMAT"), &format).unwrap();
        fs::write(dir.join("log").join(name), &bytes[..cut]).unwrap();
        extend(&dir, 0xb, &[b"after".to_vec()], Close::Seal);

        let whole = ends.iter().skip(1).filter(|end| **end <= cut).count();
        let mut expected = bodies[..whole].to_vec();
        expected.push(b"after".to_vec());
        let said = read(&dir);
        assert_eq!(said.bodies(), expected, "cut at {cut}");
        assert_eq!(said.end.unwrap(), Tail::Clean, "cut at {cut}");
        assert_eq!(fs::read(dir.join("log").join(name)).unwrap(), bytes[..cut]);
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn s17_every_cut_of_a_segment_that_another_follows_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, bytes, ends) = one_segment(dir.path(), &bodies(), Close::Seal);
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    for cut in 0..bytes.len() {
        fs::write(&segment, &bytes[..cut]).unwrap();
        let said = read(dir.path());
        let whole = ends.iter().skip(1).filter(|end| **end <= cut).count();
        assert_eq!(said.frames.len(), whole, "cut at {cut}");
        match said.damage() {
            // What is shorter than a header is no segment, and then the first one is missing.
            Damage::Segment(SegmentFault::Number { found: 2, expected: 1 }) => {
                assert!(cut < HEADER_BYTES, "cut at {cut}");
            }
            Damage::Segment(SegmentFault::PrevLength { found, .. }) => {
                assert_eq!(found, cut as u64);
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}
