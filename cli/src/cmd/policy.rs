//! `policy`: the built-in policies, whether a file is one, and what one makes of a text.

mod apply;
mod schema;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use projector::policy::About;
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::cmd::infer::InferArgs;
use crate::error::{Ended, Failure, Kind, Outcome};
use crate::inputs::Scratch;
use crate::policies::{self, PolicyParams};
use crate::report::table::{Column, Table};
use crate::text;
use crate::ui::Ui;

/// Digits of a policy id that tables show.
const ID_DIGITS: usize = 12;

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    List(ListArgs),
    Show(ShowArgs),
    Check(CheckArgs),
    Infer(InferArgs),
    Apply(apply::ApplyArgs),
    Schema(schema::SchemaArgs),
}

/// Parameters that are set beside the text of a policy.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetArgs {
    /// Set a parameter: OP.FIELD=VALUE, OP.N.FIELD=VALUE for the N-th step of that op, or
    /// FIELD=VALUE for a field of the policy; the value is TOML, or a word or text as it is
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// List the built-in policies
///
/// Lists the policies that commands know by id. Other policies are TOML files and are named by
/// their path. The policy id is the hash of what a policy does; its name is not part of it. A
/// policy with constants that nobody has documented has no id before they are set.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy list
  counterfold policy list --format json

Exit codes:
  0  listed")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    format: FormatArgs,
}

/// Print a policy
///
/// Prints the TOML of a built-in policy or of a policy file, as a start for one of your own.
/// With JSON: its parameters, those that were set included, its canonical text and its policy id.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy show cap-4k > mine.toml
  counterfold policy show mine.toml --format json
  counterfold policy show roo@cb83656 --set cap_text.limit=30000 --format json

Exit codes:
  0  printed
  2  no such policy, or it is not valid")]
pub(crate) struct ShowArgs {
    /// A built-in id, or a policy file
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// Check a policy file
///
/// Reads a policy file and prints its policy id, or says what is wrong with it and where. All
/// parameters are explicit and unknown fields are errors, so that a misspelt one cannot be taken
/// for a default.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy check mine.toml

Exit codes:
  0  the policy is valid
  1  it is not
  2  the file cannot be read")]
pub(crate) struct CheckArgs {
    /// A policy file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(command: &PolicyCommand, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    match command {
        PolicyCommand::List(args) => list(*args, ui),
        PolicyCommand::Show(args) => show(args, ui),
        PolicyCommand::Check(args) => check(args, ui),
        PolicyCommand::Apply(args) => apply::run(args, ui),
        PolicyCommand::Schema(args) => schema::run(*args, ui),
        PolicyCommand::Infer(args) => super::infer::run(args, scratch, ui),
    }
}

#[derive(Serialize)]
struct ListDocument {
    schema: &'static str,
    policies: Vec<ListEntry>,
}

#[derive(Serialize)]
struct ListEntry {
    id: String,
    harness: String,
    version: String,
    /// When and how it was looked at; empty for policies that describe no program.
    documented: String,
    unknown: Vec<String>,
    /// None where constants have to be set first.
    policy_id: Option<String>,
}

fn list(args: ListArgs, ui: &mut Ui) -> Ended {
    let all = policies::listed()?;
    match args.format.format {
        Format::Table => {
            let mut table = Table::new(&[
                Column::Left("id"),
                Column::Left("policy id"),
                Column::Left("what it does"),
            ]);
            for listed in &all {
                let (policy_id, words) = match &listed.policy {
                    Some(policy) => (policy.id().to_string(), policies::words(policy)),
                    None => ("-".to_owned(), needs(&listed.unknown)),
                };
                let short = policy_id.get(..ID_DIGITS).unwrap_or(&policy_id);
                table.row([listed.id.into(), short.into(), words.into()]);
            }
            ui.table(&table)?;
        }
        Format::Json => {
            let entry = |listed: policies::Listed| {
                let about = listed.about;
                let of = |field: fn(&About) -> String, none: &str| {
                    about.as_ref().map_or_else(|| none.to_owned(), field)
                };
                ListEntry {
                    policy_id: listed.policy.map(|policy| policy.id().to_string()),
                    id: listed.id.to_owned(),
                    harness: of(|about| about.harness.clone(), "none"),
                    version: of(|about| about.version.clone(), "1"),
                    documented: of(|about| format!("{} {}", about.date, about.evidence.word()), ""),
                    unknown: listed.unknown,
                }
            };
            ui.json(&ListDocument {
                schema: "counterfold.policies/1",
                policies: all.into_iter().map(entry).collect(),
            })?;
        }
    }
    Ok(Outcome::Fine)
}

