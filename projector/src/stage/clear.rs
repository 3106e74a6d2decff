//! `clear_results`: which results of a request lose their text.
//!
//! Everything older than the newest results that stay is cleared. From request to request the
//! border moves by what is new, and only results between the old border and the new one change.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use crate::fold::effect::UnitEffect;
use crate::fold::list::{Ground, List, Listed};
use crate::policy::op::Crossing;
use crate::policy::{ClearResults, GainMode, Keep, KeepResults, KeepUnit, StopAt};

/// What the step remembers of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClearState {
    /// Results before this one, by order, were gone through, where what is cleared stays so.
    border: usize,
    /// Results that are cleared, by order, where they are worked out at each request.
    cleared: Range<usize>,
    /// Results that were looked up among those that stay cleared.
    known: usize,
    /// Results that stay cleared.
    pub(crate) sticky: BTreeSet<Listed>,
}

impl ClearState {
    /// Forgets what was said of the results from this one on: the client has changed them.
    pub(crate) fn truncate(&mut self, results: usize) {
        self.border = self.border.min(results);
        self.cleared = self.cleared.start.min(results)..self.cleared.end.min(results);
        self.known = self.known.min(results);
    }

    /// Forgets all but what stays cleared.
    pub(crate) fn restored(sticky: BTreeSet<Listed>) -> Self {
        Self { sticky, ..Self::default() }
    }
}

/// Clears what `step` clears of the messages that reach its layer, where its trigger fires.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    state: &mut ClearState,
    fires: bool,
) {
    if step.sticky {
        take_up(list, ground, (layer, step), state);
    }
    let first = usize::try_from(step.keep.protect_first).unwrap_or(usize::MAX);
    let border = if fires { border(list, ground, (layer, step)).max(first) } else { first };
    let border = border.min(list.results().len());
    let first = first.max(stop(list, (layer, step), border)).min(border);
    if step.keep.ids_in_tail {
        by_ids(list, ground, (layer, step), state, first..border);
        return;
    }
    if !step.sticky {
        let end = gained(list, ground, (layer, step), first..border).max(first);
        let old = core::mem::replace(&mut state.cleared, first..end);
        for result in (old.start..old.end.min(first)).chain(old.start.max(end)..old.end) {
            set(list, ground, (layer, step), result, false);
        }
        for result in (first..end.min(old.start)).chain(first.max(old.end)..end) {
            set(list, ground, (layer, step), result, true);
        }
        return;
    }
    // Where the walk ends moves too: then all that it comes to is looked at again.
    let moves = !step.keep.stop_at.is_empty();
    state.border = if moves { first } else { state.border.max(first) };
    // A result that an earlier step had left out was passed over, and may be back.
    if list.take_revived(layer).is_some() {
        state.border = first;
    }
    let border = gained(list, ground, (layer, step), state.border.min(border)..border);
    for result in state.border..border {
        let Some((position, _)) = list.results().get(result).copied() else { continue };
        if list.reaches(position, layer) && set(list, ground, (layer, step), result, true) {
            state.sticky.extend(listed(list, ground, result));
        }
    }
    state.border = state.border.max(border);
}

/// Clears what stays cleared, where it is new to the list.
pub(crate) fn take_up(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    state: &mut ClearState,
) {
    if state.sticky.is_empty() {
        state.known = list.results().len();
        return;
    }
    for result in state.known..list.results().len() {
        let stays = listed(list, ground, result).is_some_and(|it| state.sticky.contains(&it));
        if stays {
            set(list, ground, (layer, step), result, true);
        }
    }
    state.known = list.results().len();
}

/// The first result that a walk to older ones still comes to: it ends at what `stop_at` names.
fn stop(list: &List, (layer, step): (usize, &ClearResults), border: usize) -> usize {
    let stops = |stop| step.keep.stop_at.contains(&stop);
    let mut first = 0;
    if stops(StopAt::Summary) {
        let summary = list.summaries().iter().rev().find(|at| list.reaches(**at, layer));
        first = summary.map_or(0, |at| list.results().partition_point(|(result, _)| result < at));
    }
    if stops(StopAt::Cleared) {
        let results = list.results().get(first..border).unwrap_or_default();
        let cleared = results.iter().rposition(|(position, unit)| {
            list.reaches(*position, layer) && list.is_acted_on(*position, *unit, layer)
        });
        first += cleared.map_or(0, |at| at + 1);
    }
    first
}

