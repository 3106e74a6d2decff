//! The terminal: the only file that writes to standard output and standard error.
//!
//! Results go to standard output, words about them to standard error. Colors never carry meaning.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, BufRead as _, BufWriter, IsTerminal as _, Read as _, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{Color, Global};
use crate::error::{Failure, Stop};
use crate::report::number::counted;
use crate::report::table::{self, Table};
use crate::text;

mod pager;
mod progress;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 64;

pub(crate) use progress::Progress;

/// What a stretch of text is, for whoever sees colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A fault.
    Bad,
    /// Something to look at.
    Warn,
    /// As it should be.
    Good,
    /// Less important than what is around it.
    Faint,
    /// More important than what is around it.
    Strong,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Bad => "1;31",
            Self::Warn => "33",
            Self::Good => "32",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

/// Where a command writes.
pub(crate) struct Ui {
    out: BufWriter<Box<dyn Write>>,
    results: Stream,
    messages: Stream,
    words: Words,
    /// No line may be taken for a workflow command.
    guarded: bool,
}

/// What is at the other end.
#[derive(Clone, Copy)]
struct Stream {
    is_terminal: bool,
    color: bool,
}

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Few,
    Normal,
    Many,
}

impl Ui {
    pub(crate) fn new(global: Global) -> Self {
        let stream = |is_terminal| Stream {
            is_terminal,
            color: match global.color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => is_terminal && !no_color() && !dumb_terminal(),
            },
        };
        Self {
            out: BufWriter::new(Box::new(io::stdout().lock())),
            results: stream(io::stdout().is_terminal()),
            messages: stream(io::stderr().is_terminal()),
            words: match (global.quiet, global.verbose) {
                (true, _) => Words::Few,
                (false, false) => Words::Normal,
                (false, true) => Words::Many,
            },
            guarded: false,
        }
    }

    /// From now on results that go to a terminal go through a pager, where there is one.
    pub(crate) fn page(&mut self) -> Result<(), Stop> {
        self.flush()?;
        if let Some(pager) = self.results.is_terminal.then(pager::Pager::start).flatten() {
            self.out = BufWriter::new(Box::new(pager));
        }
        Ok(())
    }

    /// From now on no line that is written can be taken for a workflow command, except
    /// [`Ui::workflow_command`]. Build servers read both streams for them.
    pub(crate) fn guard_commands(&mut self) {
        self.guarded = true;
    }

    /// A workflow command, whose values are escaped already.
    pub(crate) fn workflow_command(&mut self, command: &str) -> Result<(), Stop> {
        writeln!(self.out, "{command}").map_err(Stop::from)
    }

    /// Asks on a terminal; `None` where there is nobody to ask.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<bool>, Stop> {
        self.flush()?;
        if !io::stdin().is_terminal() || !self.messages.is_terminal {
            return Ok(None);
        }
        let mut err = io::stderr().lock();
        let mut answer = String::new();
        // Whoever cannot be asked has not said yes.
        let asked = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
        let read =
            asked.and_then(|()| io::stdin().lock().take(ANSWER_BYTES_MAX).read_line(&mut answer));
        let answer = answer.trim().to_ascii_lowercase();
        Ok(read.ok().map(|_bytes| answer == "y" || answer == "yes"))
    }

    fn write_line(&mut self, line: &str) -> Result<(), Stop> {
        if self.guarded {
            return writeln!(self.out, "{}", text::no_commands(line)).map_err(Stop::from);
        }
        writeln!(self.out, "{line}").map_err(Stop::from)
    }

    /// True when results go to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.results.is_terminal
    }

    /// True when the user asked for more.
    pub(crate) fn is_verbose(&self) -> bool {
        self.words == Words::Many
    }

    /// A line of a result.
    pub(crate) fn line(&mut self, line: Arguments<'_>) -> Result<(), Stop> {
        self.write_line(&line.to_string())
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) -> Result<(), Stop> {
        writeln!(self.out).map_err(Stop::from)
    }

    /// A line of a result in one tone.
    pub(crate) fn toned(&mut self, tone: Tone, line: &str) -> Result<(), Stop> {
        let line = paint(self.results.color, tone, line);
        self.write_line(&line)
    }

    /// A result as bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.out.write_all(bytes).map_err(Stop::from)
    }

    /// Content of a recording: as it is, or made harmless for a terminal.
    pub(crate) fn content(&mut self, bytes: &[u8], escape: bool) -> Result<(), Stop> {
        if escape || self.results.is_terminal {
            self.bytes(text::lines(bytes).as_bytes())?;
            if self.results.is_terminal && !bytes.ends_with(b"\n") {
                self.bytes(b"\n")?;
            }
            return Ok(());
        }
        self.bytes(bytes)
    }

    /// A table.
    pub(crate) fn table(&mut self, table: &Table) -> Result<(), Stop> {
        let width = if self.results.is_terminal { table::terminal_columns() } else { None };
        let (lines, left_out) = table.lines(width, self.results.color);
        for line in lines {
            self.write_line(&line)?;
        }
        if left_out > 0 {
            let columns = counted(left_out as u64, "column");
            self.toned(Tone::Faint, &format!("({columns} left out: the terminal is too narrow)"))?;
        }
        Ok(())
    }

    /// A JSON document.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
        writeln!(self.out, "{}", text::json(text)).map_err(Stop::from)
    }

    /// Standard output, for what is written in pieces.
    pub(crate) fn output(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Sends out what is buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        self.out.flush().map_err(Stop::from)
    }

    /// Reports a failure.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.report(Tone::Bad, "error:", failure);
    }

    /// Reports something that a command could work around.
    pub(crate) fn warning(&self, failure: &Failure) {
        self.report(Tone::Warn, "warning:", failure);
    }

    /// Says something about a result, unless the user wants quiet.
    pub(crate) fn note(&self, words: Arguments<'_>) {
        if self.words != Words::Few {
            self.say(&words.to_string());
        }
    }

    fn report(&self, tone: Tone, label: &str, failure: &Failure) {
        let strong = |label| paint(self.messages.color, tone, label);
        let mut lines = vec![format!("{} {}", strong(label), text::one_line(&failure.message))];
        for cause in &failure.causes {
            lines.push(format!("{} {}", strong("caused by:"), text::one_line(cause)));
        }
        for line in &failure.excerpt {
            lines.push(format!("  {}", text::one_line(line)));
        }
        if let Some(hint) = &failure.hint {
            let label = paint(self.messages.color, Tone::Strong, "hint:");
            lines.push(format!("{label} {}", text::one_line(hint)));
        }
        self.say(&lines.join("\n"));
    }

    fn say(&self, words: &str) {
        let words = if self.guarded {
            let lines: Vec<_> = words.lines().map(text::no_commands).collect();
            Cow::Owned(lines.join("\n"))
        } else {
            Cow::Borrowed(words)
        };
        // There is nobody left to tell when this fails.
        let _written = writeln!(io::stderr().lock(), "{words}");
    }

    /// Shows progress of something that may take long. It becomes visible after a second, and
    /// on a terminal only.
    pub(crate) fn progress(&self, what: &str, steps: u64) -> Progress {
        Progress::new(what, steps, self.messages.is_terminal && self.words != Words::Few)
    }
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

fn dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

fn paint(color: bool, tone: Tone, text: &str) -> String {
    if color {
        return format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code());
    }
    text.to_owned()
}

/// Shows help, the version, or what is wrong with the words of a command.
pub(crate) fn show_usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
    }
}
