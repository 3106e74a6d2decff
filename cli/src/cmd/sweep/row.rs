//! A row of a sweep: one policy over one recording, as JSON has it and as files keep it.

use std::collections::BTreeMap;

use projector::metrics::{Class, Cost};
use replay::evaluate::{Calibration, Dynamics, EvaluatedRow, Prepared, Reread};
use replay::sweep::FidelityCounts;
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::policies::Named;

/// Requests by what their projection rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fidelity {
    pub(crate) exact: u64,
    pub(crate) derived: u64,
    pub(crate) assumed: u64,
    pub(crate) refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reason {
    pub(crate) step: usize,
    #[serde(rename = "reason")]
    pub(crate) words: String,
    pub(crate) requests: u64,
}

/// Requests by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Classes {
    pub(crate) same: u64,
    pub(crate) cosmetic: u64,
    pub(crate) evidence: u64,
    pub(crate) overflow: u64,
}

/// What the cache would have done. Tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cache {
    pub(crate) requests: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) uncached: u64,
    pub(crate) refused_marks: u64,
    pub(crate) rewrites: u64,
    pub(crate) rewritten_bytes: u64,
    pub(crate) common_bytes: u64,
    pub(crate) before_bytes: u64,
    pub(crate) breaks: BTreeMap<String, Breaks>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Breaks {
    pub(crate) count: u64,
    pub(crate) lost_tokens: u64,
    pub(crate) cost_picodollars: u64,
}

/// Amounts, in picodollars, and what they rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Money {
    pub(crate) requests: u64,
    pub(crate) total: u64,
    pub(crate) uncached: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) output: u64,
    /// The part of it before the frontier.
    pub(crate) measured: u64,
    /// What the record costs by the same simulation.
    pub(crate) recorded: u64,
    /// What it costs more than the least that shows what the recorded answers use: an upper bound
    /// on its regret; null: no price.
    pub(crate) regret_at_most: Option<u64>,
    /// What it costs more than the cheapest requests that were found which show it: a lower bound.
    pub(crate) regret_at_least: Option<u64>,
    /// The simulation's error on the record, in thousandths; null: nothing to compare it with.
    pub(crate) error_per_mille: Option<u64>,
    /// The difference to the record is not larger than the error.
    pub(crate) within_error: bool,
}

/// What the policy says of what it leaves out of outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticesEntry {
    pub(crate) all: u64,
    pub(crate) stated: u64,
    pub(crate) wrong: u64,
    pub(crate) off_bytes: u64,
    pub(crate) off_characters: u64,
    pub(crate) off_lines: u64,
    pub(crate) silent: u64,
    pub(crate) silent_bytes: u64,
}

/// Rewrites of the policy's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DynamicsEntry {
    pub(crate) rewrites: u64,
    pub(crate) unpaid: u64,
    pub(crate) thrash: u64,
    pub(crate) saved_tokens: u64,
}

/// Outputs of a tool that are needed and hidden, and what the record says of such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RereadEntry {
    pub(crate) needed: u64,
    pub(crate) hidden: u64,
    pub(crate) again: u64,
}

/// The modelled risk that hidden outputs are read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rereads {
    pub(crate) by_tool: BTreeMap<String, RereadEntry>,
    /// Turns that reading again is expected to take, in thousandths; null: the record took nothing
    /// away, so that there is nothing to model it on.
    pub(crate) expected_turns_per_mille: Option<u64>,
    /// What those cost at the mean of recorded requests.
    pub(crate) expected_cost: Option<u64>,
}

/// What answers use of outputs. Weights are in thousandths of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) anchors: u64,
    pub(crate) missed: u64,
    pub(crate) weight: u64,
    pub(crate) shown: u64,
    pub(crate) random: u64,
    pub(crate) heads: u64,
    pub(crate) tails: u64,
}

/// Lines that say how something went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signs {
    pub(crate) shown: u64,
    pub(crate) all: u64,
    pub(crate) lost_at: Option<u64>,
}

