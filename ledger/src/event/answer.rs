//! An answer: its bytes, and what it says in our words.

use bincode::{Decode, Encode};

use super::request::Headers;
use crate::content::Content;
use crate::id::RequestId;

/// What an item of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ItemKind {
    /// Visible text.
    Text,
    /// Reasoning text.
    Thinking,
    /// A tool call.
    ToolCall,
    /// Something that is passed through without being read.
    Opaque,
}

/// One item of an answer, in the order of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AnswerItem {
    /// What it is.
    pub kind: ItemKind,
    /// Everything of it had arrived.
    pub complete: bool,
    /// Text, or the JSON text of a call's arguments, or opaque bytes.
    pub text: Content,
    /// The provider's id of the item.
    pub item_id: Option<Content>,
    /// The provider's id of the call.
    pub call_id: Option<Content>,
    /// The called tool, or the type of an opaque item.
    pub name: Option<Content>,
}

/// Token counts as the provider reported them; a count that it did not report is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Encode, Decode)]
pub struct Usage {
    /// Input tokens, by the provider's own definition (Anthropic: without cached ones).
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Input tokens read from the prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written to the prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
    /// The provider's own sum.
    pub total_tokens: Option<u64>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Answered {
    /// The request.
    pub request: RequestId,
    /// HTTP status; 0 when there was no answer.
    pub status: u16,
    /// How long the exchange took, microseconds, where it is known.
    pub time_us: Option<u64>,
    /// Header fields of the answer.
    pub headers: Headers,
    /// The body, redacted, content coding undone.
    pub body: Option<Content>,
    /// The body was kept back: a secret was found in the text that its pieces make together.
    pub body_withheld: bool,
    /// What the body says.
    pub items: Vec<AnswerItem>,
    /// Token counts.
    pub usage: Option<Usage>,
    /// Why the model stopped, in the provider's word.
    pub stop: Option<Content>,
    /// The provider's id of the answer.
    pub answer_id: Option<Content>,
    /// Events of the stream that were not understood.
    pub unparsed_events: u32,
}
