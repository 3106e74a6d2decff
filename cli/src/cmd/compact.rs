//! `compact`: the artifacts of a recording in less room.

use std::path::PathBuf;

use artifacts::fs::vfs::LocalDisk;
use clap::Args;
use ledger::fs::{CompactError, CompactReport, LockError, compact};
use serde::Serialize;

use crate::args::{Format, FormatArgs, RemoteArgs};
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::fresh;
use crate::report::number::{self, counted};
use crate::ui::Ui;

/// Store the artifacts of a recording in less room
///
/// Writes the packs of a recording again: artifacts that are versions of one text, such as a file
/// that was read after each edit, are stored as their difference to one of them. Every artifact
/// is kept, has the id it had, and is compared with it on the way. The packs before are moved into
/// the folder quarantine of the recording, from which `gc --yes` removes them. If nothing is won,
/// nothing is changed.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold compact runs/session
  counterfold gc runs/session --yes

Exit codes:
  0  done, or nothing to win
  2  no such recording, it is damaged, or somebody writes to it")]
pub(crate) struct CompactArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recording: String,
    artifacts: u64,
    deltas: u64,
    before_bytes: u64,
    after_bytes: u64,
    replaced: Vec<String>,
}

pub(crate) fn run(args: &CompactArgs, ui: &mut Ui) -> Ended {
    let epoch = fresh::epoch()?;
    let report = compact(&LocalDisk::shared(), &args.recording, epoch, args.remote.allow_remote);
    let document = document(args, &report.map_err(|error| failure(&error))?);
    match args.format.format {
        Format::Json => ui.json(&document)?,
        Format::Table => {
            for path in &document.replaced {
                ui.line(format_args!("replaced: {path}"))?;
            }
            let (before, after) = (document.before_bytes, document.after_bytes);
            let [before, after] = [before, after].map(number::bytes);
            let artifacts = counted(document.artifacts, "artifact");
            let deltas = counted(document.deltas, "difference");
            ui.line(format_args!("{artifacts}, of them {deltas}; {before} before, {after} now"))?;
        }
    }
    ui.flush()?;
    Ok(Outcome::Fine)
}

fn document(args: &CompactArgs, report: &CompactReport) -> Document {
    Document {
        schema: "counterfold.compact/1",
        recording: args.recording.display().to_string(),
        artifacts: report.artifacts.artifacts,
        deltas: report.artifacts.deltas,
        before_bytes: report.before_bytes,
        after_bytes: report.after_bytes,
        replaced: report.replaced.iter().map(|path| path.display().to_string()).collect(),
    }
}

fn failure(error: &CompactError) -> Failure {
    match error {
        CompactError::Open(error) => map::open(error),
        CompactError::Lock(LockError::Held { .. }) => Failure::of(Kind::Taken, error),
        CompactError::Put(artifacts::PutError::Copy(error)) => map::get(error),
        CompactError::Store(error) => Failure::of(Kind::Damage, error),
        _ => Failure::of(Kind::Io, error),
    }
}
