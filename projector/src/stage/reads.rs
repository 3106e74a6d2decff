//! `dedupe_reads`: which reads of a file are out of date.
//!
//! What is new to the list is compared with the reads of its file, so that a request costs what is
//! new. Where an earlier step hides messages, what it hides is no read, and all is looked at again.

use alloc::collections::BTreeSet;

use super::memory::{Memory, Reads};
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
    if !acts {
        memory.act_only(list, ground, layer, BTreeSet::new(), sticky);
        return 0;
    }
    memory.take_up_units(list, ground, layer);
    if list.hides(layer) {
        memory.reads = Reads::default();
    }
    look(list, ground, (layer, step), memory);
    let Reads { gained, gained_fresh, .. } = memory.reads;
    if gained_fresh < step.min_batch_bytes {
        if !sticky {
            memory.act_only(list, ground, layer, BTreeSet::new(), false);
        }
        return gained;
    }
    if sticky {
        let fresh = core::mem::take(&mut memory.reads.fresh);
        memory.reads.gained_fresh = 0;
        if !fresh.is_empty() {
            memory.act_only(list, ground, layer, fresh, true);
        }
    } else {
        let stale = memory.reads.stale.keys().copied().collect();
        memory.act_only(list, ground, layer, stale, false);
    }
    gained
}

/// Looks at the results that are new.
fn look(
    list: &List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &DedupeReads),
    memory: &mut Memory,
) {
    let results = list.units(UnitKind::Result);
    for unit in results.get(memory.reads.known..).unwrap_or_default().iter().copied() {
        if !list.shows(layer, unit) || !list.is_for(ground, layer, unit) {
            continue;
        }
        let Some(file) = list.read_of(ground, layer, unit) else { continue };
        let reads = memory.reads.files.entry(file).or_default();
        let earlier: &[(usize, usize)] = match reads.split_last() {
            // The one before is all that the new read makes stale.
            Some((last, _)) if !step.equal_only => core::slice::from_ref(last),
            Some(_) => reads.as_slice(),
            None => &[],
        };
        let text = list.text_id(ground, unit);
        let stale = |read: &(usize, usize)| !step.equal_only || list.text_id(ground, *read) == text;
        let marks: alloc::vec::Vec<_> = earlier.iter().map(|it| (*it, stale(it))).collect();
        reads.push(unit);
        for (read, stale) in marks {
            let gain = list.gain(ground, layer, read);
            let stuck = memory.is_stuck(read);
            memory.reads.mark(read, gain, (stale, stuck));
        }
    }
    memory.reads.known = results.len();
}

impl Reads {
    /// Notes whether a read is out of date, and whether it is acted on for good.
    fn mark(&mut self, read: (usize, usize), gain: u64, (stale, stuck): (bool, bool)) {
        if stale && self.stale.insert(read, gain).is_none() {
            self.gained += gain;
            if !stuck && self.fresh.insert(read) {
                self.gained_fresh += gain;
            }
        }
        if !stale && self.stale.remove(&read).is_some() {
            self.gained -= gain;
            if self.fresh.remove(&read) {
                self.gained_fresh -= gain;
            }
        }
    }
}
