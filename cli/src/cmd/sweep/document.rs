//! `counterfold.sweep/1`.

use replay::Row;
use serde::Serialize;

use super::{Cell, HELD_FIXED, Swept, total};
use crate::error::Failure;
use crate::policies::{self, Named, PolicyParams};

#[derive(Serialize)]
pub(super) struct Document<'s> {
    schema: &'static str,
    note: &'static str,
    recordings: Vec<RecordingEntry>,
    policies: Vec<PolicyEntry<'s>>,
    rows: Vec<RowEntry<'s>>,
    totals: Vec<RowEntry<'s>>,
}

#[derive(Serialize)]
struct RecordingEntry {
    path: String,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

#[derive(Serialize)]
struct PolicyEntry<'s> {
    id: &'s str,
    policy_id: String,
    params: PolicyParams,
}

#[derive(Serialize)]
struct RowEntry<'s> {
    recording: Option<String>,
    policy: &'s str,
    requests: u64,
    fidelity: Fidelity,
    reasons: Vec<ReasonEntry>,
    changed: u64,
    frontier: Option<u64>,
    estimator: &'static str,
    tokens_max: u64,
    tokens_total: u64,
    tokens_recorded: u64,
    body_bytes: u64,
    hidden_bytes: u64,
    hidden_bytes_max: u64,
    capped_results: u64,
    cleared_results: u64,
    dropped_messages: u64,
    broken_pairs: u64,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

#[derive(Serialize)]
struct Fidelity {
    exact: u64,
    derived: u64,
    assumed: u64,
    refused: u64,
}

#[derive(Serialize)]
struct ReasonEntry {
    step: usize,
    reason: &'static str,
    requests: u64,
}

pub(super) fn document<'s>(policies: &'s [Named], swept: &[Swept]) -> Document<'s> {
    let recording = |swept: &Swept| RecordingEntry {
        path: swept.path.display().to_string(),
        error: swept.rows.as_ref().err().map(Failure::line),
        error_kind: swept.rows.as_ref().err().map(|failure| failure.kind.name()),
    };
    let policy = |named: &'s Named| PolicyEntry {
        id: &named.id,
        policy_id: named.policy.id().to_string(),
        params: policies::params(&named.policy),
    };
    let mut rows = Vec::new();
    for recording in swept {
        let path = recording.path.display().to_string();
        for cell in recording.rows.iter().flatten() {
            rows.extend(row(policies, Some(path.clone()), cell));
        }
    }
    let totals = (0..policies.len()).filter_map(|index| {
        let (recorded_tokens, sum) = total(swept, index);
        row(policies, None, &Cell { policy: index, recorded_tokens, row: Ok(sum) })
    });
    Document {
        schema: "counterfold.sweep/1",
        note: HELD_FIXED,
        recordings: swept.iter().map(recording).collect(),
        policies: policies.iter().map(policy).collect(),
        rows,
        totals: totals.collect(),
    }
}

fn row<'s>(policies: &'s [Named], recording: Option<String>, cell: &Cell) -> Option<RowEntry<'s>> {
    let named = policies.get(cell.policy)?;
    let none = Row::default();
    let failure = cell.row.as_ref().err();
    let row = cell.row.as_ref().unwrap_or(&none);
    let reason = |(step, reason, requests): &(usize, &'static str, u64)| ReasonEntry {
        step: *step,
        reason,
        requests: *requests,
    };
    Some(RowEntry {
        recording,
        policy: &named.id,
        requests: row.requests,
        fidelity: Fidelity {
            exact: row.fidelity.exact,
            derived: row.fidelity.derived,
            assumed: row.fidelity.assumed,
            refused: row.fidelity.refused,
        },
        reasons: row.reasons.iter().map(reason).collect(),
        changed: row.changed,
        frontier: row.frontier,
        estimator: named.policy.estimator.id(),
        tokens_max: row.tokens_max,
        tokens_total: row.tokens_total,
        tokens_recorded: cell.recorded_tokens,
        body_bytes: row.body_bytes,
        hidden_bytes: row.hidden_bytes,
        hidden_bytes_max: row.hidden_bytes_max,
        capped_results: row.capped_results,
        cleared_results: row.cleared_results,
        dropped_messages: row.dropped_messages,
        broken_pairs: row.broken_pairs,
        error: failure.map(Failure::line),
        error_kind: failure.map(|failure| failure.kind.name()),
    })
}
