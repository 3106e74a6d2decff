//! `clear_results` with `remove_pair`: calls and results that go together.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::clear;
use super::memory::Memory;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::policy::ClearResults;
use crate::policy::op::Orphan;

/// Takes old calls and results out, where the step acts.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    memory: &mut Memory,
    acts: bool,
) {
    if !step.keep.ids_in_tail {
        by_order(list, ground, (layer, step), memory, acts);
        return;
    }
    let (mut border, mut spared) = (0, BTreeSet::new());
    if acts {
        let range = clear::range(list, ground, (layer, step));
        border = clear::tail(list, (layer, step), range.end);
        // Ids that the kept part names stay everywhere.
        for key in list.keys(ground, border, layer) {
            spared.extend(list.units_of(key).filter(|(position, _)| *position < border));
        }
    }
    let before = ([UnitKind::Call, UnitKind::Result].as_slice(), border);
    let changed = memory.act_before(list, ground, layer, before, spared, step.sticky);
    if step.orphan_reasoning == Orphan::Drop {
        memory.watched.extend(changed);
        orphans(list, ground, layer, memory);
    }
}

/// Takes out results that are old enough by their order, with their calls.
fn by_order(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    memory: &mut Memory,
    acts: bool,
) {
    let mut wanted = BTreeSet::new();
    if acts {
        for result in clear::range(list, ground, (layer, step)) {
            let Some(unit) = list.results().get(result).copied() else { continue };
            if list.shows(layer, unit) && list.is_for(ground, layer, unit) {
                wanted.extend(list.calls_of(ground, unit.0, unit.1));
                wanted.insert(unit);
            }
        }
        if step.orphan_reasoning == Orphan::Drop {
            let positions: BTreeSet<usize> = wanted.iter().map(|(position, _)| *position).collect();
            for position in positions {
                let gone = |unit: (usize, usize)| wanted.contains(&unit);
                let (orphans, _) = reasoning(list, ground, layer, position, gone);
                wanted.extend(orphans);
            }
        }
    }
    memory.act_only(list, ground, layer, wanted, step.sticky);
}

/// Takes reasoning out behind which nothing is left, in messages where something has changed or
/// may change by what other steps do.
fn orphans(list: &mut List, ground: Ground<'_, '_>, layer: usize, memory: &mut Memory) {
    for position in core::mem::take(&mut memory.watched) {
        if position >= list.len() {
            continue;
        }
        let acted = |unit: (usize, usize)| list.is_acted_on(unit.0, unit.1, layer);
        let (orphans, settled) = reasoning(list, ground, layer, position, acted);
        let units: Vec<_> = list.units_at(ground, position).collect();
        for unit in units {
            let is = list.unit(ground, unit).is_some_and(|(kind, _)| kind == UnitKind::Reasoning);
            let acts = orphans.contains(&unit);
            if is && list.is_acted_on(position, unit.1, layer) != acts {
                list.act(ground, layer, unit, acts);
            }
        }
        if !settled {
            memory.watched.insert(position);
        }
    }
}

/// Reasoning of a message behind which everything goes, up to the next reasoning, and whether that
/// can change no more by what other steps do.
fn reasoning(
    list: &List,
    ground: Ground<'_, '_>,
    layer: usize,
    position: usize,
    goes: impl Fn((usize, usize)) -> bool,
) -> (Vec<(usize, usize)>, bool) {
    let mut run: Vec<(usize, usize)> = Vec::new();
    let (mut some, mut all, mut any) = (false, true, false);
    let (mut orphans, mut settled) = (Vec::new(), true);
    for (units, is_reasoning) in list.order(ground, position) {
        if is_reasoning {
            if some {
                if all {
                    orphans.append(&mut run);
                }
                run.clear();
                (some, all) = (false, true);
            }
            run.extend(units.iter().map(|unit| (position, *unit)));
            any = true;
            continue;
        }
        let gone = |unit: &usize| goes((position, *unit)) || !list.shows(layer, (position, *unit));
        // What is still there may go later, or what is hidden come back.
        settled &= units.iter().all(|unit| goes((position, *unit)));
        some = true;
        all &= !units.is_empty() && units.iter().all(gone);
    }
    if some && all {
        orphans.append(&mut run);
    }
    (orphans, settled || !any)
}
