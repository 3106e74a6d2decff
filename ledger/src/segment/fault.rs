//! The ways in which a segment can fail to be the one that belongs at its place in the log.

use super::{Epoch, LedgerId};
use crate::frame::Seq;

/// Why a file in the log folder is not a segment of this log, or not in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentFault {
    /// The file name is not one that a writer gives.
    #[error("file name is not <20 digits>-<8 hex digits>.seg")]
    Name,
    /// The file name is not the one that belongs to the header.
    #[error("header of the segment {seq}-{epoch} under another name")]
    NameMismatch {
        /// First sequence number in the header.
        seq: Seq,
        /// Writer epoch in the header.
        epoch: Epoch,
    },
    /// The file ends inside its header; a crash between creation and first use leaves this.
    #[error("{found} bytes, expected a segment header of 128")]
    HeaderShort {
        /// Length of the file.
        found: usize,
    },
    /// The file went through a conversion of line ends or character sets.
    #[error(
        "the file was converted as text: mark `*.seg binary` in .gitattributes and fetch the \
         original again"
    )]
    TextConverted,
    /// The file does not start with the magic of a segment.
    #[error("no segment magic")]
    Magic,
    /// The header does not match its own checksum.
    #[error("segment header checksum {found:08x}, expected {expected:08x}")]
    HeaderCrc {
        /// Checksum in the header.
        found: u32,
        /// Checksum of its bytes.
        expected: u32,
    },
    /// A format that only another version can read.
    #[error("segment format {found}, expected {expected}: use a version that knows it")]
    Major {
        /// Major in the header.
        found: u16,
        /// [`super::FORMAT_MAJOR`].
        expected: u16,
    },
    /// A header length that this version does not know.
    #[error("segment header of {found} bytes, expected 128")]
    HeaderLength {
        /// Length in the header.
        found: u32,
    },
    /// A checksum or hash that this version does not know.
    #[error("checksum and hash kinds {found:?} are not known to this version")]
    Algorithms {
        /// Checksum kind and hash kind.
        found: [u8; 2],
    },
    /// Reserved bytes are in use.
    #[error("reserved bytes of the segment header are not zero")]
    Reserved,
    /// The segment belongs to another ledger.
    #[error("segment of ledger {found}, expected {expected}")]
    ForeignLedger {
        /// Ledger in the header.
        found: LedgerId,
        /// Ledger in the FORMAT file.
        expected: LedgerId,
    },
    /// A segment is missing, doubled or out of its place.
    #[error("segment number {found}, expected {expected}")]
    Number {
        /// Number in the header.
        found: u32,
        /// Number that is next.
        expected: u64,
    },
    /// The first segment refers to one before it.
    #[error("segment number 1 does not start the log")]
    FirstSegment,
    /// The previous file is shorter than its valid length, or that length is none.
    #[error("previous segment has {found} bytes, expected at least {expected}")]
    PrevLength {
        /// Length of the previous file.
        found: u64,
        /// Valid length that this header states.
        expected: u64,
    },
    /// The segment does not start where the previous one ends.
    #[error("first sequence {found}, expected {expected}")]
    FirstSeq {
        /// First sequence number in the header.
        found: Seq,
        /// Sequence number that is next.
        expected: Seq,
    },
    /// The frames before the segment are not those that its writer continued.
    #[error("the next segment continues other frames than these")]
    PrevChain,
    /// The segment is longer than any writer makes it.
    #[error("segment of {found} bytes, expected at most {max}")]
    TooLong {
        /// Length of the file.
        found: u64,
        /// [`super::SEGMENT_BYTES_MAX`].
        max: u64,
    },
    /// Something stands behind the seal frame.
    #[error("{bytes} bytes behind the seal frame")]
    AfterSeal {
        /// Bytes from the end of the seal frame to the end of the file.
        bytes: u64,
    },
    /// A whole frame stands beyond the length that the next segment calls valid.
    #[error("frame {seq} stands beyond the end that the next segment states")]
    BeyondEnd {
        /// Sequence number of that frame.
        seq: Seq,
    },
}
