//! `policy`.

use insta::assert_snapshot;

use crate::program::{Folder, folded};

fn check(text: &str) -> String {
    let folder = Folder::new();
    folder.write("p.toml", text.as_bytes());
    folder.run(&["policy", "check", "p.toml"]).shown()
}

#[test]
fn the_built_in_policies_and_their_ids_do_not_change() {
    let folder = Folder::new();
    // Not filtered: a changed id is a changed policy.
    assert_snapshot!(folded(&folder.run(&["policy", "list"]).text()), @r#"
    id                policy id     what it does
    recorded          9e5fd6c32ffb  shows every request as it was recorded
    cap-2k            aa2a287ab1cf  caps tool outputs at 2,000 bytes, keeps both ends
    cap-4k            f851b1f8b2e4  caps tool outputs at 4,000 bytes, keeps both ends
    cap-8k            8045d0bc593a  caps tool outputs at 8,000 bytes, keeps both ends
    cap-16k           7cdeaecf9bf3  caps tool outputs at 16,000 bytes, keeps both ends
    head-200-lines    b25823d4f21c  caps tool outputs at 200 lines, keeps the beginning
    clear-keep-3      4ae2914f8b5c  clears tool outputs but the newest 3, at every request
    clear-60k-keep-3  58dfd2f6e4e0  clears tool outputs but the newest 3, when est_tokens > 60\
    ,000, for good
    window-20         6f071b752901  keeps the first 2 and the newest 20 messages, and whole to\
    ol exchanges
    "#);
}

#[test]
fn the_list_as_json_is_what_the_reference_says() {
    let folder = Folder::new();
    let mut json = folder.run(&["policy", "list", "--format", "json"]).json();
    let policies = json["policies"].as_array_mut().unwrap();
    assert_eq!(policies.len(), 9);
    policies.truncate(2);
    assert_snapshot!(serde_json::to_string_pretty(&json).unwrap(), @r#"
    {
      "policies": [
        {
          "documented": "",
          "harness": "none",
          "id": "recorded",
          "policy_id": "9e5fd6c32ffb6946ab2ce56b3c6e858a73d88af451fa44d70d093d8ca48ce0b4",
          "unknown": [],
          "version": "1"
        },
        {
          "documented": "",
          "harness": "none",
          "id": "cap-2k",
          "policy_id": "aa2a287ab1cfa50c27805b39297a81a3f845c32c7c9e29fd3b7aac954b0ca965",
          "unknown": [],
          "version": "1"
        }
      ],
      "schema": "counterfold.policies/1"
    }
    "#);
}

#[test]
fn every_built_in_policy_can_be_shown_and_checked() {
    let folder = Folder::new();
    let json = folder.run(&["policy", "list", "--format", "json"]).json();
    for policy in json["policies"].as_array().unwrap() {
        let id = policy["id"].as_str().unwrap();
        folder.write("p.toml", &folder.run(&["policy", "show", id]).out);
        let checked = folder.run(&["policy", "check", "p.toml"]);
        let policy_id = policy["policy_id"].as_str().unwrap();
        assert_eq!(checked.text(), format!("ok: p.toml: {id} {policy_id}\n"));
    }
}

#[test]
fn a_misspelt_field_is_shown_in_its_line() {
    let text =
        "name = \"x\"\nestimator = \"b4ceil\"\n\n[[step]]\nop = \"cap_text\"\n  limits = 9\n";
    assert_snapshot!(check(text), @r#"
    exit code 1
    --- err ---
    error: p.toml:6:3: unknown field `limits`, expected one of `op`, `at`, `applies`, `unit`, \
    `limit`, `shape`, `head_per_mille`, `marker`, `marker_in_limit`, `keep`, `trigger`, `repla\
    cement`, `sticky`, `protect_head`, `boundary`
        |
      6 |   limits = 9
        |   ^
    hint: did you mean `limit`?
    "#);
}

#[test]
fn a_misspelt_value_is_shown_in_its_line() {
    let text = "name = \"x\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"cap_txt\"\n";
    assert_snapshot!(check(text), @r#"
    exit code 1
    --- err ---
    error: p.toml:4:6: unknown variant `cap_txt`, expected one of `cap_text`, `clear_results`,\
     `window`
        |
      4 | op = "cap_txt"
        |      ^
    hint: did you mean `cap_text`?
    "#);
}

#[test]
fn a_missing_field_points_to_its_step() {
    let text = "name = \"x\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"window\"\nkeep = 3\n";
    assert_snapshot!(check(text), @r#"
    exit code 1
    --- err ---
    error: p.toml:3:1: missing field `boundary`
        |
      3 | [[step]]
        | ^
    hint: every parameter is explicit: add `boundary = ...`; `counterfold policy show cap-4k` \
    prints a complete policy
    "#);
}

#[test]
fn a_file_that_is_no_toml_is_shown_with_its_place() {
    assert_snapshot!(check("name = \"x\nestimator = 1\n"), @r#"
    exit code 1
    --- err ---
    error: p.toml:1:10: invalid basic string, expected `"`
        |
      1 | name = "x
        |          ^
    "#);
}

#[test]
fn a_field_of_another_step_is_refused() {
    let text = "name = \"x\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"window\"\nlimit = 3\n";
    assert_snapshot!(check(text), @r#"
    exit code 1
    --- err ---
    error: p.toml:5:9: field `limit` does not belong to op "window"
        |
      5 | limit = 3
        |         ^
    "#);
}

#[test]
fn a_policy_that_does_not_exist_is_undecided_and_something_like_it_is_named() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["sweep", "runs", "--policy", "cap2k"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no such policy: cap2k
    hint: did you mean cap-2k?
    "#);
    assert_snapshot!(folder.run(&["policy", "check", "none.toml"]).shown(), @r#"
    exit code 2
    --- err ---
    error: no such file or folder: none.toml
    hint: check the path; relative paths start at the current folder
    "#);
}
