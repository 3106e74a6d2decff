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
    let text = folder.run(&["policy", "list"]).text();
    let plain: Vec<_> = text.lines().take(10).collect();
    assert_snapshot!(folded(&plain.join("\n")), @r#"
    id                                     policy id     what it does
    recorded                               fcd36a178f30  shows every request as it was recorde\
    d
    cap-2k                                 02bd68aa5ae1  caps tool outputs at 2,000 bytes, kee\
    ps both ends
    cap-4k                                 eef6d6fe3ce9  caps tool outputs at 4,000 bytes, kee\
    ps both ends
    cap-8k                                 7126f7fe71d0  caps tool outputs at 8,000 bytes, kee\
    ps both ends
    cap-16k                                90c1cd72ffea  caps tool outputs at 16,000 bytes, ke\
    eps both ends
    head-200-lines                         e10ee4de5167  caps tool outputs at 200 lines, keeps\
     the beginning
    clear-keep-3                           3ee02adbc5e2  clears tool outputs but the newest 3,\
     at every request
    clear-60k-keep-3                       1b661d5d5c5d  clears tool outputs but the newest 3,\
     when est_tokens > 60,000, for good
    window-20                              573e4bc92708  keeps the first 2 and the newest 20 m\
    essages, and whole tool exchanges
    "#);
}

#[test]
fn the_list_as_json_is_what_the_reference_says() {
    let folder = Folder::new();
    let mut json = folder.run(&["policy", "list", "--format", "json"]).json();
    let policies = json["policies"].as_array_mut().unwrap();
    assert_eq!(policies.len(), 9 + 32);
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
          "policy_id": "02bd68aa5ae1972ad915e3295bf1a83efb50714a944ef3d224ef63d44078ec94",
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
    let mut unset = 0;
    for policy in json["policies"].as_array().unwrap() {
        let id = policy["id"].as_str().unwrap();
        let shown = folder.run(&["policy", "show", id]);
        assert_eq!(shown.code, 0, "{id}");
        folder.write("p.toml", &shown.out);
        let checked = folder.run(&["policy", "check", "p.toml"]);
        if let Some(policy_id) = policy["policy_id"].as_str() {
            assert_eq!(checked.text(), format!("ok: p.toml: {id} {policy_id}\n"));
        } else {
            assert_eq!(checked.code, 1, "{id}");
            assert!(checked.err.contains("undocumented constants"), "{}", checked.err);
            unset += 1;
        }
    }
    assert_eq!(unset, 8);
}

