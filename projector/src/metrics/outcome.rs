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

/// Which of so many clusters a draw of a resampling takes.
pub fn drawn(seed: u64, resampling: u64, draw: u64, clusters: usize) -> usize {
    let word = mix(mix(seed, resampling), draw);
    usize::try_from((u128::from(word) * clusters as u128) >> 64).unwrap_or(0)
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
            if let Some(drawn) = clusters.get(drawn(seed, resampling, draw, clusters.len())) {
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

/// Draws of a policy in a run, and the run's outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The cluster (task) that it is of.
    pub cluster: u64,
    /// Its outcome, in millionths, at most [`ONE`].
    pub score: u64,
    /// For each draw, whether it drew the policy that is asked about, and its probability in
    /// millionths; `None`: the policy of some request was not drawn, or one draw has two answers.
    pub draws: Option<Vec<(bool, u32)>>,
}

/// Why runs are not weighted by propensities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWeighted {
    /// No request has a propensity: a policy that is always followed gives a run that it changes
    /// the weight 0.
    NoneOnRecord,
    /// Some request of a run has none, or one draw has two answers.
    SomeMissing,
    /// The policy was drawn in no run.
    NeverDrawn,
    /// No run followed it at every draw.
    NeverFollowed,
    /// A weight is larger than what estimates are made of.
    TooUnlikely,
}

impl NotWeighted {
    /// What is said of it.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoneOnRecord => "no propensity is on record",
            Self::SomeMissing => "the propensity of some request is not on record",
            Self::NeverDrawn => "the policy was never drawn",
            Self::NeverFollowed => "no run followed the policy at every draw",
            Self::TooUnlikely => "a run that followed the policy is too unlikely to be weighted",
        }
    }
}

/// Largest weight of a run.
pub const WEIGHT_MAX: u64 = 1_000_000;

/// Means of outcomes under the policy, by runs that were weighted with one over the probability of
/// what was drawn. In millionths; they may be above [`ONE`], and the last below 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weighted {
    /// Runs that followed the policy at every draw.
    pub followed: u64,
    /// So many runs of equal weight would say as much, in thousandths.
    pub effective_per_mille: u64,
    /// Inverse propensity scoring.
    pub ips: u64,
    /// The same, over the sum of weights.
    pub snips: u64,
    /// Doubly robust: the outcome of a task's other runs, corrected by weighted differences.
    pub dr: i64,
}

/// The weight of a run, in millionths: 0 where it does not follow the policy.
fn weight(draws: &[(bool, u32)]) -> Result<u128, NotWeighted> {
    let mut weight = u128::from(ONE);
    for (followed, millionths) in draws {
        if !followed {
            return Ok(0);
        }
        weight = weight * u128::from(ONE) / u128::from(*millionths).max(1);
        if weight > u128::from(ONE) * u128::from(WEIGHT_MAX) {
            return Err(NotWeighted::TooUnlikely);
        }
    }
    Ok(weight)
}

/// Works the means out.
///
/// # Errors
/// Why they would say nothing.
pub fn weighted(runs: &[Drawn]) -> Result<Weighted, NotWeighted> {
    if runs.iter().all(|run| run.draws.as_ref().is_none_or(Vec::is_empty)) {
        return Err(NotWeighted::NoneOnRecord);
    }
    let mut weights = Vec::with_capacity(runs.len());
    let mut is_drawn = false;
    for run in runs {
        let draws = run.draws.as_ref().filter(|draws| !draws.is_empty());
        let draws = draws.ok_or(NotWeighted::SomeMissing)?;
        is_drawn |= draws.iter().any(|(followed, _)| *followed);
        weights.push(weight(draws)?);
    }
    let sum: u128 = weights.iter().sum();
    if sum == 0 {
        return Err(if is_drawn { NotWeighted::NeverFollowed } else { NotWeighted::NeverDrawn });
    }
    let others = Others::of(runs);
    let count = runs.len() as u128;
    let (mut scored, mut squares, mut robust) = (0_u128, 0_u128, 0_i128);
    for (run, weight) in runs.iter().zip(&weights) {
        let score = run.score.min(ONE);
        scored += weight * u128::from(score);
        squares += weight * weight / u128::from(ONE);
        let model = others.mean(run);
        let off = i128::from(score) - i128::from(model);
        robust += i128::from(model) * i128::from(ONE) + weight.cast_signed() * off;
    }
    let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let robust = robust / count.cast_signed() / i128::from(ONE);
    Ok(Weighted {
        followed: weights.iter().filter(|weight| **weight > 0).count() as u64,
        effective_per_mille: narrow(sum * sum / u128::from(ONE) * 1000 / squares.max(1)),
        ips: narrow(scored / count / u128::from(ONE)),
        snips: narrow(scored / sum),
        dr: i64::try_from(robust).unwrap_or(i64::MAX),
    })
}

