//! One policy over one run: a line for each request.
//!
//! The recorded policy is evaluated first. What it shows is what another policy's numbers are
//! measured against.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::Source;
use ledger::history::{History, Request};
use ledger::id::{PartNo, RequestId};

use super::cache::{Ask, Charge, Simulator};
use super::evidence::{Anchor, Evidence};
use super::line::{Class, Line, Recall, SEEDS};
use super::outline::{Outline, TextNo};
use super::prices::ModelPrice;
use super::prompt::{Next, Prompt, Shown, Sizes, Step, Texts};
use super::rulebook::Rulebook;
use super::scale::Scale;
use super::signs;
use crate::fold::{Advance, Index, ProjectError, Projector, Shared};
use crate::measure::TokenCounter;
use crate::memo::Memo;
use crate::policy::Policy;
use crate::projection::{Account, Fidelity, Projection};

/// Bytes of an output that random deletion leaves out together.
pub const RANDOM_BYTES: usize = 256;

/// What no policy changes about a run.
#[derive(Debug)]
pub struct Ground {
    /// Parts, messages, calls.
    pub index: Index,
    /// Blocks and texts.
    pub outline: Outline,
    /// What answers take from outputs.
    pub evidence: Evidence,
    /// Lines of each output that say how something went.
    signs: Vec<Vec<Range<usize>>>,
}

impl Ground {
    /// Works it out: reads every output once.
    ///
    /// # Errors
    /// A text is missing or damaged.
    pub fn new(history: &History, source: &dyn Source) -> Result<Self, ProjectError> {
        let index = Index::new(history);
        let outline = Outline::new(history, source, &index)?;
        let evidence = Evidence::new(history, source, &outline)?;
        let mut signs = Vec::with_capacity(outline.outputs().len());
        for (no, _) in (0..).zip(outline.outputs()) {
            let lines = match outline.text(history, no) {
                Some(text) => signs::find(&text.read(source)?),
                None => Vec::new(),
            };
            signs.push(lines);
        }
        Ok(Self { index, outline, evidence, signs })
    }
}

/// What a request was sent under.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'t> {
    /// The rules of its provider's cache.
    pub book: Option<&'t Rulebook>,
    /// The prices of its model.
    pub price: Option<&'t ModelPrice>,
    /// As in [`Ask`].
    pub scope: u64,
    /// As in [`Ask`].
    pub salt: u64,
    /// As in [`Ask`].
    pub minimum_tokens: u64,
    /// As in [`Ask`].
    pub at_ms: Option<u64>,
    /// As in [`Ask`].
    pub readable_ms: Option<u64>,
    /// As in [`Ask`].
    pub automatic: Option<u8>,
    /// As in [`Ask`].
    pub explicit_only: bool,
    /// As in [`Ask`].
    pub class: u8,
    /// Tokens of the recorded answer.
    pub output_tokens: u64,
}

/// A run, and everything that is the same for all policies.
#[derive(Clone, Copy)]
pub struct Facts<'f> {
    /// What happened.
    pub history: &'f History,
    /// Its artifacts.
    pub source: &'f dyn Source,
    /// What no policy changes.
    pub ground: &'f Ground,
    /// What caps leave of texts.
    pub memo: &'f dyn Memo,
    /// Counts tokens for the estimators that need a vocabulary.
    pub counter: Option<&'f dyn TokenCounter>,
    /// By request.
    pub terms: &'f [Terms<'f>],
    /// Tokens of bytes.
    pub scale: Scale,
}

impl core::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Facts")
    }
}

/// A conversation under the policy.
#[derive(Debug, Default)]
struct Lane {
    prompt: Prompt,
    /// Shown ranges of each output.
    shown: BTreeMap<TextNo, Vec<Range<usize>>>,
    output_bytes: Vec<u64>,
    signs: u64,
    dead_bytes: u64,
    /// The first request whose last uses are not yet counted as ended.
    next: usize,
}

