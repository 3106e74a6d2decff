//! Follows a log while it is being written. Takes no lock and changes nothing.
//!
//! A frame that is not good is not there yet: its writer may be in the middle of it. Whether it
//! is damage is for [`super::LogReader`] to say, once the writer is gone. Since no writer ever
//! cuts or rewrites what a reader has seen, a position stays good for ever; a file that was put
//! in the place of the one that is followed is noticed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{FileId, FileView, LocalDisk, Vfs, VfsFile, open_regular, read_up_to};

use super::list::{Listed, list};
use super::walk::SegmentBytes;
use super::{FileError, Frame, LOG_FOLDER, OpenError, ReadError, read_format};
use crate::frame::{Chain, Expected, FrameFault, FrameHeader, Seq, check_frame};
use crate::segment::{LedgerId, SegmentHeader};

/// How much is read at once, unless a frame is longer.
const WINDOW_BYTES: u64 = 1 << 20;

/// What a look at the log brought.
#[derive(Debug)]
pub enum Followed {
    /// The next frame.
    Frame(Frame),
    /// Nothing yet.
    Waiting,
    /// The log is sealed, and no further segment was started.
    Sealed,
}

/// Why a log cannot be followed any more.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The file that was followed is gone, shorter, or another one.
    #[error("the log was replaced while it was followed: {}", path.display())]
    Replaced {
        /// The segment.
        path: PathBuf,
    },
    /// The log goes on in a segment that does not fit what was read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The system refused something.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A position in a log that may grow.
#[derive(Debug)]
pub struct Follower {
    vfs: Arc<dyn Vfs>,
    log_dir: PathBuf,
    ledger_id: LedgerId,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    id: FileId,
    number: u32,
    expected: Expected,
    /// Offset of the next frame in the file.
    at: u64,
    sealed: bool,
    /// Bytes of the file from `window_at` on.
    window: Arc<SegmentBytes>,
}

impl Follower {
    /// Starts in front of the first frame of the recording in `dir`.
    ///
    /// # Errors
    /// The folder is no recording.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_on(LocalDisk::shared(), dir)
    }

    /// Starts in front of the first frame of the recording in `dir` of `vfs`.
    ///
    /// # Errors
    /// The folder is no recording.
    pub fn open_on(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Self, OpenError> {
        let ledger_id = read_format(&*vfs, dir)?.ledger_id;
        Ok(Self { vfs, log_dir: dir.join(LOG_FOLDER), ledger_id, open: None })
    }

    /// Looks for the next frame once.
    ///
    /// # Errors
    /// The log was replaced, or goes on in a way that does not fit.
    pub fn poll(&mut self) -> Result<Followed, FollowError> {
        loop {
            if let Some(open) = &mut self.open {
                open.check_same(&*self.vfs)?;
                if let Some(frame) = open.next()? {
                    return Ok(Followed::Frame(frame));
                }
            }
            if !self.go_on()? {
                let sealed = self.open.as_ref().is_some_and(|open| open.sealed);
                return Ok(if sealed { Followed::Sealed } else { Followed::Waiting });
            }
        }
    }

    /// Opens the segment that follows, if it is there and everything before it was read.
    fn go_on(&mut self) -> Result<bool, FollowError> {
        let listing = list(&*self.vfs, &self.log_dir, self.ledger_id)?;
        let number = self.open.as_ref().map_or(1, |open| open.number.saturating_add(1));
        let found = listing.segments.iter().find(|segment| segment.header.number == number);
        let Some(segment) = found else { return Ok(false) };
        if let Some(open) = &mut self.open {
            if segment.header.prev_valid_bytes > open.at {
                // The end of the old segment came after it was looked at; it is read first.
                return Ok(open.peek()?);
            }
            open.check_next(&segment.header)?;
        }
        self.open = Some(Open::new(&*self.vfs, segment)?);
        Ok(true)
    }
}

impl Open {
    fn new(vfs: &dyn Vfs, segment: &Listed) -> Result<Self, FileError> {
        let failed = |source| FileError::new("open", &segment.path, source);
        let file = open_regular(vfs, &segment.path).map_err(failed)?;
        let id = file.stat().map_err(failed)?.id;
        let SegmentHeader { number, first_seq, prev_chain, .. } = segment.header;
        let expected = Expected { salt: segment.header.salt(), seq: first_seq, chain: prev_chain };
        let at = SegmentHeader::ENCODED_BYTES as u64;
        let window = SegmentBytes::window(segment.path.clone(), at, FileView::held([]));
        Ok(Self {
            path: segment.path.clone(),
            file,
            id,
            number,
            expected,
            at,
            sealed: false,
            window: Arc::new(window),
        })
    }

    fn check_same(&self, vfs: &dyn Vfs) -> Result<(), FollowError> {
        let stat = vfs.stat(&self.path);
        let stat = stat.map_err(|source| FileError::new("inspect", &self.path, source))?;
        match stat {
            Some(stat) if stat.id == self.id && stat.bytes >= self.at => Ok(()),
            _ => Err(FollowError::Replaced { path: self.path.clone() }),
        }
    }

    fn check_next(&self, next: &SegmentHeader) -> Result<(), ReadError> {
        let (seq, chain) = (self.expected.seq, self.expected.chain);
        self.window.check_next(next, self.at, seq, chain)
    }

    /// Returns true if the next frame is there by now.
    fn peek(&mut self) -> Result<bool, FileError> {
        self.fill(WINDOW_BYTES)?;
        Ok(check_frame(self.rest(), &self.expected).is_ok())
    }

    fn next(&mut self) -> Result<Option<Frame>, FileError> {
        if self.sealed {
            return Ok(None);
        }
        let mut checked = check_frame(self.rest(), &self.expected).map(|(header, _)| header);
        if checked.is_err() {
            self.fill(WINDOW_BYTES)?;
            checked = check_frame(self.rest(), &self.expected).map(|(header, _)| header);
        }
        if let Err(FrameFault::BodyShort { expected, .. }) = checked {
            // The header is good, so that its length is bounded.
            self.fill((FrameHeader::ENCODED_BYTES + expected) as u64)?;
            checked = check_frame(self.rest(), &self.expected).map(|(header, _)| header);
        }
        let Ok(header) = checked else { return Ok(None) };
        let frame = Frame::in_window(header, &self.window, self.at);
        self.at += header.frame_bytes() as u64;
        self.sealed = header.is_seal();
        let (seq, chain): (Seq, Chain) = (header.seq.next().unwrap_or(header.seq), header.chain);
        self.expected.seq = seq;
        self.expected.chain = chain;
        Ok(Some(frame))
    }

    fn rest(&self) -> &[u8] {
        self.window.from(self.at)
    }

    fn fill(&mut self, bytes: u64) -> Result<(), FileError> {
        let read = read_up_to(&*self.file, self.at, bytes);
        let read = read.map_err(|source| FileError::new("read", &self.path, source))?;
        let window = SegmentBytes::window(self.path.clone(), self.at, FileView::held(read));
        self.window = Arc::new(window);
        Ok(())
    }
}
