//! What steps ask of a list.

use alloc::vec::Vec;

use super::{Ground, List, Listed};
use crate::fold::blocks::Left;
use crate::fold::effect::Instead;
use crate::fold::index::{PairKey, UnitKind};
use crate::fold::program::before;

impl List {
    /// Units of a kind in order: position and unit.
    pub(crate) fn units(&self, kind: UnitKind) -> &[(usize, usize)] {
        let [calls, reasoning, media] = &self.others;
        match kind {
            UnitKind::Result => &self.results,
            UnitKind::Call => calls,
            UnitKind::Reasoning => reasoning,
            UnitKind::Media => media,
        }
    }

    /// Calls and results that have a key, in order.
    pub(crate) fn units_of(&self, key: PairKey) -> impl Iterator<Item = (usize, usize)> {
        self.by_key.get(&key).into_iter().flatten().copied()
    }

    /// True where layers before `layer` leave messages out, or units of them.
    pub(crate) fn hides(&self, layer: usize) -> bool {
        let sums = self.sums(layer);
        sums.messages - sums.added < self.len() as u64 || self.removing & before(layer) != 0
    }

    /// The units of a message.
    pub(crate) fn units_at(
        &self,
        ground: Ground<'_, '_>,
        position: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let units = self.at(position).map_or(0, |(part, _)| ground.index.part(part).units.len());
        (0..units).map(move |unit| (position, unit))
    }

    /// What a unit is, and what it has in common with its other side.
    pub(crate) fn unit(
        &self,
        ground: Ground<'_, '_>,
        (position, unit): (usize, usize),
    ) -> Option<(UnitKind, Option<PairKey>)> {
        let (part, _) = self.at(position)?;
        ground.index.part(part).units.get(unit).map(|unit| (unit.kind, unit.key))
    }

    /// A unit by the place of its message among equal ones.
    pub(crate) fn listed(
        &self,
        ground: Ground<'_, '_>,
        (position, unit): (usize, usize),
    ) -> Option<Listed> {
        let (part, equal) = self.at(position)?;
        // Units of one block differ by their kind only.
        let unit = ground.index.part(part).units.get(unit)?;
        Some((part, equal, unit.group))
    }

    /// True for a message with units of a kind.
    pub(crate) fn has(&self, ground: Ground<'_, '_>, position: usize, kind: UnitKind) -> bool {
        self.at(position).is_some_and(|(part, _)| {
            ground.index.part(part).units.iter().any(|unit| unit.kind == kind)
        })
    }

    /// The answer of the model that a call stands in: the request that was answered, where it is
    /// on record, else the message.
    pub(crate) fn batch(
        ground: Ground<'_, '_>,
        position: usize,
        key: Option<PairKey>,
    ) -> (Option<u32>, usize) {
        match key.and_then(|key| ground.index.asked(key)) {
            Some(request) => (Some(request), 0),
            None => (None, position),
        }
    }

    /// True where the layer is given the unit.
    pub(crate) fn shows(&self, layer: usize, (position, unit): (usize, usize)) -> bool {
        let removed = self.removing & before(layer);
        self.reaches(position, layer)
            && self
                .entries
                .get(position)
                .is_some_and(|entry| entry.units.get(unit).is_some_and(|acts| acts & removed == 0))
    }

    /// True where the layer can act on the unit.
    pub(crate) fn is_for(
        &self,
        ground: Ground<'_, '_>,
        layer: usize,
        (position, unit): (usize, usize),
    ) -> bool {
        let Some((part, _)) = self.at(position) else { return false };
        ground.effects.known(part).units.get(unit).is_some_and(|unit| unit.is_for(layer))
    }

    /// Bytes that are gained where the layer acts on a unit.
    pub(crate) fn gain(
        &self,
        ground: Ground<'_, '_>,
        layer: usize,
        (position, unit): (usize, usize),
    ) -> u64 {
        let Some((part, _)) = self.at(position) else { return 0 };
        let unit = ground.effects.known(part).units.get(unit);
        let gain =
            unit.and_then(|unit| Some(unit.bytes.saturating_sub(unit.instead(layer)?.bytes)));
        gain.unwrap_or(0)
    }

    /// The file that a result is a read of, by the arguments of its call.
    pub(crate) fn read_of(
        &self,
        ground: Ground<'_, '_>,
        layer: usize,
        (position, unit): (usize, usize),
    ) -> Option<[u8; 32]> {
        let mut calls = self.calls_of(ground, position, unit);
        let (position, unit) = calls.next()?;
        let (part, _) = self.at(position)?;
        let unit = ground.effects.known(part).units.get(unit)?;
        unit.reads.iter().find(|(at, _)| *at == layer).map(|(_, read)| *read)
    }

    /// A name for the text that a unit shows: two units with one name show the same.
    pub(crate) fn text_id(
        &self,
        ground: Ground<'_, '_>,
        (position, unit): (usize, usize),
    ) -> Option<[u8; 32]> {
        let (part, _) = self.at(position)?;
        ground.effects.known(part).units.get(unit)?.text
    }

    /// Bytes of a message as the layer is given it.
    pub(crate) fn bytes_at(&self, ground: Ground<'_, '_>, layer: usize, position: usize) -> u64 {
        let Some(entry) = self.entries.get(position) else { return 0 };
        let effect = ground.effects.known(entry.part);
        entry.sizes(effect, before(layer), (self.estimator, self.removing)).bytes
    }

    /// The blocks of a message in order: the units of each, and whether it is reasoning.
    pub(crate) fn order(&self, ground: Ground<'_, '_>, position: usize) -> Vec<(Vec<usize>, bool)> {
        let Some((part, _)) = self.at(position) else { return Vec::new() };
        let placing = ground.effects.known(part).placing.as_ref();
        placing.map(|placing| placing.order.clone()).unwrap_or_default()
    }

    /// What is cut out of a message for the layers before `layer`; `None`: nothing.
    pub(crate) fn left(
        &self,
        ground: Ground<'_, '_>,
        layer: usize,
        position: usize,
    ) -> Option<Left> {
        let entry = self.entries.get(position)?;
        entry.left(ground.effects.known(entry.part), before(layer) & self.removing)
    }

    /// What stands in the place of a unit for a layer.
    pub(crate) fn instead<'l>(
        &'l self,
        ground: Ground<'l, '_>,
        (position, unit): (usize, usize),
        layer: usize,
    ) -> Option<&'l Instead> {
        let entry = self.entries.get(position)?;
        entry.instead(ground.effects.known(entry.part), unit, layer)
    }
}
