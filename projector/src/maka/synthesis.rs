//! The synthesis cache: a short text that was made from archived results stands for them, while
//! the question is about what it covers and nobody asks for the results themselves.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::archive::{self, ArchiveRef, Origin};
use super::event::{Content, Event};
use super::json::Json;
use super::ruler::UnitsPerToken;
use super::search;
use super::text::Text;
use super::texts::{self, Texts};

/// A block of the cache over archived results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synthesis {
    /// Its id.
    pub id: Text,
    /// The session.
    pub session: Text,
    /// Its time, in milliseconds.
    pub created_at: u64,
    /// Name of the high water that made it.
    pub high_water: Text,
    /// Place of the high water in time.
    pub high_water_seq: u64,
    /// Words of the questions that it answers.
    pub query_keys: Vec<Text>,
    /// The turns of its sources.
    pub turns: Vec<Text>,
    /// What it was made of.
    pub sources: Vec<ArchiveRef>,
    /// What it says.
    pub summary: Text,
    /// Its limits, joined.
    pub limitations: Text,
}

/// How much of the cache is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Blocks, at most.
    pub max_blocks: u64,
    /// Their estimated tokens, at most.
    pub max_tokens: u64,
    /// Estimated tokens of one, at most.
    pub max_block_tokens: u64,
    /// A newer result of the same kind makes a block useless.
    pub invalidate_on_new_tool_result: bool,
}

/// What was selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The events, blocks in the place of what they cover.
    pub events: Vec<Event>,
    /// Ids of the selected blocks.
    pub blocks: Vec<Text>,
    /// Their estimated tokens.
    pub tokens: u64,
    /// Blocks that were not used, and why.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Blocks that do not hold any more, and why.
    pub invalid: BTreeMap<&'static str, u64>,
}

/// Selects blocks for a question.
pub fn select(
    events: &[Event],
    query: &Text,
    blocks: &[Synthesis],
    limits: Limits,
    session: &Text,
    (per_token, texts): (UnitsPerToken, &Texts),
) -> Selected {
    let mut out = Selected::default();
    let mut chosen: Vec<&Synthesis> = Vec::new();
    let raw = raw_request(query);
    for block in blocks {
        if u64::try_from(chosen.len()).unwrap_or(u64::MAX) >= limits.max_blocks {
            *out.skipped.entry("max_blocks").or_default() += 1;
            continue;
        }
        if let Some(reason) = block.invalid(events, session) {
            *out.invalid.entry(reason).or_default() += 1;
            continue;
        }
        let tokens = per_token.tokens(block.render(texts).len());
        let skip = if tokens > limits.max_block_tokens {
            Some("max_block_tokens")
        } else if out.tokens + tokens > limits.max_tokens {
            Some("max_total_tokens")
        } else if !block.query_keys.iter().any(|key| asks_for(query, key)) {
            Some("coverage_miss")
        } else {
            raw
        };
        if let Some(reason) = skip {
            *out.skipped.entry(reason).or_default() += 1;
        } else if limits.invalidate_on_new_tool_result && block.is_outdated(events, query) {
            *out.invalid.entry("new_relevant_tool_result").or_default() += 1;
        } else {
            chosen.push(block);
            out.tokens += tokens;
        }
    }
    out.blocks = chosen.iter().map(|block| block.id.clone()).collect();
    out.events = with_blocks(events, &chosen, session, texts);
    out
}

fn with_blocks(
    events: &[Event],
    chosen: &[&Synthesis],
    session: &Text,
    texts: &Texts,
) -> Vec<Event> {
    let mut before: BTreeMap<usize, Vec<Event>> = BTreeMap::new();
    let mut covered = BTreeSet::new();
    for block in chosen {
        let places = events.iter().enumerate().filter(|(_, event)| block.covers(event));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        if let Some(first) = places.first() {
            before.entry(*first).or_default().push(block.event(session, texts));
        }
        covered.extend(places);
    }
    let mut out = Vec::new();
    for (place, event) in events.iter().enumerate() {
        out.extend(before.remove(&place).unwrap_or_default());
        if !covered.contains(&place) {
            out.push(event.clone());
        }
    }
    out
}

impl Synthesis {
    /// True for an event that the block stands for: a result, or its call.
    fn covers(&self, event: &Event) -> bool {
        match event.content() {
            Some(Content::Call { id, .. }) => self.sources.iter().any(|it| it.call_id == *id),
            _ => self.sources.iter().any(|it| it.event_id == *event.id()),
        }
    }

