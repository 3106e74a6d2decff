//! `import har`: one recording per file, and everything that could not be understood spelled out.

pub(super) mod jsonl;
pub(super) mod paths;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use capture::import::{ImportError, ImportReport};
use capture::side::SideReport;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Failure, Kind, Outcome, Stop, file, map};
use crate::inputs::{self, Session};
use crate::report::number;
use crate::report::table::{Cell, Column, Table};
use crate::ui::{Tone, Ui};

/// Names that a folder is searched for.
const SUFFIXES: [&str; 3] = [".har", ".har.zst", ".har.gz"];

/// What to import: paths of any known format, or files of one format with its own options.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(super) of: Option<ImportCommand>,
    #[command(flatten)]
    pub(super) paths: paths::PathsArgs,
}

/// Where recordings come from.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Har(HarArgs),
    Acp(super::acp::ImportArgs),
    Jsonl(jsonl::JsonlArgs),
}

/// Make a recording of each HAR file
///
/// Reads HAR 1.2 files, plain or compressed with gzip or zstd, and makes one recording per file,
/// named after it. Every entry becomes a request with its answer, or is kept as a record with its
/// bytes; nothing is dropped, and what could not be understood is listed. Secrets are replaced
/// before anything is written. A file that was imported before is skipped; a file that is cut
/// keeps what came before the cut.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold import har session.har --into runs
  counterfold import har captures/ more/*.har.zst --into runs --format json
  counterfold import har run.har --session run-home.tar.zst --into runs

Exit codes:
  0  all files were imported, or were there already
  2  some file could not be imported, or not to its end; the others were all the same")]
pub(crate) struct HarArgs {
    /// HAR files, or folders: a folder stands for the *.har, *.har.zst and *.har.gz in it
    #[arg(value_name = "FILE", required_unless_present = "allow_empty")]
    files: Vec<PathBuf>,
    /// The folder that gets the recordings; made if it is not there
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// What the client wrote beside the wire: a tar archive or a folder with its transcripts and
    /// spilled outputs
    ///
    /// Whole outputs in it are recorded with the calls that they belong to, so that caps act on
    /// them. Without this option, NAME.session.tar, .tar.zst, .tar.gz or the folder NAME.session
    /// beside NAME.har is read.
    #[arg(long, value_name = "PATH", conflicts_with = "no_session")]
    session: Option<PathBuf>,
    /// Do not read what stands beside a file
    #[arg(long)]
    no_session: bool,
    /// Do not fail when there is no file
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// What became of one file.
struct Imported {
    file: PathBuf,
    report: Option<ImportReport>,
    failure: Option<Failure>,
}

pub(crate) fn run(args: &HarArgs, ui: &mut Ui) -> Ended {
    let session = match &args.session {
        Some(path) => Session::At(path.clone()),
        None if args.no_session => Session::Nowhere,
        None => Session::Beside,
    };
    let mut rows = Vec::new();
    for word in &args.files {
        match expand(word, args.allow_empty) {
            Ok(files) => {
                rows.extend(files.into_iter().map(|file| one(file, &args.into, &session, ui)));
            }
            Err(failure) => {
                let file = word.clone();
                rows.push(Imported { file, report: None, failure: Some(failure) });
            }
        }
    }
    if rows.is_empty() && !args.allow_empty {
        return Err(Failure::new(Kind::Empty, "no file to import").into());
    }
    match args.format.format {
        Format::Json => ui.json(&document(args, &rows))?,
        Format::Table => print(&rows, ui)?,
    }
    ui.flush()?;
    let mut outcome = Outcome::Fine;
    for row in &rows {
        let Some(failure) = &row.failure else { continue };
        match row.report {
            Some(_) => ui.warning(failure),
            None => ui.failure(failure),
        }
        outcome = Outcome::Undecided;
    }
    Ok(outcome)
}

/// The files that a word stands for.
fn expand(word: &Path, allow_empty: bool) -> Result<Vec<PathBuf>, Failure> {
    if !word.is_dir() {
        return Ok(vec![word.to_path_buf()]);
    }
    let failed = |error| file("list", word, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(word).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_har = |name: &String| SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        if name.as_ref().is_some_and(is_har) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() && !allow_empty {
        let words = format!("no HAR file in {}", word.display());
        return Err(Failure::new(Kind::Empty, words)
            .hint("a folder stands for its *.har, *.har.zst and *.har.gz; name other files"));
    }
    Ok(files)
}

fn one(file: PathBuf, into: &Path, session: &Session, ui: &Ui) -> Imported {
    let spec = inputs::ImportSpec { name: None, session, redactor: Redactor::core() };
    match inputs::import(&file, into, spec, ui) {
        Ok(report) => Imported { file, report: Some(report), failure: None },
        Err(error) => {
            let failure = Some(map::import(&error));
            let report = match error {
                ImportError::Har { kept, .. } => kept.map(|report| *report),
                _ => None,
            };
            Imported { file, report, failure }
        }
    }
}

fn print(rows: &[Imported], ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Right("entries"),
        Column::Right("requests"),
        Column::RightExtra("conversations"),
        Column::RightExtra("other records"),
        Column::Right("bodies"),
        Column::Left("result"),
    ]);
    for row in rows {
        let Some(report) = &row.report else {
            let name = row.file.display().to_string();
            let none = || Cell::from("-");
            let result = Cell::toned("failed", Tone::Bad);
            table.row([name.into(), none(), none(), none(), none(), none(), result]);
            continue;
        };
        let name = report.recording.display().to_string();
        if report.skipped {
            let none = || Cell::from("-");
            let requests = number::count(report.requests);
            let result = "skipped: the same file is there already";
            table.row([
                name.into(),
                none(),
                requests.into(),
                none(),
                none(),
                none(),
                result.into(),
            ]);
            continue;
        }
        let result = match row.failure {
            None => Cell::toned("imported", Tone::Good),
            Some(_) => Cell::toned("imported up to the damage", Tone::Bad),
        };
        table.row([
            name.into(),
            number::count(report.entries).into(),
            number::count(report.requests).into(),
            number::count(report.conversations).into(),
            number::count(report.records).into(),
            number::bytes(report.request_bytes).into(),
            result,
        ]);
    }
    if !table.is_empty() {
        ui.table(&table)?;
    }
    notes(rows, ui)
}

/// What could not be understood, file by file.
fn notes(rows: &[Imported], ui: &mut Ui) -> Result<(), Stop> {
    for report in rows.iter().filter_map(|row| row.report.as_ref()) {
        let notes = report.notes();
        if notes.is_empty() && report.side.is_none() {
            continue;
        }
        ui.line(format_args!("\n{}:", crate::text::one_line(&report.name)))?;
        for note in notes {
            let times = number::count(note.count);
            let first = note.first_entry + 1;
            let words = note.kind.words();
            ui.line(format_args!("  {times} x {words} (first: entry {first})"))?;
        }
        if let Some(side) = &report.side {
            beside(side, ui)?;
        }
    }
    Ok(())
}

/// What was found beside the wire.
fn beside(side: &SideReport, ui: &mut Ui) -> Result<(), Stop> {
    let name = side.path.file_name().unwrap_or(side.path.as_os_str()).to_string_lossy();
    let name = crate::text::one_line(&name);
    let formats: Vec<_> = side.formats.keys().copied().collect();
    let formats = if formats.is_empty() { "no known format".into() } else { formats.join(", ") };
    let (whole, ends) = (number::count(side.whole), number::count(side.ends));
    let calls = number::counted(side.calls, "call");
    ui.line(format_args!(
        "  {name} ({formats}): whole outputs of {whole} of {calls}, both ends of {ends} more"
    ))?;
    for note in side.notes() {
        ui.line(format_args!("    {} x {}", number::count(note.count), note.kind.words()))?;
    }
    if let Some(why) = &side.stopped {
        ui.line(format_args!("    not read to its end: {}", crate::text::one_line(why)))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    ok: bool,
    into: String,
    files: Vec<FileEntry<'r>>,
}

#[derive(Serialize)]
struct FileEntry<'r> {
    file: String,
    name: Option<&'r str>,
    path: Option<String>,
    skipped: bool,
    complete: bool,
    entries: u64,
    requests: u64,
    conversations: u64,
    records: u64,
    request_bytes: u64,
    head: Option<String>,
    notes: Vec<NoteEntry>,
    session: Option<SessionEntry>,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

#[derive(Serialize)]
struct SessionEntry {
    path: String,
    files: u64,
    formats: BTreeMap<&'static str, u64>,
    calls: u64,
    whole: u64,
    ends: u64,
    stopped: Option<String>,
    notes: Vec<SideNoteEntry>,
}

#[derive(Serialize)]
struct SideNoteEntry {
    what: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct NoteEntry {
    what: &'static str,
    count: u64,
    first_entry: u64,
}

fn document<'r>(args: &HarArgs, rows: &'r [Imported]) -> Document<'r> {
    Document {
        schema: "counterfold.import/1",
        ok: rows.iter().all(|row| row.failure.is_none()),
        into: args.into.display().to_string(),
        files: rows.iter().map(entry).collect(),
    }
}

fn entry(row: &Imported) -> FileEntry<'_> {
    let report = row.report.as_ref();
    let number = |of: fn(&ImportReport) -> u64| report.map_or(0, of);
    let note = |note: capture::import::Note| NoteEntry {
        what: note.kind.words(),
        count: note.count,
        first_entry: note.first_entry + 1,
    };
    FileEntry {
        file: row.file.display().to_string(),
        name: report.map(|report| report.name.as_str()),
        path: report.map(|report| report.recording.display().to_string()),
        skipped: report.is_some_and(|report| report.skipped),
        complete: report.is_some_and(|report| report.complete),
        entries: number(|report| report.entries),
        requests: number(|report| report.requests),
        conversations: number(|report| report.conversations),
        records: number(|report| report.records),
        request_bytes: number(|report| report.request_bytes),
        head: report.and_then(|report| report.head).map(|head| head.to_string()),
        notes: report.map_or_else(Vec::new, |r| r.notes().into_iter().map(note).collect()),
        session: report.and_then(|report| report.side.as_ref()).map(session_entry),
        error: row.failure.as_ref().map(Failure::line),
        error_kind: row.failure.as_ref().map(|failure| failure.kind.name()),
    }
}

fn session_entry(side: &SideReport) -> SessionEntry {
    let note = |note: capture::side::SideNote| SideNoteEntry {
        what: note.kind.words(),
        count: note.count,
    };
    SessionEntry {
        path: side.path.display().to_string(),
        files: side.files,
        formats: side.formats.clone(),
        calls: side.calls,
        whole: side.whole,
        ends: side.ends,
        stopped: side.stopped.clone(),
        notes: side.notes().into_iter().map(note).collect(),
    }
}
