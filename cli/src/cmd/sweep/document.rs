//! `counterfold.sweep/1`, written in pieces, so that it needs no memory for its rows.

use serde::Serialize;

use super::basis::RecordingEntry;
use super::outcomes::OutcomeEntry;
use super::row::RowEntry;
use super::{HELD_FIXED, Results};
use crate::error::Stop;
use crate::policies::{self, Named, PolicyParams};
use crate::text;
use crate::ui::Ui;

#[derive(Serialize)]
struct PolicyEntry<'s> {
    id: &'s str,
    policy_id: String,
    params: PolicyParams,
}

/// The row of a policy over all recordings.
#[derive(Serialize)]
struct Total<'r> {
    #[serde(flatten)]
    row: &'r RowEntry,
    on_front: bool,
}

fn json(value: &impl Serialize) -> String {
    text::json(serde_json::to_string(value).unwrap_or_default())
}

/// A list with each element on a line of its own.
struct List<'u> {
    ui: &'u mut Ui,
    first: bool,
}

impl<'u> List<'u> {
    fn begin(ui: &'u mut Ui, name: &str) -> Result<Self, Stop> {
        write!(ui.output(), ",\n  \"{name}\": [")?;
        Ok(Self { ui, first: true })
    }

    fn item(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        let comma = if self.first { "" } else { "," };
        self.first = false;
        write!(self.ui.output(), "{comma}\n    {}", json(value))?;
        Ok(())
    }

    fn end(self) -> Result<(), Stop> {
        write!(self.ui.output(), "]")?;
        Ok(())
    }
}

pub(super) fn write(
    policies: &[Named],
    results: &Results<'_>,
    outcomes: Option<&[OutcomeEntry]>,
    ui: &mut Ui,
) -> Result<(), Stop> {
    let note = json(&HELD_FIXED);
    write!(ui.output(), "{{\n  \"schema\": \"counterfold.sweep/1\",\n  \"note\": {note}")?;
    let mut list = List::begin(ui, "policies")?;
    for named in policies {
        list.item(&PolicyEntry {
            id: &named.id,
            policy_id: named.policy.id().to_string(),
            params: policies::params(&named.policy),
        })?;
    }
    list.end()?;
    let mut list = List::begin(ui, "recordings")?;
    results.each(|recording: &RecordingEntry, _rows: &[RowEntry]| list.item(recording))?;
    list.end()?;
    let mut list = List::begin(ui, "rows")?;
    results.each(|_recording, rows| rows.iter().try_for_each(|row| list.item(row)))?;
    list.end()?;
    let mut list = List::begin(ui, "totals")?;
    for (row, front) in results.totals.iter().zip(&results.front) {
        list.item(&Total { row, on_front: *front })?;
    }
    list.end()?;
    if let Some(outcomes) = outcomes {
        let mut list = List::begin(ui, "outcomes")?;
        outcomes.iter().try_for_each(|entry| list.item(entry))?;
        list.end()?;
    }
    writeln!(ui.output(), "\n}}")?;
    Ok(())
}
