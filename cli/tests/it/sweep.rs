//! `sweep`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::har;
use crate::program::{Folder, without_ids};

#[test]
fn a_sweep_over_the_built_in_policies_is_sorted_by_tokens() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["sweep", "runs"]).shown(), @r#"
    exit code 0
    --- out ---
    Tokens are estimated (b4ceil, a quarter of the body's bytes, rounded up).
    The recorded trajectory is held fixed: after the frontier, the model's answers are what it\
     said under the recorded policy.

    recording  policy            requests  changed  frontier  tokens max  tokens total  of rec\
    orded  hidden  fidelity
    tiny       cap-2k                   8        4         2         621         2,560       7\
    8.1 %  2.9 kB  4 derived 4 assumed
    tiny       recorded                 8        0         -         800         3,276      10\
    0.0 %     0 B  8 exact
    tiny       cap-4k                   8        0         -         800         3,276      10\
    0.0 %     0 B  4 derived 4 assumed
    tiny       cap-8k                   8        0         -         800         3,276      10\
    0.0 %     0 B  4 derived 4 assumed
    tiny       cap-16k                  8        0         -         800         3,276      10\
    0.0 %     0 B  4 derived 4 assumed
    tiny       head-200-lines           8        0         -         800         3,276      10\
    0.0 %     0 B  4 derived 4 assumed
    tiny       clear-keep-3             8        0         -         800         3,276      10\
    0.0 %     0 B  8 derived
    tiny       clear-60k-keep-3         8        0         -         800         3,276      10\
    0.0 %     0 B  8 derived
    tiny       window-20                8        0         -         800         3,276      10\
    0.0 %     0 B  8 derived

    assumed or refused: 20 projections of cap-2k, cap-4k, cap-8k, cap-16k, head-200-lines: the\
     output as sent is taken for the whole output
    "#);
}

#[test]
fn several_recordings_have_totals_and_can_be_sorted_by_name() {
    let folder = Folder::with_recording();
    folder.write("second.har", har::tiny().as_bytes());
    folder.run(&["import", "har", "second.har", "--into", "runs"]);
    let words = ["sweep", "runs", "-p", "recorded", "-p", "cap-2k", "--sort", "name"];
    assert_snapshot!(folder.run(&words).shown(), @r#"
    exit code 0
    --- out ---
    Tokens are estimated (b4ceil, a quarter of the body's bytes, rounded up).
    The recorded trajectory is held fixed: after the frontier, the model's answers are what it\
     said under the recorded policy.

    recording  policy    requests  changed  frontier  tokens max  tokens total  of recorded  h\
    idden  fidelity
    second     cap-2k           8        4         2         621         2,560       78.1 %  2\
    .9 kB  4 derived 4 assumed
    second     recorded         8        0         -         800         3,276      100.0 %   \
      0 B  8 exact
    tiny       cap-2k           8        4         2         621         2,560       78.1 %  2\
    .9 kB  4 derived 4 assumed
    tiny       recorded         8        0         -         800         3,276      100.0 %   \
      0 B  8 exact
    total      cap-2k          16        8         -         621         5,120       78.1 %  5\
    .8 kB  8 derived 8 assumed
    total      recorded        16        0         -         800         6,552      100.0 %   \
      0 B  16 exact

    assumed or refused: 8 projections of cap-2k: the output as sent is taken for the whole out\
    put
    "#);
}

#[test]
fn a_sweep_as_json_names_parameters_and_what_fidelity_rests_on() {
    let folder = Folder::with_recording();
    let words = ["sweep", "runs", "--policy", "cap-2k", "--format", "json"];
    let json = folder.run(&words).json();
    assert_eq!(json["recordings"][0]["path"], "runs/tiny");
    let total = &json["totals"][0];
    assert_eq!((&total["recording"], &total["frontier"]), (&Value::Null, &Value::Null));
    assert_eq!(total["tokens_total"], json["rows"][0]["tokens_total"]);
    let applies = json!({
        "tools": [],
        "exclude_tools": [],
        "tool_prefix": [],
        "kinds": [],
        "single_part": false,
    });
    assert_eq!(json["policies"][0]["id"], "cap-2k");
    assert_eq!(json["policies"][0]["params"]["steps"][0]["applies"], applies);
    assert_eq!(json["policies"][0]["params"]["steps"][0]["limit"], 2000);
    let shown = serde_json::to_string_pretty(&json["rows"]).unwrap();
    assert_snapshot!(without_ids(&shown), @r#"
    [
      {
        "body_bytes": 10227,
        "broken_pairs": 0,
        "capped_results": 4,
        "changed": 4,
        "cleared_results": 0,
        "dropped_messages": 0,
        "error": null,
        "error_kind": null,
        "estimator": "b4ceil",
        "fidelity": {
          "assumed": 4,
          "derived": 4,
          "exact": 0,
          "refused": 0
        },
        "frontier": 2,
        "hidden_bytes": 2920,
        "hidden_bytes_max": 730,
        "policy": "cap-2k",
        "reasons": [
          {
            "reason": "the output as sent is taken for the whole output",
            "requests": 4,
            "step": 0
          }
        ],
        "recording": "runs/tiny",
        "requests": 8,
        "tokens_max": 621,
        "tokens_recorded": 3276,
        "tokens_total": 2560
      }
    ]
    "#);
}

#[test]
fn a_recording_without_requests_takes_one_line() {
    let folder = Folder::with_recording();
    folder.write("none.har", crate::har::har(&[]).as_bytes());
    assert_eq!(folder.run(&["import", "har", "none.har", "--into", "runs"]).code, 0);
    let ran = folder.run(&["sweep", "runs", "-p", "cap-2k", "-p", "cap-4k"]);
    assert_eq!(ran.code, 0);
    let text = ran.text();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("none ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].ends_with(" no requests"), "{text}");
    assert!(!text.contains("\ntotal "), "{text}");
    let none = folder.run(&["sweep", "runs/none"]);
    assert_eq!(none.code, 2);
    assert_eq!(none.text().matches("no requests").count(), 1, "{}", none.text());
}
