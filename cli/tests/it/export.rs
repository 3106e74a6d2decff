//! `export --format`: documents that other programs can read, and words about what they lack.

use std::path::{Path, PathBuf};

use crate::program::{Folder, Ran};

const ATIF: &str = include_str!("../schemas/atif-1.8.schema.json");

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A folder with the recording of a run that was recorded on the wire, and of a session.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, file) in [("wire", "har/mini-std.har.zst"), ("agents", "transcripts/claude/")] {
        let path = fixture(file).display().to_string();
        assert_eq!(folder.run(&["import", &path, "--into", name, "-q"]).code, 0);
    }
    folder
}

fn export(folder: &Folder, recording: &str, words: &[&str]) -> Ran {
    folder.run(&[&["export", recording], words].concat())
}

#[test]
fn trajectories_are_valid_by_the_published_schema() {
    let folder = folder();
    let schema: serde_json::Value = serde_json::from_str(ATIF).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for recording in ["wire/mini-std", "agents/agents", "agents/odd", "agents/compactions"] {
        let ran = export(&folder, recording, &["--format", "atif", "--out", "out.json"]);
        assert_eq!(ran.code, 0, "{recording}: {}", ran.err);
        assert!(ran.text().contains("not carried"), "{}", ran.text());
        let document = std::fs::read(folder.path("out.json")).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{recording}: {errors:?}");
        assert_eq!(document["schema_version"], "ATIF-v1.8");
    }
    // A schema that takes everything would prove nothing.
    assert!(!schema.is_valid(&serde_json::json!({"schema_version": "ATIF-v1.8", "steps": []})));
}

#[test]
fn a_sub_agent_is_inside_and_named_by_the_result_of_its_call() {
    let folder = folder();
    let ran = export(&folder, "agents/agents", &["--format", "atif"]);
    let document = ran.json();
    let children = document["subagent_trajectories"].as_array().unwrap();
    assert!(!children.is_empty());
    let steps = document["steps"].as_array().unwrap();
    let results = steps.iter().filter_map(|step| step["observation"]["results"].as_array());
    let mut named = results.flatten().filter_map(|it| it["subagent_trajectory_ref"].as_array());
    let first = named.next().expect("a result names a sub-agent").first().unwrap();
    assert!(children.iter().any(|child| child["trajectory_id"] == first["trajectory_id"]));
}

#[test]
fn what_is_left_out_is_said_beside_a_document_on_standard_output() {
    let folder = folder();
    for (format, wanted) in [
        ("har", "conversation that a request belongs to"),
        ("otlp", "content of a request and its answer, which was not asked for"),
        ("atif", "body of a request"),
    ] {
        let ran = export(&folder, "wire/mini-std", &["--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_slice::<serde_json::Value>(&ran.out).unwrap();
        assert!(ran.err.contains(wanted), "{format}: {}", ran.err);
        let quiet = export(&folder, "wire/mini-std", &["--format", format, "-q"]);
        assert_eq!((quiet.err.as_str(), quiet.out), ("", ran.out));
    }
}

#[test]
fn a_har_that_was_written_is_imported_as_the_same_requests() {
    let folder = folder();
    assert_eq!(export(&folder, "wire/mini-std", &["--format", "har", "--out", "w.har"]).code, 0);
    assert_eq!(folder.run(&["import", "w.har", "--into", "again", "-q"]).code, 0);
    let bodies = |recording: &str| {
        let verified = folder.run(&["verify", recording, "--format", "json"]).json();
        let requests = verified["recordings"][0]["requests"].as_array().unwrap().clone();
        requests.into_iter().map(|it| it["rung"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(bodies("wire/mini-std"), bodies("again/w"));
    let one = |recording: &str| folder.run(&["project", &format!("{recording}@3")]).out;
    assert_eq!(one("wire/mini-std"), one("again/w"));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    let folder = folder();
    let ran = export(&folder, "agents/split", &["--format", "har"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.is_empty() && ran.err.contains("--format atif"), "{}", ran.err);
    let ran = export(&folder, "wire/mini-std", &["--format", "har", "--content"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--format otlp"), "{}", ran.err);
    let ran = export(&folder, "wire/mini-std", &[]);
    assert_eq!(ran.code, 2);
    let lines = export(&folder, "wire/mini-std", &["--format", "jsonl"]);
    assert_eq!(lines.out, export(&folder, "wire/mini-std", &["--jsonl"]).out);
    let file = export(&folder, "wire/mini-std", &["--format", "jsonl", "--out", "l.jsonl"]);
    assert_eq!((file.code, std::fs::read(folder.path("l.jsonl")).unwrap()), (0, lines.out));
}