/// Clears results but for those whose id the kept part names too.
fn by_ids(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    state: &mut ClearState,
    wanted: Range<usize>,
) {
    let begin = tail(list, (layer, step), wanted.end);
    let kept = list.keys(ground, begin, layer);
    for result in 0..list.results().len() {
        let Some((position, unit)) = list.results().get(result).copied() else { continue };
        let stays = list.key_of(ground, position, unit).is_some_and(|key| kept.contains(&key));
        let stuck = listed(list, ground, result).is_some_and(|it| state.sticky.contains(&it));
        let acts = stuck || (wanted.contains(&result) && !stays && list.reaches(position, layer));
        if set(list, ground, (layer, step), result, acts) && acts && step.sticky {
            state.sticky.extend(listed(list, ground, result));
        }
    }
}

/// Position of the message that the kept part begins with.
pub(crate) fn tail(list: &List, (layer, step): (usize, &ClearResults), border: usize) -> usize {
    let begin = match step.keep.unit {
        KeepUnit::Messages => newest(list, layer, &step.keep),
        KeepUnit::UserTurns => nth_turn(list, layer, step.keep.n),
        KeepUnit::Results | KeepUnit::Tokens => {
            list.results().get(border).map(|(position, _)| *position).or(Some(list.len()))
        }
    };
    begin.unwrap_or(0)
}

/// Results that are old enough, by order.
pub(crate) fn range(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
) -> Range<usize> {
    let first = usize::try_from(step.keep.protect_first).unwrap_or(usize::MAX);
    let border = border(list, ground, (layer, step)).min(list.results().len());
    let first = first.max(stop(list, (layer, step), border)).min(border);
    let end = gained(list, ground, (layer, step), first..border);
    first..end.max(first)
}

/// Position of the first message that stays.
pub(crate) fn begin(
    list: &List,
    ground: Ground<'_, '_>,
    layer: usize,
    keep: &KeepResults,
) -> usize {
    let plain = ClearResults { keep: Keep(keep.clone()), ..ClearResults::plain(0, "", false) };
    let border = border(list, ground, (layer, &plain));
    tail(list, (layer, &plain), border)
}

/// The first of the results that stay, by order.
fn border(list: &List, ground: Ground<'_, '_>, (layer, step): (usize, &ClearResults)) -> usize {
    let keep = &step.keep;
    let results = list.results();
    let at = |position: usize| results.partition_point(|(at, _)| *at < position);
    let last = u64::from(keep.skip_last_messages);
    let mut end = nth_last(list, layer, last).unwrap_or(0);
    if keep.skip_user_turns > 0 {
        end = end.min(nth_turn(list, layer, u64::from(keep.skip_user_turns)).unwrap_or(0));
    }
    let end = at(end);
    match keep.unit {
        KeepUnit::Results => by_count(list, layer, step, end),
        KeepUnit::Messages => newest(list, layer, keep).map_or(0, at).min(end),
        KeepUnit::UserTurns => nth_turn(list, layer, keep.n).map_or(0, at).min(end),
        KeepUnit::Tokens => by_tokens(list, ground, (layer, step), end),
    }
}

/// Results that the step is not for take places nonetheless.
fn by_count(list: &List, layer: usize, step: &ClearResults, end: usize) -> usize {
    let count = list.sums(layer).results;
    let polling = u64::from(step.polling.max(1));
    // With polling, results beyond the last multiple stay too, until the next is reached.
    let keep = step.keep.n.saturating_add(count % polling);
    if count <= keep {
        return 0;
    }
    let mut kept = 0;
    let newest = list.results().iter().take(end).rev().take_while(|(position, _)| {
        if kept == keep {
            return false;
        }
        kept += u64::from(list.reaches(*position, layer));
        true
    });
    end - newest.count()
}

fn by_tokens(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    end: usize,
) -> usize {
    let mut kept = 0;
    let first = stop(list, (layer, step), end);
    for result in (first..end).rev() {
        let Some((position, unit)) = list.results().get(result).copied() else { continue };
        let Some(effect) = unit_effect(list, ground, position, unit) else { continue };
        if !list.reaches(position, layer) || !effect.is_for(layer) {
            continue;
        }
        kept += effect.tokens;
        if kept > step.keep.n {
            return if step.crossing == Crossing::Clear { result + 1 } else { result };
        }
    }
    0
}

