//! `drop_reasoning`: which reasoning stays.

use alloc::collections::BTreeSet;

use ledger::wire::Role;

use super::memory::Memory;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::policy::op::{DropReasoning, KeepReasoning};

/// Leaves reasoning out, where the step acts.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &DropReasoning),
    memory: &mut Memory,
    (acts, sticky): (bool, bool),
) {
    let border = if acts { border(list, ground, layer, step) } else { 0 };
    let units = list.units(UnitKind::Reasoning).iter().copied();
    let wanted: BTreeSet<_> = units.take_while(|(position, _)| *position < border).collect();
    memory.act_only(list, ground, layer, wanted, sticky);
}

/// Reasoning before this position goes.
fn border(list: &List, ground: Ground<'_, '_>, layer: usize, step: &DropReasoning) -> usize {
    match step.keep {
        KeepReasoning::None => list.len(),
        KeepReasoning::All => 0,
        KeepReasoning::LastMessage => list.previous(layer, list.len()).unwrap_or(0),
        KeepReasoning::Turns => {
            let model = |position: &usize| {
                list.at(*position).is_some_and(|(part, _)| {
                    let role = ground.index.part(part).role;
                    matches!(role, Role::Assistant | Role::Unknown)
                })
            };
            let mut turns: alloc::vec::Vec<usize> = list
                .units(UnitKind::Reasoning)
                .iter()
                .map(|(position, _)| *position)
                .filter(|position| list.reaches(*position, layer) && model(position))
                .collect();
            turns.dedup();
            let keep = usize::try_from(step.n).unwrap_or(usize::MAX);
            match turns.len().checked_sub(keep) {
                Some(first) => turns.get(first).copied().unwrap_or(list.len()),
                None => 0,
            }
        }
    }
}