    /// Why the block does not hold any more.
    fn invalid(&self, events: &[Event], session: &Text) -> Option<&'static str> {
        if !session.is_empty() && self.session != *session {
            return Some("session_mismatch");
        }
        let named = self.id.is_empty() || self.summary.is_empty() || self.high_water.is_empty();
        let keys = self.query_keys.is_empty() || self.query_keys.iter().any(Text::is_empty);
        if named || keys || self.sources.is_empty() {
            return Some("source_missing");
        }
        self.sources.iter().find_map(|source| {
            let Some(event) = events.iter().find(|event| *event.id() == source.event_id) else {
                return Some("source_missing");
            };
            let found = event
                .response()
                .and_then(|response| archive::placeholder(&response.result, Origin::Stale));
            let in_turn = self.turns.contains(&event.text("turnId"));
            let same = found.is_some_and(|found| found == *source);
            (!same || !in_turn).then_some("source_hash_mismatch")
        })
    }

    /// True when a newer result of one of its tools is about the same.
    fn is_outdated(&self, events: &[Event], query: &Text) -> bool {
        let is_source = |event: &Event| self.sources.iter().any(|it| it.event_id == *event.id());
        let newest = events.iter().filter(|event| is_source(event));
        let newest = newest.map(|event| event.time().floor()).max().unwrap_or(self.created_at);
        let query = query.lowercase();
        events.iter().any(|event| {
            let Some(response) = event.response() else { return false };
            let of_tool = self.sources.iter().any(|source| source.tool == response.name);
            if event.time().floor() <= newest || is_source(event) || !of_tool {
                return false;
            }
            let found = search::search_text(event).lowercase();
            let keys = self.query_keys.iter().map(Text::lowercase);
            keys.into_iter().any(|key| found.contains(&key) || query.contains(&key))
        })
    }

    /// What the model sees.
    pub fn render(&self, texts: &Texts) -> Text {
        let list = |values: Vec<Text>| {
            let mut out = Text::new();
            for (place, value) in values.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                out.push(value);
            }
            out
        };
        let of = |get: &dyn Fn(&ArchiveRef) -> Text| {
            list(self.sources.iter().map(get).collect::<BTreeSet<Text>>().into_iter().collect())
        };
        let mut sources = Text::new();
        for (place, source) in self.sources.iter().enumerate() {
            sources.push_str(if place > 0 { "; " } else { "" });
            let values: [(&str, &Text); 5] = [
                ("event", &source.event_id),
                ("turn", self.turns.first().unwrap_or(&source.event_id)),
                ("artifact", &source.artifact_id),
                ("sha256", &Text::from(source.body.sha256.as_str())),
                ("tool", &source.tool),
            ];
            sources.push(&texts::fill(&texts.synthesis_source, &values));
        }
        let values: [(&str, &Text); 10] = [
            ("id", &texts::attribute(&self.id)),
            ("high_water", &texts::attribute(&self.high_water)),
            ("seq", &texts::number(self.high_water_seq)),
            ("summary", &self.summary),
            ("keys", &list(self.query_keys.clone())),
            ("turns", &list(self.turns.clone())),
            ("events", &of(&|source| source.event_id.clone())),
            ("artifacts", &of(&|source| source.artifact_id.clone())),
            ("limitations", &self.limitations),
            ("sources", &sources),
        ];
        texts::fill(&texts.synthesis, &values)
    }

    fn event(&self, session: &Text, texts: &Texts) -> Event {
        let named = |what: &Text| {
            let mut name = Text::from("synthesis-cache:");
            name.push(what);
            Json::String(name)
        };
        let json = Json::object([
            ("id", named(&self.id)),
            ("sessionId", Json::String(session.clone())),
            ("runId", named(&self.id)),
            ("turnId", named(&texts::number(self.high_water_seq))),
            ("invocationId", named(&self.id)),
            ("ts", Json::natural(self.created_at)),
            ("partial", Json::Bool(false)),
            ("role", Json::string("model")),
            ("author", Json::string("system")),
            (
                "content",
                Json::object([
                    ("kind", Json::string("text")),
                    ("text", Json::String(self.render(texts))),
                ]),
            ),
        ]);
        Event::from_json(json).expect("an object with an id and a text is an event")
    }
}

/// Why a question is answered by the results themselves alone.
pub fn raw_request(query: &Text) -> Option<&'static str> {
    const EXACT: [&str; 5] =
        ["exact", "verbatim", "original wording", "word-for-word", "full output"];
    const RAW: [&str; 9] = [
        "raw",
        "evidence",
        "proof",
        "show how",
        "debug",
        "source",
        "archive",
        "tool output",
        "original tool",
    ];
    let query = query.lowercase();
    let in_word = |unit: u16| {
        unit == 0x5f || u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric())
    };
    let has =
        |words: &[&str]| words.iter().any(|word| has_word(&query, &Text::from(*word), &in_word, 1));
    if has(&EXACT) {
        Some("exact_output_requested")
    } else {
        has(&RAW).then_some("raw_evidence_requested")
    }
}

/// True when a question has a key in it as a whole word.
fn asks_for(query: &Text, key: &Text) -> bool {
    let key = key.lowercase().trim();
    let in_word = |unit: u16| {
        u8::try_from(unit).is_ok_and(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte)
        })
    };
    !key.is_empty() && has_word(&query.lowercase(), &key, &in_word, key.len())
}

/// True when a text has a word, with nothing of a word before or behind it. A place that fails is
/// passed by `step` units.
fn has_word(text: &Text, word: &Text, in_word: &dyn Fn(u16) -> bool, step: usize) -> bool {
    let units = text.units();
    let mut at = 0;
    while let Some(rest) = units.get(at..).filter(|rest| rest.len() >= word.len()) {
        let Some(found) = rest.windows(word.len().max(1)).position(|it| it == word.units()) else {
            return false;
        };
        let start = at + found;
        let before = start.checked_sub(1).and_then(|before| units.get(before));
        let behind = units.get(start + word.len());
        if before.into_iter().chain(behind).all(|unit| !in_word(*unit)) {
            return true;
        }
        at = start + step.max(1);
    }
    false
}
