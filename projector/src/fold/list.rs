//! A conversation's messages with what each layer did to them, and the sums that follow.
//!
//! Positions are those of the recorded list and never move while messages are added: a message
//! that is left out stays in its place with a bit set. Sums are kept for what each layer is
//! given, and only messages that change are counted again, so that a request costs what changed
//! and not what it sends again.

mod entry;
mod look;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use ledger::event::Splice;
use ledger::id::PartNo;

use super::effect::{Effect, Effects, Instead};
use super::index::{Index, PairKey, UnitKind};
use super::program::{Mask, before, bit};
use super::said::Pen;
use super::weigh::{self, Scales};
use crate::measure::Estimator;
use crate::policy::op::Role as Says;
use crate::projection::Assumption;
use crate::text::Unknown;
pub(crate) use entry::Sizes;
use entry::{Entry, acting};

/// A result by its place in the list: part, how many equal parts stand before it, and group.
pub(crate) type Listed = (PartNo, u32, u16);

/// What parts are and what the caps leave of them.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'g, 'h> {
    pub(crate) index: &'g Index,
    pub(crate) effects: &'g Effects<'h>,
    /// How the request at hand is written.
    pub(crate) pen: Pen,
    /// What tokens are counted by.
    pub(crate) scales: Scales<'g>,
}

impl Ground<'_, '_> {
    /// A message that a layer adds before the one at a position.
    pub(crate) fn said(&self, layer: usize, at: usize, role: Says, text: &str) -> Added {
        self.added(layer, at, self.pen.message(role, text), text)
    }

    /// A message that a layer adds, which shows this text.
    pub(crate) fn added(&self, layer: usize, at: usize, bytes: Arc<[u8]>, text: &str) -> Added {
        let raw = self.scales.raw(text, bytes.len() as u64);
        Added { layer, at, tokens: weigh::tokens(self.scales.estimator, raw), bytes }
    }

    /// How many ASCII characters have so many tokens.
    pub(crate) fn units_of(&self, tokens: u64) -> u64 {
        match self.scales.estimator {
            Estimator::JsonU16x3Ceil => tokens.saturating_mul(3),
            Estimator::LcApprox33 => tokens.saturating_mul(33) / 10,
            _ => tokens.saturating_mul(4),
        }
    }
}

/// A message of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    pub(crate) layer: usize,
    /// It stands before the message at this position.
    pub(crate) at: usize,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) tokens: u64,
}

/// A result and the nearest earlier message that holds its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) call: usize,
    pub(crate) result: usize,
    /// The unit of each.
    pub(crate) units: (usize, usize),
}

/// A conversation's messages.
#[derive(Debug)]
pub(crate) struct List {
    /// What tokens are counted by, where the policy counts them.
    estimator: Option<Estimator>,
    /// Layers that take units out.
    removing: Mask,
    /// Of those, layers that leave messages that say nothing any more.
    keeping: Mask,
    entries: Vec<Entry>,
    /// Position and unit of each result, in order.
    results: Vec<(usize, usize)>,
    /// The same of calls, of reasoning and of media.
    others: [Vec<(usize, usize)>; 3],
    /// Messages that layers have added, by layer, in order of their places.
    added: Vec<Added>,
    /// Positions of messages that a person, or the driving program, wrote.
    user_turns: Vec<usize>,
    /// Parts that the client put in the place of more messages than they are.
    summary_parts: BTreeSet<PartNo>,
    /// Positions of such parts.
    summaries: Vec<usize>,
    seen: BTreeMap<PartNo, u32>,
    call_at: BTreeMap<PairKey, (usize, usize)>,
    /// All calls and results that have a key.
    by_key: BTreeMap<PairKey, Vec<(usize, usize)>>,
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
    /// What is assumed of messages, and of how many.
    assumptions: BTreeMap<Assumption, u64>,
    /// For each step of the policy, messages for which it rests on what is not known.
    unknown: BTreeMap<usize, (u64, Unknown)>,
    /// For each layer, the stretch that it leaves out as a whole.
    gaps: Vec<Range<usize>>,
    /// For each layer, the first position that an earlier layer had left out and no longer does.
    revived: Vec<Option<usize>>,
    /// Everything before this position is as it was when the list was last laid out.
    same: usize,
}

