//! What can happen in a run: one struct per event kind, explicit tags, a version per kind.
//!
//! A stored struct never changes. A new field is a new kind version with a new struct beside the
//! old one, whose decoder stays for ever. Tags are in [`Kind`]; gaps are reserved in
//! `docs/reference/events.md` for facts that later ways in will record.

pub mod answer;
pub mod approval;
mod contents;
pub mod found;
pub mod hook;
pub mod identity;
pub mod lane;
pub mod message;
pub mod principal;
pub mod redaction;
pub mod request;
pub mod run;
pub mod subagent;
pub mod tool;
pub mod turn;

pub use answer::{AnswerItem, Answered, ItemKind, Usage};
pub use approval::{
    ApprovalAnswered, ApprovalAsked, ApprovalRetracted, AskOrigin, Offered, OptionKind, Receipt,
    RetractReason, Verdict,
};
pub use found::OutputFound;
pub use hook::{
    Assessment, Disposition, HookDecision, HookPhase, HookPublished, Inspection, ReviewUpdated,
    Stamp,
};
pub use identity::IdentityEvent;
pub use lane::{
    AliasForm, AliasesAdvertised, Correlation, Lane, NameSeen, NameSource, Outcome, ResultSettled,
    ToolDispatched, ToolEnded, ToolObserved,
};
pub use message::{
    Added, Cause, ContextEdited, Hole, HoleValue, MessageAdded, PartDef, PartUse, Skeleton,
    SkeletonUse, SlotDef, Splice, Unlinked,
};
pub use principal::{
    Continues, MintReason, PrincipalBound, PrincipalForked, PrincipalMinted, PrincipalObserved,
    PrincipalStopped, StopReason,
};
pub use redaction::{RedactionConfigured, RedactionFailed, ReplacedSpan, SpansReplaced};
pub use request::{
    Dispatched, Headers, Overlay, Propensity, RequestCaptured, Rung, Splices, Transfer, Unsplit,
};
pub use run::{ImportedRecord, Origin, RunClosed, RunOpened, SessionBasis, SessionOpened, notes};
pub use subagent::{Child, SubagentEnded, SubagentSpawned};
pub use tool::{Dropped, Returned, TextMeasure, ToolCalled, ToolReturned};
pub use turn::{
    AcceptedCall, Compacted, ResetReason, SessionClosed, SessionReset, Stop, TurnAccepted,
    TurnEnded, TurnStarted, UserPrompted,
};

use crate::codec::{self, CodecError};

/// Numeric tags of event kinds, as stored in the frame header. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Kind {
    /// `run_opened`
    RunOpened = 16,
    /// `run_closed`
    RunClosed = 17,
    /// `session_opened`
    SessionOpened = 18,
    /// `session_reset`
    SessionReset = 19,
    /// `session_closed`
    SessionClosed = 20,
    /// `aliases_advertised`
    AliasesAdvertised = 21,
    /// `principal_minted`
    PrincipalMinted = 24,
    /// `principal_bound`
    PrincipalBound = 25,
    /// `principal_observed`
    PrincipalObserved = 26,
    /// `principal_stopped`
    PrincipalStopped = 27,
    /// `principal_forked`
    PrincipalForked = 28,
    /// `message_added`
    MessageAdded = 32,
    /// `context_edited`
    ContextEdited = 33,
    /// `compacted`
    Compacted = 34,
    /// `turn_started`
    TurnStarted = 35,
    /// `user_prompted`
    UserPrompted = 37,
    /// `turn_accepted`
    TurnAccepted = 38,
    /// `turn_ended`
    TurnEnded = 39,
    /// `request_captured`
    RequestCaptured = 40,
    /// `request_dispatched`
    RequestDispatched = 41,
    /// `response_received`
    ResponseReceived = 42,
    /// `response_failed`
    ResponseFailed = 43,
    /// `response_aborted`
    ResponseAborted = 44,
    /// `tool_called`
    ToolCalled = 48,
    /// `tool_returned`
    ToolReturned = 49,
    /// `output_found`
    OutputFound = 50,
    /// `tool_dispatched`
    ToolDispatched = 51,
    /// `hook_published`
    HookPublished = 52,
    /// `review_updated`
    ReviewUpdated = 53,
    /// `tool_ended`
    ToolEnded = 54,
    /// `result_settled`
    ResultSettled = 55,
    /// `approval_asked`
    ApprovalAsked = 56,
    /// `approval_answered`
    ApprovalAnswered = 57,
    /// `approval_retracted`
    ApprovalRetracted = 58,
    /// `tool_observed`
    ToolObserved = 59,
    /// `subagent_spawned`
    SubagentSpawned = 64,
    /// `subagent_ended`
    SubagentEnded = 65,
    /// `redaction_failed`
    RedactionFailed = 72,
    /// `redaction_configured`
    RedactionConfigured = 74,
    /// `spans_replaced`
    SpansReplaced = 75,
    /// `imported_record`
    ImportedRecord = 80,
}

