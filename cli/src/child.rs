//! Runs a command whose clients are pointed at a listener of ours.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};

use capture::live::{HOOK_PATH, LiveError, Signals};

use crate::clients;
use crate::error::{Failure, Kind};
use crate::ui::Ui;

/// Variable that tells `hook` where the recorder is.
pub(crate) const HOOK_VARIABLE: &str = "COUNTERFOLD_HOOK";

/// Returns when the command has ended, with its status.
pub(crate) fn run(
    command: &[OsString],
    addr: SocketAddr,
    signals: Result<Signals, LiveError>,
    ui: &Ui,
) -> Result<ExitStatus, Failure> {
    // Ctrl-C reaches the command as well, and it is the command that decides what to do with it.
    let signals = signals.map_err(|error| Failure::of(Kind::Io, &error))?;
    let pointed = clients::pointed(command, addr);
    if let Some(words) = &pointed.put_in {
        ui.note(format_args!("note: this client reads no variable; added to its words: {words}"));
    }
    let mut words = pointed.words.iter();
    let mut child = Command::new(words.next().map_or_else(OsString::new, OsString::clone))
        .args(words)
        .envs(clients::variables(addr))
        .envs(clients::stay_local(|name| std::env::var(name).ok()))
        .env(HOOK_VARIABLE, format!("http://{addr}{HOOK_PATH}"))
        .spawn()
        .map_err(|error| {
            let failure = Failure::new(Kind::NotFound, "the command does not start");
            let failure = Failure { causes: vec![error.to_string()], ..failure };
            failure.hint("the words behind -- are the program and its arguments")
        })?;
    signals.pass_terminate_to(child.id());
    child.wait().map_err(|error| {
        let failure = Failure::new(Kind::Io, "the command cannot be waited for");
        Failure { causes: vec![error.to_string()], ..failure }
    })
}

/// The exit code of a command as a shell tells it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
