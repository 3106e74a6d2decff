//! The program `counterfold`; everything is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    counterfold_cli::main()
}
