//! Goal: a failed call never leaves a log that lies, and a writer that cannot know says so for
//! ever. Method: a segment whose calls fail on command.

use std::fs::OpenOptions;
use std::io;
use std::sync::{Mutex, MutexGuard};

use artifacts::fs::vfs::{FileView, Stat, VfsFile};

use super::*;
use crate::fs::{Frame, LogReader, Tail};

const KIND: u16 = 0x10;

/// What the calls of a [`Faulty`] segment shall do.
#[derive(Debug, Default)]
struct Script {
    /// Bytes that one call takes at most.
    write_bytes_max: Option<usize>,
    /// Bytes that are still taken before writes fail.
    space_bytes: Option<usize>,
    interrupt_once: bool,
    sync_fails: bool,
    cut_fails: bool,
    syncs: usize,
}

#[derive(Debug)]
struct Faulty {
    file: Arc<dyn VfsFile>,
    script: Arc<Mutex<Script>>,
}

impl Faulty {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

impl VfsFile for Faulty {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut script = self.script();
        if std::mem::take(&mut script.interrupt_once) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut taken = bytes.len().min(script.write_bytes_max.unwrap_or(usize::MAX));
        if let Some(space) = &mut script.space_bytes {
            if *space == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            taken = taken.min(*space);
            *space -= taken;
        }
        self.file.write_at(&bytes[..taken], offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.script().syncs += 1;
        if self.script().sync_fails {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.file.sync_data()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        if self.script().cut_fails {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        self.file.set_len(bytes)
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.file.allocate(bytes)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }

    fn view(&self) -> io::Result<FileView> {
        self.file.view()
    }

    fn drop_cache(&self) -> io::Result<()> {
        self.file.drop_cache()
    }
}

fn new_writer(dir: &Path) -> LogWriter {
    LogWriter::create(dir, IDENT).unwrap()
}

const IDENT: LogIdent =
    LogIdent { ledger_id: LedgerId([1; 16]), epoch: Epoch(2), created_unix_ns: 3 };

/// A writer whose segment follows the script.
fn faulty_writer(dir: &Path, script: Script) -> (LogWriter, Arc<Mutex<Script>>) {
    let mut writer = new_writer(dir);
    let script = Arc::new(Mutex::new(script));
    let file = Arc::clone(&writer.segment.file);
    writer.segment.file = Arc::new(Faulty { file, script: Arc::clone(&script) });
    (writer, script)
}

fn read(dir: &Path) -> (Vec<Vec<u8>>, Tail) {
    let mut reader = LogReader::open(dir).unwrap();
    let frames: Vec<Frame> = reader.frames().collect::<Result<_, _>>().unwrap();
    let bodies = frames.iter().filter(|frame| !frame.is_seal());
    (bodies.map(|frame| frame.body().to_vec()).collect(), reader.tail().unwrap().clone())
}

#[test]
fn short_and_interrupted_writes_are_continued() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script { write_bytes_max: Some(7), interrupt_once: true, ..Script::default() };
    let (mut writer, _) = faulty_writer(dir.path(), script);
    writer.append(KIND, 1, 0, b"first").unwrap();
    writer.append(KIND, 1, 0, b"second").unwrap();
    writer.seal(&[]).unwrap();
    assert_eq!(read(dir.path()), (vec![b"first".to_vec(), b"second".to_vec()], Tail::Clean));
}

#[test]
fn a_write_of_nothing_is_an_error_and_no_endless_loop() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script { write_bytes_max: Some(0), ..Script::default() };
    let (mut writer, _) = faulty_writer(dir.path(), script);
    writer.append(KIND, 1, 0, b"first").unwrap();
    let error = writer.write().unwrap_err();
    assert!(matches!(&error, AppendError::Write { source, .. }
        if source.source.kind() == io::ErrorKind::WriteZero));
}

#[test]
fn s14_a_full_disk_at_any_byte_is_cut_back_and_the_batch_can_be_written_later() {
    let batch_bytes = 2 * 88;
    for space in 0..batch_bytes {
        let dir = tempfile::tempdir().unwrap();
        let (mut writer, script) = faulty_writer(dir.path(), Script::default());
        writer.append(KIND, 1, 0, b"before").unwrap();
        writer.write().unwrap();
        let good_bytes = std::fs::metadata(&writer.segment.path).unwrap().len();
        writer.append(KIND, 1, 0, b"second").unwrap();
        writer.append(KIND, 1, 0, b"third").unwrap();
        assert_eq!(writer.pending_bytes(), batch_bytes);
        script.lock().unwrap().space_bytes = Some(space);
        let error = writer.write().unwrap_err();
        assert!(matches!(error, AppendError::Write { offset, .. } if offset == good_bytes));
        assert_eq!(std::fs::metadata(&writer.segment.path).unwrap().len(), good_bytes);
        assert!(!writer.is_poisoned());

        script.lock().unwrap().space_bytes = None;
        assert_eq!(writer.append(KIND, 1, 0, b"fourth").unwrap(), Seq(4));
        assert_eq!(writer.write().unwrap(), Seq(4));
        drop(writer);
        let bodies = [&b"before"[..], b"second", b"third", b"fourth"].map(<[u8]>::to_vec);
        assert_eq!(read(dir.path()), (bodies.to_vec(), Tail::Open), "space {space}");
    }
}

#[test]
fn a_failed_write_that_cannot_be_undone_is_final() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script { space_bytes: Some(50), cut_fails: true, ..Script::default() };
    let (mut writer, script) = faulty_writer(dir.path(), script);
    writer.append(KIND, 1, 0, b"first").unwrap();
    let first = writer.write().unwrap_err();
    assert!(matches!(&first, AppendError::Poisoned { offset: 128, source }
        if source.source.kind() == io::ErrorKind::StorageFull));
    *script.lock().unwrap() = Script::default();
    check_poisoned(writer, &first);
    // The bytes that stayed are a torn tail.
    assert!(matches!(read(dir.path()).1, Tail::Torn { offset: 128, bytes: 50, .. }));
}