impl Kind {
    /// All kinds, in tag order.
    pub const ALL: [Self; 41] = [
        Self::RunOpened,
        Self::RunClosed,
        Self::SessionOpened,
        Self::SessionReset,
        Self::SessionClosed,
        Self::AliasesAdvertised,
        Self::PrincipalMinted,
        Self::PrincipalBound,
        Self::PrincipalObserved,
        Self::PrincipalStopped,
        Self::PrincipalForked,
        Self::MessageAdded,
        Self::ContextEdited,
        Self::Compacted,
        Self::TurnStarted,
        Self::UserPrompted,
        Self::TurnAccepted,
        Self::TurnEnded,
        Self::RequestCaptured,
        Self::RequestDispatched,
        Self::ResponseReceived,
        Self::ResponseFailed,
        Self::ResponseAborted,
        Self::ToolCalled,
        Self::ToolReturned,
        Self::OutputFound,
        Self::ToolDispatched,
        Self::HookPublished,
        Self::ReviewUpdated,
        Self::ToolEnded,
        Self::ResultSettled,
        Self::ApprovalAsked,
        Self::ApprovalAnswered,
        Self::ApprovalRetracted,
        Self::ToolObserved,
        Self::SubagentSpawned,
        Self::SubagentEnded,
        Self::RedactionFailed,
        Self::RedactionConfigured,
        Self::SpansReplaced,
        Self::ImportedRecord,
    ];

    /// The stored tag.
    pub fn tag(self) -> u16 {
        self as u16
    }

    /// The kind with this tag.
    pub fn from_tag(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.tag() == tag)
    }

    /// The name used in documents, listings and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::RunOpened => "run_opened",
            Self::RunClosed => "run_closed",
            Self::SessionOpened => "session_opened",
            Self::SessionReset => "session_reset",
            Self::SessionClosed => "session_closed",
            Self::AliasesAdvertised => "aliases_advertised",
            Self::PrincipalMinted => "principal_minted",
            Self::PrincipalBound => "principal_bound",
            Self::PrincipalObserved => "principal_observed",
            Self::PrincipalStopped => "principal_stopped",
            Self::PrincipalForked => "principal_forked",
            Self::MessageAdded => "message_added",
            Self::ContextEdited => "context_edited",
            Self::Compacted => "compacted",
            Self::TurnStarted => "turn_started",
            Self::UserPrompted => "user_prompted",
            Self::TurnAccepted => "turn_accepted",
            Self::TurnEnded => "turn_ended",
            Self::RequestCaptured => "request_captured",
            Self::RequestDispatched => "request_dispatched",
            Self::ResponseReceived => "response_received",
            Self::ResponseFailed => "response_failed",
            Self::ResponseAborted => "response_aborted",
            Self::ToolCalled => "tool_called",
            Self::ToolReturned => "tool_returned",
            Self::OutputFound => "output_found",
            Self::ToolDispatched => "tool_dispatched",
            Self::HookPublished => "hook_published",
            Self::ReviewUpdated => "review_updated",
            Self::ToolEnded => "tool_ended",
            Self::ResultSettled => "result_settled",
            Self::ApprovalAsked => "approval_asked",
            Self::ApprovalAnswered => "approval_answered",
            Self::ApprovalRetracted => "approval_retracted",
            Self::ToolObserved => "tool_observed",
            Self::SubagentSpawned => "subagent_spawned",
            Self::SubagentEnded => "subagent_ended",
            Self::RedactionFailed => "redaction_failed",
            Self::RedactionConfigured => "redaction_configured",
            Self::SpansReplaced => "spans_replaced",
            Self::ImportedRecord => "imported_record",
        }
    }
}

