//! Outcomes of runs, and what they allow to say of other policies: bounds, never a point.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use projector::metrics::outcome::{
    Bounds, Change, Drawn, ONE, Outcomes, Scored, Weighted, outcomes, weighted,
};
use serde::Serialize;

use super::Results;
use super::row::RowEntry;
use crate::error::{Failure, Kind, Stop, file};
use crate::policies::Named;
use crate::report::number::count;
use crate::report::table::{Column, Table};
use crate::ui::Ui;

/// Most bytes of a file of outcomes.
const BYTES_MAX: u64 = 64 << 20;
/// The seed of the bootstrap.
const SEED: u64 = 20_261_130;

/// Outcomes by run.
#[derive(Clone, Debug, Default)]
pub(super) struct Scores {
    /// By recording or run: cluster and outcome in millionths.
    known: BTreeMap<String, (u64, u64)>,
    /// Probability with which a cosmetic difference flips an outcome at most, in millionths.
    flip: u64,
}

/// What is said of a policy. Outcomes in millionths.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OutcomeEntry {
    policy: String,
    runs: u64,
    clusters: u64,
    exact: u64,
    cosmetic: u64,
    evidence: u64,
    flip: u64,
    recorded: u64,
    worst: [u64; 2],
    assumed: [u64; 2],
    interval: [u64; 2],
    /// Means by weighted runs; null where that would say nothing.
    weighted: Option<WeightedEntry>,
    /// Why runs are not weighted.
    weighted_refused: Option<&'static str>,
}

/// Means of outcomes by runs that were weighted by propensities, in millionths.
#[derive(Clone, Copy, Debug, Serialize)]
struct WeightedEntry {
    followed: u64,
    effective_per_mille: u64,
    ips: u64,
    snips: u64,
    dr: i64,
}

