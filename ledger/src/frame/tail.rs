//! Decides by evidence whether a bad place at the end of a log is a torn write or damage.
//! It looks at bytes only; whether the place is in the last segment is the caller's question.
//!
//! A crash leaves a torn write: at most one batch of bytes, with nothing whole behind it. A log
//! that took the first bad frame for its end would lose acknowledged frames to one flipped bit.

use memchr::memmem;

use super::{
    BATCH_BYTES_MAX, Expected, FRAME_BODY_BYTES_MAX, FRAME_MAGIC, FrameFault, FrameHeader, Seq,
};

/// The longest rest that one interrupted write can leave: a full batch and one frame on top.
const TORN_BYTES_MAX: usize = BATCH_BYTES_MAX + FrameHeader::ENCODED_BYTES + FRAME_BODY_BYTES_MAX;

/// What the bytes from a bad place to the end of the segment tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Only zeros: space that was never written.
    Unwritten,
    /// An interrupted write.
    Torn,
    /// A fault that no interrupted write leaves behind.
    NeverTorn,
    /// A header of this segment with a good checksum stands behind the bad place.
    FrameAhead {
        /// Bytes from the bad place to that header.
        distance_bytes: usize,
        /// Its sequence number.
        seq: Seq,
    },
    /// More bytes than one write can have left.
    TooLong {
        /// Bytes up to the last one that is not zero.
        bytes: usize,
    },
}

/// Judges `rest`, the bytes from the bad place to the end of the segment.
///
/// `expected` is what the frame at the start of `rest` failed to be, and `fault` says how.
pub fn judge_tail(rest: &[u8], expected: &Expected, fault: FrameFault) -> Evidence {
    let written = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if written == 0 {
        return Evidence::Unwritten;
    }
    if !fault.can_be_torn() {
        return Evidence::NeverTorn;
    }
    if let Some((distance_bytes, seq)) = find_frame(rest, expected) {
        return Evidence::FrameAhead { distance_bytes, seq };
    }
    if written > TORN_BYTES_MAX {
        return Evidence::TooLong { bytes: written };
    }
    Evidence::Torn
}

/// Finds a header that belongs to this segment behind the start of `rest`.
///
/// Frames of the past do not count: a body may well quote the log that it is recorded in. Every
/// byte is a possible start, since damage can have moved what follows.
fn find_frame(rest: &[u8], expected: &Expected) -> Option<(usize, Seq)> {
    memmem::find_iter(rest, &FRAME_MAGIC).filter(|at| *at > 0).find_map(|at| {
        let head = rest.get(at..)?.first_chunk()?;
        let header = FrameHeader::decode(head, &expected.salt).ok()?;
        (header.seq >= expected.seq).then_some((at, header.seq))
    })
}
