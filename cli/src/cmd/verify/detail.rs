//! What differs in one request that failed: place, part, artifacts, and a diff of the two bodies.

use artifacts::ArtifactId;
use ledger::history::{History, Request};
use projector::Policy;
use replay::assemble::Assembler;
use replay::diff::projected;
use replay::{Check, Recording, RecordingReport, RequestVerdict};

use crate::report::{json_lines, udiff};
use crate::text::{lines, one_line, push};

/// Requests of one recording that are looked into.
const REQUESTS_MAX: usize = 1000;
/// Bytes of one diff.
const DIFF_BYTES_MAX: usize = 1 << 20;
/// Bytes of all diffs of one recording.
const ALL_BYTES_MAX: usize = 64 << 20;

/// What differs in one request.
pub(super) struct Detail {
    pub(super) request: u64,
    /// Lines that cannot steer a terminal.
    pub(super) text: String,
}

/// Looks into the requests that are not identical.
pub(super) fn details(recording: &Recording, report: &RecordingReport) -> Vec<Detail> {
    let history = recording.history();
    let mut assembler = Assembler::new(history, recording.as_source());
    let mut details = Vec::new();
    let mut room = ALL_BYTES_MAX;
    for (verdict, request) in report.requests.iter().zip(history.requests()) {
        if matches!(verdict.worst(), Check::Diverged | Check::Unverifiable) {
            let text =
                detail(recording, &mut assembler, verdict, request, room.min(DIFF_BYTES_MAX));
            room = room.saturating_sub(text.len());
            details.push(Detail { request: verdict.ordinal, text });
        }
        if details.len() == REQUESTS_MAX {
            break;
        }
    }
    details
}

fn detail(
    recording: &Recording,
    assembler: &mut Assembler<'_>,
    verdict: &RequestVerdict,
    request: &Request,
    bytes_max: usize,
) -> String {
    let mut out = String::new();
    let mut fact = |name: &str, value: &str| {
        push(&mut out, format_args!("{:12}{}\n", [name, ":"].concat(), one_line(value)));
    };
    fact("request", &verdict.ordinal.to_string());
    fact("rung", verdict.rung.name());
    fact("hash", verdict.hash.name());
    fact("reassembly", verdict.reassembly.name());
    fact("projection", verdict.projection.name());
    if let Some(component) = verdict.drifted {
        fact("drifted", component);
    }
    if let Some(reason) = &verdict.reason {
        fact("reason", reason);
    }
    let parts = assembler.body(request.captured.request);
    if let Some(divergence) = &verdict.divergence {
        fact("offset", &divergence.offset.to_string());
        fact("pointer", &divergence.pointer);
        fact("part", &divergence.part);
        fact("expected", &divergence.expected);
        fact("found", &divergence.found);
        for (what, id) in artifacts_at(recording.history(), assembler, request, divergence.offset) {
            fact("artifact", &format!("{id} ({what})"));
        }
    }
    fact("body", &format!("sha256 {}", ArtifactId::from_bytes(request.captured.body_digest)));
    let fold = projected(recording, &Policy::recorded(), request.captured.request);
    match (parts, fold) {
        (Ok(parts), Ok(fold)) => bodies(verdict, &parts, &fold.body, bytes_max, &mut out),
        (Err(error), _) => no_diff(&error, &mut out),
        (_, Err(error)) => no_diff(&error, &mut out),
    }
    out
}

fn no_diff(error: &dyn std::error::Error, out: &mut String) {
    push(out, format_args!("\nno diff: {}\n", one_line(&error.to_string())));
}

/// The two bodies that the recording gives: the one of its parts and the one of the fold.
fn bodies(verdict: &RequestVerdict, parts: &[u8], fold: &[u8], bytes_max: usize, out: &mut String) {
    if parts == fold {
        out.push_str(
            "\nno diff: the parts and the fold give the same bytes, and the recorded ones are not\n\
             kept beside the parts\n",
        );
        return;
    }
    let recorded = verdict.reassembly == Check::Identical;
    let note = if recorded { " (as recorded)" } else { " (not as recorded)" };
    let left = lines(&json_lines::pretty(parts));
    let right = lines(&json_lines::pretty(fold));
    push(out, format_args!("\n--- parts{note}\n+++ fold\n"));
    if left == right {
        out.push_str("they differ in white space between values only\n");
    }
    udiff::write(&left, &right, bytes_max, out);
}

/// The artifacts that the part at an offset is made of.
fn artifacts_at(
    history: &History,
    assembler: &mut Assembler<'_>,
    request: &Request,
    offset: u64,
) -> Vec<(&'static str, ArtifactId)> {
    let mut at = 0_u64;
    let mut found = None;
    let walked = assembler.chunks(request.captured.request, |(part, bytes)| {
        let end = at + bytes.len() as u64;
        if (at..end).contains(&offset) {
            found = part;
        }
        at = end;
    });
    let (Ok(()), Some(part)) = (walked, found) else { return Vec::new() };
    let part = history.part(part);
    let skeleton = history.skeleton(part);
    let literal = skeleton.literal.artifact().map(|artifact| ("literal", artifact.id()));
    let texts =
        part.holes.iter().zip(&skeleton.slots).filter_map(|(hole, slot)| {
            Some((slot.kind.name(), history.text(hole).artifact()?.id()))
        });
    literal.into_iter().chain(texts).collect()
}
