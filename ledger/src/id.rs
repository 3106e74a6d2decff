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
