//! `selftest`: would `verify` notice? Known changes are made in copies, and each has to turn the
//! check red.

use std::path::{Path, PathBuf};

use clap::Args;
use replay::selftest::{Class, ClassReport, SelftestError, selftest};
use serde::Serialize;

use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::error::{Ended, Failure, Kind, Outcome, Stop, map};
use crate::inputs::{self, Scratch};
use crate::report::number::{count, counted};
use crate::report::table::{Cell, Column, Table};
use crate::ui::{Tone, Ui};

/// Places that the table lists of a class; JSON has all of them.
const PLACES_SHOWN: usize = 5;

/// Check that `verify` would notice what it has to notice
///
/// Makes changes of known classes in copies of a recording, a few places each: a flipped byte, a
/// message that is missing, a number spelled differently, a time of day in a prompt, a request
/// that was not captured, and so on. Copies are written anew with good checksums, so that only
/// what was recorded of the requests can give a change away. Each has to turn verify red. A
/// canonical comparison, which compares values instead of bytes, forgives some classes by design;
/// those have a second row. The copies are in a temporary folder; the recording is only read.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold selftest runs/session
  counterfold selftest runs --format json

Exit codes:
  0  every change was noticed
  1  some change was not noticed
  2  a recording does not verify as it is, or there is nothing to change")]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// What came of one recording.
struct Tested {
    path: PathBuf,
    reports: Result<Vec<ClassReport>, Failure>,
}

/// What came of one class over all recordings.
struct Total {
    class: Class,
    injected: u64,
    caught: u64,
    forgiven: u64,
    missed: Vec<String>,
}

pub(crate) fn run(args: &SelftestArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let words = &args.recordings;
    let mut all = Vec::new();
    for input in inputs::recordings(&words.recordings, words.allow_empty, scratch, ui) {
        let reports = input.found.and_then(|place| one(&place.folder, ui));
        all.push(Tested { path: input.path, reports });
    }
    let totals = totals(&all);
    let nothing = !totals.iter().any(|total| total.class.is_of_recording() && total.injected > 0);
    let failed = all.iter().any(|tested| tested.reports.is_err());
    let outcome = if totals.iter().any(|total| !total.missed.is_empty()) {
        Outcome::Found
    } else if failed || (nothing && !words.allow_empty) {
        Outcome::Undecided
    } else {
        Outcome::Fine
    };
    match args.format.format {
        Format::Json => ui.json(&document(&all, &totals, outcome))?,
        Format::Table => print(&totals, ui)?,
    }
    ui.flush()?;
    for failure in all.iter().filter_map(|tested| tested.reports.as_ref().err()) {
        ui.failure(failure);
    }
    if nothing && !failed && !words.allow_empty {
        return Err(Failure::new(Kind::Empty, "nothing to change: no recorded request")
            .hint("`counterfold log` shows what a recording holds; --allow-empty takes this")
            .into());
    }
    Ok(outcome)
}

fn one(path: &Path, ui: &Ui) -> Result<Vec<ClassReport>, Failure> {
    let recording = inputs::open(path)?;
    if recording.history().requests().is_empty() {
        return Ok(Vec::new());
    }
    let scratch = tempfile::tempdir().map_err(|error| {
        let failure = Failure::new(Kind::Io, "cannot make a temporary folder");
        Failure { causes: vec![error.to_string()], ..failure }
    })?;
    let what = format!("changing copies of {}", recording.name());
    drop(recording);
    let progress = ui.progress(&what, Class::ALL.len() as u64);
    selftest(path, scratch.path(), &mut || progress.step()).map_err(|error| failure(&error))
}

fn failure(error: &SelftestError) -> Failure {
    match error {
        SelftestError::Load(error) => map::load(error),
        SelftestError::NotGreen { .. } => Failure::of(Kind::Damage, error)
            .hint("`counterfold verify` says why; a check that is red anyway cannot be tested"),
        _ => Failure::of(Kind::Io, error),
    }
}

