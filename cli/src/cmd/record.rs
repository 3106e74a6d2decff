//! `record`: runs a command behind a proxy that records what it sends to a model.

mod budget;
mod environment;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use artifacts::fs::vfs::LocalDisk;
use capture::live::{
    LiveError, LiveReport, OnFailure, OnUpgrade, Proxy, ProxySpec, Target, Upstreams,
};
use clap::Args;

use crate::child;
use crate::clients;
use crate::error::{Ended, Failure, Kind, Outcome, Stop};
use crate::fresh::now_unix_ns;
use crate::inputs::rules;
use crate::report::number::{bytes, counted};
use crate::settings::Settings;
use crate::ui::Ui;

/// How long exchanges that are under way when the command ends may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// What `--env` shows where no address was named.
const EXAMPLE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Record a command's requests to a model while it runs
///
/// Starts a proxy on 127.0.0.1, sets the base-URL variables that known clients read, runs the
/// command, and makes a recording of every request with its answer. A request is on the disk
/// before it is sent; if it cannot be written, it is not sent and the client gets status 502.
/// Answers pass as they arrive. Secrets are replaced before anything is written, and so are the
/// values of variables such as `*_KEY`, `*_TOKEN`, `*_SECRET` and `*_PASSWORD`, wherever they
/// stand.
///
/// `{proxy}` in the command's words stands for the proxy's base URL, for clients that read no
/// variable; Codex gets the setting that it needs added.
///
/// A file `.counterfold.toml` in this folder or one above it can name upstreams and redaction
/// rules.
///
/// Without a command, the proxy runs until it is interrupted; point clients at it by hand
/// (`--env` prints the variables).
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold record -- mini -t 'fix the failing test'
  counterfold record --into runs --name try-1 -- python agent.py
  counterfold record --upstream https://gateway.example/openai -- codex exec 'say hello'
  counterfold record -- env MY_BASE={proxy}/v1 my-agent
  counterfold record --listen 127.0.0.1:8080 --into runs
  counterfold record --env --listen 127.0.0.1:8080

Exit codes:
  0  interrupted, without a command
  1  a conversation went over a budget of .counterfold.toml, and the command ended with 0
  2  the recording could not be begun, or not be written to its end
  Otherwise that of the command; 128 plus the signal's number where a signal ended it.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RecordArgs {
    /// The folder that gets the recording; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "runs")]
    into: PathBuf,
    /// Name of the recording [default: the command and the time]
    #[arg(long, value_name = "NAME", value_parser = recording_name)]
    name: Option<String>,
    /// Base URL of the API that requests go to
    ///
    /// By default each goes to the API that its path belongs to: to the address that a base-URL
    /// variable names now, else to the provider's own.
    #[arg(long, value_name = "URL", value_parser = target)]
    upstream: Option<Target>,
    /// Where the proxy listens [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Send requests also when they cannot be recorded; the recording is then marked as incomplete
    #[arg(long)]
    best_effort: bool,
    /// Refuse a web socket, after which clients that can (Codex) send plain requests
    ///
    /// Of a request over such a socket the recording holds what the model saw, put together from
    /// several messages; of a plain request it holds the bytes.
    #[arg(long)]
    no_websocket: bool,
    /// A folder below which the client saves whole outputs that it names in what it sends
    ///
    /// Such a file is taken as the output of its call. By default those of known clients are looked
    /// at: the folder for temporary files, and their own below the home.
    #[arg(long, value_name = "DIR", conflicts_with = "no_saved_outputs")]
    saved_outputs: Vec<PathBuf>,
    /// Take no files that the client saved
    #[arg(long)]
    no_saved_outputs: bool,
    /// Print the variables that point clients at the proxy, and do nothing else
    #[arg(long)]
    env: bool,
    #[command(flatten)]
    known: rules::KnownArgs,
    /// The command and its words
    #[arg(value_name = "CMD", last = true)]
    command: Vec<std::ffi::OsString>,
}

fn recording_name(word: &str) -> Result<String, &'static str> {
    let usable = !word.is_empty() && !word.starts_with('.') && !word.contains(['/', '\\', '\0']);
    if usable {
        Ok(word.to_owned())
    } else {
        Err("a name without slashes, not beginning with a dot")
    }
}

fn target(word: &str) -> Result<Target, capture::live::UpstreamError> {
    Target::parse(word)
}

