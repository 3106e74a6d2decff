//! A deterministic block: what stands for folded events without asking a model.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::archive::ArchiveRef;
use super::event::{Content, Event};
use super::json::Json;
use super::ruler::{self, UnitsPerToken, wide};
use super::stable;
use super::text::Text;
use super::texts::{self, Texts};

/// Units of an excerpt of one event, at most.
pub const EXCERPT_UNITS: usize = 220;
/// Units that a summary has in any case.
pub const SUMMARY_UNITS_MIN: usize = 80;
/// The name of a high water that was given none.
pub const HIGH_WATER_NAME: &str = "history-compact-high-water";

/// What a block stands for: each list once, sorted by code unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Keys of the turns.
    pub turns: Vec<Text>,
    /// Ids of the events.
    pub events: Vec<Text>,
    /// Kinds of content.
    pub kinds: Vec<Text>,
    /// Hashes of the contents.
    pub sha256: Vec<Text>,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its id, over everything that decides what it says.
    pub id: String,
    /// The session.
    pub session: Text,
    /// Its time, in milliseconds.
    pub created_at: u64,
    /// Name of the high water that made it.
    pub high_water: Text,
    /// Place of the high water in time.
    pub high_water_seq: u64,
    /// What it stands for.
    pub coverage: Coverage,
    /// What it says.
    pub summary: Text,
    /// How many of its events are archived.
    pub archived: u64,
    /// Its estimated tokens.
    pub tokens: u64,
}

/// How blocks are made.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'a> {
    /// Name of the high water.
    pub high_water: &'a Text,
    /// Estimated tokens of a summary, at most.
    pub max_summary_tokens: u64,
    /// How tokens are estimated.
    pub per_token: UnitsPerToken,
    /// The texts.
    pub texts: &'a Texts,
}

/// The hash of what an event holds.
pub fn content_hash(event: &Event) -> Text {
    let content = event.get("content").and_then(Json::stringify);
    let text = content.unwrap_or_else(|| Text::from("{}"));
    Text::from(stable::text_hash(&text))
}

impl Coverage {
    /// Of these events.
    pub fn of(events: &[&Event]) -> Self {
        let list = |of: &dyn Fn(&Event) -> Text| {
            let texts = events.iter().map(|event| of(event)).filter(|text| !text.is_empty());
            texts.collect::<BTreeSet<Text>>().into_iter().collect()
        };
        Self {
            turns: list(&Event::turn_key),
            events: list(&|event| event.id().clone()),
            kinds: list(&Event::kind),
            sha256: list(&content_hash),
        }
    }

    fn json(&self) -> Json {
        let list = |texts: &[Text]| Json::Array(texts.iter().cloned().map(Json::String).collect());
        Json::object([
            ("turnIds", list(&self.turns)),
            ("runtimeEventIds", list(&self.events)),
            ("contentKinds", list(&self.kinds)),
            ("bodySha256", list(&self.sha256)),
        ])
    }
}

impl Block {
    /// Folds events, with the archives of those that have one.
    pub fn fold(events: &[&Event], archive: &[&ArchiveRef], maker: Maker<'_>) -> Self {
        let coverage = Coverage::of(events);
        let summary = summary(events, &coverage, maker);
        let session = events.first().map(|event| event.text("sessionId"));
        let session = session.unwrap_or_else(|| Text::from("unknown-session"));
        let times = events.iter().map(|event| event.time().floor());
        let created_at = times.max().unwrap_or(0).max(1);
        let id = Json::object([
            ("version", Json::natural(1)),
            ("sessionId", Json::String(session.clone())),
            ("highWaterName", Json::String(maker.high_water.clone())),
            ("highWaterSeq", Json::natural(created_at)),
            ("coverage", coverage.json()),
            ("summary", Json::String(summary.clone())),
        ]);
        let id = stable::short_id("hcompact-", &id.stringify().unwrap_or_default());
        let mut block = Self {
            id,
            session,
            created_at,
            high_water: maker.high_water.clone(),
            high_water_seq: created_at,
            coverage,
            summary,
            archived: wide(archive.len()),
            tokens: 0,
        };
        block.tokens = maker.per_token.tokens(block.render(maker.texts).len());
        block
    }

