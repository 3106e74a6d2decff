//! Goal: no raw byte of a secret is in any file, also when the program is killed in the middle.
//! Method: secrets with a mark in every place of a request; the program is killed without notice
//! while it imports or records, and every file and every artifact is searched for the mark. A
//! word that is no secret shows that the search finds what is there.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use artifacts::{Source as _, StoreReader};
use serde_json::json;

use crate::har;
use crate::program::Folder;

/// What every secret holds.
const MARK: &str = "Canary7Q9x";
/// What is no secret.
const WORD: &str = "albatross";
/// How long a program may take until there is something to look at.
const PATIENCE: Duration = Duration::from_mins(1);

/// Secrets of several kinds, each with the mark.
pub(crate) fn secrets(number: usize) -> [String; 3] {
    [
        format!("ghp_{MARK}{number:04}aB3dE5fG7hJ9kL1mN3pQ5r"),
        format!("{MARK}!{number:04}"),
        format!("sk-ant-api03-{MARK}-{number:04}-xY7zW5vU3tS1rQ9pO7nM5l"),
    ]
}

pub(crate) fn body(number: usize) -> String {
    let [token, password, key] = secrets(number);
    let text = format!("{WORD} {number} export TOKEN={token}\n").repeat(30);
    json!({
        "model": "m",
        "metadata": {"password": password, "nested": [{"api_key": key}]},
        "messages": [{"role": "user", "content": text}]
    })
    .to_string()
}

/// Every file below a folder.
fn files(folder: &Path, out: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
}

/// The bytes of all files below a folder, and of all artifacts in it.
fn all_bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    files(folder, &mut all);
    let mut folders: Vec<_> = all.iter().filter_map(|(path, _)| Path::new(path).parent()).collect();
    folders.sort();
    folders.dedup();
    let mut stored = Vec::new();
    for art in folders.into_iter().filter(|folder| folder.ends_with("art")) {
        let Ok(store) = StoreReader::open(art) else { continue };
        for (id, ..) in store.iter() {
            let bytes = store.reference(&id).and_then(|artifact| store.read(&artifact).ok());
            stored
                .push((format!("artifact {id}"), bytes.map(|it| it.to_vec()).unwrap_or_default()));
        }
    }
    all.extend(stored);
    all
}

/// Returns true if the word is in what a folder holds; the mark must not be.
#[track_caller]
pub(crate) fn is_clean(folder: &Path) -> bool {
    let holds = |bytes: &[u8], what: &str| {
        bytes.windows(what.len()).any(|window| window == what.as_bytes())
    };
    let all = all_bytes(folder);
    for (place, bytes) in &all {
        assert!(!holds(bytes, MARK), "{place}");
    }
    all.iter().any(|(_, bytes)| holds(bytes, WORD))
}

#[test]
fn m13_an_import_that_is_killed_leaves_no_secret_in_any_file() {
    let requests = 400;
    let entries: Vec<_> = (0..requests)
        .map(|number| har::entry(number % 60, "http://h/v1/chat/completions", &body(number), "{}"))
        .collect();
    let har = har::har(&entries);
    let mut seen = false;
    for bytes_min in [1, 60_000, 120_000] {
        let folder = Folder::new();
        let source = Folder::new();
        source.write("in.har", har.as_bytes());
        let path = source.path("in.har").display().to_string();
        let mut command = folder.command(&["import", "har", &path, "--into", "runs"]);
        command.env("TMPDIR", folder.path("")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let since = Instant::now();
        let written = || {
            let mut all = Vec::new();
            files(&folder.path("runs"), &mut all);
            all.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
        };
        while written() < bytes_min && child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "nothing was written");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        seen |= is_clean(&folder.path(""));
    }
    let folder = Folder::new();
    folder.write("in.har", har.as_bytes());
    assert_eq!(folder.run(&["import", "har", "in.har", "--into", "runs"]).code, 0);
    assert!(is_clean(&folder.path("runs")) || seen, "the search finds what is there");
}
