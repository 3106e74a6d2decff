//! `policy schema`: the JSON Schema of policy files.

use clap::Args;

use crate::error::{Ended, Outcome};
use crate::policies::json_schema;
use crate::ui::Ui;

/// Print the JSON Schema of policy files
///
/// Prints the schema that editors and other programs can check a policy file with, as far as a
/// schema can: which fields go together is checked by `counterfold policy check`.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy schema > policy.schema.json

Exit codes:
  0  printed")]
pub(crate) struct SchemaArgs {}

pub(crate) fn run(_args: SchemaArgs, ui: &mut Ui) -> Ended {
    ui.json(&json_schema::document())?;
    Ok(Outcome::Fine)
}
