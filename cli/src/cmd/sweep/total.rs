//! The rows of a policy over all recordings, added up. A frontier has no meaning there.

use super::row::{
    Breaks, Cache, DynamicsEntry, Evidence, Money, NoticesEntry, Reason, Rereads, RowEntry, Signs,
};

impl RowEntry {
    /// The row of no recording.
    pub(crate) fn nothing(policy: &str, estimator: &str) -> Self {
        let (policy, estimator) = (policy.to_owned(), estimator.to_owned());
        Self { policy, estimator, complete: true, ..Self::default() }
    }

    /// Adds the row of another recording.
    pub(crate) fn add(&mut self, row: &Self) {
        if !row.is_good() {
            return;
        }
        self.complete &= row.complete;
        self.recordings += row.recordings;
        self.never_fires += row.never_fires;
        self.requests += row.requests;
        self.fidelity.exact += row.fidelity.exact;
        self.fidelity.derived += row.fidelity.derived;
        self.fidelity.assumed += row.fidelity.assumed;
        self.fidelity.refused += row.fidelity.refused;
        self.classes.same += row.classes.same;
        self.classes.cosmetic += row.classes.cosmetic;
        self.classes.evidence += row.classes.evidence;
        self.classes.overflow += row.classes.overflow;
        self.reasons(&row.reasons);
        self.changed += row.changed;
        self.measured += row.measured;
        self.tokens_max = self.tokens_max.max(row.tokens_max);
        self.tokens_total += row.tokens_total;
        self.tokens_recorded += row.tokens_recorded;
        self.prompt_tokens += row.prompt_tokens;
        self.prompt_tokens_max = self.prompt_tokens_max.max(row.prompt_tokens_max);
        self.overflow_possible += row.overflow_possible;
        self.overflow_certain += row.overflow_certain;
        self.headroom_min = [self.headroom_min, row.headroom_min].into_iter().flatten().min();
        self.body_bytes += row.body_bytes;
        self.hidden_bytes += row.hidden_bytes;
        self.hidden_bytes_max = self.hidden_bytes_max.max(row.hidden_bytes_max);
        for (tool, bytes) in &row.hidden_by_tool {
            *self.hidden_by_tool.entry(tool.clone()).or_default() += bytes;
        }
        self.capped_results += row.capped_results;
        self.cleared_results += row.cleared_results;
        self.dropped_messages += row.dropped_messages;
        self.broken_pairs += row.broken_pairs;
        self.user_turns_lost += row.user_turns_lost;
        self.dead_bytes += row.dead_bytes;
        self.signs.add(row.signs);
        self.evidence.add(row.evidence);
        self.cache.add(&row.cache);
        self.notices.add(&row.notices);
        self.dynamics.add(&row.dynamics);
        self.cost.add(&row.cost);
        self.rereads.add(&row.rereads);
        self.rereads.expect(self.cost.recorded, self.requests);
    }

    fn reasons(&mut self, others: &[Reason]) {
        for other in others {
            let mut known = self.reasons.iter_mut();
            match known.find(|it| (it.step, &it.words) == (other.step, &other.words)) {
                Some(known) => known.requests += other.requests,
                None => self.reasons.push(other.clone()),
            }
        }
    }
}

impl Signs {
    fn add(&mut self, other: Self) {
        self.shown += other.shown;
        self.all += other.all;
    }
}

impl NoticesEntry {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.stated += other.stated;
        self.wrong += other.wrong;
        self.off_bytes = self.off_bytes.saturating_add(other.off_bytes);
        self.off_characters = self.off_characters.saturating_add(other.off_characters);
        self.off_lines = self.off_lines.saturating_add(other.off_lines);
        self.silent += other.silent;
        self.silent_bytes += other.silent_bytes;
    }
}

impl DynamicsEntry {
    fn add(&mut self, other: &Self) {
        self.rewrites += other.rewrites;
        self.unpaid += other.unpaid;
        self.thrash += other.thrash;
        self.saved_tokens += other.saved_tokens;
    }
}

impl Rereads {
    fn add(&mut self, other: &Self) {
        for (tool, reread) in &other.by_tool {
            let mine = self.by_tool.entry(tool.clone()).or_default();
            mine.needed += reread.needed;
            mine.hidden += reread.hidden;
            mine.again += reread.again;
        }
    }
}

impl Evidence {
    fn add(&mut self, other: Self) {
        self.anchors += other.anchors;
        self.missed += other.missed;
        self.weight += other.weight;
        self.shown += other.shown;
        self.random += other.random;
        self.heads += other.heads;
        self.tails += other.tails;
    }
}

impl Breaks {
    /// Adds breaks of the same cause.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.lost_tokens += other.lost_tokens;
        self.cost_picodollars = self.cost_picodollars.saturating_add(other.cost_picodollars);
    }
}

impl Cache {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.read += other.read;
        self.write += other.write;
        self.uncached += other.uncached;
        self.refused_marks += other.refused_marks;
        self.rewrites += other.rewrites;
        self.rewritten_bytes += other.rewritten_bytes;
        self.common_bytes += other.common_bytes;
        self.before_bytes += other.before_bytes;
        for (cause, breaks) in &other.breaks {
            self.breaks.entry(cause.clone()).or_default().add(breaks);
        }
    }
}

impl Money {
    /// Adds amounts. The error of a sum is that of its parts, weighted by what they cost; a part
    /// without one leaves the sum without.
    fn add(&mut self, other: &Self) {
        let is_first = self.requests == 0 && self.total == 0;
        if other.requests > 0 {
            self.error_per_mille = match (is_first, self.error_per_mille, other.error_per_mille) {
                (true, _, error) => error,
                (false, Some(mine), Some(theirs)) => {
                    let all = u128::from(self.recorded) + u128::from(other.recorded);
                    let sum = u128::from(self.recorded) * u128::from(mine)
                        + u128::from(other.recorded) * u128::from(theirs);
                    sum.checked_div(all).and_then(|error| u64::try_from(error).ok())
                }
                (false, _, _) => None,
            };
        }
        let both = |mine: Option<u64>, theirs: Option<u64>| match (is_first, mine, theirs) {
            (true, _, regret) => regret,
            (false, Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (false, _, _) => None,
        };
        self.regret_at_most = both(self.regret_at_most, other.regret_at_most);
        self.regret_at_least = both(self.regret_at_least, other.regret_at_least);
        let sum = |a: u64, b: u64| a.saturating_add(b);
        self.requests += other.requests;
        self.total = sum(self.total, other.total);
        self.uncached = sum(self.uncached, other.uncached);
        self.read = sum(self.read, other.read);
        self.write = sum(self.write, other.write);
        self.output = sum(self.output, other.output);
        self.measured = sum(self.measured, other.measured);
        self.recorded = sum(self.recorded, other.recorded);
        let bound =
            self.error_per_mille.map(|error| u128::from(self.recorded) * u128::from(error) / 1000);
        let difference = u128::from(self.total.abs_diff(self.recorded));
        self.within_error = bound.is_none_or(|bound| difference <= bound);
    }
}