/// Position of the message that the newest that stay begin with; `None`: there are fewer. Where ids
/// of the kept part decide, messages that earlier steps have emptied count still: they go at the
/// end.
fn newest(list: &List, layer: usize, keep: &KeepResults) -> Option<usize> {
    if !keep.ids_in_tail {
        return nth_last(list, layer, keep.n);
    }
    let mut standing = (0..list.len()).rev().filter(|position| list.stands(*position, layer));
    match usize::try_from(keep.n).unwrap_or(usize::MAX).checked_sub(1) {
        Some(nth) => standing.nth(nth),
        None => Some(list.len()),
    }
}

/// Position of the message that so many of the newest begin with; `None`: there are fewer.
fn nth_last(list: &List, layer: usize, count: u64) -> Option<usize> {
    if list.sums(layer).messages < count {
        return None;
    }
    let mut position = list.len();
    for _ in 0..count {
        position = list.previous(layer, position)?;
    }
    Some(position)
}

/// Position at which the newest so many user turns begin; `None`: there are fewer.
fn nth_turn(list: &List, layer: usize, count: u64) -> Option<usize> {
    let nth = usize::try_from(count).ok()?.checked_sub(1);
    let Some(nth) = nth else { return Some(list.len()) };
    let mut turns = list.user_turns().iter().rev().filter(|at| list.reaches(**at, layer));
    turns.nth(nth).copied()
}

/// Where clearing ends, given what it must gain.
fn gained(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    wanted: Range<usize>,
) -> usize {
    let Some(gain) = step.min_gain.as_ref().filter(|gain| gain.n > 0) else { return wanted.end };
    let mut gained = 0;
    for result in wanted.clone() {
        let Some((position, unit)) = list.results().get(result).copied() else { continue };
        let Some(effect) = unit_effect(list, ground, position, unit) else { continue };
        if !effect.is_for(layer) || !list.reaches(position, layer) {
            continue;
        }
        let instead = effect.instead(layer).map_or(0, |instead| instead.tokens);
        if step.sticky && list.is_acted_on(position, unit, layer) {
            continue;
        }
        gained += match gain.unit {
            KeepUnit::Results | KeepUnit::Messages | KeepUnit::UserTurns => 1,
            KeepUnit::Tokens if gain.mode == GainMode::Stop => {
                effect.tokens.saturating_sub(instead)
            }
            KeepUnit::Tokens => effect.tokens,
        };
        if gain.mode == GainMode::Stop && gained >= gain.n {
            return result + 1;
        }
    }
    match gain.mode {
        GainMode::Stop => wanted.end,
        GainMode::Refuse if gain.cmp.holds(gained, gain.n) => wanted.end,
        GainMode::Refuse => wanted.start,
    }
}

fn unit_effect<'g>(
    list: &List,
    ground: Ground<'g, '_>,
    position: usize,
    unit: usize,
) -> Option<&'g UnitEffect> {
    let (part, _) = list.at(position)?;
    ground.effects.known(part).units.get(unit)
}

/// Sets or takes back the step's mark on a result; false when the step is not for it.
fn set(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    result: usize,
    acts: bool,
) -> bool {
    let Some((position, unit)) = list.results().get(result).copied() else { return false };
    if !mark(list, ground, layer, (position, unit), acts) {
        return false;
    }
    if step.clear_inputs {
        let calls: Vec<_> = list.calls_of(ground, position, unit).collect();
        for call in calls {
            mark(list, ground, layer, call, acts);
        }
    }
    true
}

fn mark(
    list: &mut List,
    ground: Ground<'_, '_>,
    layer: usize,
    (position, unit): (usize, usize),
    acts: bool,
) -> bool {
    let effect = unit_effect(list, ground, position, unit);
    let is_for = effect.is_some_and(|unit| unit.is_for(layer));
    if is_for && list.is_acted_on(position, unit, layer) != acts {
        list.act(ground, layer, (position, unit), acts);
    }
    is_for
}

fn listed(list: &List, ground: Ground<'_, '_>, result: usize) -> Option<Listed> {
    let (position, unit) = list.results().get(result).copied()?;
    let (part, equal) = list.at(position)?;
    let group = ground.index.part(part).units.get(unit)?.group;
    Some((part, equal, group))
}
