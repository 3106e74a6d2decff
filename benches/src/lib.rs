//! Workloads that the benches share: recorded runs, imported once.
//!
//! Every bench names its workload and counts bytes or requests, so that its output is a rate.
//! Compare rates within one run: machines are noisy, ratios are not.

mod long;
pub mod sessions;

use std::fs;
use std::io;
use std::path::PathBuf;

pub use long::Long;
use replay::Recording;
use serde_json::json;
use tempfile::TempDir;

/// A recorded run, imported into a folder that lives as long as this.
#[derive(Debug)]
pub struct Workload {
    /// The run.
    pub recording: Recording,
    /// Sum of its request bodies, in bytes.
    pub request_bytes: u64,
    /// Its requests.
    pub requests: u64,
    folder: TempDir,
}

impl Workload {
    /// Imports a case.
    ///
    /// # Panics
    /// The fixture cannot be imported: a bench has nothing to measure then.
    #[must_use]
    pub fn new(case: &str) -> Self {
        Self::import(&fixtures::har(case))
    }

    /// Makes up a chat of so many turns, each with one tool call and an output of 60 bytes, and
    /// imports it.
    ///
    /// # Panics
    /// The file cannot be written or imported.
    #[must_use]
    pub fn chat(turns: usize) -> Self {
        let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
        let file = folder.path().join("chat.har");
        fs::write(&file, chat_har(turns)).expect("the folder was just made");
        Self::import(&file)
    }

    fn import(file: &std::path::Path) -> Self {
        let folder = tempfile::tempdir().expect("a bench needs a folder to write to");
        let report = fixtures::import(file, folder.path()).expect("workloads are valid HAR files");
        let recording =
            Recording::open(&report.recording).expect("what was imported can be opened");
        Self { recording, request_bytes: report.request_bytes, requests: report.requests, folder }
    }

    /// A folder for further files.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

/// A HAR of one growing chat.
fn chat_har(turns: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    let mut entries = Vec::with_capacity(turns);
    for turn in 0..turns {
        let id = format!("c{turn}");
        let call = json!({
            "role": "assistant",
            "content": null,
            "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "sh", "arguments": "{}"}}
            ],
        });
        let request = json!({"model": "m", "messages": messages}).to_string();
        let answer = json!({"choices": [{"message": call, "finish_reason": "stop"}]}).to_string();
        entries.push(json!({
            "request": {
                "method": "POST",
                "url": "http://h/v1/chat/completions",
                "headers": [],
                "postData": {"text": request},
            },
            "response": {
                "status": 200,
                "headers": [],
                "content": {"mimeType": "application/json", "text": answer},
            },
        }));
        let output = format!("output {turn:06} ").repeat(4);
        messages.push(call);
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

/// The HAR of a case without its compression, in a file of its own.
///
/// # Errors
/// The file cannot be read or written.
pub fn plain_har(case: &str, folder: &TempDir) -> io::Result<PathBuf> {
    let mut reader = fixtures::plain(case)?;
    let path = folder.path().join(format!("{case}.har"));
    let mut file = fs::File::create(&path)?;
    io::copy(&mut reader, &mut file)?;
    Ok(path)
}
