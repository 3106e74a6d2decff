//! Goal: each level of verification proves what it says and no more. Method: one recorded digest
//! changed at a time in a copy whose log is sound, and each level asked alone.

use std::fs;
use std::path::Path;

use ledger::event::{Event, RequestCaptured};
use ledger::fs::{LogIdent, LogReader, LogWriter};
use ledger::segment::Epoch;
use replay::{Check, Level, Recording, RecordingReport, verify};
use tempfile::TempDir;

/// A recording whose second request was changed by `change`, with a sound log.
fn changed(change: impl Fn(&mut RequestCaptured)) -> (TempDir, Recording) {
    let folder = tempfile::tempdir().unwrap();
    let file = fixtures::har("pi-anthropic-std");
    let original = fixtures::import(&file, folder.path()).unwrap().recording;
    let copy = folder.path().join("copy");
    let mut reader = LogReader::open(&original).unwrap();
    let ident = LogIdent { ledger_id: reader.ledger_id(), epoch: Epoch(7), created_unix_ns: 0 };
    let mut log = LogWriter::create(&copy, ident).unwrap();
    for frame in reader.frames() {
        let frame = frame.unwrap();
        if frame.is_seal() {
            continue;
        }
        let mut event = Event::decode(frame.kind(), frame.version(), frame.body()).unwrap();
        if let Event::RequestCaptured(captured) = &mut event
            && captured.request.ordinal() == 2
        {
            change(captured);
        }
        let body = event.encode().unwrap();
        log.append(event.kind().tag(), event.version(), 0, &body).unwrap();
    }
    log.seal(&[]).unwrap();
    copy_files(&original.join("art"), &copy.join("art"));
    let recording = Recording::open(&copy).unwrap();
    (folder, recording)
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn at(recording: &Recording, level: Level) -> RecordingReport {
    verify(recording, level, &mut || {})
}

#[test]
fn m28_the_hash_level_names_the_component_that_drifted() {
    for (index, name) in ["system", "tools", "options", "messages"].into_iter().enumerate() {
        let (_folder, recording) = changed(|captured| captured.component_digests[index][5] ^= 1);
        let report = at(&recording, Level::Hash);
        let drifted: Vec<_> = report.requests.iter().map(|request| request.drifted).collect();
        assert_eq!(drifted[1], Some(name));
        assert_eq!(report.requests[1].hash, Check::Diverged);
        assert_eq!(drifted.iter().filter(|drifted| drifted.is_some()).count(), 1, "{name}");
    }
}

#[test]
fn m28_the_first_of_several_drifted_components_is_named() {
    let (_folder, recording) = changed(|captured| {
        captured.component_digests[1][0] ^= 1;
        captured.component_digests[3][0] ^= 1;
    });
    assert_eq!(at(&recording, Level::Hash).requests[1].drifted, Some("tools"));
}

#[test]
fn m29_the_content_level_compares_bytes_with_the_recorded_digest() {
    let (_folder, recording) = changed(|captured| captured.body_digest[0] ^= 1);
    assert!(at(&recording, Level::Hash).is_ok(), "components are as recorded");
    let report = at(&recording, Level::Reassembly);
    assert_eq!(report.requests[1].reassembly, Check::Diverged);
    assert!(report.requests[1].divergence.is_some());
    assert_eq!(report.counts().identical, 10);
    assert_eq!(at(&recording, Level::Projection).requests[1].projection, Check::Diverged);
}

#[test]
fn m45_each_level_can_be_asked_alone() {
    let (_folder, recording) = changed(|_captured| {});
    let asked = |level| {
        let report = at(&recording, level);
        assert!(report.is_ok());
        let request = &report.requests[1];
        [request.hash, request.reassembly, request.projection]
    };
    let (yes, no) = (Check::Identical, Check::NotApplicable);
    assert_eq!(asked(Level::Hash), [yes, no, no]);
    assert_eq!(asked(Level::Reassembly), [no, yes, no]);
    assert_eq!(asked(Level::Projection), [no, no, yes]);
    assert_eq!(asked(Level::All), [yes, yes, yes]);
}