    /// What the model sees.
    pub fn render(&self, texts: &Texts) -> Text {
        let count = |list: &[Text]| texts::number(wide(list.len()));
        let archived = match self.archived {
            0 => Text::new(),
            count => texts::fill(&texts.block_archived, &[("count", &texts::number(count))]),
        };
        let mut limitations = texts.block_limitations.clone();
        if self.archived == 0 {
            limitations.push_str(&texts.block_unarchived);
        }
        let values: [(&str, &Text); 10] = [
            ("id", &texts::attribute(&Text::from(self.id.as_str()))),
            ("high_water", &texts::attribute(&self.high_water)),
            ("seq", &texts::number(self.high_water_seq)),
            ("version", &texts::number(1)),
            ("summary", &self.summary),
            ("events", &count(&self.coverage.events)),
            ("turns", &count(&self.coverage.turns)),
            ("kinds", &joined(&self.coverage.kinds)),
            ("archived", &archived),
            ("limitations", &Text::from(limitations)),
        ];
        texts::fill(&texts.block, &values)
    }

    /// The event that stands in the place of the folded ones.
    pub fn event(&self, texts: &Texts) -> Event {
        standing_event(
            &self.id,
            &self.session,
            self.created_at,
            self.high_water_seq,
            self.render(texts),
        )
    }
}

/// The event that shows a block or a checkpoint.
pub(super) fn standing_event(id: &str, session: &Text, time: u64, seq: u64, text: Text) -> Event {
    let named = |what: &str| Json::string(&alloc::format!("history-compact:{what}"));
    let json = Json::object([
        ("id", named(id)),
        ("sessionId", Json::String(session.clone())),
        ("runId", named(id)),
        ("turnId", named(&alloc::format!("{seq}"))),
        ("invocationId", named(id)),
        ("ts", Json::natural(time)),
        ("partial", Json::Bool(false)),
        ("role", Json::string("user")),
        ("author", Json::string("system")),
        ("content", Json::object([("kind", Json::string("text")), ("text", Json::String(text))])),
    ]);
    Event::from_json(json).expect("an object with an id and a text is an event")
}

fn joined(list: &[Text]) -> Text {
    let mut out = Text::new();
    for (place, text) in list.iter().enumerate() {
        out.push_str(if place > 0 { ", " } else { "" });
        out.push(text);
    }
    out
}

/// The units of a summary at most.
fn summary_units(maker: Maker<'_>) -> usize {
    maker.per_token.units_of(maker.max_summary_tokens).max(SUMMARY_UNITS_MIN)
}

fn summary(events: &[&Event], coverage: &Coverage, maker: Maker<'_>) -> Text {
    let texts = maker.texts;
    let turns = texts::number(wide(coverage.turns.len()));
    let count = texts::number(wide(coverage.events.len()));
    let header = [("turns", &turns), ("events", &count)];
    let mut out = texts::fill(&texts.summary_header, &header);
    out.push_str("\n");
    out.push(&texts::fill(&texts.summary_kinds, &[("kinds", &joined(&coverage.kinds))]));
    out.push_str("\n");
    out.push_str(&texts.summary_excerpts);
    for event in events {
        let excerpt = excerpt(event).filter(|text| !text.is_empty());
        let Some(excerpt) = excerpt else { continue };
        out.push_str("\n- ");
        let parts = [event.turn_key(), event.id().clone(), event.text("role"), event.kind()];
        for (place, part) in parts.iter().enumerate() {
            out.push_str(if place > 0 { "/" } else { "" });
            out.push(part);
        }
        out.push_str(": ");
        out.push(&excerpt);
        // What is behind the limit is cut in any case; the line that passes it decides where.
        if out.len() > summary_units(maker) {
            break;
        }
    }
    ruler::bound(&out, summary_units(maker), &Text::from(texts.bound.as_str()))
}

fn excerpt(event: &Event) -> Option<Text> {
    let joined = |name: &Text, value: &Json| {
        let mut text = name.clone();
        text.push_str(" ");
        text.push(&value.stringify().unwrap_or_default());
        text
    };
    let text = match event.content()? {
        Content::Text { text } | Content::Thinking { text, .. } => text.clone(),
        Content::Call { name, args, .. } => joined(name, args),
        Content::Response(response) => joined(&response.name, &response.result),
        Content::Error { message, reason, code } => {
            let mut text = code.clone().unwrap_or_default();
            text.push_str(" ");
            text.push(&reason.clone().unwrap_or_default());
            text.push_str(" ");
            text.push(message);
            text
        }
        Content::Other { .. } => return None,
    };
    Some(text.collapsed().head(EXCERPT_UNITS))
}
