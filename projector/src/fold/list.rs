//! A conversation's messages with what each layer did to them, and the sums that follow.
//!
//! Positions are those of the recorded list and never move while messages are added: a message
//! that is left out stays in its place with a bit set. Sums are kept for what each layer is
//! given, and only messages that change are counted again, so that a request costs what changed
//! and not what it sends again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use ledger::event::Splice;
use ledger::id::PartNo;

use super::effect::{Effect, Effects};
use super::index::{Index, PairKey, UnitKind};
use super::program::{Mask, before, bit};
use super::weigh;
use crate::measure::Estimator;
use crate::text::Unknown;

/// A result by its place in the list: part, how many equal parts stand before it, and group.
pub(crate) type Listed = (PartNo, u32, u16);

/// What parts are and what the caps leave of them.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'g, 'h> {
    pub(crate) index: &'g Index,
    pub(crate) effects: &'g Effects<'h>,
}

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
}

impl Sizes {
    fn add(&mut self, other: &Self) {
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
    }

    fn take(&mut self, other: &Self) {
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
    }
}

/// A message in its place.
#[derive(Clone, Debug)]
struct Entry {
    part: PartNo,
    /// Equal parts before it.
    equal: u32,
    /// Layers that leave it out.
    dropped: Mask,
    /// Layers that act on some unit of it.
    touched: Mask,
    /// Layers that act on each unit.
    units: Vec<Mask>,
    /// Calls of it that stand before it too, and where.
    shadowed: Vec<(PairKey, Option<usize>)>,
    /// Links that it is a side of.
    links: Vec<usize>,
}

/// A result and the nearest earlier message that holds its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) call: usize,
    pub(crate) result: usize,
}

/// A conversation's messages.
#[derive(Debug)]
pub(crate) struct List {
    /// What tokens are counted by, where the policy counts them.
    estimator: Option<Estimator>,
    entries: Vec<Entry>,
    /// Position and unit of each result, in order.
    results: Vec<(usize, usize)>,
    /// Positions of messages that a person, or the driving program, wrote.
    user_turns: Vec<usize>,
    /// Parts that the client put in the place of more messages than they are.
    summary_parts: BTreeSet<PartNo>,
    /// Positions of such parts.
    summaries: Vec<usize>,
    seen: BTreeMap<PartNo, u32>,
    call_at: BTreeMap<PairKey, usize>,
    links: Vec<Link>,
    /// Links whose sides were left out by different layers.
    torn: BTreeSet<usize>,
    /// Sums as each layer is given them; the last are those of the view.
    sums: Vec<Sizes>,
    /// Recorded text of all messages, whatever is shown of it.
    text_bytes: u64,
    /// For each step of the policy, messages with a text that it looks at and whose whole is not
    /// on record.
    not_whole: BTreeMap<usize, u64>,
    /// For each step of the policy, messages for which it rests on what is not known.
    unknown: BTreeMap<usize, (u64, Unknown)>,
    /// For each layer, the stretch that it leaves out as a whole.
    gaps: Vec<Range<usize>>,
    /// For each layer, the first position that an earlier layer had left out and no longer does.
    revived: Vec<Option<usize>>,
}

