//! `clear_results`: which results of a request lose their text.
//!
//! Everything older than the newest results that stay is cleared. From request to request the
//! border moves by what is new, and only results between the old border and the new one change.

use alloc::collections::BTreeSet;

use crate::fold::list::{Ground, List, Listed};
use crate::policy::ClearResults;

/// What the step remembers of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClearState {
    /// Results before this one, by order, were gone through.
    border: usize,
    /// Results that were looked up among those that stay cleared.
    known: usize,
    /// Results that stay cleared.
    pub(crate) sticky: BTreeSet<Listed>,
}

impl ClearState {
    /// Forgets what was said of the results from this one on: the client has changed them.
    pub(crate) fn truncate(&mut self, results: usize) {
        self.border = self.border.min(results);
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
    let border = if fires { border(list, layer, step) } else { 0 };
    if !step.sticky {
        for result in state.border..border {
            set(list, ground, layer, result, true);
        }
        for result in border..state.border {
            set(list, ground, layer, result, false);
        }
        state.border = border;
        return;
    }
    for result in state.known..list.results().len() {
        let stays = listed(list, ground, result).is_some_and(|it| state.sticky.contains(&it));
        if stays {
            set(list, ground, layer, result, true);
        }
    }
    state.known = list.results().len();
    // A result that an earlier step had left out was passed over, and may be back.
    if list.take_revived(layer).is_some() {
        state.border = 0;
    }
    for result in state.border..border {
        let Some((position, _)) = list.results().get(result).copied() else { continue };
        if list.reaches(position, layer) && set(list, ground, layer, result, true) {
            state.sticky.extend(listed(list, ground, result));
        }
    }
    state.border = state.border.max(border);
}

/// The first of the results that stay, by order. Results that the step is not for take places.
fn border(list: &List, layer: usize, step: &ClearResults) -> usize {
    let keep = step.keep.n;
    let results = list.results();
    if list.sums(layer).results <= keep {
        return 0;
    }
    let mut kept = 0;
    let newest = results.iter().rev().take_while(|(position, _)| {
        if kept == keep {
            return false;
        }
        kept += u64::from(list.reaches(*position, layer));
        true
    });
    results.len() - newest.count()
}

/// Sets or takes back the step's mark on a result; false when the step is not for it.
fn set(list: &mut List, ground: Ground<'_, '_>, layer: usize, result: usize, acts: bool) -> bool {
    let Some((position, unit)) = list.results().get(result).copied() else { return false };
    let Some((part, _)) = list.at(position) else { return false };
    let effect = ground.effects.known(part);
    let is_for = effect.units.get(unit).is_some_and(|unit| unit.is_for(layer));
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
