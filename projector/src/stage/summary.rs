//! `summary`: which messages a summary stands for, and which stay beside it.
//!
//! The text of a summary that nobody has made is a placeholder that says so. What it stands for
//! is worked out as the harness would: each has its own walk, in [`super::retain`].

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ledger::wire::Role;

use super::memory::{Memory, Placed};
use super::retain::{self, Item, Speaker};
use crate::fold::index::{PairKey, UnitKind};
use crate::fold::list::{Ground, List};
use crate::fold::said;
use crate::policy::op::{Place, Retain, RetainBoundary, Summary};
use crate::policy::{Budget, Unit, share};

/// What a summary that is due is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// Its size in tokens.
    pub(crate) tokens: u64,
    /// What its trigger compares with, where it has one.
    pub(crate) trigger: Option<u64>,
}

/// What became of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// None was due, or none was worth it.
    Nothing,
    /// It stands in the list.
    Made,
    /// An amount that it rests on is not known.
    Unknown,
}

/// Takes up what summaries before have left.
pub(crate) fn prepare(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Summary),
    memory: &mut Memory,
) {
    memory.take_up(list, ground, layer);
    show(list, ground, (layer, step), memory);
}

/// Lets a summary of an assumed size stand in the place of the newest one on record.
pub(crate) fn replace_last(
    list: &mut List,
    ground: Ground<'_, '_>,
    layer: usize,
    memory: &mut Memory,
    tokens: u64,
) {
    let Some(at) = list.summaries().last().copied() else { return };
    memory.leave_out(list, ground, layer, [at]);
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    memory.placed = Some(Placed { at, messages: 1, tokens });
}

/// Puts a summary in the place of old messages, where one is due.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Summary),
    memory: &mut Memory,
    (due, budget): (Option<Due>, &Budget),
) -> Done {
    let mut done = Done::Nothing;
    if let Some(due) = due {
        let Ok(plan) = plan(list, ground, (layer, step), due, budget) else { return Done::Unknown };
        if let Some((gone, at)) = plan {
            let before: u64 = gone.iter().map(|it| list.tokens_at(ground, layer + 1, *it)).sum();
            let old = memory.placed.map_or(0, |placed| placed.messages);
            if !(step.reject_if_larger && due.tokens > before) {
                let messages = old.saturating_add(u32::try_from(gone.len()).unwrap_or(u32::MAX));
                memory.leave_out(list, ground, layer, gone);
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                memory.placed = Some(Placed { at, messages, tokens: due.tokens });
                done = Done::Made;
            }
        }
    }
    show(list, ground, (layer, step), memory);
    done
}

/// Puts the placeholder, and what stands behind it, into the list.
fn show(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Summary),
    memory: &Memory,
) {
    let mut shown = Vec::new();
    if let Some(placed) = memory.placed {
        let at = placed.at as usize;
        let units = ground.units_of(placed.tokens);
        let text = said::placeholder(placed.messages as usize, placed.tokens, units);
        let text =
            if step.wrapper.is_empty() { text } else { step.wrapper.replace("{summary}", &text) };
        shown.push(ground.said(layer, at, step.role, &text));
        for appended in &step.append {
            shown.push(ground.said(layer, at, appended.role, &appended.text));
        }
    }
    list.insert(layer, shown);
}

/// An amount is not known.
struct NotKnown;

/// Messages that go, and where the summary stands.
type Plan = (Vec<usize>, usize);

/// What a summary would stand for. `None`: nothing goes.
fn plan(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Summary),
    due: Due,
    budget: &Budget,
) -> Result<Option<Plan>, NotKnown> {
    let view = layer + 1;
    let visible: Vec<usize> = (0..list.len()).filter(|at| list.reaches(*at, view)).collect();
    let items: Vec<_> = visible.iter().map(|at| item(list, ground, view, *at, step)).collect();
    let system = items.iter().take_while(|item| item.speaker == Speaker::System).count();
    let retain = &step.retain;
    let head = system.max(retain.head as usize).min(items.len());
    let start = start(&items, retain, (head, system), due, budget).ok_or(NotKnown)?;
    let start = start.clamp(head, items.len());
    let stays = users(&items, retain, head..start);
    let gone: Vec<_> = (head..start).filter(|at| !stays.contains(at)).collect();
    let least = u64::from(step.min_progress_per_mille);
    if gone.is_empty() || (gone.len() as u64) * 1000 < least * items.len() as u64 {
        return Ok(None);
    }
    let place = |at: usize| visible.get(at).copied().unwrap_or(list.len());
    let at = match step.place {
        Place::Start => place(system),
        Place::AfterHead | Place::Offset => place(head),
        Place::End => list.len(),
    };
    Ok(Some((gone.into_iter().map(place).collect(), at)))
}

fn item(
    list: &List,
    ground: Ground<'_, '_>,
    view: usize,
    position: usize,
    step: &Summary,
) -> Item<PairKey> {
    let part = list.at(position).map(|(part, _)| ground.index.part(part));
    let keys = |kind: UnitKind| {
        let units = part.map(|part| part.units.as_slice()).unwrap_or_default();
        units.iter().filter(move |unit| unit.kind == kind).filter_map(|unit| unit.key).collect()
    };
    let results: Vec<_> = keys(UnitKind::Result);
    let speaker = match part.map_or(Role::Unknown, |part| part.role) {
        Role::System => Speaker::System,
        Role::User if results.is_empty() => Speaker::User,
        Role::User | Role::Tool => Speaker::Tool,
        Role::Assistant | Role::Unknown => Speaker::Assistant,
    };
    let size = match step.retain.recent_unit {
        Some(Unit::Bytes | Unit::Utf16 | Unit::Chars) => list.bytes_at(ground, view, position),
        _ => list.tokens_at(ground, view, position),
    };
    Item { speaker, size, calls: keys(UnitKind::Call), results }
}

