//! Tool calls and what came back.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::{RequestId, ToolCallId};

/// The model asked for a tool. Name, arguments and the provider's id stand in the answer's item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToolCalled {
    /// Our id of the call, minted here.
    pub call: ToolCallId,
    /// The request whose answer asks for it.
    pub request: RequestId,
    /// Item of the answer, from 0.
    pub item: u16,
}

/// How much of an output never reached the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Dropped {
    /// Not known: the output was taken from what the client sent, which it may have cut.
    Unknown,
    /// So many bytes; 0 when the output is known to be whole.
    Bytes(u64),
}

/// Sizes of a text in the units that caps are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Encode, Decode)]
pub struct TextMeasure {
    /// Unicode code points.
    pub chars: u64,
    /// UTF-16 code units.
    pub utf16: u64,
    /// Line feeds.
    pub line_feeds: u64,
}

impl TextMeasure {
    /// Measures `text`.
    pub fn of(text: &str) -> Self {
        let mut measure = Self::default();
        for byte in text.bytes() {
            // Every lead byte is a code point; those of four-byte sequences are two units.
            measure.chars += u64::from(byte & 0xc0 != 0x80);
            measure.utf16 += u64::from(byte & 0xc0 != 0x80) + u64::from(byte >= 0xf0);
            measure.line_feeds += u64::from(byte == b'\n');
        }
        measure
    }
}

/// One text of an output.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Returned {
    /// The text, whole.
    pub text: Content,
    /// Its sizes.
    pub measure: TextMeasure,
}

/// A tool's output came back.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToolReturned {
    /// The call.
    pub call: ToolCallId,
    /// The texts of the output, usually one.
    pub output: Vec<Returned>,
    /// How much of it is missing.
    pub dropped: Dropped,
    /// Spans that redaction replaced in it.
    pub redactions: u32,
}