/// Evaluates a policy. `base` are the lines of the recorded policy; `None` when this is it.
///
/// # Errors
/// A text is missing or damaged.
pub fn evaluate(
    facts: Facts<'_>,
    policy: &Policy,
    base: Option<&[Line]>,
) -> Result<Vec<Line>, ProjectError> {
    let shared = Shared { index: &facts.ground.index, memo: facts.memo, counter: facts.counter };
    let mut projector = Projector::with(facts.history, facts.source, policy, shared);
    let outline = &facts.ground.outline;
    walk(facts, base, &mut |_number, request| {
        let Advance { fidelity, account, frame, stay, items } = projector.advance(request)?;
        Ok(Made { fidelity, account, next: Next::changed(outline, frame, stay, items) })
    })
}

/// The same for requests that something else than a policy makes: it is asked for them in order, by
/// their index and id.
///
/// # Errors
/// A text is missing or damaged, or what `next` says.
pub fn evaluate_views(
    facts: Facts<'_>,
    base: Option<&[Line]>,
    next: &mut dyn FnMut(usize, RequestId) -> Result<Projection, ProjectError>,
) -> Result<Vec<Line>, ProjectError> {
    let outline = &facts.ground.outline;
    walk(facts, base, &mut |number, request| {
        let Projection { fidelity, account, view, .. } = next(number, request)?;
        Ok(Made { fidelity, account, next: Next::whole(outline, view) })
    })
}

/// A request that was made.
struct Made {
    fidelity: Fidelity,
    account: Account,
    next: Next,
}

fn walk(
    facts: Facts<'_>,
    base: Option<&[Line]>,
    make: &mut dyn FnMut(usize, RequestId) -> Result<Made, ProjectError>,
) -> Result<Vec<Line>, ProjectError> {
    let mut run = Run {
        facts,
        base,
        lanes: BTreeMap::new(),
        caches: BTreeMap::new(),
        sizes: Sizes::default(),
        user_turns: BTreeMap::new(),
    };
    let mut lines = Vec::with_capacity(facts.history.requests().len());
    for (number, request) in facts.history.requests().iter().enumerate() {
        let made = make(number, request.captured.request)?;
        lines.push(run.request(request, made, number)?);
    }
    Ok(lines)
}

struct Run<'f, 'b> {
    facts: Facts<'f>,
    base: Option<&'b [Line]>,
    lanes: BTreeMap<u32, Lane>,
    /// By rulebook.
    caches: BTreeMap<&'f str, Simulator<'f>>,
    sizes: Sizes,
    /// The newest message of a person, by conversation.
    user_turns: BTreeMap<u32, PartNo>,
}

