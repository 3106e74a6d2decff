//! `record` and `serve`: a command of our own before them, an upstream of our own behind.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use capture::live::answering::{Answering, Answers, Asked, Given, Piece};

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
    let script = r#"echo "$OPENAI_BASE_URL"; read -r line; exit 0"#;
    let words = ["serve", "runs/run", "--format", "json", "--", "sh", "-c", script];
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