fn totals(all: &[Tested]) -> Vec<Total> {
    let empty = |class| Total { class, injected: 0, caught: 0, forgiven: 0, missed: Vec::new() };
    let mut totals = Class::ALL.map(empty);
    let labels = inputs::labels(all.iter().map(|tested| tested.path.as_path()));
    for (label, tested) in labels.iter().zip(all) {
        for report in tested.reports.iter().flatten() {
            let same = totals.iter_mut().find(|total| total.class == report.class);
            let Some(total) = same else { continue };
            if total.injected > 0 && !report.class.is_of_recording() {
                continue;
            }
            total.injected += report.injected;
            total.caught += report.caught;
            total.forgiven += report.forgiven;
            total.missed.extend(report.missed.iter().map(|place| format!("{label}: {place}")));
        }
    }
    totals.into()
}

fn print(totals: &[Total], ui: &mut Ui) -> Result<(), Stop> {
    if totals.iter().all(|total| total.injected == 0) {
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::Left("class"),
        Column::Left("level"),
        Column::Right("injected"),
        Column::Right("caught"),
        Column::Left("forgiven"),
    ]);
    for row in totals.iter().flat_map(rows) {
        let missed = row.injected - row.caught;
        let tone = match (row.injected, missed, row.forgiven_by_design) {
            (0, ..) => Tone::Faint,
            (_, 0, _) => Tone::Good,
            (_, _, true) => Tone::Warn,
            _ => Tone::Bad,
        };
        let forgiven = if row.forgiven_by_design { "by design" } else { "" };
        table.row([
            row.name.into(),
            row.level.into(),
            count(row.injected).into(),
            Cell::toned(count(row.caught), tone),
            forgiven.into(),
        ]);
    }
    ui.table(&table)?;
    ui.gap()?;
    for total in totals.iter().filter(|total| !total.missed.is_empty()) {
        let name = total.class.name();
        for place in total.missed.iter().take(PLACES_SHOWN) {
            ui.toned(Tone::Bad, &crate::text::one_line(&format!("{name} missed: {place}")))?;
        }
        let more = total.missed.len().saturating_sub(PLACES_SHOWN);
        if more > 0 {
            ui.line(format_args!("{name} missed: {} more", counted(more as u64, "place")))?;
        }
    }
    let sum = |of: fn(&Total) -> u64| totals.iter().map(of).sum::<u64>();
    let (injected, caught) = (sum(|total| total.injected), sum(|total| total.caught));
    ui.line(format_args!("caught {} of {}", count(caught), counted(injected, "change")))
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    ok: bool,
    recordings: Vec<RecordingEntry>,
    classes: Vec<ClassEntry>,
}

#[derive(Serialize)]
struct RecordingEntry {
    path: String,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

#[derive(Serialize)]
struct ClassEntry {
    name: &'static str,
    level: &'static str,
    injected: u64,
    caught: u64,
    forgiven_by_design: bool,
    missed: Vec<String>,
}

/// A row for the comparison of bytes, and one for a canonical comparison where it forgives.
fn rows(total: &Total) -> Vec<ClassEntry> {
    let name = total.class.name();
    let bytes = ClassEntry {
        name,
        level: "bytes",
        injected: total.injected,
        caught: total.caught,
        forgiven_by_design: false,
        missed: total.missed.clone(),
    };
    let canonical = ClassEntry {
        name,
        level: "canonical",
        injected: total.injected,
        caught: total.injected - total.forgiven,
        forgiven_by_design: true,
        missed: Vec::new(),
    };
    if total.forgiven == 0 { vec![bytes] } else { vec![bytes, canonical] }
}

fn document(all: &[Tested], totals: &[Total], outcome: Outcome) -> Document {
    let entry = |tested: &Tested| {
        let failure = tested.reports.as_ref().err();
        RecordingEntry {
            path: tested.path.display().to_string(),
            error: failure.map(Failure::line),
            error_kind: failure.map(|failure| failure.kind.name()),
        }
    };
    Document {
        schema: "counterfold.selftest/1",
        ok: outcome == Outcome::Fine,
        recordings: all.iter().map(entry).collect(),
        classes: totals.iter().flat_map(rows).collect(),
    }
}
