//! What could have been done at best, had the future been known.
//!
//! Two numbers stand on both sides of it. `cost_at_least` is below everything: it never breaks
//! the cache and has every output leave the prompt when its last use is over. [`Oracle`] is above
//! the best and can be done: prompts in which no output stands that no answer uses, and in which
//! outputs leave together, at the requests that turn out cheapest, when their last use is over.

use std::collections::{BTreeMap, BTreeSet};

use projector::metrics::outline::TextNo;
use projector::metrics::{Facts, Line, Picodollars, Scale, Terms, Voice, evaluate_views};
use projector::view::Segment;
use projector::{Policy, ProjectError, Projector, Shared};

/// The bound; `None`: some request has no price.
pub(super) fn cost_at_least(base: &[Line], terms: &[Terms<'_>]) -> Option<Picodollars> {
    let mut before: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sum = Picodollars(0);
    for (line, terms) in base.iter().zip(terms) {
        let (price, book) = (terms.price?, terms.book?);
        // What is dead is outputs, whose escapes are taken to be spread evenly over them.
        let written = line.voices.get(Voice::Results.index()).copied().unwrap_or(0);
        let share = u128::from(written) * u128::from(line.dead_bytes);
        let dead = share / u128::from(line.outputs().max(1)) * u128::from(line.tokens)
            / u128::from(line.bytes().max(1));
        let needed = line.tokens.saturating_sub(u64::try_from(dead).unwrap_or(u64::MAX));
        let known = before.insert(line.lane, needed).unwrap_or(0).min(needed);
        let unit = price.unit(book, 0);
        let [write, _] = unit.write;
        sum = sum
            .plus(unit.read.times(known))
            .plus(unit.input.min(write).times(needed - known))
            .plus(unit.output.times(terms.output_tokens));
    }
    Some(sum)
}

/// What stands where an output has left.
pub const MARKER: &str = "[hidden]";
/// Requests between two of which outputs leave together, that are tried.
pub const PERIODS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// At which requests outputs leave that have had their last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// At none.
    Never,
    /// At every so many requests of a conversation.
    Every(usize),
    /// Where what is saved at the requests that are left is more than what is read anew.
    WhereItPays,
}

impl Leaving {
    /// All that are tried.
    pub fn all() -> impl Iterator<Item = Self> {
        let periods = PERIODS.into_iter().map(Self::Every);
        [Self::Never, Self::WhereItPays].into_iter().chain(periods)
    }
}

/// The cheapest of the prompts that were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oracle {
    /// When outputs leave in it.
    pub leaving: Leaving,
    /// What it costs by the same simulation.
    pub cost: Picodollars,
    /// Its requests.
    pub lines: Vec<Line>,
}

/// Tries all ways; `None`: some request has no price.
///
/// # Errors
/// A text is missing or damaged.
pub(super) fn best(facts: Facts<'_>, base: &[Line]) -> Result<Option<Oracle>, ProjectError> {
    let mut best: Option<Oracle> = None;
    for leaving in Leaving::all() {
        let lines = lines(facts, base, &mut Periodic { leaving, sent: BTreeMap::new() })?;
        let Some(cost) = cost(&lines) else { return Ok(None) };
        if best.as_ref().is_none_or(|best| cost < best.cost) {
            best = Some(Oracle { leaving, cost, lines });
        }
    }
    Ok(best)
}

/// What lines cost; `None`: one has no price.
pub fn cost(lines: &[Line]) -> Option<Picodollars> {
    let mut sum = Picodollars(0);
    for line in lines {
        sum = sum.plus(line.cost?.total());
    }
    Some(sum)
}

