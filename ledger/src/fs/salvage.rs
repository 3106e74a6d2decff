//! Reads what is good of a damaged log, on both sides of the damage. Changes nothing.
//!
//! Behind a bad place the next frame is looked for by its magic, its header checksum, which is
//! seeded with ledger and segment, and its body checksum. What lies in between is a gap.

use std::path::{Path, PathBuf};

use artifacts::fs::vfs::{Vfs, open_regular, read_up_to};
use memchr::memmem;
use sha2::{Digest as _, Sha256};

use super::list::{Listed, list_all};
use super::walk::{Checks, Walk};
use super::{FileError, LOG_FOLDER, OpenError, Tail, read_format};
use crate::frame::{
    Chain, Expected, FRAME_MAGIC, FrameFault, FrameHeader, Gap, GapPlace, Seq, check_body,
    check_frame,
};
use crate::segment::{LedgerId, SEGMENT_BYTES_MAX, SegmentHeader};

/// What a salvage comes upon, in order.
#[derive(Debug)]
pub enum Salvaged<'a> {
    /// A good frame.
    Frame {
        /// Its header.
        header: FrameHeader,
        /// Its body.
        body: &'a [u8],
    },
    /// Frames that are missing.
    Gap(Gap),
}

/// What a salvage looked at.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// Segments in which something was wrong, with their bytes' SHA-256.
    pub damaged: Vec<(PathBuf, [u8; 32])>,
    /// Files that claim to be segments of this log and are none.
    pub strangers: Vec<PathBuf>,
    /// Bytes of a torn tail, which were never log.
    pub torn_bytes: u64,
}

/// Hands out everything that is good in the log of `dir`, with the gaps in between.
///
/// # Errors
/// The folder is no recording, or something cannot be read; or `found` returned an error.
pub fn salvage<E: From<OpenError>>(
    vfs: &dyn Vfs,
    dir: &Path,
    found: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
) -> Result<(LedgerId, Salvage), E> {
    let format = read_format(vfs, dir)?;
    let log_dir = dir.join(LOG_FOLDER);
    let (segments, strangers) =
        list_all(vfs, &log_dir, format.ledger_id).map_err(OpenError::from)?;
    let mut state = State {
        next: Seq(1),
        chain: Chain::ZERO,
        report: Salvage { strangers, ..Salvage::default() },
    };
    for (at, segment) in segments.iter().enumerate() {
        let after = segments.get(at + 1).map(|next| &next.header);
        state.segment(vfs, segment, after, found)?;
    }
    Ok((format.ledger_id, state.report))
}

struct State {
    /// The sequence number and the chain that the next frame should continue.
    next: Seq,
    chain: Chain,
    report: Salvage,
}

impl State {
    fn segment<E: From<OpenError>>(
        &mut self,
        vfs: &dyn Vfs,
        segment: &Listed,
        after: Option<&SegmentHeader>,
        found: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bytes = open_regular(vfs, &segment.path)
            .and_then(|file| read_up_to(&*file, 0, SEGMENT_BYTES_MAX))
            .map_err(|source| OpenError::File(FileError::new("read", &segment.path, source)))?;
        let end = after.and_then(|next| usize::try_from(next.prev_valid_bytes).ok());
        let log = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(&bytes);
        let mut damaged = end.is_some_and(|end| end > bytes.len());
        if segment.header.first_seq > self.next {
            // The end of the segment before, or a whole one, is missing.
            damaged = true;
            let chain = segment.header.prev_chain;
            let gap = self.gap(Some(segment.header.first_seq), chain, &[], "segment is missing");
            found(Salvaged::Gap(gap))?;
            (self.next, self.chain) = (segment.header.first_seq, chain);
        }
        let salt = segment.header.salt();
        let mut at = SegmentHeader::ENCODED_BYTES;
        while let Some(rest) = log.get(at..).filter(|rest| !rest.is_empty()) {
            let expected = Expected { salt: salt.clone(), seq: self.next, chain: self.chain };
            let fault = match check_frame(rest, &expected) {
                Ok((header, body)) => {
                    at += header.frame_bytes();
                    self.take(header, body, found)?;
                    continue;
                }
                Err(fault) => fault,
            };
            let Some((skipped, header, body)) = next_good(rest, &expected) else {
                damaged |= self.end(vfs, segment, after, rest, fault, found)?;
                break;
            };
            damaged = true;
            let lost = rest.get(..skipped).unwrap_or_default();
            let reason = fault.to_string();
            let gap = self.gap(Some(header.seq), header.chain, lost, &reason);
            found(Salvaged::Gap(gap))?;
            at += skipped + header.frame_bytes();
            self.take(header, body, found)?;
        }
        if damaged {
            self.report.damaged.push((segment.path.clone(), Sha256::digest(&bytes).into()));
        }
        Ok(())
    }

    fn take<E>(
        &mut self,
        header: FrameHeader,
        body: &[u8],
        found: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.next = header.seq.next().unwrap_or(header.seq);
        self.chain = header.chain;
        found(Salvaged::Frame { header, body })
    }

    /// The rest of a segment, without a good frame: what an interrupted write left, or a gap up
    /// to the next segment. Returns whether it is damage.
    fn end<E: From<OpenError>>(
        &mut self,
        vfs: &dyn Vfs,
        segment: &Listed,
        after: Option<&SegmentHeader>,
        rest: &[u8],
        fault: FrameFault,
        found: &mut dyn FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        if after.is_none() && Self::ends_torn(vfs, segment) {
            self.report.torn_bytes += rest.len() as u64;
            return Ok(false);
        }
        let next = after.map(|next| next.first_seq);
        let chain = after.map_or(Chain::ZERO, |next| next.prev_chain);
        let gap = self.gap(next, chain, rest, &fault.to_string());
        found(Salvaged::Gap(gap))?;
        if let Some(next) = after {
            self.next = next.first_seq;
            self.chain = next.prev_chain;
        }
        Ok(true)
    }

    /// Asks the reader, which knows when the end of a last segment is none of a crash.
    fn ends_torn(vfs: &dyn Vfs, segment: &Listed) -> bool {
        let Ok(mut walk) = Walk::open(vfs, segment, None, Checks::Chain) else { return false };
        loop {
            match walk.step() {
                Ok(super::walk::Step::Frame(_)) => {}
                Ok(super::walk::Step::End(tail)) => return !matches!(tail, Tail::Clean),
                Err(_) => return false,
            }
        }
    }

    fn gap(&mut self, next: Option<Seq>, chain_after: Chain, lost: &[u8], reason: &str) -> Gap {
        let to = next.and_then(|next| next.0.checked_sub(1)).map(Seq);
        let place = GapPlace { from: self.next, to, chain_before: self.chain, chain_after };
        Gap::new(place, lost.len() as u64, Sha256::digest(lost).into(), reason.to_owned())
    }
}

/// Finds the next frame of this segment whose checksums are good and which is not of the past.
fn next_good<'a>(rest: &'a [u8], expected: &Expected) -> Option<(usize, FrameHeader, &'a [u8])> {
    memmem::find_iter(rest, &FRAME_MAGIC).find_map(|at| {
        let frame = rest.get(at..)?;
        let header = FrameHeader::decode(frame.first_chunk()?, &expected.salt).ok()?;
        let body = check_body(frame, &header).ok()?;
        (header.seq >= expected.seq).then_some((at, header, body))
    })
}
