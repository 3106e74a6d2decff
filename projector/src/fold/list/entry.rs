//! A message in its place, and what it adds to sums.

use alloc::vec::Vec;

use ledger::id::PartNo;

use crate::fold::blocks::Left;
use crate::fold::effect::{Effect, Instead, UnitEffect};
use crate::fold::index::{PairKey, UnitKind};
use crate::fold::program::{Mask, before, bit};
use crate::fold::weigh;
use crate::measure::Estimator;
use crate::text::Unknown;

/// Sums over messages as some layer is given them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) bytes: u64,
    /// Recorded text that is shown.
    pub(crate) shown_bytes: u64,
    pub(crate) messages: u64,
    pub(crate) results: u64,
    pub(crate) capped: u64,
    pub(crate) cleared: u64,
    /// Units whose text is not the recorded one.
    pub(crate) differing: u64,
    /// Estimated tokens, where the policy counts them.
    pub(crate) tokens: u64,
    /// Tool calls.
    pub(crate) calls: u64,
    /// Units of reasoning.
    pub(crate) reasoning: u64,
    /// Images and other media.
    pub(crate) media: u64,
    /// Messages of the policy; they are among `messages`.
    pub(crate) added: u64,
}

impl Sizes {
    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.shown_bytes += other.shown_bytes;
        self.messages += other.messages;
        self.results += other.results;
        self.capped += other.capped;
        self.cleared += other.cleared;
        self.differing += other.differing;
        self.tokens += other.tokens;
        self.calls += other.calls;
        self.reasoning += other.reasoning;
        self.media += other.media;
        self.added += other.added;
    }

    pub(super) fn take(&mut self, other: &Self) {
        self.bytes -= other.bytes;
        self.shown_bytes -= other.shown_bytes;
        self.messages -= other.messages;
        self.results -= other.results;
        self.capped -= other.capped;
        self.cleared -= other.cleared;
        self.differing -= other.differing;
        self.tokens -= other.tokens;
        self.calls -= other.calls;
        self.reasoning -= other.reasoning;
        self.media -= other.media;
        self.added -= other.added;
    }
}

/// A message in its place.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) part: PartNo,
    /// Equal parts before it.
    pub(super) equal: u32,
    /// Layers that leave it out.
    pub(super) dropped: Mask,
    /// Layers that act on some unit of it.
    pub(super) touched: Mask,
    /// Layers that act on each unit.
    pub(super) units: Vec<Mask>,
    /// Layers that leave it out because they took all out that it says.
    pub(super) emptied: Mask,
    /// What layers put in the place of units here and nowhere else, by unit.
    pub(super) own: Vec<(usize, Instead)>,
    /// Calls of it that stand before it too, and where.
    pub(super) shadowed: Vec<(PairKey, Option<(usize, usize)>)>,
    /// Links that it is a side of.
    pub(super) links: Vec<usize>,
}

impl Entry {
    /// Layers that leave the message, or a unit of it, out.
    pub(super) fn gone(&self, unit: usize, removing: Mask) -> Mask {
        let unit = self.units.get(unit).copied().unwrap_or(0);
        self.dropped | self.emptied | (unit & removing)
    }

    /// The layer from which on nothing is left of the message.
    pub(super) fn empties(&self, effect: &Effect, (removing, keeping): (Mask, Mask)) -> Mask {
        let mut acting = self.touched & removing;
        while acting != 0 {
            let layer = acting.trailing_zeros() as usize;
            acting &= acting - 1;
            match self.left(effect, before(layer + 1) & removing) {
                Some(Left::Nothing) => return bit(layer),
                Some(Left::Empty(_)) if keeping & bit(layer) == 0 => return bit(layer),
                _ => {}
            }
        }
        0
    }

    /// What is left where the layers of a mask have taken units out. `None`: all.
    pub(super) fn left(&self, effect: &Effect, mask: Mask) -> Option<Left> {
        if self.touched & mask == 0 {
            return None;
        }
        let gone = self.units.iter().enumerate();
        let gone = gone.filter_map(|(unit, acts)| Some((unit, acting(acts & mask)?)));
        Some(effect.without(&gone.collect::<Vec<_>>()))
    }

