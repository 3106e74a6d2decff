//! What the fold does not carry out. A policy with such a step is refused as a whole, with the
//! step and what stands in the way; a step that could only be carried out in part is refused from
//! the first request on at which it would have to act. No step is ever left out silently.

use super::program::{counts_tokens, is_cap};
use crate::measure::Estimator;
use crate::policy::op::{InjectKind, MediaAction, OverflowAction, SummarySource};
use crate::policy::{At, KeepUnit, Metric, Op, Policy, Step, TextKind, Unit};

/// The first step that cannot be carried out, from 0, and why.
pub(super) fn unsupported(policy: &Policy, counts: bool) -> Option<(usize, &'static str)> {
    let counted = |step: &Step| counts_tokens(step) && needs_counter(policy.estimator, counts);
    policy.steps.iter().enumerate().find_map(|(index, step)| {
        let counter = counted(step).then_some("the estimator needs a counter of tokens");
        counter.or_else(|| reason(policy, step)).map(|reason| (index, reason))
    })
}

fn needs_counter(estimator: Estimator, counts: bool) -> bool {
    match estimator {
        Estimator::External => true,
        Estimator::TiktokenCl100k | Estimator::TiktokenO200k => !counts,
        _ => false,
    }
}

fn reason(policy: &Policy, step: &Step) -> Option<&'static str> {
    if !step.applies.to_kind(TextKind::ToolResult) {
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
        Op::CapText(cap) if cap.per_stream => Some("streams of an output are not told apart"),
        Op::Inject(inject) => inject.items.iter().find_map(|item| match item.kind {
            InjectKind::Text => None,
            _ => Some("what would be added is not on record: only fixed texts are added"),
        }),
        Op::TotalCap(cap) if cap.unit != Unit::Bytes => Some("a total is counted in bytes only"),
        Op::Stack(_) if step.trigger.is_some() || policy.steps.len() != 1 => {
            Some("a `stack` is the only step of its policy and has no trigger")
        }
        Op::Tools(tools) => {
            let all = tools.only.is_empty()
                && tools.exclude.is_empty()
                && tools.deferred.is_empty()
                && tools.max_tokens.is_none();
            (!all).then_some("tool schemas are not chosen")
        }
        _ => None,
    }
}

/// True for a step that counts tokens of single messages or results, whatever its trigger.
fn needs_an_estimate(op: &Op) -> bool {
    match op {
        Op::ClearResults(clear) => clear.min_size_tokens > 0 || clear.keep.unit == KeepUnit::Tokens,
        Op::Window(window) => {
            window.keep.as_ref().is_some_and(|keep| keep.unit == KeepUnit::Tokens)
        }
        _ => false,
    }
}

/// Why a step that acts could not be carried out. A snapshot keeps the place in this list.
pub(super) const WHY: [&str; 10] = [
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
];
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
