//! `acp -- CMD`: records a connection between a client and an agent. `import acp`: a log of one.

mod also;

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};

use artifacts::redact::Redactor;
use capture::acp::{
    AcpError, AcpOptions, AcpReport, Direction, Tee, TeeError, TeeOptions, WhenUnrecorded,
    import_acp,
};
use clap::Args;
use serde::Serialize;

use self::also::Also;
use crate::args::{Format, FormatArgs};
use crate::child::HOOK_VARIABLE;
use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::fresh::now_unix_ns;
use crate::report::number::counted;
use crate::ui::Ui;

pub(super) const RECORDER: &str = concat!("counterfold ", env!("CARGO_PKG_VERSION"));

/// Make a recording of each log of agent-protocol messages
///
/// Reads logs of the Agent Client Protocol: one JSON-RPC message a line, bare or as `msg` of a
/// line with `dir` (c2a or a2c) and `t` (seconds); plain or compressed with gzip or zstd. Sessions,
/// turns, calls, permissions and results become facts; every other message is kept with its bytes.
/// A call is bridged when its name is one of those that the session's tool servers advertise.
/// The protocol does not say which tools a server has: name them with --tool, or all calls are
/// native.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold import acp session.acp.jsonl --into runs
  counterfold import acp session.acp.jsonl --into runs --tool read_file --tool list_comments
  counterfold calls runs/session

Exit codes:
  0  all logs were imported, or were there already
  2  some log could not be imported, or not to its end")]
pub(crate) struct ImportArgs {
    /// Logs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The folder that gets the recordings; made if it is not there
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// A tool that the client's tool servers offer; may be repeated
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    #[command(flatten)]
    format: FormatArgs,
}

/// Record a connection to an agent while carrying it
///
/// Starts the command and carries lines between it and whoever started this program, on standard
/// input and output, for a client that speaks the Agent Client Protocol. Each line is on record
/// before it goes on. If a line cannot be recorded, the connection ends, unless --best-effort is
/// given.
///
/// Under `counterfold record`, what the agent tells of its tools' outputs is handed to that
/// recording as well and joined to its calls; --into and --name may then be left out.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold record -- my-client --agent 'counterfold acp -- gemini --experimental-acp'
  counterfold acp --into runs --name today -- gemini --experimental-acp
  counterfold acp --into runs --name today --tool read_file -- my-agent --stdio

Exit codes:
  0  the connection ended, and the command ended well
  2  it could not be recorded or carried, or the command failed")]
