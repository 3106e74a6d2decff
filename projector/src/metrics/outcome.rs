//! What can be said of outcomes under a policy: bounds, never a point.
//!
//! A run that the policy leaves as it was keeps its outcome. Of the others nothing is known for
//! certain: without an assumption their outcome is anywhere from 0 to 1. With one, cosmetic
//! differences flip an outcome with at most a given probability. Intervals come from a bootstrap
//! over clusters of runs (tasks), with fixed seeds.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::cache::mix;

/// One, as outcomes are counted: millionths.
pub const ONE: u64 = 1_000_000;
/// Resamplings of a bootstrap.
pub const RESAMPLINGS: u64 = 2000;

/// How a run differs under the policy, worst request first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Every request has the same bytes.
    Exact,
    /// Some differ, and none hides what an answer uses.
    Cosmetic,
    /// Some hide it, overflow, or could not be projected.
    Evidence,
}

/// A run with its recorded outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The cluster that it is resampled with.
    pub cluster: u64,
    /// How it differs.
    pub change: Change,
    /// Its outcome, in millionths, at most [`ONE`].
    pub score: u64,
}

/// Lower and upper end, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Lower end.
    pub low: u64,
    /// Upper end.
    pub high: u64,
}

/// What is said of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Runs.
    pub runs: u64,
    /// Clusters.
    pub clusters: u64,
    /// Runs by [`Change`].
    pub changes: [u64; 3],
    /// The mean that was recorded.
    pub recorded: u64,
    /// Whatever the runs that differ would have done.
    pub worst: Bounds,
    /// If cosmetic differences flip an outcome with at most the given probability.
    pub assumed: Bounds,
    /// Nineteen of twenty resamplings have their `assumed` bounds within these.
    pub interval: Bounds,
}

/// Counts and sums of outcomes by change.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    runs: u64,
    count: [u64; 3],
    sum: [u64; 3],
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        for (mine, theirs) in self.count.iter_mut().zip(other.count) {
            *mine += theirs;
        }
        for (mine, theirs) in self.sum.iter_mut().zip(other.sum) {
            *mine += theirs;
        }
    }

    fn mean(&self, sum: u64) -> u64 {
        sum.checked_div(self.runs).unwrap_or(0)
    }

    fn worst(&self) -> Bounds {
        let ([exact, _, _], [_, cosmetic, evidence]) = (self.sum, self.count);
        let open = (cosmetic + evidence).saturating_mul(ONE);
        Bounds { low: self.mean(exact), high: self.mean(exact.saturating_add(open)) }
    }

    fn assumed(&self, flip: u64) -> Bounds {
        let [exact, cosmetic, _] = self.sum;
        let [_, of_cosmetic, of_evidence] = self.count;
        let flips = flip.saturating_mul(of_cosmetic);
        let all = of_cosmetic.saturating_mul(ONE);
        let low = exact.saturating_add(cosmetic.saturating_sub(flips));
        let high = exact.saturating_add(cosmetic.saturating_add(flips).min(all));
        let high = high.saturating_add(of_evidence.saturating_mul(ONE));
        Bounds { low: self.mean(low), high: self.mean(high) }
    }
}

/// Works the bounds out. `flip` is the probability, in millionths, with which a cosmetic
/// difference flips an outcome at most.
pub fn outcomes(runs: &[Scored], flip: u64, seed: u64) -> Outcomes {
    let mut clusters: BTreeMap<u64, Sums> = BTreeMap::new();
    for run in runs {
        let sums = clusters.entry(run.cluster).or_default();
        let at = run.change as usize;
        sums.runs += 1;
        if let (Some(count), Some(sum)) = (sums.count.get_mut(at), sums.sum.get_mut(at)) {
            *count += 1;
            *sum = sum.saturating_add(run.score.min(ONE));
        }
    }
    let clusters: Vec<Sums> = clusters.into_values().collect();
    let mut all = Sums::default();
    for cluster in &clusters {
        all.add(cluster);
    }
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for resampling in 0..RESAMPLINGS {
        let mut sums = Sums::default();
        for draw in 0..clusters.len() as u64 {
            let word = mix(mix(seed, resampling), draw);
            let at = (u128::from(word) * clusters.len() as u128) >> 64;
            if let Some(drawn) = usize::try_from(at).ok().and_then(|at| clusters.get(at)) {
                sums.add(drawn);
            }
        }
        let bounds = sums.assumed(flip);
        lows.push(bounds.low);
        highs.push(bounds.high);
    }
    lows.sort_unstable();
    highs.sort_unstable();
    let at = |list: &[u64], per_mille: usize| {
        list.get(list.len() * per_mille / 1000).or(list.last()).copied().unwrap_or(0)
    };
    Outcomes {
        runs: all.runs,
        clusters: clusters.len() as u64,
        changes: all.count,
        recorded: all.mean(all.sum.iter().sum()),
        worst: all.worst(),
        assumed: all.assumed(flip),
        interval: Bounds { low: at(&lows, 25), high: at(&highs, 975) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(list: &[(u64, Change, u64)]) -> Vec<Scored> {
        list.iter()
            .map(|(cluster, change, score)| Scored {
                cluster: *cluster,
                change: *change,
                score: *score,
            })
            .collect()
    }

    #[test]
    fn bounds_are_those_of_the_definition() {
        // Four runs: exact 1, cosmetic 1 and 0, evidence 1.
        let list = runs(&[
            (1, Change::Exact, ONE),
            (2, Change::Cosmetic, ONE),
            (3, Change::Cosmetic, 0),
            (4, Change::Evidence, ONE),
        ]);
        let none = outcomes(&list, 0, 7);
        assert_eq!(none.recorded, 750_000);
        assert_eq!(none.worst, Bounds { low: 250_000, high: ONE });
        // Nothing flips: exact and cosmetic keep 2 of 4, the last is open.
        assert_eq!(none.assumed, Bounds { low: 500_000, high: 750_000 });
        // A tenth of each cosmetic one flips: 0.2 of 4 runs.
        let tenth = outcomes(&list, 100_000, 7);
        assert_eq!(tenth.assumed, Bounds { low: 450_000, high: 800_000 });
        // Everything may flip: as without an assumption.
        assert_eq!(outcomes(&list, ONE, 7).assumed, none.worst);
    }

    #[test]
    fn an_interval_holds_its_bounds_and_is_always_the_same() {
        let list: Vec<_> = (0..60_u64)
            .map(|nth| {
                (
                    nth / 3,
                    [Change::Exact, Change::Cosmetic][usize::from(nth % 2 == 0)],
                    ONE * (nth % 2),
                )
            })
            .collect();
        let list = runs(&list);
        let first = outcomes(&list, 50_000, 1);
        assert_eq!(first, outcomes(&list, 50_000, 1));
        assert!(first.interval.low <= first.assumed.low, "{first:?}");
        assert!(first.interval.high >= first.assumed.high, "{first:?}");
        // One cluster has nothing to be resampled from.
        let one = runs(&[(1, Change::Exact, ONE), (1, Change::Exact, 0)]);
        let one = outcomes(&one, 0, 1);
        assert_eq!((one.interval, one.clusters), (one.assumed, 1));
        assert_eq!(outcomes(&[], 0, 1).runs, 0);
    }
}
