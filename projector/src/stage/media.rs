//! `media`: which images and other media go.

use alloc::collections::BTreeSet;

use super::memory::Memory;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::policy::op::{Media, MediaAction};

/// Leaves media out, or puts a text in their place, where the step acts.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Media),
    memory: &mut Memory,
    (acts, sticky): (bool, bool),
) {
    let mut wanted = BTreeSet::new();
    if acts && step.action != MediaAction::Keep {
        let keep = usize::try_from(step.keep).unwrap_or(usize::MAX);
        let units = list.units(UnitKind::Media).iter().rev();
        let shown = units.filter(|(position, _)| list.reaches(*position, layer)).skip(keep);
        wanted = shown.copied().filter(|unit| list.is_for(ground, layer, *unit)).collect();
    }
    memory.act_only(list, ground, layer, wanted, sticky);
}
