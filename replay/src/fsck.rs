//! Looks at the files of a recording without asking what its events mean.
//!
//! The fast way reads headers, seals, indexes and the last segment; the full one every byte, on
//! both sides at once. Whether events fit together and name what is there is for
//! [`mod@crate::verify`].

use std::path::Path;

use artifacts::StoreReader;
use artifacts::fs::{Checked, Severity};
use ledger::fs::{Head, LogReader, OpenError, ReadError, Tail};

/// How much of the files is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Headers, seals, indexes, and the last segment.
    Fast,
    /// Every checksum, the chain, and the SHA-256 of every artifact.
    Full,
}

/// What was found.
#[derive(Debug)]
pub struct FsckReport {
    /// Segments of the log.
    pub segments: u64,
    /// Frames that were read, seals included.
    pub frames: u64,
    /// What was read of the artifacts.
    pub artifacts: Checked,
    /// The end of the log; `None` if it was not reached.
    pub head: Option<Head>,
    /// How the log ends.
    pub tail: Option<Tail>,
    /// A repair left frames out.
    pub has_gap: bool,
    /// What is wrong, with its place.
    pub damage: Vec<String>,
    /// What is not wrong, and worth knowing.
    pub notices: Vec<String>,
}

/// Checks the files of the recording in `dir`.
///
/// # Errors
/// The folder is no recording, or of a version that cannot be read.
pub fn fsck(dir: &Path, depth: Depth) -> Result<FsckReport, OpenError> {
    let mut reader = LogReader::open(dir)?;
    let art = dir.join("art");
    let (log, store) =
        rayon::join(move || read_log(&mut reader, depth), || read_store(&art, depth));
    let mut report = log;
    let (artifacts, mut damage, mut notices) = store;
    report.artifacts = artifacts;
    if report.frames == 0 && !dir.join("art").exists() {
        // A writer that died at once left neither events nor artifacts.
        damage.clear();
        notices.push("nothing was recorded".to_owned());
    }
    report.damage.extend(damage);
    report.notices.extend(notices);
    Ok(report)
}

fn read_log(reader: &mut LogReader, depth: Depth) -> FsckReport {
    let mut report = FsckReport {
        segments: reader.segments() as u64,
        frames: 0,
        artifacts: Checked::default(),
        head: None,
        tail: None,
        has_gap: reader.format().log_gap,
        damage: Vec::new(),
        notices: Vec::new(),
    };
    let ended = match depth {
        Depth::Full => read_frames(reader, &mut report.frames),
        Depth::Fast => reader.check_ends().map(|frames| report.frames = frames),
    };
    match ended {
        Ok(()) => {
            report.head = Some(reader.head());
            report.tail = reader.tail().cloned();
        }
        Err(error) => report.damage.push(error.to_string()),
    }
    report
}

fn read_frames(reader: &mut LogReader, frames: &mut u64) -> Result<(), ReadError> {
    for frame in reader.frames() {
        frame?;
        *frames += 1;
    }
    Ok(())
}

type StoreReport = (Checked, Vec<String>, Vec<String>);

fn read_store(art: &Path, depth: Depth) -> StoreReport {
    let (mut damage, mut notices) = (Vec::new(), Vec::new());
    let store = match StoreReader::open(art) {
        Ok(store) => store,
        Err(error) => return (Checked::default(), vec![error.to_string()], notices),
    };
    let mut found = |finding: artifacts::fs::Finding| match finding.severity {
        Severity::Information | Severity::Tail => notices.push(finding.to_string()),
        _ => damage.push(finding.to_string()),
    };
    let checked = match depth {
        Depth::Full => store.check_all(&mut found),
        Depth::Fast => store.check_headers(&mut found),
    };
    (checked, damage, notices)
}
