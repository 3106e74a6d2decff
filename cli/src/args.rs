//! The words of the command line that all commands share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};

use crate::cmd::Command;
use crate::inputs::RequestName;

/// Lines of help are not longer than this.
pub(crate) const HELP_WIDTH: usize = 100;

/// Shows what an LLM agent's model was sent, proves it, and works out what another context
/// policy would have shown it.
///
/// A recording is a folder: an event log and the content that it names. Import one from a HAR
/// file, verify that every recorded request comes back byte for byte, then fold the same run
/// under other policies.
#[derive(Debug, Parser)]
#[command(
    name = "counterfold",
    version,
    max_term_width = HELP_WIDTH,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  counterfold import har session.har --into runs
  counterfold verify runs
  counterfold sweep runs
  counterfold diff runs/session@12 --policy cap-4k

Exit codes:
  0  fine, or the same
  1  different, or a check found something
  2  could not decide: usage, IO, damage, version, or nothing to check"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Global {
    /// When to use colors; `auto` means on a terminal, unless `NO_COLOR` is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t = Color::Auto,
        help_heading = "Global options"
    )]
    pub(crate) color: Color,
    /// Say nothing but results, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// The format of a result.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatArgs {
    /// How the result is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// What a command that writes may do.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Write on a network or user-space file system all the same
    ///
    /// There a lock may be granted twice, and what was synced may be lost.
    #[arg(long)]
    pub(crate) allow_remote: bool,
}

/// Recordings that a command looks at.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordingsArgs {
    /// Recordings, or folders that hold recordings
    #[arg(value_name = "REC", required_unless_present = "allow_empty")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Do not fail when there is nothing to look at
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

/// Reads `REC@N`.
pub(crate) fn request_name(word: &str) -> Result<RequestName, &'static str> {
    RequestName::parse(word.as_ref())
}

/// Reads the words of the command line.
pub(crate) fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().color(help_color(words));
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Help and usage errors come before the words are understood, so `--color` is looked for.
fn help_color(words: &[OsString]) -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("--color", value)) => Some(value),
            _ if word == "--color" => words.next(),
            _ => None,
        };
        match value {
            Some("always") => choice = ColorChoice::Always,
            Some("never") => choice = ColorChoice::Never,
            _ => {}
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