/// Version of every kind, but for what [`Event::version`] says of some events.
pub const KIND_VERSION: u16 = 1;
/// Version of `request_captured` with a propensity.
pub const WITH_PROPENSITY: u16 = 2;

/// One recorded fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run began, with who recorded it and under which redaction rules.
    RunOpened(RunOpened),
    /// A run ended; its source was read to the end or not.
    RunClosed(RunClosed),
    /// A conversation began.
    SessionOpened(SessionOpened),
    /// Messages were appended to a conversation, each with its cause.
    MessageAdded(MessageAdded),
    /// The client changed its own history: differences only.
    ContextEdited(ContextEdited),
    /// A request was ready to be sent.
    RequestCaptured(RequestCaptured),
    /// A request was sent, with method, target and headers.
    RequestDispatched(Dispatched),
    /// An answer arrived up to its end.
    ResponseReceived(Answered),
    /// An error status or no answer at all.
    ResponseFailed(Answered),
    /// An answer broke off; what had arrived is kept.
    ResponseAborted(Answered),
    /// The model asked for a tool.
    ToolCalled(ToolCalled),
    /// A tool's output came back, whole as far as the recorder saw it.
    ToolReturned(ToolReturned),
    /// A tool's output was found beside the wire, whole or with a gap.
    OutputFound(OutputFound),
    /// A text was kept back, since it could not be redacted.
    RedactionFailed(RedactionFailed),
    /// From here on texts are redacted in another way.
    RedactionConfigured(RedactionConfigured),
    /// What redaction replaced in a stored text.
    SpansReplaced(SpansReplaced),
    /// A foreign record that was not understood, kept as bytes.
    ImportedRecord(ImportedRecord),
    /// A fact about identities: turns, calls beside the wire, hooks, questions, principals.
    Identity(IdentityEvent),
}

/// Why a frame's body is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// A kind that this version does not know and may not skip.
    #[error("unknown event kind {tag}; a newer version wrote it")]
    UnknownKind {
        /// The tag.
        tag: u16,
    },
    /// A version of a known kind that this version does not know.
    #[error("{kind} version {version} is newer than this program")]
    UnknownVersion {
        /// Name of the kind.
        kind: &'static str,
        /// The version found.
        version: u16,
    },
    /// The body does not decode.
    #[error("{kind}: {source}")]
    Body {
        /// Name of the kind.
        kind: &'static str,
        /// What is wrong with it.
        source: CodecError,
    },
}

impl Event {
    /// The kind of this event.
    pub fn kind(&self) -> Kind {
        match self {
            Self::RunOpened(_) => Kind::RunOpened,
            Self::RunClosed(_) => Kind::RunClosed,
            Self::SessionOpened(_) => Kind::SessionOpened,
            Self::MessageAdded(_) => Kind::MessageAdded,
            Self::ContextEdited(_) => Kind::ContextEdited,
            Self::RequestCaptured(_) => Kind::RequestCaptured,
            Self::RequestDispatched(_) => Kind::RequestDispatched,
            Self::ResponseReceived(_) => Kind::ResponseReceived,
            Self::ResponseFailed(_) => Kind::ResponseFailed,
            Self::ResponseAborted(_) => Kind::ResponseAborted,
            Self::ToolCalled(_) => Kind::ToolCalled,
            Self::ToolReturned(_) => Kind::ToolReturned,
            Self::OutputFound(_) => Kind::OutputFound,
            Self::RedactionFailed(_) => Kind::RedactionFailed,
            Self::RedactionConfigured(_) => Kind::RedactionConfigured,
            Self::SpansReplaced(_) => Kind::SpansReplaced,
            Self::ImportedRecord(_) => Kind::ImportedRecord,
            Self::Identity(event) => event.kind(),
        }
    }