impl List {
    pub(crate) fn new(
        layers: usize,
        estimator: Option<Estimator>,
        (removing, keeping): (Mask, Mask),
    ) -> Self {
        Self {
            estimator,
            removing,
            keeping,
            entries: Vec::new(),
            results: Vec::new(),
            others: [Vec::new(), Vec::new(), Vec::new()],
            added: Vec::new(),
            user_turns: Vec::new(),
            summary_parts: BTreeSet::new(),
            summaries: Vec::new(),
            seen: BTreeMap::new(),
            call_at: BTreeMap::new(),
            by_key: BTreeMap::new(),
            links: Vec::new(),
            torn: BTreeSet::new(),
            sums: alloc::vec![Sizes::default(); layers + 1],
            text_bytes: 0,
            not_whole: BTreeMap::new(),
            assumptions: BTreeMap::new(),
            unknown: BTreeMap::new(),
            gaps: alloc::vec![0..0; layers],
            revived: alloc::vec![None; layers],
            same: 0,
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

    /// Messages that layers before `layer` have added, in the order of their places.
    pub(crate) fn added(&self, layer: usize) -> impl Iterator<Item = &Added> {
        self.added.iter().filter(move |added| added.layer < layer)
    }

    /// Puts messages of a layer in the place of those that it has added before.
    pub(crate) fn insert(&mut self, layer: usize, added: Vec<Added>) {
        let old = self.added.iter().filter(|it| it.layer == layer);
        if old.eq(added.iter()) {
            return;
        }
        let sizes = |added: &Added| Sizes {
            bytes: added.bytes.len() as u64,
            messages: 1,
            added: 1,
            tokens: added.tokens,
            ..Sizes::default()
        };
        for sums in self.sums.iter_mut().skip(layer + 1) {
            for old in self.added.iter().filter(|it| it.layer == layer) {
                sums.take(&sizes(old));
            }
            for new in &added {
                sums.add(&sizes(new));
            }
        }
        let places = self.added.iter().filter(|it| it.layer == layer).chain(&added);
        let first = places.map(|it| it.at).min().unwrap_or(0);
        self.same = self.same.min(first);
        self.added.retain(|it| it.layer != layer);
        self.added.extend(added);
        self.added.sort_by_key(|it| (it.at, it.layer));
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

    /// What is assumed of some message, beside that what was sent of it is whole.
    pub(crate) fn assumption(&self) -> Option<Assumption> {
        self.assumptions.keys().next().copied()
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
        let shown = (from..self.entries.len()).flat_map(|position| self.units_at(ground, position));
        let shown = shown.filter(|unit| self.shows(layer, *unit));
        shown.filter_map(|unit| self.unit(ground, unit)?.1).collect()
    }

    /// True when the message reaches the layer.
    pub(crate) fn reaches(&self, position: usize, layer: usize) -> bool {
        let gone = |entry: &Entry| entry.dropped | entry.emptied;
        self.entries.get(position).is_some_and(|entry| gone(entry) & before(layer) == 0)
    }

    /// True when no layer before this one leaves the message out; it may say nothing any more.
    pub(crate) fn stands(&self, position: usize, layer: usize) -> bool {
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
        entry.sizes(effect, before(layer), (self.estimator, self.removing)).tokens
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
        let _ = ground;
        let links = self.links(position);
        let mine = links.filter(move |link| link.result == position && link.units.1 == unit);
        mine.map(|link| (link.call, link.units.0))
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
                let call = self.shows(layer, (link.call, link.units.0));
                call != self.shows(layer, (link.result, link.units.1))
                    && !(call && self.is_repeated(layer, link))
            })
        };
        self.torn.iter().filter(broken).count()
    }

