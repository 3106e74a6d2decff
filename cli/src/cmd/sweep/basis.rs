//! What the numbers of a recording rest on: ratio of tokens, rules, prices, calibration.

use std::collections::BTreeSet;

use replay::evaluate::{Deviation, Draws, Prepared};
use serde::{Deserialize, Serialize};

use super::row::hex;
use crate::error::Failure;

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordingEntry {
    pub(crate) path: String,
    pub(crate) run: Option<String>,
    pub(crate) requests: u64,
    pub(crate) tokens: Option<TokensEntry>,
    pub(crate) basis: Option<BasisEntry>,
    pub(crate) calibration: Option<CalibrationEntry>,
    /// Policies that were drawn at random; null: none was.
    pub(crate) draws: Option<DrawsEntry>,
    pub(crate) error: Option<String>,
    pub(crate) error_kind: Option<String>,
}

/// Policies that requests were made under, as they were drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DrawsEntry {
    /// Id and probability in millionths, in the order of the draws.
    pub(crate) draws: Vec<(String, u32)>,
    /// Requests without one.
    pub(crate) missing: u64,
    /// Requests that say something else than others of their draw.
    pub(crate) conflicting: u64,
}

impl DrawsEntry {
    fn of(draws: &Draws) -> Option<Self> {
        (!draws.draws.is_empty()).then(|| Self {
            draws: draws.draws.values().map(|(id, share)| (hex(id), *share)).collect(),
            missing: draws.missing,
            conflicting: draws.conflicting,
        })
    }

    /// For each draw, whether it drew a policy, and its probability; `None`: not all is on record.
    pub(crate) fn of_policy(&self, id: &str) -> Option<Vec<(bool, u32)>> {
        let whole = self.missing == 0 && self.conflicting == 0;
        whole.then(|| self.draws.iter().map(|(drawn, share)| (drawn == id, *share)).collect())
    }
}

/// Tokens of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokensEntry {
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
    pub(crate) low_ppm: u64,
    pub(crate) high_ppm: u64,
    /// Requests with a report; 0: the ratio is assumed.
    pub(crate) requests: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BasisEntry {
    pub(crate) models: BTreeSet<String>,
    pub(crate) priced_as: BTreeSet<String>,
    pub(crate) rulebooks: BTreeSet<String>,
    pub(crate) assumes: BTreeSet<String>,
    pub(crate) prices: String,
    pub(crate) prices_date: String,
    pub(crate) without_time: u64,
    pub(crate) unpriced: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CalibrationEntry {
    pub(crate) with_usage: u64,
    pub(crate) with_cache: u64,
    pub(crate) read: ErrorEntry,
    pub(crate) write: ErrorEntry,
    pub(crate) cost: ErrorEntry,
    pub(crate) residuals: [u64; 5],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ErrorEntry {
    pub(crate) simulated: u64,
    pub(crate) reported: u64,
    pub(crate) per_mille: Option<u64>,
}

fn error(error: Deviation) -> ErrorEntry {
    ErrorEntry {
        simulated: error.simulated,
        reported: error.reported,
        per_mille: error.per_mille(),
    }
}

impl RecordingEntry {
    pub(crate) fn of(prepared: &Prepared<'_>, path: &str) -> Self {
        let (scale, basis) = (prepared.scale(), prepared.basis().clone());
        let calibration = *prepared.calibration();
        let history = prepared.recording().history();
        Self {
            path: path.to_owned(),
            run: Some(hex(history.opened().run.as_bytes())),
            requests: history.requests().len() as u64,
            tokens: Some(TokensEntry {
                tokens: scale.tokens,
                bytes: scale.bytes,
                low_ppm: scale.low_ppm,
                high_ppm: scale.high_ppm,
                requests: scale.requests,
            }),
            basis: Some(BasisEntry {
                models: basis.models,
                priced_as: basis.priced_as,
                rulebooks: basis.rulebooks,
                assumes: basis.assumes,
                prices: basis.prices,
                prices_date: basis.prices_date,
                without_time: basis.without_time,
                unpriced: basis.unpriced,
            }),
            calibration: Some(CalibrationEntry {
                with_usage: calibration.with_usage,
                with_cache: calibration.with_cache,
                read: error(calibration.read),
                write: error(calibration.write),
                cost: error(calibration.cost),
                residuals: calibration.residuals,
            }),
            draws: DrawsEntry::of(&Draws::of(history)),
            error: None,
            error_kind: None,
        }
    }

    pub(crate) fn failed(path: &str, failure: &Failure) -> Self {
        Self {
            path: path.to_owned(),
            error: Some(failure.line()),
            error_kind: Some(failure.kind.name().to_owned()),
            ..Self::default()
        }
    }
}

/// What the numbers of several recordings rest on, for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bases {
    recordings: u64,
    with_usage: u64,
    with_cache: u64,
    requests: u64,
    unpriced: u64,
    without_time: u64,
    models: BTreeSet<String>,
    priced_as: BTreeSet<String>,
    rulebooks: BTreeSet<String>,
    assumes: BTreeSet<String>,
    prices: BTreeSet<String>,
}

impl Bases {
    pub(crate) fn add(&mut self, entry: &RecordingEntry) {
        let Some(basis) = &entry.basis else { return };
        self.recordings += 1;
        self.requests += entry.requests;
        self.with_usage += u64::from(entry.tokens.is_some_and(|tokens| tokens.requests > 0));
        self.with_cache += u64::from(entry.calibration.is_some_and(|it| it.with_cache > 0));
        self.unpriced += basis.unpriced;
        self.without_time += basis.without_time;
        self.models.extend(basis.models.iter().cloned());
        self.priced_as.extend(basis.priced_as.iter().cloned());
        self.rulebooks.extend(basis.rulebooks.iter().cloned());
        self.assumes.extend(basis.assumes.iter().cloned());
        self.prices.insert(format!("{} ({})", basis.prices_date, basis.prices));
    }

    /// A line for each thing that the numbers rest on.
    pub(crate) fn lines(&self) -> Vec<String> {
        let list = |words: &BTreeSet<String>| {
            words.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let mut lines = Vec::new();
        lines.push(format!(
            "Tokens: by the usage that the provider reported in {} of {}, else a quarter of the \
             bytes (assumed).",
            self.with_usage,
            crate::report::number::counted(self.recordings, "recording"),
        ));
        if self.rulebooks.is_empty() {
            lines.push(format!(
                "Cost: none, since no rules or prices are known for {}; --price-as MODEL takes \
                 those of another model.",
                if self.models.is_empty() { "the model".to_owned() } else { list(&self.models) }
            ));
            return lines;
        }
        let mut cost = format!(
            "Cost: simulated cache of {}; prices of {}.",
            list(&self.rulebooks),
            list(&self.prices)
        );
        if !self.priced_as.is_empty() {
            cost.push_str(&[" Priced as ", &list(&self.priced_as), " (assumed)."].concat());
        }
        if self.unpriced > 0 {
            let requests = crate::report::number::counted(self.unpriced, "request");
            cost.push_str(&[" ", &requests, " without a price."].concat());
        }
        lines.push(cost);
        lines.push(format!(
            "Calibration: the simulation is compared with reported cache usage in {} of {}; a \
             difference not larger than its error is \"within error\".",
            self.with_cache,
            crate::report::number::counted(self.recordings, "recording"),
        ));
        lines
    }

    /// What rulebooks take for granted.
    pub(crate) fn assumes(&self) -> &BTreeSet<String> {
        &self.assumes
    }
}
