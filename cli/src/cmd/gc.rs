//! `gc`: what of a recording's packs nothing names, and how to get the room back.

use std::path::PathBuf;

use artifacts::fs::vfs::LocalDisk;
use clap::Args;
use ledger::fs::{GcError, GcPlan, LockError, MarkError, gc, plan_gc};
use serde::Serialize;

use crate::args::{Format, FormatArgs, RemoteArgs};
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::fresh;
use crate::report::number;
use crate::ui::Ui;

/// Give back room that nothing in a recording names
///
/// Says what could be given back, and with --yes does it: a pack of which less than half is named
/// by any event is replaced by one with the rest, and moved into the folder quarantine of the
/// recording. The next run with --yes removes what it finds there. A recorded run is evidence;
/// nothing is ever collected by itself.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold gc runs/session
  counterfold gc runs/session --yes

Exit codes:
  0  told, or done
  2  no such recording, it is damaged, or somebody writes to it")]
pub(crate) struct GcArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Do it
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recording: String,
    done: bool,
    freed_bytes: u64,
    packs: Vec<PackEntry>,
    removed: Vec<String>,
}

#[derive(Serialize)]
struct PackEntry {
    path: String,
    bytes: u64,
    named_bytes: u64,
}

pub(crate) fn run(args: &GcArgs, ui: &mut Ui) -> Ended {
    let vfs = LocalDisk::shared();
    let plan = if args.yes {
        let epoch = fresh::epoch()?;
        gc(&vfs, &args.recording, epoch, args.remote.allow_remote)
    } else {
        plan_gc(&vfs, &args.recording)
    };
    let document = document(args, &plan.map_err(|error| failure(&error))?);
    match args.format.format {
        Format::Json => ui.json(&document)?,
        Format::Table => {
            let would = if args.yes { "" } else { "would be " };
            for pack in &document.packs {
                let (bytes, named) = (number::bytes(pack.bytes), number::bytes(pack.named_bytes));
                ui.line(format_args!("{would}replaced: {}, {named} of {bytes} named", pack.path))?;
            }
            for path in &document.removed {
                ui.line(format_args!("{would}removed: {path}"))?;
            }
            let freed = number::bytes(document.freed_bytes);
            ui.line(format_args!("{freed} not named in packs that are mostly waste"))?;
        }
    }
    ui.flush()?;
    Ok(Outcome::Fine)
}

fn document(args: &GcArgs, plan: &GcPlan) -> Document {
    Document {
        schema: "counterfold.gc/1",
        recording: args.recording.display().to_string(),
        done: args.yes,
        freed_bytes: plan.freed_bytes,
        packs: plan
            .packs
            .iter()
            .map(|pack| PackEntry {
                path: pack.pack.display().to_string(),
                bytes: pack.bytes,
                named_bytes: pack.named_bytes,
            })
            .collect(),
        removed: plan.removed.iter().map(|path| path.display().to_string()).collect(),
    }
}

fn failure(error: &GcError) -> Failure {
    match error {
        GcError::Mark(MarkError::Open(error)) => map::open(error),
        GcError::Mark(MarkError::Read(error)) => map::read(error),
        GcError::Lock(LockError::Held { .. }) => Failure::of(Kind::Taken, error),
        GcError::Store(error) => Failure::of(Kind::Damage, error),
        _ => Failure::of(Kind::Io, error),
    }
}
