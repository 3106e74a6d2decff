//! `help-markdown`: the help of all commands as one Markdown page, which is docs/reference/cli.md.

use clap::{Args, Command, CommandFactory as _};

use crate::args::{Cli, HELP_WIDTH};
use crate::error::{Ended, Outcome};
use crate::ui::Ui;

const INTRODUCTION: &str = "\
# Command line

The program is `counterfold`; `cfold` is the same program under a shorter name. This page is the
output of `counterfold help-markdown`: the help of every command. What the exit codes mean in
detail is in [exit-codes.md](exit-codes.md), what the JSON documents hold in [json.md](json.md).

- `REC` is a recording: a folder with an event log and the content that it names.
- `REC...` takes recordings and folders that hold recordings, at any depth up to 8.
- `REC@N` is one request of a recording. Requests are numbered from 1 in the order of capture;
  so are conversations, tool calls and the entries of an imported file.
- Results go to standard output, everything else to standard error. A reader that closes the
  pipe early is no failure.
- In tables, numbers are rounded for people (decimal units, 1 kB = 1000 bytes); JSON is exact.
";

/// Print the help of all commands as Markdown
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HelpMarkdownArgs {}

pub(crate) fn run(_args: HelpMarkdownArgs, ui: &mut Ui) -> Ended {
    let mut page = INTRODUCTION.to_owned();
    let mut root = Cli::command().term_width(HELP_WIDTH);
    root.build();
    describe(&root, "counterfold", &mut page);
    ui.bytes(page.as_bytes())?;
    Ok(Outcome::Fine)
}

fn describe(command: &Command, name: &str, page: &mut String) {
    let mut shown = command.clone().term_width(HELP_WIDTH);
    let help = shown.render_long_help().to_string();
    let fenced = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    page.push_str(&["\n## ", name, "\n\n```text\n", fenced.trim_end(), "\n```\n"].concat());
    let listed = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for sub in command.get_subcommands().filter(listed) {
        describe(sub, &[name, " ", sub.get_name()].concat(), page);
    }
}