/// One policy over one recording, or over all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowEntry {
    pub(crate) recording: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) policy: String,
    /// Every request could be projected. Where one could not, it counts as it was recorded, and
    /// the sums say nothing about the policy.
    pub(crate) complete: bool,
    /// Recordings that the row is of, and those in which the policy changes nothing.
    pub(crate) recordings: u64,
    pub(crate) never_fires: u64,
    pub(crate) requests: u64,
    pub(crate) fidelity: Fidelity,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) changed: u64,
    pub(crate) frontier: Option<u64>,
    pub(crate) measured: u64,
    pub(crate) classes: Classes,
    pub(crate) estimator: String,
    pub(crate) tokens_max: u64,
    pub(crate) tokens_total: u64,
    pub(crate) tokens_recorded: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) prompt_tokens_max: u64,
    pub(crate) overflow_possible: u64,
    pub(crate) overflow_certain: u64,
    pub(crate) headroom_min: Option<u64>,
    pub(crate) body_bytes: u64,
    pub(crate) hidden_bytes: u64,
    pub(crate) hidden_bytes_max: u64,
    pub(crate) hidden_by_tool: BTreeMap<String, u64>,
    pub(crate) capped_results: u64,
    pub(crate) cleared_results: u64,
    pub(crate) dropped_messages: u64,
    pub(crate) broken_pairs: u64,
    pub(crate) user_turns_lost: u64,
    pub(crate) dead_bytes: u64,
    pub(crate) signs: Signs,
    pub(crate) notices: NoticesEntry,
    pub(crate) dynamics: DynamicsEntry,
    pub(crate) rereads: Rereads,
    pub(crate) evidence: Evidence,
    pub(crate) cache: Cache,
    pub(crate) cost: Money,
    pub(crate) error: Option<String>,
    pub(crate) error_kind: Option<String>,
}

fn fidelity(counts: FidelityCounts) -> Fidelity {
    let FidelityCounts { exact, derived, assumed, refused } = counts;
    Fidelity { exact, derived, assumed, refused }
}

fn classes(counts: [u64; Class::COUNT]) -> Classes {
    let [same, cosmetic, evidence, overflow] = counts;
    Classes { same, cosmetic, evidence, overflow }
}

/// Cache breaks by the name of their cause.
pub(crate) fn breaks(row: &EvaluatedRow) -> BTreeMap<String, Breaks> {
    let named = row.breaks.iter().map(|(cause, breaks)| {
        let breaks = Breaks {
            count: breaks.count,
            lost_tokens: breaks.lost_tokens,
            cost_picodollars: breaks.cost.0,
        };
        (cause.name().to_owned(), breaks)
    });
    named.collect()
}

fn cache(row: &EvaluatedRow) -> Cache {
    Cache {
        requests: row.simulated,
        read: row.read,
        write: row.write,
        uncached: row.uncached,
        refused_marks: row.refused_marks,
        rewrites: row.rewrites,
        rewritten_bytes: row.rewritten_bytes,
        common_bytes: row.common_bytes,
        before_bytes: row.before_bytes,
        breaks: breaks(row),
    }
}

fn money(row: &EvaluatedRow, recorded: u64, prepared: &Prepared<'_>) -> Money {
    let calibration: &Calibration = prepared.calibration();
    let (least, best) = (prepared.cost_at_least(), prepared.oracle());
    let Cost { uncached, read, write, output } = row.cost;
    let total = row.cost.total().0;
    Money {
        requests: row.priced,
        total,
        uncached: uncached.0,
        read: read.0,
        write: write.0,
        output: output.0,
        measured: row.cost_measured.0,
        recorded,
        regret_at_most: least.map(|least| total.saturating_sub(least.0)),
        regret_at_least: best.map(|best| total.saturating_sub(best.cost.0)),
        error_per_mille: calibration.cost_per_mille(),
        within_error: calibration.is_within_error(recorded, total),
    }
}

fn notices(row: &EvaluatedRow) -> NoticesEntry {
    let it = row.notices;
    NoticesEntry {
        all: it.all,
        stated: it.stated,
        wrong: it.wrong,
        off_bytes: it.off_bytes,
        off_characters: it.off_characters,
        off_lines: it.off_lines,
        silent: it.silent,
        silent_bytes: it.silent_bytes,
    }
}

fn dynamics(row: &EvaluatedRow) -> DynamicsEntry {
    let Dynamics { rewrites, unpaid, thrash, saved_tokens } = row.dynamics;
    DynamicsEntry { rewrites, unpaid, thrash, saved_tokens }
}

fn rereads(row: &EvaluatedRow, recorded: u64) -> Rereads {
    let entry = |it: &Reread| RereadEntry { needed: it.needed, hidden: it.hidden, again: it.again };
    let by_tool = row.rereads.iter().map(|(tool, it)| (tool.clone(), entry(it))).collect();
    let mut rereads = Rereads { by_tool, ..Rereads::default() };
    rereads.expect(recorded, row.sums.requests);
    rereads
}

