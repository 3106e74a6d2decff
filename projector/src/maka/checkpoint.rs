//! Checkpoints: a summary by a model stands for an exact prefix of the history, and is used only
//! where that prefix is found again.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::block::standing_event;
use super::event::Event;
use super::json::Json;
use super::ruler::{UnitsPerToken, wide};
use super::stable;
use super::text::Text;
use super::texts::{self, Texts};

/// Version of the way in which events are chosen and digested.
pub const SOURCE_POLICY: &str = "maka.compactable_runtime_event_projection.v1";

/// An event of the fold that is shown again behind the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The event.
    pub event_id: Text,
    /// Its turn.
    pub turn: Text,
}

/// What a checkpoint stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Number of events.
    pub events: u64,
    /// Number of turns.
    pub turns: u64,
    /// Id of the first event, where the checkpoint says from where to where it reaches.
    pub first_event: Option<Text>,
    /// Run of the last event.
    pub run: Text,
    /// Turn of the last event.
    pub turn: Text,
    /// Id of the last event.
    pub last_event: Text,
    /// Digest over all events.
    pub digest: String,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
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
    pub prefix: Prefix,
    /// The event that is shown again, for checkpoints inside of a turn.
    pub anchor: Option<Anchor>,
    /// What the model that summed up said.
    pub summary: Text,
    /// The checkpoint before.
    pub previous: Option<String>,
    /// Its estimated tokens.
    pub tokens: u64,
}

/// Why no checkpoint can be made of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// There is no event.
    #[error("a checkpoint over no event")]
    NoEvents,
    /// An event is of another session.
    #[error("a checkpoint over two sessions")]
    OtherSession,
    /// An event is a piece that will be replaced.
    #[error("a checkpoint over a partial event")]
    Partial,
    /// The summary is empty.
    #[error("a checkpoint without a summary")]
    NoSummary,
    /// The anchor is not the user's message of the turn that the checkpoint reaches into.
    #[error("a checkpoint whose anchor is not the message of its turn")]
    Anchor,
}

/// How a checkpoint is made.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'a> {
    /// Name of the high water.
    pub high_water: &'a Text,
    /// The anchor, inside of a turn.
    pub anchor: Option<&'a Anchor>,
    /// The checkpoint before.
    pub previous: Option<&'a str>,
    /// How tokens are estimated.
    pub per_token: UnitsPerToken,
    /// The texts.
    pub texts: &'a Texts,
}