impl<'f> Run<'f, '_> {
    fn request(
        &mut self,
        request: &Request,
        made: Made,
        number: usize,
    ) -> Result<Line, ProjectError> {
        let Facts { history, source, ground, scale, .. } = self.facts;
        let lane_no = request.session().number();
        let mut lane = self.lanes.remove(&lane_no).unwrap_or_default();
        lane.output_bytes.resize(ground.outline.tools().len(), 0);
        let texts = Texts { history, source, outline: &ground.outline };
        let Made { fidelity, account, next } = made;
        let step = lane.prompt.step(texts, scale, &mut self.sizes, request, next)?;
        let [left, entered] = self.outputs(&mut lane, number, &step);
        let terms = self.facts.terms.get(number).copied().unwrap_or_default();
        let charge = self.charge(lane_no, &lane, &terms, &step, &account);
        let bytes = lane.prompt.bytes();
        let band = scale.band(bytes);
        let window = terms.price.and_then(|price| price.window);
        let cost = match (terms.price, terms.book, &charge) {
            (Some(price), Some(book), Some(charge)) => {
                Some(price.cost(book, charge, terms.output_tokens))
            }
            _ => None,
        };
        let base = self.base.and_then(|base| base.get(number));
        let (recall, missed) = self.recall(&lane, number, base);
        let class = if !account.changed {
            Class::Same
        } else if window.is_some_and(|window| band.0 > window) {
            Class::Overflow
        } else if recall.missed > 0 {
            Class::Evidence
        } else {
            Class::Cosmetic
        };
        let line = Line {
            request: number,
            lane: lane_no,
            fidelity,
            account,
            class,
            voices: *lane.prompt.voices(),
            tokens: scale.tokens(bytes),
            band,
            window,
            common_bytes: step.common_bytes,
            before_bytes: step.before_bytes,
            charge,
            cost,
            recall,
            missed,
            output_bytes: lane.output_bytes.clone(),
            signs: (lane.signs, base.map_or(lane.signs, |base| base.signs.1)),
            dead_bytes: lane.dead_bytes,
            user_turn_lost: self.user_turn_lost(lane_no, &lane, number),
            notices: lane.prompt.notices(),
            left,
            entered,
        };
        self.lanes.insert(lane_no, lane);
        Ok(line)
    }

    fn charge(
        &mut self,
        lane_no: u32,
        lane: &Lane,
        terms: &Terms<'f>,
        step: &Step,
        account: &Account,
    ) -> Option<Charge> {
        let book = terms.book?;
        let cache = self.caches.entry(book.id.as_str()).or_insert_with(|| Simulator::new(book));
        let scale = self.facts.scale;
        Some(cache.send(&Ask {
            lane: lane_no,
            scope: terms.scope,
            salt: terms.salt,
            minimum_tokens: terms.minimum_tokens,
            at_ms: terms.at_ms,
            readable_ms: terms.readable_ms,
            automatic: terms.automatic,
            explicit_only: terms.explicit_only,
            class: terms.class,
            kept: step.kept,
            shared_tokens: Some(scale.tokens(step.common_bytes)),
            changed: account.changed,
            blocks: lane.prompt.blocks(),
        }))
    }

    /// What is shown of outputs, and for how long nobody has needed it. Gives back the outputs that
    /// are no longer shown, and those that were not.
    fn outputs(&self, lane: &mut Lane, number: usize, step: &Step) -> [Vec<TextNo>; 2] {
        let ground = self.facts.ground;
        let uses = &ground.evidence.last_use;
        let last_use = |text: TextNo| uses.get(text as usize).copied().flatten();
        // An output that no answer uses is dead from the request on that shows it first.
        let is_dead = |text: TextNo| last_use(text).is_none_or(|last| last < number);
        let ends = ground.evidence.ends.get(lane.next..number).unwrap_or_default();
        let ended = ends.iter().flatten().filter_map(|text| lane.shown.get(text)).flatten();
        let bytes: u64 = ended.map(|range| range.len() as u64).sum();
        lane.dead_bytes += bytes;
        lane.next = number;
        let touched = step.gone.iter().chain(&step.come).map(|shown| shown.text);
        let touched: BTreeSet<TextNo> = touched.collect();
        let before: BTreeSet<TextNo> =
            touched.iter().copied().filter(|text| lane.shown.contains_key(text)).collect();
        for gone in &step.gone {
            let Some(ranges) = lane.shown.get_mut(&gone.text) else { continue };
            if let Some(at) = ranges.iter().position(|range| *range == gone.range) {
                ranges.swap_remove(at);
            }
            if ranges.is_empty() {
                lane.shown.remove(&gone.text);
            }
            let (bytes, signs) = self.worth(gone);
            if let Some(sum) = lane.output_bytes.get_mut(gone.tool as usize) {
                *sum -= bytes;
            }
            lane.signs -= signs;
            // What ended before this request was counted above.
            if is_dead(gone.text) {
                lane.dead_bytes -= bytes;
            }
        }
        for come in &step.come {
            lane.shown.entry(come.text).or_default().push(come.range.clone());
            let (bytes, signs) = self.worth(come);
            if let Some(sum) = lane.output_bytes.get_mut(come.tool as usize) {
                *sum += bytes;
            }
            lane.signs += signs;
            if is_dead(come.text) {
                lane.dead_bytes += bytes;
            }
        }
        let is_shown = |text: &TextNo| lane.shown.contains_key(text);
        let left = before.iter().copied().filter(|text| !is_shown(text)).collect();
        let entered = touched.difference(&before).copied().filter(|text| is_shown(text)).collect();
        [left, entered]
    }

    /// Bytes of a range, and lines of it that say how something went.
    fn worth(&self, shown: &Shown) -> (u64, u64) {
        let lines = self.facts.ground.signs.get(shown.text as usize);
        let whole = |line: &&Range<usize>| holds(&shown.range, line);
        let signs = lines.into_iter().flatten().filter(whole).count();
        (shown.range.len() as u64, signs as u64)
    }

    fn recall(&self, lane: &Lane, number: usize, base: Option<&Line>) -> (Recall, Vec<u32>) {
        let anchors = self.facts.ground.evidence.anchors.get(number);
        let mut recall = Recall::default();
        let mut missed = Vec::new();
        let all = base.map_or_else(|| lane.output_bytes.iter().sum(), Line::outputs);
        let shown: u64 = lane.output_bytes.iter().sum();
        // What is hidden of all outputs, in 65536ths.
        let hidden = (u128::from(all.saturating_sub(shown)) << 16).checked_div(u128::from(all));
        let hidden = u64::try_from(hidden.unwrap_or(0)).unwrap_or(0);
        for (nth, anchor) in (0..).zip(anchors.into_iter().flatten()) {
            let weight = anchor.weight_millibits;
            recall.anchors += 1;
            recall.weight += weight;
            let is_shown = |place: &super::evidence::Place| {
                let ranges = lane.shown.get(&place.text);
                ranges.is_some_and(|ranges| ranges.iter().any(|range| holds(range, &place.range)))
            };
            if anchor.places.iter().any(is_shown) {
                recall.shown += weight;
            } else {
                recall.missed += 1;
                missed.push(nth);
            }
            self.controls(anchor, hidden, &mut recall);
        }
        (recall, missed)
    }

    /// What would be left of an anchor, were the same share of output hidden without a thought.
    fn controls(&self, anchor: &Anchor, hidden: u64, recall: &mut Recall) {
        let weight = anchor.weight_millibits;
        let outputs = self.facts.ground.outline.outputs();
        let share = |text: TextNo| {
            let bytes = outputs.get(text as usize).map_or(0, |output| output.bytes);
            let cut = (u128::from(bytes) * u128::from(hidden)) >> 16;
            (bytes, u64::try_from(cut).unwrap_or(bytes))
        };
        for seed in 0..SEEDS {
            let left = anchor.places.iter().any(|place| {
                let first = place.range.start / RANDOM_BYTES;
                let last = place.range.end.saturating_sub(1) / RANDOM_BYTES;
                (first..=last).all(|piece| coin(seed, place.text, piece) >= hidden)
            });
            if left {
                recall.random += weight;
            }
        }
        let heads = anchor.places.iter().any(|place| {
            let (bytes, cut) = share(place.text);
            place.range.end as u64 <= bytes - cut
        });
        let tails =
            anchor.places.iter().any(|place| place.range.start as u64 >= share(place.text).1);
        recall.heads += if heads { weight } else { 0 };
        recall.tails += if tails { weight } else { 0 };
    }

    /// True when the newest message of a person, by the record, is not shown.
    fn user_turn_lost(&mut self, lane_no: u32, lane: &Lane, number: usize) -> bool {
        let changes = self.facts.history.requests().get(number).map(|request| &request.changes);
        for change in changes.into_iter().flatten() {
            let parts = super::evidence::parts(change);
            let outline = &self.facts.ground.outline;
            let newest = parts.into_iter().rev().find(|part| outline.part(*part).is_user_turn);
            if let Some(newest) = newest {
                self.user_turns.insert(lane_no, newest);
            }
        }
        self.user_turns.get(&lane_no).is_some_and(|part| !lane.prompt.has(*part))
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// A number below 65536 that is always the same for a piece of an output and a seed.
pub fn coin(seed: u64, text: TextNo, piece: usize) -> u64 {
    let word = (seed << 48) ^ (u64::from(text) << 24) ^ piece as u64;
    let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) & 0xffff
}