    pub(super) fn instead<'e>(
        &'e self,
        effect: &'e Effect,
        unit: usize,
        layer: usize,
    ) -> Option<&'e Instead> {
        let own = self.own.iter().find(|(at, own)| *at == unit && own.layer == layer);
        own.map(|(_, own)| own).or_else(|| effect.units.get(unit)?.instead(layer))
    }

    /// What layers that act rest on and is not known, with the steps.
    pub(super) fn unknowns<'e>(
        &'e self,
        effect: &'e Effect,
    ) -> impl Iterator<Item = (usize, Unknown)> + 'e {
        self.units.iter().zip(&effect.units).flat_map(|(acts, unit)| unit.unknowns(*acts))
    }

    /// What the message adds to sums when the layers of `mask` have acted.
    pub(super) fn sizes(
        &self,
        effect: &Effect,
        mask: Mask,
        (estimator, removing): (Option<Estimator>, Mask),
    ) -> Sizes {
        if (self.dropped | self.emptied) & mask != 0 {
            return Sizes::default();
        }
        let mut sizes = Sizes {
            bytes: effect.bytes,
            shown_bytes: effect.shown_bytes,
            messages: 1,
            results: u64::from(effect.results),
            capped: u64::from(effect.capped),
            cleared: 0,
            differing: u64::from(effect.differing),
            tokens: 0,
            calls: u64::from(effect.calls),
            reasoning: u64::from(effect.reasoning),
            media: u64::from(effect.media),
            added: 0,
        };
        let mut raw = effect.raw;
        if self.touched & mask == 0 {
            sizes.tokens = estimator.map_or(0, |estimator| weigh::tokens(estimator, raw));
            return sizes;
        }
        for (nth, (acts, unit)) in self.units.iter().zip(&effect.units).enumerate() {
            if acts & mask & removing != 0 {
                sizes.take_unit(unit);
                raw = raw.saturating_sub(unit.raw);
                continue;
            }
            let instead = acting(acts & mask);
            let Some(instead) = instead.and_then(|layer| self.instead(effect, nth, layer)) else {
                continue;
            };
            sizes.bytes = sizes.bytes - unit.bytes + instead.bytes;
            sizes.shown_bytes = sizes.shown_bytes - unit.shown_bytes + instead.kept;
            sizes.capped -= u64::from(unit.capped);
            sizes.capped += u64::from(unit.is_result && instead.kept > 0);
            sizes.cleared += u64::from(unit.is_result && instead.kept == 0);
            raw = raw - unit.raw + instead.raw;
            sizes.differing -= u64::from(unit.differs);
            sizes.differing += u64::from(instead.differs);
        }
        if let Some(Left::Without(cuts) | Left::Empty(cuts)) = self.left(effect, mask & removing) {
            sizes.bytes -= effect.bytes_of(&cuts);
        }
        let raw = if estimator.is_some_and(weigh::reads) { raw } else { sizes.bytes };
        sizes.tokens = estimator.map_or(0, |estimator| weigh::tokens(estimator, raw));
        sizes
    }
}

impl Sizes {
    /// A unit is not shown. Its bytes are those of its block, which are not known here.
    fn take_unit(&mut self, unit: &UnitEffect) {
        self.shown_bytes -= unit.shown_bytes;
        self.capped -= u64::from(unit.capped);
        self.cleared += u64::from(unit.is_result);
        self.differing += 1 - u64::from(unit.differs);
        let (results, calls, reasoning, media) = match unit.kind {
            UnitKind::Result => (1, 0, 0, 0),
            UnitKind::Call => (0, 1, 0, 0),
            UnitKind::Reasoning => (0, 0, 1, 0),
            UnitKind::Media => (0, 0, 0, 1),
        };
        self.results -= results;
        self.calls -= calls;
        self.reasoning -= reasoning;
        self.media -= media;
    }
}

/// The first layer of a mask.
pub(super) fn acting(mask: Mask) -> Option<usize> {
    (mask != 0).then(|| mask.trailing_zeros() as usize)
}
