//! The command line of counterfold: turns words into calls and findings into words.
//!
//! ```text
//! words -> args -> cmd/<one file per subcommand> -> report (tables, JSON) -> ui -> terminal
//!                                                 \ error (message, causes, hint) /
//! ```
//!
//! Results go to standard output and nothing else does; messages go to standard error. Exit
//! codes: 0 fine or same, 1 different or a check found something, 2 could not decide. Only
//! [`main`] is public: whoever wants to program against counterfold uses the other crates.

mod args;
mod baseline;
mod child;
mod clients;
mod cmd;
mod error;
mod event;
mod fresh;
mod handover;
mod inputs;
mod output;
mod policies;
mod rates;
mod report;
mod settings;
mod text;
mod tree;
mod ui;
mod who;

use std::process::ExitCode;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let cli = match args::parse(&words) {
        Ok(cli) => cli,
        Err(error) => return ui::show_usage(&error),
    };
    let mut ui = ui::Ui::new(cli.global);
    // Whatever the outcome, what was imported for this command goes away at the end of it.
    let mut scratch = inputs::Scratch::default();
    let outcome = cmd::run(cli.command, &mut scratch, &mut ui).and_then(|outcome| {
        ui.flush()?;
        Ok(outcome)
    });
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(error::Stop::Pipe) => ExitCode::SUCCESS,
        Err(error::Stop::OfCommand(code)) => ExitCode::from(code),
        Err(error::Stop::Failed(failure)) => {
            // What was found before the failure is a result all the same.
            let _flushed = ui.flush();
            ui.failure(&failure);
            error::Outcome::Undecided.exit_code()
        }
    }
}
