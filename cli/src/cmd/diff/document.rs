//! `counterfold.diff/1`.

use serde::Serialize;

use super::change::{Change, Shown};
use super::side::Side;
use super::{DiffArgs, tokens};
use crate::cmd::project::AccountEntry;

#[derive(Serialize)]
pub(super) struct Document<'d> {
    schema: &'static str,
    recording: String,
    request: u64,
    same: bool,
    left: SideEntry<'d>,
    right: SideEntry<'d>,
    changes: Vec<ChangeEntry<'d>>,
}

#[derive(Serialize)]
struct SideEntry<'d> {
    policy: &'d str,
    policy_id: String,
    fidelity: &'static str,
    step: Option<usize>,
    reason: Option<&'static str>,
    estimator: &'static str,
    tokens: u64,
    account: AccountEntry,
}

#[derive(Serialize)]
struct ChangeEntry<'d> {
    message: Option<u64>,
    part: Option<u32>,
    role: &'static str,
    slot: Option<usize>,
    what: &'static str,
    tool: Option<&'d str>,
    how: &'static str,
    artifact: Option<&'d str>,
    left: ShownEntry,
    right: ShownEntry,
    hidden_bytes: u64,
    hidden: Vec<[usize; 2]>,
}

#[derive(Serialize)]
struct ShownEntry {
    bytes: u64,
    tokens: u64,
}

impl From<&Shown> for ShownEntry {
    fn from(shown: &Shown) -> Self {
        Self { bytes: shown.bytes, tokens: shown.tokens }
    }
}

pub(super) fn document<'d>(
    args: &DiffArgs,
    shown: &std::path::Path,
    left: &'d Side,
    right: &'d Side,
    changes: &'d [Change],
) -> Document<'d> {
    Document {
        schema: "counterfold.diff/1",
        recording: shown.display().to_string(),
        request: args.request.ordinal,
        same: left.body == right.body,
        left: side(left),
        right: side(right),
        changes: changes.iter().map(change).collect(),
    }
}

fn side(side: &Side) -> SideEntry<'_> {
    let reason = side.projection.fidelity.reason();
    SideEntry {
        policy: &side.id,
        policy_id: side.policy.id().to_string(),
        fidelity: side.projection.fidelity.name(),
        step: reason.map(|(step, _)| step),
        reason: reason.map(|(_, reason)| reason),
        estimator: side.policy.estimator.id(),
        tokens: tokens(&side.policy, &side.body),
        account: AccountEntry::from(&side.projection.account),
    }
}

fn change(change: &Change) -> ChangeEntry<'_> {
    let whole = change.is_whole();
    let ranges = change.hidden.iter().map(|range| [range.start, range.end]);
    ChangeEntry {
        message: change.message,
        part: change.part,
        role: change.role,
        slot: change.slot,
        what: change.what,
        tool: change.tool.as_deref(),
        how: change.how.name(),
        artifact: change.artifact.as_deref(),
        left: ShownEntry::from(&change.left),
        right: ShownEntry::from(&change.right),
        hidden_bytes: change.hidden_bytes(),
        // The range of a whole message is over several texts, and of use for its length only.
        hidden: if whole { Vec::new() } else { ranges.collect() },
    }
}
