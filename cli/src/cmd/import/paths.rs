//! `import PATH...`: finds sources, recognizes each by what it holds, and imports them side by
//! side.

mod document;
mod index;
mod plan;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use capture::acp::{AcpError, AcpOptions, import_acp};
use capture::import::ImportError;
use capture::transcript::{
    Recognized, TranscriptError, TranscriptOptions, TranscriptReport, bundles, import_transcript,
};
use clap::Args;
use rayon::prelude::*;

use crate::args::{Format, FormatArgs};
use crate::cmd::acp::RECORDER;
use crate::error::{Ended, Failure, Kind, Outcome, file, map};
use crate::fresh::now_unix_ns;
use crate::inputs::rules::RulesArgs;
use crate::inputs::{self, Session};
use crate::ui::{Progress, Ui};
use index::Index;
use plan::{Job, Plan};

/// What `import PATH...` takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct PathsArgs {
    /// Session files, traces and archives of any known format, or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The folder that gets the recordings; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "runs")]
    into: PathBuf,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// What became of one source.
#[derive(Debug)]
pub(super) struct Done {
    source: PathBuf,
    bytes: u64,
    what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// It is a recording now.
    Imported(Box<TranscriptReport>),
    /// It was read up to a place, and that is a recording now.
    Cut(Box<TranscriptReport>, Failure),
    /// It is a recording of another way in: its format, path, requests, calls.
    Other(&'static str, PathBuf, u64, u64),
    /// It was there before.
    Skipped(PathBuf),
    /// It is of no known format, and was found in a folder.
    Unknown,
    Failed(Failure),
}

pub(crate) fn run(args: &PathsArgs, ui: &mut Ui) -> Ended {
    let redactor = args.rules.redactor(ui)?;
    let sources = bundles(&args.paths, Some(&args.into)).map_err(|error| {
        let missing = args.paths.iter().find(|path| !path.exists());
        let named = missing.or(args.paths.first()).map_or(Path::new("."), PathBuf::as_path);
        file("look into", named, &error)
    })?;
    if sources.is_empty() {
        return Err(Failure::new(Kind::Empty, "no file to import").into());
    }
    fs::create_dir_all(&args.into).map_err(|error| file("make", &args.into, &error))?;
    let mut index = Index::open(&args.into)?;
    let progress = ui.progress("importing", sources.len() as u64);
    let Plan { jobs, mut done } = plan::plan(sources, &args.into, &index, ui, &progress)?;
    let made: Vec<(Job, Done)> = jobs
        .into_par_iter()
        .map(|job| {
            let done = one(&job, &redactor, &progress);
            (job, done)
        })
        .collect();
    drop(progress);
    for (job, mut result) in made {
        match &job {
            Job::Har { bundle, .. } => result.what = har(&bundle.main, &args.into, &redactor, ui),
            Job::Acp { bundle, .. } => result.what = acp(&bundle.main, &args.into, &redactor),
            Job::Transcript { .. } => {}
        }
        index.remember(&job, &result)?;
        done.push(result);
    }
    done.sort_by(|a, b| a.source.cmp(&b.source));
    match args.format.format {
        Format::Json => ui.json(&document::document(&args.into, &done))?,
        Format::Table => table::print(&done, ui)?,
    }
    ui.flush()?;
    tell(&done, ui)
}

/// Says what failed, and how it ended.
fn tell(done: &[Done], ui: &Ui) -> Ended {
    let mut outcome = Outcome::Fine;
    let mut understood = false;
    for result in done {
        match &result.what {
            What::Failed(failure) => {
                ui.failure(failure);
                outcome = Outcome::Undecided;
            }
            What::Cut(_, failure) => {
                ui.warning(failure);
                outcome = Outcome::Undecided;
            }
            What::Unknown => {}
            What::Imported(_) | What::Other(..) | What::Skipped(_) => understood = true,
        }
    }
    if !understood && outcome == Outcome::Fine {
        return Err(Failure::new(Kind::Empty, "no file of a known format")
            .hint(format!("known formats: {}", capture::transcript::formats().join(", ")))
            .into());
    }
    Ok(outcome)
}

/// Imports one source into a folder that gets its name once it is whole.
fn one(job: &Job, redactor: &Redactor, progress: &Progress) -> Done {
    let (bundle, bytes) = job.source();
    let what = match job {
        Job::Transcript { name, staging, recording, earlier, .. } => {
            let options = TranscriptOptions {
                recorder: RECORDER,
                now_unix_ns: now_unix_ns(),
                identity: None,
                name,
                redactor: redactor.clone(),
                earlier: earlier.as_deref(),
            };
            let made = import_transcript(bundle, staging, &options);
            settle(made, staging, recording)
        }
        // Names of these are taken as they come, and so they are read one after the other.
        Job::Har { .. } | Job::Acp { .. } => What::Unknown,
    };
    progress.step();
    Done { source: bundle.main.clone(), bytes, what }
}

fn acp(path: &Path, into: &Path, redactor: &Redactor) -> What {
    let make = |name: &str| {
        let options = AcpOptions {
            recorder: RECORDER,
            now_unix_ns: now_unix_ns(),
            identity: None,
            name: Some(name),
            redactor: redactor.clone(),
            tools: Vec::new(),
        };
        match import_acp(path, into, &options) {
            Err(AcpError::File(error)) if error.is_name_of_another() => None,
            made => Some(made),
        }
    };
    match plan::named(path, make) {
        Some(Ok(report)) if report.skipped => What::Skipped(report.recording),
        Some(Ok(report)) => What::Other("acp", report.recording, 0, report.counts.calls),
        Some(Err(error)) => What::Failed(crate::cmd::acp::failed(&error)),
        None => What::Failed(plan::no_name(path)),
    }
}

fn har(path: &Path, into: &Path, redactor: &Redactor, ui: &Ui) -> What {
    let make = |name: &str| {
        let spec = inputs::ImportSpec {
            name: Some(name),
            session: &Session::Beside,
            redactor: redactor.clone(),
        };
        match inputs::import(path, into, spec, ui) {
            Err(ImportError::File(error)) if error.is_name_of_another() => None,
            made => Some(made),
        }
    };
    match plan::named(path, make) {
        Some(Ok(report)) if report.skipped => What::Skipped(report.recording),
        Some(Ok(report)) => What::Other("har", report.recording, report.requests, 0),
        Some(Err(error)) => What::Failed(map::import(&error)),
        None => What::Failed(plan::no_name(path)),
    }
}

/// Gives a whole recording its name; removes the beginning of one that failed.
fn settle(
    made: Result<TranscriptReport, TranscriptError>,
    staging: &Path,
    recording: &Path,
) -> What {
    let moved = |mut report: TranscriptReport| match fs::rename(staging, recording) {
        Ok(()) => {
            recording.clone_into(&mut report.recording);
            Ok(Box::new(report))
        }
        Err(error) => Err(What::Failed(file("rename", staging, &error))),
    };
    match made {
        Ok(report) => moved(report).map_or_else(|failed| failed, What::Imported),
        Err(TranscriptError::Cut { path, reason, kept }) => {
            let words = format!("{} cannot be read to its end: {reason}", path.display());
            let failure = Failure::new(Kind::Damage, words)
                .hint("what came before that place is recorded; get the whole file");
            moved(*kept).map_or_else(|failed| failed, |kept| What::Cut(kept, failure))
        }
        Err(error) => {
            // The first failure is the one to tell; what is left is cleared with the next import.
            let _left = fs::remove_dir_all(staging);
            What::Failed(failure(&error))
        }
    }
}

fn failure(error: &TranscriptError) -> Failure {
    match error {
        TranscriptError::File(error) => map::unmade(error),
        TranscriptError::Unknown { .. } => Failure::of(Kind::Format, error)
            .hint(format!("known formats: {}", capture::transcript::formats().join(", "))),
        TranscriptError::Empty { .. } => Failure::of(Kind::Empty, error),
        _ => Failure::of(Kind::Io, error),
    }
}

/// The way in that a file takes.
pub(super) fn recognized(path: &Path) -> Result<Option<Recognized>, Failure> {
    capture::transcript::recognize(path).map_err(|error| file("read", path, &error))
}
