//! `policy infer`: which policy explains what a client sent of the outputs that are known.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use replay::infer::{Coverage, Inferred, Unexplained, infer};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Failure, Kind, Outcome, Stop, file, map};
use crate::inputs::{self, Scratch};
use crate::report::number::count;
use crate::report::table::{Column, Table};
use crate::text::one_line;
use crate::ui::Ui;

/// Calls that are listed as unexplained.
const LISTED_MAX: usize = 8;

/// Find the policy that explains what a client sent
///
/// Looks at the calls whose whole output (or both ends of it) is on record from beside the wire,
/// and finds out what the client did to it: the text around it, how much of it is left, what
/// stands in the gap, what is counted. The policy is written down and tested: an output is
/// explained when the policy, applied to the whole of it, gives the very bytes that were sent.
/// Prints coverage by tool, and for what is not explained the call and the first byte that is off.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy infer runs/session
  counterfold policy infer run.har --out in-force.toml
  counterfold twin runs/a runs/b --policy in-force.toml --set cap_text.limit=4000

Exit codes:
  0  every known output is explained
  1  some is not
  2  could not decide: usage, damage, or no whole output on record")]
pub(crate) struct InferArgs {
    /// Recordings of one client, or HAR files with their session beside them
    #[arg(value_name = "REC", required = true)]
    recordings: Vec<PathBuf>,
    /// Write the policy to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Name of the policy
    #[arg(long, value_name = "NAME", default_value = "inferred")]
    name: String,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &InferArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let mut recordings = Vec::new();
    for path in &args.recordings {
        let place = inputs::one(path, scratch, ui)?;
        recordings.push(inputs::open(&place.folder)?);
    }
    let inferred = infer(&recordings, &args.name).map_err(|error| map::infer(&error))?;
    let total = inferred.total();
    if total.whole + total.ends == 0 {
        return Err(Failure::new(Kind::Empty, "no output is known from beside the wire")
            .hint(
                "`counterfold import har FILE --session PATH` reads transcripts and spilled files",
            )
            .into());
    }
    if let Some(out) = &args.out {
        fs::write(out, &inferred.toml).map_err(|error| file("write", out, &error))?;
    }
    match args.format.format {
        Format::Json => ui.json(&document(args, &inferred, &total))?,
        Format::Table => print(args, &inferred, &total, ui)?,
    }
    let all = total.explained == total.whole + total.ends;
    Ok(if all { Outcome::Fine } else { Outcome::Found })
}

fn print(args: &InferArgs, inferred: &Inferred, total: &Coverage, ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("tool"),
        Column::Right("results"),
        Column::Right("whole known"),
        Column::Right("ends known"),
        Column::Right("explained"),
        Column::Right("of them cut"),
        Column::Right("unexplained"),
    ]);
    let mut row = |name: &str, found: &Coverage| {
        table.row([
            name.into(),
            count(found.sent).into(),
            count(found.whole).into(),
            count(found.ends).into(),
            count(found.explained).into(),
            count(found.cut).into(),
            count(found.unexplained.len() as u64).into(),
        ]);
    };
    for (tool, found) in &inferred.coverage {
        row(tool, found);
    }
    row("total", total);
    ui.table(&table)?;
    for (tool, found) in &inferred.coverage {
        for missed in found.unexplained.iter().take(LISTED_MAX) {
            let (tool, call) = (one_line(tool), count(u64::from(missed.call) + 1));
            let words = missed.why.words();
            let at = missed.why.at().map(|at| format!(" from byte {}", count(at)));
            ui.line(format_args!("  {tool}: call {call}: {words}{}", at.unwrap_or_default()))?;
        }
    }
    ui.gap()?;
    match &args.out {
        Some(out) => ui.line(format_args!("policy written to {}", out.display())),
        None => ui.content(inferred.toml.as_bytes(), false),
    }
}

#[derive(Serialize)]
struct Document<'i> {
    schema: &'static str,
    ok: bool,
    policy_id: String,
    toml: &'i str,
    total: Entry,
    tools: Vec<ToolEntry<'i>>,
    recordings: Vec<String>,
}

#[derive(Serialize)]
struct ToolEntry<'i> {
    tool: &'i str,
    #[serde(flatten)]
    coverage: Entry,
}

#[derive(Serialize)]
struct Entry {
    results: u64,
    whole: u64,
    ends: u64,
    explained: u64,
    cut: u64,
    unexplained: Vec<Missed>,
}

#[derive(Serialize)]
struct Missed {
    call: u64,
    why: &'static str,
    at: Option<u64>,
}

fn entry(found: &Coverage) -> Entry {
    let unexplained = |missed: &Unexplained| Missed {
        call: u64::from(missed.call) + 1,
        why: missed.why.words(),
        at: missed.why.at(),
    };
    Entry {
        results: found.sent,
        whole: found.whole,
        ends: found.ends,
        explained: found.explained,
        cut: found.cut,
        unexplained: found.unexplained.iter().map(unexplained).collect(),
    }
}

fn document<'i>(args: &InferArgs, inferred: &'i Inferred, total: &Coverage) -> Document<'i> {
    let tool = |(tool, found): (&'i String, &Coverage)| ToolEntry { tool, coverage: entry(found) };
    Document {
        schema: "counterfold.policy-infer/1",
        ok: total.explained == total.whole + total.ends,
        policy_id: inferred.policy.id().to_string(),
        toml: &inferred.toml,
        total: entry(total),
        tools: inferred.coverage.iter().map(tool).collect(),
        recordings: args.recordings.iter().map(|path| path.display().to_string()).collect(),
    }
}
