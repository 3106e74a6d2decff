//! Decides by evidence whether a bad place at the end of a log is a torn write or damage.
//! It looks at bytes only; whether the place is in the last segment is the caller's question.
//!
//! A crash leaves what was written since the last sync in pieces, in any order: a good frame may
//! stand behind a bad one. Every frame says up to where the log was durable when it was written.
//! If a frame behind the bad place says that the bad place was durable, it is damage; a log that
//! took the first bad frame for its end would lose acknowledged frames to one flipped bit.

use memchr::memmem;

use super::{
    BATCH_BYTES_MAX, Expected, FRAME_BODY_BYTES_MAX, FRAME_MAGIC, FrameFault, FrameHeader, Seq,
    UNSYNCED_BYTES_MAX,
};

/// The longest rest that interrupted writes can leave: what a writer leaves unsynced before it
/// writes again, and then a full batch and one frame on top.
const TORN_BYTES_MAX: usize =
    UNSYNCED_BYTES_MAX + BATCH_BYTES_MAX + FrameHeader::ENCODED_BYTES + FRAME_BODY_BYTES_MAX;

/// What the bytes from a bad place to the end of the segment tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Only zeros: space that was never written.
    Unwritten,
    /// An interrupted write.
    Torn,
    /// A fault that no interrupted write leaves behind.
    NeverTorn,
    /// A header of this segment with a good checksum stands behind the bad place, and says that
    /// the bad place was durable when it was written.
    FrameAhead {
        /// Bytes from the bad place to that header.
        distance_bytes: usize,
        /// Its sequence number.
        seq: Seq,
    },
    /// More bytes than unsynced writes can have left.
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

/// Finds a header that belongs to this segment behind the start of `rest`, and that was written
/// when the frame which should be there was durable.
///
/// Frames of the past do not count: a body may well quote the log that it is recorded in. Every
/// byte is a possible start, since damage can have moved what follows.
fn find_frame(rest: &[u8], expected: &Expected) -> Option<(usize, Seq)> {
    memmem::find_iter(rest, &FRAME_MAGIC).filter(|at| *at > 0).find_map(|at| {
        let head = rest.get(at..)?.first_chunk()?;
        let header = FrameHeader::decode(head, &expected.salt).ok()?;
        let proves = header.seq >= expected.seq && header.durable_seq >= expected.seq;
        proves.then_some((at, header.seq))
    })
}
