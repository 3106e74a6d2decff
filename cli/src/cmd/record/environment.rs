//! What a run rests on beside its requests, declared so that a later replay can name the input
//! that changed: where it ran, when, on what, and which command.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The environment as JSON.
pub(super) fn told(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let now = jiff::Zoned::now();
    json!({
        "schema": "counterfold.environment/1",
        "command": words,
        "cwd": std::env::current_dir().ok().map(|folder| folder.display().to_string()),
        "home": std::env::var("HOME").ok(),
        "date": now.date().to_string(),
        "time_zone": now.time_zone().iana_name(),
        "os": std::env::consts::OS,
        "kernel": output("uname", &["-srm"]),
        "git_commit": output("git", &["rev-parse", "HEAD"]),
        "git_changed_files": output("git", &["status", "--porcelain"])
            .map(|status| status.lines().count()),
        "user": std::env::var("USER").ok(),
        "shell": std::env::var("SHELL").ok(),
        "lang": std::env::var("LANG").ok(),
    })
    .as_object()
    .map(|members| {
        // What is not known is left out.
        let known = members.iter().filter(|(_, value)| !value.is_null());
        Value::Object(known.map(|(name, value)| (name.clone(), value.clone())).collect())
    })
    .unwrap_or_default()
    .to_string()
}

/// What a program prints, without the line end; `None` where it is not there or fails.
fn output(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
