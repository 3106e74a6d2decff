//! What is to be done with each source: skipped, imported, imported as a later state.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use capture::transcript::{Bundle, Recognized, digest_of};

use super::index::{Entry, Index, hex};
use super::{Done, What, recognized};
use crate::error::{Failure, Kind, file};
use crate::ui::{Progress, Ui};

/// What a folder is called while its recording is being written.
const STAGING: &str = ".importing-";

/// Names of files that say nothing about the run.
const COMMON: [&str; 14] = [
    "traj",
    "output",
    "session",
    "trajectory",
    "messages",
    "api_conversation_history",
    "events",
    "transcript",
    "trace",
    "log",
    "chat",
    "run",
    "runs",
    "opencode",
];

/// One source to import.
#[derive(Debug)]
pub(super) enum Job {
    /// A session or trace.
    Transcript {
        bundle: Bundle,
        bytes: u64,
        name: String,
        staging: PathBuf,
        recording: PathBuf,
        earlier: Option<Vec<u8>>,
    },
    /// A HAR file.
    Har { bundle: Bundle, bytes: u64 },
    /// A log of an agent protocol.
    Acp { bundle: Bundle, bytes: u64 },
}

impl Job {
    pub(super) fn source(&self) -> (&Bundle, u64) {
        match self {
            Self::Transcript { bundle, bytes, .. }
            | Self::Har { bundle, bytes }
            | Self::Acp { bundle, bytes } => (bundle, *bytes),
        }
    }
}

/// What there is to do, and what is done already.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    pub(super) done: Vec<Done>,
}

/// Looks at every source.
pub(super) fn plan(
    sources: Vec<Bundle>,
    into: &Path,
    index: &Index,
    ui: &Ui,
    progress: &Progress,
) -> Result<Plan, Failure> {
    clear_staging(into)?;
    let mut taken = BTreeSet::new();
    let mut plan = Plan { jobs: Vec::new(), done: Vec::new() };
    for bundle in sources {
        let source = bundle.main.clone();
        let mut ended = |bytes, what| {
            progress.step();
            plan.done.push(Done { source: source.clone(), bytes, what });
        };
        let bytes = match bundle.bytes() {
            Ok(bytes) => bytes,
            Err(error) => {
                ended(0, What::Failed(file("read", &source, &error)));
                continue;
            }
        };
        match recognized(&source) {
            Err(failure) => ended(bytes, What::Failed(failure)),
            Ok(None) if bundle.named => ended(bytes, What::Failed(unknown(&source, bytes))),
            Ok(None) => ended(bytes, What::Unknown),
            Ok(Some(Recognized::Har)) => plan.jobs.push(Job::Har { bundle, bytes }),
            Ok(Some(Recognized::Acp)) => plan.jobs.push(Job::Acp { bundle, bytes }),
            Ok(Some(_)) => match known(&bundle, bytes, into, index) {
                Err(failure) => ended(bytes, What::Failed(failure)),
                Ok(Some(recording)) => ended(bytes, What::Skipped(recording)),
                Ok(None) => match job(bundle, bytes, into, index, &mut taken, ui) {
                    Some(job) => plan.jobs.push(job),
                    None => ended(bytes, What::Failed(no_name(&source))),
                },
            },
        }
    }
    Ok(plan)
}

fn unknown(source: &Path, bytes: u64) -> Failure {
    if bytes == 0 {
        return Failure::new(Kind::Empty, format!("file is empty: {}", source.display()));
    }
    Failure::new(Kind::Format, format!("format is not known: {}", source.display()))
        .hint(format!("known formats: {}", capture::transcript::formats().join(", ")))
}

/// The recording that a source already has. Only a file of a size that was seen is read for it.
fn known(
    bundle: &Bundle,
    bytes: u64,
    into: &Path,
    index: &Index,
) -> Result<Option<PathBuf>, Failure> {
    let candidates = index.of_size(bytes);
    if candidates.is_empty() {
        return Ok(None);
    }
    let digest = digest_of(bundle).map_err(|error| file("read", &bundle.main, &error))?;
    let digest = hex(&digest);
    let same = candidates.iter().find(|entry| entry.digest == digest);
    Ok(same.map(|entry| into.join(&entry.recording)).filter(|path| path.is_dir()))
}

