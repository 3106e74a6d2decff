//! Whether calls and results pair by the provider's own ids. Ids of ours are unique by
//! construction and must not hide that a provider's are not.

use alloc::collections::BTreeMap;

use ledger::id::ToolCallId;
use ledger::identity::desk::ContentKey;

use super::conversation::{Conversation, Entry, Message};

/// Why a rebuilt conversation cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairFault {
    /// Two calls that both wait for a result have one provider id.
    #[error("calls {first} and {second} have one provider id and are both open")]
    Repeated {
        /// The first call.
        first: ToolCallId,
        /// The second one.
        second: ToolCallId,
    },
    /// A result whose provider id no open call has.
    #[error("result of call {call} fits no open call")]
    NoCall {
        /// The call that it is the result of.
        call: ToolCallId,
    },
    /// A call before the end of the conversation has no result.
    #[error("call {call} has no result")]
    NoResult {
        /// The call.
        call: ToolCallId,
    },
}

/// Checks a conversation as it would be sent.
///
/// # Errors
/// The first fault, in the order of the messages.
pub fn check(conversation: &Conversation) -> Result<(), PairFault> {
    let mut open: BTreeMap<ContentKey, ToolCallId> = BTreeMap::new();
    for entry in conversation.entries() {
        match entry {
            Entry::Message(message) => {
                if let Some(call) = open.values().next() {
                    return Err(PairFault::NoResult { call: *call });
                }
                let Message::Assistant { calls, .. } = message else { continue };
                for call in calls {
                    let Some(id) = &call.provider_call else { continue };
                    if let Some(first) = open.insert(ContentKey::of(id), call.call) {
                        return Err(PairFault::Repeated { first, second: call.call });
                    }
                }
            }
            Entry::Result { call, .. } => {
                let Some(id) = &call.provider_call else { continue };
                if open.remove(&ContentKey::of(id)) != Some(call.call) {
                    return Err(PairFault::NoCall { call: call.call });
                }
            }
        }
    }
    Ok(())
}
