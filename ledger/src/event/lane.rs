//! Calls beside the wire: what an agent protocol shows of them, their dispatch and their end.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::{HookId, SessionId, ToolCallId, TurnId};

/// What a session advertised when it was opened. Immutable: only another one of these, after a
/// reset, replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AliasesAdvertised {
    /// The conversation.
    pub session: SessionId,
    /// Names of the tool servers.
    pub servers: Vec<Content>,
    /// Names of the tools that they offer.
    pub tools: Vec<Content>,
}

/// Which form of an advertised name a call matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum AliasForm {
    /// The tool's bare name, which a tool of the agent itself might also have.
    Bare,
    /// `mcp_SERVER_TOOL`
    Single,
    /// `mcp__SERVER__TOOL`
    Double,
    /// `SERVER__TOOL`
    Server,
}

/// Who carries a call out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Lane {
    /// The agent itself. Whatever is not known is native.
    Native,
    /// The client, over a tool server that it advertised.
    Bridged(AliasForm),
}

/// Where a name of a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum NameSource {
    /// The title, else the kind, else the word `tool`.
    Title,
    /// `rawInput.tool`
    RawTool,
    /// `_meta.goose.toolCall.toolName`
    Meta,
    /// `_meta.goose.toolName`
    MetaFlat,
}

/// A name of a call and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NameSeen {
    /// Where.
    pub source: NameSource,
    /// The name, as it stands there.
    pub name: Content,
}

/// A call that an agent protocol shows.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToolObserved {
    /// Its id, minted here.
    pub call: ToolCallId,
    /// The conversation.
    pub session: SessionId,
    /// The turn, where one is open.
    pub turn: Option<TurnId>,
    /// Who carries it out, by the session's aliases.
    pub lane: Lane,
    /// The names that decided.
    pub names: Vec<NameSeen>,
    /// What kind of tool it is, in the protocol's word.
    pub tool_kind: Option<Content>,
    /// Its arguments, a JSON text, where the protocol shows them.
    pub arguments: Option<Content>,
    /// The agent's id of the call: private, never a key.
    pub provider_call: Option<Content>,
}

/// How a dispatch found its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Correlation {
    /// The one who carries it out had its id.
    Own,
    /// It was the oldest bridged call of the turn that waited for a dispatch.
    Queue,
    /// No call waited: the id was minted for the dispatch.
    None,
}

/// A call was handed to whoever carries it out. A second attempt is a second event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToolDispatched {
    /// The call.
    pub call: ToolCallId,
    /// Attempt, from 1.
    pub attempt: u16,
    /// The arguments that are in force, where they are not the model's.
    pub arguments: Option<Content>,
    /// How the call was found.
    pub correlation: Correlation,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// It returned.
    Completed,
    /// It failed.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// It was not permitted.
    Denied,
    /// It broke off; whether it had an effect is not known.
    Aborted,
}

/// An attempt ended. Its output is told by `tool_returned`, before.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToolEnded {
    /// The call.
    pub call: ToolCallId,
    /// Attempt, from 1; 0 when it was never dispatched.
    pub attempt: u16,
    /// How.
    pub outcome: Outcome,
    /// The review that holds the result back, if one does.
    pub held: Option<HookId>,
    /// What the protocol said of the result, whole, where that is not the output itself.
    pub raw: Option<Content>,
}

/// A result that was held back was released or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResultSettled {
    /// The call.
    pub call: ToolCallId,
    /// The review that held it back.
    pub review: HookId,
    /// True: the model may see it. False: it never will.
    pub released: bool,
}
