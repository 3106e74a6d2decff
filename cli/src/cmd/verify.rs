//! `verify`: does every recorded request come back byte for byte, from its parts and from the
//! fold?

mod document;
mod table;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use ledger::event::Rung;
use replay::{Level, RecordingReport, verify};

use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::error::{Ended, Failure, Kind, Outcome};
use crate::inputs;
use crate::ui::Ui;

/// Check that every recorded request comes back byte for byte
///
/// Two checks for each request. Reassembly puts the recorded parts together and compares the
/// digest with that of the body as recorded: nothing was lost. Projection folds the events before
/// the send and compares the same digest: the events explain what the client did. The log and the
/// store are read to the last byte on the way. The rung says what can be claimed of a recorded
/// body, best first: wire-exact, body-exact, exact-modulo-redaction, canonical-equal,
/// reconstructed, lossy.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold verify runs
  counterfold verify runs/session --requests
  counterfold verify runs --min-rung body-exact --format json

Exit codes:
  0  every request is identical in every check that was made
  1  some request differs, or is below --min-rung
  2  something is damaged or cannot be read, or there is nothing to check")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    /// What is checked
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LevelArg::All)]
    level: LevelArg,
    /// Demand at least this rung of every request
    #[arg(long, value_name = "RUNG", value_parser = rung_parser())]
    min_rung: Option<Rung>,
    /// List every request; -v does, too
    #[arg(long)]
    requests: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelArg {
    /// Parts give the body
    Reassembly,
    /// The fold gives the body
    Projection,
    /// Parts give the body, and where the connection was recorded, its bytes
    Wire,
    /// Everything
    All,
}

impl LevelArg {
    fn name(self) -> &'static str {
        match self {
            Self::Reassembly => "reassembly",
            Self::Projection => "projection",
            Self::Wire => "wire",
            Self::All => "all",
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Reassembly | Self::Wire => Level::Reassembly,
            Self::Projection => Level::Projection,
            Self::All => Level::All,
        }
    }

    fn has_wire(self) -> bool {
        matches!(self, Self::Wire | Self::All)
    }
}

fn rung_parser() -> impl clap::builder::TypedValueParser<Value = Rung> {
    PossibleValuesParser::new(Rung::ALL.map(Rung::name)).map(|name| {
        Rung::ALL
            .into_iter()
            .find(|rung| rung.name() == name)
            .expect("the parser takes names of rungs only")
    })
}

/// What was found at one path.
struct Verified {
    path: PathBuf,
    report: Result<RecordingReport, Failure>,
}

impl Verified {
    /// Requests whose rung is below what is demanded.
    fn below(&self, min: Option<Rung>) -> Vec<u64> {
        let (Ok(report), Some(min)) = (&self.report, min) else { return Vec::new() };
        // The best rung is the smallest.
        let below = report.requests.iter().filter(|request| request.rung > min);
        below.map(|request| request.ordinal).collect()
    }

    fn outcome(&self, min: Option<Rung>) -> Outcome {
        let Ok(report) = &self.report else { return Outcome::Undecided };
        if report.counts().diverged > 0 || !self.below(min).is_empty() {
            return Outcome::Found;
        }
        if report.is_ok() { Outcome::Fine } else { Outcome::Undecided }
    }
}

pub(crate) fn run(args: &VerifyArgs, ui: &mut Ui) -> Ended {
    let mut all = Vec::new();
    for input in inputs::recordings(&args.recordings.recordings, args.recordings.allow_empty) {
        let report = input.found.and_then(|()| one(&input.path, args.level, ui));
        all.push(Verified { path: input.path, report });
    }
    let outcome = outcome(args, &all);
    match args.format.format {
        Format::Json => ui.json(&document::document(args, &all, outcome))?,
        Format::Table => table::print(args, &all, ui)?,
    }
    ui.flush()?;
    for failure in all.iter().filter_map(|verified| verified.report.as_ref().err()) {
        ui.failure(failure);
    }
    if is_empty(&all) && !args.recordings.allow_empty {
        return Err(Failure::new(Kind::Empty, "nothing to check: no recorded request")
            .hint("`counterfold log` shows what a recording holds; --allow-empty takes this")
            .into());
    }
    Ok(outcome)
}

/// True when no recording holds a request, and none failed to open.
fn is_empty(all: &[Verified]) -> bool {
    all.iter().all(|verified| verified.report.as_ref().is_ok_and(|r| r.requests.is_empty()))
}

fn outcome(args: &VerifyArgs, all: &[Verified]) -> Outcome {
    let nothing = is_empty(all) && !args.recordings.allow_empty;
    let floor = if nothing { Outcome::Undecided } else { Outcome::Fine };
    all.iter().map(|verified| verified.outcome(args.min_rung)).fold(floor, Outcome::max)
}

fn one(path: &std::path::Path, level: LevelArg, ui: &Ui) -> Result<RecordingReport, Failure> {
    let recording = inputs::open(path)?;
    let requests = recording.history().requests().len() as u64;
    let progress = ui.progress(&format!("verifying {}", recording.name()), requests);
    Ok(verify(&recording, level.level(), &mut || progress.step()))
}
