//! `repair`: a new recording of what is good in a damaged one.

use std::path::PathBuf;

use artifacts::fs::vfs::LocalDisk;
use clap::Args;
use ledger::fs::{RepairError, Repaired};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::fresh;
use crate::report::number;
use crate::ui::Ui;

/// Make a new recording of what is good in a damaged one
///
/// Reads the damaged recording and writes another one; the damaged one is never changed. Events
/// on both sides of the damage are taken over, and where some are missing the new log says so
/// with a `log_gap` event. Commands that ask what a run did see what stands before the first one.
/// Damaged segments are also copied as they are, into a folder quarantine of the new recording.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold fsck runs/session --full
  counterfold repair runs/session --into repaired/session
  counterfold verify repaired/session

Exit codes:
  0  nothing is missing in the new recording
  1  written, with gaps
  2  no such recording, or the new one cannot be written")]
pub(crate) struct RepairArgs {
    /// The damaged recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The folder of the new recording, which must not exist
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    ok: bool,
    recording: String,
    into: String,
    events: u64,
    head: String,
    torn_bytes: u64,
    gaps: Vec<GapEntry>,
    quarantined: Vec<String>,
    strangers: Vec<String>,
}

#[derive(Serialize)]
struct GapEntry {
    from_seq: u64,
    to_seq: Option<u64>,
    lost_bytes: u64,
    reason: String,
}

pub(crate) fn run(args: &RepairArgs, ui: &mut Ui) -> Ended {
    let vfs = LocalDisk::shared();
    let epoch = fresh::epoch()?;
    let repaired =
        ledger::fs::repair(&vfs, &args.recording, &args.into, epoch, fresh::now_unix_ns());
    let repaired = repaired.map_err(|error| failure(&error))?;
    let document = document(args, &repaired);
    match args.format.format {
        Format::Json => ui.json(&document)?,
        Format::Table => {
            let events = number::counted(document.events, "event");
            ui.line(format_args!("{events} in {}", document.into))?;
            ui.line(format_args!("  head {}", document.head))?;
            for gap in &document.gaps {
                let to = gap.to_seq.map_or_else(|| "the end".to_owned(), |seq| seq.to_string());
                let lost = number::bytes(gap.lost_bytes);
                let (from, reason) = (gap.from_seq, &gap.reason);
                ui.line(format_args!("  gap: frames {from} to {to}, {lost}: {reason}"))?;
            }
            for path in document.quarantined.iter().chain(&document.strangers) {
                ui.line(format_args!("  damaged: {path}"))?;
            }
        }
    }
    ui.flush()?;
    Ok(if document.ok { Outcome::Fine } else { Outcome::Found })
}

fn document(args: &RepairArgs, repaired: &Repaired) -> Document {
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    Document {
        schema: "counterfold.repair/1",
        ok: repaired.gaps.is_empty() && repaired.strangers.is_empty(),
        recording: args.recording.display().to_string(),
        into: args.into.display().to_string(),
        events: repaired.frames,
        head: repaired.head.to_string(),
        torn_bytes: repaired.torn_bytes,
        gaps: repaired.gaps.iter().map(GapEntry::of).collect(),
        quarantined: shown(&repaired.quarantined),
        strangers: shown(&repaired.strangers),
    }
}

impl GapEntry {
    fn of(gap: &ledger::frame::Gap) -> Self {
        let place = gap.place();
        Self {
            from_seq: place.from.0,
            to_seq: place.to.map(|seq| seq.0),
            lost_bytes: gap.lost_bytes,
            reason: gap.reason.clone(),
        }
    }
}

fn failure(error: &RepairError) -> Failure {
    match error {
        RepairError::Open(error) => map::open(error),
        RepairError::Create(error) => map::create(error),
        _ => Failure::of(Kind::Io, error),
    }
}
