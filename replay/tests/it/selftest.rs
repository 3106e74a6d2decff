//! Goal: the gate notices every class of change, and a gate that does not is found out. Method:
//! changed copies of recorded runs and of a small one, against the gate and against gates that
//! are broken on purpose.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ledger::event::Event;
use ledger::fs::LogReader;
use ledger::wire::canonical::same_value;
use replay::assemble::Assembler;
use replay::selftest::{Class, Forgiven, Gate, Injected, is_red, selftest, selftest_of};
use replay::{Level, Recording, verify};
use tempfile::TempDir;

use crate::support::small;

/// Runs that offer places for every class among them.
const RUNS: [&str; 3] = ["codex-std", "pi-anthropic-std", "hermes-compaction"];

fn recorded(case: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = if case == "small" {
        let file = folder.path().join("small.har");
        std::fs::write(&file, small::har()).unwrap();
        file
    } else {
        fixtures::har(case)
    };
    let recording = fixtures::import(&file, &folder.path().join("out")).unwrap().recording;
    (folder, recording)
}

fn events(recording: &Path) -> Vec<Event> {
    let mut reader = LogReader::open(recording).unwrap();
    let mut events = Vec::new();
    for frame in reader.frames() {
        let frame = frame.unwrap();
        if !frame.is_seal() {
            events.push(Event::decode(frame.kind(), frame.version(), frame.body()).unwrap());
        }
    }
    events
}

/// The bodies as their parts give them; `None` where they do not.
fn bodies(recording: &Path) -> Option<Vec<Option<Vec<u8>>>> {
    let recording = Recording::open(recording).ok()?;
    let mut assembler = Assembler::new(recording.history(), recording.source());
    let requests = recording.history().requests().iter();
    Some(requests.map(|request| assembler.body(request.captured.request).ok()).collect())
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let paths = ["log", "art"].into_iter().flat_map(|name| {
        let entries = std::fs::read_dir(folder.join(name)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<BTreeSet<_>>()
    });
    paths.map(|path| std::fs::read(path).unwrap()).collect()
}

/// True when a class leaves the parts of every request alone.
fn spares_bodies(class: Class) -> bool {
    matches!(class, Class::ForgedDigest | Class::DroppedMessage | Class::ReorderedMessages)
}

#[test]
fn every_class_really_changes_what_it_says() {
    let mut seen = BTreeSet::new();
    for case in RUNS.into_iter().chain(["small"]) {
        let (folder, recording) = recorded(case);
        let (our_events, our_bodies, our_files) =
            (events(&recording), bodies(&recording).unwrap(), files(&recording));
        let injected = RefCell::new(Vec::new());
        let gate = |change: Injected<'_>| {
            let changed = match change.class {
                Class::ArtifactByte | Class::FrameByte => files(change.copy) != our_files,
                class => {
                    let same_bodies = bodies(change.copy).is_some_and(|b| b == our_bodies);
                    events(change.copy) != our_events && same_bodies == spares_bodies(class)
                }
            };
            injected.borrow_mut().push((change.class, changed));
            true
        };
        let scratch = folder.path().join("scratch");
        for report in selftest_of(&gate, &recording, &scratch, &mut || {}).unwrap() {
            if report.injected > 0 {
                seen.insert(report.class);
            }
        }
        for (class, changed) in injected.into_inner() {
            assert!(changed, "{case}: {class:?} changes nothing, or something else");
        }
    }
    assert_eq!(seen, BTreeSet::from(Class::ALL));
}

#[test]
fn every_change_is_caught() {
    for case in RUNS.into_iter().chain(["small"]) {
        let (folder, recording) = recorded(case);
        let scratch = folder.path().join("scratch");
        for report in selftest(&recording, &scratch, &mut || {}).unwrap() {
            assert_eq!(report.caught, report.injected, "{case}: {report:?}");
            assert!(report.missed.is_empty(), "{case}: {report:?}");
            let forgiven = report.class.forgiven() == Forgiven::ByDesign;
            assert!(report.forgiven == 0 || forgiven, "{case}: {report:?}");
        }
        // Every copy is gone.
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "{case}");
    }
}

/// Classes with a change that a gate does not notice.
fn missed(gate: Gate<'_>, case: &str) -> Vec<Class> {
    let (folder, recording) = recorded(case);
    let reports =
        selftest_of(gate, &recording, &folder.path().join("scratch"), &mut || {}).unwrap();
    reports.iter().filter(|report| report.caught < report.injected).map(|r| r.class).collect()
}

fn red_at(level: Level, change: Injected<'_>) -> bool {
    let Ok(recording) = Recording::open(change.copy) else { return true };
    let report = verify(&recording, level, &mut || {});
    !report.is_ok() || change.accepted_head.is_some_and(|head| head != report.head)
}

#[test]
fn a_gate_without_the_fold_is_found_out() {
    let gate =
        |change: Injected<'_>| red_at(Level::Hash, change) || red_at(Level::Reassembly, change);
    for case in ["small", "pi-anthropic-std"] {
        assert_eq!(missed(&gate, case), [Class::DroppedMessage, Class::ReorderedMessages]);
    }
}

#[test]
fn a_gate_that_does_not_know_the_accepted_head_is_found_out() {
    let gate = |change: Injected<'_>| is_red(Injected { accepted_head: None, ..change });
    assert_eq!(missed(&gate, "small"), [Class::ForgedHistory]);
}

#[test]
fn a_gate_that_compares_component_digests_alone_is_found_out() {
    let gate = |change: Injected<'_>| red_at(Level::Hash, change);
    let missed = missed(&gate, "pi-anthropic-std");
    for class in [Class::DroppedMessage, Class::MovedCacheMark, Class::ForgedDigest] {
        assert!(missed.contains(&class), "{class:?} is not among {missed:?}");
    }
}

#[test]
fn a_gate_that_compares_values_forgives_the_order_of_keys_and_is_found_out() {
    let (_folder, original) = recorded("small");
    let ours = bodies(&original).unwrap();
    let same = |a: &Option<Vec<u8>>, b: &Option<Vec<u8>>| match (a, b) {
        (Some(a), Some(b)) => same_value(a, b) == Ok(true),
        _ => false,
    };
    let gate = |change: Injected<'_>| {
        if !matches!(change.class, Class::KeyOrder | Class::NumberFormat) {
            return is_red(change);
        }
        let theirs = bodies(change.copy).unwrap();
        !ours.iter().zip(&theirs).all(|(a, b)| same(a, b))
    };
    assert_eq!(missed(&gate, "small"), [Class::KeyOrder]);
}

#[test]
fn a_gate_that_is_always_green_misses_every_copy() {
    let missed = missed(&|_change| false, "small");
    let copies = Class::ALL.into_iter().filter(|class| {
        let no_copy = matches!(class, Class::StalePolicy | Class::DroppedPolicyField);
        // The small recording has no cache marks.
        !no_copy && *class != Class::MovedCacheMark
    });
    assert_eq!(missed, copies.collect::<Vec<_>>());
}
