//! `sweep`: every policy over every request of every recording.

mod document;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use projector::{Policy, ProjectError};
use replay::{Recording, Row};

use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs::{self, Scratch};
use crate::policies::{self, Named};
use crate::ui::Ui;

/// Recordings that are open at the same time.
const OPEN_MAX: usize = 16;

/// What every report of a sweep has to say.
const HELD_FIXED: &str = "The recorded trajectory is held fixed: after the frontier, the model's \
                          answers are what it said under the recorded policy.";

/// Work out what every request would have been under other policies
///
/// Folds every request of every recording under every policy and sums up what the model would
/// have been shown. The frontier is the first request that differs from the recorded one: up to
/// it, the run would have gone the same way. Fidelity says what a projection rests on: exact (the
/// policy in force), derived (pure steps over whole outputs), assumed (an assumption is named),
/// refused (could not be projected; counted as recorded).
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold sweep runs
  counterfold sweep runs/session --policy recorded --policy cap-4k --policy mine.toml
  counterfold sweep runs --sort hidden --format json

Exit codes:
  0  worked out
  2  some recording or policy cannot be read, or there is no request")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    /// A built-in policy, `recorded`, or a TOML file; may be repeated [default: all built-in ones]
    #[arg(short, long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// What the rows of a recording are sorted by, lowest first
    #[arg(long, value_enum, value_name = "KEY", default_value_t = Sort::Tokens)]
    sort: Sort,
    #[command(flatten)]
    format: FormatArgs,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Estimated tokens of all requests
    Tokens,
    /// Recorded bytes that are not shown
    Hidden,
    /// The policy's name
    Name,
}

/// One recording under all policies.
struct Swept {
    path: PathBuf,
    rows: Result<Vec<Cell>, Failure>,
}

/// One policy over one recording.
struct Cell {
    policy: usize,
    /// What the bodies as recorded are estimated at by the policy's estimator.
    recorded_tokens: u64,
    row: Result<Row, Failure>,
}

pub(crate) fn run(args: &SweepArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let policies = policies(&args.policies)?;
    let words = &args.recordings;
    let mut swept = Vec::new();
    let inputs = inputs::recordings(&words.recordings, words.allow_empty, scratch, ui);
    let cells = (inputs.len() * policies.len()) as u64;
    let progress = ui.progress("sweeping", cells);
    let bare: Vec<Policy> = policies.iter().map(|named| named.policy.clone()).collect();
    let mut inputs = inputs.into_iter().peekable();
    while inputs.peek().is_some() {
        let chunk: Vec<_> = inputs.by_ref().take(OPEN_MAX).collect();
        some(chunk, &bare, &mut swept, &|| progress.step());
    }
    drop(progress);
    for recording in &mut swept {
        if let Ok(cells) = &mut recording.rows {
            sort(cells, &policies, args.sort);
        }
    }
    match args.format.format {
        Format::Json => ui.json(&document::document(&policies, &swept))?,
        Format::Table => table::print(&policies, &swept, args.sort, ui)?,
    }
    ui.flush()?;
    outcome(&swept, words.allow_empty, ui)
}

fn outcome(swept: &[Swept], allow_empty: bool, ui: &Ui) -> Ended {
    let mut outcome = Outcome::Fine;
    let mut requests = 0;
    for recording in swept {
        let failed = recording.rows.as_ref().err().into_iter();
        let cells = recording.rows.iter().flatten();
        requests +=
            cells.clone().filter_map(|c| c.row.as_ref().ok()).map(|r| r.requests).sum::<u64>();
        for failure in failed.chain(cells.filter_map(|cell| cell.row.as_ref().err())) {
            ui.failure(failure);
            outcome = Outcome::Undecided;
        }
    }
    if requests == 0 && outcome == Outcome::Fine && !allow_empty {
        return Err(Failure::new(Kind::Empty, "nothing to sweep: no recorded request").into());
    }
    Ok(outcome)
}

