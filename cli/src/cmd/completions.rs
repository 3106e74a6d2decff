//! `completions`: what a shell needs to complete the words of the command line.

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{Ended, Outcome};
use crate::ui::Ui;

/// Print completions for a shell
///
/// Prints a script that teaches a shell to complete the words of this program. Where the script
/// belongs depends on the shell.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold completions bash > ~/.local/share/bash-completion/completions/counterfold
  counterfold completions zsh > ~/.zfunc/_counterfold
  counterfold completions fish --name cfold > ~/.config/fish/completions/cfold.fish

Exit codes:
  0  printed
  2  usage, or standard output does not take it")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
    /// The name under which the program is called
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Name::Counterfold)]
    name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Counterfold,
    Cfold,
}

pub(crate) fn run(args: CompletionsArgs, ui: &mut Ui) -> Ended {
    let name = match args.name {
        Name::Counterfold => "counterfold",
        Name::Cfold => "cfold",
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), name, &mut script);
    ui.bytes(&script)?;
    Ok(Outcome::Fine)
}
