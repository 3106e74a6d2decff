//! `redact`: the redactor as a filter, as an explanation, and as a line protocol.

mod ndjson;

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use artifacts::ArtifactId;
use artifacts::redact::{Redaction, Redactor};
use clap::Args;
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{self, Ended, Failure, Kind, Outcome};
use crate::inputs::rules::RulesArgs;
use crate::report::number::{bytes, count};
use crate::report::table::{Column, Table};
use crate::ui::Ui;

/// Text is read and redacted in pieces of this length.
const PIECE_BYTES: usize = 64 << 10;

/// Replace secrets in a text
///
/// Reads a file, or standard input, and writes it with every secret that the rules know replaced
/// by a placeholder of the same length (32 bytes at least). It is what happens to everything
/// that goes into a recording. Memory does not grow with the text.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold redact build.log > clean.log
  env | counterfold redact
  counterfold redact --explain build.log
  counterfold redact --ndjson < lines.ndjson

Exit codes:
  0  redacted; with --explain, nothing was found
  1  with --explain, something was found
  2  the text cannot be read, or a line of --ndjson is not in its format")]
pub(crate) struct RedactArgs {
    /// A file; standard input if none is named
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// List what would be replaced, where and by which rule, and never the value
    #[arg(long, conflicts_with = "ndjson")]
    explain: bool,
    /// Read lines {"id":...,"x":HEX} and answer each with {"id":...,"y":HEX,"spans":[...]}
    ///
    /// A span is [offset, length, rule], in bytes of the answer. Every line is a text of its
    /// own.
    #[arg(long)]
    ndjson: bool,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &RedactArgs, ui: &mut Ui) -> Ended {
    let redactor = args.rules.redactor(ui)?;
    let mut input: Box<dyn Read> = match &args.file {
        None => Box::new(io::stdin().lock()),
        Some(path) => {
            Box::new(File::open(path).map_err(|error| error::file("read", path, &error))?)
        }
    };
    let name =
        args.file.as_ref().map_or_else(|| "standard input".into(), |f| f.display().to_string());
    if args.ndjson {
        return ndjson::answer(&redactor, input.as_mut(), &name, ui);
    }
    if args.explain {
        return explain(&redactor, input.as_mut(), &name, args.format.format, ui);
    }
    filter(&redactor, input.as_mut(), &name, |piece| ui.bytes(piece))?;
    ui.flush()?;
    Ok(Outcome::Fine)
}

/// Redacts all of the input piece by piece.
fn filter(
    redactor: &Redactor,
    input: &mut dyn Read,
    name: &str,
    mut write: impl FnMut(&[u8]) -> Result<(), crate::error::Stop>,
) -> Result<Vec<Redaction>, crate::error::Stop> {
    let mut stream = redactor.stream();
    let (mut piece, mut out) = (vec![0; PIECE_BYTES], Vec::new());
    loop {
        let length = input.read(&mut piece).map_err(|error| unreadable(name, &error))?;
        let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else { break };
        stream.push(read, &mut out);
        write(&out)?;
        out.clear();
    }
    let found = stream.finish(&mut out);
    write(&out)?;
    Ok(found)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::new(Kind::Io, format!("cannot read {name}"));
    Failure { causes: vec![error.to_string()], ..failure }
}

/// One replaced span, for people and programs.
#[derive(Serialize)]
struct Row {
    line: u64,
    offset: u64,
    raw_bytes: u64,
    bytes: u64,
    rule: u16,
    name: String,
    finds: String,
    flags: Vec<&'static str>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    input: &'a str,
    rules: RuleSet,
    spans: Vec<Row>,
}

#[derive(Serialize)]
struct RuleSet {
    id: String,
    version: u32,
    digest: String,
}

fn explain(
    redactor: &Redactor,
    input: &mut dyn Read,
    name: &str,
    format: Format,
    ui: &mut Ui,
) -> Ended {
    let mut breaks = Vec::new();
    let mut written = 0;
    let found = filter(redactor, input, name, |piece| {
        let here = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        breaks.extend(here.map(|(at, _)| written + at as u64));
        written += piece.len() as u64;
        Ok(())
    })?;
    let mut grown = 0;
    let rows: Vec<_> = found.iter().map(|span| row(redactor, span, &breaks, &mut grown)).collect();
    let outcome = if rows.is_empty() { Outcome::Fine } else { Outcome::Found };
    match format {
        Format::Json => {
            let set = redactor.ruleset();
            let digest = ArtifactId::from_bytes(set.digest).to_string();
            let rules = RuleSet { id: set.id.to_owned(), version: set.version, digest };
            let schema = "counterfold.redact/1";
            ui.json(&Document { schema, input: name, rules, spans: rows })?;
        }
        Format::Table => {
            let mut table = Table::new(&[
                Column::Right("line"),
                Column::Right("offset"),
                Column::Right("length"),
                Column::Left("rule"),
                Column::Left("finds"),
                Column::LeftExtra("notes"),
            ]);
            for row in &rows {
                table.row([
                    count(row.line).into(),
                    count(row.offset).into(),
                    bytes(row.raw_bytes).into(),
                    row.name.clone().into(),
                    row.finds.clone().into(),
                    row.flags.join(", ").into(),
                ]);
            }
            if rows.is_empty() {
                ui.line(format_args!("no secret found"))?;
            } else {
                ui.table(&table)?;
            }
        }
    }
    ui.flush()?;
    Ok(outcome)
}

fn row(redactor: &Redactor, span: &Redaction, breaks: &[u64], grown: &mut i128) -> Row {
    let offset = u64::try_from(i128::from(span.offset) - *grown).unwrap_or(span.offset);
    *grown += i128::from(span.bytes) - i128::from(span.raw_bytes);
    let (name, finds) = redactor.rule_about(span.rule).unwrap_or_default();
    Row {
        line: breaks.partition_point(|at| *at < span.offset) as u64 + 1,
        offset,
        raw_bytes: span.raw_bytes,
        bytes: span.bytes,
        rule: span.rule,
        name,
        finds,
        flags: span.flags.names(),
    }
}
