//! A HAR file where a recording is asked for.

use std::fs;

use insta::assert_snapshot;

use crate::har;
use crate::program::{Folder, ran};

const NOTE: &str = "imported tiny.har for this command; `counterfold import har` keeps it\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tiny.har", har::tiny().as_bytes());
    fs::create_dir(folder.path("tmp")).unwrap();
    folder
}

/// Runs the program with a folder for temporary files of its own, which has to be empty again.
fn run(folder: &Folder, words: &[&str]) -> crate::program::Ran {
    let mut command = folder.command(words);
    command.env("TMPDIR", folder.path("tmp"));
    let ran = ran(command);
    let left: Vec<_> = fs::read_dir(folder.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{words:?} left {left:?}");
    ran
}

#[test]
fn every_command_that_takes_a_recording_takes_a_har_file() {
    let folder = folder();
    let commands: [(i32, &[&str]); 9] = [
        (0, &["verify", "tiny.har"]),
        (0, &["sweep", "tiny.har", "-p", "cap-2k"]),
        (0, &["stats", "tiny.har"]),
        (0, &["log", "tiny.har"]),
        (0, &["show", "tiny.har", "1"]),
        (0, &["cat", "tiny.har@2"]),
        (0, &["project", "tiny.har@2", "--quiet"]),
        (0, &["diff", "tiny.har@2", "-p", "recorded"]),
        (1, &["diff", "tiny.har@2", "-p", "cap-2k"]),
    ];
    for (code, words) in commands {
        let ran = run(&folder, words);
        assert_eq!(ran.code, code, "{words:?}: {}", ran.err);
        assert!(!ran.out.is_empty(), "{words:?}");
        assert_eq!(ran.err, if words.contains(&"--quiet") { "" } else { NOTE }, "{words:?}");
    }
}

#[test]
fn what_is_said_of_a_file_is_what_is_said_of_its_recording() {
    let folder = folder();
    assert_eq!(folder.run(&["import", "har", "tiny.har", "--into", "runs"]).code, 0);
    for words in [["cat", "@2"], ["project", "@2"]] {
        let of = |name: &str| run(&folder, &[words[0], &[name, words[1]].concat()]).out;
        assert_eq!(of("tiny.har"), of("runs/tiny"), "{words:?}");
    }
    let swept = |name: &str| {
        let mut json = run(&folder, &["sweep", name, "--format", "json"]).json();
        for row in json["rows"].as_array_mut().unwrap() {
            assert_eq!(row["recording"], name);
            row["recording"] = serde_json::Value::Null;
            // Each import is a run of its own.
            row["run"] = serde_json::Value::Null;
        }
        json["rows"].take()
    };
    assert_eq!(swept("tiny.har"), swept("runs/tiny"));
}

#[test]
fn reports_call_a_file_by_its_name_and_nothing_is_left_of_it() {
    let folder = folder();
    fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/tiny.har", har::large().as_bytes());
    let json =
        run(&folder, &["stats", "tiny.har", "other/tiny.har", "./tiny.har", "--format=json"]);
    let paths: Vec<_> = json.json()["recordings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (entry["path"].as_str().unwrap().to_owned(), entry["stats"]["requests"].clone())
        })
        .collect();
    assert_eq!(paths, [("tiny.har".to_owned(), 8.into()), ("other/tiny.har".to_owned(), 1.into())]);
    let missing = run(&folder, &["project", "tiny.har@99"]);
    assert_eq!(missing.code, 2);
    let words = "error: no request 99: tiny.har has 8 requests\n";
    assert!(missing.err.contains(words), "{}", missing.err);
    let json = run(&folder, &["verify", "tiny.har", "--format", "json"]).json();
    assert_eq!(json["recordings"][0]["path"], "tiny.har");
}

#[test]
fn a_file_that_is_cut_or_no_har_is_undecided() {
    let folder = folder();
    folder.write("cut.har", har::tiny().get(..9_000).unwrap().as_bytes());
    folder.write("notes.txt", b"hello");
    assert_snapshot!(run(&folder, &["verify", "cut.har", "notes.txt"]).shown(), @r#"
    exit code 2
    --- err ---
    error: cut.har: byte 9000: file ends inside the HAR after 4 entries
    hint: get the whole file; `counterfold import har` keeps what comes before that place
    error: notes.txt: byte 0: not a HAR file: a number or word instead of an object with a mem\
    ber "log"
    hint: a HAR is a JSON object with "log": {"entries": [...]}, plain or compressed with gzip\
     or zstd; mitmproxy (`hardump`) and browsers write it
    "#);
    for command in ["log", "stats", "sweep"] {
        assert_eq!(run(&folder, &[command, "cut.har"]).code, 2, "{command}");
        assert_eq!(run(&folder, &[command, "notes.txt"]).code, 2, "{command}");
    }
}
