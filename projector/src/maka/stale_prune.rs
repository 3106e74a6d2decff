//! Stale tool results: large results of older turns are replaced by placeholders, each only when
//! its archive is there and is the archive of exactly that result.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::archive::{self, ArchiveRef, Body, Origin, Placeholder};
use super::event::{Event, Response};
use super::ruler::UnitsPerToken;
use super::text::Text;

/// When a result is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalePrune {
    /// Results of more estimated tokens are replaced.
    pub max_result_tokens: u64,
    /// Results of so many of the newest turns stay.
    pub min_recent_turns_full: u64,
}

/// A result that would be replaced if its archive were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its event.
    pub event_id: Text,
    /// Its turn.
    pub turn: Text,
    /// The provider's id of the call.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The text to archive.
    pub serialized: Text,
    /// What is known of it.
    pub body: Body,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The events, some of them with a placeholder.
    pub events: Vec<Event>,
    /// Replaced results.
    pub results: u64,
    /// Results that stayed because their archive is missing or is not theirs.
    pub archive_failures: u64,
    /// Estimated tokens of the replaced results.
    pub tokens_before: u64,
    /// Estimated tokens of their placeholders.
    pub tokens_after: u64,
}

/// The results that are to be archived before [`prune`].
pub fn candidates(
    events: &[Event],
    policy: StalePrune,
    per_token: UnitsPerToken,
) -> Vec<Candidate> {
    let recent = recent_turns(events, policy.min_recent_turns_full);
    let found = events.iter().filter_map(|event| candidate(event, policy, per_token, &recent));
    found.collect()
}

/// Replaces stale results. The events given are not changed.
pub fn prune(
    events: &[Event],
    policy: StalePrune,
    per_token: UnitsPerToken,
    archive: &[ArchiveRef],
    read_instructions: &str,
) -> Pruned {
    let recent = recent_turns(events, policy.min_recent_turns_full);
    let archive: BTreeMap<&Text, &ArchiveRef> =
        archive.iter().map(|reference| (&reference.event_id, reference)).collect();
    let mut out = Pruned::default();
    for event in events {
        let Some(found) = candidate(event, policy, per_token, &recent) else {
            out.events.push(event.clone());
            continue;
        };
        let reference = archive.get(&found.event_id).filter(|reference| {
            reference.matches(&found.event_id, &found.call_id, &found.tool, &found.body)
        });
        let Some(reference) = reference else {
            out.archive_failures += 1;
            out.events.push(event.clone());
            continue;
        };
        let placeholder = Placeholder {
            origin: Origin::Stale,
            place: &found.event_id,
            call_id: &found.call_id,
            tool: &found.tool,
            artifact_id: &reference.artifact_id,
            body: &found.body,
            read_instructions,
            supersession: None,
        };
        let placeholder = placeholder.json();
        out.results += 1;
        out.tokens_before += found.body.tokens;
        out.tokens_after += per_token.tokens(placeholder.units());
        out.events.push(event.with_result(placeholder));
    }
    out
}

fn candidate(
    event: &Event,
    policy: StalePrune,
    per_token: UnitsPerToken,
    recent: &BTreeSet<Text>,
) -> Option<Candidate> {
    let Response { id, name, result, provider_output, .. } = event.response()?;
    let untouched = event.is_partial() || event.is_hidden() || provider_output.is_some();
    if untouched || recent.contains(&event.turn_key()) {
        return None;
    }
    if archive::placeholder(result, Origin::Stale).is_some() {
        return None;
    }
    let serialized = archive::serialize(result);
    // The length decides first: hashing what stays would cost for nothing.
    if per_token.tokens(serialized.len()) <= policy.max_result_tokens {
        return None;
    }
    let body = Body::of(&serialized, per_token);
    Some(Candidate {
        event_id: event.id().clone(),
        turn: event.text("turnId"),
        call_id: id.clone(),
        tool: name.clone(),
        serialized,
        body,
    })
}

/// Keys of the newest turns, by first appearance.
fn recent_turns(events: &[Event], count: u64) -> BTreeSet<Text> {
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for event in events {
        let key = event.turn_key();
        if seen.insert(key.clone()) {
            order.push(key);
        }
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let start = order.len().saturating_sub(count);
    order.drain(start..).collect()
}
