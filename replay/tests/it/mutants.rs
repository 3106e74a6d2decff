//! Goal: whatever goes wrong on the way from a client to a recording turns the gate red, with
//! words that name the place. Method: one mutant of a small recording for each way, and the whole
//! message of the failed assertion.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use projector::Policy;
use projector::policy::presets;
use replay::assert::{Demands, check};
use replay::selftest::{Class, Injected, selftest_of};
use tempfile::TempDir;

use crate::support::small;

fn recorded() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.har");
    std::fs::write(&file, small::har()).unwrap();
    let recording = fixtures::import(&file, &folder.path().join("out")).unwrap().recording;
    (folder, recording)
}

fn complaint(recording: &Path) -> Vec<String> {
    check(recording, &Demands::none()).unwrap_err().findings().to_vec()
}

/// What the failed assertion says of the first change of a class.
fn first_mutant(class: Class) -> Vec<String> {
    let (folder, recording) = recorded();
    check(&recording, &Demands::none()).unwrap();
    let said = RefCell::new(None);
    let gate = |change: Injected<'_>| {
        if change.class == class {
            said.borrow_mut().get_or_insert_with(|| complaint(change.copy));
        }
        true
    };
    selftest_of(&gate, &recording, &folder.path().join("scratch"), &mut || {}).unwrap();
    said.into_inner().unwrap()
}

#[test]
fn m33_a_an_artifact_that_lost_its_last_byte_is_named() {
    let (_folder, recording) = recorded();
    let packs = std::fs::read_dir(recording.join("art")).unwrap().map(|e| e.unwrap().path());
    let pack = packs.filter(|path| path.extension() == Some("pack".as_ref())).max().unwrap();
    let bytes = std::fs::read(&pack).unwrap();
    std::fs::write(&pack, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(complaint(&recording), [""]);
}

#[test]
fn m33_a_an_output_that_was_cut_before_it_was_written_is_named() {
    assert_eq!(first_mutant(Class::TruncatedArtifact), [""]);
}

#[test]
fn m33_b_a_policy_without_one_of_its_fields_is_refused_and_the_field_is_named() {
    let preset = presets::PRESETS.iter().find(|preset| preset.id == "clear-keep-3").unwrap();
    let kept: Vec<_> = preset.toml.lines().filter(|line| !line.starts_with("keep")).collect();
    assert!(kept.len() < preset.toml.lines().count());
    let error = Policy::from_toml(&kept.join("\n")).unwrap_err();
    assert_eq!(error.to_string(), "");
}

#[test]
fn m33_c_a_clock_in_the_prompt_is_named() {
    assert_eq!(first_mutant(Class::ClockInPrompt), [""]);
}

#[test]
fn m33_d_a_request_that_was_not_captured_is_named() {
    assert_eq!(first_mutant(Class::SkippedCapture), [""]);
}

#[test]
fn m33_e_a_changed_tool_schema_is_named() {
    assert_eq!(first_mutant(Class::ToolSchema), [""]);
}

#[test]
fn m33_f_messages_in_another_order_are_named() {
    assert_eq!(first_mutant(Class::ReorderedParts), [""]);
}

#[test]
fn m33_f_messages_that_were_told_of_in_another_order_are_named() {
    assert_eq!(first_mutant(Class::ReorderedMessages), [""]);
}
