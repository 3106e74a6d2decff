//! `record` and `serve`: a command of our own before them, an upstream of our own behind.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use capture::live::answering::{Answering, Answers, Asked, Given, Piece};

use crate::canary;
use crate::program::Folder;

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;
const ANSWER: &str = r#"{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;

struct SaysHi;

impl Answers for SaysHi {
    fn answer(&self, asked: &Asked) -> Given {
        assert_eq!(asked.target, "/v1/chat/completions");
        Given {
            status: 200,
            headers: vec![("content-type".to_owned(), b"application/json".to_vec())],
            body: vec![Piece { after: Duration::ZERO, bytes: ANSWER.as_bytes().to_vec() }],
            cut: false,
        }
    }
}

fn upstream() -> Answering {
    Answering::start("127.0.0.1:0".parse().unwrap(), Arc::new(SaysHi)).unwrap()
}

/// One that answers with a call.
fn that_calls() -> Answering {
    let answer =
        ANSWER.replace(r#""content":"hi"}"#, &format!(r#""content":null,"tool_calls":[{CALL}]}}"#));
    Answering::start("127.0.0.1:0".parse().unwrap(), Arc::new(Calls(answer))).unwrap()
}

/// Starts a recording of a command that tells its base URL, waits for a line, and ends with 7.
fn start(folder: &Folder, upstream: &Answering) -> (Child, String) {
    let url = format!("http://{}", upstream.addr());
    let script = r#"echo "$OPENAI_BASE_URL"; read -r line; exit 7"#;
    let words = ["record", "--name", "run", "--upstream", &url, "--", "sh", "-c", script];
    let mut command = folder.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut base = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut base).unwrap();
    (child, base.trim_end().to_owned())
}

/// Sends the request to the base URL and returns the answer as it came.
fn ask(base: &str) -> String {
    ask_with(base, BODY)
}

fn ask_with(base: &str, body: &str) -> String {
    let host = base.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1")).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Authorization: Bearer sk-proj-Tg3hJ9vKq2LmN8pR5sXw7yZbC4dF6gH1\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_command_is_recorded_and_its_exit_code_is_passed_on() {
    let folder = Folder::new();
    let upstream = upstream();
    let (mut child, base) = start(&folder, &upstream);
    for _ in 0..2 {
        let answer = ask(&base);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with(ANSWER), "{answer}");
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        words,
        "recorded 2 requests (120 B) in 1 conversation to runs/run\n  \
         next: counterfold verify runs/run\n"
    );
    let ran = folder.run(&["verify", "runs/run", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let verdicts = ran.json();
    for request in verdicts["recordings"][0]["requests"].as_array().unwrap() {
        assert_eq!(request["rung"], "wire-exact");
        assert_eq!(request["reassembly"], "identical");
        assert_eq!(request["projection"], "identical");
    }
    let bodies = folder.run(&["project", "runs/run@2"]);
    assert_eq!(bodies.out, BODY.as_bytes());
}

#[test]
fn a_recorder_that_is_killed_leaves_every_request_that_was_sent() {
    let folder = Folder::new();
    let upstream = upstream();
    let (mut child, base) = start(&folder, &upstream);
    ask(&base);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = folder.run(&["project", "runs/run@1"]);
    assert_eq!((ran.code, ran.out.as_slice()), (0, BODY.as_bytes()), "{}", ran.err);
}

/// Begins an answer and never ends it.
struct Begins;

const EVENT: &str =
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";

impl Answers for Begins {
    fn answer(&self, _asked: &Asked) -> Given {
        let piece = |after, bytes: &str| Piece { after, bytes: bytes.as_bytes().to_vec() };
        let never = Duration::from_mins(10);
        Given {
            status: 200,
            headers: vec![("content-type".to_owned(), b"text/event-stream".to_vec())],
            body: vec![piece(Duration::ZERO, EVENT), piece(never, "data: [DONE]\n\n")],
            cut: false,
        }
    }
}

/// Asks, and reads until the first event is there.
fn begun(base: &str) -> BufReader<TcpStream> {
    let host = base.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1")).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{BODY}", BODY.len()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0);
    }
    stream
}

#[test]
fn a_recorder_that_is_killed_in_the_middle_of_an_answer_leaves_the_request() {
    let folder = Folder::new();
    let upstream = Answering::start("127.0.0.1:0".parse().unwrap(), Arc::new(Begins)).unwrap();
    let (mut child, base) = start(&folder, &upstream);
    let mut stream = begun(&base);
    child.kill().unwrap();
    child.wait().unwrap();
    // The client sees a broken connection, and no end of the answer.
    let mut rest = String::new();
    let read = stream.read_to_string(&mut rest);
    assert!(read.is_err() || !rest.contains("\r\n0\r\n"), "{rest}");
    let ran = folder.run(&["project", "runs/run@1"]);
    assert_eq!((ran.code, ran.out.as_slice()), (0, BODY.as_bytes()), "{}", ran.err);
    assert_eq!(folder.run(&["verify", "runs/run"]).code, 0);
}

