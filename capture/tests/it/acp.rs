//! Goal: what an agent protocol says of sessions, calls and permissions is on record, each call
//! once, on the right lane; whatever is odd is counted and joins nothing. Method: small logs
//! written by hand, one per statement, imported and read back from disk; and the recorded runs.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use artifacts::redact::Redactor;
use capture::acp::{
    AcpError, AcpOptions, AcpReport, Direction, Tee, TeeOptions, WhenUnrecorded, import_acp,
};
use capture::import::{FileError, NameTaken};
use ledger::event::{AliasForm, Event, IdentityEvent, Kind, Lane, Origin, Outcome, Stop, Verdict};
use ledger::fs::LogReader;
use ledger::id::ToolCallId;
use tempfile::TempDir;

struct Run {
    _folder: TempDir,
    report: AcpReport,
    events: Vec<Event>,
}

fn options(tools: &[&str]) -> AcpOptions<'static> {
    AcpOptions {
        name: None,
        recorder: "test",
        now_unix_ns: 1,
        identity: None,
        redactor: Redactor::core(),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
    }
}

fn events(recording: &Path) -> Vec<Event> {
    let mut reader = LogReader::open(recording).unwrap();
    // The whole log is a history, and its facts fit together.
    ledger::fs::history(&mut LogReader::open(recording).unwrap()).unwrap();
    let frames = reader.frames().map(Result::unwrap).filter(|frame| !frame.is_seal());
    frames.map(|f| Event::decode(f.kind(), f.version(), f.body()).unwrap()).collect()
}

fn import(tools: &[&str], lines: &[String]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let report = import_acp(&file, folder.path(), &options(tools)).unwrap();
    let events = events(&report.recording);
    Run { _folder: folder, report, events }
}

fn new_session(id: u32, session: &str, servers: &[&str]) -> Vec<String> {
    let servers: Vec<_> = servers.iter().map(|name| format!("{{\"name\":\"{name}\"}}")).collect();
    let servers = servers.join(",");
    vec![
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/new","params":{{"cwd":"/","mcpServers":[{servers}]}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"sessionId":"{session}"}}}}"#),
    ]
}

fn prompt(id: u32, session: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"go"}}]}}}}"#
    )
}

fn stopped(id: u32, reason: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"{reason}"}}}}"#)
}

fn update(session: &str, body: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{{body}}}}}}}"#
    )
}

