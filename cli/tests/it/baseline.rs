//! `accept` and `verify --baseline`.

use std::fs;

use insta::assert_snapshot;

use crate::har;
use crate::program::{Folder, Ran};

const FILE: &str = "base.json";

fn accept(folder: &Folder, words: &[&str]) -> Ran {
    folder.run(&[&["accept", "--baseline", FILE], words].concat())
}

fn verify(folder: &Folder, words: &[&str]) -> Ran {
    folder.run(&[&["verify", "--baseline", FILE], words].concat())
}

/// A folder whose `runs/tiny` is in the baseline.
fn accepted() -> Folder {
    let folder = Folder::with_forgeries();
    assert_eq!(accept(&folder, &["runs", "--yes"]).code, 0);
    folder
}

/// Puts a forged recording in the place of `runs/tiny`.
fn replace(folder: &Folder, forged: &str) {
    fs::remove_dir_all(folder.path("runs/tiny")).unwrap();
    fs::rename(folder.path(forged), folder.path("runs/tiny")).unwrap();
}

#[test]
fn what_would_change_is_shown_and_written_only_after_a_yes() {
    let folder = Folder::with_recording();
    assert_snapshot!(accept(&folder, &["runs"]).shown(), @r#"
    exit code 2
    --- out ---
    recording  change  requests  rung        head
    tiny       new            8  body-exact  48:[id]

    1 new, 0 changed, 0 removed, 0 same
    --- err ---
    error: nobody to ask: standard input is no terminal
    hint: look at the changes, then add --yes; nothing was written
    "#);
    assert!(!folder.path(FILE).exists());
    assert_snapshot!(accept(&folder, &["runs", "--yes"]).shown(), @r#"
    exit code 0
    --- out ---
    recording  change  requests  rung        head
    tiny       new            8  body-exact  48:[id]

    1 new, 0 changed, 0 removed, 0 same
    --- err ---
    wrote base.json
    "#);
    let written = fs::read_to_string(folder.path(FILE)).unwrap();
    assert_snapshot!(crate::program::folded(&crate::program::without_ids(&written)), @r#"
    {
    "schema": "counterfold.baseline/1",
    "recordings": [
    {"name":"tiny","run":"[id]","head":"48:[id]","requests":8,"bodies":"[id]","rung":"body-exa\
    ct"}
    ]
    }
    "#);
    // Nothing to do is no question.
    assert_snapshot!(accept(&folder, &["runs"]).shown(), @r#"
    exit code 0
    --- out ---
    recording  change  requests  rung        head
    tiny       same           8  body-exact  48:[id]

    0 new, 0 changed, 0 removed, 1 same
    --- err ---
    nothing to write: base.json is up to date
    "#);
    assert_eq!(fs::read_to_string(folder.path(FILE)).unwrap(), written);
}

#[test]
fn changes_are_new_changed_and_removed_lines() {
    let folder = accepted();
    folder.write("big.har", har::large().as_bytes());
    assert_eq!(folder.run(&["import", "har", "big.har", "--into", "runs"]).code, 0);
    replace(&folder, "forged/same");
    assert_snapshot!(accept(&folder, &["runs"]).shown(), @r#"
    exit code 2
    --- out ---
    recording  change   requests  rung        head
    big        new             1  body-exact  8:[id]
    tiny       changed         8  body-exact  48:[id]
    tiny: rewritten history: the same bodies under another head, 48:[id], accepted 48:[id]

    1 new, 1 changed, 0 removed, 0 same
    --- err ---
    error: nobody to ask: standard input is no terminal
    hint: look at the changes, then add --yes; nothing was written
    "#);
    assert_snapshot!(accept(&folder, &["runs/big", "--yes"]).shown(), @r#"
    exit code 0
    --- out ---
    recording  change   requests  rung        head
    big        new             1  body-exact  8:[id]
    tiny       removed         8  body-exact  48:[id]

    1 new, 0 changed, 1 removed, 0 same
    --- err ---
    wrote base.json
    "#);
    let both = accept(&folder, &["runs/tiny", "--allow-missing", "--yes", "--format", "json"]);
    let json = both.json();
    assert_eq!((both.code, &json["ok"], &json["written"]), (0, &true.into(), &true.into()));
    let changes: Vec<_> =
        json["changes"].as_array().unwrap().iter().map(|c| (&c["name"], &c["change"])).collect();
    assert_eq!(changes, [(&"big".into(), &"same".into()), (&"tiny".into(), &"new".into())]);
}

#[test]
fn nothing_that_does_not_verify_or_was_not_compared_is_accepted() {
    let folder = Folder::with_forgeries();
    for forged in ["forged/digest", "forged/component", "forged/untold"] {
        let ran = accept(&folder, &[forged, "--yes"]);
        assert_eq!(ran.code, 1, "{forged}: {}", ran.err);
        assert!(ran.err.starts_with("error: does not verify: forged/"), "{}", ran.err);
    }
    folder.write("none.har", har::har(&[]).as_bytes());
    assert_eq!(folder.run(&["import", "har", "none.har", "--into", "empty"]).code, 0);
    fs::create_dir(folder.path("nothing")).unwrap();
    for word in ["empty", "nothing", "nowhere", "tiny.har"] {
        assert_eq!(accept(&folder, &[word, "--yes"]).code, 2, "{word}");
    }
    assert!(!folder.path(FILE).exists());
    folder.write(FILE, b"{\"schema\": \"counterfold.baseline/9\", \"recordings\": []}");
    assert_eq!(accept(&folder, &["runs", "--yes"]).code, 2);
}

#[test]
fn the_same_recordings_are_green() {
    let folder = accepted();
    let ran = verify(&folder, &["runs"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.text().contains("\ntiny: as in the baseline\n"), "{}", ran.text());
    let json = verify(&folder, &["runs", "--format", "json"]).json();
    assert_eq!(json["baseline"]["missing"], serde_json::json!([]));
    assert_eq!(json["recordings"][0]["baseline"]["status"], "same");
}

#[test]
fn another_history_is_red_even_where_it_verifies() {
    for (forged, starts) in [
        ("forged/same", "rewritten history: the same bodies under another head, "),
        ("forged/digest", "other bodies: "),
        ("forged/rung", "rewritten history: "),
    ] {
        let folder = accepted();
        replace(&folder, forged);
        let json = verify(&folder, &["runs", "--format", "json"]);
        assert_eq!(json.code, 1, "{forged}");
        let compared = &json.json()["recordings"][0]["baseline"];
        assert_eq!(compared["status"], "different", "{forged}");
        let first = compared["differences"][0].as_str().unwrap();
        assert!(first.starts_with(starts), "{forged}: {first}");
        let table = verify(&folder, &["runs"]);
        assert!(table.text().contains("tiny: not as in the baseline\n  "), "{}", table.text());
    }
}

#[test]
fn another_count_is_red() {
    let folder = accepted();
    folder.write("tiny.har", har::large().as_bytes());
    fs::remove_dir_all(folder.path("runs/tiny")).unwrap();
    assert_eq!(folder.run(&["import", "har", "tiny.har", "--into", "runs"]).code, 0);
    let json = verify(&folder, &["runs", "--format", "json"]);
    assert_eq!(json.code, 1);
    let differences = &json.json()["recordings"][0]["baseline"]["differences"];
    assert_eq!(differences[0], "other count: 1 requests, accepted 8");
}

#[test]
fn a_recording_too_many_or_too_few_is_red() {
    let folder = accepted();
    folder.write("big.har", har::large().as_bytes());
    assert_eq!(folder.run(&["import", "har", "big.har", "--into", "runs"]).code, 0);
    let new = verify(&folder, &["runs"]);
    assert_eq!(new.code, 1);
    let words = "big: not in the baseline (`counterfold accept` takes it up)\n";
    assert!(new.text().contains(words), "{}", new.text());
    assert_eq!(accept(&folder, &["runs", "--yes"]).code, 0);
    let missing = verify(&folder, &["runs/tiny"]);
    assert_eq!(missing.code, 1);
    let words = "big: in the baseline, and not given\n";
    assert!(missing.text().contains(words), "{}", missing.text());
    assert_eq!(verify(&folder, &["runs/tiny", "--allow-missing"]).code, 0);
}

#[test]
fn a_comparison_of_nothing_is_undecided() {
    let folder = accepted();
    folder.write("big.har", har::large().as_bytes());
    assert_eq!(folder.run(&["import", "har", "big.har", "--into", "other"]).code, 0);
    assert_snapshot!(verify(&folder, &["other"]).err, @r#"
    error: nothing to compare: none of these is in base.json
    hint: is it the baseline of other recordings? `counterfold accept` writes one
    "#);
    assert_eq!(verify(&folder, &["other"]).code, 2);
    assert_eq!(verify(&folder, &["other", "--allow-missing"]).code, 2);
    assert_eq!(verify(&folder, &["tiny.har"]).code, 2);
    let missing = folder.run(&["verify", "runs", "--baseline", "nowhere.json"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("hint: `counterfold accept` writes a baseline"),
        "{}",
        missing.err
    );
    folder.write(FILE, b"{\"schema\": \"counterfold.baseline/1\", \"recordings\": []}");
    assert_eq!(verify(&folder, &["runs"]).code, 2);
    folder.write(FILE, b"{");
    assert_eq!(verify(&folder, &["runs"]).code, 2);
}
