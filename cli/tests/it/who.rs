//! `sessions`, `calls`, `hooks`, `principals`, `show CALL`, `import acp`, `acp -- CMD`.

use std::io::Write as _;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::program::{Folder, folded};

const ASK: &str = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"agent-call-1","title":"rm -r out","kind":"execute","rawInput":{"command":"rm -r out"}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}"#;

/// A connection with a permission, a call that it is for, and one of a tool server.
fn log() -> String {
    [
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":[{"name":"lab"}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"clean up please"}]}}"#,
        ASK,
        r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"agent-call-1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"removed"}}]}}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"agent-call-2","title":"lab__read"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#,
    ]
    .join("\n")
}

fn imported() -> Folder {
    let folder = Folder::new();
    folder.write("session.acp.jsonl", log().as_bytes());
    let words = ["import", "acp", "session.acp.jsonl", "--into", "runs", "--tool", "read"];
    let ran = folder.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    folder
}

#[test]
fn a_connection_is_listed_by_sessions_calls_and_questions() {
    let folder = imported();
    assert_snapshot!(folder.run(&["sessions", "runs/session"]).text(), @r"
    session  parent  basis   requests  turns  calls  open  state      client's id
          1       -  header         0      1      2     1  completed  s-1
    ");
    assert_snapshot!(folder.run(&["calls", "runs/session"]).text(), @r"
    call  session  from             tool       state      output  asked         hooks  attempts
       1        1  turn 1, native   rm -r out  completed     7 B  allowed once      0         0
       2        1  turn 1, bridged  lab__read  requested       -  -                 0         0
    ");
    assert_snapshot!(folder.run(&["hooks", "runs/session"]).text(), @r"
    question  call  session  asked by    state
           1     1        1  permission  allowed once
    ");
    let open = folder.run(&["calls", "runs/session", "--open"]).text();
    assert_eq!(open.lines().count(), 2);
}

#[test]
fn a_calls_whole_life_is_told() {
    let folder = imported();
    let text = folder.run(&["show", "runs/session", "call-1"]).text();
    let (_, life) = text.split_once("state: ").unwrap();
    assert_snapshot!(folded(life), @r#"
    completed
    session: 1
    turn: 1
    lane: native
    ambiguous: false
    asked_at_event: 7
    tool: rm -r out
    arguments: {"command":"rm -r out"}
    hooks: none
    questions:
      [0]:
        question: 1
        state: allowed once
        asked_at_event: 8
        asker: permission
        offered: 2
        answered_at_event: 9
        taken: y
        stray_receipts: 0
    attempts:
      [0]:
        attempt: 0
        dispatched_at_event: -
        correlation: -
        ended_at_event: 11
        outcome: completed
        raw: {"sessionUpdate":"tool_call_update","toolCallId":"agent-call-1","status":"complet\
    ed","content":[{"type":"content","content":{"type":"text","text":"removed"}}]}
    outputs:
      [0]:
        event: 10
        texts:
          [0]:
            text:
              artifact: e1f79758cc42e6fe6037941205d1fbc37f5780f13aa077d0ba8287fd93cecd52
              bytes: 7
            bytes: 7
        dropped_bytes: unknown
    result: shown
    "#);
    let missing = folder.run(&["show", "runs/session", "call-3"]);
    assert_eq!(missing.code, 2);
    assert!(missing.shown().contains("no call 3"), "{}", missing.shown());
}

#[test]
fn a_call_on_the_wire_says_what_later_requests_showed() {
    let folder = Folder::with_recording();
    let life = folder.run(&["show", "runs/tiny", "call-1", "--format", "json"]).json();
    assert_eq!(life["life"]["state"], "returned");
    assert_eq!(life["life"]["tool"], "bash");
    assert_eq!(life["life"]["later_requests"][0]["first"], 2);
    assert_eq!(life["life"]["later_requests"][0]["shows"], "output");
}

#[test]
fn t05_views_have_no_ids_of_providers_and_requests_have_them_byte_for_byte() {
    let folder = imported();
    for view in ["sessions", "calls", "hooks", "principals"] {
        let shown = folder.run(&[view, "runs/session", "--format", "json"]).text();
        assert!(!shown.contains("agent-call"), "{view}: {shown}");
    }
    let folder = Folder::with_recording();
    let log = folder.run(&["log", "runs/tiny", "--format", "json"]).json();
    let answered = log["events"].as_array().unwrap().iter();
    let mut answered = answered.filter(|event| event["kind"] == "response_received");
    let seq = answered.next().unwrap()["seq"].to_string();
    let event = folder.run(&["show", "runs/tiny", &seq, "--format", "json"]).json();
    let items = event["event"]["items"].as_array().unwrap().clone();
    let id = items.iter().find_map(|item| item["call_id"].as_str()).unwrap().to_owned();
    for view in ["sessions", "calls", "hooks", "principals"] {
        let shown = folder.run(&[view, "runs/tiny", "--format", "json"]).text();
        assert!(!shown.contains(&id), "{view}: {shown}");
    }
    // The request that returns the result names it by the provider's id, and is proven.
    let body = folder.run(&["project", "runs/tiny@2"]).text();
    assert!(body.contains(&id));
    assert_eq!(folder.run(&["verify", "runs/tiny"]).code, 0);
}

#[test]
fn t61_a_listing_of_a_log_can_be_passed_on_without_what_was_said() {
    let folder = imported();
    let shown = folder.run(&["log", "runs/session", "--format", "json"]).text();
    for said in ["clean up please", "removed", "\"command\""] {
        assert!(!shown.contains(said), "{said}");
    }
    let folder = Folder::with_recording();
    let log = folder.run(&["log", "runs/tiny", "--format", "json"]);
    assert!(!log.text().contains("Look around"));
    let captured = log.json()["events"].as_array().unwrap().clone();
    let captured = captured.iter().find(|event| event["kind"] == "request_captured").unwrap();
    let seq = captured["seq"].to_string();
    let event = folder.run(&["show", "runs/tiny", &seq, "--format", "json"]).json();
    assert_eq!(event["event"]["body_digest"].as_str().unwrap().len(), 64);
}

#[test]
fn h05_a_listing_has_principal_and_session_id_as_members_of_their_own() {
    let folder = imported();
    let id = "00112233445566778899aabbccddeeff";
    let words = ["principals", "runs/session", "--id", id, "--format", "json"];
    let ran = folder.run(&words);
    assert_eq!(ran.code, 1);
    let row = ran.json()["principals"][0].clone();
    assert_eq!((&row["principal"], &row["status"]), (&id.into(), &"unknown".into()));
    assert!(row.as_object().unwrap().contains_key("session_id"));
    let none = folder.run(&["principals", "runs/session"]).text();
    assert_eq!(none, "no principals on record\n");
    assert_eq!(folder.run(&["principals", "runs/session", "--id", "7"]).code, 2);
}

/// A recording `runs/acting` with two principals of one name, the first of which is gone.
fn acting(folder: &Folder) -> [String; 2] {
    use ledger::event::{Continues, MintReason, Origin, StopReason};
    use ledger::recorder::{Durability, Identity, Recorder, RunSpec};
    std::fs::create_dir(folder.path("runs")).unwrap();
    let spec = RunSpec {
        identity: Identity::random(1).unwrap(),
        origin: Origin::Api,
        source: None,
        recorder: "test",
        durability: Durability::Batched,
    };
    let redactor = artifacts::redact::Redactor::core();
    let mut recorder = Recorder::create(&folder.path("runs/acting"), redactor, &spec).unwrap();
    let mut journal = recorder.journal();
    let principals = [1, 2].map(|number: u64| {
        let principal = journal.mint_principal(MintReason::Launch, Continues::New).unwrap();
        let process = format!("process-{number}");
        journal.bind_principal(principal, b"luna", Some(process.as_bytes())).unwrap();
        let session = format!("tool-session-{number}");
        journal.observe_principal(principal, Some(session.as_bytes()), number).unwrap();
        if number == 1 {
            journal.stop_principal(principal, StopReason::Ended).unwrap();
        }
        principal.to_string()
    });
    recorder.leave().unwrap();
    principals
}

#[test]
fn h10_json_compat() {
    let folder = Folder::new();
    let [gone, here] = acting(&folder);
    let listed = |id: &str| {
        let words = ["principals", "runs/acting", "--id", id, "--format", "json"];
        let ran = folder.run(&words);
        (ran.code, ran.json()["principals"][0].clone())
    };
    let (code, row) = listed(&here);
    assert_eq!((code, &row["status"]), (0, &"resolved".into()));
    // `session_id` is the tool's own, whatever principals there are.
    assert_eq!((&row["principal"], &row["session_id"]), (&here.into(), &"tool-session-2".into()));
    assert_eq!((&row["instance"], &row["process"]), (&"luna".into(), &"process-2".into()));
    let (code, row) = listed(&gone);
    assert_eq!((code, &row["status"]), (1, &"unresolved".into()));
    assert_eq!((&row["session_id"], &row["process"]), (&Value::Null, &Value::Null));
    // A listing of sessions is as it is without principals.
    let sessions = folder.run(&["sessions", "runs/acting", "--format", "json"]).json();
    assert_eq!(sessions["sessions"], Value::Array(Vec::new()));
}

#[test]
fn a_damaged_log_is_listed_up_to_the_damage_and_ends_with_2() {
    let folder = imported();
    let log = std::fs::read_dir(folder.path("runs/session/log")).unwrap().next().unwrap().unwrap();
    let mut bytes = std::fs::read(log.path()).unwrap();
    let at = bytes.len() * 2 / 3;
    bytes[at] ^= 1;
    std::fs::write(log.path(), bytes).unwrap();
    for view in ["sessions", "calls", "hooks", "principals"] {
        let ran = folder.run(&[view, "runs/session", "--format", "json"]);
        assert_eq!(ran.code, 2, "{view}");
        assert!(ran.shown().contains("error:"), "{view}: {}", ran.shown());
    }
}

#[test]
fn an_agent_is_recorded_while_it_is_carried() {
    let folder = Folder::new();
    let words = ["acp", "--into", "runs", "--name", "live", "--", "cat"];
    let mut command = folder.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let line = format!("{}\n", log().lines().next().unwrap());
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    // The agent is an echo: what went in came out.
    assert_eq!(String::from_utf8(out.stdout).unwrap(), line);
    let listed = folder.run(&["log", "runs/live"]).text();
    assert!(listed.contains("run_opened") && listed.contains("run_closed"), "{listed}");
    let failing = ["acp", "--into", "runs", "--name", "failing", "--", "false"];
    assert_eq!(folder.run(&failing).code, 2);
    let nothing = ["acp", "--into", "runs", "--name", "nothing", "--", "./no-such-program"];
    let ran = folder.run(&nothing);
    assert_eq!(ran.code, 2);
    assert!(ran.shown().contains("command does not start"), "{}", ran.shown());
}
