//! `export`: a recording in its canonical form, as lines of JSON, or in another program's format.

mod foreign;

use std::path::{Path, PathBuf};

use artifacts::fs::vfs::LocalDisk;
use clap::{Args, ValueEnum};
use ledger::fs::jsonl::{JsonlError, write_jsonl};
use ledger::fs::{ExportError, export};

use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs::{self, Scratch};
use crate::report::number::counted;
use crate::ui::Ui;

/// Write a recording in its canonical form, or in the format of another program
///
/// With --into, one segment and one pack with what its events name, without times of their own:
/// the same events give the same bytes, whoever exports them, and exporting an export gives it
/// again. That is the form for a repository; a .gitattributes file comes with it. With --format,
/// one document for another program: har has the requests as they were sent, atif the steps of
/// each conversation, otlp spans of OpenTelemetry, jsonl everything, as lines that
/// `counterfold import jsonl` reads back. What a format has no place for is counted and said.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold export runs/session --into fixtures/session
  counterfold export runs/session --format har --out session.har
  counterfold export runs/session --format atif --out trajectory.json
  counterfold export runs/session --format otlp --content > spans.json
  counterfold export runs/session --format jsonl > session.jsonl

Exit codes:
  0  exported
  2  no such recording, it is damaged, or what was asked for cannot be written")]
pub(crate) struct ExportArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The folder of the new recording, which must not exist
    #[arg(
        long,
        value_name = "NEW",
        required_unless_present_any = ["jsonl", "format"],
        conflicts_with_all = ["jsonl", "format"]
    )]
    into: Option<PathBuf>,
    /// The format of the document
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// The file that gets the document, instead of standard output; with several documents of
    /// atif, the others are numbered beside it
    #[arg(long, value_name = "FILE", requires = "format")]
    out: Option<PathBuf>,
    /// Write prompts, answers, arguments and outputs into the spans of otlp
    #[arg(long, requires = "format")]
    content: bool,
    /// The same as --format jsonl
    #[arg(long, conflicts_with = "format")]
    jsonl: bool,
}

/// Formats of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Agent Trajectory Interchange Format, version 1.8
    Atif,
    /// Spans of OpenTelemetry, as OTLP's JSON
    Otlp,
    /// HTTP Archive 1.2
    Har,
    /// Lines of JSON that hold all of it
    Jsonl,
}

pub(crate) fn run(args: &ExportArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let place = inputs::one(&args.recording, scratch, ui)?;
    match (&args.into, args.format) {
        (Some(into), _) => folder(&place.folder, into, ui)?,
        (None, Some(form)) if args.content && form != Form::Otlp => {
            let words = "--content is for --format otlp: the other formats always have it";
            return Err(Failure::new(Kind::Usage, words).into());
        }
        (None, Some(Form::Jsonl) | None) if args.out.is_none() => lines(&place.folder, ui)?,
        (None, form) => {
            let form = form.unwrap_or(Form::Jsonl);
            foreign::write(&place, form, args.content, args.out.as_deref(), ui)?;
        }
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
