//! `log`, `show`, `cat` and `stats`.

use insta::assert_snapshot;

use crate::program::{Folder, folded, without_ids};

#[test]
fn a_log_is_one_line_per_event_without_content() {
    let folder = Folder::with_recording();
    // The first event has the time of the import.
    let text = folder.run(&["log", "runs/tiny", "--session", "1"]).text();
    assert_snapshot!(folded(&text), @r#"
         3  2026-01-02T03:04:00.000Z  session_opened      conversation 1  basis content
         4  2026-01-02T03:04:00.000Z  message_added       conversation 1  messages 1  user 1
         5  2026-01-02T03:04:00.000Z  request_captured    request 1  conversation 1  model cla\
    ude-tiny  dialect anthropic  body 173 B  rung body-exact
         6  2026-01-02T03:04:00.000Z  request_dispatched  request 1  method POST  url http://1\
    27.0.0.1/v1/messages
         7  2026-01-02T03:04:00.000Z  response_received   request 1  status 200  body 258 B  t\
    exts 1  tool calls 1  input tokens 10  output tokens 5
         8  2026-01-02T03:04:00.000Z  tool_called         call 1  tool bash  request 1
         9  2026-01-02T03:04:01.000Z  tool_returned       call 1  tool bash  output 2.7 kB  dr\
    opped unknown
        10  2026-01-02T03:04:01.000Z  message_added       conversation 1  messages 2  answers \
    1  tool results 1
        11  2026-01-02T03:04:01.000Z  request_captured    request 2  conversation 1  model cla\
    ude-tiny  dialect anthropic  body 3.2 kB  rung body-exact
        12  2026-01-02T03:04:01.000Z  request_dispatched  request 2  method POST  url http://1\
    27.0.0.1/v1/messages
        13  2026-01-02T03:04:01.000Z  response_received   request 2  status 200  body 186 B  t\
    exts 1  input tokens 10  output tokens 5
    "#);
    let all = folder.run(&["log", "runs/tiny"]).text();
    assert!(!all.contains("line 001") && !all.contains("Look around"), "{all}");
}

#[test]
fn a_log_can_be_narrowed_to_kinds() {
    let folder = Folder::with_recording();
    let words = ["log", "runs", "--kind", "tool_called", "--kind", "imported_record"];
    let text = folder.run(&words).text();
    let kinds: Vec<_> = text.lines().map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(kinds.len(), 5, "{text}");
    assert_eq!(kinds.iter().filter(|kind| **kind == Some("tool_called")).count(), 4);
}

#[test]
fn one_event_is_shown_in_full() {
    let folder = Folder::with_recording();
    let log = folder.run(&["log", "runs/tiny", "--format", "json"]).json();
    let events = log["events"].as_array().unwrap();
    let called = events.iter().find(|event| event["kind"] == "response_received").unwrap();
    let seq = called["seq"].to_string();
    let text = folder.run(&["show", "runs/tiny", &seq]).text();
    let (_, event) = text.split_once("event:\n").unwrap();
    assert_snapshot!(folded(&without_ids(event)), @r#"
      request: 1
      status: 200
      time_us: 12500
      headers:
        [0]:
          name: content-type
          value: application/json
      body: {"content":[{"text":"I look.","type":"text"},{"id":"toolu_1","input":{"cmd":"ls"},\
    "name":"bash","type":"tool_use"}],"id":"msg_1","model":"claude-tiny","role":"assistant","s\
    top_reason":"tool_use","type":"message","usage":{"input_tokens":10,"output_tokens":5}}
      body_withheld: false
      items:
        [0]:
          kind: text
          complete: true
          name: -
          call_id: -
          item_id: -
          text: I look.
        [1]:
          kind: tool_call
          complete: true
          name: bash
          call_id: toolu_1
          item_id: -
          text: {"cmd":"ls"}
      usage:
        input_tokens: 10
        output_tokens: 5
        cache_read_tokens: -
        cache_write_tokens: -
        reasoning_tokens: -
        total_tokens: -
      stop: tool_use
      answer_id: msg_1
      unparsed_events: 0
    "#);
    let json = folder.run(&["show", "runs/tiny", &seq, "--format", "json"]).json();
    assert_eq!(json["schema"], "counterfold.event/1");
    assert_eq!(json["event"]["status"], 200);
}

#[test]
fn an_artifact_is_printed_by_a_prefix_of_its_id() {
    let folder = Folder::with_recording();
    let words = ["project", "runs/tiny@2", "--format", "json"];
    let json = folder.run(&words).json();
    let segments = json["segments"].as_array().unwrap();
    let output = segments.iter().find(|segment| segment["what"] == "tool output").unwrap();
    let id = output["artifact"].as_str().unwrap();
    let text = folder.run(&["cat", "runs/tiny", &id[..10]]).text();
    assert!(text.starts_with("\u{1b}[31mred\u{1b}[0m caf\u{e9} \u{202e}mirrors\nline 001"));
    let escaped = folder.run(&["cat", "runs/tiny", id, "--escape"]).text();
    assert!(escaped.starts_with("^[[31mred^[[0m caf\u{e9} \\u{202e}mirrors\nline 001"));
}

#[test]
fn a_body_is_printed_as_it_was_sent() {
    let folder = Folder::with_recording();
    let har: serde_json::Value = serde_json::from_str(&crate::har::tiny()).unwrap();
    for (ordinal, entry) in har["log"]["entries"].as_array().unwrap().iter().enumerate().skip(1) {
        let body = entry["request"]["postData"]["text"].as_str().unwrap();
        let name = format!("runs/tiny@{ordinal}");
        assert_eq!(folder.run(&["cat", &name]).text(), body, "{name}");
    }
}

#[test]
fn stats_as_json_counts_without_estimates() {
    let folder = Folder::with_recording();
    let mut json = folder.run(&["stats", "runs", "--format", "json"]).json();
    // What a store takes on disk is not part of the contract, only that it is told.
    for name in ["stored_bytes", "artifact_bytes", "artifacts", "parts", "events"] {
        for place in ["", "/recordings/0/stats"] {
            let value = json.pointer_mut(&format!("{place}/{name}")).unwrap();
            assert!(value.as_u64().unwrap() > 0);
            *value = serde_json::Value::from("[n]");
        }
    }
    assert_snapshot!(serde_json::to_string_pretty(&json).unwrap(), @r#"
    {
      "artifact_bytes": "[n]",
      "artifacts": "[n]",
      "conversations": 4,
      "events": "[n]",
      "parts": "[n]",
      "recordings": [
        {
          "client": "tiny/1.0 (test)",
          "error": null,
          "error_kind": null,
          "path": "runs/tiny",
          "stats": {
            "artifact_bytes": "[n]",
            "artifacts": "[n]",
            "conversations": 4,
            "events": "[n]",
            "parts": "[n]",
            "records": 1,
            "redactions": 0,
            "request_bytes": 13091,
            "requests": 8,
            "stored_bytes": "[n]",
            "tool_calls": 4,
            "unsplit": 0
          }
        }
      ],
      "records": 1,
      "redactions": 0,
      "request_bytes": 13091,
      "requests": 8,
      "schema": "counterfold.stats/1",
      "stored_bytes": "[n]",
      "tool_calls": 4,
      "unsplit": 0
    }
    "#);
}

#[test]
fn stats_as_a_table_say_what_was_sent_and_what_is_kept() {
    let folder = Folder::with_recording();
    let text = folder.run(&["stats", "runs"]).text();
    let head: Vec<_> = text.lines().next().unwrap().split("  ").filter(|w| !w.is_empty()).collect();
    assert_eq!(head[..3], ["recording", "client", "requests"]);
    assert!(text.contains("tiny/1.0"), "{text}");
}

#[test]
fn the_short_name_is_the_same_program() {
    let folder = Folder::with_recording();
    let (long, short) = (folder.run(&["stats", "runs"]), folder.run_short(&["stats", "runs"]));
    assert_eq!((long.code, long.out), (short.code, short.out));
}

#[test]
fn completions_know_the_subcommands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = folder.run(&["completions", shell, "--name", "cfold"]);
        assert_eq!(ran.code, 0);
        assert!(ran.text().contains("sweep") && ran.text().contains("cfold"), "{shell}");
    }
}
