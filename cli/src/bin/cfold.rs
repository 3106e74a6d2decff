//! The program `cfold`: `counterfold` under a shorter name.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterfold_cli::main()
}
