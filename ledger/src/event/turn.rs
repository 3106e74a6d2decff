//! Turns of a conversation as an agent tells of them: prompts, accepted answers, their end.

use bincode::{Decode, Encode};

use super::answer::Usage;
use crate::content::Content;
use crate::id::{SessionId, ToolCallId, TurnId};

/// Why a conversation began anew under its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ResetReason {
    /// The agent's process ended.
    Process,
    /// The agent does not know the conversation any more.
    NotFound,
    /// The client closed the connection.
    Closed,
    /// The client asked for it.
    Asked,
}

/// A conversation began anew: names, inputs, aliases and unfinished calls of before are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SessionReset {
    /// The conversation.
    pub session: SessionId,
    /// Why.
    pub reason: ResetReason,
}

/// A conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SessionClosed {
    /// The conversation.
    pub session: SessionId,
}

/// The client replaced history by a summary, and said so. What it replaced stays on record.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Compacted {
    /// The conversation.
    pub session: SessionId,
    /// How many messages at its head were replaced.
    pub messages: u32,
    /// What stands there now.
    pub summary: Option<Content>,
}

/// A turn began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TurnStarted {
    /// Its id, minted here.
    pub turn: TurnId,
    /// The conversation.
    pub session: SessionId,
}

/// Somebody told the agent something.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct UserPrompted {
    /// The conversation.
    pub session: SessionId,
    /// The turn that it belongs to, where one is open.
    pub turn: Option<TurnId>,
    /// What.
    pub text: Content,
}

/// A call of an accepted answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AcceptedCall {
    /// Its id, minted here.
    pub call: ToolCallId,
    /// The tool.
    pub name: Content,
    /// Its arguments as the model gave them.
    pub arguments: Content,
    /// The provider's id of the call: needed to send it back, never a key.
    pub provider_call: Option<Content>,
    /// The provider's id of the item: as above.
    pub provider_item: Option<Content>,
}

/// An answer of the model was checked as a whole and accepted; its calls are named in one event,
/// so that half a turn cannot be on record.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TurnAccepted {
    /// The conversation.
    pub session: SessionId,
    /// The turn, where one is open.
    pub turn: Option<TurnId>,
    /// What the model said.
    pub text: Option<Content>,
    /// What the model thought, or the provider's sealed form of it.
    pub reasoning: Vec<Content>,
    /// What it asks for, in its order.
    pub calls: Vec<AcceptedCall>,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Stop {
    /// The model had no more to say.
    EndTurn,
    /// Something failed.
    Error,
    /// Somebody stopped it.
    Cancelled,
    /// A budget was used up.
    Budget,
    /// It went in circles.
    NoProgress,
    /// It took too many steps.
    MaxTurns,
    /// The model refused.
    Refusal,
    /// A reason that is not in this list.
    Other,
}

/// A turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TurnEnded {
    /// The turn.
    pub turn: TurnId,
    /// Its conversation.
    pub session: SessionId,
    /// Why.
    pub stop: Stop,
    /// Tokens of this turn, where they were reported.
    pub usage: Option<Usage>,
}