#[test]
fn a_client_that_is_killed_in_the_middle_of_an_answer_leaves_what_it_was_given() {
    let folder = Folder::new();
    let upstream = Answering::start("127.0.0.1:0".parse().unwrap(), Arc::new(Begins)).unwrap();
    let url = format!("http://{}", upstream.addr());
    // bash speaks TCP, and ends itself by the signal that nobody can hold back.
    let script = r#"
        host=${OPENAI_BASE_URL#http://}
        host=${host%/v1}
        exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
        printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s' \
            "${#BODY}" "$BODY" >&3
        while read -r line <&3; do
            case $line in data:*) kill -9 $$ ;; esac
        done"#;
    let words = ["record", "--name", "run", "--upstream", &url, "--", "bash", "-c", script];
    let output = folder.command(&words).env("BODY", BODY).output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 9), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts = folder.run(&["verify", "runs/run", "--format", "json"]);
    assert_eq!(verdicts.code, 0, "{}", verdicts.err);
    assert_eq!(verdicts.json()["recordings"][0]["counts"]["requests"], 1);
    let listed = folder.run(&["log", "runs/run"]).text();
    assert!(listed.contains("response_aborted"), "{listed}");
}

#[test]
fn a_conversation_over_its_budget_is_told() {
    let folder = Folder::new();
    let upstream = upstream();
    let settings = "[budgets.main]\nrequests_max = 1\n[budgets.side]\nrequests_max = 0\n";
    std::fs::write(folder.path(".counterfold.toml"), settings).unwrap();
    let url = format!("http://{}", upstream.addr());
    let script = r#"echo "$OPENAI_BASE_URL"; read -r line; exit 0"#;
    let words = ["record", "--name", "run", "--upstream", &url, "--", "sh", "-c", script];
    let mut command = folder.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut base = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut base).unwrap();
    for _ in 0..2 {
        ask(base.trim_end());
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("over budget: main conversation 1: 2 requests, at most 1"), "{words}");
}

#[test]
fn an_agent_behind_acp_tells_the_recording_its_whole_outputs() {
    let folder = Folder::new();
    let upstream = that_calls();
    let (mut child, base) = start(&folder, &upstream);
    ask(&base);
    ask_with(&base, &returned());
    let update = serde_json::json!({
        "jsonrpc": "2.0", "method": "session/update",
        "params": { "sessionId": "s", "update": {
            "sessionUpdate": "tool_call_update", "toolCallId": "call_7",
            "rawOutput": { "output": "the beginning and the end" },
        } },
    })
    .to_string();
    let mut agent = folder.command(&["acp", "--", "echo", &update]);
    agent.env("COUNTERFOLD_HOOK", base.replace("/v1", "/.counterfold/hook"));
    let output = agent.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{update}\n"));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let words = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(words.contains("1 message of tool hooks, with more of 1 output than"), "{words}");
    let call = folder.run(&["show", "runs/run", "call-1"]).text();
    assert!(call.contains("found_beside_the_wire"), "{call}");
    // Without a recording around it, it has to be told where to record to.
    assert_eq!(folder.run(&["acp", "--", "echo"]).code, 2);
}

