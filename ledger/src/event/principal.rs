//! Who acts: an identity that outlives names, processes and session ids.

use bincode::{Decode, Encode};

use crate::content::Content;
use crate::id::PrincipalId;

/// How an identity came to be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MintReason {
    /// An instance was launched.
    Launch,
    /// An instance reported by itself.
    BareStart,
    /// An instance took over a name whose holder is gone.
    Reclaim,
    /// A running instance was adopted.
    Adoption,
    /// An instance was forked.
    Fork,
    /// An instance without a parent process was found.
    Orphan,
}

/// What a new identity goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Continues {
    /// Nothing.
    New,
    /// Perhaps something; nobody proved it.
    Unknown,
}

/// An identity was given out.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PrincipalMinted {
    /// The identity.
    pub principal: PrincipalId,
    /// Why.
    pub reason: MintReason,
    /// What it goes on from.
    pub continues: Continues,
}

/// An identity was bound to an instance. It is never bound to another one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PrincipalBound {
    /// The identity.
    pub principal: PrincipalId,
    /// The instance's name, which is no identity: others may have it later.
    pub instance: Content,
    /// The process that the instance runs in, where it is known.
    pub process: Option<Content>,
}

/// An identity was seen at work.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PrincipalObserved {
    /// The identity.
    pub principal: PrincipalId,
    /// The tool's id of its session, which changes when it compacts, resumes or forks.
    pub tool_session: Option<Content>,
    /// When, Unix nanoseconds.
    pub at_unix_ns: u64,
}

/// Why an instance is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StopReason {
    /// It ended.
    Ended,
    /// It was removed, and what had bound it may still stand.
    Removed,
    /// Its launch failed: the identity was provisional.
    LaunchFailed,
}

/// An identity's instance is gone. The identity stays what it was and is never given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PrincipalStopped {
    /// The identity.
    pub principal: PrincipalId,
    /// Why.
    pub reason: StopReason,
}

/// An identity came from a fork of another one: a relation, not the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PrincipalForked {
    /// The new identity, minted before.
    pub principal: PrincipalId,
    /// The one it was forked from.
    pub parent: PrincipalId,
}
