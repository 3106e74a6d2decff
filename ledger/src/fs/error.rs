//! What can go wrong with a log on disk. Errors carry places, never content.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format_file::FormatError;
use crate::frame::{FrameFault, Seq};
use crate::segment::SegmentFault;

/// A file operation that the system refused. It can be cloned, so that a first error can be
/// given again.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The system's answer.
    pub source: Arc<io::Error>,
}

impl FileError {
    pub(crate) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_path_buf(), source: Arc::new(source) }
    }
}

/// Why a folder cannot have a writer now.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another writer has the recording open.
    #[error("another writer has the recording open: {}", path.display())]
    Held {
        /// The LOCK file.
        path: PathBuf,
    },
    /// The folder is on a file system whose locks and syncs cannot be relied on.
    #[error(
        "recordings are not written on {kind}, only read: choose a local folder instead of {}",
        path.display()
    )]
    Remote {
        /// The kind of file system.
        kind: &'static str,
        /// The folder.
        path: PathBuf,
    },
    /// The system refused something.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a recording was not created.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The folder holds a recording already.
    #[error("a recording exists already: {}", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot have a writer now.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused something.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a recording was not opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder holds no recording.
    #[error("not a recording: {}", path.display())]
    NotARecording {
        /// The folder.
        path: PathBuf,
    },
    /// The FORMAT file is damaged or asks for more than this version knows.
    #[error("recording is not usable by this version: {}", path.display())]
    Format {
        /// The FORMAT file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// The folder cannot have a writer now.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log is damaged: it can be read up to there, but not continued.
    #[error("a damaged log is not appended to")]
    Damaged(#[source] ReadError),
    /// There is no next sequence or segment number.
    #[error("numbers are used up: {}", path.display())]
    Exhausted {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused something.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why reading a log stopped before its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The log is damaged. All frames before this place were good.
    #[error("log is damaged at frame {seq}, offset {offset}: {reason}: {}", path.display())]
    Corrupt {
        /// The segment.
        path: PathBuf,
        /// Byte offset in it.
        offset: u64,
        /// The sequence number that belongs there, or 0 if that is not known.
        seq: Seq,
        /// What is wrong.
        reason: Damage,
    },
    /// The system refused something.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What is wrong at a place, and why it is not the mark of an interrupted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// A bad frame.
    #[error("{0}")]
    Frame(FrameFault),
    /// A bad frame in front of a good one.
    #[error("{fault}, but frame {next_seq} follows {distance_bytes} bytes behind")]
    Hole {
        /// What is wrong with the first.
        fault: FrameFault,
        /// Bytes from the bad frame to the next good header.
        distance_bytes: u64,
        /// Sequence number in that header.
        next_seq: Seq,
    },
    /// A bad frame and more bytes than one write can have left.
    #[error("{fault}, and {bytes} bytes follow, more than one batch")]
    LongTail {
        /// What is wrong with it.
        fault: FrameFault,
        /// Bytes up to the last one that is not zero.
        bytes: u64,
    },
    /// A bad segment.
    #[error("{0}")]
    Segment(SegmentFault),
}

/// Why frames were not taken, written or made durable.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The writer failed in a way after which nothing it says could be trusted. This is the
    /// first such error; every later call returns it again, and only a new open helps.
    #[error("writer has failed for good at offset {offset}")]
    Poisoned {
        /// Byte offset behind the last good frame.
        offset: u64,
        /// What failed.
        source: FileError,
    },
    /// Somebody else changed the length of the segment; the writer has failed for good.
    #[error("segment has {found} bytes, expected {expected}: {}", path.display())]
    LengthChanged {
        /// The segment.
        path: PathBuf,
        /// Its length now.
        found: u64,
        /// The length that this writer left.
        expected: u64,
    },
    /// The disk was full, and the log is sealed with a frame that says so.
    #[error("disk is full at offset {offset}: {frames} events were not recorded")]
    Full {
        /// Byte offset behind the last frame.
        offset: u64,
        /// Frames that were given up.
        frames: u64,
    },
    /// A write failed and was undone. The batch is kept: `write` may be called again.
    #[error("batch is not written at offset {offset}")]
    Write {
        /// Byte offset behind the last good frame.
        offset: u64,
        /// What failed.
        source: FileError,
    },
    /// The kind belongs to the log itself.
    #[error("frame {seq}: kind {kind} is reserved for the log")]
    ReservedKind {
        /// Where the frame would have stood.
        seq: Seq,
        /// Its kind.
        kind: u16,
    },
    /// The body is too long for a frame; it belongs into an artifact.
    #[error("frame {seq}: body of {found} bytes, expected at most {max}")]
    BodyTooLong {
        /// Where the frame would have stood.
        seq: Seq,
        /// Length of the body.
        found: usize,
        /// The longest body.
        max: usize,
    },
    /// The batch takes no more frames until it is written.
    #[error("frame {seq}: {pending_bytes} bytes are pending, expected at most {max}: write first")]
    BatchFull {
        /// Where the frame would have stood.
        seq: Seq,
        /// Bytes that wait for `write`.
        pending_bytes: usize,
        /// Above this length a batch is full.
        max: usize,
    },
    /// There is no next sequence or segment number.
    #[error("numbers are used up: {}", path.display())]
    Exhausted {
        /// The segment.
        path: PathBuf,
    },
}
