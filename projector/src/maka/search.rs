//! History search: events that share words with the query come back, with their neighbors.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::archive::{self, Origin};
use super::event::{Content, Event};
use super::ruler::{self, UnitsPerToken, wide};
use super::text::Text;

/// Terms of a query that are looked for, at most.
pub const TERMS_MAX: usize = 16;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Events that are found at most.
    pub max_results: u64,
    /// Neighbors on each side of a found event.
    pub around: u64,
    /// Estimated tokens of what comes back at most.
    pub max_tokens: u64,
}

/// A found event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its place among the events.
    pub place: usize,
    /// Its event.
    pub event_id: Text,
    /// Its turn.
    pub turn: Text,
    /// Units of the terms that it holds.
    pub score: u64,
    /// These terms.
    pub terms: Vec<Text>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The hits and their neighbors, in their order.
    pub events: Vec<Event>,
    /// Estimated tokens of these events.
    pub tokens: u64,
    /// Events that would have passed the limit.
    pub skipped: u64,
}

/// The terms of a query: small letters, digits and `_./:-`, two or more, each once.
pub fn terms(query: &Text) -> Vec<Text> {
    let query = query.lowercase();
    let in_term = |unit: u16| {
        u8::try_from(unit).is_ok_and(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_./:-".contains(&byte)
        })
    };
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for word in query.units().split(|unit| !in_term(*unit)).filter(|word| word.len() >= 2) {
        let term = Text::from_units(word);
        if out.len() < TERMS_MAX && seen.insert(term.clone()) {
            out.push(term);
        }
    }
    out
}

/// The text of an event that is searched.
pub fn search_text(event: &Event) -> Text {
    let join = |parts: &[Option<Text>]| {
        let parts: Vec<&Text> = parts.iter().flatten().collect();
        let mut out = Text::new();
        for (place, part) in parts.into_iter().enumerate() {
            out.push_str(if place > 0 { " " } else { "" });
            out.push(part);
        }
        out
    };
    match event.content() {
        Some(Content::Text { text } | Content::Thinking { text, .. }) => text.clone(),
        Some(Content::Call { name, args, .. }) => join(&[Some(name.clone()), args.stringify()]),
        Some(Content::Response(response)) => {
            let name = Some(response.name.clone());
            match archive::placeholder(&response.result, Origin::Stale) {
                None => join(&[name, response.result.stringify()]),
                Some(reference) => join(&[
                    name,
                    Some(reference.tool),
                    Some(reference.call_id),
                    Some(reference.artifact_id),
                    Some(reference.body.sha256.into()),
                    Some(Text::from(Origin::Stale.reason())),
                ]),
            }
        }
        Some(Content::Error { message, reason, code }) => {
            join(&[Some(message.clone()), reason.clone(), code.clone()])
        }
        Some(Content::Other { .. }) | None => Text::new(),
    }
}

/// Searches the events that are not hidden.
pub fn search(events: &[Event], query: &Text, limits: Search, per_token: UnitsPerToken) -> Found {
    let terms = terms(query);
    let mut hits: Vec<Hit> =
        events.iter().enumerate().filter_map(|(place, event)| hit(place, event, &terms)).collect();
    let time = |hit: &Hit| events.get(hit.place).map_or(0, |event| event.time().floor());
    hits.sort_by_cached_key(|hit| Reverse((hit.score, time(hit), hit.event_id.clone())));
    hits.truncate(usize::try_from(limits.max_results).unwrap_or(usize::MAX));
    let mut out = Found::default();
    let around = usize::try_from(limits.around).unwrap_or(usize::MAX);
    let wanted: BTreeSet<usize> = hits
        .iter()
        .flat_map(|hit| {
            let end = hit.place.saturating_add(around).min(events.len().saturating_sub(1));
            hit.place.saturating_sub(around)..=end
        })
        .collect();
    for event in wanted.into_iter().filter_map(|place| events.get(place)) {
        let tokens = ruler::events_tokens([event], per_token);
        if out.tokens + tokens > limits.max_tokens {
            out.skipped += 1;
            continue;
        }
        out.tokens += tokens;
        out.events.push(event.clone());
    }
    out.hits = hits;
    out
}

fn hit(place: usize, event: &Event, terms: &[Text]) -> Option<Hit> {
    if event.is_hidden() {
        return None;
    }
    let text = search_text(event).lowercase();
    let found: Vec<Text> = terms.iter().filter(|term| text.contains(term)).cloned().collect();
    let score = found.iter().map(|term| wide(term.len())).sum();
    (score > 0).then(|| Hit {
        place,
        event_id: event.id().clone(),
        turn: event.turn_key(),
        score,
        terms: found,
    })
}

/// Puts found events among the kept ones, in the order of the ledger. An event in both comes
/// once, as it was kept.
pub fn merge(ledger: &[Event], kept: &[Event], found: &[Event]) -> Vec<Event> {
    use alloc::collections::BTreeMap;
    let mut by_id: BTreeMap<&Text, &Event> =
        found.iter().map(|event| (event.id(), event)).collect();
    by_id.extend(kept.iter().map(|event| (event.id(), event)));
    ledger.iter().filter_map(|event| by_id.get(event.id()).copied()).cloned().collect()
}