impl List {
    pub(crate) fn new(layers: usize, estimator: Option<Estimator>) -> Self {
        Self {
            estimator,
            entries: Vec::new(),
            results: Vec::new(),
            user_turns: Vec::new(),
            summary_parts: BTreeSet::new(),
            summaries: Vec::new(),
            seen: BTreeMap::new(),
            call_at: BTreeMap::new(),
            links: Vec::new(),
            torn: BTreeSet::new(),
            sums: alloc::vec![Sizes::default(); layers + 1],
            text_bytes: 0,
            not_whole: BTreeMap::new(),
            unknown: BTreeMap::new(),
            gaps: alloc::vec![0..0; layers],
            revived: alloc::vec![None; layers],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Parts from a position on.
    pub(crate) fn parts(&self, from: usize) -> impl Iterator<Item = PartNo> {
        self.entries.get(from..).unwrap_or_default().iter().map(|entry| entry.part)
    }

    /// The part at a position, how many equal parts stand before it, and the layers that act.
    pub(crate) fn at(&self, position: usize) -> Option<(PartNo, u32)> {
        self.entries.get(position).map(|entry| (entry.part, entry.equal))
    }

    /// Results in order: position and unit.
    pub(crate) fn results(&self) -> &[(usize, usize)] {
        &self.results
    }

    /// Sums as a layer is given them; those of the view for the layer behind the last.
    pub(crate) fn sums(&self, layer: usize) -> Sizes {
        self.sums.get(layer).copied().unwrap_or_default()
    }

    pub(crate) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// First step that looks at a text whose whole is not on record.
    pub(crate) fn not_whole(&self) -> Option<usize> {
        self.not_whole.keys().next().copied()
    }

    /// First step that rests on what is not known.
    pub(crate) fn unknown(&self) -> Option<(usize, Unknown)> {
        self.unknown.iter().next().map(|(step, (_, unknown))| (*step, *unknown))
    }

    /// Positions of messages that a person, or the driving program, wrote, in order.
    pub(crate) fn user_turns(&self) -> &[usize] {
        &self.user_turns
    }

    /// Notes that the client put a part in the place of more messages than it is: a summary.
    pub(crate) fn note_summary(&mut self, part: PartNo) {
        self.summary_parts.insert(part);
    }

    /// Positions of summaries that the client made, in order.
    pub(crate) fn summaries(&self) -> &[usize] {
        &self.summaries
    }

    /// What a call or a result at a place has in common with its other side.
    pub(crate) fn key_of(
        &self,
        ground: Ground<'_, '_>,
        position: usize,
        unit: usize,
    ) -> Option<PairKey> {
        let (part, _) = self.at(position)?;
        ground.index.part(part).units.get(unit)?.key
    }

    /// The keys of all calls and results that reach the layer, from a position on.
    pub(crate) fn keys(
        &self,
        ground: Ground<'_, '_>,
        from: usize,
        layer: usize,
    ) -> BTreeSet<PairKey> {
        let entries = self.entries.iter().skip(from).filter(|it| it.dropped & before(layer) == 0);
        let units = entries.flat_map(|entry| &ground.index.part(entry.part).units);
        units.filter_map(|unit| unit.key).collect()
    }

    /// True when the message reaches the layer.
    pub(crate) fn reaches(&self, position: usize, layer: usize) -> bool {
        self.entries.get(position).is_some_and(|entry| entry.dropped & before(layer) == 0)
    }

    /// The first layer that acts on a unit, if any.
    pub(crate) fn acting(&self, position: usize, unit: usize) -> Option<usize> {
        let entry = self.entries.get(position)?;
        acting(entry.units.get(unit).copied()?)
    }

    /// True when the layer acts on a unit.
    pub(crate) fn is_acted_on(&self, position: usize, unit: usize, layer: usize) -> bool {
        let units = self.entries.get(position).map(|entry| entry.units.as_slice());
        units.and_then(|units| units.get(unit)).is_some_and(|mask| mask & bit(layer) != 0)
    }

    /// The next message that reaches the layer, from a position on.
    pub(crate) fn next(&self, layer: usize, mut position: usize) -> Option<usize> {
        while position < self.entries.len() {
            if self.reaches(position, layer) {
                return Some(position);
            }
            position = self.gap_at(layer, position).map_or(position + 1, |gap| gap.end);
        }
        None
    }

    /// The last message before a position that reaches the layer.
    pub(crate) fn previous(&self, layer: usize, mut position: usize) -> Option<usize> {
        while position > 0 {
            position -= 1;
            if self.reaches(position, layer) {
                return Some(position);
            }
            position = self.gap_at(layer, position).map_or(position, |gap| gap.start);
        }
        None
    }

    /// The stretch around a position that a layer before this one leaves out.
    fn gap_at(&self, layer: usize, position: usize) -> Option<&Range<usize>> {
        self.gaps.iter().take(layer).find(|gap| gap.contains(&position))
    }

    /// The links that a message is a side of.
    pub(crate) fn links(&self, position: usize) -> impl Iterator<Item = Link> {
        let links = self.entries.get(position).map(|entry| entry.links.as_slice());
        links.unwrap_or_default().iter().filter_map(|link| self.links.get(*link).copied())
    }

    /// Tokens of a message as the layer is given it, where the policy counts them.
    pub(crate) fn tokens_at(&self, ground: Ground<'_, '_>, layer: usize, position: usize) -> u64 {
        let Some(entry) = self.entries.get(position) else { return 0 };
        let effect = ground.effects.known(entry.part);
        entry.sizes(effect, before(layer), self.estimator).tokens
    }

    /// True for a message that holds tool results.
    pub(crate) fn has_results(&self, ground: Ground<'_, '_>, position: usize) -> bool {
        let part = self.entries.get(position).map(|entry| entry.part);
        part.is_some_and(|part| ground.effects.known(part).results > 0)
    }

    /// The calls that a result belongs to: position and unit.
    pub(crate) fn calls_of<'l>(
        &'l self,
        ground: Ground<'l, '_>,
        position: usize,
        unit: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'l {
        let index = ground.index;
        let units = self.at(position).map(|(part, _)| index.part(part).units.as_slice());
        let key = units.and_then(|units| units.get(unit)).and_then(|unit| unit.key);
        let links = self.links(position).filter(move |link| link.result == position);
        links.filter_map(move |link| {
            let (part, _) = self.at(link.call)?;
            let mut units = index.part(part).units.iter();
            let call = units.position(|it| it.kind == UnitKind::Call && it.key == key);
            Some((link.call, call.filter(|_| key.is_some())?))
        })
    }

    /// True when a call or a result that reaches the layer has no other side there.
    pub(crate) fn is_unpaired(&self, layer: usize) -> bool {
        let Sizes { results, calls, .. } = self.sums(layer);
        self.broken(layer) > 0 || results != calls || self.results.len() != self.links.len()
    }

    /// Links of which one side reaches the layer and the other does not.
    pub(crate) fn broken(&self, layer: usize) -> usize {
        let broken = |link: &&usize| {
            self.links.get(**link).is_some_and(|link| {
                self.reaches(link.call, layer) != self.reaches(link.result, layer)
            })
        };
        self.torn.iter().filter(broken).count()
    }

    /// The first position that came back to a layer since it asked last.
    pub(crate) fn take_revived(&mut self, layer: usize) -> Option<usize> {
        self.revived.get_mut(layer).and_then(Option::take)
    }

    /// The messages from the first change of the client's own on, as they are after all changes,
    /// and where that is.
    ///
    /// # Errors
    /// The first change that does not fit, by index.
    pub(crate) fn edited(&self, splices: &[Splice<PartNo>]) -> Result<(usize, Vec<PartNo>), usize> {
        let first = splices.first().map_or(0, |splice| splice.at);
        let from = first as usize;
        if from > self.len() {
            return Err(0);
        }
        let mut rest: Vec<PartNo> = self.parts(from).collect();
        let mut moved = Vec::with_capacity(splices.len());
        for (index, splice) in splices.iter().enumerate() {
            let at = splice.at.checked_sub(first).ok_or(index)?;
            moved.push(Splice { at, remove: splice.remove, insert: splice.insert.clone() });
        }
        ledger::diff::apply(&mut rest, &moved)?;
        Ok((from, rest))
    }

    /// Appends a message whose effect is known.
    pub(crate) fn push(&mut self, ground: Ground<'_, '_>, part: PartNo) {
        let position = self.entries.len();
        let known = ground.index.part(part);
        let effect = ground.effects.known(part);
        let count = self.seen.entry(part).or_default();
        let equal = *count;
        *count = count.saturating_add(1);
        let mut links = Vec::new();
        for (nth, unit) in known.units.iter().enumerate() {
            if unit.kind != UnitKind::Result {
                continue;
            }
            self.results.push((position, nth));
            let call = unit.key.and_then(|key| self.call_at.get(&key).copied());
            if let Some(call) = call {
                links.push(self.links.len());
                if let Some(entry) = self.entries.get_mut(call) {
                    entry.links.push(self.links.len());
                    if entry.dropped != 0 {
                        self.torn.insert(self.links.len());
                    }
                }
                self.links.push(Link { call, result: position });
            }
        }
        let mut shadowed = Vec::new();
        for unit in known.units.iter().filter(|unit| unit.kind == UnitKind::Call) {
            let Some(key) = unit.key else { continue };
            shadowed.push((key, self.call_at.insert(key, position)));
        }
        if known.is_user_turn() {
            self.user_turns.push(position);
        }
        if self.summary_parts.contains(&part) {
            self.summaries.push(position);
        }
        self.text_bytes += effect.text_bytes;
        if let Some((step, unknown)) = effect.unknown {
            self.unknown.entry(step).or_insert((0, unknown)).0 += 1;
        }
        if let Some(step) = effect.sent_is_whole {
            *self.not_whole.entry(step).or_default() += 1;
        }
        let units = alloc::vec![0; known.units.len()];
        let entry = Entry { part, equal, dropped: 0, touched: 0, units, shadowed, links };
        let sizes = entry.sizes(effect, 0, self.estimator);
        for sums in &mut self.sums {
            sums.add(&sizes);
        }
        self.entries.push(entry);
    }

    /// Forgets the messages from a position on.
    pub(crate) fn truncate(&mut self, ground: Ground<'_, '_>, to: usize) {
        while self.entries.len() > to {
            let Some(entry) = self.entries.pop() else { return };
            let position = self.entries.len();
            let effect = ground.effects.known(entry.part);
            for (layer, sums) in self.sums.iter_mut().enumerate() {
                sums.take(&entry.sizes(effect, before(layer), self.estimator));
            }
            self.text_bytes -= effect.text_bytes;
            if let Some((step, _)) = effect.unknown {
                self.forget_unknown(step);
            }
            if let Some(step) = effect.sent_is_whole {
                decrease(&mut self.not_whole, step);
            }
            if let Some(count) = self.seen.get_mut(&entry.part) {
                *count -= 1;
            }
            for (key, earlier) in entry.shadowed.into_iter().rev() {
                match earlier {
                    Some(earlier) => self.call_at.insert(key, earlier),
                    None => self.call_at.remove(&key),
                };
            }
            while self.links.last().is_some_and(|link| link.result == position) {
                let Some(link) = self.links.pop() else { break };
                self.torn.remove(&self.links.len());
                if let Some(entry) = self.entries.get_mut(link.call) {
                    entry.links.pop();
                }
            }
        }
        self.results.truncate(self.results.partition_point(|(position, _)| *position < to));
        self.user_turns.truncate(self.user_turns.partition_point(|position| *position < to));
        self.summaries.truncate(self.summaries.partition_point(|position| *position < to));
        for gap in &mut self.gaps {
            *gap = gap.start.min(to)..gap.end.min(to);
        }
    }

    fn forget_unknown(&mut self, step: usize) {
        let Some((count, _)) = self.unknown.get_mut(&step) else { return };
        *count -= 1;
        if *count == 0 {
            self.unknown.remove(&step);
        }
    }

    /// Lets a layer act, or no longer act, on a unit.
    pub(crate) fn act(
        &mut self,
        ground: Ground<'_, '_>,
        layer: usize,
        (position, unit): (usize, usize),
        acts: bool,
    ) {
        self.change(ground, layer, position, |entry| {
            let Some(mask) = entry.units.get_mut(unit) else { return };
            *mask = if acts { *mask | bit(layer) } else { *mask & !bit(layer) };
            entry.touched = entry.units.iter().fold(0, |all, mask| all | mask);
        });
    }

    /// Leaves out a stretch of messages in the place of the one that the layer left out before.
    pub(crate) fn leave_out(&mut self, ground: Ground<'_, '_>, layer: usize, gap: Range<usize>) {
        let Some(place) = self.gaps.get_mut(layer) else { return };
        let old = core::mem::replace(place, gap.clone());
        for position in old.start..old.end.min(gap.start.max(old.start)) {
            self.set_dropped(ground, layer, position, false);
        }
        for position in old.start.max(gap.end)..old.end {
            self.set_dropped(ground, layer, position, false);
        }
        for position in gap.start..gap.end.min(old.start.max(gap.start)) {
            self.set_dropped(ground, layer, position, true);
        }
        for position in gap.start.max(old.end)..gap.end {
            self.set_dropped(ground, layer, position, true);
        }
    }

    fn set_dropped(
        &mut self,
        ground: Ground<'_, '_>,
        layer: usize,
        position: usize,
        dropped: bool,
    ) {
        self.change(ground, layer, position, |entry| {
            let mask = entry.dropped;
            entry.dropped = if dropped { mask | bit(layer) } else { mask & !bit(layer) };
        });
        if !dropped {
            for revived in self.revived.iter_mut().skip(layer + 1) {
                *revived = Some(revived.map_or(position, |first| first.min(position)));
            }
        }
        let links = self.entries.get(position).map(|entry| entry.links.as_slice());
        for number in links.unwrap_or_default() {
            let Some(link) = self.links.get(*number) else { continue };
            let side = |position: usize| self.entries.get(position).map(|entry| entry.dropped);
            if side(link.call) == side(link.result) {
                self.torn.remove(number);
            } else {
                self.torn.insert(*number);
            }
        }
    }

    /// Changes what a layer does to a message, and the sums that follow.
    fn change(
        &mut self,
        ground: Ground<'_, '_>,
        layer: usize,
        position: usize,
        change: impl FnOnce(&mut Entry),
    ) {
        let Some(entry) = self.entries.get_mut(position) else { return };
        let effect = ground.effects.known(entry.part);
        let estimator = self.estimator;
        for (layer, sums) in self.sums.iter_mut().enumerate().skip(layer + 1) {
            sums.take(&entry.sizes(effect, before(layer), estimator));
        }
        change(entry);
        for (layer, sums) in self.sums.iter_mut().enumerate().skip(layer + 1) {
            sums.add(&entry.sizes(effect, before(layer), estimator));
        }
    }
}

impl Entry {
    /// What the message adds to sums when the layers of `mask` have acted.
    fn sizes(&self, effect: &Effect, mask: Mask, estimator: Option<Estimator>) -> Sizes {
        if self.dropped & mask != 0 {
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
        };
        let mut raw = effect.raw;
        if self.touched & mask == 0 {
            sizes.tokens = estimator.map_or(0, |estimator| weigh::tokens(estimator, raw));
            return sizes;
        }
        for (acts, unit) in self.units.iter().zip(&effect.units) {
            let instead = acting(acts & mask).and_then(|layer| unit.instead(layer));
            let Some(instead) = instead else { continue };
            sizes.bytes = sizes.bytes - unit.bytes + instead.bytes;
            sizes.shown_bytes -= unit.shown_bytes;
            sizes.capped -= u64::from(unit.capped);
            sizes.cleared += u64::from(unit.is_result);
            raw = raw - unit.raw + instead.raw;
            sizes.differing -= u64::from(unit.differs);
            sizes.differing += u64::from(instead.differs);
        }
        sizes.tokens = estimator.map_or(0, |estimator| weigh::tokens(estimator, raw));
        sizes
    }
}

/// The first layer of a mask.
fn acting(mask: Mask) -> Option<usize> {
    (mask != 0).then(|| mask.trailing_zeros() as usize)
}

/// Takes one off a count; a count that is gone leaves the map.
fn decrease(counts: &mut BTreeMap<usize, u64>, key: usize) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}