impl Rereads {
    /// Works out what is expected. A tool of which the record took nothing away has the share of
    /// all tools.
    pub(crate) fn expect(&mut self, recorded_cost: u64, requests: u64) {
        let all = self.by_tool.values().fold((0, 0), |(a, h), it| (a + it.again, h + it.hidden));
        self.expected_turns_per_mille = (all.1 > 0).then(|| {
            let turns = self.by_tool.values().map(|it| {
                let (again, hidden) = if it.hidden > 0 { (it.again, it.hidden) } else { all };
                it.needed.saturating_mul(1000).saturating_mul(again) / hidden
            });
            turns.fold(0, u64::saturating_add)
        });
        self.expected_cost = self.expected_turns_per_mille.and_then(|turns| {
            let cost = u128::from(recorded_cost) * u128::from(turns);
            u64::try_from(cost.checked_div(u128::from(requests) * 1000)?).ok()
        });
    }
}

impl RowEntry {
    /// The row of a policy.
    pub(crate) fn of(
        prepared: &Prepared<'_>,
        path: &str,
        named: &Named,
        row: &EvaluatedRow,
    ) -> Self {
        let history = prepared.recording().history();
        let recorded = prepared.base().iter().filter_map(|line| line.cost);
        let recorded = recorded.map(|cost| cost.total().0).fold(0, u64::saturating_add);
        let estimator = named.policy.estimator;
        let bodies = history.requests().iter().map(|request| request.captured.body_bytes);
        let recall = row.recall;
        let sums = &row.sums;
        Self {
            recording: Some(path.to_owned()),
            run: Some(hex(history.opened().run.as_bytes())),
            policy: named.id.clone(),
            complete: sums.fidelity.refused == 0,
            recordings: 1,
            never_fires: u64::from(sums.changed == 0),
            requests: sums.requests,
            fidelity: fidelity(sums.fidelity),
            reasons: sums
                .reasons
                .iter()
                .map(|(step, reason, requests)| Reason {
                    step: *step,
                    words: (*reason).to_owned(),
                    requests: *requests,
                })
                .collect(),
            changed: sums.changed,
            frontier: sums.frontier,
            measured: row.measured,
            classes: classes(row.classes),
            estimator: estimator.id().to_owned(),
            tokens_max: sums.tokens_max,
            tokens_total: sums.tokens_total,
            tokens_recorded: bodies.map(|bytes| estimator.tokens(bytes)).sum(),
            prompt_tokens: row.tokens,
            prompt_tokens_max: row.tokens_max,
            overflow_possible: row.overflow_possible,
            overflow_certain: row.overflow_certain,
            headroom_min: row.headroom_min,
            body_bytes: sums.body_bytes,
            hidden_bytes: sums.hidden_bytes,
            hidden_bytes_max: sums.hidden_bytes_max,
            hidden_by_tool: row.hidden_by_tool.clone(),
            capped_results: sums.capped_results,
            cleared_results: sums.cleared_results,
            dropped_messages: sums.dropped_messages,
            broken_pairs: sums.broken_pairs,
            user_turns_lost: row.user_turns_lost,
            dead_bytes: row.dead_bytes,
            signs: Signs { shown: row.signs.0, all: row.signs.1, lost_at: row.sign_lost },
            notices: notices(row),
            dynamics: dynamics(row),
            rereads: rereads(row, recorded),
            evidence: Evidence {
                anchors: recall.anchors,
                missed: recall.missed,
                weight: recall.weight,
                shown: recall.shown,
                random: recall.random,
                heads: recall.heads,
                tails: recall.tails,
            },
            cache: cache(row),
            cost: money(row, recorded, prepared),
            error: None,
            error_kind: None,
        }
    }

    /// The row of a policy that could not be evaluated.
    pub(crate) fn failed(path: &str, named: &Named, failure: &Failure) -> Self {
        Self {
            recording: Some(path.to_owned()),
            policy: named.id.clone(),
            estimator: named.policy.estimator.id().to_owned(),
            error: Some(failure.line()),
            error_kind: Some(failure.kind.name().to_owned()),
            ..Self::default()
        }
    }

    /// True for a row with numbers.
    pub(crate) fn is_good(&self) -> bool {
        self.error.is_none()
    }

    /// True for a row that says something about its policy: no request was refused.
    pub(crate) fn is_known(&self) -> bool {
        self.is_good() && self.fidelity.refused == 0
    }

    /// Shown weight of all weight, per mille; `None`: no answer has an anchor.
    pub(crate) fn recall(&self) -> Option<u64> {
        projector::metrics::line::ratio(self.evidence.shown, self.evidence.weight)
    }

    /// The same under random deletion of the same share.
    pub(crate) fn random_recall(&self) -> Option<u64> {
        let all = self.evidence.weight.saturating_mul(projector::metrics::line::SEEDS);
        projector::metrics::line::ratio(self.evidence.random, all)
    }

    /// True when every request has a price.
    pub(crate) fn is_priced(&self) -> bool {
        self.requests > 0 && self.cost.requests == self.requests && self.is_known()
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}
