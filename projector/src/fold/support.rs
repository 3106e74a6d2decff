//! What the fold does not carry out. A policy with such a step is refused as a whole, with the
//! step and what stands in the way; a step that could only be carried out in part is refused from
//! the first request on at which it would have to act. No step is ever left out silently.

use super::program::{counts_tokens, is_cap};
use crate::measure::Estimator;
use crate::policy::op::{MediaAction, OverflowAction, Parity, Replace, SummarySource};
use crate::policy::{At, KeepUnit, Metric, Op, Policy, Step, TextKind, Unit, Window};

/// The first step that cannot be carried out, from 0, and why.
pub(super) fn unsupported(policy: &Policy) -> Option<(usize, &'static str)> {
    let counted = |step: &Step| counts_tokens(step) && needs_counter(policy.estimator);
    policy.steps.iter().enumerate().find_map(|(index, step)| {
        let counter = counted(step).then_some("the estimator needs a counter of tokens");
        counter.or_else(|| reason(policy, step)).map(|reason| (index, reason))
    })
}

fn needs_counter(estimator: Estimator) -> bool {
    matches!(estimator, Estimator::External | Estimator::TiktokenCl100k | Estimator::TiktokenO200k)
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
        Op::ClearResults(clear) if clear.replace == Replace::RemovePair => {
            Some("pairs are not removed")
        }
        Op::CapArgs(cap) if !cap.clear => Some("arguments are not cut"),
        Op::CapArgs(_) => Some("arguments are cleared with their results only"),
        Op::DedupeReads(_) => Some("older reads of a file are not replaced"),
        Op::Inject(inject) if !inject.items.is_empty() => Some("texts are not added"),
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

/// What stands in the way of a step that acts now.
pub(super) fn acting(step: &Step) -> Option<&'static str> {
    match &step.op {
        Op::Window(window) => in_part(window),
        Op::Summary(summary) => Some(match summary.source {
            SummarySource::Recorded => {
                "a summary is due here, and none is on record for this range and these inputs"
            }
            SummarySource::Assumed => "a summary of an assumed size is not put in its place",
            SummarySource::Deterministic => "the deterministic summary is not made",
            SummarySource::Refuse => "a summary is due here, which the policy refuses",
        }),
        Op::OnOverflow(guard) => Some(match guard.action {
            OverflowAction::Error => "the request does not fit the context window",
            _ => "the request does not fit, and what the policy does then is not carried out",
        }),
        Op::Repair(_) => Some("calls or results stand alone here, which are not mended"),
        Op::DropReasoning(_) => Some("reasoning is not left out"),
        Op::Media(_) => Some("media are not replaced"),
        Op::TotalCap(_) => Some("texts are not cut to a total"),
        _ => None,
    }
}

fn in_part(window: &Window) -> Option<&'static str> {
    if window.keep.is_none() {
        return Some("a window by share or by free tokens is not carried out");
    }
    let plain = window.parity == Parity::Any && window.gap_marker.is_empty();
    let fits = window.keep.as_ref().is_none_or(|keep| keep.min == 0);
    (!plain || !fits).then_some("a window with parity, marker or minimum is not carried out")
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
pub(super) fn acts(policy: &Policy, step: &Step, found: Found) -> bool {
    // What a provider does is not on the wire.
    if step.at == At::Server && policy.view == crate::policy::ViewKind::Wire {
        return false;
    }
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
