//! `counterfold.verify/1`.

use replay::verify::{Coverage, Linking};
use replay::{Check, RecordingReport, RequestVerdict};
use serde::Serialize;

use super::against::Compared;
use super::paranoid::Finding;
use super::{Checked, Verified, VerifyArgs};
use crate::error::{Failure, Outcome};

#[derive(Serialize)]
pub(super) struct Document {
    schema: &'static str,
    ok: bool,
    level: &'static str,
    baseline: Option<BaselineEntry>,
    paranoid: Option<Vec<ParanoidEntry>>,
    recordings: Vec<RecordingEntry>,
}

/// Something that was not the same in other surroundings.
#[derive(Serialize)]
struct ParanoidEntry {
    surroundings: &'static str,
    expected: Option<String>,
    found: Option<String>,
}

#[derive(Serialize)]
struct RecordingEntry {
    path: String,
    run: Option<String>,
    client: Option<String>,
    error: Option<String>,
    error_kind: Option<&'static str>,
    head: Option<String>,
    tail: Option<String>,
    wire: &'static str,
    counts: Counts,
    below_min_rung: Vec<u64>,
    coverage: CoverageEntry,
    baseline: ComparedEntry,
    parts: Parts,
    damage: Vec<String>,
    notices: Vec<String>,
    requests: Vec<RequestEntry>,
}

/// The baseline, and what it holds that was not given.
#[derive(Serialize)]
struct BaselineEntry {
    file: String,
    missing: Vec<String>,
    error: Option<String>,
}

#[derive(Serialize)]
struct ComparedEntry {
    status: &'static str,
    differences: Vec<String>,
}

#[derive(Default, Serialize)]
struct CoverageEntry {
    with_usage: u64,
    without_usage: u64,
    captured_tokens: u64,
    reported_tokens: u64,
    per_mille: Option<u64>,
    below_min: bool,
    unexplained: Vec<UnexplainedEntry>,
}

#[derive(Serialize)]
struct UnexplainedEntry {
    kind: String,
    calls: u64,
}

#[derive(Default, Serialize)]
struct Counts {
    requests: u64,
    identical: u64,
    diverged: u64,
    unverifiable: u64,
}

#[derive(Default, Serialize)]
struct Parts {
    first_seen: u64,
    linked: u64,
    inserted: u64,
    edited: u64,
    unlinked: Vec<Unlinked>,
    model_and_tool: u64,
    model_and_tool_linked: u64,
    bytes: u64,
    caused_bytes: u64,
    verbatim_bytes: u64,
}

#[derive(Serialize)]
struct Unlinked {
    reason: &'static str,
    parts: u64,
    first_request: u64,
}

#[derive(Serialize)]
struct RequestEntry {
    n: u64,
    rung: &'static str,
    hash: &'static str,
    drifted: Option<&'static str>,
    reassembly: &'static str,
    projection: &'static str,
    fidelity: Option<&'static str>,
    reason: Option<String>,
    divergence: Option<DivergenceEntry>,
}

#[derive(Serialize)]
struct DivergenceEntry {
    offset: u64,
    pointer: String,
    part: String,
    expected: String,
    found: String,
}

pub(super) fn document(args: &VerifyArgs, checked: &Checked) -> Document {
    let baseline = args.baseline.as_ref().map(|file| BaselineEntry {
        file: file.display().to_string(),
        missing: checked.baselined.missing.iter().map(|entry| entry.name.clone()).collect(),
        error: checked.baselined.stop.as_ref().map(Failure::line),
    });
    let paranoid = checked.paranoid.as_ref().map(|findings| {
        let entry = |finding: &Finding| ParanoidEntry {
            surroundings: finding.surroundings,
            expected: finding.expected.clone(),
            found: finding.found.clone(),
        };
        findings.iter().map(entry).collect()
    });
    Document {
        schema: "counterfold.verify/1",
        ok: checked.outcome == Outcome::Fine,
        level: args.level.name(),
        baseline,
        paranoid,
        recordings: checked.all.iter().map(|verified| recording(args, verified)).collect(),
    }
}

