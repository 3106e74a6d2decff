//! What a layer remembers of a conversation, beside what it can work out again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ledger::id::PartNo;

use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List, Listed};

/// A message by its place in the list: part, and how many equal parts stand before it.
pub(crate) type MessageKey = (PartNo, u32);

/// A summary that stands in the place of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Before the message at this position.
    pub(crate) at: u32,
    /// So many messages went.
    pub(crate) messages: u32,
    /// So many tokens are assumed for it.
    pub(crate) tokens: u64,
}

/// What a step that compares reads remembers of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Results that were looked at, by order.
    pub(crate) known: usize,
    /// The reads of each file, in order.
    pub(crate) files: BTreeMap<[u8; 32], Vec<(usize, usize)>>,
    /// Reads that are out of date, and what is gained where they go.
    pub(crate) stale: BTreeMap<(usize, usize), u64>,
    /// Of those, the ones that are not acted on for good.
    pub(crate) fresh: BTreeSet<(usize, usize)>,
    /// Sums of what is gained.
    pub(crate) gained: u64,
    pub(crate) gained_fresh: u64,
}

/// What a layer remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Units that the layer acts on now.
    units: BTreeSet<(usize, usize)>,
    /// Messages that the layer leaves out now.
    messages: BTreeSet<usize>,
    /// Messages that were looked up among those that are gone.
    known: usize,
    /// Of the units that the layer acts on, those that it acts on for good.
    stuck: BTreeSet<(usize, usize)>,
    /// Messages whose units were looked up among those.
    known_units: usize,
    /// Where the units end that a border of the layer lies behind: see [`Memory::act_before`].
    border: usize,
    /// Units before the border that the layer leaves alone.
    spared: BTreeSet<(usize, usize)>,
    /// Messages in which calls were taken out, and whose reasoning may go with them later.
    pub(crate) watched: BTreeSet<usize>,
    /// What a step that compares reads remembers of them.
    pub(crate) reads: Reads,
    /// Units that stay acted on.
    pub(crate) sticky: BTreeSet<Listed>,
    /// Messages that were left out for good.
    pub(crate) gone: BTreeSet<MessageKey>,
    /// The summary in their place.
    pub(crate) placed: Option<Placed>,
}

impl Memory {
    /// Goes on with what is kept of a snapshot.
    pub(crate) fn restored(
        sticky: BTreeSet<Listed>,
        gone: BTreeSet<MessageKey>,
        placed: Option<Placed>,
    ) -> Self {
        Self { sticky, gone, placed, ..Self::default() }
    }

    /// True where there is nothing to keep.
    pub(crate) fn is_empty(&self) -> bool {
        self.sticky.is_empty() && self.gone.is_empty() && self.placed.is_none()
    }

    /// Forgets what was said of messages from a position on: the client has changed them.
    pub(crate) fn truncate(&mut self, to: usize) {
        self.border = self.border.min(to);
        self.spared.retain(|(position, _)| *position < to);
        self.watched.retain(|position| *position < to);
        self.reads = Reads::default();
        self.known = self.known.min(to);
        self.known_units = self.known_units.min(to);
        self.units.retain(|(position, _)| *position < to);
        self.stuck.retain(|(position, _)| *position < to);
        self.messages.retain(|position| *position < to);
        if let Some(placed) = &mut self.placed {
            placed.at = placed.at.min(u32::try_from(to).unwrap_or(u32::MAX));
        }
    }

    /// Leaves out what was left out for good, where it is new to the list.
    pub(crate) fn take_up(&mut self, list: &mut List, ground: Ground<'_, '_>, layer: usize) {
        if !self.gone.is_empty() {
            for position in self.known..list.len() {
                if list.at(position).is_some_and(|key| self.gone.contains(&key)) {
                    list.hide(ground, layer, position, true);
                }
            }
        }
        self.known = list.len();
    }

    /// Leaves messages out for good.
    pub(crate) fn leave_out(
        &mut self,
        list: &mut List,
        ground: Ground<'_, '_>,
        layer: usize,
        positions: impl IntoIterator<Item = usize>,
    ) {
        for position in positions {
            self.gone.extend(list.at(position));
            list.hide(ground, layer, position, true);
        }
    }

