//! What an import brought, for people: a row per run where there are few, then one per format.

use std::collections::{BTreeMap, BTreeSet};

use capture::transcript::{Tally, TranscriptReport};

use super::{Done, What};
use crate::error::Stop;
use crate::report::number::{self, count};
use crate::report::table::{Cell, Column, Table};
use crate::text::one_line;
use crate::ui::{Tone, Ui};

/// Runs that are listed one by one.
const RUNS_MAX: usize = 40;

pub(super) fn print(done: &[Done], ui: &mut Ui) -> Result<(), Stop> {
    let runs: Vec<&Done> = done.iter().filter(|it| !matches!(it.what, What::Unknown)).collect();
    if runs.len() <= RUNS_MAX || ui.is_verbose() {
        let table = each(&runs);
        if !table.is_empty() {
            ui.table(&table)?;
            ui.line(format_args!(""))?;
        }
    }
    let table = formats(done);
    if !table.is_empty() {
        ui.table(&table)?;
    }
    notes(done, ui)
}

/// The report of a transcript.
pub(super) fn report(what: &What) -> Option<&TranscriptReport> {
    match what {
        What::Imported(report) | What::Cut(report, _) => Some(report),
        _ => None,
    }
}

fn each(runs: &[&Done]) -> Table {
    let mut table = Table::new(&[
        Column::Left("run"),
        Column::Left("format"),
        Column::LeftExtra("version"),
        Column::Right("requests"),
        Column::Right("calls"),
        Column::Right("whole outputs"),
        Column::RightExtra("rows"),
        Column::Right("not understood"),
        Column::Left("rung"),
        Column::Left("result"),
    ]);
    for done in runs {
        let dash = || Cell::from("-");
        let source = done.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match &done.what {
            What::Imported(report) | What::Cut(report, _) => {
                let tally = &report.tally;
                let result = match done.what {
                    What::Cut(..) => Cell::toned("imported up to the damage", Tone::Bad),
                    _ => Cell::toned("imported", Tone::Good),
                };
                table.row([
                    report.recording.display().to_string().into(),
                    report.format.into(),
                    versions(tally.versions.as_ref()).into(),
                    count(tally.requests_total()).into(),
                    count(tally.calls).into(),
                    count(tally.whole_outputs + side_whole(report)).into(),
                    count(tally.rows).into(),
                    count(tally.unknown_total()).into(),
                    rungs(tally).into(),
                    result,
                ]);
            }
            What::Other(format, path, requests, calls) => table.row([
                path.display().to_string().into(),
                (*format).into(),
                dash(),
                count(*requests).into(),
                count(*calls).into(),
                dash(),
                dash(),
                dash(),
                "captured".into(),
                Cell::toned("imported", Tone::Good),
            ]),
            What::Skipped(path) => {
                let name = path.display().to_string().into();
                let result = "skipped: the same source is there already".into();
                table.row(unread(name, result));
            }
            What::Failed(_) => {
                let result = Cell::toned("failed", Tone::Bad);
                table.row(unread(source.into(), result));
            }
            What::Unknown => {}
        }
    }
    table
}

/// A row of which there is only a name and a result.
fn unread(name: Cell, result: Cell) -> [Cell; 10] {
    let mut cells = [(); 10].map(|()| Cell::from("-"));
    let [first, .., last] = &mut cells;
    *first = name;
    *last = result;
    cells
}

fn side_whole(report: &TranscriptReport) -> u64 {
    report.side.as_ref().map_or(0, |side| side.whole)
}

fn versions(versions: Option<&(String, String)>) -> String {
    match versions {
        None => "-".to_owned(),
        Some((first, last)) if first == last => first.clone(),
        Some((first, last)) => format!("{first}..{last}"),
    }
}

