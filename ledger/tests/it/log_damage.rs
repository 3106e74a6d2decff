//! Goal: an interrupted write and damage are told apart, and what is not this log is refused.
//! Method: one damage per test, made by hand; the exact reason is compared.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ledger::frame::{Chain, FrameFault, FrameHeader};
use ledger::fs::{Damage, LogReader, LogWriter, OpenError, ReadError, Seq, Tail};
use ledger::segment::{Epoch, LedgerId, SegmentFault, SegmentHeader};
use sha2::{Digest as _, Sha256};

use crate::log_support::{
    CREATED_UNIX_NS, Close, bodies, boundaries, create, extend, ident, read, segments, snapshot,
};

/// A log with one segment that was not sealed.
fn open_log(dir: &Path) -> (PathBuf, Vec<u8>, Vec<usize>) {
    create(dir, &bodies(), Close::Drop);
    let segment = segments(dir).remove(0);
    let bytes = fs::read(&segment).unwrap();
    let ends = boundaries(dir, &segment);
    (segment, bytes, ends)
}

/// A damaged log is not continued, and refusing leaves it as it is.
fn check_refused_by_writer(dir: &Path) {
    drop(fs::File::create(dir.join("LOCK")).unwrap());
    let before = snapshot(dir);
    let refusal = LogWriter::open(dir, Epoch(0xee), CREATED_UNIX_NS).unwrap_err();
    assert!(matches!(refusal, OpenError::Damaged(ReadError::Corrupt { .. })), "{refusal:?}");
    assert!(snapshot(dir) == before, "a refused open changed a file");
}

#[test]
fn s03_a_zero_tail_was_never_written() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, mut bytes, _) = open_log(dir.path());
    bytes.resize(bytes.len() + 4096, 0);
    fs::write(&segment, &bytes).unwrap();
    let said = read(dir.path());
    assert_eq!(said.end.clone().unwrap(), Tail::Open);
    assert_eq!(said.bodies(), bodies());
    extend(dir.path(), 0xb, &[b"after".to_vec()], Close::Seal);
    assert_eq!(read(dir.path()).end.unwrap(), Tail::Clean);
}

#[test]
fn s04_zeros_in_front_of_a_whole_frame_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, mut bytes, ends) = open_log(dir.path());
    bytes[ends[2]..ends[3]].fill(0);
    fs::write(&segment, &bytes).unwrap();
    let said = read(dir.path());
    assert_eq!(said.frames.len(), 2);
    // The frame behind it is of the same batch, and does not say that this one was durable.
    let distance_bytes = (ends[4] - ends[2]) as u64;
    let expected = Damage::Hole { fault: FrameFault::Magic, distance_bytes, next_seq: Seq(5) };
    assert_eq!(said.damage(), expected);
    let Err(ReadError::Corrupt { path, offset, seq, .. }) = said.end else {
        panic!("damage was checked above");
    };
    assert_eq!((path, offset, seq), (segment, ends[2] as u64, Seq(3)));
    check_refused_by_writer(dir.path());
}

#[test]
fn more_bytes_than_one_batch_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, bytes, _) = open_log(dir.path());
    let torn_bytes_max = (8 << 20) + (8 << 20) + 80 + (16 << 20);
    for (extra, is_damage) in [(torn_bytes_max, false), (torn_bytes_max + 1, true)] {
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + extra - 1, 0);
        longer.push(0xff);
        fs::write(&segment, &longer).unwrap();
        let said = read(dir.path());
        assert_eq!(said.bodies(), bodies());
        match said.end {
            Ok(Tail::Torn { bytes, .. }) => assert!(!is_damage && bytes == extra as u64),
            Err(_) => assert!(is_damage && matches!(said.damage(), Damage::LongTail { .. })),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn s07_s18_an_old_frame_behind_the_tail_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, mut bytes, ends) = open_log(dir.path());
    bytes.extend_from_within(ends[1]..ends[2]);
    fs::write(&segment, &bytes).unwrap();
    let expected = FrameFault::Seq { found: Seq(2), expected: Seq(6) };
    assert_eq!(read(dir.path()).damage(), Damage::Frame(expected));
    check_refused_by_writer(dir.path());
}

