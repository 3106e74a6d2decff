//! A pager between results and a terminal, as other tools start it: `COUNTERFOLD_PAGER`, else
//! `PAGER`, else `less` where it is installed. An empty one, or `cat`, means none.

use std::env;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Quits when everything fits the screen, shows colors, leaves the text where it is.
const LESS: (&str, &str) = ("LESS", "FRX");

/// A pager that is running.
pub(super) struct Pager {
    child: Child,
    to: Option<ChildStdin>,
}

impl Pager {
    /// Starts it; `None` where there is none.
    pub(super) fn start() -> Option<Self> {
        let words = words()?;
        let mut command = Command::new("sh");
        command.args(["-c", &words]).stdin(Stdio::piped());
        if env::var_os(LESS.0).is_none() {
            command.env(LESS.0, LESS.1);
        }
        let mut child = command.spawn().ok()?;
        let to = child.stdin.take();
        Some(Self { child, to })
    }
}

fn words() -> Option<String> {
    let told = ["COUNTERFOLD_PAGER", "PAGER"].into_iter().find_map(|name| env::var(name).ok());
    match told.as_deref().map(str::trim) {
        Some("" | "cat") => None,
        Some(words) => Some(words.to_owned()),
        None => {
            let path = env::var_os("PATH")?;
            let is_there = env::split_paths(&path).any(|folder| folder.join("less").is_file());
            is_there.then(|| "less".to_owned())
        }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.as_mut().map_or(Err(io::ErrorKind::BrokenPipe.into()), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), ChildStdin::flush)
    }
}

impl Drop for Pager {
    /// Ends its input and waits until the reader has seen enough.
    fn drop(&mut self) {
        drop(self.to.take());
        // Whatever became of it, there is nothing left to say.
        let _ended = self.child.wait();
    }
}