pub(crate) fn run(args: &RecordArgs, ui: &mut Ui) -> Ended {
    if args.env {
        for (name, value) in clients::variables(args.listen.unwrap_or(EXAMPLE)) {
            ui.line(format_args!("export {name}={value}"))?;
        }
        return Ok(Outcome::Fine);
    }
    if args.command.is_empty() && args.listen.is_none() {
        return Err(Failure::new(Kind::Usage, "neither a command nor an address to listen on")
            .hint("counterfold record -- CMD, or counterfold record --listen 127.0.0.1:8080")
            .into());
    }
    let settings = Settings::of_this_folder()?;
    let proxy = Proxy::start(spec(args, &settings, ui)?).map_err(|error| failed(&error))?;
    if !proxy.addr().ip().is_loopback() {
        ui.note(format_args!(
            "note: {} can be reached from other machines; whoever reaches it can use your keys' \
             upstream",
            proxy.addr()
        ));
    }
    let status = match run_or_wait(args, &proxy, ui) {
        Ok(status) => status,
        Err(failure) => {
            // What was recorded until now is kept; the first failure is the one to tell.
            let _report = proxy.finish(GRACE);
            return Err(failure.into());
        }
    };
    let recording = proxy.recording().to_path_buf();
    let report = proxy.finish(GRACE).map_err(|error| failed(&error))?;
    told(&report, &recording, ui);
    let is_over = budget::check(settings.budgets(), &recording, ui)?;
    match status.map(child::exit_code) {
        Some(code) if code != 0 => Err(Stop::OfCommand(code)),
        _ if is_over => Ok(Outcome::Found),
        _ => Ok(Outcome::Fine),
    }
}

/// Returns when the command has ended, with its status; without one, when a signal came.
fn run_or_wait(args: &RecordArgs, proxy: &Proxy, ui: &Ui) -> Result<Option<ExitStatus>, Failure> {
    if !args.command.is_empty() {
        return child::run(&args.command, proxy.addr(), proxy.hold_signals(), ui).map(Some);
    }
    ui.note(format_args!(
        "recording what comes to http://{} into {}; Ctrl-C ends it",
        proxy.addr(),
        proxy.recording().display()
    ));
    proxy.wait_for_signal().map_err(|error| Failure::of(Kind::Io, &error))?;
    Ok(None)
}

fn told(report: &LiveReport, recording: &std::path::Path, ui: &Ui) {
    let requests = counted(report.requests, "request");
    let conversations = counted(report.conversations, "conversation");
    let size = bytes(report.request_bytes);
    ui.note(format_args!(
        "recorded {requests} ({size}) in {conversations} to {}",
        recording.display()
    ));
    if report.side > 0 {
        let side = counted(report.side, "exchange");
        ui.note(format_args!("  {side} that asked no model, kept as records"));
    }
    if report.hooks > 0 {
        let hooks = counted(report.hooks, "message");
        let joined = counted(report.joined, "output");
        ui.note(format_args!("  {hooks} of tool hooks, with more of {joined} than was sent"));
    }
    if report.spilled > 0 {
        let spilled = counted(report.spilled, "output");
        ui.note(format_args!("  {spilled} taken whole from where the client saved them"));
    }
    if report.unspilled > 0 {
        let unspilled = counted(report.unspilled, "saved output");
        ui.note(format_args!("  {unspilled} that could not be taken; `counterfold log` says why"));
    }
    if report.uncaptured > 0 {
        let uncaptured = counted(report.uncaptured, "request");
        ui.note(format_args!("  {uncaptured} sent without being captured: the run is incomplete"));
    }
    if report.requests == 0 {
        ui.note(format_args!(
            "  no request came through the proxy: does the command read one of the variables that \
             `counterfold record --env` prints?"
        ));
    } else {
        ui.note(format_args!("  next: counterfold verify {}", recording.display()));
    }
}

fn spec(args: &RecordArgs, settings: &Settings, ui: &Ui) -> Result<ProxySpec, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => clients::run_name(args.command.first(), jiff::Timestamp::now()),
    };
    let upstreams = match &args.upstream {
        Some(target) => Upstreams::all(target),
        None => settings.upstreams(clients::upstreams(|name| std::env::var(name).ok())?),
    };
    let refuses = args.no_websocket || !settings.websocket();
    let on_upgrade = if refuses { OnUpgrade::Refuse } else { OnUpgrade::Tunnel };
    Ok(ProxySpec {
        recording: args.into.join(name),
        listen: args.listen.unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)),
        upstreams,
        on_failure: if args.best_effort { OnFailure::SendAnyway } else { OnFailure::Refuse },
        on_upgrade,
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        redactor: args.known.for_command(rules::of_word(&settings.rules())?, ui)?,
        spill_roots: saved_outputs(args, settings),
        disk: LocalDisk::shared(),
        identity: None,
        environment: Some(environment::told(&args.command)),
        clock: Arc::new(now_unix_ns),
    })
}

/// Folders below which the client may have saved outputs.
fn saved_outputs(args: &RecordArgs, settings: &Settings) -> Vec<PathBuf> {
    if args.no_saved_outputs {
        return Vec::new();
    }
    if !args.saved_outputs.is_empty() {
        return args
            .saved_outputs
            .iter()
            .filter_map(|path| std::path::absolute(path).ok())
            .collect();
    }
    let of_clients = || clients::saved_outputs(|name| std::env::var_os(name));
    settings.saved_outputs().unwrap_or_else(of_clients)
}

fn failed(error: &LiveError) -> Failure {
    let failure = Failure::of(Kind::Io, error);
    match error {
        LiveError::Listen { .. } => {
            failure.hint("choose another address, or port 0 for a free one")
        }
        LiveError::Roots { .. } => failure.hint("install the package ca-certificates"),
        LiveError::Record { .. } => failure.hint("choose another --name or --into, or free space"),
        _ => failure,
    }
}
