//! `verify`: does every recorded request come back byte for byte, from its parts and from the
//! fold?

mod against;
mod detail;
mod document;
mod finding;
mod reports;
mod table;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use ledger::event::Rung;
use replay::{Level, RecordingReport, verify};

use self::against::{Baselined, Compared};
use self::detail::Detail;
use self::reports::ReportArgs;
pub(super) use self::table::short_head;
use super::paranoid;
use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::baseline::Entry;
use crate::error::{Ended, Failure, Kind, Outcome};
use crate::inputs::{self, Place, Scratch};
use crate::ui::Ui;

/// Check that every recorded request comes back byte for byte
///
/// Three checks for each request. Hash recomputes the digests of its system, tools, options and
/// messages, and names the first one that drifted. Reassembly puts the recorded parts together
/// and compares the digest with that of the body as recorded: nothing was lost. Projection folds
/// the events before the send and compares the same digest: the events explain what the client
/// did. The log and the store are read to the last byte on the way. The rung says what can be
/// claimed of a recorded body, best first: wire-exact, body-exact, exact-modulo-redaction,
/// canonical-equal, reconstructed, lossy. A HAR file that is named instead of a recording is
/// imported for this command.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold verify runs
  counterfold verify runs/session --requests
  counterfold verify session.har --min-rung body-exact --format json
  counterfold verify runs --baseline runs.baseline.json --junit report.xml --diff-dir diffs

Exit codes:
  0  every request is identical in every check that was made
  1  some request differs or is below --min-rung, some recording is below --min-coverage, or is
     not what the baseline says, or --paranoid finds a result that is not the same again
  2  something is damaged or cannot be read, or there is nothing to check or to compare")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    /// What is checked
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LevelArg::All)]
    level: LevelArg,
    /// Demand at least this rung of every request
    #[arg(long, value_name = "RUNG", value_parser = rung_parser())]
    min_rung: Option<Rung>,
    /// Demand so many captured input tokens, estimated from the bytes, per thousand that the
    /// provider reported for the same requests. A recording without reports cannot fail this; it
    /// is said so
    #[arg(long, value_name = "PERMILLE")]
    min_coverage: Option<u64>,
    /// Demand that the recordings are those that `counterfold accept` wrote down in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Do not demand that every recording of the baseline is given
    #[arg(long, requires = "baseline")]
    allow_missing: bool,
    /// Work everything out again in processes with another time zone, language, folder, number of
    /// threads and order, and demand the same results
    #[arg(long)]
    paranoid: bool,
    /// List every request; -v does, too
    #[arg(long)]
    requests: bool,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelArg {
    /// Components have their recorded digests; names the first that drifted
    Hash,
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
            Self::Hash => "hash",
            Self::Reassembly => "reassembly",
            Self::Projection => "projection",
            Self::Wire => "wire",
            Self::All => "all",
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Hash => Level::Hash,
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
    /// Where it is, once that is known.
    folder: Option<PathBuf>,
    /// What reports call it.
    label: String,
    report: Result<RecordingReport, Failure>,
    /// What a baseline would keep of it, if one is compared with.
    entry: Option<Entry>,
    /// What differs in the requests that failed, if some report wants to know.
    details: Vec<Detail>,
    compared: Compared,
    /// Requests whose rung is below what is demanded.
    below: Vec<u64>,
    /// Captured per thousand reported tokens, where that is less than demanded.
    uncovered: Option<u64>,
}

impl Verified {
    fn outcome(&self) -> Outcome {
        let Ok(report) = &self.report else { return Outcome::Undecided };
        let demanded = self.below.is_empty() && self.uncovered.is_none();
        if report.counts().diverged > 0 || !demanded || self.compared.is_different() {
            return Outcome::Found;
        }
        if report.is_ok() { Outcome::Fine } else { Outcome::Undecided }
    }
}

/// Everything that was found; all reports say the same.
struct Checked {
    all: Vec<Verified>,
    baselined: Baselined,
    /// What was not the same in other surroundings, if that was asked for.
    paranoid: Option<Vec<paranoid::Finding>>,
    /// Why there was nothing to check, or to compare with.
    stop: Option<Failure>,
    outcome: Outcome,
}

