//! Archive retrieval: placeholders are given their results back, newest first, within limits.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::archive::{self, ArchiveRef, Origin};
use super::event::Event;
use super::stable;
use super::text::Text;

/// Which placeholders are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All.
    Eager,
    /// Those of turns that the history search found.
    HistorySearchGated,
}

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retrieval {
    /// Which placeholders are looked at.
    pub mode: Mode,
    /// Results that are given back at most.
    pub max_results: u64,
    /// Their estimated tokens at most, one by one and together.
    pub max_tokens: u64,
    /// Bytes of one of them at most.
    pub max_bytes: u64,
}

/// What was done. Reasons count in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retrieved {
    /// The events, some of them with their result back.
    pub events: Vec<Event>,
    /// What was given back.
    pub sources: Vec<ArchiveRef>,
    /// Their estimated tokens.
    pub tokens: u64,
    /// Placeholders that stayed unread, and why.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Placeholders whose archive could not be read, and why.
    pub failures: BTreeMap<&'static str, u64>,
}

/// Gives results back. `read` gives an archived text or the reason why there is none; it is not
/// asked for what a limit leaves out.
pub fn retrieve(
    events: &[Event],
    limits: Retrieval,
    found_turns: &BTreeSet<Text>,
    mut read: impl FnMut(&ArchiveRef) -> Result<Text, &'static str>,
) -> Retrieved {
    let mut out = Retrieved::default();
    let mut results = BTreeMap::new();
    for event in events.iter().rev() {
        let reference = event
            .response()
            .and_then(|response| archive::placeholder(&response.result, Origin::Stale));
        let Some(reference) = reference else { continue };
        if u64::try_from(out.sources.len()).unwrap_or(u64::MAX) >= limits.max_results {
            break;
        }
        let in_found_turn = found_turns.contains(&event.turn_key());
        if let Some(reason) = skip(&reference, limits, out.tokens, in_found_turn) {
            *out.skipped.entry(reason).or_default() += 1;
            continue;
        }
        let text = read(&reference).and_then(|text| {
            let same = stable::text_hash(&text) == reference.body.sha256;
            if same { Ok(text) } else { Err("corrupt") }
        });
        match text {
            Ok(text) => {
                results.insert(event.id(), archive::deserialize(&text));
                out.tokens += reference.body.tokens;
                out.sources.push(reference);
            }
            Err(reason) => *out.failures.entry(reason).or_default() += 1,
        }
    }
    let hydrated = events.iter().map(|event| match results.get(event.id()) {
        Some(result) => event.with_result(result.clone()),
        None => event.clone(),
    });
    out.events = hydrated.collect();
    out
}

fn skip(
    reference: &ArchiveRef,
    limits: Retrieval,
    so_far: u64,
    in_found_turn: bool,
) -> Option<&'static str> {
    let body = &reference.body;
    if limits.mode == Mode::HistorySearchGated && !in_found_turn {
        Some("history_search_gate")
    } else if body.bytes > limits.max_bytes {
        Some("max_bytes")
    } else if body.tokens > limits.max_tokens {
        Some("max_candidate_tokens")
    } else if so_far + body.tokens > limits.max_tokens {
        Some("max_total_tokens")
    } else {
        None
    }
}
