//! Frames that wait for one common write.
//! Batch borders, the durable mark and the chain are known only when the batch is written, so
//! headers are filled in by `finish`; until then their place is kept free.

use super::{BodyCodec, Chain, Flags, FrameDraft, FrameHeader, FrameSalt, Seq, chain_of};

/// Where a draft goes, and how its body is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFrame {
    pub(crate) seq: Seq,
    pub(crate) codec: BodyCodec,
}

/// The frames of one write, one after the other.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    headers: Vec<FrameHeader>,
    body_bytes: u64,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), headers: Vec::new(), body_bytes: 0 }
    }

    /// Adds a frame.
    pub(crate) fn push(&mut self, frame: NewFrame, draft: &FrameDraft) {
        let flags = Flags { first_in_batch: false, last_in_batch: false, codec: frame.codec };
        let header = FrameHeader {
            body_bytes: draft.body_bytes,
            seq: frame.seq,
            kind: draft.kind,
            version: draft.version,
            flags,
            durable_seq: Seq::ZERO,
            chain: Chain::ZERO,
            wall_unix_ns: draft.wall_unix_ns,
            body_crc: draft.body_crc,
        };
        self.bytes.extend_from_slice(&draft.bytes);
        self.headers.push(header);
        self.body_bytes += u64::from(draft.body_bytes);
    }

    /// Fills in all headers and returns the chain of the last frame. May be called again.
    pub(crate) fn finish(&mut self, salt: &FrameSalt, prev: Chain, durable_seq: Seq) -> Chain {
        let last = self.headers.len().saturating_sub(1);
        let mut chain = prev;
        let mut rest = self.bytes.as_mut_slice();
        for (index, header) in self.headers.iter_mut().enumerate() {
            header.flags.first_in_batch = index == 0;
            header.flags.last_in_batch = index == last;
            header.durable_seq = durable_seq;
            let (frame, after) = rest
                .split_at_mut_checked(header.frame_bytes())
                .expect("push reserved the bytes of every header");
            let (head, padded) =
                frame.split_first_chunk_mut().expect("frame_bytes counts the header");
            let body =
                padded.get(..header.body_bytes as usize).expect("frame_bytes counts the body");
            chain = chain_of(chain, &header.encode(salt), body);
            header.chain = chain;
            *head = header.encode(salt);
            rest = after;
        }
        chain
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn frames(&self) -> usize {
        self.headers.len()
    }

    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    pub(crate) fn last_seq(&self) -> Option<Seq> {
        self.headers.last().map(|header| header.seq)
    }

    /// Forgets all frames. The memory of an unusually large batch is given back.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(super::BATCH_BYTES_MAX);
        self.headers.clear();
        self.body_bytes = 0;
    }
}

/// Shows sizes only: bodies may hold anything.
impl core::fmt::Debug for Batch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Batch")
            .field("frames", &self.headers.len())
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