    /// True where a result was taken out of its message, and its call has another one.
    fn is_repeated(&self, layer: usize, link: &Link) -> bool {
        let entry = self.entries.get(link.result);
        let taken_out = entry.is_some_and(|entry| entry.dropped & before(layer) == 0);
        taken_out
            && self.links(link.call).any(|other| {
                other.units.0 == link.units.0 && self.shows(layer, (other.result, other.units.1))
            })
    }

    /// The position before which nothing has changed since this was asked last.
    pub(crate) fn take_same(&mut self) -> usize {
        core::mem::replace(&mut self.same, self.entries.len())
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
            let [calls, reasoning, media] = &mut self.others;
            match unit.kind {
                UnitKind::Call => calls.push((position, nth)),
                UnitKind::Reasoning => reasoning.push((position, nth)),
                UnitKind::Media => media.push((position, nth)),
                UnitKind::Result => self.results.push((position, nth)),
            }
            if let Some(key) = unit.key {
                self.by_key.entry(key).or_default().push((position, nth));
            }
            if unit.kind != UnitKind::Result {
                continue;
            }
            let call = unit.key.and_then(|key| self.call_at.get(&key).copied());
            if let Some((call, call_unit)) = call {
                links.push(self.links.len());
                if let Some(entry) = self.entries.get_mut(call) {
                    entry.links.push(self.links.len());
                    if entry.gone(call_unit, self.removing) != 0 {
                        self.torn.insert(self.links.len());
                    }
                }
                self.links.push(Link { call, result: position, units: (call_unit, nth) });
            }
        }
        let mut shadowed = Vec::new();
        for (nth, unit) in known.units.iter().enumerate() {
            let Some(key) = unit.key.filter(|_| unit.kind == UnitKind::Call) else { continue };
            shadowed.push((key, self.call_at.insert(key, (position, nth))));
        }
        if known.is_user_turn() {
            self.user_turns.push(position);
        }
        if self.summary_parts.contains(&part) {
            self.summaries.push(position);
        }
        self.text_bytes += effect.text_bytes;
        self.note_basis(effect);
        let units = alloc::vec![0; known.units.len()];
        let entry = Entry {
            part,
            equal,
            dropped: 0,
            touched: 0,
            units,
            emptied: 0,
            own: Vec::new(),
            shadowed,
            links,
        };
        let sizes = entry.sizes(effect, 0, (self.estimator, self.removing));
        for sums in &mut self.sums {
            sums.add(&sizes);
        }
        self.entries.push(entry);
    }

    /// Forgets the messages from a position on.
    pub(crate) fn truncate(&mut self, ground: Ground<'_, '_>, to: usize) {
        self.same = self.same.min(to);
        while self.entries.len() > to {
            let Some(entry) = self.entries.pop() else { return };
            let position = self.entries.len();
            let effect = ground.effects.known(entry.part);
            for key in ground.index.part(entry.part).units.iter().filter_map(|unit| unit.key) {
                if let Some(units) = self.by_key.get_mut(&key) {
                    units.pop();
                }
            }
            for (layer, sums) in self.sums.iter_mut().enumerate() {
                let counted = (self.estimator, self.removing);
                sums.take(&entry.sizes(effect, before(layer), counted));
            }
            self.text_bytes -= effect.text_bytes;
            if let Some((step, _)) = effect.unknown {
                self.forget_unknown(step);
            }
            for (step, _) in entry.unknowns(effect) {
                self.forget_unknown(step);
            }
            if let Some(step) = effect.sent_is_whole {
                decrease(&mut self.not_whole, &step);
            }
            for assumption in &effect.assumes {
                decrease(&mut self.assumptions, assumption);
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
        for units in self.others.iter_mut().chain([&mut self.results]) {
            units.truncate(units.partition_point(|(position, _)| *position < to));
        }
        self.user_turns.truncate(self.user_turns.partition_point(|position| *position < to));
        self.summaries.truncate(self.summaries.partition_point(|position| *position < to));
        for gap in &mut self.gaps {
            *gap = gap.start.min(to)..gap.end.min(to);
        }
    }

    /// Counts what a new message rests on.
    fn note_basis(&mut self, effect: &Effect) {
        if let Some(unknown) = effect.unknown {
            self.note_unknown(unknown);
        }
        if let Some(step) = effect.sent_is_whole {
            *self.not_whole.entry(step).or_default() += 1;
        }
        for assumption in &effect.assumes {
            *self.assumptions.entry(*assumption).or_default() += 1;
        }
    }

    fn note_unknown(&mut self, (step, unknown): (usize, Unknown)) {
        self.unknown.entry(step).or_insert((0, unknown)).0 += 1;
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
        let acted = self.is_acted_on(position, unit, layer);
        self.change(ground, layer, position, |entry| {
            let Some(mask) = entry.units.get_mut(unit) else { return };
            *mask = if acts { *mask | bit(layer) } else { *mask & !bit(layer) };
            entry.touched = entry.units.iter().fold(0, |all, mask| all | mask);
        });
        let instead = self.instead(ground, (position, unit), layer);
        if let Some(unknown) = instead.and_then(|instead| instead.unknown) {
            match (acted, acts) {
                (false, true) => self.note_unknown(unknown),
                (true, false) => self.forget_unknown(unknown.0),
                _ => {}
            }
        }
        if bit(layer) & self.removing != 0 {
            self.tear(position);
        }
    }

    /// Lets a layer put a text in the place of a unit, here and nowhere else.
    pub(crate) fn put(
        &mut self,
        ground: Ground<'_, '_>,
        layer: usize,
        (position, unit): (usize, usize),
        instead: Option<Instead>,
    ) {
        let acts = instead.is_some();
        self.change(ground, layer, position, |entry| {
            entry.own.retain(|(at, own)| *at != unit || own.layer != layer);
            entry.own.extend(instead.map(|instead| (unit, instead)));
            let Some(mask) = entry.units.get_mut(unit) else { return };
            *mask = if acts { *mask | bit(layer) } else { *mask & !bit(layer) };
            entry.touched = entry.units.iter().fold(0, |all, mask| all | mask);
        });
    }

    /// Leaves a message out, or no longer leaves it out.
    pub(crate) fn hide(
        &mut self,
        ground: Ground<'_, '_>,
        layer: usize,
        position: usize,
        dropped: bool,
    ) {
        let is = self.entries.get(position).is_some_and(|it| it.dropped & bit(layer) != 0);
        if is != dropped {
            self.set_dropped(ground, layer, position, dropped);
        }
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
        self.tear(position);
    }

    /// Notes which links of a message have sides that different layers leave out.
    fn tear(&mut self, position: usize) {
        let links = self.entries.get(position).map(|entry| entry.links.as_slice());
        for number in links.unwrap_or_default() {
            let Some(link) = self.links.get(*number) else { continue };
            let side = |position: usize, unit: usize| {
                self.entries.get(position).map(|entry| entry.gone(unit, self.removing))
            };
            if side(link.call, link.units.0) == side(link.result, link.units.1) {
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
        self.same = self.same.min(position);
        let effect = ground.effects.known(entry.part);
        let counted = (self.estimator, self.removing);
        for (layer, sums) in self.sums.iter_mut().enumerate().skip(layer + 1) {
            sums.take(&entry.sizes(effect, before(layer), counted));
        }
        change(entry);
        let emptied = entry.emptied;
        entry.emptied = entry.empties(effect, (self.removing, self.keeping));
        if emptied & !entry.emptied != 0 {
            for revived in self.revived.iter_mut().skip(layer + 1) {
                *revived = Some(revived.map_or(position, |first| first.min(position)));
            }
        }
        for (layer, sums) in self.sums.iter_mut().enumerate().skip(layer + 1) {
            sums.add(&entry.sizes(effect, before(layer), counted));
        }
    }
}

/// Takes one off a count; a count that is gone leaves the map.
fn decrease<K: Ord>(counts: &mut BTreeMap<K, u64>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