impl Checkpoint {
    /// Lets a summary stand for events.
    ///
    /// # Errors
    /// The events or the anchor do not fit together, or the summary is empty.
    pub fn new(
        events: &[Event],
        summary: &Text,
        maker: Maker<'_>,
    ) -> Result<Self, CheckpointError> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return Err(CheckpointError::NoEvents);
        };
        let session = first.text("sessionId");
        if events.iter().any(|event| event.text("sessionId") != session) {
            return Err(CheckpointError::OtherSession);
        }
        if events.iter().any(Event::is_partial) {
            return Err(CheckpointError::Partial);
        }
        let summary = summary.trim();
        if summary.is_empty() {
            return Err(CheckpointError::NoSummary);
        }
        let turn = last.text("turnId");
        if maker.anchor.is_some_and(|anchor| anchored(events, anchor, &turn).is_none()) {
            return Err(CheckpointError::Anchor);
        }
        let turns: BTreeSet<Text> = events.iter().map(|event| event.text("turnId")).collect();
        let times = events.iter().map(|event| event.time().floor());
        let created_at = times.max().unwrap_or(0).max(1);
        let prefix = Prefix {
            events: wide(events.len()),
            turns: wide(turns.len()),
            first_event: Some(first.id().clone()),
            run: last.text("runId"),
            turn,
            last_event: last.id().clone(),
            digest: digest(events),
        };
        let mut checkpoint = Self {
            id: String::new(),
            session,
            created_at,
            high_water: maker.high_water.clone(),
            high_water_seq: created_at,
            prefix,
            anchor: maker.anchor.cloned(),
            summary,
            previous: maker.previous.map(String::from),
            tokens: 0,
        };
        let identity = stable::stringify(&checkpoint.identity());
        checkpoint.id = stable::short_id("hcheckpoint-", &identity);
        let units = checkpoint.render(maker.texts).len();
        checkpoint.tokens = maker.per_token.tokens(units);
        Ok(checkpoint)
    }

    /// What its id is made of.
    fn identity(&self) -> Json {
        let previous = self.previous.as_deref().map_or(Json::Undefined, Json::string);
        let mut members = alloc::vec![
            ("version", Json::natural(2)),
            ("sessionId", Json::String(self.session.clone())),
            ("highWaterName", Json::String(self.high_water.clone())),
            ("highWaterSeq", Json::natural(self.high_water_seq)),
            ("source", self.source()),
            ("coverage", self.coverage()),
            ("summary", Json::String(self.summary.clone())),
            ("previousCheckpointId", previous),
        ];
        if let Some(anchor) = &self.anchor {
            let anchor = Json::object([
                ("runtimeEventId", Json::String(anchor.event_id.clone())),
                ("turnId", Json::String(anchor.turn.clone())),
            ]);
            members.extend([("phase", Json::string("mid_turn")), ("headAnchor", anchor)]);
        }
        let members = members.into_iter().map(|(name, value)| (Text::from(name), value));
        Json::Object(super::json::Object::from_members(members))
    }

    fn source(&self) -> Json {
        let Some(first) = &self.prefix.first_event else { return Json::Undefined };
        let cursor = |sequence: u64, event: &Text| {
            Json::object([
                ("ledger", Json::string("runtime_event_projection")),
                ("streamId", Json::String(self.session.clone())),
                ("sequence", Json::natural(sequence)),
                ("eventId", Json::String(event.clone())),
            ])
        };
        let last = cursor(self.prefix.events.saturating_sub(1), &self.prefix.last_event);
        let coverage = Json::object([
            ("lowWater", cursor(0, first)),
            ("highWater", last),
            ("eventCount", Json::natural(self.prefix.events)),
        ]);
        Json::object([
            ("schemaVersion", Json::natural(1)),
            ("kind", Json::string("runtime_event_projection")),
            ("policyVersion", Json::string(SOURCE_POLICY)),
            ("coverage", coverage),
        ])
    }

    fn coverage(&self) -> Json {
        let through = Json::object([
            ("runId", Json::String(self.prefix.run.clone())),
            ("turnId", Json::String(self.prefix.turn.clone())),
            ("runtimeEventId", Json::String(self.prefix.last_event.clone())),
        ]);
        Json::object([
            ("eventCount", Json::natural(self.prefix.events)),
            ("turnCount", Json::natural(self.prefix.turns)),
            ("through", through),
            ("sourceDigest", Json::string(&self.prefix.digest)),
        ])
    }

    /// What the model sees.
    pub fn render(&self, texts: &Texts) -> Text {
        let attribute = |text: &Text| {
            let closed = texts::attribute(text).to_utf8().replace('>', "&gt;");
            Text::from(closed)
        };
        let last = texts::number(self.prefix.events.saturating_sub(1));
        let source = match &self.prefix.first_event {
            None => Text::new(),
            Some(_) => texts::fill(
                &texts.checkpoint_source,
                &[
                    ("policy", &Text::from(SOURCE_POLICY)),
                    ("low", &texts::number(0)),
                    ("high", &last),
                ],
            ),
        };
        let values: [(&str, &Text); 9] = [
            ("id", &attribute(&Text::from(self.id.as_str()))),
            ("high_water", &attribute(&self.high_water)),
            ("seq", &texts::number(self.high_water_seq)),
            ("version", &texts::number(2)),
            ("summary", &self.summary),
            ("events", &texts::number(self.prefix.events)),
            ("turns", &texts::number(self.prefix.turns)),
            ("source", &source),
            ("limitations", &Text::from(texts.checkpoint_limitations.as_str())),
        ];
        texts::fill(&texts.checkpoint, &values)
    }

    /// The event that shows it.
    pub fn event(&self, texts: &Texts) -> Event {
        let text = self.render(texts);
        standing_event(&self.id, &self.session, self.created_at, self.high_water_seq, text)
    }

    /// How many of these events it stands for.
    ///
    /// # Errors
    /// The reason why it stands for no beginning of them.
    pub fn matches(&self, events: &[Event]) -> Result<usize, &'static str> {
        let count = usize::try_from(self.prefix.events).unwrap_or(usize::MAX);
        let covered = events.get(..count).filter(|covered| !covered.is_empty());
        let Some((covered, last)) = covered.and_then(|it| Some((it, it.last()?))) else {
            return Err("coverage_miss");
        };
        let same_end = last.text("runId") == self.prefix.run
            && last.text("turnId") == self.prefix.turn
            && *last.id() == self.prefix.last_event;
        let same_start = match (&self.prefix.first_event, covered.first()) {
            (Some(wanted), Some(found)) => wanted == found.id(),
            _ => true,
        };
        let same_session = covered.iter().all(|event| event.text("sessionId") == self.session);
        let anchored = self
            .anchor
            .as_ref()
            .is_none_or(|anchor| anchored(covered, anchor, &self.prefix.turn).is_some());
        if !(same_end && same_start && same_session && anchored) {
            return Err("coverage_miss");
        }
        if digest(covered) == self.prefix.digest { Ok(count) } else { Err("source_hash_mismatch") }
    }

    /// What replaces the covered events and what comes behind them.
    pub fn replay(&self, covered: &[Event], tail: &[Event], texts: &Texts) -> Vec<Event> {
        let anchor = self.anchor.as_ref().and_then(|anchor| {
            covered.iter().find(|event| *event.id() == anchor.event_id).cloned()
        });
        let mut out = alloc::vec![self.event(texts)];
        out.extend(anchor);
        out.extend_from_slice(tail);
        out
    }

    /// True when this one may take the place of another: it stands for more events, or it is its
    /// named successor over the same ones.
    pub fn replaces(&self, current: Option<&Self>) -> bool {
        let Some(current) = current else { return true };
        let reach = |it: &Self| it.prefix.first_event.is_some();
        if reach(current) && (!reach(self) || self.session != current.session) {
            return false;
        }
        self.prefix.events > current.prefix.events
            || (self.prefix == current.prefix
                && self.previous.as_deref() == Some(current.id.as_str()))
    }
}

fn digest(events: &[Event]) -> String {
    let values: Vec<Json> = events.iter().map(Event::json).collect();
    stable::list_digest(&values)
}

/// The anchor among the events, if it is the message of a turn.
fn anchored<'e>(events: &'e [Event], anchor: &Anchor, turn: &Text) -> Option<&'e Event> {
    let event = events.iter().find(|event| *event.id() == anchor.event_id)?;
    let of_user = event.text("role") == "user" && event.text("author") == "user";
    let of_turn = event.text("turnId") == anchor.turn && anchor.turn == *turn;
    Some(event).filter(|_| of_user && of_turn)
}