    /// The version of its kind that its body is of.
    pub fn version(&self) -> u16 {
        match self {
            Self::RequestCaptured(body) if body.propensity.is_some() => WITH_PROPENSITY,
            _ => KIND_VERSION,
        }
    }

    /// The body bytes of its frame.
    ///
    /// # Errors
    /// The event does not fit a frame.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        match self {
            Self::RunOpened(body) => codec::encode(body),
            Self::RunClosed(body) => codec::encode(body),
            Self::SessionOpened(body) => codec::encode(body),
            Self::MessageAdded(body) => codec::encode(body),
            Self::ContextEdited(body) => codec::encode(body),
            Self::RequestCaptured(body) => match &body.propensity {
                None => codec::encode(body),
                Some(propensity) => codec::encode(&(body, propensity)),
            },
            Self::RequestDispatched(body) => codec::encode(body),
            Self::ResponseReceived(body)
            | Self::ResponseFailed(body)
            | Self::ResponseAborted(body) => codec::encode(body),
            Self::ToolCalled(body) => codec::encode(body),
            Self::ToolReturned(body) => codec::encode(body),
            Self::OutputFound(body) => codec::encode(body),
            Self::RedactionFailed(body) => codec::encode(body),
            Self::RedactionConfigured(body) => codec::encode(body),
            Self::SpansReplaced(body) => codec::encode(body),
            Self::ImportedRecord(body) => codec::encode(body),
            Self::Identity(event) => event.encode(),
        }
    }

    /// Decodes the body of a frame with this kind and version.
    ///
    /// # Errors
    /// Unknown kind or version, or a body that is not of this kind.
    pub fn decode(tag: u16, version: u16, body: &[u8]) -> Result<Self, EventError> {
        let kind = Kind::from_tag(tag).ok_or(EventError::UnknownKind { tag })?;
        if kind == Kind::RequestCaptured && version == WITH_PROPENSITY {
            let decoded = codec::decode::<(RequestCaptured, Propensity)>(body);
            let decoded =
                decoded.map_err(|source| EventError::Body { kind: kind.name(), source })?;
            let (captured, propensity) = decoded;
            let propensity = Some(Box::new(propensity));
            return Ok(Self::RequestCaptured(RequestCaptured { propensity, ..captured }));
        }
        if version != KIND_VERSION {
            return Err(EventError::UnknownVersion { kind: kind.name(), version });
        }
        if let Some(decoded) = IdentityEvent::decode(kind, body) {
            return decoded
                .map(Self::Identity)
                .map_err(|source| EventError::Body { kind: kind.name(), source });
        }
        let decoded = match kind {
            Kind::RunOpened => codec::decode(body).map(Self::RunOpened),
            Kind::RunClosed => codec::decode(body).map(Self::RunClosed),
            Kind::SessionOpened => codec::decode(body).map(Self::SessionOpened),
            Kind::MessageAdded => codec::decode(body).map(Self::MessageAdded),
            Kind::ContextEdited => codec::decode(body).map(Self::ContextEdited),
            Kind::RequestCaptured => codec::decode(body).map(Self::RequestCaptured),
            Kind::RequestDispatched => codec::decode(body).map(Self::RequestDispatched),
            Kind::ResponseReceived => codec::decode(body).map(Self::ResponseReceived),
            Kind::ResponseFailed => codec::decode(body).map(Self::ResponseFailed),
            Kind::ResponseAborted => codec::decode(body).map(Self::ResponseAborted),
            Kind::ToolCalled => codec::decode(body).map(Self::ToolCalled),
            Kind::ToolReturned => codec::decode(body).map(Self::ToolReturned),
            Kind::OutputFound => codec::decode(body).map(Self::OutputFound),
            Kind::RedactionFailed => codec::decode(body).map(Self::RedactionFailed),
            Kind::RedactionConfigured => codec::decode(body).map(Self::RedactionConfigured),
            Kind::SpansReplaced => codec::decode(body).map(Self::SpansReplaced),
            Kind::ImportedRecord => codec::decode(body).map(Self::ImportedRecord),
            other => return Err(EventError::UnknownKind { tag: other.tag() }),
        };
        decoded.map_err(|source| EventError::Body { kind: kind.name(), source })
    }
}

#[cfg(test)]
mod tests;