fn call(session: &str, id: &str, rest: &str) -> String {
    update(session, &format!(r#""sessionUpdate":"tool_call","toolCallId":"{id}",{rest}"#))
}

fn done(session: &str, id: &str, status: &str) -> String {
    let rest = r#""content":[{"type":"content","content":{"type":"text","text":"out"}}]"#;
    let body = format!(
        r#""sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"{status}",{rest}"#
    );
    update(session, &body)
}

fn session(servers: &[&str]) -> Vec<String> {
    let mut lines = new_session(1, "s", servers);
    lines.push(prompt(2, "s"));
    lines
}

fn lanes(run: &Run) -> Vec<Lane> {
    run.events
        .iter()
        .filter_map(|event| match event {
            Event::Identity(IdentityEvent::ToolObserved(event)) => Some(event.lane),
            _ => None,
        })
        .collect()
}

fn ends(run: &Run) -> Vec<(u32, Outcome)> {
    run.events
        .iter()
        .filter_map(|event| match event {
            Event::Identity(IdentityEvent::ToolEnded(event)) => {
                Some((event.call.number(), event.outcome))
            }
            _ => None,
        })
        .collect()
}

fn stops(run: &Run) -> Vec<Stop> {
    run.events
        .iter()
        .filter_map(|event| match event {
            Event::Identity(IdentityEvent::TurnEnded(event)) => Some(event.stop),
            _ => None,
        })
        .collect()
}

fn resets(run: &Run) -> usize {
    let reset = |event: &&Event| matches!(event, Event::Identity(IdentityEvent::SessionReset(_)));
    run.events.iter().filter(reset).count()
}

#[test]
fn o01_every_call_has_an_explicit_lane() {
    let mut lines = session(&["lab"]);
    lines.push(call("s", "1", r#""title":"mcp__lab__read","kind":"read""#));
    lines.push(call("s", "2", r#""title":"shell: git status","kind":"execute""#));
    lines.push(call("s", "3", r#""kind":"other""#));
    let run = import(&["read"], &lines);
    assert_eq!(lanes(&run), [Lane::Bridged(AliasForm::Double), Lane::Native, Lane::Native]);
}

#[test]
fn o05_each_place_of_a_name_can_make_a_call_bridged() {
    let cases = [
        (r#""title":"read""#, true),
        (r#""title":"x","rawInput":{"tool":"mcp_lab_read"}"#, true),
        (r#""title":"x","rawInput":{"tool":"mcp__lab__read"}"#, true),
        (r#""title":"x","_meta":{"goose":{"toolCall":{"toolName":"lab__read"}}}"#, true),
        (r#""title":"x","_meta":{"goose":{"toolName":"lab__read"}}"#, true),
        (r#""title":"x","rawInput":{"tool":"github__read"}"#, false),
        (r#""title":"shell: git status""#, false),
    ];
    for (fields, bridged) in cases {
        let mut lines = session(&["lab"]);
        lines.push(call("s", "1", fields));
        let run = import(&["read"], &lines);
        assert_eq!(lanes(&run)[0].is_bridged(), bridged, "{fields}");
    }
}

#[test]
fn o06_a_title_for_people_is_resolved_by_the_name_for_machines() {
    let mut lines = session(&["omnigent"]);
    let fields = r#""title":"omnigent: sys session get info","_meta":{"goose":{"toolCall":{"toolName":"omnigent__sys_session_get_info"}}}"#;
    lines.push(call("s", "1", fields));
    let run = import(&["sys_session_get_info"], &lines);
    assert_eq!(lanes(&run), [Lane::Bridged(AliasForm::Server)]);
}

#[test]
fn o09_fields_of_any_type_are_native_and_no_failure() {
    let values = ["7", "null", "[]", "{}", "true", "\"\"", "[[[{}]]]"];
    for value in values {
        let mut lines = session(&["lab"]);
        let fields =
            format!(r#""title":{value},"kind":{value},"rawInput":{value},"_meta":{value}"#);
        lines.push(call("s", "1", &fields));
        lines.push(update("s", &format!(r#""sessionUpdate":{value}"#)));
        lines.push(update("s", &format!(r#""sessionUpdate":"tool_call","toolCallId":{value}"#)));
        lines.push(format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{value}}}"#));
        let run = import(&["read"], &lines);
        assert_eq!(lanes(&run), [Lane::Native], "{value}");
    }
}

#[test]
fn o12_the_end_of_a_call_from_before_a_reset_is_no_end_of_another_one() {
    let mut lines = session(&["lab"]);
    lines.push(call("s", "same", r#""title":"lab__read""#));
    lines.push(
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"Session not found"}}"#.into(),
    );
    lines.push(done("s", "same", "completed"));
    lines.push(prompt(3, "s"));
    lines.push(call("s", "new", r#""title":"lab__read""#));
    lines.push(done("s", "same", "completed"));
    let run = import(&["read"], &lines);
    assert_eq!(run.report.counts.unattached, 2);
    assert_eq!(ends(&run), []);
    // The session goes on without what it had advertised: its calls are native.
    assert_eq!(lanes(&run), [Lane::Bridged(AliasForm::Server), Lane::Native]);
}

#[test]
fn o13_a_failed_process_an_unknown_session_and_a_load_are_resets_and_going_on_is_not() {
    let lines = |rest: &[String]| [session(&["lab"]).as_slice(), rest].concat();
    let not_found =
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"Session not found: s"}}"#;
    assert_eq!(resets(&import(&[], &lines(&[not_found.to_owned()]))), 1);
    let other = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"overloaded"}}"#;
    let run = import(&[], &lines(&[other.to_owned()]));
    assert_eq!((resets(&run), stops(&run)), (0, vec![Stop::Error]));
    let load = r#"{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s","mcpServers":[]}}"#;
    assert_eq!(resets(&import(&[], &lines(&[load.to_owned()]))), 1);
    assert_eq!(resets(&import(&[], &lines(&[stopped(2, "end_turn"), prompt(3, "s")]))), 0);
    // The process: only who carries the connection sees it fail.
    for (failed, expected) in [(true, 1), (false, 0)] {
        let (folder, tee) = tee();
        let text = session(&["lab"]).join("\n");
        tee.carry(Direction::ToAgent, &mut Cursor::new(text), &mut Vec::new()).unwrap();
        tee.close(failed).unwrap();
        let found = events(&folder.path().join("rec"));
        let reset =
            |event: &&Event| matches!(event, Event::Identity(IdentityEvent::SessionReset(_)));
        // Both directions came the wrong way here, so the session opens with its prompt.
        assert_eq!(found.iter().filter(reset).count(), expected);
    }
}

#[test]
fn o17_o21_a_call_that_is_shown_twice_and_ended_twice_is_one_card_with_one_end() {
    let mut lines = session(&["lab"]);
    lines.push(call("s", "1", r#""title":"ls","status":"pending""#));
    lines.push(call("s", "1", r#""title":"ls","status":"in_progress""#));
    lines.push(done("s", "1", "in_progress"));
    lines.push(done("s", "1", "completed"));
    lines.push(done("s", "1", "completed"));
    let run = import(&["read"], &lines);
    assert_eq!(lanes(&run), [Lane::Native]);
    assert_eq!((run.report.counts.calls, run.report.counts.suppressed), (1, 1));
    assert_eq!(ends(&run), [(0, Outcome::Completed)]);
    // Its id may come again, and is then another call.
    lines.push(call("s", "1", r#""title":"ls""#));
    assert_eq!(import(&[], &lines).report.counts.calls, 2);
}

#[test]
fn o20_a_native_call_is_read_back_from_disk_with_arguments_and_output_in_order() {
    let mut lines = session(&["lab"]);
    lines.push(call("s", "1", r#""title":"ls","rawInput":{"command":"ls -l"}"#));
    lines.push(done("s", "1", "completed"));
    let run = import(&["read"], &lines);
    // It is the agent's own, although the client has tools that it could be one of.
    assert_eq!(lanes(&run), [Lane::Native]);
    let place = |wanted: &dyn Fn(&Event) -> bool| run.events.iter().position(wanted).unwrap();
    let shown = place(&|event| match event {
        Event::Identity(IdentityEvent::ToolObserved(event)) => {
            let arguments = event.arguments.as_ref().unwrap().as_inline().unwrap();
            assert_eq!(arguments, br#"{"command":"ls -l"}"#);
            true
        }
        _ => false,
    });
    let returned = place(&|event| matches!(event, Event::ToolReturned(_)));
    let ended = place(&|event| matches!(event, Event::Identity(IdentityEvent::ToolEnded(_))));
    assert!(shown < returned && returned < ended);
}

#[test]
fn o22_an_end_without_an_id_or_of_no_call_is_counted_and_joins_nothing() {
    let mut lines = session(&[]);
    lines.push(call("s", "1", r#""title":"ls""#));
    lines.push(update("s", r#""sessionUpdate":"tool_call_update","status":"completed""#));
    lines.push(done("s", "other", "failed"));
    lines.push(done("s", "", "completed"));
    let run = import(&[], &lines);
    assert_eq!(run.report.counts.unattached, 3);
    assert_eq!(ends(&run), []);
}

#[test]
fn o23_only_completed_and_failed_are_ends() {
    for (status, expected) in [
        ("completed", vec![(0, Outcome::Completed)]),
        ("failed", vec![(0, Outcome::Failed)]),
        ("in_progress", vec![]),
        ("pending", vec![]),
        ("cancelled", vec![]),
    ] {
        let mut lines = session(&[]);
        lines.push(call("s", "1", r#""title":"ls""#));
        lines.push(done("s", "1", status));
        assert_eq!(ends(&import(&[], &lines)), expected, "{status}");
    }
}

#[test]
fn o24_the_result_is_the_content_else_the_raw_output() {
    let output = |fields: &str| {
        let mut lines = session(&[]);
        lines.push(call("s", "1", r#""title":"ls""#));
        let end = r#""sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed""#;
        lines.push(update("s", &format!("{end}{fields}")));
        let run = import(&[], &lines);
        run.events.iter().find_map(|event| match event {
            Event::ToolReturned(event) => Some(event.output[0].text.len()),
            _ => None,
        })
    };
    let content = r#","content":[{"type":"content","content":{"type":"text","text":"four"}}]"#;
    assert_eq!(output(&format!(r#"{content},"rawOutput":"longer""#)), Some(4));
    assert_eq!(output(r#","content":[],"rawOutput":"longer""#), Some(6));
    // A block without a text is part of the result as it stands.
    let diff = r#"{"type":"diff","path":"a","oldText":"1","newText":"2"}"#;
    assert_eq!(output(&format!(r#","content":[{diff}]"#)), Some(diff.len() as u64));
    assert_eq!(output(r#","rawOutput":{"a":1}"#), Some(7));
    assert_eq!(output(""), None);
}

#[test]
fn o24_what_a_call_shows_before_its_end_is_kept_and_is_no_result() {
    let early = r#""content":[{"type":"content","content":{"type":"text","text":"in /srv"}}]"#;
    let mut lines = session(&[]);
    lines.push(call("s", "1", &format!(r#""title":"ls","status":"in_progress",{early}"#)));
    lines.push(done("s", "1", "in_progress"));
    lines.push(done("s", "1", "completed"));
    let run = import(&[], &lines);
    let kept: Vec<_> = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ImportedRecord(event) => Some(event.reason.as_str()),
            _ => None,
        })
        .filter(|reason| reason.contains("call"))
        .collect();
    assert_eq!(kept, ["call that is shown with content", "update of a call that goes on"]);
    let outputs: Vec<_> = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolReturned(event) => Some(event.output[0].text.len()),
            _ => None,
        })
        .collect();
    assert_eq!(outputs, [3]);
}

#[test]
fn o25_o26_a_permission_names_its_call_and_its_verdict_is_what_was_offered() {
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"1","title":"rm","rawInput":{"path":"x"}},"options":[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_always"},{"optionId":"c","kind":"reject_once"}]}}"#;
    let verdict = |answer: &str| {
        let mut lines = session(&[]);
        lines.push(ask.to_owned());
        lines.push(format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#));
        let run = import(&[], &lines);
        assert_eq!((run.report.counts.calls, run.report.counts.questions), (1, 1));
        let mut verdicts = run.events.iter().filter_map(|event| match event {
            Event::Identity(IdentityEvent::ApprovalAnswered(event)) => Some(event.verdict),
            _ => None,
        });
        verdicts.next().unwrap()
    };
    let selected =
        |id: &str| format!(r#""result":{{"outcome":{{"outcome":"selected","optionId":"{id}"}}}}"#);
    assert_eq!(verdict(&selected("a")), Verdict::AllowOnce);
    assert_eq!(verdict(&selected("b")), Verdict::AllowAlways);
    assert_eq!(verdict(&selected("c")), Verdict::Deny);
    assert_eq!(verdict(&selected("never offered")), Verdict::Unknown);
    let cancelled = r#""result":{"outcome":{"outcome":"cancelled"}}"#;
    assert_eq!(verdict(cancelled), Verdict::Cancelled);
    assert_eq!(verdict(r#""error":{"code":-32601}"#), Verdict::Unknown);
}

#[test]
fn o27_a_session_without_servers_opens_like_one_with_none() {
    let lists = ["", r#","mcpServers":[]"#, r#","mcpServers":null"#, r#","mcpServers":[{},7]"#];
    for list in lists {
        let lines = [
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"session/new","params":{{"cwd":"/"{list}}}}}"#
            ),
            r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#.to_owned(),
            call("s", "1", r#""title":"read""#),
        ];
        let run = import(&["read"], &lines);
        assert_eq!(run.report.counts.sessions, 1, "{list}");
        assert_eq!(lanes(&run), [Lane::Native], "{list}");
    }
}

#[test]
fn o28_a_turn_of_a_bridged_agent_is_one_call_with_one_end_and_one_id() {
    let mut lines = session(&["omnigent"]);
    let name = r#""_meta":{"goose":{"toolCall":{"toolName":"omnigent__info"}}}"#;
    lines.push(call("s", "g1", &format!(r#""title":"omnigent: info","status":"pending",{name}"#)));
    lines.push(done("s", "g1", "completed"));
    lines.push(stopped(2, "end_turn"));
    let run = import(&["info"], &lines);
    assert_eq!(run.report.counts.calls, 1);
    assert_eq!(lanes(&run), [Lane::Bridged(AliasForm::Server)]);
    assert_eq!(ends(&run), [(0, Outcome::Completed)]);
    assert_eq!(stops(&run), [Stop::EndTurn]);
}

#[test]
fn o29_a_turn_with_a_native_and_a_bridged_call_is_two_calls() {
    let mut lines = session(&["omnigent"]);
    lines.push(call("s", "n1", r#""title":"terminal: ls","status":"in_progress""#));
    lines.push(call("s", "b1", r#""title":"mcp_omnigent_info","status":"in_progress""#));
    lines.push(done("s", "b1", "completed"));
    lines.push(done("s", "n1", "completed"));
    let run = import(&["info"], &lines);
    assert_eq!(lanes(&run), [Lane::Native, Lane::Bridged(AliasForm::Single)]);
    assert_eq!(ends(&run), [(1, Outcome::Completed), (0, Outcome::Completed)]);
}

fn fixture(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/acp/{case}.jsonl.zst"))
}

#[test]
fn o17_recorded_connections_are_told_call_by_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixture("gemini-acp-long");
    let report = import_acp(&file, folder.path(), &options(&[])).unwrap();
    let counts = report.counts;
    assert_eq!((counts.sessions, counts.prompts), (1, 1));
    assert_eq!((counts.calls, counts.questions), (41, 5));
    assert_eq!((counts.suppressed, counts.unattached, counts.stray_answers), (0, 0, 0));
    let again = import_acp(&file, folder.path(), &options(&[])).unwrap();
    assert!(again.skipped);
    let report = import_acp(&fixture("codex-acp-std"), folder.path(), &options(&[])).unwrap();
    assert_eq!((report.counts.calls, report.counts.unattached), (11, 0));
    let run = Run { events: events(&report.recording), _folder: folder, report };
    let calls = |told: &dyn Fn(&Event) -> Option<ToolCallId>| {
        run.events.iter().filter_map(told).collect::<Vec<_>>()
    };
    let shown = calls(&|event| match event {
        Event::Identity(IdentityEvent::ToolObserved(event)) => Some(event.call),
        _ => None,
    });
    let ended = calls(&|event| match event {
        Event::Identity(IdentityEvent::ToolEnded(event)) => Some(event.call),
        _ => None,
    });
    assert_eq!(BTreeSet::from_iter(&shown), BTreeSet::from_iter(&ended));
    assert_eq!((shown.len(), ended.len()), (11, 11));
    let failed = ends(&run).iter().filter(|(_, outcome)| *outcome == Outcome::Failed).count();
    assert_eq!((ends(&run).len(), failed), (11, 1));
    assert_eq!(stops(&run), [Stop::EndTurn]);
}

fn origin(events: &[Event]) -> Origin {
    let origin = events.iter().find_map(|event| match event {
        Event::RunOpened(event) => Some(event.origin),
        _ => None,
    });
    origin.unwrap()
}

#[test]
fn a_run_says_whether_it_was_read_from_a_log_or_carried() {
    assert_eq!(origin(&import(&[], &session(&[])).events), Origin::Acp);
    let (folder, tee) = tee();
    tee.close(false).unwrap();
    assert_eq!(origin(&events(&folder.path().join("rec"))), Origin::Stdio);
}

#[test]
fn a_name_is_taken_by_another_log_by_its_beginning_and_by_what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    let imported = |lines: &[String]| {
        std::fs::write(&file, lines.join("\n")).unwrap();
        import_acp(&file, folder.path(), &options(&[]))
    };
    let lines = session(&[]);
    let recording = imported(&lines).unwrap().recording;
    assert!(imported(&lines).unwrap().skipped);
    let taken = |lines: &[String]| match imported(lines) {
        Err(AcpError::File(FileError::Taken(taken))) => taken,
        other => panic!("{other:?}"),
    };
    assert!(matches!(taken(&lines[..2]), NameTaken::Other { .. }));
    let log = std::fs::read_dir(recording.join("log")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(taken(&lines), NameTaken::Incomplete { .. }));
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&log, &damaged).unwrap();
    assert!(matches!(taken(&lines), NameTaken::Existing { .. }));
    std::fs::remove_dir_all(&recording).unwrap();
    std::fs::create_dir(&recording).unwrap();
    assert!(matches!(taken(&lines), NameTaken::Other { .. }));
}

fn tee() -> (TempDir, Tee) {
    tee_that(WhenUnrecorded::Stop)
}

fn tee_that(when_unrecorded: WhenUnrecorded) -> (TempDir, Tee) {
    let folder = tempfile::tempdir().unwrap();
    let options = TeeOptions { acp: options(&[]), when_unrecorded };
    let tee = Tee::create(&folder.path().join("rec"), "rec", &options, || 7).unwrap();
    (folder, tee)
}

#[test]
fn a_connection_is_carried_byte_for_byte_and_recorded_like_its_log() {
    let (folder, tee) = tee();
    let mut carried = Vec::new();
    let to_agent = [new_session(1, "s", &[])[0].clone(), prompt(2, "s")];
    let to_client = [
        new_session(1, "s", &[])[1].clone(),
        call("s", "1", r#""title":"ls","status":"in_progress""#),
        done("s", "1", "completed"),
        stopped(2, "end_turn"),
    ];
    let one = |tee: &Tee, direction, text: &str| {
        let mut out = Vec::new();
        tee.carry(direction, &mut Cursor::new(text), &mut out).unwrap();
        out
    };
    carried.extend(one(&tee, Direction::ToAgent, &format!("{}\r\n", to_agent[0])));
    carried.extend(one(&tee, Direction::ToClient, &format!("{}\n\n", to_client[0])));
    carried.extend(one(&tee, Direction::ToAgent, &format!("{}\n", to_agent[1])));
    let rest = to_client[1..].join("\n");
    carried.extend(one(&tee, Direction::ToClient, &rest));
    let expected = format!("{}\r\n{}\n\n{}\n{}", to_agent[0], to_client[0], to_agent[1], rest);
    assert_eq!(carried, expected.into_bytes());
    let report = tee.close(false).unwrap().unwrap();
    assert_eq!((report.counts.sessions, report.counts.calls), (1, 1));
    let run = Run { events: events(&report.recording), _folder: folder, report };
    assert_eq!(ends(&run), [(0, Outcome::Completed)]);
    assert_eq!(stops(&run), [Stop::EndTurn]);
    assert!(run.events.iter().any(|event| matches!(event, Event::RunClosed(_))));
}

/// The log's file is changed beneath the recorder, so that the next write fails.
fn spoil(folder: &TempDir) {
    let log = std::fs::read_dir(folder.path().join("rec/log")).unwrap().next().unwrap().unwrap();
    std::fs::OpenOptions::new().append(true).open(log.path()).unwrap().set_len(10_000_000).unwrap();
}

#[test]
fn m48_a_line_that_cannot_be_recorded_does_not_go_on() {
    let (folder, tee) = tee();
    let line = format!("{}\n", prompt(1, "s"));
    let mut out = Vec::new();
    tee.carry(Direction::ToAgent, &mut Cursor::new(&line), &mut out).unwrap();
    assert_eq!(out.len(), line.len());
    spoil(&folder);
    let mut out = Vec::new();
    let refused = tee.carry(Direction::ToAgent, &mut Cursor::new(&line), &mut out);
    assert!(refused.is_err());
    assert!(out.is_empty());
}

#[test]
fn m48_going_on_unrecorded_has_to_be_asked_for_and_leaves_a_run_without_an_end() {
    let (folder, tee) = tee_that(WhenUnrecorded::GoOn);
    let line = format!("{}\n", prompt(1, "s"));
    spoil(&folder);
    let mut out = Vec::new();
    tee.carry(Direction::ToAgent, &mut Cursor::new(line.repeat(2)), &mut out).unwrap();
    assert_eq!(out, line.repeat(2).into_bytes());
    assert!(tee.close(false).unwrap().is_none());
    let mut reader = LogReader::open(&folder.path().join("rec")).unwrap();
    let frames: Vec<_> = reader.frames().map_while(Result::ok).collect();
    assert!(frames.iter().all(|frame| frame.kind() != Kind::RunClosed.tag()));
}

#[test]
fn a_file_without_messages_makes_no_recording() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a.jsonl", ""), ("b.jsonl", "hello\n{}\n[1]\n"), ("c.jsonl", "\u{0}")] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        assert!(import_acp(&file, folder.path(), &options(&[])).is_err());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_log_that_is_cut_anywhere_keeps_what_came_before() {
    let mut lines = session(&["lab"]);
    lines.push(call("s", "1", r#""title":"lab__read","status":"in_progress""#));
    lines.push(done("s", "1", "completed"));
    lines.push(stopped(2, "end_turn"));
    let text = lines.join("\n");
    let mut most = 0;
    for cut in (60..=text.len()).step_by(37) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.jsonl");
        std::fs::write(&file, &text.as_bytes()[..cut]).unwrap();
        if let Ok(report) = import_acp(&file, folder.path(), &options(&["read"])) {
            let found = events(&report.recording);
            assert!(found.len() >= most);
            most = found.len().max(most);
        }
    }
    assert!(most > 5);
    assert_eq!(ToolCallId::new(0).number(), 0);
}
