//! Ids for calls of older snapshots that have none: made up in memory, the same each time.
//!
//! They live in a namespace of their own and are derived from where a call stands and from
//! nothing that may change or tell something: no title, no usage, no arguments, no provider id.
//! Nothing is written when they are assigned.

use core::fmt;
use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::id::ToolCallId;

const DOMAIN: &[u8] = b"counterfold legacy call 1";

/// A call of an older snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LegacyId([u8; 16]);

impl fmt::Display for LegacyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("legacy-")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A call by an id that was minted for it, or by one of the reserved namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKey {
    /// Minted.
    Minted(ToolCallId),
    /// Assigned.
    Legacy(LegacyId),
}

/// Where a call stands in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    /// Message of the conversation, from 0.
    pub message: u32,
    /// Call of the message, from 0.
    pub position: u32,
}

/// One call as a snapshot has it.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// Where it stands.
    pub anchor: Anchor,
    /// The provider's id, to pair results with.
    pub provider_call: &'a [u8],
    /// The id that the snapshot keeps for it, where it was saved with one.
    pub saved: Option<CallKey>,
}

/// The id of a call without one.
pub fn assign(session: &[u8], anchor: Anchor) -> LegacyId {
    let mut hasher = Sha256::new();
    hasher.update(DOMAIN);
    hasher.update((session.len() as u64).to_le_bytes());
    hasher.update(session);
    hasher.update(anchor.message.to_le_bytes());
    hasher.update(anchor.position.to_le_bytes());
    let digest: [u8; 32] = hasher.finalize().into();
    let mut id = [0; 16];
    id.copy_from_slice(digest.first_chunk::<16>().expect("a digest has 32 bytes"));
    LegacyId(id)
}

/// The ids of all calls of a snapshot: what it saved, else assigned ones.
pub fn assign_all(session: &[u8], calls: &[Occurrence<'_>]) -> Vec<CallKey> {
    let key = |call: &Occurrence<'_>| {
        call.saved.unwrap_or_else(|| CallKey::Legacy(assign(session, call.anchor)))
    };
    calls.iter().map(key).collect()
}

/// Why results and calls of a snapshot are not paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// Two open calls have the provider id of a result: neither is taken.
    #[error("result {result} fits calls {first} and {second}")]
    Ambiguous {
        /// Position of the result, from 0.
        result: usize,
        /// Position of the first call.
        first: usize,
        /// Position of the second one.
        second: usize,
    },
}

/// A message of a snapshot, as far as pairing needs it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A call, by its position among the calls.
    Call {
        /// The provider's id.
        provider_call: &'a [u8],
    },
    /// A result.
    Result {
        /// The provider's id of its call.
        provider_call: &'a [u8],
    },
}

/// Pairs results with calls by provider ids, in order: for each result the position of its call,
/// or `None` for one that no open call fits. Names and neighborhood pair nothing.
///
/// # Errors
/// A result fits two open calls.
pub fn pair(steps: &[Step<'_>]) -> Result<Vec<Option<usize>>, PairError> {
    let mut open: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    let mut calls = 0;
    let mut pairs = Vec::new();
    for step in steps {
        match step {
            Step::Call { provider_call } => {
                open.entry(provider_call).or_default().push(calls);
                calls += 1;
            }
            Step::Result { provider_call } => {
                let found = match open.get(provider_call).map(Vec::as_slice) {
                    None | Some([]) => None,
                    Some([call]) => Some(*call),
                    Some([first, second, ..]) => {
                        let (result, first, second) = (pairs.len(), *first, *second);
                        return Err(PairError::Ambiguous { result, first, second });
                    }
                };
                open.remove(provider_call);
                pairs.push(found);
            }
        }
    }
    Ok(pairs)
}
