//! Small logs for the tests of the log layer, and ways to look at them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ledger::fs::{Damage, Frame, LogIdent, LogReader, LogWriter, OpenError, ReadError, Tail};
use ledger::segment::{Epoch, LedgerId};

pub(crate) const CREATED_UNIX_NS: u64 = 1_700_000_000_000_000_000;
/// Bytes before the first frame.
pub(crate) const HEADER_BYTES: usize = 128;
/// Kind of the frames that these tests append.
pub(crate) const KIND: u16 = 0x10;

pub(crate) fn ident(epoch: u32) -> LogIdent {
    let mut id = [0; 16];
    for (byte, value) in id.iter_mut().zip(0..) {
        *byte = value;
    }
    LogIdent { ledger_id: LedgerId(id), epoch: Epoch(epoch), created_unix_ns: CREATED_UNIX_NS }
}

/// Bodies with every kind of padding, and one without any byte.
pub(crate) fn bodies() -> Vec<Vec<u8>> {
    [0usize, 1, 8, 13, 23].iter().map(|bytes| vec![b'a'; *bytes]).collect()
}

/// How a test leaves a log.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Close {
    Seal,
    Drop,
}

/// Appends `bodies` in batches of two, each of them durable before the next.
pub(crate) fn fill(mut writer: LogWriter, bodies: &[Vec<u8>], close: Close) {
    for pair in bodies.chunks(2) {
        for body in pair {
            writer.append(KIND, 1, CREATED_UNIX_NS, body).unwrap();
        }
        writer.write().unwrap();
        writer.sync().unwrap();
    }
    if close == Close::Seal {
        writer.seal(&[]).unwrap();
    }
}

/// Creates a log in `dir` with one segment.
pub(crate) fn create(dir: &Path, bodies: &[Vec<u8>], close: Close) {
    fill(LogWriter::create(dir, ident(0xa)).unwrap(), bodies, close);
}

/// Adds a segment to the log in `dir`.
pub(crate) fn extend(dir: &Path, epoch: u32, bodies: &[Vec<u8>], close: Close) {
    let writer = LogWriter::open(dir, Epoch(epoch), CREATED_UNIX_NS).unwrap();
    fill(writer, bodies, close);
}

/// The segments of a log by name.
pub(crate) fn segments(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("log")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Everything that a reader said.
pub(crate) struct Said {
    pub(crate) frames: Vec<Frame>,
    pub(crate) end: Result<Tail, ReadError>,
}

impl Said {
    /// The bodies of the frames that are no seals.
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        let frames = self.frames.iter().filter(|frame| !frame.is_seal());
        frames.map(|frame| frame.body().to_vec()).collect()
    }

    /// What the reader called damaged.
    pub(crate) fn damage(&self) -> Damage {
        match &self.end {
            Err(ReadError::Corrupt { reason, .. }) => *reason,
            other => panic!("expected damage, found {other:?}"),
        }
    }
}

/// Reads a log to its end and checks what holds for every log.
pub(crate) fn read(dir: &Path) -> Said {
    try_read(dir).unwrap()
}

pub(crate) fn try_read(dir: &Path) -> Result<Said, OpenError> {
    let mut reader = LogReader::open(dir)?;
    let mut said = Said { frames: Vec::new(), end: Ok(Tail::Open) };
    let mut frames = reader.frames();
    while let Some(item) = frames.next() {
        match item {
            Ok(frame) => said.frames.push(frame),
            Err(error) => {
                assert!(frames.next().is_none(), "an error is the end");
                said.end = Err(error);
                break;
            }
        }
    }
    for (frame, seq) in said.frames.iter().zip(1..) {
        assert_eq!(frame.seq().0, seq, "sequence numbers have no hole");
    }
    if let Some(last) = said.frames.last() {
        assert_eq!(reader.head(), last.head());
    }
    match reader.tail() {
        Some(tail) => said.end = Ok(tail.clone()),
        None => assert!(said.end.is_err(), "a log has an end or a damage"),
    }
    Ok(said)
}

/// All files below `dir` with their bytes and times.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            files.append(&mut snapshot(&path));
            files.insert(path, (Vec::new(), modified));
        } else {
            files.insert(path.clone(), (fs::read(&path).unwrap(), modified));
        }
    }
    files
}

/// Offsets at which a frame ends, with the end of the segment header in front.
pub(crate) fn boundaries(dir: &Path, segment: &Path) -> Vec<usize> {
    let said = read(dir);
    let here = said.frames.iter().filter(|frame| frame.place().path == segment);
    let ends = here
        .map(|frame| usize::try_from(frame.place().offset).unwrap() + frame.header().frame_bytes());
    std::iter::once(HEADER_BYTES).chain(ends).collect()
}