#[test]
fn a_misspelt_field_is_shown_in_its_line() {
    let text =
        "name = \"x\"\nestimator = \"b4ceil\"\n\n[[step]]\nop = \"cap_text\"\n  limits = 9\n";
    assert_snapshot!(check(text), @r#"
    exit code 1
    --- err ---
    error: p.toml:6:3: unknown field `limits` in op "cap_text", expected one of `op`, `at`, `e\
    nabled`, `applies`, `trigger`, `unit`, `limit`, `threshold_cmp`, `threshold`, `ceiling`, `\
    limit_scale_per_mille`, `estimator`, `shape`, `head_per_mille`, `round`, `head`, `tail`, `\
    atoms`, `boundary`, `marker`, `marker_count`, `marker_in_limit`, `header`, `line_rule`, `o\
    nly_if_smaller`, `empty_tail`, `zero_is_unlimited`, `spill`, `preview`, `template`, `per_s\
    tream`, `run_length`
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
     `repair`, `media`, `inject`, `tools`, `total_cap`, `stack`, `on_overflow`
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

#[test]
fn every_policy_file_that_is_built_in_fits_the_schema() {
    let folder = Folder::new();
    let printed = folder.run(&["policy", "schema"]).json();
    let checked_in = include_str!("../../../docs/reference/policy.schema.json");
    let checked_in: serde_json::Value = serde_json::from_str(checked_in).unwrap();
    assert!(
        printed == checked_in,
        "write it with\n  cargo run -p counterfold-cli -- policy schema > \
         docs/reference/policy.schema.json"
    );
    let schema = jsonschema::validator_for(&printed).unwrap();
    let check = |toml: &str| schema.is_valid(&toml::from_str::<serde_json::Value>(toml).unwrap());
    for preset in projector::policy::presets::every() {
        let value = toml::from_str::<serde_json::Value>(preset.toml).unwrap();
        let errors: Vec<_> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", preset.id);
    }
    let text = folder.run(&["policy", "show", "cap-4k"]).text();
    assert!(check(&text));
    for (old, new) in [
        ("limit = 4000", "limits = 4000"),
        ("limit = 4000", "limit = -1"),
        ("unit = \"b\"", "unit = \"bytes\""),
        ("op = \"cap_text\"", "op = \"cap\""),
        ("estimator = \"b4ceil\"", ""),
    ] {
        assert!(text.contains(old), "{old}");
        assert!(!check(&text.replace(old, new)), "{new}");
    }
}

#[test]
fn pages_of_the_reference_are_what_the_program_prints() {
    let folder = Folder::new();
    for (page, file, text) in [
        ("presets", "presets.md", include_str!("../../../docs/reference/presets.md")),
        (
            "language",
            "policy-language.md",
            include_str!("../../../docs/reference/policy-language.md"),
        ),
    ] {
        let printed = folder.run(&["reference-markdown", page]).text();
        assert!(
            printed == text,
            "write it with\n  cargo run -p counterfold-cli -- reference-markdown {page} > \
             docs/reference/{file}"
        );
    }
}

#[test]
fn m55_a_constant_that_nobody_has_documented_has_to_be_set() {
    let folder = Folder::new();
    folder.write("o.txt", "x".repeat(50).as_bytes());
    let refused = folder.run(&["policy", "apply", "roo@cb83656", "o.txt"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("have to be set: `cap_text.limit`"), "{}", refused.err);
    assert!(refused.err.contains("--set cap_text.limit=VALUE"), "{}", refused.err);
    let set = ["policy", "apply", "roo@cb83656", "--set", "cap_text.limit=10", "o.txt"];
    assert_eq!(folder.run(&set).text(), "xx\n[...40 characters omitted...]\nxxxxxxxx");
    let based = "name = \"mine\"\nbase = \"roo@cb83656\"\n[[override]]\nop = \"cap_text\"\n\
                 limit = 10\n";
    folder.write("mine.toml", based.as_bytes());
    assert_eq!(folder.run(&["policy", "check", "mine.toml"]).code, 0);
    let applied = folder.run(&["policy", "apply", "mine.toml", "o.txt"]);
    assert_eq!(applied.text(), "xx\n[...40 characters omitted...]\nxxxxxxxx");
}

#[test]
fn cases_are_answered_line_by_line() {
    let folder = Folder::new();
    let cases = concat!(
        "{\"id\": 1, \"x\": \"616263\"}\n",
        "\n",
        "{\"id\": \"two\", \"x\": \"f09f9880f09f9880f09f9880\", \"tool\": \"run_shell_command\"}\n",
        "{\"id\": [3], \"x\": \"6\"}\n",
    );
    folder.write("cases", cases.as_bytes());
    let words = [
        "policy",
        "apply",
        "gemini-cli@0.61.0",
        "--set",
        "cap_text.limit=5",
        "--value",
        "spill=F",
        "--ndjson",
        "cases",
    ];
    let text = folder.run(&words).text();
    let answers: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!((&answers[0]["y"], &answers[0]["hidden"]), (&"616263".into(), &0.into()));
    assert_eq!(answers[1]["id"], "two");
    // One unit of the first pair and four of the last two.
    assert!(answers[1]["utf16"].as_str().unwrap().ends_with("d83dde00d83dde00"));
    assert!(answers[1]["utf16"].as_str().unwrap().contains("000ad83d000a"));
    assert_eq!((&answers[2]["fidelity"], &answers[2]["id"][0]), (&"refused".into(), &3.into()));
    folder.write("bad", b"{\"id\": 1}\n");
    assert_eq!(folder.run(&["policy", "apply", "cap-4k", "--ndjson", "bad"]).code, 2);
}
