//! `dedupe_reads`: which reads of a file are out of date.

use alloc::collections::{BTreeMap, BTreeSet};

use super::memory::Memory;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::policy::op::DedupeReads;

/// Replaces older reads, where the step acts. Gives the bytes that are gained by what is replaced.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &DedupeReads),
    memory: &mut Memory,
    (acts, sticky): (bool, bool),
) -> u64 {
    let mut wanted = BTreeSet::new();
    let mut gained = 0;
    if acts {
        let mut newest = BTreeMap::new();
        for unit in list.units(UnitKind::Result).iter().rev() {
            if !list.shows(layer, *unit) || !list.is_for(ground, layer, *unit) {
                continue;
            }
            let Some(read) = list.read_of(ground, layer, *unit) else { continue };
            let Some(text) = newest.get(&read).copied() else {
                newest.insert(read, list.text_id(ground, *unit));
                continue;
            };
            if step.equal_only && text != list.text_id(ground, *unit) {
                continue;
            }
            gained += list.gain(ground, layer, *unit);
            wanted.insert(*unit);
        }
        let fresh = wanted.iter().filter(|unit| {
            list.listed(ground, **unit).is_none_or(|it| !memory.sticky.contains(&it))
        });
        let fresh: u64 = fresh.map(|unit| list.gain(ground, layer, *unit)).sum();
        if fresh < step.min_batch_bytes {
            wanted.clear();
        }
    }
    memory.act_only(list, ground, layer, wanted, sticky);
    gained
}
