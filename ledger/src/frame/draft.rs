//! A frame whose body is laid out and summed before its place in the log is known.
//! Any number of threads can make drafts at once; only placing them has to be one after another.

use super::{FRAME_BODY_BYTES_MAX, FrameHeader, padding_bytes};

/// A body with room for its header, ready to be placed in a batch.
pub struct FrameDraft {
    pub(crate) kind: u16,
    pub(crate) version: u16,
    pub(crate) wall_unix_ns: u64,
    pub(crate) body_bytes: u32,
    pub(crate) body_crc: u32,
    /// Room for the header, the body, its padding.
    pub(crate) bytes: Vec<u8>,
}

impl FrameDraft {
    /// Lays out a frame of this kind; `None` for a body of more than [`FRAME_BODY_BYTES_MAX`].
    pub fn new(kind: u16, version: u16, wall_unix_ns: u64, body: &[u8]) -> Option<Self> {
        let body_bytes = u32::try_from(body.len()).ok();
        let body_bytes = body_bytes.filter(|_| body.len() <= FRAME_BODY_BYTES_MAX)?;
        let frame_bytes = FrameHeader::ENCODED_BYTES + body.len() + padding_bytes(body.len());
        let mut bytes = Vec::with_capacity(frame_bytes);
        bytes.resize(FrameHeader::ENCODED_BYTES, 0);
        bytes.extend_from_slice(body);
        bytes.resize(frame_bytes, 0);
        let body_crc = crc32fast::hash(body);
        Some(Self { kind, version, wall_unix_ns, body_bytes, body_crc, bytes })
    }

    /// Returns what the frame is.
    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// Returns the length of the whole frame.
    pub fn frame_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Shows sizes only: bodies may hold anything.
impl core::fmt::Debug for FrameDraft {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FrameDraft")
            .field("kind", &self.kind)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
