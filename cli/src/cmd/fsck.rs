//! `fsck`: whether the files of recordings are what was written.

use std::path::Path;

use clap::Args;
use ledger::fs::Head;
use replay::fsck::{Depth, FsckReport, fsck};
use serde::Serialize;

use super::log::tail;
use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::error::{Ended, Failure, Kind, Outcome, Stop, map};
use crate::inputs::{self, Input, Scratch};
use crate::report::number::counted;
use crate::ui::{Tone, Ui};

/// Check the files of recordings
///
/// The fast way reads headers, seals, indexes and the last segment of the log; --full reads every
/// checksum, the SHA-256 chain of the log and the SHA-256 of every artifact, and misses artifacts
/// that events name and nobody stored. Prints the head of each log, SEQ:CHAIN, which whoever keeps
/// it can demand later with --expect-head: a log with the same head holds the same events. Changes
/// nothing.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold fsck runs
  counterfold fsck runs/session --full
  counterfold fsck runs/session --full --expect-head \"$(cat session.head)\"

Exit codes:
  0  the files are what was written
  1  damage, or another head than the expected one
  2  a recording that cannot be looked at, or none")]
pub(crate) struct FsckArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    /// Read every byte
    #[arg(long)]
    full: bool,
    /// The head that the log has to have; for one recording
    #[arg(long, value_name = "SEQ:CHAIN")]
    expect_head: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    ok: bool,
    depth: &'static str,
    recordings: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    path: String,
    error: Option<String>,
    error_kind: Option<&'static str>,
    head: Option<String>,
    expected_head: Option<String>,
    tail: Option<String>,
    gap: bool,
    segments: u64,
    frames: u64,
    packs: u64,
    records: u64,
    damage: Vec<String>,
    notices: Vec<String>,
}

pub(crate) fn run(args: &FsckArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let inputs =
        inputs::recordings(&args.recordings.recordings, args.recordings.allow_empty, scratch, ui);
    if inputs.is_empty() && !args.recordings.allow_empty {
        return Err(Failure::new(Kind::Empty, "no recording to check").into());
    }
    if args.expect_head.is_some() && inputs.len() != 1 {
        let words = format!("{} for one expected head", counted(inputs.len() as u64, "recording"));
        return Err(Failure::new(Kind::Usage, words).into());
    }
    let depth = if args.full { Depth::Full } else { Depth::Fast };
    let mut outcome = Outcome::Fine;
    let mut entries = Vec::new();
    for input in &inputs {
        let checked = check(input, depth);
        let (entry, found) = entry(&input.path, checked, args.expect_head.as_deref());
        outcome = outcome.max(found);
        if args.format.format == Format::Table {
            print(&entry, found, ui)?;
        }
        entries.push(entry);
    }
    if args.format.format == Format::Json {
        let depth = if args.full { "full" } else { "fast" };
        let ok = outcome == Outcome::Fine;
        ui.json(&Document { schema: "counterfold.fsck/1", ok, depth, recordings: entries })?;
    }
    ui.flush()?;
    Ok(outcome)
}

fn check(input: &Input, depth: Depth) -> Result<FsckReport, Failure> {
    let place = input.found.clone()?;
    fsck(&place.folder, depth).map_err(|error| map::open(&error))
}

fn entry(
    path: &Path,
    checked: Result<FsckReport, Failure>,
    expected: Option<&str>,
) -> (Entry, Outcome) {
    let mut entry = Entry {
        path: path.display().to_string(),
        error: None,
        error_kind: None,
        head: None,
        expected_head: expected.map(str::to_owned),
        tail: None,
        gap: false,
        segments: 0,
        frames: 0,
        packs: 0,
        records: 0,
        damage: Vec::new(),
        notices: Vec::new(),
    };
    let report = match checked {
        Ok(report) => report,
        Err(failure) => {
            entry.error = Some(failure.line());
            entry.error_kind = Some(failure.kind.name());
            let found = failure.kind == Kind::Damage;
            return (entry, if found { Outcome::Found } else { Outcome::Undecided });
        }
    };
    entry.head = report.head.map(|head: Head| head.to_string());
    entry.tail = report.tail.as_ref().and_then(tail);
    entry.gap = report.has_gap;
    entry.segments = report.segments;
    entry.frames = report.frames;
    entry.packs = report.artifacts.packs;
    entry.records = report.artifacts.records;
    entry.damage = report.damage;
    entry.notices = report.notices;
    if expected.is_some() && entry.head.as_deref() != expected {
        let found = entry.head.as_deref().unwrap_or("none");
        entry.damage.push(format!("head is {found}, expected {}", expected.unwrap_or_default()));
    }
    let found = if entry.damage.is_empty() { Outcome::Fine } else { Outcome::Found };
    (entry, found)
}

fn print(entry: &Entry, found: Outcome, ui: &mut Ui) -> Result<(), Stop> {
    let (tone, word) = match found {
        Outcome::Fine => (Tone::Good, "ok"),
        Outcome::Found => (Tone::Bad, "damaged"),
        Outcome::Undecided => (Tone::Bad, "not checked"),
    };
    ui.toned(tone, &format!("{word}: {}", entry.path))?;
    if let Some(head) = &entry.head {
        ui.line(format_args!("  head {head}"))?;
    }
    if entry.error.is_none() {
        let counts = [
            counted(entry.segments, "segment"),
            counted(entry.packs, "pack"),
            counted(entry.records, "artifact"),
        ];
        ui.line(format_args!("  {}", counts.join(", ")))?;
    }
    if entry.gap {
        ui.line(format_args!("  a repair left frames out: `counterfold log` shows where"))?;
    }
    let words = entry.error.iter().chain(&entry.damage).chain(&entry.tail).chain(&entry.notices);
    for line in words {
        ui.line(format_args!("  {}", crate::text::one_line(line)))?;
    }
    Ok(())
}
