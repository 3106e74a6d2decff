//! Goal: one writer, consecutive places, and no word that is not true.
//! Method: drive a writer through its public calls and read back what it left.

use std::fs;

use ledger::format_file::FormatError;
use ledger::frame::{BATCH_BYTES_MAX, FRAME_BODY_BYTES_MAX, KIND_SEAL};
use ledger::fs::{AppendError, CreateError, LockError, LogReader, LogWriter, OpenError, Seq, Tail};
use ledger::segment::{Epoch, LedgerId};

use crate::log_support::{Close, KIND, bodies, create, ident, read, segments, snapshot};

#[test]
fn a_second_writer_is_refused_while_the_first_lives() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    let second = LogWriter::open(dir.path(), Epoch(2), 0).unwrap_err();
    assert!(matches!(second, OpenError::Lock(LockError::Held { .. })), "{second:?}");
    drop(writer);
    drop(LogWriter::open(dir.path(), Epoch(2), 0).unwrap());
    assert_eq!(segments(dir.path()).len(), 2);
}

#[test]
fn an_existing_recording_is_not_created_again() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let before = snapshot(dir.path());
    let refusal = LogWriter::create(dir.path(), ident(2)).unwrap_err();
    assert!(matches!(refusal, CreateError::Exists { .. }));
    // Segments without their FORMAT are a recording all the same.
    fs::remove_file(dir.path().join("FORMAT")).unwrap();
    let refusal = LogWriter::create(dir.path(), ident(2)).unwrap_err();
    assert!(matches!(refusal, CreateError::Exists { .. }));
    let files = before.keys().filter(|path| path.extension().is_some());
    for path in files {
        assert_eq!(fs::read(path).unwrap(), before[path].0);
    }
}

#[test]
fn a_creation_that_died_before_its_format_file_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("log")).unwrap();
    fs::write(dir.path().join("LOCK"), "").unwrap();
    fs::write(dir.path().join("FORMAT.tmp"), "counter").unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    assert_eq!(read(dir.path()).end.unwrap(), Tail::Clean);
    assert!(!dir.path().join("FORMAT.tmp").exists());
}

#[test]
fn missing_folders_above_a_recording_are_made() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a/b/run");
    create(&dir, &bodies(), Close::Seal);
    assert_eq!(read(&dir).bodies(), bodies());
}

#[test]
fn a_frame_states_what_was_durable_when_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    let append = |writer: &mut LogWriter| writer.append(KIND, 1, 0, b"body").unwrap();
    append(&mut writer);
    append(&mut writer);
    assert_eq!(writer.sync().unwrap(), Seq(0), "what is not written is not durable");
    assert_eq!(writer.write().unwrap(), Seq(2));
    append(&mut writer);
    writer.write().unwrap();
    assert_eq!((writer.durable_seq(), writer.head().seq), (Seq(0), Seq(3)));
    assert_eq!(writer.sync().unwrap(), Seq(3));
    append(&mut writer);
    writer.write().unwrap();
    drop(writer);
    let said = read(dir.path());
    let stated = |frame: &ledger::fs::Frame| frame.header().durable_seq.0;
    assert_eq!(said.frames.iter().map(stated).collect::<Vec<_>>(), [0, 0, 0, 3]);
    let borders = |frame: &ledger::fs::Frame| {
        let flags = frame.header().flags;
        (flags.first_in_batch, flags.last_in_batch)
    };
    let found: Vec<_> = said.frames.iter().map(borders).collect();
    assert_eq!(found, [(true, false), (false, true), (true, true), (true, true)]);
}

#[test]
fn s34_a_dropped_writer_leaves_no_seal_and_no_pending_frame() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    writer.append(KIND, 1, 0, b"written").unwrap();
    writer.write().unwrap();
    writer.append(KIND, 1, 0, b"pending").unwrap();
    drop(writer);
    let said = read(dir.path());
    assert_eq!(said.bodies(), [b"written".to_vec()]);
    assert_eq!(said.end.unwrap(), Tail::Open);
}

