//! Outputs that were found beside the wire: in a spill file, a transcript, a protocol stream.
//!
//! Not what the client sent: that is a `tool_returned`, and stays what a request is rebuilt from.

use bincode::{Decode, Encode};

use super::{Dropped, Returned};
use crate::id::ToolCallId;

/// Longest name of a source, in bytes.
pub const SOURCE_BYTES_MAX: usize = 64;

/// The output of a call as another record of the run has it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OutputFound {
    /// The call.
    pub call: ToolCallId,
    /// Which text of its output, from 0.
    pub index: u16,
    /// Name of the format that it was read from.
    pub source: String,
    /// Which record of that source, from 0.
    pub record: u64,
    /// One piece when it is whole; else the beginning and the end around a gap.
    pub pieces: Vec<Returned>,
    /// How much is missing in the gap; 0 when it is whole.
    pub dropped: Dropped,
    /// Spans that redaction replaced in the pieces.
    pub redactions: u32,
}

impl OutputFound {
    /// True when pieces and gap fit together.
    pub fn is_consistent(&self) -> bool {
        let whole = self.dropped == Dropped::Bytes(0);
        let fits = matches!((self.pieces.len(), whole), (1, true) | (2, false));
        fits && self.source.len() <= SOURCE_BYTES_MAX
    }
}
