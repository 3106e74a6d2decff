//! Rows as comma-separated values, and as a Markdown table.

use super::Results;
use super::row::RowEntry;
use crate::error::Stop;
use crate::report::money;
use crate::ui::Ui;

/// A column: its name, and what stands in it.
type Field = (&'static str, fn(&RowEntry) -> String);

fn optional(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// All columns of a row. Amounts are dollars with all their digits.
const FIELDS: &[Field] = &[
    ("recording", |row| row.recording.clone().unwrap_or_default()),
    ("run", |row| row.run.clone().unwrap_or_default()),
    ("policy", |row| row.policy.clone()),
    ("requests", |row| row.requests.to_string()),
    ("exact", |row| row.fidelity.exact.to_string()),
    ("derived", |row| row.fidelity.derived.to_string()),
    ("assumed", |row| row.fidelity.assumed.to_string()),
    ("refused", |row| row.fidelity.refused.to_string()),
    ("changed", |row| row.changed.to_string()),
    ("frontier", |row| optional(row.frontier)),
    ("measured", |row| row.measured.to_string()),
    ("same", |row| row.classes.same.to_string()),
    ("cosmetic", |row| row.classes.cosmetic.to_string()),
    ("evidence", |row| row.classes.evidence.to_string()),
    ("overflow", |row| row.classes.overflow.to_string()),
    ("tokens_total", |row| row.tokens_total.to_string()),
    ("tokens_max", |row| row.tokens_max.to_string()),
    ("tokens_recorded", |row| row.tokens_recorded.to_string()),
    ("prompt_tokens", |row| row.prompt_tokens.to_string()),
    ("prompt_tokens_max", |row| row.prompt_tokens_max.to_string()),
    ("overflow_possible", |row| row.overflow_possible.to_string()),
    ("overflow_certain", |row| row.overflow_certain.to_string()),
    ("hidden_bytes", |row| row.hidden_bytes.to_string()),
    ("broken_pairs", |row| row.broken_pairs.to_string()),
    ("user_turns_lost", |row| row.user_turns_lost.to_string()),
    ("signs_shown", |row| row.signs.shown.to_string()),
    ("signs_all", |row| row.signs.all.to_string()),
    ("anchors", |row| row.evidence.anchors.to_string()),
    ("anchors_missed", |row| row.evidence.missed.to_string()),
    ("recall_per_mille", |row| optional(row.recall())),
    ("random_recall_per_mille", |row| optional(row.random_recall())),
    ("cache_read", |row| row.cache.read.to_string()),
    ("cache_write", |row| row.cache.write.to_string()),
    ("cache_uncached", |row| row.cache.uncached.to_string()),
    ("cache_rewrites", |row| row.cache.rewrites.to_string()),
    ("priced_requests", |row| row.cost.requests.to_string()),
    ("cost_dollars", |row| money::exact(row.cost.total)),
    ("cost_measured_dollars", |row| money::exact(row.cost.measured)),
    ("cost_recorded_dollars", |row| money::exact(row.cost.recorded)),
    ("regret_at_most_dollars", |row| row.cost.regret_at_most.map(money::exact).unwrap_or_default()),
    ("cost_error_per_mille", |row| optional(row.cost.error_per_mille)),
    ("within_error", |row| row.cost.within_error.to_string()),
    ("error", |row| row.error.clone().unwrap_or_default()),
];

/// The columns of a Markdown table.
const SHOWN: [&str; 9] = [
    "recording",
    "policy",
    "requests",
    "frontier",
    "prompt_tokens",
    "cost_dollars",
    "within_error",
    "recall_per_mille",
    "assumed",
];

/// A value of a spreadsheet: quoted where it has to be, and never a formula.
fn quoted(value: &str) -> String {
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let safe = if formula { format!("'{value}") } else { value.to_owned() };
    if safe.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

pub(super) fn csv(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    let heads: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
    writeln!(ui.output(), "{}", heads.join(","))?;
    results.each(|_recording, rows| {
        for row in rows {
            let values: Vec<_> = FIELDS.iter().map(|(_, value)| quoted(&value(row))).collect();
            writeln!(ui.output(), "{}", values.join(","))?;
        }
        Ok(())
    })
}

pub(super) fn markdown(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    for line in results.bases.lines() {
        writeln!(ui.output(), "{}\n", line.replace('<', "&lt;"))?;
    }
    writeln!(ui.output(), "{}\n", super::HELD_FIXED)?;
    let fields: Vec<_> =
        SHOWN.iter().filter_map(|name| FIELDS.iter().find(|(field, _)| field == name)).collect();
    let heads: Vec<_> = fields.iter().map(|(name, _)| name.replace('_', " ")).collect();
    writeln!(ui.output(), "| {} |", heads.join(" | "))?;
    writeln!(ui.output(), "|{}", "---|".repeat(heads.len()))?;
    let escaped = |value: &str| {
        let value = crate::text::one_line(value);
        value.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
    };
    results.each(|_recording, rows| {
        for row in rows {
            let values: Vec<_> = fields.iter().map(|(_, value)| escaped(&value(row))).collect();
            writeln!(ui.output(), "| {} |", values.join(" | "))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_no_formulas_and_keep_their_commas() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }

    #[test]
    fn every_shown_column_exists() {
        assert!(SHOWN.iter().all(|name| FIELDS.iter().any(|(field, _)| field == name)));
    }
}
