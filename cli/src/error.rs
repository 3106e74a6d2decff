//! What a command ends with: an outcome, or a failure with its causes, a hint and an exit code.

pub(crate) mod map;

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How a command ended that could look at everything it was asked to look at, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Fine, or the same: exit code 0.
    Fine,
    /// Could not decide: exit code 2.
    Undecided,
    /// Different, or a check found something: exit code 1. A finding outweighs what could not
    /// be looked at.
    Found,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Found => 1,
            Self::Undecided => 2,
        })
    }
}

/// What kind of failure it is; the word stands in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The words on the command line do not fit together.
    Usage,
    /// Nothing is there, or something else is.
    NotFound,
    /// The system refused.
    Io,
    /// Bytes are not what was written.
    Damage,
    /// A newer version wrote it.
    Version,
    /// The input is not in the format that it should be in.
    Format,
    /// A name is in use.
    Taken,
    /// There is nothing to look at.
    Empty,
    /// Something that this version does not do.
    Unsupported,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Io => "io",
            Self::Damage => "damage",
            Self::Version => "version",
            Self::Format => "format",
            Self::Taken => "taken",
            Self::Empty => "empty",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Why a command, or a part of it, could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    /// Lines of an excerpt of the input, with a mark at the place.
    pub(crate) excerpt: Vec<String>,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), excerpt: Vec::new(), hint: None }
    }

    /// Takes the message of an error, and those of the errors that caused it.
    pub(crate) fn of(kind: Kind, error: &dyn Error) -> Self {
        let mut failure = Self::new(kind, error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some messages contain the one of their cause.
            if !failure.message.ends_with(&text) {
                failure.causes.push(text);
            }
            source = cause.source();
        }
        failure
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message and its causes on one line, for JSON and table cells.
    pub(crate) fn line(&self) -> String {
        let mut line = self.message.clone();
        for cause in &self.causes {
            line.push_str(": ");
            line.push_str(cause);
        }
        line
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Whoever read the output has gone away, which is their right.
    Pipe,
    /// Another program was run, and this is the code that it ended with.
    OfCommand(u8),
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Standard output is the only thing whose errors are converted without a path.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Pipe;
        }
        let failure = Failure::new(Kind::Io, "cannot write to standard output");
        Self::Failed(Failure { causes: vec![error.to_string()], ..failure })
    }
}

/// How commands end.
pub(crate) type Ended = Result<Outcome, Stop>;

/// A file or folder that the system did not give.
pub(crate) fn file(action: &str, path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::NotFound {
        return Failure::new(Kind::NotFound, format!("no such file or folder: {}", path.display()))
            .hint("check the path; relative paths start at the current folder");
    }
    let failure = Failure::new(Kind::Io, format!("cannot {action} {}", path.display()));
    Failure { causes: vec![error.to_string()], ..failure }
}
