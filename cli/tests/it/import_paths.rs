//! `import PATH...`.

use std::path::Path;

use crate::program::Folder;

fn transcripts() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/transcripts").display().to_string()
}

fn document(folder: &Folder, words: &[&str]) -> serde_json::Value {
    let ran = folder.run(&[&["import"], words, &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn a_folder_of_sessions_becomes_recordings_and_a_second_import_is_skipped() {
    let folder = Folder::new();
    let first = document(&folder, &[&transcripts(), "--into", "runs"]);
    assert_eq!(first["schema"], "counterfold.imported/1");
    let sources = first["sources"].as_array().unwrap();
    assert!(sources.len() >= 15);
    for source in sources {
        assert_eq!(source["result"], "imported", "{source}");
        assert_eq!(source["run"]["accounted"], true, "{source}");
    }
    let again = document(&folder, &[&transcripts(), "--into", "runs"]);
    for source in again["sources"].as_array().unwrap() {
        assert_eq!(source["result"], "skipped", "{source}");
    }
    assert_eq!(folder.run(&["verify", "runs", "-q"]).code, 0);
}

#[test]
fn a_source_that_was_rewritten_is_a_new_recording_that_names_the_earlier_one() {
    let folder = Folder::new();
    let row = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{text}\",\"parentUuid\":null,\"sessionId\":\"s\",\
             \"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    folder.write("one.jsonl", row("first").as_bytes());
    document(&folder, &["one.jsonl"]);
    folder.write("one.jsonl", (row("other") + &row("second")).as_bytes());
    let second = document(&folder, &["one.jsonl"]);
    let path = second["sources"][0]["path"].as_str().unwrap();
    assert_ne!(path, "runs/one");
    assert!(folder.path("runs/one").is_dir() && folder.path(path).is_dir());
    let log = folder.run(&["log", path]).text();
    assert!(log.contains("earlier state of this source"), "{log}");
}

#[test]
fn what_is_of_no_known_format_is_told_and_left_alone() {
    let folder = Folder::new();
    folder.write("notes.txt", b"no session");
    folder.write("empty.jsonl", b"");
    let ran = folder.run(&["import", "notes.txt", "empty.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("format is not known: notes.txt"), "{}", ran.err);
    assert!(ran.err.contains("file is empty: empty.jsonl"), "{}", ran.err);
    assert_eq!(folder.run(&["import", "."]).code, 2);
    assert_eq!(folder.run(&["import", "nowhere"]).code, 2);
}

#[test]
fn secrets_of_a_session_are_replaced_before_anything_is_stored() {
    let folder = Folder::new();
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let row = format!(
        "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":\
         {{\"role\":\"user\",\"content\":\"the token is {secret}\"}}}}\nnot json {secret}\n"
    );
    folder.write("one.jsonl", row.as_bytes());
    document(&folder, &["one.jsonl"]);
    let mut files = vec![folder.path("runs")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn files_of_one_name_in_two_folders_are_two_recordings() {
    let folder = Folder::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let logs = [("one", "acp/codex-acp-std.jsonl.zst"), ("two", "acp/gemini-acp-long.jsonl.zst")];
    let wires = [("one", "har/mini-std.har.zst"), ("two", "har/codex-std.har.zst")];
    for (name, files) in [("acp.jsonl.zst", logs), ("wire.har.zst", wires)] {
        for (place, file) in files {
            std::fs::create_dir_all(folder.path(&format!("in/{place}"))).unwrap();
            let bytes = std::fs::read(fixtures.join(file)).unwrap();
            folder.write(&format!("in/{place}/{name}"), &bytes);
        }
    }
    for result in ["imported", "skipped"] {
        let told = document(&folder, &["in"]);
        let sources = told["sources"].as_array().unwrap();
        let paths: Vec<_> = sources.iter().map(|it| it["path"].as_str().unwrap()).collect();
        let wanted = ["runs/acp", "runs/wire", "runs/two-acp", "runs/two-wire"];
        assert_eq!(paths, wanted);
        assert!(sources.iter().all(|it| it["result"] == result), "{told}");
    }
}
