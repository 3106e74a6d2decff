//! Tests the gate itself: makes known changes in copies of a recording and demands that verifying
//! the copy goes red.
//!
//! A change is made at the level where it would really happen. Flipped bytes go straight into the
//! files. Everything else is told in the events: the copy is written anew with good checksums, a
//! good chain and good artifact names, so that only the recorded digests of the requests (or the
//! accepted head of the log) can give the change away.

mod class;
mod flip;
mod mutate;
mod rewrite;
mod text;
mod told;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use class::{Class, Forgiven};

use crate::recording::{LoadError, Recording};
use crate::verify::{Level, verify};

/// How many places of a recording each class changes, one copy per place.
pub const SITES_PER_CLASS: usize = 3;

/// Why the gate could not be tested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelftestError {
    /// The recording cannot be opened.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The recording is not sound as it is, so that red would prove nothing.
    #[error("recording does not verify as it is: {}", path.display())]
    NotGreen {
        /// Its folder.
        path: PathBuf,
    },
    /// A copy cannot be made.
    #[error("copy cannot be made in {}", path.display())]
    Copy {
        /// The folder of the copy.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A copy cannot be written anew.
    #[error("copy cannot be written in {}", path.display())]
    Rewrite {
        /// The folder of the copy.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What came of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReport {
    /// The class.
    pub class: Class,
    /// Changes that were made. None where the recording offers no place for one.
    pub injected: u64,
    /// Changes that turned the gate red.
    pub caught: u64,
    /// Changes that a canonical comparison would forgive.
    pub forgiven: u64,
    /// Places that were not noticed.
    pub missed: Vec<String>,
}

/// What came of one injected change.
struct Outcome {
    caught: bool,
    forgiven: bool,
    place: String,
}

/// A copy with one change in it.
#[derive(Clone, Copy, Debug)]
pub struct Injected<'a> {
    /// What was changed.
    pub class: Class,
    /// The folder of the copy.
    pub copy: &'a Path,
    /// The head that was accepted before the change, where nothing else can give it away.
    pub accepted_head: Option<&'a str>,
}

/// What is tested: true when it goes red over a copy.
pub type Gate<'g> = &'g dyn Fn(Injected<'_>) -> bool;

/// Runs every class over copies of one recording, made below `scratch`, against [`is_red`].
/// `progress` is told after each class.
///
/// # Errors
/// The recording is not green as it is, or a copy cannot be made.
pub fn selftest(
    path: &Path,
    scratch: &Path,
    progress: &mut dyn FnMut(),
) -> Result<Vec<ClassReport>, SelftestError> {
    selftest_of(&is_red, path, scratch, progress)
}

/// Runs every class against a gate of the caller's own.
///
/// # Errors
/// The recording does not verify as it is, or a copy cannot be made.
pub fn selftest_of(
    gate: Gate<'_>,
    path: &Path,
    scratch: &Path,
    progress: &mut dyn FnMut(),
) -> Result<Vec<ClassReport>, SelftestError> {
    let recording = Recording::open(path)?;
    if !verify(&recording, Level::All, &mut || {}).is_ok() {
        return Err(SelftestError::NotGreen { path: path.to_path_buf() });
    }
    let mut reports = Vec::with_capacity(Class::ALL.len());
    for class in Class::ALL {
        let mut report =
            ClassReport { class, injected: 0, caught: 0, forgiven: 0, missed: Vec::new() };
        for outcome in outcomes(&recording, class, scratch, gate)? {
            report.injected += 1;
            report.caught += u64::from(outcome.caught);
            report.forgiven += u64::from(outcome.forgiven);
            if !outcome.caught {
                report.missed.push(outcome.place);
            }
        }
        reports.push(report);
        progress();
    }
    Ok(reports)
}

fn outcomes(
    recording: &Recording,
    class: Class,
    scratch: &Path,
    gate: Gate<'_>,
) -> Result<Vec<Outcome>, SelftestError> {
    match class {
        Class::ArtifactByte | Class::FrameByte => flip::files(recording, class, scratch, gate),
        Class::StalePolicy => Ok(mutate::stale_policies(recording)),
        Class::DroppedPolicyField => Ok(mutate::dropped_policy_fields()),
        _ => rewrite::sites(recording, class, scratch, gate),
    }
}

/// The gate of this crate: true when verifying the copy does not come out green, or its head is
/// not the accepted one.
pub fn is_red(injected: Injected<'_>) -> bool {
    let Ok(recording) = Recording::open(injected.copy) else { return true };
    let report = verify(&recording, Level::All, &mut || {});
    !report.is_ok() || injected.accepted_head.is_some_and(|head| head != report.head)
}

/// Evenly spread choice of places.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let chosen = count.min(SITES_PER_CLASS);
    (0..chosen).map(move |n| if chosen < 2 { 0 } else { n * (count - 1) / (chosen - 1) })
}

/// Copies a folder with everything in it.
fn copy_folder(from: &Path, to: &Path) -> Result<(), SelftestError> {
    let failed = |source| SelftestError::Copy { path: to.to_path_buf(), source };
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(failed)?;
        }
    }
    Ok(())
}

fn remove(copy: &Path) -> Result<(), SelftestError> {
    fs::remove_dir_all(copy)
        .map_err(|source| SelftestError::Copy { path: copy.to_path_buf(), source })
}