#[test]
fn a_seal_writes_what_is_pending_and_returns_the_head() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    writer.append(KIND, 1, 0, b"pending").unwrap();
    let head = writer.seal(&[]).unwrap();
    let said = read(dir.path());
    assert_eq!(said.frames.last().unwrap().head(), head);
    assert_eq!((head.seq, said.end.unwrap()), (Seq(2), Tail::Clean));
}

#[test]
fn frames_that_do_not_fit_are_refused_and_take_no_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    let too_long = vec![0; FRAME_BODY_BYTES_MAX + 1];
    let refusal = writer.append(KIND, 1, 0, &too_long).unwrap_err();
    assert!(matches!(refusal, AppendError::BodyTooLong { seq: Seq(1), .. }));
    let refusal = writer.append(KIND_SEAL, 1, 0, b"").unwrap_err();
    assert!(matches!(refusal, AppendError::ReservedKind { seq: Seq(1), kind: KIND_SEAL }));
    writer.append(KIND, 1, 0, &too_long[1..]).unwrap();
    assert!(writer.pending_bytes() > BATCH_BYTES_MAX);
    let refusal = writer.append(KIND, 1, 0, b"").unwrap_err();
    assert!(matches!(refusal, AppendError::BatchFull { seq: Seq(2), .. }));
    writer.write().unwrap();
    assert_eq!(writer.append(KIND, 1, 0, b"").unwrap(), Seq(2));
    writer.seal(&[]).unwrap();
    let said = read(dir.path());
    assert_eq!(said.bodies().iter().map(Vec::len).collect::<Vec<_>>(), [FRAME_BODY_BYTES_MAX, 0]);
    assert_eq!(said.end.unwrap(), Tail::Clean);
}

#[test]
fn an_unknown_feature_stops_the_reader_or_only_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &bodies(), Close::Seal);
    let path = dir.path().join("FORMAT");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("ro_compat", "ro_compat later-thing")).unwrap();
    assert_eq!(read(dir.path()).end.unwrap(), Tail::Clean);
    match LogWriter::open(dir.path(), Epoch(2), 0).unwrap_err() {
        OpenError::Format { source: FormatError::ReadOnly { feature }, .. } => {
            assert_eq!(feature, "later-thing");
        }
        other => panic!("{other:?}"),
    }
    fs::write(&path, text.replace("incompat", "incompat later-thing")).unwrap();
    let refusal = LogReader::open(dir.path()).unwrap_err();
    assert!(matches!(refusal, OpenError::Format { source: FormatError::Incompat { .. }, .. }));
}

#[test]
fn random_names_differ() {
    assert_ne!(LedgerId::random().unwrap(), LedgerId::random().unwrap());
    assert_ne!(Epoch::random().unwrap().0, 0);
}

#[test]
fn s24_a_writer_whose_lock_file_was_taken_away_stops() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = LogWriter::create(dir.path(), ident(1)).unwrap();
    first.append(KIND, 1, 0, b"one").unwrap();
    first.write().unwrap();
    fs::remove_file(dir.path().join("LOCK")).unwrap();
    let mut second = LogWriter::open(dir.path(), Epoch(2), 0).unwrap();
    second.append(KIND, 1, 0, b"two").unwrap();
    second.seal(&[]).unwrap();
    first.append(KIND, 1, 0, b"three").unwrap();
    let stopped = first.write().unwrap_err();
    assert!(matches!(&stopped, AppendError::Poisoned { source, .. }
        if source.action == "keep the lock on"));
    assert!(first.is_poisoned());
    drop(first);
    let said = read(dir.path());
    assert_eq!(said.bodies(), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(said.end.unwrap(), Tail::Clean);
}

#[test]
fn s26_a_clock_that_goes_backwards_changes_no_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path(), ident(1)).unwrap();
    for wall in [5, 3, u64::MAX, 0] {
        writer.append(KIND, 1, wall, &wall.to_le_bytes()).unwrap();
    }
    writer.seal(&[]).unwrap();
    let walls: Vec<u64> =
        read(dir.path()).frames.iter().map(ledger::fs::Frame::wall_unix_ns).collect();
    assert_eq!(walls, [5, 3, u64::MAX, 0, 0]);
}
