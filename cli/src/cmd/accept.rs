//! `accept`: writes down which recordings were looked at and found good.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use replay::{Level, verify};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::baseline::{self, Entry};
use crate::error::{Ended, Failure, Kind, Outcome, Stop};
use crate::inputs::{self, Scratch};
use crate::output;
use crate::report::number::count;
use crate::report::table::{Cell, Column, Table};
use crate::text::one_line;
use crate::ui::{Tone, Ui};

/// Write down recordings that `verify --baseline` shall compare with
///
/// Verifies the recordings and writes their heads and the digests of their bodies to a baseline,
/// one line per recording. What would change in the file is shown first, and written only with
/// --yes or after a yes on the terminal. A recording that does not verify is never accepted. Keep
/// the file where the recordings are not, for example under version control.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold accept runs --baseline runs.baseline.json
  counterfold accept runs --baseline runs.baseline.json --yes
  counterfold verify runs --baseline runs.baseline.json

Exit codes:
  0  written, or nothing has changed
  1  a recording does not verify, or the answer was no
  2  nothing to accept, a recording or the baseline cannot be read, or nobody said yes")]
pub(crate) struct AcceptArgs {
    /// Recordings, or folders that hold recordings
    #[arg(value_name = "REC", required = true)]
    recordings: Vec<PathBuf>,
    /// The file; made if it is not there
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Keep what the baseline holds of recordings that are not given
    #[arg(long)]
    allow_missing: bool,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// What becomes of one line of the baseline.
#[derive(Debug)]
struct Change {
    name: String,
    before: Option<Entry>,
    after: Option<Entry>,
    differences: Vec<String>,
}

impl Change {
    fn name(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "new",
            (Some(_), None) => "removed",
            (Some(_), Some(_)) if self.differences.is_empty() => "same",
            (Some(_), Some(_)) => "changed",
        }
    }
}

pub(crate) fn run(args: &AcceptArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let before = match baseline::read(&args.baseline) {
        Ok(entries) => entries,
        Err(failure) if failure.kind == Kind::NotFound => Vec::new(),
        Err(failure) => return Err(failure.into()),
    };
    let (given, outcome) = verified(args, scratch, ui)?;
    if outcome != Outcome::Fine {
        return Ok(outcome);
    }
    let changes = changes(before, given, args.allow_missing);
    let is_same = changes.iter().all(|change| change.name() == "same");
    let json = args.format.format == Format::Json;
    if !json {
        print(&changes, ui)?;
    }
    let (written, ended) = match decide(args, is_same, ui)? {
        Decision::Write => {
            let after: Vec<Entry> = changes.iter().filter_map(|c| c.after.clone()).collect();
            output::write(&args.baseline, baseline::text(&after).as_bytes())?;
            (true, Ok(Outcome::Fine))
        }
        Decision::Leave(outcome) => (false, Ok(outcome)),
        Decision::Nobody(failure) => (false, Err(Stop::from(failure))),
    };
    if json {
        ui.json(&document(args, &changes, written))?;
    }
    ui.flush()?;
    let file = args.baseline.display().to_string();
    let file = one_line(&file);
    if written {
        ui.note(format_args!("wrote {file}"));
    } else if is_same {
        ui.note(format_args!("nothing to write: {file} is up to date"));
    }
    ended
}

enum Decision {
    Write,
    Leave(Outcome),
    Nobody(Failure),
}

fn decide(args: &AcceptArgs, is_same: bool, ui: &mut Ui) -> Result<Decision, Stop> {
    if is_same {
        return Ok(Decision::Leave(Outcome::Fine));
    }
    if args.yes {
        return Ok(Decision::Write);
    }
    Ok(match ui.ask("accept these changes?")? {
        Some(true) => Decision::Write,
        Some(false) => Decision::Leave(Outcome::Found),
        None => Decision::Nobody(
            Failure::new(Kind::Usage, "nobody to ask: standard input is no terminal")
                .hint("look at the changes, then add --yes; nothing was written"),
        ),
    })
}

