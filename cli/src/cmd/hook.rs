//! `hook`: hands a message of a client's tool hook to the recording that is under way.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;

use crate::child::HOOK_VARIABLE;
use crate::error::Outcome;
use crate::ui::Ui;

/// The longest message that is handed over, in bytes.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// How long the recorder may take; a client waits for its hooks.
const PATIENCE: Duration = Duration::from_secs(5);

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

fn handed_over(url: &str) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let rest = url.strip_prefix("http://").ok_or("no address of a recorder")?;
    let (addr, path) = rest.split_once('/').ok_or("no address of a recorder")?;
    let addr: SocketAddr = addr.parse().map_err(|_no_addr| "no address of a recorder")?;
    let mut message = Vec::new();
    std::io::stdin().take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut message).map_err(told)?;
    if message.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(format!("it is longer than {MESSAGE_BYTES_MAX} bytes"));
    }
    let mut stream = TcpStream::connect_timeout(&addr, PATIENCE).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).map_err(told)?;
    stream.write_all(&message).map_err(told)?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).map_err(told)?;
    if answer.ends_with(b"204") { Ok(()) } else { Err("the recorder did not take it".to_owned()) }
}
