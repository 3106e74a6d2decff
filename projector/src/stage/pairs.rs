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
    let mut wanted = BTreeSet::new();
    if acts {
        let range = clear::range(list, ground, (layer, step));
        if step.keep.ids_in_tail {
            by_ids(list, ground, (layer, step), range.end, &mut wanted);
        } else {
            for result in range {
                let Some(unit) = list.results().get(result).copied() else { continue };
                if list.shows(layer, unit) && list.is_for(ground, layer, unit) {
                    wanted.extend(list.calls_of(ground, unit.0, unit.1));
                    wanted.insert(unit);
                }
            }
        }
        if step.orphan_reasoning == Orphan::Drop {
            reasoning(list, ground, layer, &mut wanted);
        }
    }
    memory.act_only(list, ground, layer, wanted, step.sticky);
}

/// All calls and results before the kept part whose ids it does not name.
fn by_ids(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &ClearResults),
    border: usize,
    wanted: &mut BTreeSet<(usize, usize)>,
) {
    let begin = clear::tail(list, (layer, step), border);
    let kept = list.keys(ground, begin, layer);
    for kind in [UnitKind::Call, UnitKind::Result] {
        let units = list.units(kind).iter().take_while(|(position, _)| *position < begin);
        for unit in units {
            let key = list.key_of(ground, unit.0, unit.1);
            let stays = key.is_some_and(|key| kept.contains(&key));
            if !stays && list.shows(layer, *unit) && list.is_for(ground, layer, *unit) {
                wanted.insert(*unit);
            }
        }
    }
}

/// Reasoning behind which everything goes, up to the next reasoning of its message.
fn reasoning(
    list: &List,
    ground: Ground<'_, '_>,
    layer: usize,
    wanted: &mut BTreeSet<(usize, usize)>,
) {
    let positions: BTreeSet<usize> = wanted.iter().map(|(position, _)| *position).collect();
    for position in positions {
        let mut run: Vec<(usize, usize)> = Vec::new();
        let (mut some, mut all) = (false, true);
        let mut orphans = Vec::new();
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
                continue;
            }
            let gone = |unit: &usize| {
                wanted.contains(&(position, *unit)) || !list.shows(layer, (position, *unit))
            };
            some = true;
            all &= !units.is_empty() && units.iter().all(gone);
        }
        if some && all {
            orphans.append(&mut run);
        }
        wanted.extend(orphans);
    }
}