/// The rungs of a run's requests, the most frequent first.
fn rungs(tally: &Tally) -> String {
    let mut rungs: Vec<_> = tally.requests.iter().collect();
    rungs.sort_by_key(|(_, count)| core::cmp::Reverse(**count));
    match rungs.as_slice() {
        [] => "no request".to_owned(),
        [(rung, _)] => (**rung).to_owned(),
        several => {
            let words = several.iter().map(|(rung, n)| format!("{} {rung}", count(**n)));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

#[derive(Debug, Default)]
struct Sum {
    versions: BTreeSet<String>,
    runs: u64,
    requests: u64,
    calls: u64,
    input: u64,
    output: u64,
    rows: u64,
    unknown: u64,
    rungs: BTreeMap<&'static str, u64>,
}

fn formats(done: &[Done]) -> Table {
    let mut sums: BTreeMap<&'static str, Sum> = BTreeMap::new();
    for result in done {
        if let Some(report) = report(&result.what) {
            let (sum, tally) = (sums.entry(report.format).or_default(), &report.tally);
            if let Some((first, last)) = &tally.versions {
                sum.versions.extend([first.clone(), last.clone()]);
            }
            sum.runs += 1;
            sum.requests += tally.requests_total();
            sum.calls += tally.calls;
            sum.input += tally.tokens.input + tally.tokens.cache_read + tally.tokens.cache_write;
            sum.output += tally.tokens.output;
            sum.rows += tally.rows;
            sum.unknown += tally.unknown_total();
            for (rung, count) in &tally.requests {
                *sum.rungs.entry(rung).or_default() += count;
            }
        }
    }
    let mut table = Table::new(&[
        Column::Left("format"),
        Column::Left("versions"),
        Column::Right("runs"),
        Column::Right("requests"),
        Column::Right("calls"),
        Column::RightExtra("tokens in"),
        Column::RightExtra("tokens out"),
        Column::RightExtra("rows"),
        Column::Right("not understood"),
    ]);
    for (format, sum) in sums {
        table.row([
            format.into(),
            range(&sum.versions).into(),
            count(sum.runs).into(),
            count(sum.requests).into(),
            count(sum.calls).into(),
            count(sum.input).into(),
            count(sum.output).into(),
            count(sum.rows).into(),
            count(sum.unknown).into(),
        ]);
    }
    table
}

/// The lowest and the highest version, number by number.
fn range(versions: &BTreeSet<String>) -> String {
    let key = |version: &&String| {
        let numbers = version.split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|number| number.parse().ok()).collect::<Vec<u64>>()
    };
    match (versions.iter().min_by_key(key), versions.iter().max_by_key(key)) {
        (Some(low), Some(high)) if low == high => low.clone(),
        (Some(low), Some(high)) => format!("{low}..{high}"),
        _ => "-".to_owned(),
    }
}

/// What was not understood, by reason, and what no request has.
fn notes(done: &[Done], ui: &mut Ui) -> Result<(), Stop> {
    let mut unknown: BTreeMap<&'static str, u64> = BTreeMap::new();
    let (mut reconstructed, mut skipped, mut foreign) = (0, 0, 0);
    for result in done {
        if let Some(report) = report(&result.what) {
            for (reason, count) in &report.tally.unknown {
                *unknown.entry(reason).or_default() += count;
            }
            let captured =
                ["wire-exact", "body-exact", "exact-modulo-redaction", "canonical-equal"];
            let built = report.tally.requests.iter().filter(|(rung, _)| !captured.contains(rung));
            reconstructed += built.map(|(_, count)| count).sum::<u64>();
        }
        skipped += u64::from(matches!(result.what, What::Skipped(_)));
        foreign += u64::from(matches!(result.what, What::Unknown));
    }
    for (reason, count) in &unknown {
        let times = number::count(*count);
        ui.line(format_args!("  {times} x {}, kept with its bytes", one_line(reason)))?;
    }
    if reconstructed > 0 {
        let requests = number::counted(reconstructed, "request");
        ui.line(format_args!(
            "{requests} put together from messages: the source has no bodies, so none of them is \
             claimed byte for byte"
        ))?;
    }
    if skipped > 0 {
        let sources = number::counted(skipped, "source");
        ui.line(format_args!("{sources} imported before and skipped"))?;
    }
    if foreign > 0 {
        let files = number::counted(foreign, "file");
        ui.line(format_args!("{files} of no known format left alone"))?;
    }
    Ok(())
}
