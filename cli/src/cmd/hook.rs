//! `hook`: hands a message of a client's tool hook to the recording that is under way.

use std::io::Read as _;

use clap::Args;

use crate::child::HOOK_VARIABLE;
use crate::error::Outcome;
use crate::handover::{self, MESSAGE_BYTES_MAX};
use crate::ui::Ui;

/// Hand a message of a client's tool hook to the recording that is under way
///
/// For the hooks that clients run around their tools: reads one message from standard input and
/// gives it to the `record` that the client runs under. The recording keeps the message, and joins
/// what the tool gave to its call. It prints nothing on standard output and always ends with 0, so
/// that it never steers the client; without a recording under way it does nothing.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold hook < message.json
  In Claude Code's settings, under hooks, PostToolUse: \"command\": \"counterfold hook\"

Exit codes:
  0  always")]
pub(crate) struct HookArgs {}

pub(crate) fn run(_args: HookArgs, ui: &Ui) -> Outcome {
    if let Some(words) = std::env::var(HOOK_VARIABLE).ok().and_then(|url| handed_over(&url).err()) {
        ui.note(format_args!("note: the hook's message was not recorded: {words}"));
    }
    Outcome::Fine
}

/// Reads the message and hands it over.
fn handed_over(url: &str) -> Result<(), String> {
    let mut message = Vec::new();
    let read = std::io::stdin().take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut message);
    read.map_err(|error| error.to_string())?;
    if message.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(format!("it is longer than {MESSAGE_BYTES_MAX} bytes"));
    }
    handover::to_recorder(url, &message)
}
