//! The least that any policy could have cost that shows what the recorded answers use.
//!
//! It knows the future, never breaks the cache and has every output leave the prompt when its
//! last use is over. No policy can do that, so that what a policy costs more than it is an upper
//! bound on its regret.

use std::collections::BTreeMap;

use projector::metrics::{Line, Picodollars, Terms, Voice};

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