#[test]
fn a_failed_sync_is_final_even_if_the_next_one_would_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script { sync_fails: true, ..Script::default() };
    let (mut writer, script) = faulty_writer(dir.path(), script);
    writer.append(KIND, 1, 0, b"first").unwrap();
    writer.write().unwrap();
    let first = writer.sync().unwrap_err();
    assert!(matches!(&first, AppendError::Poisoned { source, .. } if source.action == "sync"));
    assert_eq!(writer.durable_seq(), Seq(0));
    script.lock().unwrap().sync_fails = false;
    check_poisoned(writer, &first);
    assert_eq!(script.lock().unwrap().syncs, 1, "a failed sync is not repeated");
}

/// Every call gives the first error again, and a seal gives it too.
fn check_poisoned(mut writer: LogWriter, first: &AppendError) {
    let first = format!("{first:?}");
    assert!(writer.is_poisoned());
    assert_eq!(format!("{:?}", writer.append(KIND, 1, 0, b"more").unwrap_err()), first);
    assert_eq!(format!("{:?}", writer.write().unwrap_err()), first);
    assert_eq!(format!("{:?}", writer.sync().unwrap_err()), first);
    assert_eq!(format!("{:?}", writer.seal(&[]).unwrap_err()), first);
}

#[test]
fn a_segment_that_somebody_else_changed_is_not_written_to() {
    for change in [-1i64, 8] {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = new_writer(dir.path());
        writer.append(KIND, 1, 0, b"first").unwrap();
        writer.write().unwrap();
        let bytes = writer.segment.position.checked_add_signed(change).unwrap();
        OpenOptions::new().write(true).open(&writer.segment.path).unwrap().set_len(bytes).unwrap();
        writer.append(KIND, 1, 0, b"second").unwrap();
        let first = writer.write().unwrap_err();
        assert!(matches!(first, AppendError::LengthChanged { found, .. } if found == bytes));
        check_poisoned(writer, &first);
    }
}

#[test]
fn a_full_segment_is_sealed_and_followed_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = new_writer(dir.path());
    writer.options.rotate_bytes = 256;
    writer.note_packs(vec![PackLength { number: 1, epoch: 2, bytes: 3 }]);
    let mut seqs = Vec::new();
    for _ in 0..6 {
        seqs.push(writer.append(KIND, 1, 9, b"some body").unwrap().0);
        writer.write().unwrap();
    }
    // Two frames of 96 bytes fill a segment of 256 with its header; the seal takes a place.
    assert_eq!(seqs, [1, 2, 4, 5, 7, 8]);
    let head = writer.seal(&[]).unwrap();
    let (bodies, tail) = read(dir.path());
    assert_eq!((bodies.len(), tail), (6, Tail::Clean));
    let mut reader = LogReader::open(dir.path()).unwrap();
    let frames: Vec<Frame> = reader.frames().collect::<Result<_, _>>().unwrap();
    assert_eq!(reader.head(), head);
    let seals: Vec<Seal> = frames
        .iter()
        .filter(|frame| frame.is_seal())
        .map(|frame| Seal::decode(frame.body()).unwrap())
        .collect();
    let found: Vec<_> =
        seals.iter().map(|seal| (seal.frames, seal.body_bytes, seal.packs.len())).collect();
    assert_eq!(found, [(2, 18, 1), (2, 18, 1), (2, 18, 0)]);
    // Rotation makes durable what it leaves behind.
    assert_eq!(frames[3].header().durable_seq, Seq(3));
}

#[test]
fn a_seal_that_was_not_written_does_not_stand_before_the_next_frame() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, script) = faulty_writer(dir.path(), Script::default());
    writer.options.rotate_bytes = 200;
    writer.append(KIND, 1, 0, b"first").unwrap();
    writer.write().unwrap();
    script.lock().unwrap().space_bytes = Some(20);
    let error = writer.append(KIND, 1, 0, b"second").unwrap_err();
    assert!(matches!(error, AppendError::Write { .. }));
    assert_eq!(writer.pending_bytes(), 0);
    script.lock().unwrap().space_bytes = None;
    assert_eq!(writer.append(KIND, 1, 0, b"second").unwrap(), Seq(3));
    writer.seal(&[]).unwrap();
    assert_eq!(read(dir.path()), (vec![b"first".to_vec(), b"second".to_vec()], Tail::Clean));
}

#[test]
fn a_rotation_that_cannot_create_its_segment_is_final() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = new_writer(dir.path());
    writer.options.rotate_bytes = 200;
    writer.append(KIND, 1, 0, b"first").unwrap();
    writer.write().unwrap();
    // The name of the next segment is taken.
    std::fs::write(writer.log_dir.join("00000000000000000003-00000002.seg"), "").unwrap();
    let first = writer.append(KIND, 1, 0, b"second").unwrap_err();
    assert!(matches!(&first, AppendError::Poisoned { source, .. } if source.action == "create"));
    check_poisoned(writer, &first);
}
