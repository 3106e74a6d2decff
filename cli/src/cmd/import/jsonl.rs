//! `import jsonl`: a recording from the lines of JSON that `export --jsonl` wrote.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use artifacts::fs::vfs::LocalDisk;
use artifacts::redact::Redactor;
use clap::Args;
use ledger::fs::jsonl::{JsonlError, read_jsonl};

use crate::cmd::export::failure;
use crate::error::{Ended, Failure, Kind, Outcome, file};
use crate::report::number::counted;
use crate::ui::Ui;

/// Make a recording of lines of JSON
///
/// Reads what `counterfold export --jsonl` wrote and makes the same recording again, in its
/// canonical form. Lines that are missing, changed or out of order are refused, and so is content
/// that the rules of redaction would replace.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold import jsonl session.jsonl --into runs/session

Exit codes:
  0  the recording is whole
  2  a line is wrong, or the recording cannot be written")]
pub(crate) struct JsonlArgs {
    /// A file of lines, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the new recording, which must not exist
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
}

pub(crate) fn run(args: &JsonlArgs, ui: &mut Ui) -> Ended {
    let mut input: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let opened = File::open(&args.file);
        Box::new(BufReader::new(opened.map_err(|error| file("open", &args.file, &error))?))
    };
    let disk = LocalDisk::shared();
    let read = read_jsonl(&disk, &mut *input, &args.into, &Redactor::core());
    let made = read.map_err(|error| match &error {
        JsonlError::Recording(error) => failure(error),
        JsonlError::Line { .. } => Failure::of(Kind::Format, &error)
            .hint("lines are written by `counterfold export --jsonl`; get the whole file again"),
        _ => Failure::of(Kind::Io, &error),
    })?;
    let events = counted(made.events, "event");
    let artifacts = counted(made.artifacts, "artifact");
    ui.line(format_args!("{events}, {artifacts} in {}", args.into.display()))?;
    ui.line(format_args!("  head {}", made.head))?;
    ui.flush()?;
    Ok(Outcome::Fine)
}
