//! Where the rows of a sweep are kept while it runs: a file for each recording, which appears
//! whole or not at all. What is there is not worked out again.
//!
//! Folders are Hive partitions by run: `rows/run=ID/KEY.jsonl`, `requests/run=ID/KEY.jsonl`,
//! `recordings/run=ID/KEY.json`; tables, where they are asked for, have folders of their own. The
//! row file is written last.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use artifacts::ArtifactId;
use serde::{Deserialize, Serialize};

use super::basis::RecordingEntry;
use super::requests::RequestEntry;
use super::row::{RowEntry, hex};
use super::tables::TableFormat;
use crate::error::{Failure, Kind, file};
use crate::output;

/// The file that says what is worked out in a folder.
const PLAN: &str = "sweep.json";

/// What is worked out; rows of another plan do not belong together with these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) schema: String,
    pub(super) program: String,
    /// Names and policy ids.
    pub(super) policies: Vec<(String, String)>,
    pub(super) rulebooks: Vec<String>,
    pub(super) prices: String,
    pub(super) price_as: Option<String>,
    pub(super) requests: bool,
    pub(super) details: bool,
    pub(super) tables: Vec<TableFormat>,
}

/// A folder of rows.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// Rows that nobody asked to keep.
    _scratch: Option<tempfile::TempDir>,
}

/// What is kept beside rows, where it is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside<'t> {
    pub(super) requests: Option<Vec<RequestEntry>>,
    /// Lines of JSON.
    pub(super) details: Option<Vec<u8>>,
    /// Forms of tables. Where there are some, requests stand in them alone.
    pub(super) tables: &'t [TableFormat],
}

/// Where the rows of a recording are.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    run: String,
    key: String,
}

impl Slot {
    pub(super) fn new(run: &[u8; 16], path: &Path) -> Self {
        let key = ArtifactId::of(path.display().to_string().as_bytes());
        Self { run: hex(run), key: hex(key.as_bytes().get(..8).unwrap_or_default()) }
    }
}

impl Store {
    /// A folder for the rows of a plan, or one that goes away.
    pub(super) fn open(into: Option<&Path>, plan: &Plan) -> Result<Self, Failure> {
        let Some(folder) = into else {
            let made = tempfile::tempdir();
            let scratch = made.map_err(|error| file("make", &std::env::temp_dir(), &error))?;
            let folder = scratch.path().to_path_buf();
            return Ok(Self { folder, _scratch: Some(scratch) });
        };
        fs::create_dir_all(folder).map_err(|error| file("make", folder, &error))?;
        let path = folder.join(PLAN);
        if path.exists() {
            let text = fs::read(&path).map_err(|error| file("read", &path, &error))?;
            let found = serde_json::from_slice::<Plan>(&text).ok();
            if found.as_ref() != Some(plan) {
                let words = format!("another sweep is kept in {}", folder.display());
                return Err(Failure::new(Kind::Taken, words).hint(
                    "policies, rules, prices and version have to be the same; name another folder",
                ));
            }
        } else {
            let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
            output::write(&path, &text)?;
        }
        Ok(Self { folder: folder.to_path_buf(), _scratch: None })
    }

    fn path(&self, kind: &str, slot: &Slot, end: &str) -> PathBuf {
        let folder = self.folder.join(kind).join(format!("run={}", slot.run));
        folder.join(format!("{}.{end}", slot.key))
    }

    /// True when the rows of a recording are there.
    pub(super) fn has(&self, slot: &Slot) -> bool {
        self.path("rows", slot, "jsonl").is_file()
    }

    /// Keeps the rows of a recording.
    pub(super) fn put(
        &self,
        slot: &Slot,
        recording: &RecordingEntry,
        beside: &Beside<'_>,
        rows: &[RowEntry],
    ) -> Result<(), Failure> {
        let write = |kind: &str, end: &str, bytes: &[u8]| {
            let path = self.path(kind, slot, end);
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder).map_err(|error| file("make", folder, &error))?;
            output::write(&path, bytes)
        };
        write("recordings", "json", &serde_json::to_vec(recording).unwrap_or_default())?;
        if let Some(requests) = beside.requests.as_ref().filter(|_| beside.tables.is_empty()) {
            write("requests", "jsonl", &json_lines(requests))?;
        }
        for format in beside.tables {
            let name = format.name();
            write(&format!("{name}/rows"), name, &format.rows(rows)?)?;
            if let Some(requests) = &beside.requests {
                write(&format!("{name}/requests"), name, &format.requests(requests)?)?;
            }
        }
        if let Some(lines) = &beside.details {
            write("details", "jsonl", lines)?;
        }
        write("rows", "jsonl", &json_lines(rows))
    }

    /// Policy and details of each row of a recording, as JSON.
    pub(super) fn details(&self, slot: &Slot) -> Result<Vec<(String, String)>, Failure> {
        let path = self.path("details", slot, "jsonl");
        if !path.is_file() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&path).map_err(|error| file("read", &path, &error))?;
        let pair = |line: &str| {
            let (policy, detail): (String, Box<serde_json::value::RawValue>) =
                serde_json::from_str(line).map_err(|error| damaged(&path, &error))?;
            Ok((policy, detail.get().to_owned()))
        };
        text.lines().map(pair).collect()
    }

    /// What was worked out of a recording.
    pub(super) fn get(&self, slot: &Slot) -> Result<(RecordingEntry, Vec<RowEntry>), Failure> {
        let path = self.path("recordings", slot, "json");
        let text = fs::read(&path).map_err(|error| file("read", &path, &error))?;
        let recording = serde_json::from_slice(&text).map_err(|error| damaged(&path, &error))?;
        let path = self.path("rows", slot, "jsonl");
        let opened = fs::File::open(&path).map_err(|error| file("read", &path, &error))?;
        let mut rows = Vec::new();
        for line in BufReader::new(opened).lines() {
            let line = line.map_err(|error| file("read", &path, &error))?;
            rows.push(serde_json::from_str(&line).map_err(|error| damaged(&path, &error))?);
        }
        Ok((recording, rows))
    }
}

/// Each entry on a line of its own.
fn json_lines(entries: &[impl Serialize]) -> Vec<u8> {
    let mut lines = Vec::new();
    for entry in entries {
        lines.extend(serde_json::to_vec(entry).unwrap_or_default());
        lines.push(b'\n');
    }
    lines
}

fn damaged(path: &Path, error: &serde_json::Error) -> Failure {
    let words = format!("not a row of a sweep, line {}: {}", error.line(), path.display());
    Failure::new(Kind::Damage, words).hint("delete the file; it is worked out again")
}
