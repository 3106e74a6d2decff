//! The subcommands, one file each.

mod accept;
mod acp;
mod calls;
mod cat;
mod compact;
mod completions;
mod diff;
mod export;
mod fingerprint;
mod fsck;
mod gc;
mod help_markdown;
mod hook;
mod hooks;
mod import;
mod infer;
mod log;
mod paranoid;
mod policy;
mod principals;
mod project;
mod record;
mod redact;
mod reference_markdown;
mod repair;
mod report;
mod rules;
mod selftest;
mod serve;
mod sessions;
mod show;
mod stats;
mod sweep;
mod twin;
mod verify;

use clap::Subcommand;

use crate::error::Ended;
use crate::inputs::Scratch;
use crate::ui::Ui;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make recordings of the runs that other programs wrote down
    ///
    /// Looks into folders, recognizes each file by what it holds and makes one recording per run:
    /// sessions of Claude Code, Codex and other clients, trajectories, traces, HAR files. A source
    /// that was imported before is skipped; one that has changed since becomes a new recording
    /// that names the earlier one. Secrets are replaced before anything is stored, every record
    /// that is not understood is kept with its bytes, and the table at the end counts them.
    /// Where a source has no request bodies they are put together from its messages, on the rung
    /// `reconstructed`, and never claimed byte for byte. The subcommands take one format each,
    /// with options of its own.
    #[command(after_help = "\
Examples:
  counterfold import ~/.claude/projects
  counterfold import ~/.codex/sessions ~/.gemini/tmp --into runs
  counterfold import logs/run.eval trace.otlp.json --format json
  counterfold import har session.har --into runs

Exit codes:
  0  all files of known formats were imported, or were there already
  2  some file could not be imported, or not to its end, or no file is of a known format")]
    Import(import::ImportArgs),
    Record(record::RecordArgs),
    Serve(serve::ServeArgs),
    Verify(verify::VerifyArgs),
    Accept(accept::AcceptArgs),
    Selftest(selftest::SelftestArgs),
    Project(project::ProjectArgs),
    Diff(diff::DiffArgs),
    Sweep(sweep::SweepArgs),
    Report(report::ReportArgs),
    Twin(twin::TwinArgs),
    Log(log::LogArgs),
    Show(show::ShowArgs),
    Sessions(sessions::SessionsArgs),
    Calls(calls::CallsArgs),
    Hooks(hooks::HooksArgs),
    Hook(hook::HookArgs),
    Principals(principals::PrincipalsArgs),
    Acp(acp::AcpArgs),
    Cat(cat::CatArgs),
    Stats(stats::StatsArgs),
    Redact(redact::RedactArgs),
    Fsck(fsck::FsckArgs),
    Repair(repair::RepairArgs),
    Gc(gc::GcArgs),
    Compact(compact::CompactArgs),
    Export(export::ExportArgs),
    /// List, show, check and apply context policies
    ///
    /// A policy is a list of steps that decide what of a run the model is shown: caps on tool
    /// outputs, replacement of old ones, a window over messages. Some are built in, others are
    /// TOML files.
    #[command(
        subcommand,
        after_help = "\
Examples:
  counterfold policy list
  counterfold policy show cap-4k > mine.toml
  counterfold policy check mine.toml
  counterfold policy apply codex@820f85c output.txt

Exit codes:
  0  fine
  1  a checked policy is not valid
  2  no such policy, or a file cannot be read"
    )]
    Policy(policy::PolicyCommand),
    /// List, show and update what amounts rest on: cache rules and prices
    ///
    /// Rulebooks say how providers cache prompts, a table says what tokens cost. Both are data
    /// with a day and a source; nothing is fetched.
    #[command(
        subcommand,
        after_help = "\
Examples:
  counterfold rules list
  counterfold rules show anthropic@2026-11

Exit codes:
  0  fine
  2  no such rulebook, or a file cannot be read"
    )]
    Rules(rules::RulesCommand),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Fingerprint(fingerprint::FingerprintArgs),
    #[command(hide = true)]
    HelpMarkdown(help_markdown::HelpMarkdownArgs),
    #[command(hide = true)]
    ReferenceMarkdown(reference_markdown::ReferenceMarkdownArgs),
}

pub(crate) use log::tail;

/// Runs a command.
pub(crate) fn run(command: Command, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    match command {
        Command::Import(args) => match args.of {
            None => import::paths::run(&args.paths, ui),
            Some(import::ImportCommand::Har(args)) => import::run(&args, ui),
            Some(import::ImportCommand::Acp(args)) => acp::import(&args, ui),
            Some(import::ImportCommand::Jsonl(args)) => import::jsonl::run(&args, ui),
        },
        Command::Record(args) => record::run(&args, ui),
        Command::Serve(args) => serve::run(&args, scratch, ui),
        Command::Verify(args) => verify::run(&args, scratch, ui),
        Command::Accept(args) => accept::run(&args, scratch, ui),
        Command::Selftest(args) => selftest::run(&args, scratch, ui),
        Command::Project(args) => project::run(&args, scratch, ui),
        Command::Diff(args) => diff::run(&args, scratch, ui),
        Command::Report(args) => report::run(&args, scratch, ui),
        Command::Sweep(args) => sweep::run(&args, scratch, ui),
        Command::Twin(args) => twin::run(&args, scratch, ui),
        Command::Log(args) => log::run(&args, scratch, ui),
        Command::Show(args) => show::run(&args, scratch, ui),
        Command::Sessions(args) => sessions::run(&args, scratch, ui),
        Command::Calls(args) => calls::run(&args, scratch, ui),
        Command::Hooks(args) => hooks::run(&args, scratch, ui),
        Command::Hook(args) => Ok(hook::run(args, ui)),
        Command::Principals(args) => principals::run(&args, scratch, ui),
        Command::Acp(args) => acp::run(&args, ui),
        Command::Cat(args) => cat::run(&args, scratch, ui),
        Command::Redact(args) => redact::run(&args, ui),
        Command::Stats(args) => stats::run(&args, scratch, ui),
        Command::Fsck(args) => fsck::run(&args, scratch, ui),
        Command::Repair(args) => repair::run(&args, ui),
        Command::Gc(args) => gc::run(&args, ui),
        Command::Compact(args) => compact::run(&args, ui),
        Command::Export(args) => export::run(&args, scratch, ui),
        Command::Policy(command) => policy::run(&command, scratch, ui),
        Command::Rules(command) => rules::run(&command, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Fingerprint(args) => fingerprint::run(&args, ui),
        Command::HelpMarkdown(args) => help_markdown::run(args, ui),
        Command::ReferenceMarkdown(args) => reference_markdown::run(args, ui),
    }
}
