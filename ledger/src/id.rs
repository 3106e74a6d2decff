//! The identities of a recording: ours, minted once, each its own type.
//!
//! Provider and client ids (`call_...`, `msg_...`, `thread-id`) are attributes of events and
//! never keys: providers repeat them, clients rewrite them.

use core::fmt;

use bincode::{Decode, Encode};

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode,
        )]
        pub struct $name(u32);

        impl $name {
            /// The id with this number; the first one of a run is 0.
            pub fn new(number: u32) -> Self {
                Self(number)
            }

            /// Position in the run, from 0.
            pub fn number(self) -> u32 {
                self.0
            }

            /// Position in the run as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number_id! {
    /// A conversation: one growing message list, however many connections carry it.
    SessionId
}
number_id! {
    /// A captured request. Commands and reports number requests from 1: see [`RequestId::ordinal`].
    RequestId
}
number_id! {
    /// A tool call, minted when the answer that asks for it is recorded.
    ToolCallId
}
number_id! {
    /// A part of a request, numbered as parts were first seen in the run.
    PartNo
}
number_id! {
    /// A literal with slots that parts share, numbered as first seen.
    SkeletonNo
}
number_id! {
    /// A turn of a conversation: from a prompt to the point where the agent stops.
    TurnId
}
number_id! {
    /// A question for permission. Never used for a second question.
    AskId
}

/// Which question a review answers. One call has at most one review of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Job {
    /// May the call be made?
    Action,
    /// May the permission be given?
    Permission,
    /// May the result be shown to the model?
    Inbound,
}

impl Job {
    /// All jobs.
    pub const ALL: [Self; 3] = [Self::Action, Self::Permission, Self::Inbound];

    /// The word in ids and listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Permission => "permission",
            Self::Inbound => "inbound",
        }
    }
}

/// A record of a hook: an outcome of its own, or the review of a call.
///
/// The two are different variants, so that no outcome can have the id of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum HookId {
    /// An outcome, numbered as published.
    Outcome(u32),
    /// The review of a call for one job: nothing else decides its id.
    Review {
        /// The call.
        call: ToolCallId,
        /// The job.
        job: Job,
    },
}

impl HookId {
    /// The id of the review of a call. The same call and job have the same id, always.
    pub fn review(call: ToolCallId, job: Job) -> Self {
        Self::Review { call, job }
    }

    /// True for reviews.
    pub fn is_review(self) -> bool {
        matches!(self, Self::Review { .. })
    }
}

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outcome(number) => write!(f, "hook-{}", u64::from(*number) + 1),
            Self::Review { call, job } => {
                write!(f, "review-{}-{}", u64::from(call.number()) + 1, job.name())
            }
        }
    }
}

/// A place in the order of publication of a conversation: positive, rising, gaps allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Revision(core::num::NonZeroU64);

impl Revision {
    /// The first one.
    pub const FIRST: Self = Self(core::num::NonZeroU64::MIN);

    /// The revision with this number; `None` for 0.
    pub fn new(number: u64) -> Option<Self> {
        core::num::NonZeroU64::new(number).map(Self)
    }

    /// Its number, at least 1.
    pub fn number(self) -> u64 {
        self.0.get()
    }

    /// The one behind it; `None` at the end of the numbers.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

/// Who acts, over restarts and renames of a session: 128 random bits that this program gave out.
///
/// It proves nothing about a person and gives no right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct PrincipalId([u8; 16]);

impl PrincipalId {
    /// The id with these bytes. Only [`crate::identity`] mints new ones.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the 32 hex digits that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrincipalId({self})")
    }
}

impl RequestId {
    /// The number that people see: 1 for the first request of the run.
    pub fn ordinal(self) -> u64 {
        u64::from(self.0) + 1
    }

    /// The id of the request that people number `ordinal`; `None` for 0 or a number too large.
    pub fn from_ordinal(ordinal: u64) -> Option<Self> {
        u32::try_from(ordinal.checked_sub(1)?).ok().map(Self)
    }
}

/// A run: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct RunId([u8; 16]);

impl RunId {
    /// The id with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}
