//! Which artifacts a log may name: every stored id whose 32 bytes stand anywhere in a body.
//!
//! That is more than what events name, never less, and it does not depend on knowing every kind
//! of event. What is not marked is surely not named.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use artifacts::fs::vfs::Vfs;
use artifacts::{ArtifactId, StoreReader};

use super::{Checks, LogReader, OpenError, ReadError};

/// Why it is not known what a log names.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// The log does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log is damaged: what it named there is not known.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Finds stored ids in bodies.
#[derive(Debug)]
pub struct Marks {
    stored: BTreeSet<ArtifactId>,
    /// One bit for the first two bytes of each stored id: most places are ruled out by it.
    begins: Vec<bool>,
    marked: BTreeSet<ArtifactId>,
}

impl Marks {
    /// Looks for the artifacts of `store`.
    pub fn new(store: &StoreReader) -> Self {
        let stored: BTreeSet<ArtifactId> = store.iter().map(|(id, ..)| id).collect();
        let mut begins = vec![false; 1 << 16];
        for id in &stored {
            let [first, second, ..] = id.as_bytes();
            if let Some(bit) = begins.get_mut(slot(*first, *second)) {
                *bit = true;
            }
        }
        Self { stored, begins, marked: BTreeSet::new() }
    }

    /// Looks through one body.
    pub fn mark(&mut self, body: &[u8]) {
        for window in body.windows(32) {
            let Some(id) = window.first_chunk::<32>() else { continue };
            let [first, second, ..] = id;
            if self.begins.get(slot(*first, *second)) == Some(&true) {
                let id = ArtifactId::from_bytes(*id);
                if self.stored.contains(&id) {
                    self.marked.insert(id);
                }
            }
        }
    }

    /// Returns what was found.
    pub fn marked(self) -> BTreeSet<ArtifactId> {
        self.marked
    }
}

fn slot(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// Returns the artifacts of `store` that the log in `dir` may name.
///
/// # Errors
/// The log cannot be read to its end.
pub fn named_artifacts(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    store: &StoreReader,
) -> Result<BTreeSet<ArtifactId>, MarkError> {
    let mut marks = Marks::new(store);
    let mut reader = LogReader::open_on(Arc::clone(vfs), dir)?;
    // What was changed on purpose names what its author wants, chain or not.
    reader.set_checks(Checks::Sums);
    for frame in reader.frames() {
        marks.mark(frame?.body());
    }
    Ok(marks.marked())
}
