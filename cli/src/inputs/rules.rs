//! Which redaction rules a command uses.

use std::fs;
use std::path::Path;

use artifacts::redact::Redactor;
use clap::Args;

use crate::error::{Failure, Kind, file};

/// The words that name rules.
#[derive(Clone, Debug, Args)]
pub(crate) struct RulesArgs {
    /// Which rules: `core`, `extended`, or a TOML file with more of them
    #[arg(long, value_name = "RULES", default_value = "extended")]
    rules: String,
}

impl RulesArgs {
    /// A redactor of these rules.
    pub(crate) fn redactor(&self) -> Result<Redactor, Failure> {
        of_word(&self.rules)
    }
}

/// A redactor of the rules that a word names.
pub(crate) fn of_word(word: &str) -> Result<Redactor, Failure> {
    match word {
        "core" => Ok(Redactor::core()),
        "extended" => Ok(Redactor::extended()),
        path => {
            let path = Path::new(path);
            let text = fs::read_to_string(path).map_err(|error| {
                file("read", path, &error)
                    .hint("rules are `core`, `extended`, or the path of a TOML file")
            })?;
            Redactor::with_rules(&text)
                .map_err(|error| Failure::new(Kind::Format, format!("{}, {error}", path.display())))
        }
    }
}
