//! The ways in which bytes can fail to be the frame that belongs at their place.
//! No variant carries content.

use super::Seq;

/// Why the bytes at a place are not the frame that belongs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameFault {
    /// The file ends inside the header.
    #[error("{found} bytes left, expected a frame header of 80")]
    HeaderShort {
        /// Bytes up to the end of the segment.
        found: usize,
    },
    /// The frame does not start with its magic.
    #[error("no frame magic")]
    Magic,
    /// The header does not match its own checksum.
    #[error("header checksum {found:08x}, expected {expected:08x}")]
    HeaderCrc {
        /// Checksum in the header.
        found: u32,
        /// Checksum of its bytes.
        expected: u32,
    },
    /// A flag or codec that this version does not know.
    #[error("flags {found:08x} are not known to this version")]
    Flags {
        /// All flag bits.
        found: u32,
    },
    /// The body is longer than any writer makes it.
    #[error("body of {found} bytes, expected at most {max}")]
    BodyTooLong {
        /// Length in the header.
        found: usize,
        /// The longest body that a frame may have.
        max: usize,
    },
    /// A frame claims that a frame not yet written was durable.
    #[error("durable sequence {found}, expected less than {seq}")]
    DurableSeq {
        /// The claim.
        found: Seq,
        /// The frame's own place.
        seq: Seq,
    },
    /// The seal flag and the seal kind do not go together.
    #[error("kind {kind} does not fit the seal flag")]
    SealKind {
        /// The frame's kind.
        kind: u16,
    },
    /// A frame from another place of the log.
    #[error("sequence {found}, expected {expected}")]
    Seq {
        /// Sequence number in the header.
        found: Seq,
        /// Sequence number that is next.
        expected: Seq,
    },
    /// The file ends inside the body or its padding.
    #[error("{found} body bytes left, expected {expected}")]
    BodyShort {
        /// Bytes up to the end of the segment.
        found: usize,
        /// Length of body and padding.
        expected: usize,
    },
    /// The body does not match its checksum.
    #[error("body checksum {found:08x}, expected {expected:08x}")]
    BodyCrc {
        /// Checksum of the body's bytes.
        found: u32,
        /// Checksum in the header.
        expected: u32,
    },
    /// The padding holds something.
    #[error("padding is not zero")]
    Padding,
    /// The frame is whole, but does not follow the frames before it.
    #[error("chain does not continue the frames before")]
    Chain,
    /// A seal frame whose body is malformed or does not describe its segment.
    #[error("seal frame does not describe its segment")]
    Seal,
}

impl FrameFault {
    /// Returns whether an interrupted write can leave this behind.
    ///
    /// A header whose checksum is good holds what its writer put there, so that a fault in its
    /// meaning is never the mark of a crash.
    pub fn can_be_torn(self) -> bool {
        matches!(
            self,
            Self::HeaderShort { .. }
                | Self::Magic
                | Self::HeaderCrc { .. }
                | Self::BodyShort { .. }
                | Self::BodyCrc { .. }
        )
    }
}
