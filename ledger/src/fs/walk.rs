//! Reads one segment frame by frame and says how it ends. It writes nothing and repairs nothing.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{FileView, Vfs, open_regular, read_up_to};
use memchr::memmem;

use super::list::Listed;
use super::{Damage, FileError, ReadError};
use crate::frame::{
    Chain, Evidence, Expected, FRAME_MAGIC, FrameDraft, FrameFault, FrameHeader, FrameSalt, Head,
    Seal, Seq, check_body, check_frame, check_sums, judge_tail,
};
use crate::segment::{SEGMENT_BYTES_MAX, SegmentFault, SegmentHeader};

/// The bytes of one segment, or a piece of it, shared by its frames.
pub(crate) struct SegmentBytes {
    path: PathBuf,
    /// Where the bytes start in the file.
    start: u64,
    bytes: FileView,
}

impl SegmentBytes {
    /// Takes a piece of a segment that starts at `start`.
    pub(crate) fn window(path: PathBuf, start: u64, bytes: FileView) -> Self {
        Self { path, start, bytes }
    }

    /// Returns the bytes from an offset of the file on.
    pub(crate) fn from(&self, offset: u64) -> &[u8] {
        self.index(offset).and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }

    fn index(&self, offset: u64) -> Option<usize> {
        usize::try_from(offset.checked_sub(self.start)?).ok()
    }

    /// Checks that `next` continues a log that was read up to here.
    pub(crate) fn check_next(
        &self,
        next: &SegmentHeader,
        offset: u64,
        seq: Seq,
        chain: Chain,
    ) -> Result<(), ReadError> {
        let fault = if next.first_seq != seq {
            SegmentFault::FirstSeq { found: next.first_seq, expected: seq }
        } else if next.prev_chain != chain {
            SegmentFault::PrevChain
        } else {
            return Ok(());
        };
        let (path, reason) = (self.path.clone(), Damage::Segment(fault));
        Err(ReadError::Corrupt { path, offset, seq, reason })
    }
}

/// Shows the place only: bodies may hold anything.
impl fmt::Debug for SegmentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.path.display(), self.bytes.len())
    }
}

/// One frame of the log, completely checked. It keeps its segment in memory.
#[derive(Clone, Debug)]
pub struct Frame {
    header: FrameHeader,
    segment: Arc<SegmentBytes>,
    offset: usize,
}

/// Where a frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The segment.
    pub path: &'a Path,
    /// Byte offset of the frame's header in it.
    pub offset: u64,
}

impl Frame {
    /// Returns the place in the log.
    pub fn seq(&self) -> Seq {
        self.header.seq
    }

    /// Returns what the body is.
    pub fn kind(&self) -> u16 {
        self.header.kind
    }

    /// Returns the version of the kind.
    pub fn version(&self) -> u16 {
        self.header.version
    }

    /// Returns the wall clock in Unix nanoseconds.
    pub fn wall_unix_ns(&self) -> u64 {
        self.header.wall_unix_ns
    }

    /// Returns the head of the log at this frame.
    pub fn head(&self) -> Head {
        Head { seq: self.header.seq, chain: self.header.chain }
    }

    /// Returns whether this is a seal frame, which the log wrote for itself.
    pub fn is_seal(&self) -> bool {
        self.header.is_seal()
    }

    /// Returns the frame as one that can be appended elsewhere; `None` for a seal.
    pub fn draft(&self) -> Option<FrameDraft> {
        let FrameHeader { kind, version, wall_unix_ns, .. } = self.header;
        let draft = FrameDraft::new(kind, version, wall_unix_ns, self.body());
        draft.filter(|_| !self.is_seal())
    }

    /// Returns the whole header.
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// Returns the body without its padding.
    pub fn body(&self) -> &[u8] {
        let start = self.offset + FrameHeader::ENCODED_BYTES;
        let end = start + self.header.body_bytes as usize;
        self.segment.bytes.get(start..end).expect("a frame is made of bytes that were checked")
    }

    /// Makes a frame of the header at an offset of a file, whose bytes are in the window.
    pub(crate) fn in_window(header: FrameHeader, window: &Arc<SegmentBytes>, offset: u64) -> Self {
        let offset = window.index(offset).unwrap_or_default();
        Self { header, segment: Arc::clone(window), offset }
    }

    /// Returns the segment and the offset of the frame.
    pub fn place(&self) -> Place<'_> {
        let offset = self.segment.start + self.offset as u64;
        Place { path: &self.segment.path, offset }
    }
}

/// How a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With a seal frame: the writer closed it.
    Clean,
    /// With a whole frame and nothing but zeros behind it: the writer is still there, or died
    /// between two writes.
    Open,
    /// With an interrupted write, which is not part of the log.
    Torn {
        /// The segment.
        path: PathBuf,
        /// Where the log ends in it.
        offset: u64,
        /// Bytes behind that place.
        bytes: u64,
        /// What they fail to be.
        reason: Damage,
    },
}

/// One step of a walk.
#[derive(Debug)]
pub(crate) enum Step {
    Frame(Frame),
    End(Tail),
}

