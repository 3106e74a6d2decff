//! Goal: no changed byte of a recording goes unnoticed, and what is missing is never made up.
//! Method: a small recording of two requests; every byte of every file changed, one at a time;
//! every artifact file removed.

use std::fs;
use std::path::{Path, PathBuf};

use replay::{Check, Level, Recording, verify};
use tempfile::TempDir;

/// Two turns with one tool call whose output is long enough to be an artifact of its own.
fn small_har() -> String {
    let output = "line of a tool output that is long enough\\\\n".repeat(20);
    let user = r#"{\"role\":\"user\",\"content\":\"go\"}"#;
    let call = r#"{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"sh\",\"arguments\":\"{}\"}}"#;
    let answer = format!(r#"{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{call}]}}"#);
    let result =
        format!(r#"{{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{output}\"}}"#);
    let entry = |messages: &str, reply: &str| {
        format!(
            r#"{{"startedDateTime":"2026-11-30T10:00:00Z","time":1,"request":{{"method":"POST","url":"http://h/v1/chat/completions","headers":[],"postData":{{"mimeType":"application/json","text":"{{\"model\":\"m\",\"messages\":[{messages}]}}"}}}},"response":{{"status":200,"headers":[],"content":{{"mimeType":"application/json","text":"{{\"choices\":[{{\"message\":{reply},\"finish_reason\":\"stop\"}}]}}"}}}}}}"#
        )
    };
    let done = r#"{\"role\":\"assistant\",\"content\":\"done\"}"#;
    format!(
        r#"{{"log":{{"version":"1.2","entries":[{},{}]}}}}"#,
        entry(user, &answer),
        entry(&format!("{user},{answer},{result}"), done)
    )
}

fn small_recording() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.har");
    fs::write(&file, small_har()).unwrap();
    let report = fixtures::import(&file, &folder.path().join("out")).unwrap();
    assert_eq!((report.requests, report.records), (2, 0));
    (folder, report.recording)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { out.extend(files(&path)) } else { out.push(path) }
    }
    out.sort();
    out
}

/// `None`: the recording does not open. `Some(true)`: nothing was noticed.
fn looks_fine(recording: &Path) -> Option<bool> {
    let opened = Recording::open(recording).ok()?;
    Some(verify(&opened, Level::All, &mut || {}).is_ok())
}

#[test]
fn the_small_recording_is_fine_as_it_is() {
    let (_folder, recording) = small_recording();
    let opened = Recording::open(&recording).unwrap();
    let report = verify(&opened, Level::All, &mut || {});
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.counts().identical, 2);
    assert_eq!(report.linking.model_and_tool_linked, 2);
    assert!(!opened.store().is_empty());
}

#[test]
fn every_changed_byte_of_log_and_artifacts_is_noticed() {
    let (_folder, recording) = small_recording();
    let mut harmless = Vec::new();
    for file in files(&recording) {
        let name = file.strip_prefix(&recording).unwrap().to_owned();
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&file, &changed).unwrap();
            if looks_fine(&recording) == Some(true) {
                harmless.push((name.clone(), at));
            }
        }
        fs::write(&file, &whole).unwrap();
    }
    // LOCK is empty. FORMAT has a minor version that any reader accepts.
    let told: Vec<_> = harmless
        .iter()
        .filter(|(name, _)| name != Path::new("LOCK") && name != Path::new("FORMAT"))
        .collect();
    assert!(told.is_empty(), "unnoticed: {told:?}");
    assert!(harmless.iter().filter(|(name, _)| name == Path::new("FORMAT")).count() <= 1);
    assert_eq!(looks_fine(&recording), Some(true));
}

#[test]
fn the_place_of_a_damaged_artifact_is_named() {
    let (_folder, recording) = small_recording();
    let pack = files(&recording).into_iter().find(|f| f.extension() == Some("pack".as_ref()));
    let pack = pack.unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let at = bytes.len() - 20;
    bytes[at] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let opened = Recording::open(&recording).unwrap();
    let report = verify(&opened, Level::All, &mut || {});
    assert!(!report.is_ok());
    let told = report.damage.join("\n");
    assert!(told.contains(pack.to_str().unwrap()) && told.contains("offset"), "{told}");
}

#[test]
fn without_its_artifacts_a_request_is_unverifiable_and_never_wrong() {
    let (_folder, recording) = small_recording();
    for file in files(&recording.join("art")) {
        fs::remove_file(file).unwrap();
    }
    let opened = Recording::open(&recording).unwrap();
    let report = verify(&opened, Level::All, &mut || {});
    let counts = report.counts();
    assert_eq!(counts.diverged, 0);
    assert!(counts.unverifiable > 0, "{report:?}");
    let missing = report.requests.iter().find(|r| r.worst() == Check::Unverifiable).unwrap();
    assert!(missing.reason.as_ref().unwrap().contains("not in the store"), "{missing:?}");
    assert!(!report.is_ok());
}

#[test]
fn t28_reading_changes_no_byte() {
    let (_folder, recording) = small_recording();
    let state = || -> Vec<_> {
        files(&recording)
            .into_iter()
            .map(|file| {
                let modified = fs::metadata(&file).unwrap().modified().unwrap();
                (fs::read(&file).unwrap(), modified, file)
            })
            .collect()
    };
    let before = state();
    let opened = Recording::open(&recording).unwrap();
    verify(&opened, Level::All, &mut || {});
    replay::sweep::row(&opened, &projector::Policy::recorded()).unwrap();
    assert_eq!(state(), before);
}

#[test]
fn a_source_that_was_cut_is_sound_and_said_to_be_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(fixtures::folder().join("har/mini-std.har.zst")).unwrap();
    let file = folder.path().join("cut.har.zst");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let kept = match fixtures::import(&file, folder.path()).unwrap_err() {
        capture::import::ImportError::Har { kept: Some(kept), .. } => kept,
        other => panic!("{other}"),
    };
    let opened = Recording::open(&kept.recording).unwrap();
    let report = verify(&opened, Level::All, &mut || {});
    assert!(report.is_ok() && report.counts().requests == kept.requests, "{report:?}");
    assert!(report.notices.iter().any(|notice| notice.contains("not read to its end")));
}