#[test]
fn a_command_that_does_not_start_is_said_and_the_recording_is_closed() {
    let folder = Folder::new();
    let ran = folder.run(&["record", "--name", "run", "--", "./no-such-program"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: the command does not start\ncaused by: "), "{}", ran.err);
    assert!(ran.err.contains("hint: the words behind -- "), "{}", ran.err);
    assert_eq!(folder.run(&["log", "runs/run"]).code, 0);
}

#[test]
fn a_name_that_is_taken_and_words_that_do_not_fit_are_errors() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["record", "--name", "tiny", "--", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("hint: choose another --name"), "{}", ran.err);
    assert_eq!(folder.run(&["record"]).code, 2);
    assert_eq!(folder.run(&["record", "--upstream", "ftp://x", "--", "true"]).code, 2);
    assert_eq!(folder.run(&["record", "--name", "../x", "--", "true"]).code, 2);
    assert!(!folder.path("x").exists());
}

#[test]
fn the_variables_are_printed_for_a_shell() {
    let ran = Folder::new().run(&["record", "--env", "--listen", "127.0.0.1:9999"]);
    insta::assert_snapshot!(ran.text(), @r"
    export OPENAI_BASE_URL=http://127.0.0.1:9999/v1
    export OPENAI_API_BASE=http://127.0.0.1:9999/v1
    export ANTHROPIC_BASE_URL=http://127.0.0.1:9999
    export ANTHROPIC_API_BASE=http://127.0.0.1:9999
    export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9999
    export GEMINI_API_BASE=http://127.0.0.1:9999/v1beta
    ");
}

/// Sends `body` to what `command` tells as its base URL, lets it end, and returns what it says.
fn replayed(folder: &Folder, bodies: &[&str]) -> (Vec<String>, std::process::Output) {
    replayed_with(folder, &[], bodies)
}

fn replayed_with(
    folder: &Folder,
    options: &[&str],
    bodies: &[&str],
) -> (Vec<String>, std::process::Output) {
    let script = r#"echo "$OPENAI_BASE_URL"; read -r line; exit 0"#;
    let front = ["serve", "runs/run", "--format", "json"];
    let words = [&front, options, &["--", "sh", "-c", script]].concat();
    let mut command = folder.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut base = String::new();
    out.read_line(&mut base).unwrap();
    let answers = bodies.iter().map(|body| ask_with(base.trim_end(), body)).collect();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stdout = rest;
    (answers, output)
}

#[test]
fn what_was_recorded_is_served_and_every_drift_is_red() {
    let folder = Folder::new();
    let upstream = upstream();
    let (mut child, base) = start(&folder, &upstream);
    ask(&base);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait_with_output().unwrap();
    upstream.finish();
    let report = |output: &std::process::Output| -> serde_json::Value {
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (answers, output) = replayed(&folder, &[BODY]);
    assert!(answers[0].ends_with(ANSWER), "{}", answers[0]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(report(&output)["identical"], 1);
    let other = BODY.replace("hello", "hallo");
    let (answers, output) = replayed(&folder, &[&other]);
    assert!(answers[0].starts_with("HTTP/1.1 404"), "{}", answers[0]);
    assert!(!answers[0].contains("hallo") && !answers[0].contains("hello"));
    assert_eq!(output.status.code(), Some(1));
    let told = report(&output);
    assert_eq!(told["drifts"][0]["pointer"], "/messages/0/content");
    assert_eq!(told["unused"], serde_json::json!([1]));
    let (_, output) = replayed(&folder, &[]);
    assert_eq!((output.status.code(), &report(&output)["ok"]), (Some(1), &false.into()));
}

/// Records one request with this body.
fn recorded(body: &str) -> Folder {
    let folder = Folder::new();
    let upstream = upstream();
    let (mut child, base) = start(&folder, &upstream);
    ask_with(&base, body);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait_with_output().unwrap();
    upstream.finish();
    folder
}

#[test]
fn a_body_with_a_secret_is_the_same_again() {
    let body = BODY.replace("hello", "my key is sk-proj-Tg3hJ9vKq2LmN8pR5sXw7yZbC4dF6gH1, hello");
    let folder = recorded(&body);
    let (answers, output) = replayed(&folder, &[&body]);
    assert!(answers[0].starts_with("HTTP/1.1 200"), "{}", answers[0]);
    assert_eq!(output.status.code(), Some(0));
    let (_, output) = replayed(&folder, &[&body.replace("hello", "hallo")]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_project_declares_what_may_differ_and_where_it_lies() {
    let body =
        |build: &str, path: &str| BODY.replace("hello", &format!("Build {build} in {path}/x"));
    let folder = recorded(&body("1", "/srv/project"));
    let here = body("22", "/tmp/elsewhere");
    assert_eq!(replayed(&folder, &[&here]).1.status.code(), Some(1));
    let settings = "[serve]\nplaces = [\"Build {number} in\"]\n[serve.rebind]\n\
                    \"/srv/project\" = \"/tmp/elsewhere\"\n";
    std::fs::write(folder.path(".counterfold.toml"), settings).unwrap();
    let (_, output) = replayed(&folder, &[&here]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(folder.path(".counterfold.toml"), "[serve]\nplace = []\n").unwrap();
    let ran = folder.run(&["serve", "runs/run", "--", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains(".counterfold.toml:2:1: unknown field `place`"), "{}", ran.err);
    assert!(ran.err.contains("hint: did you mean `places`?"), "{}", ran.err);
}

#[test]
fn a_replay_is_told_to_a_build_as_test_cases() {
    let folder = recorded(BODY);
    let options = ["--junit", "report.xml"];
    replayed_with(&folder, &options, &[&BODY.replace("hello", "<hallo>")]);
    let report = std::fs::read_to_string(folder.path("report.xml")).unwrap();
    assert!(
        report.contains("tests=\"2\" failures=\"1\" errors=\"0\"")
            && report.contains("user message differs at /messages/0/content (text)")
            && !report.contains("hallo"),
        "{report}"
    );
    replayed_with(&folder, &options, &[BODY]);
    let report = std::fs::read_to_string(folder.path("report.xml")).unwrap();
    assert!(report.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{report}");
    let (_, output) = replayed(&folder, &[BODY, "{\"model\":\"m\",\"messages\":[]}"]);
    assert_eq!(output.status.code(), Some(1));
}

const CALL: &str =
    r#"{"id":"call_7","type":"function","function":{"name":"bash","arguments":"{}"}}"#;

struct Calls(String);

impl Answers for Calls {
    fn answer(&self, asked: &Asked) -> Given {
        // An id is given out once; behind the result nothing more is called.
        let has_returned = asked.body.windows(12).any(|window| window == b"tool_call_id");
        let bytes = if has_returned { ANSWER } else { &self.0 }.as_bytes().to_vec();
        let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
        let body = vec![Piece { after: Duration::ZERO, bytes }];
        Given { status: 200, headers, body, cut: false }
    }
}

/// A request with what the call returned, as the client cut it.
fn returned() -> String {
    let call = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{CALL}]}}"#);
    let result = r#"{"role":"tool","tool_call_id":"call_7","content":"the beg..."}"#;
    BODY.replace("}]}", &format!("}},{call},{result}]}}"))
}

#[test]
fn what_a_hook_tells_is_kept_and_joined_to_its_call() {
    let folder = Folder::new();
    let upstream = that_calls();
    let (mut child, base) = start(&folder, &upstream);
    ask(&base);
    ask_with(&base, &returned());
    let url = base.replace("/v1", "/.counterfold/hook");
    for message in [
        r#"{"tool_use_id":"call_7","tool_response":{"stdout":"the beginning and the end"}}"#,
        r#"{"tool_use_id":"call_of_nobody","tool_response":"x"}"#,
    ] {
        let mut hook = folder.command(&["hook"]);
        hook.env("COUNTERFOLD_HOOK", &url).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut hook = hook.stdout(Stdio::piped()).spawn().unwrap();
        hook.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
        let output = hook.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("2 messages of tool hooks, with more of 1 output than"), "{words}");
    let call = folder.run(&["show", "runs/run", "call-1"]).text();
    assert!(call.contains("hook"), "{call}");
    assert_eq!(folder.run(&["verify", "runs/run"]).code, 0);
    // Without a recording under way it does nothing, and never stops the client.
    assert_eq!(folder.run(&["hook"]).code, 0);
}

/// Text that hardly compresses, of its own for each number.
fn noise(number: u64, bytes: usize) -> String {
    let mut state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut out = String::new();
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push_str(&state.to_string());
        out.push(' ');
    }
    out
}

#[test]
fn a_full_disk_stops_what_cannot_be_recorded_and_keeps_what_was() {
    let folder = Folder::new();
    let upstream = upstream();
    let url = format!("http://{}", upstream.addr());
    let script = r#"echo "$OPENAI_BASE_URL"; read -r line"#;
    let words = ["record", "--name", "run", "--upstream", &url, "--", "sh", "-c", script];
    let inner = folder.command(&words);
    // No file may grow beyond 8 MiB: writing then fails as on a full disk.
    let limited = r#"trap "" XFSZ; ulimit -f 16384; exec "$@""#;
    let mut command = std::process::Command::new("dash");
    command.args(["-c", limited, "dash"]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut base = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut base).unwrap();
    let body = |number| BODY.replace("hello", &noise(number, 1 << 20));
    let refused = (0..60).find(|number| {
        let answer = ask_with(base.trim_end(), &body(*number));
        assert!(
            answer.starts_with("HTTP/1.1 200")
                || (answer.starts_with("HTTP/1.1 502") && answer.contains("was not sent")),
            "{answer}"
        );
        answer.starts_with("HTTP/1.1 502")
    });
    let refused = refused.expect("the disk is full before that");
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(refused >= 2, "{refused}");
    let last = folder.run(&["project", &format!("runs/run@{refused}")]);
    assert!(last.out == body(refused - 1).as_bytes(), "{}", last.err);
}

#[test]
fn m13_a_recording_that_is_killed_leaves_no_secret_in_any_file() {
    let folder = Folder::new();
    let upstream = upstream();
    let (mut child, base) = start(&folder, &upstream);
    for number in 0..20 {
        assert!(ask_with(&base, &canary::body(number)).starts_with("HTTP/1.1 200"));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(canary::is_clean(&folder.path("")), "the search finds what is there");
}
