//! `stats`: what recordings hold and what they take on disk.

use clap::Args;
use replay::stats::Stats;
use serde::Serialize;

use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::error::{Ended, Failure, Kind, Outcome, Stop, map};
use crate::inputs::{self, Place, Scratch};
use crate::report::number::{bytes, count, ratio};
use crate::report::table::{Cell, Column, Table};
use crate::ui::{Tone, Ui};

/// Count what recordings hold and take on disk
///
/// Counts requests, conversations, events, tool calls and artifacts, and compares the bytes of
/// the request bodies as they were sent with the bytes that the recording takes on disk.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold stats runs
  counterfold stats runs/session --format json

Exit codes:
  0  counted
  2  some recording cannot be read, or there is none")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    #[command(flatten)]
    format: FormatArgs,
}

struct Counted {
    path: std::path::PathBuf,
    client: Option<String>,
    stats: Result<Stats, Failure>,
}

pub(crate) fn run(args: &StatsArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let words = &args.recordings;
    let inputs = inputs::recordings(&words.recordings, words.allow_empty, scratch, ui);
    let progress = ui.progress("counting", inputs.len() as u64);
    let mut all = Vec::new();
    for input in inputs {
        let counted = input.found.and_then(|place| one(&place));
        progress.step();
        let (client, stats) = match counted {
            Ok((client, stats)) => (client, Ok(stats)),
            Err(failure) => (None, Err(failure)),
        };
        all.push(Counted { path: input.path, client, stats });
    }
    drop(progress);
    match args.format.format {
        Format::Json => ui.json(&document(&all))?,
        Format::Table => print(&all, ui)?,
    }
    ui.flush()?;
    if all.is_empty() && !words.allow_empty {
        return Err(Failure::new(Kind::Empty, "no recording").into());
    }
    let mut outcome = Outcome::Fine;
    for failure in all.iter().filter_map(|counted| counted.stats.as_ref().err()) {
        ui.failure(failure);
        outcome = Outcome::Undecided;
    }
    Ok(outcome)
}

fn one(place: &Place) -> Result<(Option<String>, Stats), Failure> {
    let recording = inputs::open(&place.folder)?;
    let stats = Stats::of(&recording).map_err(|error| map::load(&error))?;
    Ok((recording.client(), stats))
}

fn total(all: &[Counted]) -> Stats {
    let good = all.iter().filter_map(|counted| counted.stats.as_ref().ok());
    good.fold(Stats::default(), Stats::plus)
}

fn print(all: &[Counted], ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::LeftExtra("client"),
        Column::Right("requests"),
        Column::Right("conversations"),
        Column::RightExtra("tool calls"),
        Column::RightExtra("events"),
        Column::RightExtra("artifacts"),
        Column::Right("bodies as sent"),
        Column::Right("on disk"),
        Column::Right("ratio"),
        Column::RightExtra("redactions"),
    ]);
    let labels = inputs::labels(all.iter().map(|counted| counted.path.as_path()));
    for (label, counted) in labels.iter().zip(all) {
        if let Ok(stats) = &counted.stats {
            let client = counted.client.as_deref().map_or_else(|| "-".into(), short);
            row(&mut table, label.as_str().into(), client.into(), stats);
        }
    }
    if all.len() > 1 {
        row(&mut table, Cell::toned("total", Tone::Strong), "".into(), &total(all));
    }
    if table.is_empty() {
        return Ok(());
    }
    ui.table(&table)
}

/// A client's name without what it says about the machine.
fn short(client: &str) -> String {
    const COLUMNS_MAX: usize = 28;
    let name = client.split(" (").next().unwrap_or(client);
    if name.chars().count() <= COLUMNS_MAX {
        return name.to_owned();
    }
    name.chars().take(COLUMNS_MAX - 2).chain("..".chars()).collect()
}

fn row(table: &mut Table, name: Cell, client: Cell, stats: &Stats) {
    table.row([
        name,
        client,
        count(stats.requests).into(),
        count(stats.conversations).into(),
        count(stats.tool_calls).into(),
        count(stats.events).into(),
        count(stats.artifacts).into(),
        bytes(stats.request_bytes).into(),
        bytes(stats.stored_bytes).into(),
        ratio(stats.request_bytes, stats.stored_bytes).into(),
        count(stats.redactions).into(),
    ]);
}

/// Totals first, then the same numbers of each recording.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    requests: u64,
    events: u64,
    artifacts: u64,
    request_bytes: u64,
    artifact_bytes: u64,
    stored_bytes: u64,
    unsplit: u64,
    conversations: u64,
    records: u64,
    tool_calls: u64,
    parts: u64,
    redactions: u64,
    recordings: Vec<RecordingEntry>,
}

#[derive(Serialize)]
struct RecordingEntry {
    path: String,
    client: Option<String>,
    error: Option<String>,
    error_kind: Option<&'static str>,
    stats: Option<StatsEntry>,
}

#[derive(Serialize)]
struct StatsEntry {
    requests: u64,
    events: u64,
    artifacts: u64,
    request_bytes: u64,
    artifact_bytes: u64,
    stored_bytes: u64,
    unsplit: u64,
    conversations: u64,
    records: u64,
    tool_calls: u64,
    parts: u64,
    redactions: u64,
}

fn document(all: &[Counted]) -> Document {
    let stats = total(all);
    Document {
        schema: "counterfold.stats/1",
        requests: stats.requests,
        events: stats.events,
        artifacts: stats.artifacts,
        request_bytes: stats.request_bytes,
        artifact_bytes: stats.artifact_bytes,
        stored_bytes: stats.stored_bytes,
        unsplit: stats.unsplit,
        conversations: stats.conversations,
        records: stats.records,
        tool_calls: stats.tool_calls,
        parts: stats.parts,
        redactions: stats.redactions,
        recordings: all.iter().map(recording_entry).collect(),
    }
}

fn recording_entry(counted: &Counted) -> RecordingEntry {
    let failure = counted.stats.as_ref().err();
    RecordingEntry {
        path: counted.path.display().to_string(),
        client: counted.client.clone(),
        error: failure.map(Failure::line),
        error_kind: failure.map(|failure| failure.kind.name()),
        stats: counted.stats.as_ref().ok().map(stats_entry),
    }
}

fn stats_entry(stats: &Stats) -> StatsEntry {
    StatsEntry {
        requests: stats.requests,
        events: stats.events,
        artifacts: stats.artifacts,
        request_bytes: stats.request_bytes,
        artifact_bytes: stats.artifact_bytes,
        stored_bytes: stats.stored_bytes,
        unsplit: stats.unsplit,
        conversations: stats.conversations,
        records: stats.records,
        tool_calls: stats.tool_calls,
        parts: stats.parts,
        redactions: stats.redactions,
    }
}
