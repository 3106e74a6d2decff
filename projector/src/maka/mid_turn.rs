//! Capacity inside of a turn: how large the next request will be, and where its beginning may be
//! folded without parting a call from its result.

use alloc::collections::BTreeMap;

use super::event::{Content, Event};
use super::ruler::UnitsPerToken;
use super::text::Text;

/// What is known of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Input tokens of the last request as the provider counted them, and how many UTF-16 units
    /// came in or went away since.
    Usage {
        /// The input tokens.
        tokens: u64,
        /// The difference.
        delta_units: i64,
    },
    /// Nothing but its own units.
    Cold {
        /// The units.
        units: u64,
    },
}

/// Estimated tokens of the next request.
pub fn next_request_tokens(known: Known, per_token: UnitsPerToken) -> u64 {
    let tokens = |units: u64| per_token.tokens(usize::try_from(units).unwrap_or(usize::MAX));
    match known {
        Known::Cold { units } => tokens(units),
        Known::Usage { tokens: before, delta_units } => {
            let delta = tokens(delta_units.unsigned_abs());
            if delta_units < 0 {
                before.saturating_sub(delta)
            } else {
                before.saturating_add(delta)
            }
        }
    }
}

/// True when a request of so many tokens is to be folded before it goes out.
pub fn exceeds_high_water(tokens: u64, window: u64, reserve: u64) -> bool {
    tokens > window.saturating_sub(reserve).max(1)
}

/// True when a request of so many tokens is not sent.
pub fn exceeds_window(tokens: u64, window: u64) -> bool {
    tokens > window
}

/// Where the fold is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the first step: the message of the turn stays behind the fold.
    PreTurn,
    /// Between two steps: the message is folded and shown again.
    MidTurn,
}

/// How many events are folded, from the first.
///
/// # Errors
/// There is no place where that is safe.
pub fn boundary(
    events: &[Event],
    anchor_id: &Text,
    phase: Phase,
    reserve_tail_events: u64,
) -> Result<usize, &'static str> {
    const NONE: &str = "no_safe_completed_span";
    let anchor = events.iter().position(|event| event.id() == anchor_id).ok_or(NONE)?;
    let turn = events.get(anchor).map(|event| event.text("turnId")).unwrap_or_default();
    let stays = |event: &Event| {
        let is_anchor = phase == Phase::PreTurn && event.id() == anchor_id;
        event.is_partial() || is_anchor || (event.text("turnId") == turn && is_steering(event))
    };
    let reserve = usize::try_from(reserve_tail_events).unwrap_or(usize::MAX);
    let first = events.iter().position(stays).unwrap_or(events.len());
    let cut = safe_cut(events, first.min(events.len().saturating_sub(reserve))).ok_or(NONE)?;
    let fits = match phase {
        Phase::MidTurn => cut > anchor && cut >= 2,
        Phase::PreTurn => cut <= anchor,
    };
    if fits { Ok(cut) } else { Err(NONE) }
}

fn is_steering(event: &Event) -> bool {
    let steering = event.get("content").and_then(|content| content.get("steering"));
    matches!(event.content(), Some(Content::Text { .. }))
        && steering.is_some_and(super::json::Json::is_true)
}

/// The largest cut, from 1, that is not above `max` and parts no call from its result.
fn safe_cut(events: &[Event], max: usize) -> Option<usize> {
    let mut spans: BTreeMap<&Text, (Option<usize>, Option<usize>)> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        match event.content() {
            Some(Content::Call { id, .. }) => spans.entry(id).or_default().0 = Some(place),
            Some(Content::Response(it)) => spans.entry(&it.id).or_default().1 = Some(place),
            _ => {}
        }
    }
    Some(settle(max, &spans)).filter(|cut| *cut >= 1)
}

/// Moves a cut before every pair that it parts and every call that is open.
fn settle(mut cut: usize, spans: &BTreeMap<&Text, (Option<usize>, Option<usize>)>) -> usize {
    loop {
        let pushed = spans.values().filter_map(|span| match span {
            (Some(call), Some(response)) => {
                let (first, last) = (*call.min(response), *call.max(response));
                (first < cut && cut <= last).then_some(first)
            }
            (Some(call), None) => (*call < cut).then_some(*call),
            (None, _) => None,
        });
        match pushed.min() {
            Some(first) => cut = first,
            None => return cut,
        }
    }
}
