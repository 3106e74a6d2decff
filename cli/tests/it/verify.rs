//! `verify`.

use insta::assert_snapshot;

use crate::har;
use crate::program::{Folder, without_ids};

#[test]
fn every_request_of_every_dialect_is_identical() {
    let folder = Folder::with_recording();
    assert_snapshot!(folder.run(&["verify", "runs", "--requests"]).shown(), @r#"
    exit code 0
    --- out ---
    recording  requests  identical  diverged  unverifiable  rung          linked  client's own\
      head
    tiny              8          8         0             0  8 body-exact     8/8         6.5 %\
      48:[id]

    linked: assistant and tool-result parts linked to the answer or call they come from (100.0\
     %)
    client's own: bytes that only the client's own text explains (797 B of 12.2 kB, 6.5 %)
    wire: not recorded (these runs were imported; their connections are not on record)

    tiny:
    request  rung        hash       reassembly  projection  reason
          1  body-exact  identical  identical   identical
          2  body-exact  identical  identical   identical
          3  body-exact  identical  identical   identical
          4  body-exact  identical  identical   identical
          5  body-exact  identical  identical   identical
          6  body-exact  identical  identical   identical
          7  body-exact  identical  identical   identical
          8  body-exact  identical  identical   identical
    tiny: coverage 4095.0 %: about 3,276 of 80 reported input tokens
    tiny: unexplained: 1 x exchange that is not a model request kept as a record
    "#);
}

#[test]
fn verify_as_json_is_what_the_reference_says() {
    let folder = Folder::with_recording();
    let mut document = folder.run(&["verify", "runs", "--format", "json"]).json();
    let requests = document["recordings"][0]["requests"].as_array_mut().unwrap();
    assert_eq!(requests.len(), 8);
    requests.truncate(1);
    // It has a test of its own.
    document["recordings"][0]["coverage"].take();
    let shown = serde_json::to_string_pretty(&document).unwrap();
    assert_snapshot!(without_ids(&shown), @r#"
    {
      "baseline": null,
      "level": "all",
      "ok": true,
      "paranoid": null,
      "recordings": [
        {
          "baseline": {
            "differences": [],
            "status": "not_asked"
          },
          "below_min_rung": [],
          "client": "tiny/1.0 (test)",
          "counts": {
            "diverged": 0,
            "identical": 8,
            "requests": 8,
            "unverifiable": 0
          },
          "coverage": null,
          "damage": [],
          "error": null,
          "error_kind": null,
          "head": "48:[id]",
          "notices": [],
          "parts": {
            "bytes": 12171,
            "caused_bytes": 11374,
            "edited": 0,
            "first_seen": 12,
            "inserted": 1,
            "linked": 11,
            "model_and_tool": 8,
            "model_and_tool_linked": 8,
            "unlinked": [],
            "verbatim_bytes": 797
          },
          "path": "runs/tiny",
          "requests": [
            {
              "divergence": null,
              "drifted": null,
              "fidelity": "exact",
              "hash": "identical",
              "n": 1,
              "projection": "identical",
              "reason": null,
              "reassembly": "identical",
              "rung": "body-exact"
            }
          ],
          "run": "[id]",
          "tail": null,
          "wire": "not_recorded"
        }
      ],
      "schema": "counterfold.verify/1"
    }
    "#);
}

#[test]
fn a_rung_below_the_demanded_one_is_a_finding() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["verify", "runs", "--min-rung", "wire-exact"]);
    assert_eq!(ran.code, 1);
    let words = "\ntiny: below wire-exact: requests 1, 2, 3, 4, 5, 6, 7, 8\n";
    assert!(ran.text().contains(words), "{}", ran.text());
    assert_eq!(folder.run(&["verify", "runs", "--min-rung", "body-exact"]).code, 0);
}

#[test]
fn the_wire_level_of_an_import_is_not_recorded_and_no_error() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["verify", "runs", "--level", "wire"]);
    assert_eq!(ran.code, 0);
    assert!(ran.text().contains("wire: not recorded"), "{}", ran.text());
    let json = folder.run(&["verify", "runs", "--level", "wire", "--format", "json"]).json();
    assert_eq!(json["recordings"][0]["wire"], "not_recorded");
    assert_eq!(json["recordings"][0]["requests"][0]["projection"], "not_applicable");
}

#[test]
fn the_hash_level_names_the_component_that_drifted_and_checks_nothing_else() {
    let folder = Folder::with_forgeries();
    let ran = folder.run(&["verify", "forged/component", "--level", "hash"]);
    assert_eq!(ran.code, 1);
    let words = "\ncomponent@2: hash diverged, first in the messages\n";
    assert!(ran.text().contains(words), "{}", ran.text());
    let json = folder.run(&["verify", "forged/component", "--level=hash", "--format=json"]).json();
    let requests = &json["recordings"][0]["requests"];
    assert_eq!(requests[1]["drifted"], "messages");
    let checks = ["hash", "reassembly", "projection"].map(|check| requests[1][check].clone());
    assert_eq!(checks, ["diverged", "not_applicable", "not_applicable"]);
    let checks = ["hash", "reassembly", "projection"].map(|check| requests[0][check].clone());
    assert_eq!(checks, ["identical", "not_applicable", "not_applicable"]);
    // The other levels cannot see it: the bytes are those that were recorded.
    for (level, code) in [("reassembly", 0), ("projection", 0), ("wire", 0), ("all", 1)] {
        let ran = folder.run(&["verify", "forged/component", "--level", level]);
        assert_eq!(ran.code, code, "{level}: {}", ran.text());
    }
}

