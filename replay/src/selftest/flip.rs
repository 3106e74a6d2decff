//! Bytes changed straight in the files of a copy.

use std::fs;
use std::path::{Path, PathBuf};

use super::class::Class;
use super::{Gate, Injected, Outcome, SelftestError, copy_folder, remove};
use crate::recording::Recording;

/// Places per file that are flipped.
const PLACES_PER_FILE: usize = 8;

/// Flips bytes of the files in the folder of a copy that a class is about.
pub(super) fn files(
    recording: &Recording,
    class: Class,
    scratch: &Path,
    gate: Gate<'_>,
) -> Result<Vec<Outcome>, SelftestError> {
    let folder = if class == Class::ArtifactByte { "art" } else { "log" };
    let copy = scratch.join("flip");
    copy_folder(recording.path(), &copy)?;
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| SelftestError::Copy { path, source }
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(copy.join(folder)).map_err(failed(&copy))? {
        paths.push(entry.map_err(failed(&copy))?.path());
    }
    paths.sort();
    let mut outcomes = Vec::new();
    for path in paths {
        let whole = fs::read(&path).map_err(failed(&path))?;
        // Prime steps, so that headers, bodies and checksums are hit, not one column of them.
        for n in 0..PLACES_PER_FILE {
            let Some(last) = whole.len().checked_sub(1) else { break };
            let at = (n * 7919 + last * n / PLACES_PER_FILE) % whole.len();
            let mut changed = whole.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1 << (n % 8);
            }
            fs::write(&path, &changed).map_err(failed(&path))?;
            let name = path.strip_prefix(&copy).unwrap_or(&path);
            let place = format!("{} at offset {at}", name.display());
            let caught = gate(Injected { class, copy: &copy, accepted_head: None });
            outcomes.push(Outcome { caught, forgiven: false, place });
        }
        fs::write(&path, &whole).map_err(failed(&path))?;
    }
    remove(&copy)?;
    Ok(outcomes)
}
