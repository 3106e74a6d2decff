//! The order in which the stack is applied to the history before a turn, and its report.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::archive::ArchiveRef;
use super::block::Block;
use super::checkpoint::Checkpoint;
use super::compact::{self, Against, Compact, Compacted, Protocol};
use super::event::Event;
use super::json::{Json, Object};
use super::policy::{BudgetPolicy, CompactKnobs};
use super::retention;
use super::retrieval::{self, Retrieved};
use super::ruler::{self, wide};
use super::search::{self, Found};
use super::stale_prune::{self, Pruned};
use super::synthesis::{self, Selected, Synthesis};
use super::text::Text;
use super::texts::Texts;

/// What is on hand beside the events.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The session.
    pub session: &'a Text,
    /// The turn that is about to start: its events are not history.
    pub current_turn: &'a Text,
    /// What the user asks.
    pub query: &'a Text,
    /// Archives that were written.
    pub archive: &'a [ArchiveRef],
    /// The loaded checkpoint.
    pub checkpoint: Option<&'a Checkpoint>,
    /// Loaded blocks.
    pub blocks: &'a [Block],
    /// Loaded syntheses.
    pub syntheses: &'a [Synthesis],
    /// How the tail of a fold is chosen.
    pub protocol: Protocol,
    /// The texts.
    pub texts: &'a Texts,
}

/// The history as the turn will see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prior {
    /// The events.
    pub events: Vec<Event>,
    /// What was done.
    pub report: Report,
    /// Even the newest turn is over the limit, and nothing of it can be folded: the source sends
    /// nothing.
    pub exhausted: bool,
}

/// What was done, in the order of doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Limit in estimated tokens.
    pub max_history_tokens: Option<u64>,
    /// Limit in turns.
    pub max_history_turns: Option<u64>,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
    /// Turns that stay.
    pub kept_turns: u64,
    /// Turns that do not.
    pub dropped_turns: u64,
    /// Events that stay.
    pub kept_events: u64,
    /// Events that do not.
    pub dropped_events: u64,
    /// The stale prune, without its events.
    pub pruned: Pruned,
    /// Compaction, without its events.
    pub compacted: Option<Compacted>,
    /// The search, without its events.
    pub found: Option<Found>,
    /// The synthesis cache, without its events.
    pub selected: Option<Selected>,
    /// The retrieval, without its events.
    pub retrieved: Option<Retrieved>,
}

/// Prunes, folds or drops, and nothing else: what the source does for every send. `None` when no
/// parameter of the policy asks for anything.
pub fn budget(events: &[Event], policy: &BudgetPolicy, context: Context<'_>) -> Option<Prior> {
    let limits = policy.max_history_tokens.is_some() || policy.max_history_turns.is_some();
    let more = policy.retrieval.is_some() || policy.search.is_some() || policy.synthesis.is_some();
    let rewrites = policy.stale_prune.is_some() || policy.compact.is_some();
    if !limits && !more && !rewrites && policy.rewrite_gate.is_none() {
        return None;
    }
    let per_token = policy.units_per_token;
    let mut pruned = match &policy.stale_prune {
        None => Pruned { events: events.to_vec(), ..Pruned::default() },
        Some(knobs) => stale_prune::prune(
            events,
            knobs.resolve(),
            per_token,
            context.archive,
            &context.texts.read_instructions,
        ),
    };
    let history = core::mem::take(&mut pruned.events);
    let fold = |compact: &Compact| compact::compact(&history, compact, against(policy, context));
    let compact = policy.compact.as_ref().map(CompactKnobs::resolve);
    let mut compacted = compact.as_ref().map(&fold);
    let is_folded = |it: &Option<Compacted>| it.as_ref().is_some_and(|it| it.stands.is_some());
    let mut exhausted = false;
    let mut kept = if is_folded(&compacted) {
        Vec::new()
    } else {
        retention::keep(&history, policy.retention(), per_token)
    };
    let over = |kept: &[Event]| {
        policy.max_history_tokens.is_some_and(|max| ruler::events_tokens(kept, per_token) > max)
    };
    if !is_folded(&compacted) && over(&kept) {
        let all = compact.map(|compact| Compact { min_recent_turns: Some(0), ..compact });
        let again = all.as_ref().map(&fold);
        exhausted = compacted.is_some() && !is_folded(&again);
        if is_folded(&again) {
            compacted = again;
        }
    }
    if let Some(done) = compacted.as_mut() {
        let events = core::mem::take(&mut done.events);
        if done.stands.is_some() {
            kept = events;
        }
    }
    let report = report(events, &history, &kept, policy, (pruned, compacted));
    Some(Prior { events: kept, report, exhausted })
}

fn against<'a>(policy: &BudgetPolicy, context: Context<'a>) -> Against<'a> {
    Against {
        max_history_tokens: policy.max_history_tokens,
        per_token: policy.units_per_token,
        protocol: context.protocol,
        checkpoint: context.checkpoint,
        blocks: context.blocks,
        archive: context.archive,
        texts: context.texts,
    }
}

fn report(
    events: &[Event],
    history: &[Event],
    kept: &[Event],
    policy: &BudgetPolicy,
    (pruned, compacted): (Pruned, Option<Compacted>),
) -> Report {
    let turns = |events: &[Event]| {
        let keys = events.iter().filter(|event| ruler::is_content(event)).map(Event::turn_key);
        wide(keys.collect::<BTreeSet<Text>>().len())
    };
    let per_token = policy.units_per_token;
    Report {
        max_history_tokens: policy.max_history_tokens,
        max_history_turns: policy.max_history_turns,
        tokens_before: ruler::events_tokens(events, per_token),
        tokens_after: ruler::events_tokens(kept, per_token),
        kept_turns: turns(kept),
        dropped_turns: turns(history).saturating_sub(turns(kept)),
        kept_events: wide(kept.len()),
        dropped_events: wide(history.len()).saturating_sub(wide(kept.len())),
        pruned,
        compacted,
        found: None,
        selected: None,
        retrieved: None,
    }
}

