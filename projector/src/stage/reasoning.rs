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
    let before = ([UnitKind::Reasoning].as_slice(), border);
    memory.act_before(list, ground, layer, before, BTreeSet::new(), sticky);
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
            let (mut border, mut left) = (list.len(), step.n);
            for (position, _) in list.units(UnitKind::Reasoning).iter().rev() {
                if *position >= border || !list.reaches(*position, layer) || !model(position) {
                    continue;
                }
                let Some(rest) = left.checked_sub(1) else { return border };
                (left, border) = (rest, *position);
            }
            // Where there are no more turns than stay, all of them do.
            if left > 0 { 0 } else { border }
        }
    }
}
