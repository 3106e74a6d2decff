//! Recordings for tests.

use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use ledger::content::Content;
use ledger::event::{Event, Origin};
use ledger::fs::LogReader;
use ledger::id::RunId;
use ledger::identity::journal::{Answer, Continued, NewCall};
use ledger::recorder::{Durability, Identity, Recorder, RunSpec};
use ledger::segment::{Epoch, LedgerId};
use tempfile::TempDir;

pub(super) struct Place {
    _folder: TempDir,
    pub(super) dir: PathBuf,
}

pub(super) fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("rec");
    Place { _folder: folder, dir }
}

pub(super) fn recorder(dir: &Path, run: u8) -> Recorder {
    let identity = Identity {
        ledger: LedgerId([run; 16]),
        epoch: Epoch(1),
        run: RunId::from_bytes([run; 16]),
        created_unix_ns: 1,
    };
    let spec = RunSpec {
        identity,
        origin: Origin::Api,
        source: None,
        recorder: "test",
        durability: Durability::Batched,
    };
    Recorder::create(dir, Redactor::core(), &spec).unwrap()
}

/// A recording with a run that is open and has no writer.
pub(super) fn left_open(dir: &Path) {
    recorder(dir, 1).leave().unwrap();
}

pub(super) fn again(dir: &Path, epoch: u32) -> Continued {
    Continued::open(dir, Redactor::core(), Epoch(epoch), 2).unwrap()
}

/// All events of a recording with their sequence numbers; seals are `None`.
pub(super) fn frames(dir: &Path) -> Vec<(u64, Option<Event>)> {
    let mut reader = LogReader::open(dir).unwrap();
    let decode = |frame: ledger::fs::Frame| {
        let event = Event::decode(frame.kind(), frame.version(), frame.body()).ok();
        (frame.seq().0, event)
    };
    reader.frames().map(|frame| decode(frame.unwrap())).collect()
}

pub(super) fn events(dir: &Path) -> Vec<Event> {
    frames(dir).into_iter().filter_map(|(_, event)| event).collect()
}

/// Redacted bytes inside an event, made by decoding, as no test may make them otherwise.
pub(super) fn inline(text: &str) -> Content {
    let length = (text.len() as u64).to_le_bytes();
    let stored = [&[0; 4], length.as_slice(), text.as_bytes()].concat();
    ledger::codec::decode(&stored).unwrap()
}

pub(super) fn new_call(provider: Option<&str>) -> NewCall<'_> {
    NewCall {
        name: b"ls",
        arguments: b"{}",
        provider_call: provider.map(str::as_bytes),
        provider_item: None,
    }
}

pub(super) fn answer<'a>(calls: &'a [NewCall<'a>]) -> Answer<'a> {
    Answer { text: None, reasoning: &[], calls }
}

/// Every file below a folder with its bytes and time of change.
pub(super) fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut out = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = path.metadata().unwrap().modified().unwrap();
                out.push((path.clone(), std::fs::read(&path).unwrap(), changed));
            }
        }
    }
    out.sort();
    out
}
