//! What was imported into a folder: one line of JSON per recording, in `imports.jsonl`.
//!
//! It only saves work. Without it everything is imported again, under other names.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::Job;
use super::{Done, What};
use crate::error::{Failure, file};

const NAME: &str = "imports.jsonl";

/// One import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Name of the recording in the folder.
    pub(super) recording: String,
    /// SHA-256 of the redacted source, in hex digits.
    pub(super) digest: String,
    /// Size of the source's files.
    pub(super) bytes: u64,
    /// Where the source stood.
    pub(super) source: String,
    /// Its format.
    pub(super) format: String,
}

impl Entry {
    /// The line of this entry.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    entries: Vec<Entry>,
    by_size: BTreeMap<u64, Vec<usize>>,
}

impl Index {
    pub(super) fn open(into: &Path) -> Result<Self, Failure> {
        let path = into.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file("read", &path, &error)),
        };
        let mut index = Self { path, entries: Vec::new(), by_size: BTreeMap::new() };
        // A line that is not one of these was cut by a crash; its recording is imported again.
        for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            index.add(entry);
        }
        Ok(index)
    }

    fn add(&mut self, entry: Entry) {
        self.by_size.entry(entry.bytes).or_default().push(self.entries.len());
        self.entries.push(entry);
    }

    /// What was imported from sources of this size.
    pub(super) fn of_size(&self, bytes: u64) -> Vec<&Entry> {
        let found = self.by_size.get(&bytes).into_iter().flatten();
        found.filter_map(|index| self.entries.get(*index)).collect()
    }

    /// The last import of this path.
    pub(super) fn latest_of(&self, source: &Path) -> Option<&Entry> {
        let wanted = shown(source);
        self.entries.iter().rev().find(|entry| entry.source == wanted)
    }

    /// Writes down what was imported.
    pub(super) fn remember(&mut self, job: &Job, done: &Done) -> Result<(), Failure> {
        let (Job::Transcript { name, bundle, .. }, What::Imported(report)) = (job, &done.what)
        else {
            return Ok(());
        };
        let Some(digest) = report.source_digest else { return Ok(()) };
        let entry = Entry {
            recording: name.clone(),
            digest: hex(&digest),
            bytes: done.bytes,
            source: shown(&bundle.main),
            format: report.format.to_owned(),
        };
        let failed = |error| file("write", &self.path, &error);
        let mut out =
            OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        writeln!(out, "{}", entry.line()).map_err(failed)?;
        self.add(entry);
        Ok(())
    }
}

/// A path as it is remembered: in full, where the system tells it.
fn shown(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_gone| path.to_path_buf()).display().to_string()
}

/// Hex digits of a digest.
pub(super) fn hex(digest: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(64);
    for byte in digest {
        let _infallible = write!(out, "{byte:02x}");
    }
    out
}