#[test]
fn each_level_finds_what_it_proves() {
    let folder = Folder::with_forgeries();
    for (forged, level, code) in [
        ("forged/digest", "hash", 0),
        ("forged/digest", "reassembly", 1),
        ("forged/digest", "projection", 1),
        ("forged/untold", "hash", 0),
        ("forged/untold", "reassembly", 0),
        ("forged/untold", "projection", 1),
        ("forged/same", "all", 0),
    ] {
        let ran = folder.run(&["verify", forged, "--level", level]);
        assert_eq!(ran.code, code, "{forged} {level}: {}", ran.text());
    }
}

#[test]
fn coverage_below_the_demanded_one_is_a_finding_and_an_unknown_one_is_not() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["verify", "runs", "--min-coverage", "40951"]);
    assert_eq!(ran.code, 1);
    let words = "\ntiny: coverage 4095.0 % is below 4095.1 %\n";
    assert!(ran.text().contains(words), "{}", ran.text());
    assert_eq!(folder.run(&["verify", "runs", "--min-coverage", "40950"]).code, 0);
    let json = folder.run(&["verify", "runs", "--min-coverage=40951", "--format=json"]).json();
    let kind = "exchange that is not a model request kept as a record";
    let expected = serde_json::json!({
        "with_usage": 8, "without_usage": 0, "captured_tokens": 3276, "reported_tokens": 80,
        "per_mille": 40950, "below_min": true, "unexplained": [{"kind": kind, "calls": 1}]
    });
    assert_eq!(json["recordings"][0]["coverage"], expected);
    folder.write("big.har", har::large().as_bytes());
    let unknown = folder.run(&["verify", "big.har", "--min-coverage", "1000"]);
    assert_eq!(unknown.code, 0);
    let words = "\nbig.har: coverage unknown: no answer reports its input\n";
    assert!(unknown.text().contains(words), "{}", unknown.text());
}

/// Flips a bit in the middle of the only file of a folder with this ending.
fn damage(folder: &Folder, place: &str, ending: &str) {
    let files = std::fs::read_dir(folder.path(place)).unwrap().map(|file| file.unwrap().path());
    let file = files.filter(|file| file.to_string_lossy().ends_with(ending)).last().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

#[test]
fn a_damaged_store_is_undecided_and_names_the_place() {
    let folder = Folder::with_recording();
    damage(&folder, "runs/tiny/art", ".pack");
    let ran = folder.run(&["verify", "runs"]);
    assert_eq!(ran.code, 2);
    assert!(ran.text().contains("tiny: damage: runs/tiny/art/"), "{}", ran.text());
    assert_eq!(folder.run(&["verify", "runs", "--format", "json"]).json()["ok"], false);
}

#[test]
fn a_damaged_log_is_an_entry_with_an_error() {
    let folder = Folder::with_recording();
    damage(&folder, "runs/tiny/log", ".seg");
    let ran = folder.run(&["verify", "runs", "--format", "json"]);
    assert_eq!(ran.code, 2);
    let json = ran.json();
    let entry = &json["recordings"][0];
    assert_eq!(entry["error_kind"], "damage");
    assert!(entry["error"].as_str().unwrap().starts_with("log is damaged at frame "));
    assert_eq!(entry["requests"], serde_json::json!([]));
    assert!(ran.err.contains("\nhint: restore the folder from a copy"), "{}", ran.err);
    let log = folder.run(&["log", "runs/tiny"]);
    assert_eq!(log.code, 2);
    assert!(log.text().contains("run_opened"), "{}", log.text());
}

#[test]
fn a_body_that_could_not_be_split_is_kept_whole_and_not_projected() {
    let folder = Folder::new();
    folder.write("odd.har", har::unsplit().as_bytes());
    let imported = folder.run(&["import", "har", "odd.har", "--into", "runs"]);
    assert!(imported.text().contains("1 x request body kept whole"), "{}", imported.text());
    let json = folder.run(&["verify", "runs", "--format", "json"]).json();
    let request = &json["recordings"][0]["requests"][0];
    assert_eq!(request["reassembly"], "identical");
    assert_eq!(request["projection"], "not_applicable");
    assert!(request["reason"].as_str().unwrap().starts_with("body kept whole"), "{request}");
    let sweep = folder.run(&["sweep", "runs", "-p", "cap-2k", "--format", "json"]).json();
    assert_eq!(sweep["rows"][0]["fidelity"]["refused"], 1);
    for command in ["project", "diff"] {
        let ran = folder.run(&[command, "runs/odd@1", "-p", "cap-2k"]);
        assert_eq!((ran.code, ran.out.as_slice()), (2, b"".as_slice()), "{command}");
        assert!(ran.err.starts_with("error: request 1 cannot be projected: "), "{}", ran.err);
    }
    assert_eq!(folder.run(&["project", "runs/odd@1"]).text(), "[1, 2]");
}

#[test]
fn m30_the_wire_level_says_that_nothing_is_recorded_and_does_not_fail_for_it() {
    let folder = Folder::with_recording();
    let shown = folder.run(&["verify", "runs", "--level", "wire"]).shown();
    assert!(shown.starts_with("exit code 0"), "{shown}");
    assert!(shown.contains("wire: not recorded"), "{shown}");
    // Asking for the rung turns it into a failure.
    let demanded = folder.run(&["verify", "runs", "--min-rung", "wire-exact"]).shown();
    assert!(demanded.starts_with("exit code 1"), "{demanded}");
}