/// The policies that the words stand for; two of the same name get their numbers appended.
fn policies(words: &[String]) -> Result<Vec<Named>, Failure> {
    let mut named = if words.is_empty() {
        policies::builtin()?
    } else {
        words.iter().map(|word| policies::resolve(word)).collect::<Result<Vec<_>, _>>()?
    };
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for policy in &mut named {
        let times = seen.entry(policy.id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            policy.id = format!("{}#{times}", policy.id);
        }
    }
    Ok(named)
}

/// Sweeps a few recordings, on all cores.
fn some(
    inputs: Vec<inputs::Input>,
    policies: &[Policy],
    swept: &mut Vec<Swept>,
    progress: &(dyn Fn() + Sync),
) {
    let mut open = Vec::new();
    let mut slots = Vec::new();
    for input in inputs {
        let opened = input.found.and_then(|place| inputs::open(&place.folder));
        let slot = opened.map(|recording| {
            open.push(recording);
            open.len() - 1
        });
        slots.push((input.path, slot));
    }
    let mut rows = replay::sweep(&open, policies, progress).into_iter();
    for (path, slot) in slots {
        let rows = slot.map(|index| {
            let recording = open.get(index);
            let of = |(policy, row)| cell(recording, policies, policy, row);
            rows.by_ref().take(policies.len()).enumerate().map(of).collect()
        });
        swept.push(Swept { path, rows });
    }
}

fn cell(
    recording: Option<&Recording>,
    policies: &[Policy],
    policy: usize,
    row: Result<Row, ProjectError>,
) -> Cell {
    let requests = recording.map(|recording| recording.history().requests()).unwrap_or_default();
    let estimator = policies.get(policy).map(|policy| policy.estimator);
    let tokens = |bytes| estimator.map_or(0, |estimator| estimator.tokens(bytes));
    let recorded_tokens = requests.iter().map(|request| tokens(request.captured.body_bytes)).sum();
    let row = row.map_err(|error| map::project(&error));
    Cell { policy, recorded_tokens, row }
}

/// Sorts rows, those that failed last.
fn sort(cells: &mut [Cell], policies: &[Named], by: Sort) {
    cells.sort_by_key(|cell| {
        let row = cell.row.as_ref().ok();
        let key = row.map(|row| match by {
            Sort::Tokens => row.tokens_total,
            Sort::Hidden => row.hidden_bytes,
            Sort::Name => 0,
        });
        let name = policies.get(cell.policy).map(|policy| policy.id.clone());
        (key.is_none(), key, (by == Sort::Name).then_some(name))
    });
}

/// The rows of one policy over all recordings, added up. The frontier has no meaning there.
fn total(swept: &[Swept], policy: usize) -> (u64, Row) {
    let mut sum = Row { policy, ..Row::default() };
    let mut recorded_tokens = 0;
    for cell in swept.iter().flat_map(|recording| recording.rows.iter().flatten()) {
        let (true, Ok(row)) = (cell.policy == policy, &cell.row) else { continue };
        recorded_tokens += cell.recorded_tokens;
        add(&mut sum, row);
    }
    (recorded_tokens, sum)
}

fn add(sum: &mut Row, row: &Row) {
    sum.requests += row.requests;
    sum.fidelity.exact += row.fidelity.exact;
    sum.fidelity.derived += row.fidelity.derived;
    sum.fidelity.assumed += row.fidelity.assumed;
    sum.fidelity.refused += row.fidelity.refused;
    for (step, reason, count) in &row.reasons {
        let known = sum.reasons.iter_mut().find(|(s, r, _)| (s, r) == (step, reason));
        match known {
            Some((_, _, sum)) => *sum += count,
            None => sum.reasons.push((*step, reason, *count)),
        }
    }
    sum.changed += row.changed;
    sum.tokens_max = sum.tokens_max.max(row.tokens_max);
    sum.tokens_total += row.tokens_total;
    sum.body_bytes += row.body_bytes;
    sum.hidden_bytes += row.hidden_bytes;
    sum.hidden_bytes_max = sum.hidden_bytes_max.max(row.hidden_bytes_max);
    sum.capped_results += row.capped_results;
    sum.cleared_results += row.cleared_results;
    sum.dropped_messages += row.dropped_messages;
    sum.broken_pairs += row.broken_pairs;
}
