//! `selftest`, and what `verify --paranoid` runs.

use crate::program::Folder;

/// The rows of a class: level, injected, caught, forgiven by design.
fn rows(document: &serde_json::Value, name: &str) -> Vec<(String, u64, u64, bool)> {
    let rows = document["classes"].as_array().unwrap().iter().filter(|row| row["name"] == name);
    rows.map(|row| {
        (
            row["level"].as_str().unwrap().to_owned(),
            row["injected"].as_u64().unwrap(),
            row["caught"].as_u64().unwrap(),
            row["forgiven_by_design"].as_bool().unwrap(),
        )
    })
    .collect()
}

#[test]
fn every_class_has_a_row_of_bytes_and_key_order_a_canonical_one() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["selftest", "runs", "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let document = ran.json();
    assert_eq!(document["schema"], "counterfold.selftest/1");
    assert_eq!(document["ok"], true);
    assert_eq!(document["recordings"][0]["path"], "runs/tiny");
    let classes = document["classes"].as_array().unwrap();
    let bytes = classes.iter().filter(|row| row["level"] == "bytes");
    for row in bytes.clone() {
        assert_eq!(row["caught"], row["injected"], "{row}");
        assert_eq!(row["forgiven_by_design"], false);
    }
    assert_eq!(bytes.count(), 20);
    let [(_, injected, _, _), (level, again, caught, forgiven)] =
        rows(&document, "key_order").try_into().unwrap();
    assert!(injected > 0);
    assert_eq!((level.as_str(), again, caught, forgiven), ("canonical", injected, 0, true));
    assert_eq!(rows(&document, "dropped_message").len(), 1);
}

#[test]
fn the_table_says_what_was_caught_and_leaves_nothing_behind() {
    let folder = Folder::with_recording();
    let scratch = folder.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut command = folder.command(&["selftest", "runs"]);
    command.env("TMPDIR", &scratch);
    let ran = crate::program::ran(command);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let text = ran.text();
    let (injected, caught) = {
        let last = text.lines().last().unwrap();
        let words: Vec<_> = last.split(' ').collect();
        assert_eq!((words[0], words[2], words[4]), ("caught", "of", "changes"), "{last}");
        (words[3].to_owned(), words[1].to_owned())
    };
    assert_eq!(injected, caught);
    assert!(text.lines().any(|line| line.starts_with("key_order ") && line.ends_with("by design")));
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
    assert_eq!(folder.run(&["verify", "runs"]).code, 0);
}

#[test]
fn a_recording_that_is_not_green_as_it_is_cannot_be_tested() {
    let folder = Folder::with_recording();
    for entry in std::fs::read_dir(folder.path("runs/tiny/art")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let ran = folder.run(&["selftest", "runs", "--format", "json"]);
    assert_eq!(ran.code, 2);
    let document = ran.json();
    assert_eq!(document["ok"], false);
    assert_eq!(document["recordings"][0]["error_kind"], "damage");
    assert!(ran.err.starts_with("error: recording does not verify as it is: "), "{}", ran.err);
}

#[test]
fn nothing_to_change_is_undecided_unless_it_is_allowed() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("runs")).unwrap();
    assert_eq!(folder.run(&["selftest", "runs"]).code, 2);
    assert_eq!(folder.run(&["selftest", "runs", "--allow-empty"]).code, 0);
    folder.write("empty.har", crate::har::har(&[]).as_bytes());
    assert_eq!(folder.run(&["import", "har", "empty.har", "--into", "runs"]).code, 0);
    let ran = folder.run(&["selftest", "runs"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: nothing to change: no recorded request"), "{}", ran.err);
}

/// A folder with two recordings.
fn two() -> Folder {
    let folder = Folder::with_recording();
    folder.write("texts.har", crate::har::texts(3).as_bytes());
    assert_eq!(folder.run(&["import", "har", "texts.har", "--into", "runs"]).code, 0);
    folder
}

#[test]
fn a_fingerprint_has_a_line_for_every_request_verdict_policy_and_row() {
    let folder = two();
    let text = folder.run(&["fingerprint", "runs"]).text();
    let policies = 9;
    let count = |path: &str, kind: &str| {
        let start = format!("{path}\t{kind}\t");
        text.lines().filter(|line| line.starts_with(&start)).count()
    };
    for (path, requests) in [("runs/tiny", 8), ("runs/texts", 3)] {
        assert_eq!(count(path, "verify"), requests + 1, "{text}");
        assert_eq!(count(path, "project"), requests * policies);
        assert_eq!(count(path, "sweep"), policies);
    }
}

#[test]
fn a_fingerprint_does_not_depend_on_what_is_around_the_program() {
    let folder = two();
    let paths = ["runs/tiny", "runs/texts"].map(|path| folder.path(path).display().to_string());
    let [tiny, texts] = paths.each_ref().map(String::as_str);
    let plain = folder.run(&["fingerprint", tiny, texts]).text();
    let mut other = folder.command(&["fingerprint", texts, tiny]);
    other.env_clear().env("TZ", "Asia/Kathmandu").env("LC_ALL", "tr_TR.UTF-8");
    other.env("RAYON_NUM_THREADS", "2").current_dir("/");
    assert_eq!(crate::program::ran(other).text(), plain);
    assert!(plain.lines().count() > 100);
}

#[test]
fn a_fingerprint_tells_recordings_apart() {
    let folder = two();
    let lines = |path: &str| -> Vec<String> {
        let text = folder.run(&["fingerprint", path]).text();
        text.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
    };
    assert_ne!(lines("runs/tiny")[..4], lines("runs/texts")[..4]);
}

#[test]
fn paranoid_is_green_over_results_that_depend_on_the_recordings_alone() {
    let folder = two();
    let ran = folder.run(&["verify", "runs", "--paranoid"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.text().contains("paranoid: the same in 6 processes"), "{}", ran.text());
    let json = folder.run(&["verify", "runs", "--paranoid", "--format", "json"]).json();
    assert_eq!(json["paranoid"], serde_json::json!([]));
    let json = folder.run(&["verify", "runs", "--format", "json"]).json();
    assert_eq!(json["paranoid"], serde_json::Value::Null);
}