/// A position in one segment.
#[derive(Debug)]
pub(crate) struct Walk {
    segment: Arc<SegmentBytes>,
    /// Offset of the next frame.
    at: usize,
    /// Where the log ends in this file, if a later segment says so; else the end of the file.
    end: usize,
    next: Option<SegmentHeader>,
    expected: Expected,
    /// Frames and their body bytes so far, to be compared with the seal.
    frames: u64,
    body_bytes: u64,
    sealed: bool,
    checks: Checks,
}

/// How much of a frame is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Everything: checksums, and the SHA-256 chain from the first frame on.
    Chain,
    /// Checksums, places and lengths: what happens by accident. Somebody who changes a frame and
    /// its checksums is not noticed.
    Sums,
}

impl Walk {
    /// Reads the segment; `next` is the header of the segment that follows, if there is one.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        listed: &Listed,
        next: Option<&SegmentHeader>,
        checks: Checks,
    ) -> Result<Self, ReadError> {
        let header = &listed.header;
        let bytes = segment_bytes(vfs, listed, next.is_some())
            .map_err(|source| FileError::new("read", &listed.path, source))?;
        let file_bytes = bytes.len();
        let end = next.map_or(Some(file_bytes), |next| usize::try_from(next.prev_valid_bytes).ok());
        let walk = Self {
            segment: Arc::new(SegmentBytes::window(listed.path.clone(), 0, bytes)),
            at: SegmentHeader::ENCODED_BYTES,
            end: end.unwrap_or(usize::MAX),
            next: next.copied(),
            expected: Expected {
                salt: header.salt(),
                seq: header.first_seq,
                chain: header.prev_chain,
            },
            frames: 0,
            body_bytes: 0,
            sealed: false,
            checks,
        };
        let found = file_bytes as u64;
        if found > SEGMENT_BYTES_MAX {
            let max = SEGMENT_BYTES_MAX;
            return Err(walk.corrupt(Damage::Segment(SegmentFault::TooLong { found, max })));
        }
        // The listing saw a longer file, so that this one was cut in the meantime.
        if walk.at > file_bytes || walk.end > file_bytes {
            let short = SegmentFault::HeaderShort { found: file_bytes };
            return Err(walk.corrupt(Damage::Segment(short)));
        }
        Ok(walk)
    }

    /// Returns where the log ends in this segment, once the walk is at its end.
    pub(crate) fn valid_bytes(&self) -> u64 {
        self.at as u64
    }

    /// Returns the sequence number and chain that the next frame must continue.
    pub(crate) fn next_frame(&self) -> (Seq, Chain) {
        (self.expected.seq, self.expected.chain)
    }

    /// Checks the seal at the end of a segment that another one follows, if there is a seal.
    ///
    /// A segment whose writer died has none; the next header vouches for its length.
    pub(crate) fn check_end(&self) -> Result<(), ReadError> {
        let log = self.segment.bytes.get(..self.end).unwrap_or_default();
        let Some((header, at)) = last_seal(log, &self.expected.salt) else { return Ok(()) };
        let frame = log.get(at..).unwrap_or_default();
        let failed = |fault| self.corrupt(Damage::Frame(fault));
        let body = check_body(frame, &header).map_err(failed)?;
        let seal = Seal::decode(body).map_err(failed)?;
        let expected =
            Expected { salt: self.expected.salt.clone(), seq: header.seq, chain: seal.chain };
        check_frame(frame, &expected).map_err(failed)?;
        let first = self.expected.seq.0;
        let follows = self.next.is_none_or(|next| {
            next.prev_chain == header.chain && Some(next.first_seq) == header.seq.next()
        });
        if header.seq.0.checked_sub(first) != Some(seal.frames) {
            return Err(failed(FrameFault::Seal));
        }
        if follows { Ok(()) } else { Err(self.corrupt(Damage::Segment(SegmentFault::PrevChain))) }
    }

    /// Returns the next frame or the end; after an error the walk is over.
    pub(crate) fn step(&mut self) -> Result<Step, ReadError> {
        let segment = Arc::clone(&self.segment);
        let rest = segment.bytes.get(self.at..self.end).unwrap_or_default();
        if rest.is_empty() || self.sealed {
            return self.finish(rest);
        }
        let checked = match self.checks {
            Checks::Chain => check_frame(rest, &self.expected),
            Checks::Sums => check_sums(rest, &self.expected),
        };
        match checked {
            Ok((header, body)) => self.accept(header, body),
            Err(fault) if self.next.is_some() => Err(self.corrupt(Damage::Frame(fault))),
            Err(fault) => self.judge(rest, fault).map(Step::End),
        }
    }

    fn accept(&mut self, header: FrameHeader, body: &[u8]) -> Result<Step, ReadError> {
        if header.is_seal() {
            self.check_seal(body).map_err(|fault| self.corrupt(Damage::Frame(fault)))?;
            self.sealed = true;
        } else {
            self.frames += 1;
            self.body_bytes += u64::from(header.body_bytes);
        }
        let Some(next_seq) = header.seq.next() else {
            let fault = FrameFault::Seq { found: header.seq, expected: Seq::ZERO };
            return Err(self.corrupt(Damage::Frame(fault)));
        };
        let frame = Frame { header, segment: Arc::clone(&self.segment), offset: self.at };
        self.at += header.frame_bytes();
        self.expected.seq = next_seq;
        self.expected.chain = header.chain;
        Ok(Step::Frame(frame))
    }

    fn check_seal(&self, body: &[u8]) -> Result<(), FrameFault> {
        let seal = Seal::decode(body)?;
        let found = (seal.frames, seal.body_bytes, seal.chain);
        if found != (self.frames, self.body_bytes, self.expected.chain) {
            return Err(FrameFault::Seal);
        }
        Ok(())
    }

    /// Ends the walk behind the last frame; `rest` is what is left of the log's part of the file.
    fn finish(&self, rest: &[u8]) -> Result<Step, ReadError> {
        if let Some(next) = &self.next {
            self.check_next(next)?;
        }
        let beyond = self.segment.bytes.get(self.end..).unwrap_or_default();
        if self.sealed {
            let bytes = rest.len() as u64 + beyond.len() as u64;
            if bytes > 0 {
                return Err(self.corrupt(Damage::Segment(SegmentFault::AfterSeal { bytes })));
            }
            return Ok(Step::End(Tail::Clean));
        }
        self.check_beyond(beyond)?;
        Ok(Step::End(Tail::Open))
    }

    fn check_next(&self, next: &SegmentHeader) -> Result<(), ReadError> {
        let (seq, chain) = (self.expected.seq, self.expected.chain);
        self.segment.check_next(next, self.at as u64, seq, chain)
    }

    /// Checks that what a later segment declared to be no log was an interrupted write.
    fn check_beyond(&self, beyond: &[u8]) -> Result<(), ReadError> {
        match check_frame(beyond, &self.expected) {
            Ok((header, _)) => {
                let fault = SegmentFault::BeyondEnd { seq: header.seq };
                Err(self.corrupt(Damage::Segment(fault)))
            }
            Err(fault) => self.judge(beyond, fault).map(drop),
        }
    }

    fn judge(&self, rest: &[u8], fault: FrameFault) -> Result<Tail, ReadError> {
        let damage = match judge_tail(rest, &self.expected, fault) {
            Evidence::Unwritten => return Ok(Tail::Open),
            Evidence::Torn => {
                return Ok(Tail::Torn {
                    path: self.segment.path.clone(),
                    offset: self.at as u64,
                    bytes: rest.len() as u64,
                    reason: Damage::Frame(fault),
                });
            }
            Evidence::NeverTorn => Damage::Frame(fault),
            Evidence::FrameAhead { distance_bytes, seq } => {
                Damage::Hole { fault, distance_bytes: distance_bytes as u64, next_seq: seq }
            }
            Evidence::TooLong { bytes } => Damage::LongTail { fault, bytes: bytes as u64 },
        };
        Err(self.corrupt(damage))
    }

    fn corrupt(&self, reason: Damage) -> ReadError {
        ReadError::Corrupt {
            path: self.segment.path.clone(),
            offset: self.at as u64,
            seq: self.expected.seq,
            reason,
        }
    }
}

