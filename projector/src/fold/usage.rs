//! What providers have reported, and what counts of tokens rest on.

use ledger::event::Usage;

use crate::measure::EXTERNAL_ERROR_PER_MILLE;

/// Tokens that a provider has reported in all, by its own sum where it gives one.
pub(super) fn used(usage: &Usage) -> Option<u64> {
    let parts = [
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    ];
    let sum = parts.into_iter().flatten().fold(0, u64::saturating_add);
    usage.total_tokens.or(usage.input_tokens.map(|_| sum))
}

/// What a count of tokens rests on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rests {
    /// It is on record, or follows from it.
    OnRecord,
    /// An estimate that may be wrong by so many.
    Estimate { error: u64 },
    /// An estimate where the provider's count was asked for and is not on record.
    NoUsage,
}

impl Rests {
    /// A count that stands for one of a tokenizer that is not at hand.
    pub(super) fn foreign(tokens: u64) -> Self {
        Self::Estimate { error: tokens.saturating_mul(EXTERNAL_ERROR_PER_MILLE) / 1000 }
    }
}

/// What a provider has reported for the last request with a report, beside the estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) reported: u64,
    pub(super) estimated: u64,
    pub(super) projected: u64,
    /// Smallest and largest ratio of report and estimate so far, in thousandths.
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Used {
    pub(super) fn after(self, before: Option<Self>) -> Self {
        let ratio = self.reported.saturating_mul(1000).checked_div(self.estimated).unwrap_or(1000);
        let (low, high) = before.map_or((ratio, ratio), |before| (before.low, before.high));
        Self { low: low.min(ratio), high: high.max(ratio), ..self }
    }

    /// How wrong an estimate of so many tokens may be, by the ratios seen so far.
    pub(super) fn error(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.high.saturating_sub(self.low)) / 1000
    }

    pub(super) fn numbers(self) -> [u64; 5] {
        [self.reported, self.estimated, self.projected, self.low, self.high]
    }

    pub(super) fn of_numbers([reported, estimated, projected, low, high]: [u64; 5]) -> Self {
        Self { reported, estimated, projected, low, high }
    }
}
