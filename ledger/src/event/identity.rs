//! Events about identities: turns, calls beside the wire, hooks, questions, sub-agents, principals.
//!
//! They are kinds like all others; only in memory they are one variant of [`Event`], so that code
//! that is about requests need not name each of them.
//!
//! [`Event`]: super::Event

use super::approval::{ApprovalAnswered, ApprovalAsked, ApprovalRetracted};
use super::contents::Contents;
use super::hook::{HookPublished, ReviewUpdated};
use super::lane::{AliasesAdvertised, ResultSettled, ToolDispatched, ToolEnded, ToolObserved};
use super::principal::{
    PrincipalBound, PrincipalForked, PrincipalMinted, PrincipalObserved, PrincipalStopped,
};
use super::subagent::{SubagentEnded, SubagentSpawned};
use super::turn::{
    Compacted, SessionClosed, SessionReset, TurnAccepted, TurnEnded, TurnStarted, UserPrompted,
};
use super::{Event, Kind};
use crate::codec::{self, CodecError};
use crate::content::Content;

macro_rules! identity_events {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A recorded fact about identities.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum IdentityEvent {
            $($(#[$doc])* $name($name),)*
        }

        impl IdentityEvent {
            /// The kind of this event.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(_) => Kind::$name,)*
                }
            }

            /// The body bytes of its frame.
            ///
            /// # Errors
            /// The event does not fit a frame.
            pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
                match self {
                    $(Self::$name(body) => codec::encode(body),)*
                }
            }

            /// Decodes the body of one of these kinds; `None` for another kind.
            pub(super) fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
                match self {
                    $(Self::$name(body) => Contents::contents(body, see),)*
                }
            }

            pub(super) fn decode(kind: Kind, body: &[u8]) -> Option<Result<Self, CodecError>> {
                match kind {
                    $(Kind::$name => Some(codec::decode(body).map(Self::$name)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$name> for Event {
            fn from(event: $name) -> Self {
                Self::Identity(IdentityEvent::$name(event))
            }
        })*
    };
}

identity_events! {
    /// A conversation began anew under its identity.
    SessionReset,
    /// A conversation ended.
    SessionClosed,
    /// A session advertised tool servers and tools.
    AliasesAdvertised,
    /// An identity was given out.
    PrincipalMinted,
    /// An identity was bound to an instance.
    PrincipalBound,
    /// An identity was seen at work.
    PrincipalObserved,
    /// An identity's instance is gone.
    PrincipalStopped,
    /// An identity came from a fork of another one.
    PrincipalForked,
    /// The client replaced history by a summary, and said so.
    Compacted,
    /// A turn began.
    TurnStarted,
    /// Somebody told the agent something.
    UserPrompted,
    /// An answer of the model was checked as a whole and accepted.
    TurnAccepted,
    /// A turn ended.
    TurnEnded,
    /// An agent protocol shows a call.
    ToolObserved,
    /// A call was handed to whoever carries it out.
    ToolDispatched,
    /// A hook published an outcome.
    HookPublished,
    /// A review changed its state.
    ReviewUpdated,
    /// An attempt of a call ended.
    ToolEnded,
    /// A result that was held back was released or refused.
    ResultSettled,
    /// Somebody was asked for permission.
    ApprovalAsked,
    /// The question was answered.
    ApprovalAnswered,
    /// The question was taken back.
    ApprovalRetracted,
    /// A sub-agent was started.
    SubagentSpawned,
    /// A sub-agent ended.
    SubagentEnded,
}
