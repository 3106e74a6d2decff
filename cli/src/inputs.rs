//! What `REC...`, `REC` and `REC@N` stand for.

mod import;
pub(crate) mod rules;
mod scratch;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use ledger::history::Request;
use ledger::id::RequestId;
use replay::{LoadError, Recording, find_recordings};

use crate::error::{Failure, Kind, map};
use crate::report::number::counted;
use crate::ui::Ui;

pub(crate) use import::{ImportSpec, Session, import};
pub(crate) use scratch::Scratch;

/// A recording that a command shall look at, or why there is none at that path.
#[derive(Debug)]
pub(crate) struct Input {
    /// What users call it.
    pub(crate) path: PathBuf,
    /// Where it is.
    pub(crate) found: Result<Place, Failure>,
}

/// Where a recording is: the folder that was named, or the one that a HAR file was imported into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// What users call it.
    pub(crate) shown: PathBuf,
    /// Its folder.
    pub(crate) folder: PathBuf,
}

impl Place {
    fn folder(path: PathBuf) -> Self {
        Self { shown: path.clone(), folder: path }
    }

    /// True for a HAR file, whose recording goes away when the command ends.
    pub(crate) fn is_file(&self) -> bool {
        self.shown != self.folder
    }
}

/// Finds the recordings that the words stand for, each once, in order.
///
/// A folder without recordings counts as nothing when that is allowed. A file is imported into
/// `scratch`.
pub(crate) fn recordings(
    words: &[PathBuf],
    allow_empty: bool,
    scratch: &mut Scratch,
    ui: &Ui,
) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut seen = BTreeSet::new();
    let mut is_new = |path: &Path| {
        seen.insert(fs::canonicalize(path).unwrap_or_else(|_gone| path.to_path_buf()))
    };
    for word in words {
        if word.is_file() {
            if is_new(word) {
                inputs.push(Input { path: word.clone(), found: scratch.import(word, ui) });
            }
            continue;
        }
        match find_recordings(word) {
            Ok(found) => {
                for path in found.into_iter().filter(|path| is_new(path)) {
                    inputs.push(Input { path: path.clone(), found: Ok(Place::folder(path)) });
                }
            }
            Err(LoadError::NoRecording { .. }) if allow_empty => {}
            Err(error) => {
                let failure = missing(word, &error);
                inputs.push(Input { path: word.clone(), found: Err(failure) });
            }
        }
    }
    inputs
}

fn missing(path: &Path, error: &LoadError) -> Failure {
    let failure = map::load(error);
    if failure.kind != Kind::NotFound {
        return failure;
    }
    match similar_name(path) {
        Some(other) => failure.hint(format!("did you mean {}?", other.display())),
        None => failure.hint(
            "a recording is a folder that `counterfold import har` makes, or the HAR file itself",
        ),
    }
}

/// A file or folder beside `path` whose name is almost the same.
fn similar_name(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let listed = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let best = closest(wanted, names)?;
    Some(folder.map_or_else(|| PathBuf::from(&best), |folder| folder.join(&best)))
}

/// The candidate that is most like `word`, if one is like it at all.
pub(crate) fn closest(
    word: &str,
    candidates: impl IntoIterator<Item = impl AsRef<str>>,
) -> Option<String> {
    const ALIKE_MIN: f64 = 0.8;
    let mut best: Option<(f64, String)> = None;
    for candidate in candidates {
        let alike = strsim::jaro_winkler(word, candidate.as_ref());
        if alike >= ALIKE_MIN && best.as_ref().is_none_or(|(most, _)| alike > *most) {
            best = Some((alike, candidate.as_ref().to_owned()));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The one recording that a path stands for.
pub(crate) fn one(path: &Path, scratch: &mut Scratch, ui: &Ui) -> Result<Place, Failure> {
    if path.is_file() {
        return scratch.import(path, ui);
    }
    let found = find_recordings(path).map_err(|error| missing(path, &error))?;
    match found.as_slice() {
        [only] => Ok(Place::folder(only.clone())),
        [first, ..] => {
            let count = counted(found.len() as u64, "recording");
            let words = format!("{count} instead of one: {}", path.display());
            Err(Failure::new(Kind::Usage, words)
                .hint(format!("name one of them, for example {}", first.display())))
        }
        [] => Err(map::load(&LoadError::NoRecording { path: path.to_path_buf() })),
    }
}

/// Opens a recording.
pub(crate) fn open(folder: &Path) -> Result<Recording, Failure> {
    Recording::open(folder).map_err(|error| map::load(&error))
}

/// `REC@N`: a request of a recording, numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestName {
    pub(crate) recording: PathBuf,
    pub(crate) ordinal: u64,
}

impl RequestName {
    /// Splits at the last `@`.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, &'static str> {
        const FORM: &str = "a request is named REC@N, for example runs/codex@3";
        let (name, number) = word.to_str().and_then(|word| word.rsplit_once('@')).ok_or(FORM)?;
        let ordinal: u64 = number.parse().map_err(|_not_a_number| FORM)?;
        if name.is_empty() {
            return Err(FORM);
        }
        Ok(Self { recording: PathBuf::from(name), ordinal })
    }

    /// Opens the recording and finds the request.
    pub(crate) fn open(&self, scratch: &mut Scratch, ui: &Ui) -> Result<Opened, Failure> {
        let place = one(&self.recording, scratch, ui)?;
        let recording = open(&place.folder)?;
        let request = request(&recording, &place.shown, self.ordinal)?.captured.request;
        Ok(Opened { place, recording, request })
    }
}

/// A request of an opened recording.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) place: Place,
    pub(crate) recording: Recording,
    pub(crate) request: RequestId,
}

/// The request with this number.
fn request<'r>(
    recording: &'r Recording,
    shown: &Path,
    ordinal: u64,
) -> Result<&'r Request, Failure> {
    let history = recording.history();
    let found = RequestId::from_ordinal(ordinal).and_then(|id| history.request(id));
    found.ok_or_else(|| {
        let count = history.requests().len() as u64;
        let has = if count == 0 { "no requests".to_owned() } else { counted(count, "request") };
        let words = format!("no request {ordinal}: {} has {has}", shown.display());
        let failure = Failure::new(Kind::NotFound, words);
        match count {
            0 => failure.hint("`counterfold log` shows what the recording holds"),
            _ => failure.hint(format!("requests are numbered from 1 to {count}")),
        }
    })
}

/// Names for reports: the names of the folders, or their paths where two names are the same.
pub(crate) fn labels<'p>(paths: impl Iterator<Item = &'p Path> + Clone) -> Vec<String> {
    let name = |path: &Path| {
        path.file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let mut seen = BTreeSet::new();
    let unique = paths.clone().all(|path| seen.insert(name(path)));
    paths.map(|path| if unique { name(path) } else { path.display().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_by_what_follows_the_last_at_sign() {
        let name = RequestName::parse(OsStr::new("a@b/c@12")).unwrap();
        assert_eq!(name, RequestName { recording: PathBuf::from("a@b/c"), ordinal: 12 });
        for word in ["a", "a@", "@1", "a@x", "a@-1"] {
            assert!(RequestName::parse(OsStr::new(word)).is_err(), "{word}");
        }
    }

    #[test]
    fn labels_are_paths_only_where_names_repeat() {
        let of = |paths: &[&str]| labels(paths.iter().map(Path::new));
        assert_eq!(of(&["x/a", "y/b"]), ["a", "b"]);
        assert_eq!(of(&["x/a", "y/a"]), ["x/a", "y/a"]);
    }
}