fn recording(args: &VerifyArgs, verified: &Verified) -> RecordingEntry {
    let report = verified.report.as_ref().ok();
    let failure = verified.report.as_ref().err();
    RecordingEntry {
        path: verified.path.display().to_string(),
        run: report.map(|report| report.run.clone()),
        client: report.and_then(|report| report.client.clone()),
        error: failure.map(Failure::line),
        error_kind: failure.map(|failure| failure.kind.name()),
        head: report.map(|report| report.head.clone()),
        tail: report.and_then(|report| report.tail.clone()),
        wire: if args.level.has_wire() { "not_recorded" } else { "not_asked" },
        counts: report.map(counts).unwrap_or_default(),
        below_min_rung: verified.below.clone(),
        coverage: report.map(|report| coverage(verified, &report.coverage)).unwrap_or_default(),
        baseline: compared(&verified.compared),
        parts: report.map(|report| parts(&report.linking)).unwrap_or_default(),
        damage: report.map(|report| report.damage.clone()).unwrap_or_default(),
        notices: report.map(|report| report.notices.clone()).unwrap_or_default(),
        requests: report.map_or_else(Vec::new, |r| r.requests.iter().map(request).collect()),
    }
}

fn coverage(verified: &Verified, coverage: &Coverage) -> CoverageEntry {
    let unexplained = coverage.unexplained.iter().map(|unexplained| UnexplainedEntry {
        kind: unexplained.kind.clone(),
        calls: unexplained.calls,
    });
    CoverageEntry {
        with_usage: coverage.with_usage,
        without_usage: coverage.without_usage,
        captured_tokens: coverage.captured_tokens,
        reported_tokens: coverage.reported_tokens,
        per_mille: coverage.per_mille(),
        below_min: verified.uncovered.is_some(),
        unexplained: unexplained.collect(),
    }
}

fn compared(compared: &Compared) -> ComparedEntry {
    let differences = match compared {
        Compared::Different(found) => found.clone(),
        Compared::NotAsked | Compared::Same | Compared::New => Vec::new(),
    };
    ComparedEntry { status: compared.name(), differences }
}

fn counts(report: &RecordingReport) -> Counts {
    let counts = report.counts();
    Counts {
        requests: counts.requests,
        identical: counts.identical,
        diverged: counts.diverged,
        unverifiable: counts.unverifiable,
    }
}

fn parts(linking: &Linking) -> Parts {
    let unlinked = linking.unlinked.iter().map(|unlinked| Unlinked {
        reason: unlinked.reason,
        parts: unlinked.parts,
        first_request: unlinked.first_request,
    });
    Parts {
        first_seen: linking.first_seen,
        linked: linking.linked,
        inserted: linking.inserted,
        edited: linking.edited,
        unlinked: unlinked.collect(),
        model_and_tool: linking.model_and_tool,
        model_and_tool_linked: linking.model_and_tool_linked,
        bytes: linking.bytes,
        caused_bytes: linking.caused_bytes,
        verbatim_bytes: linking.verbatim_bytes,
    }
}

fn request(verdict: &RequestVerdict) -> RequestEntry {
    RequestEntry {
        n: verdict.ordinal,
        rung: verdict.rung.name(),
        hash: verdict.hash.name(),
        drifted: verdict.drifted,
        reassembly: verdict.reassembly.name(),
        projection: verdict.projection.name(),
        fidelity: (verdict.projection == Check::Identical).then_some("exact"),
        reason: verdict.reason.clone(),
        divergence: verdict.divergence.as_ref().map(|divergence| DivergenceEntry {
            offset: divergence.offset,
            pointer: divergence.pointer.clone(),
            part: divergence.part.clone(),
            expected: divergence.expected.clone(),
            found: divergence.found.clone(),
        }),
    }
}
