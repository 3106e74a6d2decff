//! What the source measures: UTF-16 units, and tokens estimated from them.

use alloc::vec::Vec;

use super::event::{Content, Event};
use super::json::Json;
use super::text::Text;

/// Units in one estimated token, in thousandths; less than one counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitsPerToken(u64);

impl UnitsPerToken {
    /// Four units, which the source takes unless told otherwise.
    pub const FOUR: Self = Self::per_mille(4_000);

    /// So many thousandths of a unit.
    pub const fn per_mille(thousandths: u64) -> Self {
        Self(if thousandths < 1_000 { 1_000 } else { thousandths })
    }

    /// Whole units.
    pub const fn units(units: u64) -> Self {
        Self::per_mille(units.saturating_mul(1_000))
    }

    /// In thousandths of a unit.
    pub const fn thousandths(self) -> u64 {
        self.0
    }

    /// Estimated tokens of so many units, rounded up.
    pub fn tokens(self, units: usize) -> u64 {
        wide(units).saturating_mul(1_000).div_ceil(self.0)
    }

    /// Units that so many tokens stand for, rounded down.
    pub fn units_of(self, tokens: u64) -> usize {
        usize::try_from(tokens.saturating_mul(self.0) / 1_000).unwrap_or(usize::MAX)
    }
}

pub(super) fn wide(units: usize) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// Units that an event counts for.
pub fn event_units(event: &Event) -> usize {
    match event.content() {
        Some(Content::Text { text } | Content::Thinking { text, .. }) => text.len(),
        Some(Content::Call { name, args, .. }) => name.len() + args.units(),
        Some(Content::Response(response)) => response.name.len() + response.measured().units(),
        Some(Content::Error { message, .. }) => message.len(),
        Some(Content::Other { .. }) | None => 0,
    }
}

/// True when an event shows the model something.
pub fn is_content(event: &Event) -> bool {
    !event.is_hidden() && event_units(event) > 0
}

/// Estimated tokens of a set of events: all units that are not hidden, rounded up once.
pub fn events_tokens<'e>(
    events: impl IntoIterator<Item = &'e Event>,
    per_token: UnitsPerToken,
) -> u64 {
    let shown = events.into_iter().filter(|event| !event.is_hidden());
    per_token.tokens(shown.map(event_units).sum())
}

/// A turn: events that share a key, in the order of the events.
#[derive(Clone, Debug)]
pub struct Turn<'e> {
    /// Its key.
    pub key: Text,
    /// Estimated tokens, rounded up once.
    pub tokens: u64,
    /// Its events.
    pub events: Vec<&'e Event>,
}

/// Turns in the order in which they first appear.
pub fn turns<'e>(
    events: impl IntoIterator<Item = &'e Event>,
    per_token: UnitsPerToken,
) -> Vec<Turn<'e>> {
    let mut places = alloc::collections::BTreeMap::new();
    let mut turns: Vec<Turn<'e>> = Vec::new();
    for event in events {
        let key = event.turn_key();
        let place = *places.entry(key.clone()).or_insert(turns.len());
        match turns.get_mut(place) {
            Some(turn) => turn.events.push(event),
            None => turns.push(Turn { key, tokens: 0, events: alloc::vec![event] }),
        }
    }
    for turn in &mut turns {
        turn.tokens = events_tokens(turn.events.iter().copied(), per_token);
    }
    turns
}

/// Units of a message as the source sends it to its provider library.
pub fn message_units(message: &Json) -> usize {
    match message.get("content") {
        Some(Json::String(text)) => text.len(),
        Some(Json::Array(parts)) => parts.iter().map(part_units).sum(),
        Some(other) => other.units(),
        None => 0,
    }
}

fn part_units(part: &Json) -> usize {
    if !matches!(part, Json::Object(_) | Json::Array(_)) {
        return part.units();
    }
    let texts = ["text", "toolName", "toolCallId"];
    let texts = texts.iter().filter_map(|name| part.get(name)?.as_text()).map(Text::len);
    let values = ["input", "output"].iter().filter_map(|name| part.get(name)).map(Json::units);
    texts.chain(values).sum()
}

/// What a prompt is made of, in the fixed order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptUnits {
    /// The system prompt.
    pub system_prompt: usize,
    /// The canonical text of the tools.
    pub tool_schema: usize,
    /// All messages before the current one.
    pub prior_history: usize,
    /// The current message of the user.
    pub current_user: usize,
    /// What is put behind it.
    pub turn_tail: usize,
}

impl PromptUnits {
    /// Name, units and estimated tokens of each segment.
    pub fn segments(self, per_token: UnitsPerToken) -> [(&'static str, usize, u64); 5] {
        [
            ("system_prompt", self.system_prompt),
            ("tool_schema", self.tool_schema),
            ("prior_history", self.prior_history),
            ("current_user", self.current_user),
            ("turn_tail", self.turn_tail),
        ]
        .map(|(name, units)| (name, units, per_token.tokens(units)))
    }
}

/// Cuts a text that is longer than `max` units: `max` minus [`BOUND_RESERVE`] units without white
/// space at their end, then the marker.
pub fn bound(text: &Text, max: usize, marker: &Text) -> Text {
    if text.len() <= max {
        return text.clone();
    }
    let mut kept = text.head(max.saturating_sub(BOUND_RESERVE)).trim_end();
    kept.push(marker);
    kept
}

/// Units that [`bound`] leaves for its marker, whatever the marker is.
pub const BOUND_RESERVE: usize = 14;