/// Decides at which requests outputs leave.
pub trait Leave {
    /// Whether they do before a request of a conversation. `saved` and `suffix` are the bytes that
    /// would leave, and those behind the first of them that would be read anew; `left` is the
    /// number of requests of the conversation from this one on.
    fn now(&mut self, lane: u32, chance: Chance<'_>) -> bool;
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Chance<'c> {
    /// The request, by index.
    pub request: usize,
    /// Bytes that would leave.
    pub saved: u64,
    /// Bytes behind the first of them that would stay, and be read anew.
    pub suffix: u64,
    /// Requests of the conversation from this one on.
    pub left: u64,
    /// The prices that count.
    pub terms: &'c Terms<'c>,
    /// Tokens of bytes.
    pub scale: Scale,
}

struct Periodic {
    leaving: Leaving,
    /// Requests so far, by conversation.
    sent: BTreeMap<u32, usize>,
}

impl Leave for Periodic {
    fn now(&mut self, lane: u32, chance: Chance<'_>) -> bool {
        let sent = self.sent.entry(lane).or_default();
        *sent += 1;
        match self.leaving {
            Leaving::Never => false,
            Leaving::Every(period) => sent.is_multiple_of(period),
            Leaving::WhereItPays => pays(chance).unwrap_or(false),
        }
    }
}

/// Whether leaving now is cheaper than never, if nothing else were to leave.
fn pays(chance: Chance<'_>) -> Option<bool> {
    let unit = chance.terms.price?.unit(chance.terms.book?, 0);
    let [write, _] = unit.write;
    let scale = chance.scale;
    let anew = write.0.saturating_sub(unit.read.0);
    let more = u128::from(anew) * u128::from(scale.tokens(chance.suffix));
    let less = u128::from(unit.read.0) * u128::from(scale.tokens(chance.saved));
    Some(chance.saved > 0 && less * u128::from(chance.left) > more)
}

/// The requests without outputs that no answer uses any more.
///
/// # Errors
/// A text is missing or damaged.
pub fn lines(
    facts: Facts<'_>,
    base: &[Line],
    leave: &mut dyn Leave,
) -> Result<Vec<Line>, ProjectError> {
    let recorded = Policy::recorded();
    let ground = facts.ground;
    let shared = Shared { index: &ground.index, memo: facts.memo, counter: facts.counter };
    let mut projector = Projector::with(facts.history, facts.source, &recorded, shared);
    let mut left: BTreeMap<u32, u64> = BTreeMap::new();
    for line in base {
        *left.entry(line.lane).or_default() += 1;
    }
    let uses = &ground.evidence.last_use;
    // What has left a conversation, beside what never comes.
    let mut gone: BTreeSet<(u32, TextNo)> = BTreeSet::new();
    let terms = facts.terms;
    evaluate_views(facts, Some(base), &mut |number, request| {
        let mut projection = projector.projection(request)?;
        let lane = base.get(number).map_or(0, |line| line.lane);
        let last_use = |text: TextNo| uses.get(text as usize).copied().flatten();
        let weigh = weigh(facts, &projection.view.segments, |text| {
            last_use(text).is_some_and(|last| last < number) && !gone.contains(&(lane, text))
        });
        let plain = Terms::default();
        let chance = Chance {
            request: number,
            saved: weigh.saved,
            suffix: weigh.suffix,
            left: left.get_mut(&lane).map_or(0, |left| std::mem::replace(left, *left - 1)),
            terms: terms.get(number).unwrap_or(&plain),
            scale: facts.scale,
        };
        if leave.now(lane, chance) {
            gone.extend(weigh.texts.into_iter().map(|text| (lane, text)));
        }
        let segments = std::mem::take(&mut projection.view.segments);
        let mut kept = Vec::with_capacity(segments.len());
        let mut last = None;
        for segment in segments {
            let Segment::Text { part, slot, escape, .. } = segment else {
                kept.push(segment);
                continue;
            };
            let hidden = output(facts, &segment)
                .is_some_and(|text| last_use(text).is_none() || gone.contains(&(lane, text)));
            if !hidden {
                kept.push(segment);
            } else if last != Some((part, slot)) {
                kept.push(Segment::Inserted { step: 0, text: MARKER.to_owned(), escape });
                projection.account.changed = true;
            }
            last = Some((part, slot));
        }
        projection.view.segments = kept;
        Ok(projection)
    })
}

/// The output that a segment shows, if it is one.
fn output(facts: Facts<'_>, segment: &Segment) -> Option<TextNo> {
    let Segment::Text { part, slot, .. } = segment else { return None };
    facts.ground.outline.output_of(*part, *slot).map(|(text, _tool)| text)
}

/// What would leave.
#[derive(Debug, Default)]
struct Weigh {
    texts: Vec<TextNo>,
    saved: u64,
    suffix: u64,
}

fn weigh(facts: Facts<'_>, segments: &[Segment], leaves: impl Fn(TextNo) -> bool) -> Weigh {
    let mut weigh = Weigh::default();
    for segment in segments {
        let bytes = match segment {
            Segment::Literal { range, .. } | Segment::Text { range, .. } => range.len() as u64,
            Segment::Inserted { text, .. } => text.len() as u64,
            Segment::Added { bytes, .. } => bytes.len() as u64,
            Segment::Separator | Segment::Mark { .. } => 0,
        };
        match output(facts, segment).filter(|text| leaves(*text)) {
            Some(text) => {
                weigh.texts.push(text);
                weigh.saved += bytes;
            }
            None if !weigh.texts.is_empty() => weigh.suffix += bytes,
            None => {}
        }
    }
    weigh
}