/// How far from its end a log is searched for a seal.
const SEAL_SEARCH_BYTES: u64 = 64 << 10;

/// Finds the seal that ends `log`, if its header is good.
fn last_seal(log: &[u8], salt: &FrameSalt) -> Option<(FrameHeader, usize)> {
    let start = log.len().saturating_sub(usize::try_from(SEAL_SEARCH_BYTES).ok()?);
    memmem::rfind_iter(log.get(start..)?, &FRAME_MAGIC).find_map(|at| {
        let at = start + at;
        let header = FrameHeader::decode(log.get(at..)?.first_chunk()?, salt).ok()?;
        (header.is_seal() && at + header.frame_bytes() == log.len()).then_some((header, at))
    })
}

/// Returns the bytes of a segment: mapped if nobody writes to it any more, read otherwise.
///
/// A mapping of a file that is being written could be cut under its reader. On file systems
/// that cannot be relied on, nothing is mapped.
fn segment_bytes(vfs: &dyn Vfs, listed: &Listed, followed: bool) -> io::Result<FileView> {
    let path = &listed.path;
    let file = open_regular(vfs, path)?;
    let bytes = file.stat()?.bytes;
    let is_sealed = || -> io::Result<bool> {
        let end = read_up_to(&*file, bytes.saturating_sub(SEAL_SEARCH_BYTES), SEAL_SEARCH_BYTES)?;
        Ok(last_seal(&end, &listed.header.salt()).is_some())
    };
    let is_finished = bytes <= SEGMENT_BYTES_MAX && (followed || is_sealed()?);
    if is_finished && vfs.remote_kind(path.parent().unwrap_or(path))?.is_none() {
        let view = file.view()?;
        view.probe(0..view.len())?;
        return Ok(view);
    }
    Ok(FileView::held(read_up_to(&*file, 0, SEGMENT_BYTES_MAX + 1)?))
}