pub(crate) fn run(args: &VerifyArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    args.reports.check(args.format.format)?;
    if args.reports.github {
        ui.guard_commands();
    }
    let accepted = args.baseline.as_deref().map(against::read).transpose()?;
    let words = &args.recordings;
    let found = inputs::recordings(&words.recordings, words.allow_empty, scratch, ui);
    let labels = inputs::labels(found.iter().map(|input| input.path.as_path()));
    let mut all = Vec::with_capacity(found.len());
    for (input, label) in found.into_iter().zip(labels) {
        all.push(one(args, input, label, ui)?);
    }
    let baselined = against::compare(args, accepted.as_deref(), &mut all);
    let (paranoid, failed) = match surroundings(args, &all) {
        Ok(findings) => (findings, None),
        Err(failure) => (None, Some(failure)),
    };
    let stop = stop(args, &all, &baselined).or(failed);
    let floor = if stop.is_some() { Outcome::Undecided } else { Outcome::Fine };
    let is_same = paranoid.iter().all(Vec::is_empty);
    let floor = if baselined.missing.is_empty() && is_same { floor } else { Outcome::Found };
    let outcome = all.iter().map(Verified::outcome).fold(floor, Outcome::max);
    let result = Checked { all, baselined, paranoid, stop, outcome };
    report(args, &result, ui)
}

/// Tells everybody who wants to know. A file that cannot be written makes green undecided.
fn report(args: &VerifyArgs, result: &Checked, ui: &mut Ui) -> Ended {
    let findings = finding::findings(args, result);
    let failed = args.reports.write(args, result, &findings);
    if args.reports.github {
        reports::github::print(&findings, ui)?;
    }
    match args.format.format {
        Format::Json => ui.json(&document::document(args, result))?,
        Format::Table => table::print(args, result, ui)?,
    }
    ui.flush()?;
    let unread = result.all.iter().filter_map(|verified| verified.report.as_ref().err());
    for failure in unread.chain(&result.stop).chain(&failed) {
        ui.failure(failure);
    }
    let floor = if failed.is_empty() { Outcome::Fine } else { Outcome::Undecided };
    Ok(result.outcome.max(floor))
}

/// Works everything out again in other surroundings, if that was asked for.
fn surroundings(
    args: &VerifyArgs,
    all: &[Verified],
) -> Result<Option<Vec<paranoid::Finding>>, Failure> {
    let opened = all.iter().filter(|verified| verified.report.is_ok());
    let folders: Vec<_> = opened.filter_map(|verified| verified.folder.clone()).collect();
    if !args.paranoid || folders.is_empty() {
        return Ok(None);
    }
    paranoid::compare(&folders).map(Some)
}

/// True when no recording holds a request, and none failed to open.
fn is_empty(all: &[Verified]) -> bool {
    all.iter().all(|verified| verified.report.as_ref().is_ok_and(|r| r.requests.is_empty()))
}

fn stop(args: &VerifyArgs, all: &[Verified], baselined: &Baselined) -> Option<Failure> {
    if is_empty(all) && !args.recordings.allow_empty {
        return Some(
            Failure::new(Kind::Empty, "nothing to check: no recorded request")
                .hint("`counterfold log` shows what a recording holds; --allow-empty takes this"),
        );
    }
    baselined.stop.clone()
}

fn one(
    args: &VerifyArgs,
    input: inputs::Input,
    label: String,
    ui: &Ui,
) -> Result<Verified, Failure> {
    let mut verified = Verified {
        path: input.path,
        folder: input.found.as_ref().ok().map(|place| place.folder.clone()),
        label,
        report: Err(Failure::new(Kind::Empty, "not looked at")),
        entry: None,
        details: Vec::new(),
        compared: Compared::NotAsked,
        below: Vec::new(),
        uncovered: None,
    };
    let looked = match input.found {
        Ok(place) if args.baseline.is_some() && place.is_file() => {
            return Err(against::no_folder(&place));
        }
        Ok(place) => look(args, &place, &mut verified, ui),
        Err(failure) => Err(failure),
    };
    if let (Ok(report), Some(min)) = (&looked, args.min_rung) {
        // The best rung is the smallest.
        let below = report.requests.iter().filter(|request| request.rung > min);
        verified.below = below.map(|request| request.ordinal).collect();
    }
    if let (Ok(report), Some(min)) = (&looked, args.min_coverage) {
        verified.uncovered = report.coverage.per_mille().filter(|covered| *covered < min);
    }
    verified.report = looked;
    Ok(verified)
}

fn look(
    args: &VerifyArgs,
    place: &Place,
    verified: &mut Verified,
    ui: &Ui,
) -> Result<RecordingReport, Failure> {
    let recording = inputs::open(&place.folder)?;
    let requests = recording.history().requests().len() as u64;
    let progress = ui.progress(&format!("verifying {}", verified.label), requests);
    let report = verify(&recording, args.level.level(), &mut || progress.step());
    if args.baseline.is_some() {
        verified.entry = Entry::of(&verified.label, &recording);
    }
    if args.reports.want_details() {
        verified.details = detail::details(&recording, &report);
    }
    Ok(report)
}
