//! Runs the program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::har;

/// Hex digits of at least this many are an id or a digest.
const ID_DIGITS_MIN: usize = 12;

/// A folder for one test; the program runs in it, so that paths in its output are relative.
pub(crate) struct Folder(tempfile::TempDir);

/// What a run of the program left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with the recording `runs/tiny`.
    pub(crate) fn with_recording() -> Self {
        let folder = Self::new();
        folder.write("tiny.har", har::tiny().as_bytes());
        assert_eq!(folder.run(&["import", "har", "tiny.har", "--into", "runs"]).code, 0);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// The program with these words, ready to be started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        command(env!("CARGO_BIN_EXE_counterfold"), self.0.path(), words)
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        ran(self.command(words))
    }

    /// Runs the program under its short name.
    pub(crate) fn run_short(&self, words: &[&str]) -> Ran {
        ran(command(env!("CARGO_BIN_EXE_cfold"), self.0.path(), words))
    }
}

fn command(program: &str, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.out).unwrap()
    }

    /// Everything that a user sees, with ids filtered out.
    pub(crate) fn shown(&self) -> String {
        let mut shown = format!("exit code {}\n", self.code);
        for (name, text) in [("out", self.text()), ("err", self.err.clone())] {
            if !text.is_empty() {
                shown.push_str(&["--- ", name, " ---\n", &folded(&without_ids(&text))].concat());
            }
        }
        shown
    }
}

/// Breaks lines that are too long for a source file; a line that goes on ends with `\`.
pub(crate) fn folded(text: &str) -> String {
    const COLUMNS_MAX: usize = 90;
    let mut out = String::new();
    for line in text.lines() {
        for (index, piece) in line.as_bytes().chunks(COLUMNS_MAX).enumerate() {
            out.push_str(if index > 0 { "\\\n" } else { "" });
            out.push_str(std::str::from_utf8(piece).expect("what is shown here is ASCII"));
        }
        out.push('\n');
    }
    out
}

/// Replaces ids and digests by `[id]`, shortened ones, too. A column of ids keeps its width.
pub(crate) fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() && !c.is_ascii_uppercase() {
            word.push(c);
            continue;
        }
        let is_id = word.len() >= ID_DIGITS_MIN;
        out.push_str(if is_id { "[id]" } else { &word });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
