//! History compaction: a loaded checkpoint, a loaded block or a new block stands for old turns,
//! or the history stays as it is and says why.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::archive::{ArchiveRef, Body};
use super::block::{self, Block, Maker};
use super::checkpoint::Checkpoint;
use super::event::{Content, Event};
use super::json::Json;
use super::number::Number;
use super::ruler::{self, Turn, UnitsPerToken};
use super::text::Text;
use super::texts::Texts;

/// What may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: only what was loaded is used.
    Lookup,
    /// A block without a model.
    Deterministic,
    /// A block that the caller may replace by a model's summary.
    ReadWrite,
}

/// How the newest events that stay are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Whole turns within a budget, or the newest call and its result.
    LegacyV1,
    /// The newest turn.
    CheckpointV2,
}

/// When and how much is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compact {
    /// What may be made.
    pub mode: Mode,
    /// Share of the history's budget above which something is folded; 1 at most.
    pub high_water_ratio: Number,
    /// Share of the budget that stays, where no tokens are set.
    pub target_ratio: Number,
    /// Estimated tokens that stay.
    pub tail_tokens: Option<u64>,
    /// Turns that are asked to stay. Only 0 has an effect: nothing stays.
    pub min_recent_turns: Option<u64>,
    /// Estimated tokens of a new summary, at most.
    pub max_summary_tokens: u64,
    /// Loaded blocks that are used, at most.
    pub max_blocks: u64,
    /// Their estimated tokens together, at most.
    pub max_tokens: u64,
    /// Estimated tokens of one of them, at most.
    pub max_block_tokens: u64,
    /// Nothing is folded that is not archived.
    pub archive_required: bool,
    /// Name of the high water.
    pub high_water: Text,
}

/// What the history is held against.
#[derive(Clone, Copy, Debug)]
pub struct Against<'a> {
    /// Estimated tokens of the history at most; without it nothing is folded.
    pub max_history_tokens: Option<u64>,
    /// How tokens are estimated.
    pub per_token: UnitsPerToken,
    /// How the tail is chosen.
    pub protocol: Protocol,
    /// The loaded checkpoint.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The loaded blocks.
    pub blocks: &'a [Block],
    /// Archives of events.
    pub archive: &'a [ArchiveRef],
    /// The texts.
    pub texts: &'a Texts,
}

/// What stands for the folded events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// A checkpoint.
    Checkpoint(Checkpoint),
    /// A block that was loaded.
    Loaded(Block),
    /// A block that was made now.
    Made(Block),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The events.
    pub events: Vec<Event>,
    /// What stands for the folded ones; `None`: nothing was folded.
    pub stands: Option<Stands>,
    /// Estimated tokens of the folded events.
    pub tokens_before: u64,
    /// Estimated tokens of what stands for them.
    pub tokens_after: u64,
    /// Why something was not done, in the order of asking.
    pub skipped: Vec<&'static str>,
}

/// Compacts a history.
pub fn compact(events: &[Event], policy: &Compact, against: Against<'_>) -> Compacted {
    let mut skipped = Vec::new();
    match fold(events, policy, against, &mut skipped) {
        Ok(done) => done,
        Err(reason) => {
            skipped.extend(reason);
            let events = events.to_vec();
            Compacted { events, stands: None, tokens_before: 0, tokens_after: 0, skipped }
        }
    }
}

