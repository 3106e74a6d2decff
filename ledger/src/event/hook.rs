//! What hooks publish: outcomes of their own, and reviews that change their state.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::{HookId, Revision, SessionId, ToolCallId};

/// Which record an event is about, and its place among the versions of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Stamp {
    /// Everything is known.
    Full {
        /// The record.
        hook: HookId,
        /// The call that it is about.
        call: ToolCallId,
        /// The conversation that it comes from; never read out of another id.
        origin: SessionId,
        /// The call of the parent that delegated to that conversation; never `call` itself.
        delegation: Option<ToolCallId>,
        /// Its place.
        revision: Revision,
    },
    /// A record of an older writer: what it did not say is not known, and nothing is made up.
    Partial {
        /// The record.
        hook: Option<HookId>,
        /// The call.
        call: Option<ToolCallId>,
        /// The conversation.
        origin: Option<SessionId>,
        /// Its place.
        revision: Option<Revision>,
    },
}

impl Stamp {
    /// The record, where it is known.
    pub fn hook(&self) -> Option<HookId> {
        match self {
            Self::Full { hook, .. } => Some(*hook),
            Self::Partial { hook, .. } => *hook,
        }
    }

    /// The call, where it is known.
    pub fn call(&self) -> Option<ToolCallId> {
        match self {
            Self::Full { call, .. } => Some(*call),
            Self::Partial { call, .. } => *call,
        }
    }

    /// The conversation, where it is known.
    pub fn origin(&self) -> Option<SessionId> {
        match self {
            Self::Full { origin, .. } => Some(*origin),
            Self::Partial { origin, .. } => *origin,
        }
    }

    /// The place, where it is known.
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Full { revision, .. } => Some(*revision),
            Self::Partial { revision, .. } => *revision,
        }
    }
}

/// When a hook ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HookPhase {
    /// Before a call.
    PreTool,
    /// After a call.
    PostTool,
    /// On a prompt.
    Prompt,
    /// At another time.
    Other,
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HookDecision {
    /// Nothing; it informs.
    Info,
    /// The call is not made.
    Blocked,
    /// The arguments or the result are others.
    Modified,
    /// It warns.
    Advisory,
}

/// A hook published an outcome. A hook that has nothing to say has no event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HookPublished {
    /// The record.
    pub stamp: Stamp,
    /// When it ran.
    pub phase: HookPhase,
    /// What it decided.
    pub decision: HookDecision,
    /// What it said.
    pub message: Option<Content>,
    /// The arguments that it put in the place of the model's.
    pub arguments: Option<Content>,
}

/// What a review found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Assessment {
    /// Nothing against it.
    Acceptable,
    /// It must not be.
    Prohibited,
    /// It could not decide.
    Unresolved,
}

/// Whether a review could look at everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Inspection {
    /// It could.
    Complete,
    /// It could not; the assessment rests on less.
    OperationalFailure,
}

/// What follows from a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Disposition {
    /// The call is made.
    Execute,
    /// Somebody is asked about the call.
    AskAction,
    /// The result is held back.
    WithholdResult,
    /// The result is shown.
    ReleaseResult,
    /// The call is not made.
    Deny,
    /// It goes on with a note.
    PassAdvisory,
    /// It goes on with a warning.
    ContinueWarning,
}

/// A review changed its state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReviewUpdated {
    /// The record, as its envelope says.
    pub stamp: Stamp,
    /// The review, as its own content says; another one than the envelope's joins nothing.
    pub review: HookId,
    /// What it found.
    pub assessment: Assessment,
    /// Whether it could look.
    pub inspection: Inspection,
    /// What follows, once that is decided.
    pub disposition: Option<Disposition>,
    /// The rule that it applied.
    pub rule: Option<Content>,
    /// Why, for people.
    pub reason: Option<Content>,
    /// What it looked at.
    pub sources: Vec<Content>,
}
