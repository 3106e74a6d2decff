//! `export`: a recording in its canonical form, or as lines of JSON.

use std::path::{Path, PathBuf};

use artifacts::fs::vfs::LocalDisk;
use clap::Args;
use ledger::fs::jsonl::{JsonlError, write_jsonl};
use ledger::fs::{ExportError, export};

use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs::{self, Scratch};
use crate::report::number::counted;
use crate::ui::Ui;

/// Write a recording in its canonical form
///
/// With --into, one segment and one pack with what its events name, without times of their own:
/// the same events give the same bytes, whoever exports them, and exporting an export gives it
/// again. That is the form for a repository; a .gitattributes file comes with it. With --jsonl,
/// lines of JSON for any other program, which `counterfold import jsonl` reads back.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold export runs/session --into fixtures/session
  counterfold export runs/session --jsonl > session.jsonl

Exit codes:
  0  exported
  2  no such recording, it is damaged, or the new one cannot be written")]
pub(crate) struct ExportArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The folder of the new recording, which must not exist
    #[arg(long, value_name = "NEW", required_unless_present = "jsonl", conflicts_with = "jsonl")]
    into: Option<PathBuf>,
    /// Write lines of JSON to standard output
    #[arg(long)]
    jsonl: bool,
}

pub(crate) fn run(args: &ExportArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let place = inputs::one(&args.recording, scratch, ui)?;
    match &args.into {
        Some(into) => folder(&place.folder, into, ui)?,
        None => lines(&place.folder, ui)?,
    }
    ui.flush()?;
    Ok(Outcome::Fine)
}

fn folder(from: &Path, into: &Path, ui: &mut Ui) -> Result<(), crate::error::Stop> {
    let exported = export(&LocalDisk::shared(), from, into).map_err(|error| failure(&error))?;
    let events = counted(exported.events, "event");
    let artifacts = counted(exported.artifacts, "artifact");
    ui.line(format_args!("{events}, {artifacts} in {}", into.display()))?;
    ui.line(format_args!("  head {}", exported.head))
}

fn lines(from: &Path, ui: &mut Ui) -> Result<(), crate::error::Stop> {
    match write_jsonl(&LocalDisk::shared(), from, ui.output()) {
        Ok(_) => Ok(()),
        // Whoever read the lines may have gone away.
        Err(JsonlError::Stream { source, .. }) => Err(source.into()),
        Err(JsonlError::Recording(error)) => Err(failure(&error).into()),
        Err(error) => Err(Failure::of(Kind::Io, &error).into()),
    }
}

/// A recording that is not exported, or not made.
pub(super) fn failure(error: &ExportError) -> Failure {
    match error {
        ExportError::Open(error) => map::open(error),
        ExportError::Read(error) => {
            let failure = map::read(error);
            match failure.kind {
                Kind::Damage => {
                    failure.hint("`counterfold repair` makes a recording of what is good")
                }
                _ => failure,
            }
        }
        ExportError::Get(error) => map::get(error),
        ExportError::Create(error) => map::create(error),
        ExportError::Store(error) => Failure::of(Kind::Damage, error),
        _ => Failure::of(Kind::Io, error),
    }
}
