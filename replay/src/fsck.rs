//! Looks at the files of a recording without asking what its events mean.
//!
//! The fast way reads headers, seals, indexes and the last segment; the full one every byte, by
//! all threads there are: segments of the log beside each other, and records of the packs; and it
//! misses artifacts that events name. Whether events fit together is for [`mod@crate::verify`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use artifacts::fs::{Checked, Severity};
use artifacts::{ArtifactId, StoreReader};
use ledger::event::Event;
use ledger::fs::{Frame, Head, LogReader, OpenError, ReadError, Seq, Tail};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

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
    let named = Named::default();
    let (log, store) =
        rayon::join(|| read_log(&mut reader, depth, &named), || read_store(&art, depth));
    let mut report = log;
    let (artifacts, mut damage, mut notices) = store;
    report.artifacts = artifacts;
    // A live writer stores what it is about to name, so that this look comes last.
    if let Ok(store) = StoreReader::open(&art) {
        damage.extend(named.missing(&store));
    }
    if report.frames == 0 && !dir.join("art").exists() {
        // A writer that died at once left neither events nor artifacts.
        damage.clear();
        notices.push("nothing was recorded".to_owned());
    }
    report.damage.extend(damage);
    report.notices.extend(notices);
    Ok(report)
}

fn read_log(reader: &mut LogReader, depth: Depth, named: &Named) -> FsckReport {
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
        Depth::Full => read_segments(reader, &mut report, named),
        Depth::Fast => reader.check_ends().map(|frames| report.frames = frames),
    };
    match ended {
        Ok(()) if report.damage.is_empty() => {
            report.head = Some(reader.head());
            report.tail = reader.tail().cloned();
        }
        Ok(()) => {}
        Err(error) => report.damage.push(error.to_string()),
    }
    report
}

/// Reads all segments, whether the ones before them are good or not.
fn read_segments(
    reader: &mut LogReader,
    report: &mut FsckReport,
    named: &Named,
) -> Result<(), ReadError> {
    let indexes = 0..reader.segments();
    let shared: &LogReader = reader;
    let checked: Vec<_> = indexes
        .into_par_iter()
        .map(|index| shared.check_segment(index, |frame| named.see(frame)))
        .collect();
    let mut last = None;
    for segment in checked {
        match segment {
            Ok(segment) => {
                report.frames += segment.frames;
                last = Some(segment);
            }
            Err(error) => report.damage.push(error.to_string()),
        }
    }
    reader.conclude(last)
}

/// The artifacts that events name, each with the first event that does.
#[derive(Debug, Default)]
struct Named(Mutex<BTreeMap<ArtifactId, Seq>>);

impl Named {
    /// Notes what the event of a frame names; what is no event names nothing.
    fn see(&self, frame: &Frame) {
        let event = Event::decode(frame.kind(), frame.version(), frame.body());
        let (Ok(event), Ok(mut named)) = (event, self.0.lock()) else { return };
        event.contents(&mut |content| {
            if let Some(artifact) = content.artifact() {
                let first = named.entry(artifact.id()).or_insert(frame.seq());
                *first = frame.seq().min(*first);
            }
        });
    }

    /// Says of which artifacts the store has no record.
    fn missing(self, store: &StoreReader) -> Vec<String> {
        let named = self.0.into_inner().unwrap_or_default();
        let missing = named.into_iter().filter(|(id, _)| !store.contains(id));
        missing
            .map(|(id, seq)| format!("artifact {id}, named by event {seq}, is missing"))
            .collect()
    }
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
        Depth::Full => {
            let at_once = |tasks: usize, run: &(dyn Fn(usize) + Sync)| {
                (0..tasks).into_par_iter().for_each(run);
            };
            store.check_all_with(&at_once, &mut found)
        }
        Depth::Fast => store.check_headers(&mut found),
    };
    (checked, damage, notices)
}
