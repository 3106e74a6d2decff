//! Compares what was verified with a baseline.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Verified, VerifyArgs};
use crate::baseline::{self, Entry};
use crate::error::{Failure, Kind};
use crate::inputs::Place;

/// How a recording compares with the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// There is no baseline, or nothing to compare with it.
    NotAsked,
    /// As accepted.
    Same,
    /// Not as accepted, and how.
    Different(Vec<String>),
    /// Not in the baseline.
    New,
}

impl Compared {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Same => "same",
            Self::Different(_) => "different",
            Self::New => "new",
        }
    }

    pub(super) fn is_different(&self) -> bool {
        matches!(self, Self::Different(_) | Self::New)
    }
}

/// What a comparison with a baseline finds beside the recordings.
#[derive(Debug, Default)]
pub(super) struct Baselined {
    /// Accepted recordings that were not given.
    pub(super) missing: Vec<Entry>,
    /// Why nothing could be compared.
    pub(super) stop: Option<Failure>,
}

/// Reads a baseline that has to hold something.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let entries = baseline::read(path).map_err(|failure| match failure.kind {
        Kind::NotFound => failure.hint("`counterfold accept` writes a baseline"),
        _ => failure,
    })?;
    if entries.is_empty() {
        let words = format!("the baseline is empty: {}", path.display());
        return Err(Failure::new(Kind::Empty, words).hint("`counterfold accept` fills it"));
    }
    Ok(entries)
}

/// A HAR file is imported anew each time, and each import is another run.
pub(super) fn no_folder(place: &Place) -> Failure {
    let words = format!("a HAR file has no history to compare: {}", place.shown.display());
    Failure::new(Kind::Usage, words)
        .hint("import it with `counterfold import har`, and compare the recording")
}

pub(super) fn compare(
    args: &VerifyArgs,
    accepted: Option<&[Entry]>,
    all: &mut [Verified],
) -> Baselined {
    let (Some(accepted), Some(file)) = (accepted, &args.baseline) else {
        return Baselined::default();
    };
    let of = |name: &str| accepted.iter().find(|entry| entry.name == name);
    let given: BTreeSet<&str> = all.iter().map(|verified| verified.label.as_str()).collect();
    if !accepted.iter().any(|entry| given.contains(entry.name.as_str())) {
        let words = format!("nothing to compare: none of these is in {}", file.display());
        let stop = Failure::new(Kind::Empty, words)
            .hint("is it the baseline of other recordings? `counterfold accept` writes one");
        return Baselined { stop: Some(stop), missing: Vec::new() };
    }
    let missing = accepted.iter().filter(|entry| !given.contains(entry.name.as_str()));
    let missing = if args.allow_missing { Vec::new() } else { missing.cloned().collect() };
    for verified in all {
        verified.compared = match (&verified.report, of(&verified.label), &verified.entry) {
            (Err(_), ..) | (_, None, None) => Compared::NotAsked,
            (Ok(_), None, Some(_)) => Compared::New,
            (Ok(_), Some(before), None) => Compared::Different(vec![format!(
                "other count: no request, accepted {}",
                before.requests
            )]),
            (Ok(_), Some(before), Some(now)) => match before.differences(now) {
                found if found.is_empty() => Compared::Same,
                found => Compared::Different(found),
            },
        };
    }
    Baselined { missing, stop: None }
}
