//! Questions for permission and what became of them.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::{AskId, HookId, SessionId, ToolCallId};

/// Who wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AskOrigin {
    /// Not known; never taken for a permission.
    Unknown,
    /// The permission rules.
    Permission,
    /// A review.
    HookGuardrail,
    /// A plan that waits for consent.
    Plan,
}

/// What an offered answer would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum OptionKind {
    /// Allow this call.
    AllowOnce,
    /// Allow calls like it from now on.
    AllowAlways,
    /// Refuse this call.
    RejectOnce,
    /// Refuse calls like it from now on.
    RejectAlways,
    /// Something else.
    Other,
}

/// An answer that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Offered {
    /// Its id in the protocol.
    pub id: Content,
    /// What it would do.
    pub kind: OptionKind,
}

/// Somebody was asked.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalAsked {
    /// The question, minted here.
    pub ask: AskId,
    /// The call that it is about.
    pub call: ToolCallId,
    /// The conversation that it comes from; never read out of a foreign id.
    pub origin: SessionId,
    /// The call of the parent that delegated to that conversation; never `call` itself.
    pub delegation: Option<ToolCallId>,
    /// The review that asks, if one does.
    pub review: Option<HookId>,
    /// Who wants to know.
    pub asker: AskOrigin,
    /// What may be answered, in order.
    pub options: Vec<Offered>,
    /// The foreign id of the question, where there is one: private, never a key.
    pub foreign_ask: Option<Content>,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verdict {
    /// No.
    Deny,
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, from now on.
    DenyAlways,
    /// Nobody answered: the question was cancelled.
    Cancelled,
    /// An answer that is not in this list. It allows nothing.
    Unknown,
}

/// Which question a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Receipt {
    /// Origin, question, call and review, all as they were asked.
    Exact {
        /// The question.
        ask: AskId,
        /// The call.
        call: ToolCallId,
        /// The conversation.
        origin: SessionId,
        /// The review.
        review: Option<HookId>,
    },
    /// An older writer's receipt that does not say it. It joins nothing.
    Legacy,
}

/// Somebody answered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalAnswered {
    /// The question.
    pub receipt: Receipt,
    /// The answer.
    pub verdict: Verdict,
    /// The id of the offered answer that was taken.
    pub option: Option<Content>,
}

/// Why a question was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RetractReason {
    /// The turn was cancelled.
    Cancelled,
    /// A newer question stands in its place.
    Replaced,
    /// The conversation began anew or ended.
    SessionGone,
}

/// A question was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalRetracted {
    /// The question.
    pub ask: AskId,
    /// Why.
    pub reason: RetractReason,
}
