//! Which steps the fold carries out as they are written. A policy with any other is refused, with
//! the step and what stands in the way: no step is ever left out silently.

use crate::measure::Estimator;
use crate::policy::{
    Amount, Basis, Calibrate, CapText, ClearResults, Metric, Op, Policy, Round, Shape, Split, Step,
    Unit, ViewKind, Window,
};

/// The first step that is not carried out, from 0, and why.
pub(super) fn unsupported(policy: &Policy) -> Option<(usize, &'static str)> {
    if policy.steps.is_empty() {
        return None;
    }
    let whole = if policy.view == ViewKind::Effective {
        Some("the effective view is not projected")
    } else if policy.calibrate != Calibrate::None || policy.safety_per_mille != 1000 {
        Some("estimates are not calibrated")
    } else if !matches!(policy.estimator, Estimator::B4Ceil | Estimator::None) {
        Some("this estimator needs more than the size of a body")
    } else {
        None
    };
    let step = |(index, step): (usize, &Step)| reason(policy, step).map(|reason| (index, reason));
    whole.map(|reason| (0, reason)).or_else(|| policy.steps.iter().enumerate().find_map(step))
}

fn reason(policy: &Policy, step: &Step) -> Option<&'static str> {
    let usual = step.op.word().at().first();
    if usual != Some(&step.at) {
        return Some("the op is not carried out at this time");
    }
    let applies = &step.applies;
    if !applies.kinds.is_empty() || applies.single_part {
        return Some("`applies` asks for more than tools");
    }
    if let Some(trigger) = &step.trigger {
        match trigger.metric {
            Metric::EstTokens if policy.estimator == Estimator::None => {
                return Some("the policy names no estimator for its trigger");
            }
            Metric::EstTokens | Metric::ToolResults => {}
            _ => return Some("the trigger's metric is not known at a request"),
        }
        if trigger.value.fixed().is_none() || trigger.basis != Basis::Estimate {
            return Some("the trigger rests on the state of the run");
        }
    }
    match &step.op {
        Op::CapText(cap) => cap_text(cap),
        Op::ClearResults(clear) => clear_results(clear),
        Op::Window(window) if step.trigger.is_none() => window_step(window),
        Op::Stack(_) if step.trigger.is_none() && policy.steps.len() == 1 => None,
        Op::Stack(_) => Some("a `stack` is the only step of its policy and has no trigger"),
        _ => Some("the op is not carried out yet"),
    }
}

fn cap_text(cap: &CapText) -> Option<&'static str> {
    let Some(limit) = cap.limit.and_then(Amount::fixed) else {
        return Some("`cap_text` asks for more than a limit, a shape and a marker");
    };
    let same = CapText {
        marker_in_limit: cap.marker_in_limit,
        header: cap.header.clone(),
        template: cap.template.clone(),
        ..CapText::plain(cap.unit, limit, cap.shape, &cap.marker)
    };
    let shape = match cap.shape {
        Shape::Head | Shape::Tail => true,
        Shape::Middle(Split::Ratio { round, .. }) => round == Round::FloorHead,
        Shape::Middle(Split::Fixed { .. }) | Shape::Replace => false,
    };
    let unit = matches!(cap.unit, Unit::Bytes | Unit::Chars | Unit::Utf16 | Unit::Lines);
    let plain = *cap == same && shape && unit;
    (!plain).then_some("`cap_text` asks for more than a limit, a shape and a marker")
}

fn clear_results(clear: &ClearResults) -> Option<&'static str> {
    let same = ClearResults::plain(clear.keep.n, clear.text(), clear.sticky);
    (*clear != same).then_some("`clear_results` asks for more than a number and a text")
}

fn window_step(window: &Window) -> Option<&'static str> {
    let Some(keep) = window.keep.as_ref().map(|keep| keep.n) else {
        return Some("`window` asks for more than numbers of messages");
    };
    let same = Window::plain(window.protect_head, keep, window.boundary);
    (*window != same).then_some("`window` asks for more than numbers of messages")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{At, Count, Edge, LineRule};

    #[test]
    fn a_step_that_asks_for_more_than_is_done_is_named() {
        let cap = CapText::plain(Unit::Bytes, 10, Shape::Head, "[{n}]");
        let of = |cap: CapText| unsupported(&Policy::new("p", [Step::new(cap)].into()));
        assert_eq!(of(cap.clone()), None);
        for more in [
            CapText { unit: Unit::Columns, ..cap.clone() },
            CapText { threshold: Some(Amount::Fixed(20)), ..cap.clone() },
            CapText { marker_count: Count::RemovedLines, ..cap.clone() },
            CapText { boundary: Edge::Raw, ..cap.clone() },
            CapText { line_rule: LineRule::SplitLf, ..cap.clone() },
            CapText { limit: None, ..cap.clone() },
        ] {
            assert!(of(more.clone()).is_some(), "{more:?}");
        }
        assert!(unsupported(&Policy::new("p", [Step::new(cap).at(At::Event)].into())).is_some());
        assert_eq!(unsupported(&Policy::recorded()), None);
    }
}
