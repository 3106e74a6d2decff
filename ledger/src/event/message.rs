//! How a conversation's message list grows and changes, and what caused each new part.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::{PartNo, RequestId, SessionId, SkeletonNo, ToolCallId};
use crate::wire::{Escape, SlotKind};

/// A place in a literal where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SlotDef {
    /// Offset in the literal.
    pub offset: u32,
    /// What stands there.
    pub kind: SlotKind,
    /// The call or result of the part that it belongs to.
    pub group: u16,
}

/// A literal with slots, shared by the parts that differ only in what fills them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Skeleton {
    /// Tag of the [`PartKind`](crate::wire::PartKind).
    pub part_kind: u8,
    /// Tag of the [`Role`](crate::wire::Role).
    pub role: u8,
    /// The bytes around the slots.
    pub literal: Content,
    /// The slots, offsets ascending.
    pub slots: Vec<SlotDef>,
}

/// Which skeleton a part has.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SkeletonUse {
    /// A new one; it gets the next number.
    New(Skeleton),
    /// One that was defined before.
    Known(SkeletonNo),
}

/// Where the text of a slot comes from.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HoleValue {
    /// The client's own words.
    Own(Content),
    /// The text (or arguments) of an answer's item.
    AnswerText {
        /// The request that was answered.
        request: RequestId,
        /// Item of the answer, from 0.
        item: u16,
    },
    /// The provider's id of an answer's call.
    AnswerCallId {
        /// The request that was answered.
        request: RequestId,
        /// Item of the answer, from 0.
        item: u16,
    },
    /// The provider's id of an answer's item.
    AnswerItemId {
        /// The request that was answered.
        request: RequestId,
        /// Item of the answer, from 0.
        item: u16,
    },
    /// The tool that an answer's item calls.
    AnswerToolName {
        /// The request that was answered.
        request: RequestId,
        /// Item of the answer, from 0.
        item: u16,
    },
    /// Output of a tool.
    Output {
        /// The call.
        call: ToolCallId,
        /// Which text of the output, from 0.
        index: u16,
    },
}

/// What fills a slot, and how it is written there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Hole {
    /// Escape switches that were proven to reproduce the bytes.
    pub escape: Escape,
    /// Length of the escaped text, in bytes.
    pub escaped_bytes: u64,
    /// Where the text comes from.
    pub value: HoleValue,
}

/// A part that is seen for the first time in the run; it gets the next number.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PartDef {
    /// SHA-256 of its bytes, without overlays.
    pub digest: [u8; 32],
    /// The bytes around the slots.
    pub skeleton: SkeletonUse,
    /// One per slot of the skeleton.
    pub holes: Vec<Hole>,
}

/// A part in a list.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PartUse {
    /// Seen for the first time.
    New(PartDef),
    /// Seen before.
    Known(PartNo),
}

/// Why a part that ought to have a cause has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Unlinked {
    /// Assistant text that no recorded answer of the conversation holds.
    NoSuchAnswer,
    /// A result for a call that no recorded answer asked for.
    NoSuchCall,
    /// A second, different result for a call that had already returned.
    SecondResult,
    /// A result that fits more than one call: it is joined to none of them.
    SeveralCalls,
}

impl Unlinked {
    /// A phrase for reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoSuchAnswer => "assistant text that no recorded answer holds",
            Self::NoSuchCall => "result of a call that no recorded answer asked for",
            Self::SecondResult => "second result for a call that had already returned",
            Self::SeveralCalls => "result that fits more than one call",
        }
    }
}

/// What brought a part into the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Cause {
    /// The answer to this request.
    Answer(RequestId),
    /// The result of this call (of several calls: the first).
    ToolResult(ToolCallId),
    /// User text at the end of the list: typed by a person or by the program that drives the
    /// client; the wire cannot tell.
    UserInput,
    /// Put there by the client: system and developer text, or text in the middle of the list.
    Inserted,
    /// It was part of an earlier list and is back.
    Returned,
    /// Model or tool content whose origin is not on record.
    Unlinked(Unlinked),
}

/// A part that enters a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Added {
    /// The part.
    pub part: PartUse,
    /// What brought it.
    pub cause: Cause,
}

/// Messages were appended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MessageAdded {
    /// The conversation.
    pub session: SessionId,
    /// The new parts, in order.
    pub added: Vec<Added>,
}

/// A change in a list: `remove` entries at `at` are replaced by `insert`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Splice<T> {
    /// Position in the list before any change.
    pub at: u32,
    /// How many entries go.
    pub remove: u32,
    /// What comes in their place.
    pub insert: Vec<T>,
}

/// The client changed what it had already sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ContextEdited {
    /// The conversation.
    pub session: SessionId,
    /// The changes, positions ascending, none overlapping.
    pub splices: Vec<Splice<Added>>,
}
