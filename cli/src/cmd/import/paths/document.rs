//! What an import brought, for machines.

use std::collections::BTreeMap;
use std::path::Path;

use capture::transcript::TranscriptReport;
use serde::Serialize;

use super::index::hex;
use super::table::report;
use super::{Done, What};

#[derive(Serialize)]
pub(super) struct Document<'d> {
    schema: &'static str,
    ok: bool,
    into: String,
    unknown_files: u64,
    sources: Vec<Source<'d>>,
}

#[derive(Serialize)]
struct Source<'d> {
    file: String,
    bytes: u64,
    result: &'static str,
    path: Option<String>,
    format: Option<&'static str>,
    run: Option<Run<'d>>,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

#[derive(Serialize)]
struct Run<'d> {
    complete: bool,
    source_digest: Option<String>,
    versions: Option<[&'d str; 2]>,
    rows: u64,
    used: u64,
    aside: &'d BTreeMap<&'static str, u64>,
    unknown: &'d BTreeMap<&'static str, u64>,
    parts: &'d BTreeMap<&'static str, u64>,
    accounted: bool,
    conversations: u64,
    requests: u64,
    rungs: &'d BTreeMap<&'static str, u64>,
    answers: u64,
    calls: u64,
    whole_outputs: u64,
    compactions: u64,
    tokens: Tokens,
    cost_microdollars: Option<u64>,
    repaired: Repaired,
    head: Option<String>,
}

#[derive(Serialize)]
struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Serialize)]
struct Repaired {
    glued_lines: u64,
    records: u64,
    nul_lines: u64,
    byte_order_mark: bool,
    no_final_newline: bool,
}

pub(super) fn document<'d>(into: &Path, done: &'d [Done]) -> Document<'d> {
    let failed = |it: &Done| matches!(it.what, What::Failed(_) | What::Cut(..));
    Document {
        schema: "counterfold.imported/1",
        ok: !done.iter().any(failed),
        into: into.display().to_string(),
        unknown_files: done.iter().filter(|it| matches!(it.what, What::Unknown)).count() as u64,
        sources: done.iter().filter(|it| !matches!(it.what, What::Unknown)).map(source).collect(),
    }
}

fn source(done: &Done) -> Source<'_> {
    let report = report(&done.what);
    let (result, path, failure) = match &done.what {
        What::Imported(report) => ("imported", Some(&report.recording), None),
        What::Cut(report, failure) => ("cut", Some(&report.recording), Some(failure)),
        What::Other(_, path, ..) => ("imported", Some(path), None),
        What::Skipped(path) => ("skipped", Some(path), None),
        What::Unknown => ("unknown", None, None),
        What::Failed(failure) => ("failed", None, Some(failure)),
    };
    let format = match &done.what {
        What::Other(format, ..) => Some(*format),
        _ => report.map(|report| report.format),
    };
    Source {
        file: done.source.display().to_string(),
        bytes: done.bytes,
        result,
        path: path.map(|path| path.display().to_string()),
        format,
        run: report.map(run),
        error: failure.map(crate::error::Failure::line),
        error_kind: failure.map(|failure| failure.kind.name()),
    }
}

fn run(report: &TranscriptReport) -> Run<'_> {
    let tally = &report.tally;
    let tokens = tally.tokens;
    let repairs = tally.repairs;
    Run {
        complete: report.complete,
        source_digest: report.source_digest.as_ref().map(hex),
        versions: tally.versions.as_ref().map(|(first, last)| [first.as_str(), last.as_str()]),
        rows: tally.rows,
        used: tally.used,
        aside: &tally.aside,
        unknown: &tally.unknown,
        parts: &tally.parts,
        accounted: tally.is_accounted(),
        conversations: tally.conversations,
        requests: tally.requests_total(),
        rungs: &tally.requests,
        answers: tally.answers,
        calls: tally.calls,
        whole_outputs: tally.whole_outputs + report.side.as_ref().map_or(0, |side| side.whole),
        compactions: tally.compactions,
        tokens: Tokens {
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
        },
        cost_microdollars: tally.cost_microdollars,
        repaired: Repaired {
            glued_lines: repairs.glued_lines,
            records: repairs.records,
            nul_lines: repairs.nul_lines,
            byte_order_mark: repairs.byte_order_mark,
            no_final_newline: repairs.no_final_newline,
        },
        head: report.head.map(|head| head.to_string()),
    }
}