/// Where the part that stays begins. `None`: an amount is not known.
fn start(
    items: &[Item<PairKey>],
    retain: &Retain,
    (head, system): (usize, usize),
    due: Due,
    budget: &Budget,
) -> Option<usize> {
    let all = items.len();
    let mut start = if let Some(tokens) = retain.recent_tokens {
        let tokens = tokens.value(budget)?;
        match retain.boundary {
            RetainBoundary::NoToolResult => retain::newest_to_reach(items, tokens),
            RetainBoundary::SafeGroup => retain::newest_that_fit(items, tokens),
            RetainBoundary::HeadEndsAssistant => {
                retain::newest_within(items, tokens.saturating_sub(1))
            }
            _ => retain::newest_within(items, tokens),
        }
    } else if let Some(messages) = retain.recent_messages {
        match retain.boundary {
            RetainBoundary::SafeGroup => retain::newest_messages(items, messages),
            _ => all.saturating_sub(usize::try_from(messages).unwrap_or(usize::MAX)),
        }
    } else if let Some(per_mille) = retain.recent_per_mille {
        by_share(items, retain, per_mille, system, budget)?
    } else if retain.half_of_trigger {
        // Half of the trigger's number, less the head, less the summary itself.
        let tail = (due.trigger? / 2).saturating_sub(head as u64 + 1);
        all.saturating_sub(usize::try_from(tail).unwrap_or(usize::MAX))
    } else {
        all
    };
    if retain.min_turns > 0 {
        let turns = (0..all).rev().filter(|at| speaks(items, *at, Speaker::User));
        start = start.min(turns.take(retain.min_turns as usize).last().unwrap_or(all));
    }
    Some(bounded(items, retain, start))
}

fn speaks(items: &[Item<PairKey>], at: usize, speaker: Speaker) -> bool {
    items.get(at).is_some_and(|item| item.speaker == speaker)
}

/// The nearest place from there on where the part that stays may begin.
fn bounded(items: &[Item<PairKey>], retain: &Retain, start: usize) -> usize {
    let all = items.len();
    let from = |speaker| (start..all).find(|at| speaks(items, *at, speaker)).unwrap_or(all);
    match retain.boundary {
        RetainBoundary::Any | RetainBoundary::NoToolResult if start < all => {
            (start..all).find(|at| !speaks(items, *at, Speaker::Tool)).unwrap_or(all)
        }
        RetainBoundary::User => from(Speaker::User),
        RetainBoundary::Assistant => from(Speaker::Assistant),
        RetainBoundary::SafeGroup if start < all => retain::safe_group(items, start),
        RetainBoundary::HeadEndsAssistant => {
            let ends = |at: &usize| {
                at.checked_sub(1).is_some_and(|it| speaks(items, it, Speaker::Assistant))
            };
            (0..=start).rev().find(ends).unwrap_or(0)
        }
        _ => start,
    }
}

/// Where the newest share of the messages, or of their sizes, begins.
fn by_share(
    items: &[Item<PairKey>],
    retain: &Retain,
    per_mille: u16,
    system: usize,
    budget: &Budget,
) -> Option<usize> {
    if retain.recent_unit.is_some() {
        return Some(retain::behind_share(items, 1000_u16.saturating_sub(per_mille)));
    }
    let goal = match retain.goal_per_mille {
        Some(goal) => Some(share(budget.window?, goal)),
        None => None,
    };
    let mut gone = 1000_u16.saturating_sub(per_mille);
    loop {
        let end = (items.len() as u64 * u64::from(gone) + 500) / 1000;
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(items.len());
        let start = match retain.boundary {
            RetainBoundary::Assistant => (system..=end)
                .rev()
                .find(|at| speaks(items, *at, Speaker::Assistant))
                .unwrap_or(end),
            _ => end,
        };
        let rest: u64 = items.iter().skip(start).map(|item| item.size).sum();
        match (goal, retain.step_per_mille) {
            (Some(goal), Some(more)) if rest > goal && gone < 1000 && more > 0 => {
                gone = gone.saturating_add(more).min(1000);
            }
            _ => return Some(start),
        }
    }
}

/// Messages of the user among those that would go which stay beside the summary.
fn users(
    items: &[Item<PairKey>],
    retain: &Retain,
    range: core::ops::Range<usize>,
) -> BTreeSet<usize> {
    let mut stays = BTreeSet::new();
    let later = (range.end..items.len()).any(|at| speaks(items, at, Speaker::User));
    let users = range.rev().filter(|at| speaks(items, *at, Speaker::User));
    if let Some(mut left) = retain.user_messages_tokens {
        for at in users.clone() {
            let size = items.get(at).map_or(0, |item| item.size);
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
            stays.insert(at);
        }
    }
    if retain.last_user_text && !later {
        stays.extend(users.take(1));
    }
    stays
}