/// What a policy wants to be set first.
fn needs(unknown: &[String]) -> String {
    format!("needs {}", unknown.join(", "))
}

#[derive(Serialize)]
struct ShowDocument<'n> {
    schema: &'static str,
    id: &'n str,
    policy_id: String,
    params: PolicyParams,
    /// What the policy does to the prefix cache, and each of its steps.
    cache: &'static str,
    step_cache: Vec<&'static str>,
    canonical: String,
}

fn show(args: &ShowArgs, ui: &mut Ui) -> Ended {
    let named = policies::resolve_with(&args.id, &args.set.set);
    match args.format.format {
        Format::Table => {
            // A policy that wants something to be set is shown nonetheless: it is a start.
            let (_, toml, _) = policies::source(&args.id)?;
            if let Err(failure) = &named
                && !args.set.set.is_empty()
            {
                ui.failure(failure);
                return Ok(Outcome::Undecided);
            }
            ui.content(toml.as_bytes(), false)?;
            match &named {
                Ok(named) => {
                    ui.note(format_args!("policy id {}", named.policy.id()));
                    let class = named.policy.cache_class().word();
                    ui.note(format_args!("prefix cache: {class}"));
                }
                Err(failure) => ui.warning(failure),
            }
        }
        Format::Json => {
            let named = named?;
            ui.json(&ShowDocument {
                schema: "counterfold.policy/1",
                id: &named.id,
                policy_id: named.policy.id().to_string(),
                params: policies::params(&named.policy),
                cache: named.policy.cache_class().word(),
                step_cache: named
                    .policy
                    .steps
                    .iter()
                    .map(|step| step.cache_class().word())
                    .collect(),
                canonical: named.policy.canonical(),
            })?;
        }
    }
    Ok(Outcome::Fine)
}

#[derive(Serialize)]
struct CheckDocument {
    schema: &'static str,
    ok: bool,
    file: String,
    id: Option<String>,
    policy_id: Option<String>,
    error: Option<String>,
    hint: Option<String>,
}

fn check(args: &CheckArgs, ui: &mut Ui) -> Ended {
    let read = policies::read(&args.file, &args.set.set);
    let unreadable = |failure: &Failure| failure.kind != Kind::Format;
    let file = args.file.display().to_string();
    if args.format.format == Format::Json {
        let (named, failure) = match &read {
            Ok(named) => (Some(named), None),
            Err(failure) => (None, Some(failure)),
        };
        ui.json(&CheckDocument {
            schema: "counterfold.policy-check/1",
            ok: named.is_some(),
            file: file.clone(),
            id: named.map(|named| named.id.clone()),
            policy_id: named.map(|named| named.policy.id().to_string()),
            error: failure.map(Failure::line),
            hint: failure.and_then(|failure| failure.hint.clone()),
        })?;
    }
    match read {
        Ok(named) => {
            if args.format.format == Format::Table {
                let policy_id = named.policy.id();
                let words = format!("ok: {file}: {} {policy_id}", named.id);
                ui.line(format_args!("{}", text::one_line(&words)))?;
            }
            Ok(Outcome::Fine)
        }
        Err(failure) if unreadable(&failure) => Err(failure.into()),
        Err(failure) => {
            ui.failure(&failure);
            Ok(Outcome::Found)
        }
    }
}
