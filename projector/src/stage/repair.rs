//! `repair`: calls without results, results without calls.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ledger::history::History;
use ledger::wire::SlotKind;

use super::atomic::{self, Link, Rules};
use super::memory::Memory;
use crate::fold::index::{PairKey, UnitKind};
use crate::fold::list::{Added, Ground, List};
use crate::policy::op::{Orphan, Repair};

/// A call by what it shares with its result, or by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CallKey {
    Named(PairKey),
    At(usize, usize),
}

/// Leaves out what stands alone, and puts results in the place of those that are missing.
pub(crate) fn mend(
    history: &History,
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Repair),
    memory: &mut Memory,
    acts: bool,
) {
    let open = run(list, ground, (layer, step), memory, acts);
    let made = step.missing_output.as_ref();
    let made = made.map(|text| results(history, list, ground, (layer, text), &open));
    list.insert(layer, made.unwrap_or_default());
}

/// Results in the place of those that are missing, each behind the message of its call.
fn results(
    history: &History,
    list: &List,
    ground: Ground<'_, '_>,
    (layer, text): (usize, &str),
    open: &[(usize, usize)],
) -> Vec<Added> {
    let inline = |kind: SlotKind, position: usize, unit: usize| {
        let (part, _) = list.at(position)?;
        let group = ground.index.part(part).units.get(unit)?.group;
        let part = history.part(part);
        let mut slots = history.skeleton(part).slots.iter().zip(&part.holes);
        let (_, hole) = slots.find(|(def, _)| def.kind == kind && def.group == group)?;
        core::str::from_utf8(history.text(hole).as_inline()?).ok()
    };
    let made = open.iter().map(|(position, unit)| {
        let id = inline(SlotKind::CALL_ID, *position, *unit).unwrap_or_default();
        let tool = inline(SlotKind::TOOL_NAME, *position, *unit).unwrap_or_default();
        ground.added(layer, position + 1, ground.pen.result(id, tool, text), text)
    });
    made.collect()
}

/// Leaves out what stands alone, and gives the calls that a result has to be made for: position
/// and unit.
fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Repair),
    memory: &mut Memory,
    acts: bool,
) -> Vec<(usize, usize)> {
    if !acts {
        memory.act_only(list, ground, layer, BTreeSet::new(), false);
        return Vec::new();
    }
    let mut units = Vec::new();
    let mut links = Vec::new();
    let mut shown = Vec::new();
    for position in 0..list.len() {
        let thinking = list.has(ground, position, UnitKind::Reasoning);
        let mut any = false;
        for (position, unit) in list.units_at(ground, position) {
            let Some((kind, key)) = list.unit(ground, (position, unit)) else { continue };
            let call = key.map_or(CallKey::At(position, unit), CallKey::Named);
            let link = match kind {
                UnitKind::Call => {
                    Link::Call { call, batch: List::batch(ground, position, key), thinking }
                }
                UnitKind::Result => Link::Result { call },
                UnitKind::Reasoning | UnitKind::Media => continue,
            };
            any = true;
            if list.shows(layer, (position, unit)) {
                shown.push(links.len());
            }
            units.push(Some((position, unit)));
            links.push(link);
        }
        if !any && !list.has(ground, position, UnitKind::Reasoning) {
            if list.reaches(position, layer) {
                shown.push(links.len());
            }
            units.push(None);
            links.push(Link::Other);
        }
    }
    let rules = Rules {
        unique_output: step.unique_output,
        batch_atomic: step.batch_atomic,
        drop_calls: step.orphan_call == Orphan::Drop && step.missing_output.is_none(),
        drop_results: step.orphan_output == Orphan::Drop,
        thinking_loop_atomic: step.thinking_loop_atomic,
    };
    let kept: BTreeSet<usize> =
        atomic::kept(&links, shown.iter().copied(), rules).into_iter().collect();
    let gone = shown.iter().filter(|at| !kept.contains(at));
    let gone = gone.filter_map(|at| units.get(*at).copied().flatten()).collect();
    memory.act_only(list, ground, layer, gone, false);
    let mut open: BTreeMap<CallKey, (usize, usize)> = BTreeMap::new();
    for at in &kept {
        match (links.get(*at), units.get(*at).copied().flatten()) {
            (Some(Link::Call { call, .. }), Some(unit)) => {
                open.insert(*call, unit);
            }
            (Some(Link::Result { call }), _) => {
                open.remove(call);
            }
            _ => {}
        }
    }
    let mut open: Vec<_> = open.into_values().collect();
    open.sort_unstable();
    open
}