    /// Leaves these messages out, and no others that were left out before.
    pub(crate) fn hide_only(
        &mut self,
        list: &mut List,
        ground: Ground<'_, '_>,
        layer: usize,
        wanted: BTreeSet<usize>,
    ) {
        for position in self.messages.difference(&wanted) {
            list.hide(ground, layer, *position, false);
        }
        for position in wanted.difference(&self.messages) {
            list.hide(ground, layer, *position, true);
        }
        self.messages = wanted;
    }

    /// Takes back what was put in the place of units.
    pub(crate) fn take_back(&mut self, list: &mut List, ground: Ground<'_, '_>, layer: usize) {
        for unit in core::mem::take(&mut self.units) {
            list.put(ground, layer, unit, None);
        }
    }

    /// Notes in the place of which units something was put.
    pub(crate) fn note(&mut self, units: BTreeSet<(usize, usize)>) {
        self.units = units;
    }

    /// True for a unit that stays acted on.
    pub(crate) fn is_stuck(&self, unit: (usize, usize)) -> bool {
        self.stuck.contains(&unit)
    }

    /// Acts on units that stay acted on, where they are new to the list.
    pub(crate) fn take_up_units(&mut self, list: &mut List, ground: Ground<'_, '_>, layer: usize) {
        if !self.sticky.is_empty() {
            for position in self.known_units..list.len() {
                for unit in list.units_at(ground, position) {
                    if list.is_for(ground, layer, unit)
                        && list.listed(ground, unit).is_some_and(|it| self.sticky.contains(&it))
                    {
                        list.act(ground, layer, unit, true);
                        self.stuck.insert(unit);
                        self.units.insert(unit);
                    }
                }
            }
        }
        self.known_units = list.len();
    }

    /// Acts on units of messages before a border, but for those that are spared, and on those that
    /// stay acted on. Only what the border passes is looked at. Gives the messages that were
    /// looked at.
    pub(crate) fn act_before(
        &mut self,
        list: &mut List,
        ground: Ground<'_, '_>,
        layer: usize,
        (kinds, border): (&[UnitKind], usize),
        spared: BTreeSet<(usize, usize)>,
        sticky: bool,
    ) -> BTreeSet<usize> {
        self.take_up_units(list, ground, layer);
        let mut passed: Vec<(usize, usize)> = Vec::new();
        for kind in kinds {
            let from = border.min(self.border);
            let units = list.units(*kind);
            let first = units.partition_point(|(position, _)| *position < from);
            let last = border.max(self.border);
            let behind = units.get(first..).unwrap_or_default().iter();
            passed.extend(behind.take_while(|(position, _)| *position < last));
        }
        passed.extend(self.spared.symmetric_difference(&spared));
        let mut changed = BTreeSet::new();
        for unit in passed {
            let acts = unit.0 < border && !spared.contains(&unit);
            if !list.is_for(ground, layer, unit) || (!acts && self.stuck.contains(&unit)) {
                continue;
            }
            if acts && sticky {
                self.sticky.extend(list.listed(ground, unit));
                self.stuck.insert(unit);
            }
            if list.is_acted_on(unit.0, unit.1, layer) != acts {
                list.act(ground, layer, unit, acts);
            }
            changed.insert(unit.0);
        }
        self.border = border;
        self.spared = spared;
        changed
    }

    /// Acts on these units, on those that stay acted on, and on no others.
    pub(crate) fn act_only(
        &mut self,
        list: &mut List,
        ground: Ground<'_, '_>,
        layer: usize,
        mut wanted: BTreeSet<(usize, usize)>,
        sticky: bool,
    ) {
        self.take_up_units(list, ground, layer);
        if sticky {
            let listed = wanted.iter().filter_map(|unit| list.listed(ground, *unit));
            self.sticky.extend(listed);
            for unit in wanted.difference(&self.units) {
                list.act(ground, layer, *unit, true);
            }
            self.units.extend(&wanted);
            self.stuck.append(&mut wanted);
            return;
        }
        wanted.extend(&self.stuck);
        for unit in self.units.difference(&wanted) {
            list.act(ground, layer, *unit, false);
        }
        for unit in wanted.difference(&self.units) {
            list.act(ground, layer, *unit, true);
        }
        self.units = wanted;
    }
}
