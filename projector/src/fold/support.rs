//! What the fold does not carry out. A policy with such a step is refused as a whole, with the
//! step and what stands in the way; a step that could only be carried out in part is refused from
//! the first request on at which it would have to act. No step is ever left out silently.

use super::program::{counts_tokens, is_cap};
use super::weigh::is_exact;
use crate::measure::Estimator;
use crate::policy::op::{MediaAction, OverflowAction, SummarySource};
use crate::policy::{At, KeepUnit, Metric, Op, Policy, Step, TextKind, Unit};

/// The first step that cannot be carried out, from 0, and why.
pub(super) fn unsupported(policy: &Policy, counts: bool) -> Option<(usize, &'static str)> {
    let counted = |step: &Step| counts_tokens(step) && is_exact(policy.estimator) && !counts;
    policy.steps.iter().enumerate().find_map(|(index, step)| {
        let counter = counted(step).then_some("the estimator needs a counter of tokens");
        counter.or_else(|| reason(policy, step)).map(|reason| (index, reason))
    })
}

fn reason(policy: &Policy, step: &Step) -> Option<&'static str> {
    if step.applies.to_kind(TextKind::ToolArguments) {
        return Some("arguments are JSON: `cap_args` cuts the texts in them");
    }
    let results = step.applies.to_kind(TextKind::ToolResult);
    if !results && !matches!(step.op, Op::CapText(_) | Op::CapLines(_)) {
        return Some("only tool results are acted on");
    }
    if is_cap(&step.op) && step.trigger.is_some() {
        return Some("a cap with a trigger is not carried out");
    }
    let estimates = step.trigger.is_some_and(|trigger| trigger.metric == Metric::EstTokens);
    if estimates && policy.estimator == Estimator::None {
        return Some("the policy names no estimator for its trigger");
    }
    if counts_tokens(step) && needs_an_estimate(&step.op) && policy.estimator == Estimator::None {
        return Some("the policy names no estimator for what the step counts");
    }
    match &step.op {
        Op::TotalCap(cap) if cap.unit != Unit::Bytes => Some("a total is counted in bytes only"),
        Op::Stack(_) if step.trigger.is_some() || policy.steps.len() != 1 => {
            Some("a `stack` is the only step of its policy and has no trigger")
        }
        Op::Tools(_) if step.trigger.is_some() => {
            Some("tools are chosen for all requests, or for none")
        }
        _ => None,
    }
}

/// True for a step that counts tokens of single messages or results, whatever its trigger.
pub(super) fn needs_an_estimate(op: &Op) -> bool {
    match op {
        Op::ClearResults(clear) => clear.min_size_tokens > 0 || clear.keep.unit == KeepUnit::Tokens,
        Op::Window(window) => {
            window.unwind_until_free.is_some()
                || window.keep.as_ref().is_some_and(|keep| keep.unit == KeepUnit::Tokens)
        }
        Op::CapArgs(cap) => {
            cap.keep_window_per_mille.is_some()
                || cap.keep.as_ref().is_some_and(|keep| keep.unit == KeepUnit::Tokens)
        }
        Op::Summary(summary) => {
            let retain = &summary.retain;
            retain.recent_tokens.is_some() || retain.user_messages_tokens.is_some()
        }
        _ => false,
    }
}

/// True for a step that does what it does for good.
pub(super) fn lasts(step: &Step) -> bool {
    match &step.op {
        Op::Window(_) | Op::Summary(_) => step.at != At::Request,
        Op::ClearResults(clear) => clear.sticky,
        Op::DedupeReads(reads) => reads.sticky || step.at == At::Event,
        Op::DropReasoning(_) | Op::Media(_) | Op::CapArgs(_) => step.at == At::Event,
        _ => false,
    }
}

/// Why a step that acts could not be carried out. A snapshot keeps the place in this list.
pub(super) const WHY: [&str; 11] = [
    AGAIN,
    "a summary is due here, and none is on record for this range and these inputs",
    "the deterministic summary is not made",
    "a summary is due here, which the policy refuses",
    "the request does not fit the context window",
    "texts are not cut to a total",
    "an amount rests on what is not known of the run",
    "no summary is on record whose size could be assumed",
    "results that stay beside a summary are not cut before it",
    "the summary on record was made from other inputs",
    NOT_ON_RECORD,
];
/// A text that would be added, and of which nothing is known.
pub(super) const NOT_ON_RECORD: &str = "what would be added here is not on record";
/// For a reason that the list does not have.
pub(super) const AGAIN: &str = "an earlier request of the conversation was refused";

/// The place of a reason in the list.
pub(super) fn number(why: &str) -> u8 {
    let at = WHY.iter().position(|known| *known == why).unwrap_or(0);
    u8::try_from(at).unwrap_or(0)
}

/// What stands in the way of a step that acts now.
pub(super) fn acting(step: &Step) -> Option<&'static str> {
    match &step.op {
        Op::Summary(summary) => match summary.source {
            SummarySource::Assumed => None,
            SummarySource::Recorded => {
                Some("a summary is due here, and none is on record for this range and these inputs")
            }
            SummarySource::Deterministic => Some("the deterministic summary is not made"),
            SummarySource::Refuse => Some("a summary is due here, which the policy refuses"),
        },
        Op::OnOverflow(guard) => match guard.action {
            OverflowAction::Error => Some("the request does not fit the context window"),
            OverflowAction::Basic => Some("the deterministic summary is not made"),
            OverflowAction::Unwind | OverflowAction::RetryDropOldest => None,
        },
        _ => None,
    }
}

/// What decides whether a step would have to act.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Found {
    /// Its trigger fires.
    pub(super) fires: bool,
    /// The request exceeds the context window, where that is known.
    pub(super) overflows: Option<bool>,
    /// Calls or results stand alone.
    pub(super) unpaired: bool,
    pub(super) reasoning: bool,
    pub(super) media: bool,
    pub(super) body_bytes: u64,
}

/// True when the step acts at this request.
pub(super) fn acts(step: &Step, found: Found) -> bool {
    let due = match step.at {
        At::Overflow => found.overflows == Some(true),
        _ => true,
    };
    let wanted = match &step.op {
        Op::OnOverflow(_) => found.overflows == Some(true),
        Op::Repair(_) => found.unpaired,
        Op::DropReasoning(drop) => {
            found.reasoning && drop.keep != crate::policy::op::KeepReasoning::All
        }
        Op::Media(media) => found.media && media.action != MediaAction::Keep,
        Op::TotalCap(cap) => {
            cap.unit != Unit::Bytes || cap.limit.fixed().is_none_or(|max| found.body_bytes > max)
        }
        _ => true,
    };
    found.fires && due && wanted
}