/// The whole way from the ledger to the history that a turn starts with. `read` gives archived
/// texts; see [`retrieval::retrieve`].
pub fn prior_history(
    ledger: &[Event],
    policy: &BudgetPolicy,
    context: Context<'_>,
    read: impl FnMut(&ArchiveRef) -> Result<Text, &'static str>,
) -> Option<Prior> {
    let others = ledger.iter().filter(|event| event.turn_key() != *context.current_turn);
    let others: Vec<Event> = others.cloned().collect();
    let mut prior = budget(&others, policy, context)?;
    let per_token = policy.units_per_token;
    let mut found_turns = BTreeSet::new();
    if let Some(knobs) = &policy.search {
        let mut found = search::search(&others, context.query, knobs.resolve(), per_token);
        found_turns = found.hits.iter().map(|hit| hit.turn.clone()).collect();
        prior.events = merged(&others, &prior.events, &found.events);
        found.events = Vec::new();
        prior.report.found = Some(found);
    }
    let mut is_selected = false;
    if let Some(knobs) = &policy.synthesis {
        let limits = synthesis::Limits {
            max_blocks: knobs.max_blocks,
            max_tokens: knobs.max_tokens,
            max_block_tokens: knobs.max_block_tokens,
            invalidate_on_new_tool_result: knobs.invalidate_on_new_tool_result,
        };
        let with = (per_token, context.texts);
        let (query, session) = (context.query, context.session);
        let mut selected =
            synthesis::select(&prior.events, query, context.syntheses, limits, session, with);
        prior.events = core::mem::take(&mut selected.events);
        is_selected = !selected.blocks.is_empty();
        prior.report.selected = Some(selected);
    }
    if let Some(knobs) = policy.retrieval.as_ref().filter(|_| !is_selected) {
        let limits = knobs.resolve();
        let mut retrieved = retrieval::retrieve(&prior.events, limits, &found_turns, read);
        prior.events = core::mem::take(&mut retrieved.events);
        prior.report.retrieved = Some(retrieved);
    }
    prior.report.tokens_after = ruler::events_tokens(&prior.events, per_token);
    Some(prior)
}

/// Puts found events among the kept ones; what stands for folded events stays in front.
fn merged(ledger: &[Event], kept: &[Event], found: &[Event]) -> Vec<Event> {
    let known: BTreeSet<&Text> = ledger.iter().map(Event::id).collect();
    let front = kept.iter().filter(|event| !known.contains(event.id()));
    let mut out: Vec<Event> = front.cloned().collect();
    out.extend(search::merge(ledger, kept, found));
    out
}

impl Report {
    /// The source's own form of it, as far as budget and compaction go.
    pub fn json(&self) -> Json {
        let count = |value: u64| Some(Json::natural(value));
        let some = |value: u64| (value > 0).then(|| Json::natural(value));
        let pruned = self.pruned.results;
        let failures = self.pruned.archive_failures;
        let reasons = (pruned > 0).then(|| {
            Json::object([(super::archive::Origin::Stale.reason(), Json::natural(pruned))])
        });
        let before = (pruned > 0).then_some(self.pruned.tokens_before);
        let after = (pruned > 0).then_some(self.pruned.tokens_after);
        let members: [(&str, Option<Json>); 16] = [
            ("enabled", Some(Json::Bool(true))),
            ("maxHistoryEstimatedTokens", self.max_history_tokens.map(Json::natural)),
            ("maxHistoryTurns", self.max_history_turns.map(Json::natural)),
            ("estimatedTokensBefore", count(self.tokens_before)),
            ("estimatedTokensAfter", count(self.tokens_after)),
            ("keptTurns", count(self.kept_turns)),
            ("droppedTurns", count(self.dropped_turns)),
            ("keptEvents", count(self.kept_events)),
            ("droppedEvents", count(self.dropped_events)),
            ("prunedToolResults", some(pruned)),
            ("prunedToolResultEstimatedTokensBefore", before.map(Json::natural)),
            ("prunedToolResultEstimatedTokensAfter", after.map(Json::natural)),
            ("archivePlaceholders", some(pruned)),
            ("archivePlaceholderReasonCounts", reasons),
            ("archiveWriteFailures", some(failures)),
            ("unarchivedToolResults", some(failures)),
        ];
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((Text::from(name), value?)))
            .chain(self.compaction());
        Json::Object(Object::from_members(members))
    }

    fn compaction(&self) -> Vec<(Text, Json)> {
        let Some(done) = &self.compacted else { return Vec::new() };
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for reason in &done.skipped {
            *counts.entry(reason).or_default() += 1;
        }
        let mut out = alloc::vec![(Text::from("historyCompactEnabled"), Json::Bool(true))];
        if done.stands.is_none() {
            let counts = counts.into_iter();
            let counts = counts.map(|(reason, count)| (Text::from(reason), Json::natural(count)));
            let counts = Json::Object(Object::from_members(counts));
            out.push((Text::from("historyCompactSkipped"), Json::natural(1)));
            out.push((Text::from("historyCompactSkippedReasonCounts"), counts));
            return out;
        }
        let before = ("historyCompactedEstimatedTokensBefore", done.tokens_before);
        let after = ("historyCompactedEstimatedTokensAfter", done.tokens_after);
        out.extend([before, after].map(|(name, value)| (Text::from(name), Json::natural(value))));
        out
    }
}