fn fold(
    events: &[Event],
    policy: &Compact,
    against: Against<'_>,
    skipped: &mut Vec<&'static str>,
) -> Result<Compacted, Option<&'static str>> {
    let max = against.max_history_tokens.ok_or(Some("max_history_tokens_missing"))?;
    let content: Vec<Event> =
        events.iter().filter(|event| ruler::is_content(event)).cloned().collect();
    // A prefix that was replaced once must not come back because the history is small now.
    if let Some(checkpoint) = against.checkpoint {
        match by_checkpoint(checkpoint, &content, max, against) {
            Ok(done) => return Ok(done),
            Err(reason) => skipped.push(reason),
        }
    }
    let per_token = against.per_token;
    let high_water = policy.high_water_ratio.floor_times(max).max(1);
    if ruler::events_tokens(&content, per_token) <= high_water {
        return Err(Some("below_high_water"));
    }
    let turns = ruler::turns(&content, per_token);
    if turns.len() <= 1 && policy.min_recent_turns != Some(0) {
        return Err(Some("insufficient_turns"));
    }
    let tail = tail(&turns, policy, against, max);
    let (kept, folded): (Vec<&Event>, Vec<&Event>) =
        content.iter().partition(|event| tail.contains(event.id()));
    if folded.is_empty() {
        return Err(Some("no_foldable_turns"));
    }
    let over = match loaded(&folded, policy, against, skipped) {
        None => false,
        Some((block, count)) => {
            let events =
                with_block(&block, folded.get(count..).unwrap_or_default(), &kept, against);
            if ruler::events_tokens(&events, per_token) <= max {
                let covered = folded.get(..count).unwrap_or_default();
                let before = ruler::events_tokens(covered.iter().copied(), per_token);
                let after = block.tokens;
                return Ok(done(events, Stands::Loaded(block), before, after, skipped));
            }
            skipped.push("prefix_over_budget");
            true
        }
    };
    let archive: BTreeMap<&Text, &ArchiveRef> =
        against.archive.iter().map(|reference| (&reference.event_id, reference)).collect();
    if policy.archive_required {
        archived(&folded, &archive, per_token)?;
    }
    if policy.mode == Mode::Lookup {
        return Err((!over).then_some("lookup_miss"));
    }
    let found = folded.iter().filter_map(|event| {
        let reference = archive.get(event.id()).copied()?;
        is_archive_of(reference, event, per_token).then_some(reference)
    });
    let found: Vec<&ArchiveRef> = found.collect();
    let maker = Maker {
        high_water: &policy.high_water,
        max_summary_tokens: policy.max_summary_tokens,
        per_token,
        texts: against.texts,
    };
    let block = Block::fold(&folded, &found, maker);
    let events = with_block(&block, &[], &kept, against);
    if ruler::events_tokens(&events, per_token) > max {
        return Err(Some("replay_over_budget"));
    }
    let before = ruler::events_tokens(folded.iter().copied(), per_token);
    let after = block.tokens;
    Ok(done(events, Stands::Made(block), before, after, skipped))
}

fn done(
    events: Vec<Event>,
    stands: Stands,
    tokens_before: u64,
    tokens_after: u64,
    skipped: &mut Vec<&'static str>,
) -> Compacted {
    let skipped = core::mem::take(skipped);
    Compacted { events, stands: Some(stands), tokens_before, tokens_after, skipped }
}

fn by_checkpoint(
    checkpoint: &Checkpoint,
    content: &[Event],
    max: u64,
    against: Against<'_>,
) -> Result<Compacted, &'static str> {
    let count = checkpoint.matches(content)?;
    let (covered, tail) = content.split_at(count.min(content.len()));
    let events = checkpoint.replay(covered, tail, against.texts);
    let tokens = ruler::events_tokens(&events, against.per_token);
    if tokens > max {
        return Err("prefix_over_budget");
    }
    if tokens >= ruler::events_tokens(content, against.per_token) {
        return Err("replacement_not_smaller");
    }
    let after = ruler::events_tokens(events.first(), against.per_token);
    Ok(Compacted {
        events,
        stands: Some(Stands::Checkpoint(checkpoint.clone())),
        tokens_before: ruler::events_tokens(covered, against.per_token),
        tokens_after: after,
        skipped: Vec::new(),
    })
}

fn with_block(
    block: &Block,
    uncovered: &[&Event],
    kept: &[&Event],
    against: Against<'_>,
) -> Vec<Event> {
    let mut out = alloc::vec![block.event(against.texts)];
    out.extend(uncovered.iter().chain(kept).map(|event| (*event).clone()));
    out
}