/// Sums of outcomes by cluster, and of all.
#[derive(Debug, Default)]
struct Others {
    clusters: BTreeMap<u64, (u64, u64)>,
    all: (u64, u64),
}

impl Others {
    fn of(runs: &[Drawn]) -> Self {
        let mut others = Self::default();
        for run in runs {
            let cluster = others.clusters.entry(run.cluster).or_default();
            for (sum, count) in [cluster, &mut others.all] {
                *sum += run.score.min(ONE);
                *count += 1;
            }
        }
        others
    }

    /// The mean of the other runs of the same cluster; of all others where there are none. A run
    /// says nothing about itself, so that the correction stays without bias.
    fn mean(&self, run: &Drawn) -> u64 {
        let without = |(sum, count): (u64, u64)| {
            sum.saturating_sub(run.score.min(ONE)).checked_div(count.saturating_sub(1))
        };
        let cluster = self.clusters.get(&run.cluster).copied().and_then(without);
        cluster.or_else(|| without(self.all)).unwrap_or(0)
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

    fn drawn(cluster: u64, score: u64, draws: &[(bool, u32)]) -> Drawn {
        Drawn { cluster, score, draws: Some(draws.to_vec()) }
    }

    #[test]
    fn runs_that_followed_a_policy_stand_for_those_that_might_have() {
        // Of four runs two followed a policy of probability one half: weights 2, 2, 0, 0.
        let half = 500_000;
        let runs = [
            drawn(1, ONE, &[(true, half)]),
            drawn(1, 0, &[(true, half)]),
            drawn(2, ONE, &[(false, half)]),
            drawn(2, ONE, &[(false, half)]),
        ];
        let found = weighted(&runs).unwrap();
        assert_eq!((found.followed, found.ips, found.snips), (2, 500_000, 500_000));
        assert_eq!(found.effective_per_mille, 2000);
        // Models: 0, 1, 1, 1; corrections: 2 x (1 - 0), 2 x (0 - 1). (3 + 2 - 2) / 4.
        assert_eq!(found.dr, 750_000);
        // Two draws multiply: one over a quarter.
        let twice = [drawn(1, ONE, &[(true, half), (true, half)]), drawn(2, 0, &[(false, half)])];
        assert_eq!(weighted(&twice).unwrap().ips, 2 * ONE);
        assert_eq!(weighted(&twice).unwrap().snips, ONE);
    }

    #[test]
    fn what_cannot_be_weighted_is_refused_with_its_reason() {
        let never = Drawn { cluster: 0, score: 0, draws: None };
        assert_eq!(weighted(&[]), Err(NotWeighted::NoneOnRecord));
        assert_eq!(weighted(core::slice::from_ref(&never)), Err(NotWeighted::NoneOnRecord));
        let one = drawn(0, ONE, &[(true, ONE_IN_TWO)]);
        assert_eq!(weighted(&[one.clone(), never]), Err(NotWeighted::SomeMissing));
        let other = drawn(0, ONE, &[(false, ONE_IN_TWO)]);
        assert_eq!(weighted(&[other]), Err(NotWeighted::NeverDrawn));
        let partly = drawn(0, ONE, &[(true, ONE_IN_TWO), (false, ONE_IN_TWO)]);
        assert_eq!(weighted(&[partly]), Err(NotWeighted::NeverFollowed));
        assert_eq!(
            weighted(&[drawn(0, 0, &[(true, 1), (true, 1)])]),
            Err(NotWeighted::TooUnlikely)
        );
        assert!(weighted(&[one]).is_ok());
    }

    const ONE_IN_TWO: u32 = 500_000;
}
