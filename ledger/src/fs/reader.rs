//! Reads a log from its first frame to its end. Takes no lock and changes nothing.

use std::path::Path;
use std::sync::Arc;

use artifacts::fs::vfs::{LocalDisk, Vfs};

use super::list::{Listing, list};
use super::walk::{Checks, Step, Walk};
use super::{Damage, Frame, LOG_FOLDER, OpenError, ReadError, Tail, read_format};
use crate::format_file::FormatFile;
use crate::frame::{Head, Seq};
use crate::segment::LedgerId;

/// A log that is open for reading.
///
/// What a live writer adds after the open may or may not be seen; a write that it is in the
/// middle of looks like a torn tail.
#[derive(Debug)]
pub struct LogReader {
    vfs: Arc<dyn Vfs>,
    format: FormatFile,
    listing: Listing,
    checks: Checks,
    head: Head,
    tail: Option<Tail>,
}

impl LogReader {
    /// Opens the recording in the folder `dir`.
    ///
    /// A damaged segment is no reason to refuse: `frames` gives everything in front of it and
    /// then the error.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_on(LocalDisk::shared(), dir)
    }

    /// Opens the recording in the folder `dir` of `vfs`.
    pub fn open_on(vfs: Arc<dyn Vfs>, dir: &Path) -> Result<Self, OpenError> {
        let format = read_format(&*vfs, dir)?;
        let listing = list(&*vfs, &dir.join(LOG_FOLDER), format.ledger_id)?;
        let checks = Checks::Chain;
        Ok(Self { vfs, format, listing, checks, head: Head::EMPTY, tail: None })
    }

    /// Says how much of each frame is checked from now on; at first, everything.
    pub fn set_checks(&mut self, checks: Checks) {
        self.checks = checks;
    }

    /// Returns what the FORMAT file says.
    pub fn format(&self) -> &FormatFile {
        &self.format
    }

    /// Returns the id that all segments carry.
    pub fn ledger_id(&self) -> LedgerId {
        self.format.ledger_id
    }

    /// Starts at the first frame. One segment is in memory at a time, and those of the frames
    /// that the caller keeps.
    pub fn frames(&mut self) -> Frames<'_> {
        self.head = Head::EMPTY;
        self.tail = None;
        Frames { reader: self, segment: 0, walk: None, done: false }
    }

    /// Returns how many segments there are, up to the first that does not fit.
    pub fn segments(&self) -> usize {
        self.listing.segments.len()
    }

    /// Checks how every segment ends, and all of the last one; returns how many frames it read.
    ///
    /// A seal has to fit its checksums and the header of the next segment. The frames of older
    /// segments are not looked at: for that there is [`LogReader::frames`].
    ///
    /// # Errors
    /// The first thing that is damaged.
    pub fn check_ends(&mut self) -> Result<u64, ReadError> {
        let last = self.listing.segments.len().saturating_sub(1);
        for index in 0..last {
            if let Some(walk) = self.walk(index) {
                walk?.check_end()?;
            }
        }
        let mut frames = Frames { reader: self, segment: last, walk: None, done: false };
        let mut count = 0;
        while let Some(frame) = frames.next().transpose()? {
            count += 1;
            drop(frame);
        }
        if count == 0
            && let Some(Ok(walk)) = self.walk(last)
        {
            // The last segment is still empty; the log ends where its header says.
            let (next, chain) = walk.next_frame();
            self.head = Head { seq: Seq(next.0.saturating_sub(1)), chain };
        }
        Ok(count)
    }

    /// Checks one segment completely: every frame, and that the next segment goes on from it.
    ///
    /// Segments can be checked in any order and at once, since each says what it goes on from.
    /// `index` is below [`LogReader::segments`]; [`LogReader::conclude`] takes the result of the
    /// last one. `look` is shown every frame.
    ///
    /// # Errors
    /// The first thing that is damaged in the segment.
    pub fn check_segment(
        &self,
        index: usize,
        mut look: impl FnMut(&Frame),
    ) -> Result<SegmentChecked, ReadError> {
        let Some(walk) = self.walk(index) else { return Ok(SegmentChecked::NONE) };
        let mut walk = walk?;
        let mut frames = 0;
        loop {
            match walk.step()? {
                Step::Frame(frame) => {
                    frames += 1;
                    look(&frame);
                }
                Step::End(tail) => {
                    let (next, chain) = walk.next_frame();
                    let head = Head { seq: Seq(next.0.saturating_sub(1)), chain };
                    return Ok(SegmentChecked { frames, head, tail });
                }
            }
        }
    }

    /// Notes how the log ends, after all of its segments were checked one by one.
    ///
    /// # Errors
    /// Behind the last segment stands one that does not fit.
    pub fn conclude(&mut self, last: Option<SegmentChecked>) -> Result<(), ReadError> {
        let last = last.unwrap_or(SegmentChecked::NONE);
        self.head = last.head;
        self.tail = Some(self.end(Some(last.tail))?);
        Ok(())
    }

    /// Returns how the log ends; `None` until `frames` has come to the end without an error.
    pub fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    /// Returns the last frame that `frames` has given.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Opens the segment at `index`, or says that there is none.
    fn walk(&self, index: usize) -> Option<Result<Walk, ReadError>> {
        let segment = self.listing.segments.get(index)?;
        let next = self.listing.segments.get(index + 1).map(|next| &next.header);
        Some(Walk::open(&*self.vfs, segment, next, self.checks))
    }

    /// Returns how a log with this last segment ends. A file that its writer did not live to use
    /// counts only if nothing else is torn.
    fn end(&self, last: Option<Tail>) -> Result<Tail, ReadError> {
        if let Some(error) = &self.listing.broken {
            return Err(error.clone());
        }
        match (last.unwrap_or(Tail::Open), &self.listing.unborn) {
            (Tail::Clean | Tail::Open, Some(unborn)) => Ok(Tail::Torn {
                path: unborn.path.clone(),
                offset: 0,
                bytes: unborn.file_bytes,
                reason: Damage::Segment(unborn.fault),
            }),
            (tail, _) => Ok(tail),
        }
    }
}

/// What a segment holds that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentChecked {
    /// Its frames, a seal included.
    pub frames: u64,
    /// The head of the log behind it.
    pub head: Head,
    /// How it ends.
    pub tail: Tail,
}

impl SegmentChecked {
    /// What is said of a log without segments.
    const NONE: Self = Self { frames: 0, head: Head::EMPTY, tail: Tail::Open };
}

/// The frames of a log in order, each one checked completely. Ends after the first error.
#[derive(Debug)]
pub struct Frames<'a> {
    reader: &'a mut LogReader,
    /// Index of the segment to open next.
    segment: usize,
    walk: Option<Walk>,
    done: bool,
}

impl Frames<'_> {
    fn advance(&mut self) -> Result<Option<Frame>, ReadError> {
        let mut last = None;
        loop {
            let Some(walk) = &mut self.walk else {
                let Some(walk) = self.reader.walk(self.segment) else {
                    self.reader.tail = Some(self.reader.end(last)?);
                    return Ok(None);
                };
                self.walk = Some(walk?);
                self.segment += 1;
                continue;
            };
            match walk.step()? {
                Step::Frame(frame) => {
                    self.reader.head = frame.head();
                    return Ok(Some(frame));
                }
                Step::End(tail) => {
                    last = Some(tail);
                    self.walk = None;
                }
            }
        }
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.advance().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}