#[test]
fn a_body_that_was_replaced_with_good_checksums_breaks_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, mut bytes, ends) = open_log(dir.path());
    let salt = SegmentHeader::decode(&bytes).unwrap().salt();
    let (head, body) = bytes[ends[4]..ends[5]].split_at_mut(FrameHeader::ENCODED_BYTES);
    let mut header = FrameHeader::decode(head.first_chunk().unwrap(), &salt).unwrap();
    let body_bytes = header.body_bytes as usize;
    body[..body_bytes].fill(b'b');
    header.body_crc = crc32fast::hash(&body[..body_bytes]);
    head.copy_from_slice(&header.encode(&salt));
    fs::write(&segment, &bytes).unwrap();
    // It is the last frame, so that only the chain speaks against an interrupted write.
    assert_eq!(read(dir.path()).damage(), Damage::Frame(FrameFault::Chain));
    check_refused_by_writer(dir.path());
}

#[test]
fn a_seal_that_does_not_describe_its_segment_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let segment = segments(dir.path()).remove(0);
    let good = fs::read(&segment).unwrap();
    let ends = boundaries(dir.path(), &segment);
    let salt = SegmentHeader::decode(&good).unwrap().salt();
    // The count of frames, the sum of body bytes, the chain.
    for at in [0, 8, 16] {
        let mut bytes = good.clone();
        let (before, seal) = bytes.split_at_mut(ends[5]);
        let last = FrameHeader::decode(before[ends[4]..].first_chunk().unwrap(), &salt).unwrap();
        let (head, body) = seal.split_at_mut(FrameHeader::ENCODED_BYTES);
        body[at] ^= 1;
        let mut header = FrameHeader::decode(head.first_chunk().unwrap(), &salt).unwrap();
        header.body_crc = crc32fast::hash(body);
        let hashed = [&last.chain.0, &head[..32], &head[64..72], &*body].concat();
        header.chain = Chain(Sha256::digest(hashed).into());
        head.copy_from_slice(&header.encode(&salt));
        fs::write(&segment, &bytes).unwrap();
        assert_eq!(read(dir.path()).damage(), Damage::Frame(FrameFault::Seal), "byte {at}");
    }
}

#[test]
fn a_segment_that_another_of_the_same_length_replaced_breaks_the_link() {
    let check = |replacement: &[Vec<u8>], expected: SegmentFault| {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        create(dir.path(), &[b"12345678".to_vec(), vec![]], Close::Drop);
        extend(dir.path(), 0xb, &bodies(), Close::Seal);
        create(other.path(), replacement, Close::Drop);
        fs::copy(&segments(other.path())[0], &segments(dir.path())[0]).unwrap();
        let said = read(dir.path());
        assert_eq!(said.bodies(), replacement, "each frame is good in itself");
        assert_eq!(said.damage(), Damage::Segment(expected));
    };
    // One frame with a longer body is as long as two frames.
    let missing = SegmentFault::FirstSeq { found: Seq(3), expected: Seq(2) };
    check(&[vec![b'x'; 88]], missing);
    check(&[b"87654321".to_vec(), vec![]], SegmentFault::PrevChain);
}

#[test]
fn bytes_behind_a_seal_are_damage_even_if_they_are_zero() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let segment = segments(dir.path()).remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    bytes.extend([0; 8]);
    fs::write(&segment, &bytes).unwrap();
    let said = read(dir.path());
    assert_eq!(said.damage(), Damage::Segment(SegmentFault::AfterSeal { bytes: 8 }));
}

#[test]
fn a_whole_frame_beyond_the_stated_end_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (segment, bytes, ends) = open_log(dir.path());
    fs::write(&segment, &bytes[..ends[2]]).unwrap();
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    fs::write(&segment, &bytes[..ends[3]]).unwrap();
    let said = read(dir.path());
    assert_eq!(said.damage(), Damage::Segment(SegmentFault::BeyondEnd { seq: Seq(3) }));
}

#[test]
fn s30_swapped_segments_are_noticed_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    let files = segments(dir.path());
    let (first, second) = (fs::read(&files[0]).unwrap(), fs::read(&files[1]).unwrap());
    fs::write(&files[0], second).unwrap();
    fs::write(&files[1], first).unwrap();
    let expected = SegmentFault::NameMismatch { seq: Seq(7), epoch: Epoch(0xb) };
    assert_eq!(read(dir.path()).damage(), Damage::Segment(expected));
    check_refused_by_writer(dir.path());
}

