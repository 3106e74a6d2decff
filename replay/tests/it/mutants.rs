//! Goal: whatever goes wrong on the way from a client to a recording turns the gate red, with
//! words that name the place. Method: one mutant of a small recording for each way, and the whole
//! message of the failed assertion.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use projector::Policy;
use projector::policy::presets;
use replay::assert::{Demands, check};
use replay::selftest::{Class, Injected, selftest_of};
use sha2::{Digest as _, Sha256};
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
    let [in_pack, in_index, request] = complaint(&recording).try_into().unwrap();
    let place = format!("it is damaged: {}: offset ", pack.display());
    let what = "256: the last 127 bytes are no whole record: found 127 bytes, expected 128";
    assert_eq!(in_pack.strip_prefix(&place), Some(what));
    assert!(in_index.ends_with("index: index and pack differ in pack length"), "{in_index}");
    assert!(request.starts_with("request 3 cannot be verified: artifact "), "{request}");
    assert!(request.ends_with(": not in the store"), "{request}");
}

/// The digest of bytes of a request's body, as messages have it.
fn digest(request: usize, range: core::ops::Range<usize>) -> String {
    let body = &small::bodies()[request];
    let digest = Sha256::digest(&body.as_bytes()[range]);
    artifacts::ArtifactId::from_bytes(digest.into()).to_string()
}

/// Finding of a request whose part in `range` of its body is another one now.
fn other_part(
    request: usize,
    range: core::ops::Range<usize>,
    (component, pointer, part): (&str, &str, &str),
    found: &str,
) -> String {
    format!(
        "request {} is not as recorded (by parts, fold, components); its {component} drifted; \
         first at byte {}, at {pointer}, in {part}: recorded sha256 {}, found sha256 {found}",
        request + 1,
        range.start,
        digest(request, range.clone()),
    )
}

/// Where a text stands in the body of a request, with what surrounds it up to the message's ends.
fn message(request: usize, text: &str) -> core::ops::Range<usize> {
    let body = &small::bodies()[request];
    let at = body.find(text).unwrap();
    let start = body[..at].rfind("{\"content\"").unwrap();
    start..at + body[at..].find('}').unwrap() + 1
}

/// The digest of a text.
fn digest_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    artifacts::ArtifactId::from_bytes(digest.into()).to_string()
}

#[test]
fn m33_a_an_output_that_was_cut_before_it_was_written_is_named() {
    let range = message(1, "line one of");
    let whole = &small::bodies()[1][range.clone()];
    let cut = whole.replacen("tool\\n\"", "tool\"", 1);
    assert_ne!(cut, whole);
    let found = first_mutant(Class::TruncatedArtifact);
    let place = ("messages", "/messages/3", "message part 12 (chunk 9)");
    assert_eq!(found[0], other_part(1, range, place, &digest_of(&cut)));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn m33_b_a_policy_without_one_of_its_fields_is_refused_and_the_field_is_named() {
    let preset = presets::PRESETS.iter().find(|preset| preset.id == "clear-keep-3").unwrap();
    let kept: Vec<_> = preset.toml.lines().filter(|line| !line.starts_with("keep")).collect();
    assert_eq!(kept.len() + 1, preset.toml.lines().count());
    let error = Policy::from_toml(&kept.join("\n")).unwrap_err().to_string();
    assert!(error.ends_with(", column 1: missing field `keep`"), "{error}");
}

#[test]
fn m33_c_a_clock_in_the_prompt_is_named() {
    let range = message(0, "It is a caf");
    let whole = &small::bodies()[0][range.clone()];
    let told = whole.replacen("caf\u{e9}.", "caf\u{e9}. (it is 12:34:56)", 1);
    assert_ne!(told, whole);
    let found = first_mutant(Class::ClockInPrompt);
    let place = ("messages", "/messages/0", "message part 0 (chunk 3)");
    assert_eq!(found[0], other_part(0, range, place, &digest_of(&told)));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn m33_d_a_request_that_was_not_captured_is_named() {
    let found = first_mutant(Class::SkippedCapture);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("it cannot be opened: "), "{found:?}");
    assert!(found[0].ends_with(": seq 4: unknown request 0"), "{found:?}");
}

#[test]
fn m33_e_a_changed_tool_schema_is_named() {
    let body = &small::bodies()[0];
    let start = body.find("\"tools\":").unwrap();
    let range = start..body.len() - 1;
    // The last letter of the schema has another case.
    let edited = body[range.clone()].replacen("\"type\":\"function\"", "\"type\":\"functioN\"", 1);
    let found = first_mutant(Class::ToolSchema);
    let place = ("tools", "/tools", "tools part 9 (chunk 11)");
    assert_eq!(found[0], other_part(0, range, place, &digest_of(&edited)));
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Finding of a request whose first two messages have changed places.
fn swapped(by: &str, part: u32) -> String {
    format!(
        "request 1 is not as recorded (by {by}; first at byte 42, at /messages/0/content, in \
         message part {part} (chunk 3): recorded {SYSTEM}, found {USER}"
    )
}

const SYSTEM: &str = r#"Be brief. It is a caf\xc3\xa9.","role":"system"},{"con"#;
const USER: &str = r#"Look around in Z\xc3\xbcrich.","role":"user"},{"conten"#;

#[test]
fn m33_f_messages_in_another_order_are_named() {
    let found = first_mutant(Class::ReorderedParts);
    assert_eq!(found[0], swapped("parts, components); its messages drifted", 1));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn m33_f_messages_that_were_told_of_in_another_order_are_named() {
    let found = first_mutant(Class::ReorderedMessages);
    assert_eq!(found[0], swapped("fold)", 0));
    assert_eq!(found.len(), 3, "{found:?}");
}
