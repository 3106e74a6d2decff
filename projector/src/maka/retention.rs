//! Whole-turn retention: the newest turns that fit are kept, each with all of its events.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::event::Event;
use super::ruler::{self, UnitsPerToken, wide};

/// How much history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Estimated tokens at most; the newest turn stays whatever its size.
    pub max_tokens: Option<u64>,
    /// Turns at most.
    pub max_turns: Option<u64>,
    /// So many of the newest turns stay in any case.
    pub min_recent_turns: u64,
}

/// The events that stay, in their order.
///
/// Turns are made of events that show something; the walk goes from the newest to the oldest
/// and ends at the first turn that does not fit. An event that shows nothing stays with its turn.
pub fn keep(events: &[Event], policy: Retention, per_token: UnitsPerToken) -> Vec<Event> {
    let content = events.iter().filter(|event| ruler::is_content(event));
    let turns = ruler::turns(content, per_token);
    let tokens: Vec<u64> = turns.iter().map(|turn| turn.tokens).collect();
    let newest = turns.iter().rev().take(kept(&tokens, policy));
    let keys: BTreeSet<_> = newest.map(|turn| &turn.key).collect();
    events.iter().filter(|event| keys.contains(&event.turn_key())).cloned().collect()
}

/// How many of the newest turns stay, given the estimated tokens of each, oldest first.
pub fn kept(turn_tokens: &[u64], policy: Retention) -> usize {
    let mut kept = 0;
    let mut tokens = 0;
    for turn in turn_tokens.iter().rev() {
        let count = wide(kept);
        let must = count < policy.min_recent_turns;
        let too_many = policy.max_turns.is_some_and(|max| count >= max);
        let too_much = policy.max_tokens.is_some_and(|max| tokens > 0 && tokens + turn > max);
        if !must && (too_many || too_much) {
            break;
        }
        kept += 1;
        tokens += turn;
    }
    kept
}
