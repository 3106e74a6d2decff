//! What a layer remembers of a conversation, beside what it can work out again.

use alloc::collections::BTreeSet;

use ledger::id::PartNo;

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

/// What a layer remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Units that the layer acts on now.
    units: BTreeSet<(usize, usize)>,
    /// Messages that the layer leaves out now.
    messages: BTreeSet<usize>,
    /// Messages that were looked up among those that are gone.
    known: usize,
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
        self.known = self.known.min(to);
        self.units.retain(|(position, _)| *position < to);
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

    /// Acts on these units, on those that stay acted on, and on no others.
    pub(crate) fn act_only(
        &mut self,
        list: &mut List,
        ground: Ground<'_, '_>,
        layer: usize,
        mut wanted: BTreeSet<(usize, usize)>,
        sticky: bool,
    ) {
        if sticky {
            let listed = wanted.iter().filter_map(|unit| list.listed(ground, *unit));
            self.sticky.extend(listed);
        }
        if !self.sticky.is_empty() {
            for position in 0..list.len() {
                wanted.extend(list.units_at(ground, position).filter(|unit| {
                    list.is_for(ground, layer, *unit)
                        && list.listed(ground, *unit).is_some_and(|it| self.sticky.contains(&it))
                }));
            }
        }
        for unit in self.units.difference(&wanted) {
            list.act(ground, layer, *unit, false);
        }
        for unit in wanted.difference(&self.units) {
            list.act(ground, layer, *unit, true);
        }
        self.units = wanted;
    }
}
