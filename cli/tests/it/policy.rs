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
    recorded          fcd36a178f30  shows every request as it was recorded
    cap-2k            3fd663e7a28f  caps tool outputs at 2,000 bytes, keeps both ends
    cap-4k            4fd73f815352  caps tool outputs at 4,000 bytes, keeps both ends
    cap-8k            0110d749576b  caps tool outputs at 8,000 bytes, keeps both ends
    cap-16k           effcf4498111  caps tool outputs at 16,000 bytes, keeps both ends
    head-200-lines    19fbc3481ac6  caps tool outputs at 200 lines, keeps the beginning
    clear-keep-3      3ee02adbc5e2  clears tool outputs but the newest 3, at every request
    clear-60k-keep-3  1b661d5d5c5d  clears tool outputs but the newest 3, when est_tokens > 60\
    ,000, for good
    window-20         c8e7616c1830  keeps the first 2 and the newest 20 messages, and whole to\
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
          "policy_id": "fcd36a178f30bbc9f1594bcf8f6ec17a81d0ea7347abc4e552da719807f825d2",
          "unknown": [],
          "version": "1"
        },
        {
          "documented": "",
          "harness": "none",
          "id": "cap-2k",
          "policy_id": "3fd663e7a28ff2c86be095a9996f07ed04c514fc89874d039d05fdbe30ebaa38",
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
    error: p.toml:6:3: unknown field `limits` in op "cap_text", expected one of `op`, `at`, `e\
    nabled`, `applies`, `trigger`, `unit`, `limit`, `threshold_cmp`, `threshold`, `limit_scale\
    _per_mille`, `estimator`, `shape`, `head_per_mille`, `round`, `head`, `tail`, `atoms`, `bo\
    undary`, `marker`, `marker_count`, `marker_in_limit`, `header`, `line_rule`, `only_if_smal\
    ler`, `spill`, `preview`, `template`, `per_stream`, `run_length`
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
    error: p.toml:4:6: unknown word `cap_txt`, expected one of `cap_text`, `cap_lines`, `cap_p\
    arts`, `cap_args`, `clear_results`, `dedupe_reads`, `drop_reasoning`, `window`, `summary`,\
     `repair`, `media`, `inject`, `tools`, `total_cap`, `on_overflow`
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
    error: p.toml:3:1: missing field `protect_head`
        |
      3 | [[step]]
        | ^
    hint: every parameter is explicit: add `protect_head = ...`; `counterfold policy show cap-\
    4k` prints a complete policy
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
    error: p.toml:5:1: unknown field `limit` in op "window", expected one of `op`, `at`, `enab\
    led`, `trigger`, `protect_head`, `protect_system`, `keep`, `drop_per_mille`, `unwind_until\
    _free`, `parity`, `boundary`, `gap_marker`, `tag`
        |
      5 | limit = 3
        | ^
    hint: `counterfold policy show cap-4k` prints a complete policy
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
