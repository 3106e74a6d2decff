//! Identities: minting, validation before anything is written, and what each id joins.
//!
//! ```text
//! event -> [desk] next ids, open calls, revisions -> [journal] appends the next one
//!            | [lanes] who carries a call out    | [principals] who acts
//! ```
//!
//! The [`Desk`](desk::Desk) is a fold over events: a recorder that goes on with an old recording
//! and one that never stopped have the same one. A provider's id is an attribute here and never a
//! key; ids give no right to anything.

pub mod desk;
#[cfg(feature = "fs")]
pub mod journal;
pub mod lanes;
pub mod legacy;
pub mod principals;
pub mod turn;

use core::fmt;

use crate::id::{RunId, ToolCallId};

/// A call by the name that is unique over all recordings: its run and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvocationId {
    /// The run.
    pub run: RunId,
    /// The call in it.
    pub call: ToolCallId,
}

impl fmt::Display for InvocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call-{}-{}", self.run, u64::from(self.call.number()) + 1)
    }
}