/// A number from 0 to 1 in millionths; finer digits have to be 0.
pub(super) fn share(word: &str) -> Option<u64> {
    let (whole, fraction) = word.trim().split_once('.').unwrap_or((word.trim(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (kept, rest) = fraction.split_at_checked(6).unwrap_or((fraction, ""));
    if whole.is_empty() || !digits(whole) || !digits(kept) || rest.bytes().any(|b| b != b'0') {
        return None;
    }
    let padded = format!("{kept:0<6}");
    let all = whole.parse::<u64>().ok()?.checked_mul(ONE)?;
    let sum = all.checked_add(padded.parse::<u64>().ok()?)?;
    (sum <= ONE).then_some(sum)
}

impl Scores {
    /// Reads lines of `run,score` or `run,score,task`; a run is a recording's path, its name, or
    /// the id of its run. A line without a number in the second place may stand first.
    pub(super) fn read(path: &Path, flip: u64) -> Result<Self, Failure> {
        let meta = fs::metadata(path).map_err(|error| file("read", path, &error))?;
        if meta.len() > BYTES_MAX {
            let words = format!("more than {BYTES_MAX} bytes: {}", path.display());
            return Err(Failure::new(Kind::Format, words));
        }
        let text = fs::read_to_string(path).map_err(|error| file("read", path, &error))?;
        let mut scores = Self { flip, ..Self::default() };
        let mut clusters: BTreeMap<String, u64> = BTreeMap::new();
        for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut fields = line.split(',').map(str::trim);
            let run = fields.next().unwrap_or_default().to_owned();
            let score = fields.next().and_then(share);
            let task = fields.next().filter(|task| !task.is_empty()).unwrap_or(&run).to_owned();
            let Some(score) = score else {
                if nth == 0 {
                    continue;
                }
                let place = format!("{}, line {}", path.display(), nth + 1);
                return Err(Failure::new(Kind::Format, format!("not run,score: {place}"))
                    .hint("a score is a number from 0 to 1 with at most six digits"));
            };
            let next = clusters.len() as u64;
            let cluster = *clusters.entry(task).or_insert(next);
            if scores.known.insert(run, (cluster, score)).is_some() {
                let place = format!("{}, line {}", path.display(), nth + 1);
                return Err(Failure::new(Kind::Format, format!("a run twice: {place}")));
            }
        }
        Ok(scores)
    }

    fn of(&self, row: &RowEntry) -> Option<(u64, u64)> {
        let path = row.recording.as_deref()?;
        let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let names = [Some(path.to_owned()), name, row.run.clone()];
        names.into_iter().flatten().find_map(|name| self.known.get(&name).copied())
    }

    /// The bounds of every policy.
    pub(super) fn bounds(
        &self,
        policies: &[Named],
        results: &Results<'_>,
    ) -> Result<Vec<OutcomeEntry>, Stop> {
        let ids: BTreeMap<&str, String> =
            policies.iter().map(|it| (it.id.as_str(), it.policy.id().to_string())).collect();
        let mut runs: BTreeMap<String, (Vec<Scored>, Vec<Drawn>)> = BTreeMap::new();
        results.read(|recording, rows| {
            for row in rows.iter().filter(|row| row.is_good() && row.requests > 0) {
                let Some((cluster, score)) = self.of(row) else { continue };
                let (bounded, drawn) = runs.entry(row.policy.clone()).or_default();
                bounded.push(Scored { cluster, change: change(row), score });
                let id = ids.get(row.policy.as_str()).map_or("", String::as_str);
                let draws = recording.draws.as_ref().and_then(|draws| draws.of_policy(id));
                drawn.push(Drawn { cluster, score, draws });
            }
            Ok(())
        })?;
        if runs.is_empty() {
            let words = "no recording has an outcome";
            return Err(Failure::new(Kind::NotFound, words)
                .hint("a run is named by its recording's path or name, or by the id of its run")
                .into());
        }
        let entry = |total: &RowEntry| {
            let (runs, drawn) = runs.get(&total.policy)?;
            let mut entry =
                OutcomeEntry::of(&total.policy, self.flip, &outcomes(runs, self.flip, SEED));
            match weighted(drawn) {
                Ok(found) => entry.weighted = Some(WeightedEntry::from(found)),
                Err(why) => entry.weighted_refused = Some(why.words()),
            }
            Some(entry)
        };
        Ok(results.totals.iter().filter_map(entry).collect())
    }
}

/// How a run differs, by its worst request. What was refused is not known.
fn change(row: &RowEntry) -> Change {
    let hides = row.classes.evidence + row.classes.overflow + row.fidelity.refused;
    match (row.changed, hides) {
        (_, 1..) => Change::Evidence,
        (0, 0) => Change::Exact,
        (1.., 0) => Change::Cosmetic,
    }
}

impl OutcomeEntry {
    fn of(policy: &str, flip: u64, found: &Outcomes) -> Self {
        let pair = |bounds: Bounds| [bounds.low, bounds.high];
        let [exact, cosmetic, evidence] = found.changes;
        Self {
            policy: policy.to_owned(),
            runs: found.runs,
            clusters: found.clusters,
            exact,
            cosmetic,
            evidence,
            flip,
            recorded: found.recorded,
            worst: pair(found.worst),
            assumed: pair(found.assumed),
            interval: pair(found.interval),
            weighted: None,
            weighted_refused: None,
        }
    }
}

impl From<Weighted> for WeightedEntry {
    fn from(found: Weighted) -> Self {
        let Weighted { followed, effective_per_mille, ips, snips, dr } = found;
        Self { followed, effective_per_mille, ips, snips, dr }
    }
}

/// Thousandths, as `0.123`.
fn thousandths(millionths: u64) -> String {
    let rounded = (millionths + 500) / 1000;
    format!("{}.{:03}", rounded / 1000, rounded % 1000)
}

pub(super) fn print(entries: &[OutcomeEntry], ui: &mut Ui) -> Result<(), Stop> {
    ui.gap()?;
    let flip = entries.first().map_or(0, |entry| entry.flip);
    ui.line(format_args!(
        "Outcomes: bounds, since the runs that differ were not run. \"assumed\" takes it that a \
         cosmetic difference"
    ))?;
    ui.line(format_args!(
        "flips an outcome with a probability of at most {} (assumed: only a live trial can tell); \
         its interval",
        thousandths(flip)
    ))?;
    ui.line(format_args!("is that of 19 of 20 resamplings by task.\n"))?;
    let mut table = Table::new(&[
        Column::Left("policy"),
        Column::Right("runs"),
        Column::Right("exact"),
        Column::Right("cosmetic"),
        Column::Right("evidence"),
        Column::Right("recorded"),
        Column::Right("whatever happens"),
        Column::Right("assumed"),
        Column::Right("interval"),
    ]);
    let pair = |[low, high]: [u64; 2]| format!("{} to {}", thousandths(low), thousandths(high));
    for entry in entries {
        table.row([
            entry.policy.as_str().into(),
            count(entry.runs).into(),
            count(entry.exact).into(),
            count(entry.cosmetic).into(),
            count(entry.evidence).into(),
            thousandths(entry.recorded).into(),
            pair(entry.worst).into(),
            pair(entry.assumed).into(),
            pair(entry.interval).into(),
        ]);
    }
    ui.table(&table)?;
    weighted_table(entries, ui)
}

/// Means by weighted runs, and why there are none.
fn weighted_table(entries: &[OutcomeEntry], ui: &mut Ui) -> Result<(), Stop> {
    ui.gap()?;
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        if let Some(why) = entry.weighted_refused {
            refused.entry(why).or_default().push(&entry.policy);
        }
    }
    for (why, policies) in refused {
        let of =
            if policies.len() == entries.len() { "all".to_owned() } else { policies.join(", ") };
        let words = format!("Weighting runs (IPS, SNIPS, DR) is refused for {of}: {why}.");
        ui.line(format_args!("{}", crate::text::one_line(&words)))?;
    }
    let mut table = Table::new(&[
        Column::Left("policy"),
        Column::Right("followed"),
        Column::Right("worth"),
        Column::Right("IPS"),
        Column::Right("SNIPS"),
        Column::Right("DR"),
    ]);
    for entry in entries {
        let Some(found) = entry.weighted else { continue };
        let worth = found.effective_per_mille;
        let sign = if found.dr < 0 { "-" } else { "" };
        table.row([
            entry.policy.as_str().into(),
            count(found.followed).into(),
            format!("{}.{} runs", worth / 1000, worth % 1000 / 100).into(),
            thousandths(found.ips).into(),
            thousandths(found.snips).into(),
            format!("{sign}{}", thousandths(found.dr.unsigned_abs())).into(),
        ]);
    }
    if table.is_empty() { Ok(()) } else { ui.table(&table) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_without_rounding() {
        let cases = [
            ("1", Some(ONE)),
            ("0", Some(0)),
            ("0.5", Some(500_000)),
            ("1.000000", Some(ONE)),
            ("0.1234560", Some(123_456)),
            ("0.1234567", None),
            ("1.5", None),
            ("-1", None),
            ("", None),
            (".5", None),
            ("x", None),
        ];
        for (word, wanted) in cases {
            assert_eq!(share(word), wanted, "{word}");
        }
        assert_eq!(thousandths(123_456), "0.123");
    }
}