pub(crate) struct AcpArgs {
    /// The folder that gets the recording; made if it is not there
    #[arg(long, value_name = "DIR", requires = "name")]
    into: Option<PathBuf>,
    /// Name of the recording
    #[arg(long, value_name = "NAME", requires = "into")]
    name: Option<String>,
    /// A tool that the client's tool servers offer; may be repeated
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Carry lines on even when they cannot be recorded
    #[arg(long)]
    best_effort: bool,
    /// The command that starts the agent, and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<std::ffi::OsString>,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    ok: bool,
    into: String,
    files: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    file: String,
    path: Option<String>,
    skipped: bool,
    messages: u64,
    other: u64,
    sessions: u64,
    prompts: u64,
    calls: u64,
    questions: u64,
    suppressed: u64,
    unattached: u64,
    stray_answers: u64,
    unread_lines: u64,
    long_lines: u64,
    head: Option<String>,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

/// Runs `import acp`.
pub(crate) fn import(args: &ImportArgs, ui: &mut Ui) -> Ended {
    let mut rows = Vec::new();
    let mut outcome = Outcome::Fine;
    for file in &args.files {
        let options = AcpOptions {
            recorder: RECORDER,
            now_unix_ns: now_unix_ns(),
            identity: None,
            redactor: Redactor::core(),
            name: None,
            tools: args.tools.clone(),
        };
        let imported = make_folder(&args.into)
            .and_then(|()| import_acp(file, &args.into, &options).map_err(|error| failed(&error)));
        if let Err(failure) = &imported {
            ui.failure(failure);
            outcome = Outcome::Undecided;
        }
        if let (Ok(report), Format::Table) = (&imported, args.format.format) {
            ui.line(format_args!("{}", words(report)))?;
        }
        rows.push(row(file, imported));
    }
    if args.format.format == Format::Json {
        ui.json(&Document {
            schema: "counterfold.import-acp/1",
            ok: outcome == Outcome::Fine,
            into: args.into.display().to_string(),
            files: rows,
        })?;
    }
    ui.flush()?;
    Ok(outcome)
}

fn row(file: &Path, imported: Result<AcpReport, Failure>) -> Row {
    let (report, failure) = match imported {
        Ok(report) => (Some(report), None),
        Err(failure) => (None, Some(failure)),
    };
    let counts = report.as_ref().map(|report| report.counts).unwrap_or_default();
    Row {
        file: file.display().to_string(),
        path: report.as_ref().map(|report| report.recording.display().to_string()),
        skipped: report.as_ref().is_some_and(|report| report.skipped),
        messages: counts.messages,
        other: counts.other,
        sessions: counts.sessions,
        prompts: counts.prompts,
        calls: counts.calls,
        questions: counts.questions,
        suppressed: counts.suppressed,
        unattached: counts.unattached,
        stray_answers: counts.stray_answers,
        unread_lines: report.as_ref().map_or(0, |report| report.unread_lines),
        long_lines: report.as_ref().map_or(0, |report| report.long_lines),
        head: report.and_then(|report| Some(report.head?.to_string())),
        error: failure.as_ref().map(Failure::line),
        error_kind: failure.as_ref().map(|failure| failure.kind.name()),
    }
}

fn words(report: &AcpReport) -> String {
    let path = report.recording.display();
    if report.skipped {
        return format!("{path}: was there already");
    }
    let counts = report.counts;
    let mut words = format!(
        "{path}: {}, {}, {}, {}",
        counted(counts.messages, "message"),
        counted(counts.sessions, "session"),
        counted(counts.calls, "call"),
        counted(counts.questions, "question"),
    );
    for (count, what) in [
        (counts.unattached, "end of no known call"),
        (counts.suppressed, "repeated end"),
        (counts.stray_answers, "answer to no known request"),
        (report.unread_lines, "line that is no message"),
        (report.long_lines, "line beyond the limit"),
    ] {
        if count > 0 {
            words.extend(["; ", what, ": ", &count.to_string()]);
        }
    }
    words
}

fn make_folder(into: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(into).map_err(|error| crate::error::file("create", into, &error))
}

pub(super) fn failed(error: &AcpError) -> Failure {
    let kind = match error {
        AcpError::NoMessage { .. } => Kind::Format,
        AcpError::File(error) => return map::unmade(error),
        _ => Kind::Io,
    };
    Failure::of(kind, error)
}

/// Runs `acp -- CMD`.
pub(crate) fn run(args: &AcpArgs, ui: &mut Ui) -> Ended {
    let outer = std::env::var(HOOK_VARIABLE).ok();
    let tee = match (&args.into, &args.name) {
        (Some(into), Some(name)) => Some(Arc::new(tee(args, into, name)?)),
        _ if outer.is_some() => None,
        _ => {
            let words = "nowhere to record to, and no `counterfold record` around this";
            return Err(Failure::new(Kind::Usage, words).hint("name --into and --name").into());
        }
    };
    let also = outer.map(Also::start);
    let mut child = start(&args.command)?;
    let carried = carry(tee.as_ref(), also.as_ref(), &mut child);
    let status = child.wait().map_err(|error| broke(&error))?;
    if let Some(lost) = also.map(Also::finish).filter(|lost| *lost > 0) {
        let lost = counted(lost, "message");
        ui.note(format_args!("note: {lost} could not be handed to the recording around this"));
    }
    let report = match &tee {
        Some(tee) => tee.close(!status.success()).map_err(|error| map::unrecorded(&error))?,
        None => None,
    };
    carried.map_err(|error| match error {
        TeeError::Record(error) => map::unrecorded(&error),
        other => Failure::of(Kind::Io, &other),
    })?;
    match (report, &args.into) {
        (Some(report), _) => ui.note(format_args!("note: recorded {}", words(&report))),
        (None, Some(into)) => {
            ui.note(format_args!("note: recording broke off below {}", into.display()));
        }
        (None, None) => {}
    }
    Ok(if status.success() { Outcome::Fine } else { Outcome::Undecided })
}

fn tee(args: &AcpArgs, into: &Path, name: &str) -> Result<Tee, Failure> {
    make_folder(into)?;
    let options = TeeOptions {
        acp: AcpOptions {
            recorder: RECORDER,
            now_unix_ns: now_unix_ns(),
            identity: None,
            redactor: Redactor::core(),
            name: None,
            tools: args.tools.clone(),
        },
        when_unrecorded: if args.best_effort { WhenUnrecorded::GoOn } else { WhenUnrecorded::Stop },
    };
    Tee::create(&into.join(name), name, &options, now_unix_ns)
        .map_err(|error| map::unrecorded(&error))
}

fn start(command: &[std::ffi::OsString]) -> Result<Child, Failure> {
    let (program, arguments) = command.split_first().expect("clap requires a command");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().map_err(|error| {
        let words = format!("command does not start: {}", Path::new(program).display());
        let mut failure = Failure::new(Kind::NotFound, words);
        failure.causes.push(error.to_string());
        failure
    })
}

fn broke(error: &io::Error) -> Failure {
    Failure::of(Kind::Io, error)
}

/// Carries both directions until the agent has no more to say. The client's side is read by a
/// thread of its own, which ends with the program when the client keeps it open.
fn carry(tee: Option<&Arc<Tee>>, also: Option<&Also>, child: &mut Child) -> Result<(), TeeError> {
    let (failed, client) = mpsc::channel();
    if let Some(mut to_agent) = child.stdin.take() {
        let tee = tee.cloned();
        std::thread::spawn(move || {
            let mut from = io::stdin().lock();
            let direction = Direction::ToAgent;
            if let Err(error) = lines(tee.as_deref(), direction, &mut from, &mut to_agent) {
                // The agent then sees the end of its input.
                let _nobody_waits = failed.send(error);
            }
        });
    }
    if let Some(from_agent) = child.stdout.take() {
        let mut from_agent = BufReader::new(from_agent);
        let mut to_client = also::Told::new(io::stdout().lock(), also);
        lines(tee.map(Arc::as_ref), Direction::ToClient, &mut from_agent, &mut to_client)?;
    }
    match client.try_recv() {
        // An agent that ended before its client is no failure of the connection.
        Ok(TeeError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(error) => Err(error),
        Err(_none) => Ok(()),
    }
}

/// Carries lines one way, recorded where there is a recording of their own.
fn lines(
    tee: Option<&Tee>,
    direction: Direction,
    from: &mut dyn io::BufRead,
    to: &mut dyn Write,
) -> Result<(), TeeError> {
    if let Some(tee) = tee {
        return tee.carry(direction, from, to);
    }
    let mut line = Vec::new();
    while bounded(from).read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        line.clear();
    }
    Ok(())
}

/// As much of a line as is carried in one piece.
fn bounded(from: &mut dyn io::BufRead) -> io::Take<&mut dyn io::BufRead> {
    from.take(capture::acp::LINE_BYTES_MAX as u64)
}
