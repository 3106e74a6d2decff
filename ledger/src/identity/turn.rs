//! Checks a turn as a whole, before anything of it is written, shown or dispatched.

use crate::id::{SessionId, ToolCallId};

/// Why a turn is not accepted. Nothing of it is on record then. Places only, never ids of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// Two calls of the turn have one provider id.
    #[error("calls {first} and {second} of the turn have the same provider id")]
    Repeated {
        /// Position of the first one, from 0.
        first: usize,
        /// Position of the second one.
        second: usize,
    },
    /// A call has the provider id of a call that has not ended.
    #[error("call {position} of the turn has the provider id of call {outstanding}, still open")]
    Outstanding {
        /// Position in the turn, from 0.
        position: usize,
        /// The call that is open.
        outstanding: ToolCallId,
    },
    /// The conversation is not known, or ended.
    #[error("no such conversation is open: {session}")]
    NoSession {
        /// Its number, from 0.
        session: SessionId,
    },
}

/// Checks provider ids, as keys, against each other and against those that are open.
///
/// A call without a provider id pairs with nothing and is in nobody's way. An id whose call has
/// ended may come again.
pub(crate) fn check<K: Ord + Copy>(
    keys: &[Option<K>],
    outstanding: impl Fn(K) -> Option<ToolCallId>,
) -> Result<(), TurnError> {
    let mut seen = std::collections::BTreeMap::new();
    for (position, key) in keys.iter().enumerate() {
        let Some(key) = *key else { continue };
        if let Some(first) = seen.insert(key, position) {
            return Err(TurnError::Repeated { first, second: position });
        }
        if let Some(outstanding) = outstanding(key) {
            return Err(TurnError::Outstanding { position, outstanding });
        }
    }
    Ok(())
}