#[test]
fn a_missing_segment_is_noticed_by_the_next_number() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    extend(dir.path(), 0xc, &bodies(), Close::Seal);
    fs::remove_file(&segments(dir.path())[1]).unwrap();
    let said = read(dir.path());
    assert_eq!(said.bodies(), bodies(), "what stands in front is still read");
    let expected = SegmentFault::Number { found: 3, expected: 2 };
    assert_eq!(said.damage(), Damage::Segment(expected));
    check_refused_by_writer(dir.path());
}

#[test]
fn a_segment_of_another_ledger_is_refused() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    create(dir.path(), &bodies(), Close::Seal);
    let mut foreign = ident(0xb);
    foreign.ledger_id = LedgerId([0xff; 16]);
    LogWriter::create(other.path(), foreign).unwrap().seal(&[]).unwrap();
    let stray = segments(other.path()).remove(0);
    fs::copy(&stray, dir.path().join("log").join(stray.file_name().unwrap())).unwrap();
    let said = read(dir.path());
    let expected = ident(0xb).ledger_id;
    let fault = SegmentFault::ForeignLedger { found: foreign.ledger_id, expected };
    assert_eq!(said.damage(), Damage::Segment(fault));
    check_refused_by_writer(dir.path());
}

#[test]
fn s33_a_file_that_was_converted_as_text_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let segment = segments(dir.path()).remove(0);
    let bytes = fs::read(&segment).unwrap();
    let to_crlf = bytes.iter().flat_map(|byte| match byte {
        b'\n' => b"\r\n".to_vec(),
        other => vec![*other],
    });
    let to_lf = bytes.iter().copied().filter(|byte| *byte != b'\r');
    for converted in [to_crlf.collect::<Vec<u8>>(), to_lf.collect()] {
        fs::write(&segment, converted).unwrap();
        let said = read(dir.path());
        assert_eq!(said.damage(), Damage::Segment(SegmentFault::TextConverted));
        let text = said.end.unwrap_err().to_string();
        assert!(text.contains("mark `*.seg binary` in .gitattributes"), "{text}");
    }
}

#[test]
fn a_file_that_its_writer_did_not_live_to_use_is_a_torn_tail() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let unborn = dir.path().join("log/00000000000000000007-0000000b.seg");
    for content in [&[] as &[u8], &[0; 128]] {
        fs::write(&unborn, content).unwrap();
        match read(dir.path()).end {
            Ok(Tail::Torn { path, offset: 0, bytes, .. }) => {
                assert_eq!((path, bytes), (unborn.clone(), content.len() as u64));
            }
            other => panic!("{other:?}"),
        }
    }
    extend(dir.path(), 0xc, &[b"after".to_vec()], Close::Seal);
    let said = read(dir.path());
    assert_eq!(said.bodies().len(), bodies().len() + 1);
    assert_eq!(said.end.unwrap(), Tail::Clean);
    // One byte more than a header was in use, whatever it holds now.
    fs::write(&unborn, [0; 129]).unwrap();
    assert_eq!(read(dir.path()).damage(), Damage::Segment(SegmentFault::Magic));
}

#[test]
fn s32_a_read_only_folder_is_read_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Drop);
    extend(dir.path(), 0xb, &bodies(), Close::Seal);
    fs::remove_file(dir.path().join("LOCK")).unwrap();
    let set_mode = |mode| {
        for path in [dir.path().to_path_buf(), dir.path().join("log")] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set_mode(0o555);
    let before = snapshot(dir.path());
    let said = read(dir.path());
    let unchanged = snapshot(dir.path()) == before;
    set_mode(0o755);
    assert_eq!(said.end.clone().unwrap(), Tail::Clean);
    assert_eq!(said.bodies().len(), 2 * bodies().len());
    assert!(unchanged, "reading changed a file");
}

#[test]
fn a_folder_without_a_recording_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = LogReader::open(dir.path()).unwrap_err();
    assert!(matches!(&refusal, OpenError::NotARecording { path } if path == dir.path()));
    let refusal = LogWriter::open(dir.path(), Epoch(1), 0).unwrap_err();
    assert!(matches!(refusal, OpenError::NotARecording { .. }));
    assert!(snapshot(dir.path()).is_empty(), "a refused open leaves nothing behind");
}