/// The entries of all recordings, or how it ends when some cannot be accepted.
fn verified(
    args: &AcceptArgs,
    scratch: &mut Scratch,
    ui: &mut Ui,
) -> Result<(Vec<Entry>, Outcome), Stop> {
    if let Some(file) = args.recordings.iter().find(|word| word.is_file()) {
        let words = format!("a HAR file has no history to accept: {}", file.display());
        return Err(Failure::new(Kind::Usage, words)
            .hint("import it with `counterfold import har`, and accept the recording")
            .into());
    }
    let inputs = inputs::recordings(&args.recordings, false, scratch, ui);
    let labels = inputs::labels(inputs.iter().map(|input| input.path.as_path()));
    let mut entries = Vec::new();
    let mut outcome = Outcome::Fine;
    for (input, label) in inputs.into_iter().zip(labels) {
        let looked = input.found.and_then(|place| {
            let recording = inputs::open(&place.folder)?;
            let requests = recording.history().requests().len() as u64;
            let progress = ui.progress(&format!("verifying {label}"), requests);
            let report = verify(&recording, Level::All, &mut || progress.step());
            Ok((report.is_ok(), Entry::of(&label, &recording)))
        });
        match looked {
            Ok((true, Some(entry))) => entries.push(entry),
            Ok((true, None)) => {
                ui.note(format_args!("{}: no request, left out", one_line(&label)));
            }
            Ok((false, _)) => {
                let words = format!("does not verify: {}", input.path.display());
                let hint = "`counterfold verify` says why; nothing was accepted";
                ui.failure(&Failure::new(Kind::Damage, words).hint(hint));
                outcome = Outcome::Found;
            }
            Err(failure) => {
                ui.failure(&failure);
                outcome = outcome.max(Outcome::Undecided);
            }
        }
    }
    if outcome == Outcome::Fine && entries.is_empty() {
        return Err(Failure::new(Kind::Empty, "nothing to accept: no recorded request").into());
    }
    Ok((entries, outcome))
}

/// What becomes of each line, by name.
fn changes(before: Vec<Entry>, given: Vec<Entry>, keep: bool) -> Vec<Change> {
    let named = |entries: Vec<Entry>| -> BTreeMap<String, Entry> {
        entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect()
    };
    let (mut before, mut given) = (named(before), named(given));
    let names: std::collections::BTreeSet<_> = before.keys().chain(given.keys()).cloned().collect();
    let change = |name: String| {
        let before = before.remove(&name);
        let after = given.remove(&name).or_else(|| before.clone().filter(|_| keep));
        let differences = match (&before, &after) {
            (Some(before), Some(after)) => before.differences(after),
            _ => Vec::new(),
        };
        Change { name, before, after, differences }
    };
    names.into_iter().map(change).collect()
}

fn print(changes: &[Change], ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Left("change"),
        Column::Right("requests"),
        Column::Left("rung"),
        Column::Left("head"),
    ]);
    for change in changes {
        let Some(entry) = change.after.as_ref().or(change.before.as_ref()) else { continue };
        let tone = match change.name() {
            "same" => Tone::Faint,
            "new" => Tone::Good,
            "removed" => Tone::Bad,
            _ => Tone::Warn,
        };
        table.row([
            change.name.as_str().into(),
            Cell::toned(change.name(), tone),
            count(entry.requests).into(),
            entry.rung.as_str().into(),
            super::verify::short_head(&entry.head).into(),
        ]);
    }
    ui.table(&table)?;
    for change in changes {
        for words in &change.differences {
            ui.line(format_args!("{}: {}", one_line(&change.name), one_line(words)))?;
        }
    }
    let of = |kind: &str| changes.iter().filter(|change| change.name() == kind).count() as u64;
    let words = [
        format!("{} new", count(of("new"))),
        format!("{} changed", count(of("changed"))),
        format!("{} removed", count(of("removed"))),
        format!("{} same", count(of("same"))),
    ];
    ui.line(format_args!("\n{}", words.join(", ")))
}

#[derive(Serialize)]
struct Document<'c> {
    schema: &'static str,
    ok: bool,
    baseline: String,
    written: bool,
    changes: Vec<ChangeEntry<'c>>,
}

#[derive(Serialize)]
struct ChangeEntry<'c> {
    name: &'c str,
    change: &'static str,
    differences: &'c [String],
    before: Option<&'c Entry>,
    after: Option<&'c Entry>,
}

fn document<'c>(args: &AcceptArgs, changes: &'c [Change], written: bool) -> Document<'c> {
    let entry = |change: &'c Change| ChangeEntry {
        name: &change.name,
        change: change.name(),
        differences: &change.differences,
        before: change.before.as_ref(),
        after: change.after.as_ref(),
    };
    let is_same = changes.iter().all(|change| change.name() == "same");
    Document {
        schema: "counterfold.accept/1",
        ok: written || is_same,
        baseline: args.baseline.display().to_string(),
        written,
        changes: changes.iter().map(entry).collect(),
    }
}
