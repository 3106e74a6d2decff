//! How far the simulation is from what the provider has reported for the recorded requests.

use ledger::event::Usage;
use ledger::history::History;
use projector::metrics::{Charge, Cost, Line, Scale, Terms};

use crate::verify::reported_input;

/// A simulated sum against the reported one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Error {
    /// What was simulated.
    pub simulated: u64,
    /// What was reported.
    pub reported: u64,
}

impl Error {
    /// The difference over what was reported, in thousandths, rounded up; `None`: nothing was
    /// reported, and something simulated.
    pub fn per_mille(&self) -> Option<u64> {
        let difference = u128::from(self.simulated.abs_diff(self.reported)) * 1000;
        if difference == 0 {
            return Some(0);
        }
        if self.reported == 0 {
            return None;
        }
        u64::try_from(difference.div_ceil(u128::from(self.reported))).ok()
    }

    fn add(&mut self, simulated: u64, reported: u64) {
        self.simulated = self.simulated.saturating_add(simulated);
        self.reported = self.reported.saturating_add(reported);
    }
}

/// What the provider's reports say about the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Requests with reported input.
    pub with_usage: u64,
    /// Requests whose report speaks of the cache.
    pub with_cache: u64,
    /// Tokens read from the cache, over those.
    pub read: Error,
    /// Tokens written to it.
    pub write: Error,
    /// Picodollars, over those that have a price.
    pub cost: Error,
    /// Requests whose simulated cost is off by at most 1, 5, 20, 50 percent, and by more.
    pub residuals: [u64; 5],
}

/// Residuals in percent, as the classes of `residuals` end.
const RESIDUALS_PERCENT: [u64; 4] = [1, 5, 20, 50];

impl Calibration {
    /// The error of amounts in thousandths; `None`: no report speaks of the cache, or the
    /// simulated amount has nothing to compare itself with.
    pub fn cost_per_mille(&self) -> Option<u64> {
        if self.with_cache == 0 || self.cost.reported == 0 {
            return None;
        }
        self.cost.per_mille()
    }

    /// True when two amounts differ by no more than the error of the first.
    pub fn is_within_error(&self, recorded: u64, other: u64) -> bool {
        let Some(error) = self.cost_per_mille() else { return true };
        let bound = u128::from(recorded) * u128::from(error) / 1000;
        u128::from(recorded.abs_diff(other)) <= bound
    }

    pub(super) fn of(history: &History, terms: &[Terms<'_>], lines: &[Line]) -> Self {
        let mut calibration = Self::default();
        for ((request, terms), line) in history.requests().iter().zip(terms).zip(lines) {
            let usage = request.answer.as_ref().and_then(|(_, answer)| answer.usage);
            let Some(usage) = usage else { continue };
            let Some(input) = reported_input(request.dialect, &usage) else { continue };
            calibration.with_usage += 1;
            let cached = usage.cache_read_tokens.or(usage.cache_write_tokens);
            let (Some(charge), Some(_)) = (&line.charge, cached) else { continue };
            calibration.with_cache += 1;
            let reported = reported(input, &usage);
            let [short, long] = charge.write;
            let [told, _] = reported.write;
            calibration.read.add(charge.read, reported.read);
            calibration.write.add(short.saturating_add(long), told);
            let (Some(price), Some(book), Some(cost)) = (terms.price, terms.book, line.cost) else {
                continue;
            };
            let told = price.cost(book, &reported, terms.output_tokens);
            calibration.residual(cost, told);
        }
        calibration
    }

    fn residual(&mut self, simulated: Cost, reported: Cost) {
        let (simulated, reported) = (simulated.total().0, reported.total().0);
        self.cost.add(simulated, reported);
        let off = u128::from(simulated.abs_diff(reported)) * 100;
        let within = |percent: &u64| off <= u128::from(reported) * u128::from(*percent);
        let class = RESIDUALS_PERCENT.iter().position(within).unwrap_or(RESIDUALS_PERCENT.len());
        if let Some(count) = self.residuals.get_mut(class) {
            *count += 1;
        }
    }
}

/// What the provider has counted. Lifetimes are not told apart: all writes are of the first.
fn reported(input: u64, usage: &Usage) -> Charge {
    let read = usage.cache_read_tokens.unwrap_or(0).min(input);
    let write = usage.cache_write_tokens.unwrap_or(0).min(input - read);
    Charge { read, write: [write, 0], uncached: input - read - write, ..Charge::default() }
}

/// The ratio of tokens and bytes of a run.
pub(super) fn scale(history: &History, lines: &[Line]) -> Scale {
    Scale::of(history.requests().iter().zip(lines).filter_map(|(request, line)| {
        let usage = request.answer.as_ref().and_then(|(_, answer)| answer.usage)?;
        Some((line.bytes(), reported_input(request.dialect, &usage)?))
    }))
}

/// Notes the tokens of the recorded answers: as reported, else estimated from their bytes.
pub(super) fn outputs(history: &History, scale: Scale, terms: &mut [Terms<'_>]) {
    for (request, terms) in history.requests().iter().zip(terms) {
        let Some((_, answer)) = &request.answer else { continue };
        let reported = answer.usage.and_then(|usage| usage.output_tokens);
        let bytes = || answer.items.iter().map(|item| item.text.len()).sum();
        terms.output_tokens = reported.unwrap_or_else(|| scale.tokens(bytes()));
    }
}