/// Ids of the events that stay.
fn tail(turns: &[Turn<'_>], policy: &Compact, against: Against<'_>, max: u64) -> BTreeSet<Text> {
    if policy.min_recent_turns == Some(0) {
        return BTreeSet::new();
    }
    let ids = |events: &[&Event]| events.iter().map(|event| event.id().clone()).collect();
    if against.protocol == Protocol::CheckpointV2 || against.checkpoint.is_some() {
        return turns.last().map(|turn| ids(&turn.events)).unwrap_or_default();
    }
    let share = || policy.target_ratio.floor_times(max).max(1);
    let budget = policy.tail_tokens.unwrap_or_else(share);
    let mut out = BTreeSet::new();
    let mut tokens = 0;
    for turn in turns.iter().rev() {
        if tokens + turn.tokens > budget {
            if out.is_empty() {
                out.extend(newest_pair(&turn.events));
            }
            break;
        }
        out.extend(turn.events.iter().map(|event| event.id().clone()));
        tokens += turn.tokens;
    }
    out
}

/// The newest call that has its result, and the result; else the newest event.
fn newest_pair(events: &[&Event]) -> Vec<Text> {
    for (place, event) in events.iter().enumerate().rev() {
        let Some(response) = event.response() else { continue };
        let before = events.get(..place).unwrap_or_default();
        let call = before.iter().rev().find(
            |event| matches!(event.content(), Some(Content::Call { id, .. }) if *id == response.id),
        );
        if let Some(call) = call {
            return alloc::vec![call.id().clone(), event.id().clone()];
        }
    }
    events.last().map(|event| event.id().clone()).into_iter().collect()
}

/// The first loaded block that stands for a beginning of the folded events, and for how many.
fn loaded(
    folded: &[&Event],
    policy: &Compact,
    against: Against<'_>,
    skipped: &mut Vec<&'static str>,
) -> Option<(Block, usize)> {
    let session = folded.first().map(|event| event.text("sessionId")).unwrap_or_default();
    for block in against.blocks {
        let covered = match covered(block, folded, &session) {
            Ok(covered) => covered,
            Err(reason) => {
                skipped.push(reason);
                continue;
            }
        };
        if block.tokens > policy.max_block_tokens {
            skipped.push("max_block_tokens");
        } else if block.tokens > policy.max_tokens {
            skipped.push("max_total_tokens");
        } else if policy.max_blocks == 0 {
            skipped.push("max_blocks");
        } else {
            return Some((block.clone(), covered));
        }
    }
    None
}

fn covered(block: &Block, folded: &[&Event], session: &Text) -> Result<usize, &'static str> {
    if !session.is_empty() && block.session != *session {
        return Err("session_mismatch");
    }
    let coverage = &block.coverage;
    let mut count = 0;
    for event in folded {
        if !coverage.events.contains(event.id()) {
            break;
        }
        if !coverage.turns.contains(&event.turn_key()) || !coverage.kinds.contains(&event.kind()) {
            return Err("coverage_miss");
        }
        if !coverage.sha256.contains(&block::content_hash(event)) {
            return Err("source_hash_mismatch");
        }
        count += 1;
    }
    if count > 0 && count == coverage.events.len() { Ok(count) } else { Err("coverage_miss") }
}

fn archived(
    folded: &[&Event],
    archive: &BTreeMap<&Text, &ArchiveRef>,
    per_token: UnitsPerToken,
) -> Result<(), Option<&'static str>> {
    for event in folded {
        let reference = archive.get(event.id()).ok_or(Some("archive_missing"))?;
        if !is_archive_of(reference, event, per_token) {
            return Err(Some("archive_mismatch"));
        }
    }
    Ok(())
}

/// True when an archive holds exactly what an event holds.
fn is_archive_of(reference: &ArchiveRef, event: &Event, per_token: UnitsPerToken) -> bool {
    let content = event.get("content").and_then(Json::stringify);
    let body = Body::of(&content.unwrap_or_else(|| Text::from("{}")), per_token);
    !reference.artifact_id.is_empty() && reference.body == body
}
