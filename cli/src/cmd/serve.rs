//! `serve`: answers a client from a recording and says where it drifts.

mod answers;
mod junit;
mod rebind;
mod report;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use capture::live::LiveError;
use capture::live::answering::Answering;
use clap::{Args, ValueEnum};
use replay::serve::{Faults, OnDrift, Server};
use replay::twin::Rules;
use replay::twin::rules::TextRule;

use crate::args::{Format, FormatArgs};
use crate::child;
use crate::error::{Ended, Failure, Kind, Outcome, Stop};
use crate::inputs::rules as redaction;
use crate::inputs::{self, Scratch};
use crate::output;
use crate::settings::Settings;
use crate::ui::Ui;

use answers::GivenAs;
use rebind::Rebind;

/// Answer a client's requests from a recording
///
/// Gives each request the answer that it got when it was recorded, and never asks a model. A
/// request has to be the one that is due in its conversation: the same bytes, or the same but for
/// ids (each must stand for one other id) and times. Known clients are declared; --place and
/// --member declare more. Whatever else differs is drift, named by the request that was due and
/// the first place that differs; requests that nobody sent are drift as well.
///
/// A file `.counterfold.toml` in this folder or one above it can declare what differs for a whole
/// project.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold serve runs/try-1 -- mini -t 'fix the failing test'
  counterfold serve runs/try-1 --listen 127.0.0.1:8080
  counterfold serve runs/try-1 --rebind /srv/project=$PWD --junit report.xml -- python agent.py
  counterfold serve runs/try-1 --on-drift warn --format json -- python agent.py

Exit codes:
  0  the client did what the recorded one did
  1  it drifted
  2  could not decide: usage, damage, nothing to answer, or the command does not start
  Otherwise, where nothing drifted, that of the command.")]
pub(crate) struct ServeArgs {
    /// The recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Where to listen [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// What a request that drifts gets: an error, or the answer of the one that was due
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Drifting::Fail)]
    on_drift: Drifting,
    /// Give recorded failures (429, 5xx) again too; by default the client gets the answer that
    /// followed them at once
    #[arg(long)]
    faults: bool,
    /// Give answers as slowly as they came when they were recorded, piece by piece
    #[arg(long)]
    pace: bool,
    /// Give answers in the pieces in which they came when they were recorded
    #[arg(long)]
    pieces: bool,
    /// A place in texts that may differ, with {id} or {number} in it
    #[arg(long = "place", value_name = "TEXT")]
    places: Vec<String>,
    /// A member of a JSON object whose value may differ
    #[arg(long = "member", value_name = "NAME")]
    members: Vec<String>,
    /// A text of the recorded machine, mostly a path, and what stands for it here
    #[arg(long, value_name = "RECORDED=HERE")]
    rebind: Vec<String>,
    /// Write a `JUnit` XML file: a test case per drift and per request that nobody asked for
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// The command and its words; without one, the server runs until it is interrupted
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Drifting {
    Fail,
    Warn,
}

pub(crate) fn run(args: &ServeArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    if args.command.is_empty() && args.listen.is_none() {
        return Err(Failure::new(Kind::Usage, "neither a command nor an address to listen on")
            .hint("counterfold serve REC -- CMD, or counterfold serve REC --listen 127.0.0.1:8080")
            .into());
    }
    let place = inputs::one(&args.recording, scratch, ui)?;
    let recording = inputs::open(&place.folder)?;
    let settings = Settings::of_this_folder()?;
    let rules = rules(args, &settings)?;
    let rebind = rebind(args, &settings)?;
    let redactor = redaction::of_word(&settings.rules())?;
    let faults = if args.faults { Faults::Replay } else { Faults::Skip };
    let on_drift = match args.on_drift {
        Drifting::Fail => OnDrift::Fail,
        Drifting::Warn => OnDrift::Warn,
    };
    let given = match (args.pace, args.pieces) {
        (true, _) => GivenAs::Paced,
        (false, true) => GivenAs::Pieces,
        (false, false) => GivenAs::Whole,
    };
    let server = Server::new(recording, rules, faults, on_drift)
        .map_err(|error| Failure::of(Kind::Unsupported, &error))?;
    let answers = Arc::new(answers::FromRecording::new(server, redactor, rebind, given));
    let listen = args.listen.unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
    let listener =
        Answering::start(listen, Arc::clone(&answers)).map_err(|error| failed(&error))?;
    let status = run_or_wait(args, &listener, ui);
    listener.finish();
    let status = status?;
    let told = answers.finish();
    if let Some(path) = &args.junit {
        output::write(path, junit::document(&args.recording, &told).as_bytes())?;
    }
    match args.format.format {
        Format::Json => ui.json(&report::document(&args.recording, &told))?,
        Format::Table => report::print(&told, ui)?,
    }
    if !told.report.is_same() || told.failed.is_some() {
        if let Some(failure) = told.failed {
            return Err(failure.into());
        }
        return Ok(Outcome::Found);
    }
    match status {
        Some(code) if code != 0 => Err(Stop::OfCommand(code)),
        _ => Ok(Outcome::Fine),
    }
}

/// Returns when the command has ended, with its exit code; without one, when a signal came.
fn run_or_wait(args: &ServeArgs, listener: &Answering, ui: &Ui) -> Result<Option<u8>, Failure> {
    if !args.command.is_empty() {
        let signals = listener.hold_signals();
        let status = child::run(&args.command, listener.addr(), signals, ui)?;
        return Ok(Some(child::exit_code(status)));
    }
    ui.note(format_args!(
        "answering on http://{} from {}; Ctrl-C ends it",
        listener.addr(),
        args.recording.display()
    ));
    listener.wait_for_signal().map_err(|error| Failure::of(Kind::Io, &error))?;
    Ok(None)
}

fn rebind(args: &ServeArgs, settings: &Settings) -> Result<Rebind, Failure> {
    let mut pairs: Vec<_> = settings.rebind().collect();
    for pair in &args.rebind {
        let Some((recorded, here)) = pair.split_once('=') else {
            return Err(Failure::new(Kind::Usage, format!("not RECORDED=HERE: {pair}"))
                .hint("as in `--rebind /srv/project=$PWD`"));
        };
        pairs.push((recorded.to_owned(), here.to_owned()));
    }
    Ok(Rebind::new(pairs.into_iter()))
}

fn rules(args: &ServeArgs, settings: &Settings) -> Result<Rules, Failure> {
    let mut rules = Rules::known();
    for place in settings.places().iter().chain(&args.places) {
        let rule = TextRule::parse(place).map_err(|error| {
            Failure::of(Kind::Usage, &error).hint("for example --place 'Build {number} of'")
        })?;
        rules.texts.push(rule);
    }
    rules.members.extend(settings.members().iter().chain(&args.members).cloned());
    rules.unordered.extend(settings.unordered().iter().cloned());
    rules.pairs.extend(settings.aliases());
    Ok(rules)
}

fn failed(error: &LiveError) -> Failure {
    Failure::of(Kind::Io, error).hint("choose another address, or port 0 for a free one")
}
