//! How a replay went: a table of drifts, or a document.

use std::path::Path;

use replay::serve::Drift;
use serde::Serialize;

use super::answers::Told;
use crate::error::Stop;
use crate::report::number::{count, counted};
use crate::report::table::{Cell, Column, Table};
use crate::ui::{Tone, Ui};

#[derive(Serialize)]
pub(super) struct Document {
    schema: &'static str,
    ok: bool,
    recording: String,
    identical: u64,
    equal: u64,
    repeated: u64,
    side: u64,
    aliases: u64,
    drifts: Vec<DriftRow>,
    drifts_again: u64,
    unused: Vec<u64>,
    unused_side: Vec<u64>,
}

#[derive(Serialize)]
struct DriftRow {
    arrival: u64,
    kind: &'static str,
    due: Option<u64>,
    found: Option<u64>,
    pointer: Option<String>,
    what: Option<&'static str>,
    cause: Option<&'static str>,
    offset: Option<usize>,
}

fn rows(told: &Told) -> Vec<DriftRow> {
    let row = |(arrival, drift): &(u64, Drift)| {
        let blank = DriftRow {
            arrival: *arrival,
            kind: "extra",
            due: None,
            found: None,
            pointer: None,
            what: None,
            cause: None,
            offset: None,
        };
        match drift {
            Drift::Extra => blank,
            Drift::Skipped { due, found } => DriftRow {
                kind: "skipped",
                due: Some(due.ordinal()),
                found: Some(found.ordinal()),
                ..blank
            },
            Drift::Differs { due, at, cause } => DriftRow {
                kind: "differs",
                due: Some(due.ordinal()),
                pointer: Some(at.pointer.clone()),
                what: Some(at.what),
                cause: Some(cause.words()),
                offset: Some(at.other_at),
                ..blank
            },
        }
    };
    told.report.drifts.iter().map(row).collect()
}

pub(super) fn document(recording: &Path, told: &Told) -> Document {
    let report = &told.report;
    let numbers = |ids: &[ledger::id::RequestId]| ids.iter().map(|id| id.ordinal()).collect();
    Document {
        schema: "counterfold.serve/1",
        ok: report.is_same() && told.failed.is_none(),
        recording: recording.display().to_string(),
        identical: report.identical,
        equal: report.equal,
        repeated: report.repeated,
        side: told.side,
        aliases: report.aliases,
        drifts: rows(told),
        drifts_again: report.drifts_again,
        unused: numbers(&report.unused),
        unused_side: numbers(&report.unused_side),
    }
}

pub(super) fn print(told: &Told, ui: &mut Ui) -> Result<(), Stop> {
    let report = &told.report;
    let drifts = rows(told);
    if !drifts.is_empty() {
        let columns = ["arrival", "drift", "due", "place", "cause"];
        let mut table = Table::new(&columns.map(Column::Left));
        for row in drifts {
            let due = row.due.map_or_else(|| "-".to_owned(), count);
            let what = match (row.cause, row.found) {
                (Some(cause), _) => cause.to_owned(),
                (None, Some(found)) => format!("request {found} came"),
                (None, None) => "nothing was due".to_owned(),
            };
            let place = row.pointer.unwrap_or_else(|| "-".to_owned());
            table.row([count(row.arrival), row.kind.to_owned(), due, place, what].map(Cell::from));
        }
        ui.table(&table)?;
    }
    if !report.unused.is_empty() {
        let list: Vec<_> = report.unused.iter().map(|id| id.ordinal().to_string()).collect();
        ui.line(format_args!("never asked for: request {}", list.join(", ")))?;
    }
    let tone = if report.is_same() { Tone::Good } else { Tone::Bad };
    let matched = report.identical + report.equal;
    ui.toned(
        tone,
        &format!(
            "{} as recorded ({} identical, {} but for ids and times), {}, {} never asked for",
            counted(matched, "request"),
            report.identical,
            report.equal,
            counted(report.drifts.len() as u64, "drift"),
            report.unused.len()
        ),
    )
}