fn job(
    bundle: Bundle,
    bytes: u64,
    into: &Path,
    index: &Index,
    taken: &mut BTreeSet<String>,
    ui: &Ui,
) -> Option<Job> {
    let earlier = index.latest_of(&bundle.main);
    let name = named(&bundle.main, |name| {
        let is_free = !taken.contains(name) && !into.join(name).exists();
        is_free.then(|| name.to_owned())
    })?;
    taken.insert(name.clone());
    if let Some(earlier) = earlier {
        ui.note(format_args!(
            "{} has changed since {}: imported as a new recording",
            crate::text::one_line(&bundle.main.display().to_string()),
            earlier.recording
        ));
    }
    Some(Job::Transcript {
        staging: into.join(format!("{STAGING}{name}")),
        recording: into.join(&name),
        earlier: earlier.map(Entry::line).map(String::into_bytes),
        bundle,
        bytes,
        name,
    })
}

/// What `take` makes of the first name for the recording of a file that it takes.
pub(super) fn named<T>(path: &Path, take: impl FnMut(&str) -> Option<T>) -> Option<T> {
    const NAMES_MAX: usize = 10_000;
    let mut take = take;
    names(path).take(NAMES_MAX).find_map(|name| take(&name))
}

/// Says that no name is left.
pub(super) fn no_name(path: &Path) -> Failure {
    Failure::new(Kind::Taken, format!("every name is taken for {}", path.display()))
        .hint("choose another --into")
}

/// Names for the recording of a file, the best first.
fn names(path: &Path) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = path
        .components()
        .rev()
        .take(2)
        .map(|part| clean(&part.as_os_str().to_string_lossy()))
        .collect();
    let own = parts.first_mut().map(core::mem::take).unwrap_or_default();
    let own = stem(&own).to_owned();
    let folder = parts.into_iter().nth(1).filter(|folder| !folder.is_empty());
    let long = match folder {
        Some(folder) => format!("{folder}-{own}"),
        None => own.clone(),
    };
    let short = (!COMMON.contains(&own.as_str())).then_some(own);
    let numbered = long.clone();
    let rest = (2_u64..).map(move |number| format!("{numbered}-{number}"));
    short.into_iter().chain([long]).chain(rest)
}

fn stem(name: &str) -> &str {
    let name = [".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let ends = [
        ".jsonl", ".ndjson", ".json", ".eval", ".traj", ".db", ".yaml", ".yml", ".sqlite", ".pb",
        ".lhar", ".har",
    ];
    let mut name = name;
    while let Some(shorter) = ends.iter().find_map(|end| name.strip_suffix(end)) {
        if shorter.is_empty() {
            break;
        }
        name = shorter;
    }
    name
}

/// A name that is one on every file system.
fn clean(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-@+".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(120).collect();
    let name = name.trim_start_matches('.').to_owned();
    if name.is_empty() { "run".to_owned() } else { name }
}

/// Removes what an import that was interrupted left.
fn clear_staging(into: &Path) -> Result<(), Failure> {
    let failed = |error| file("look into", into, &error);
    for entry in fs::read_dir(into).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(|error| file("remove", &path, &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_named_after_its_file_or_after_its_folder_too() {
        let first = |path: &str| names(Path::new(path)).next().unwrap();
        assert_eq!(first("a/b/rollout-1.jsonl.zst"), "rollout-1");
        assert_eq!(first("a/b/traj.json"), "b-traj");
        assert_eq!(first("x/task 1/session.messages.json"), "session.messages");
        assert_eq!(first("/.jsonl"), "jsonl");
        let second: Vec<_> = names(Path::new("a/b/c.jsonl")).take(3).collect();
        assert_eq!(second, ["c", "b-c", "b-c-2"]);
    }
}
