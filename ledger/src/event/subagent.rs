//! Sub-agents: a relation between a call of the parent and another conversation or run.

use bincode::{Decode, Encode};

use super::lane::Outcome;
use crate::content::Content;
use crate::id::{RunId, SessionId, ToolCallId};

/// Where a sub-agent's own events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Child {
    /// In another conversation of this run.
    Session(SessionId),
    /// In another run.
    Run(RunId),
    /// It is not known.
    Unknown,
}

/// A sub-agent was started. The call that delegates and the calls of the child are different
/// calls; this relation is all that joins them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SubagentSpawned {
    /// The parent's conversation.
    pub parent: SessionId,
    /// The parent's call that delegates.
    pub delegation: ToolCallId,
    /// The child.
    pub child: Child,
}

/// A sub-agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SubagentEnded {
    /// The parent's call that delegated.
    pub delegation: ToolCallId,
    /// The child.
    pub child: Child,
    /// How.
    pub outcome: Outcome,
    /// The child's whole output, however much of it the parent was shown.
    pub output: Option<Content>,
}
