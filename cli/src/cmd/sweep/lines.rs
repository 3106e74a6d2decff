//! Rows as comma-separated values, and as a Markdown table.

use super::Results;
use super::field::{Field, ROW, RUN};
use super::row::RowEntry;
use crate::error::Stop;
use crate::ui::Ui;

/// The columns of a Markdown table.
const SHOWN: [&str; 10] = [
    "recording",
    "policy",
    "requests",
    "frontier",
    "prompt_tokens",
    "cost_dollars",
    "within_error",
    "recall_per_mille",
    "assumed",
    "refused",
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

/// A line with the names of columns.
pub(super) fn heads<'f, T: 'f>(fields: impl Iterator<Item = &'f Field<T>>) -> String {
    let names: Vec<_> = fields.map(|field| field.name).collect();
    names.join(",") + "\n"
}

/// A line with the values of an entry.
pub(super) fn line<'f, T: 'f>(fields: impl Iterator<Item = &'f Field<T>>, entry: &T) -> String {
    let values: Vec<_> = fields.map(|field| quoted(&field.words(entry))).collect();
    values.join(",") + "\n"
}

/// The columns of a file that is not a partition: the run stands beside its recording.
pub(super) fn columns() -> Vec<Field<RowEntry>> {
    let (first, rest) = ROW.split_at(1);
    [first, &[RUN], rest].concat()
}

pub(super) fn csv(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    let columns = columns();
    write!(ui.output(), "{}", heads(columns.iter()))?;
    results.each(|_recording, rows| {
        for row in rows {
            write!(ui.output(), "{}", line(columns.iter(), row))?;
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
        SHOWN.iter().filter_map(|name| ROW.iter().find(|field| field.name == *name)).collect();
    let heads: Vec<_> = fields.iter().map(|field| field.name.replace('_', " ")).collect();
    writeln!(ui.output(), "| {} |", heads.join(" | "))?;
    writeln!(ui.output(), "|{}", "---|".repeat(heads.len()))?;
    let escaped = |value: &str| {
        let value = crate::text::one_line(value);
        value.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
    };
    results.each(|_recording, rows| {
        for row in rows {
            let values: Vec<_> = fields.iter().map(|field| escaped(&field.words(row))).collect();
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
        assert!(SHOWN.iter().all(|name| ROW.iter().any(|field| field.name == *name)));
    }
}
