//! A policy's parameters as JSON, and what it does in a few words.

use projector::Policy;
use projector::policy::{
    Applies, Boundary, CapText, ClearResults, Metric, Shape, Step, Trigger, Unit, Window,
};
use serde::Serialize;

use crate::report::number::count;

/// The parameters of a policy, named as in its TOML.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PolicyParams {
    estimator: &'static str,
    steps: Vec<StepParams>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum StepParams {
    CapText {
        applies: AppliesParams,
        unit: &'static str,
        limit: u64,
        shape: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        head_per_mille: Option<u16>,
        marker: String,
        marker_in_limit: bool,
    },
    ClearResults {
        applies: AppliesParams,
        keep: u32,
        trigger: Option<TriggerParams>,
        replacement: String,
        sticky: bool,
    },
    Window {
        protect_head: u32,
        keep: u32,
        boundary: &'static str,
    },
}

#[derive(Clone, Debug, Serialize)]
struct AppliesParams {
    tools: Vec<String>,
    exclude_tools: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct TriggerParams {
    metric: &'static str,
    cmp: &'static str,
    value: u64,
}

/// The parameters of a policy.
pub(crate) fn params(policy: &Policy) -> PolicyParams {
    let step = |step: &Step| match step {
        Step::CapText(cap) => cap_params(cap),
        Step::ClearResults(clear) => StepParams::ClearResults {
            applies: applies_params(&clear.applies),
            keep: clear.keep,
            trigger: trigger_params(clear.trigger),
            replacement: clear.replacement.clone(),
            sticky: clear.sticky,
        },
        Step::Window(window) => StepParams::Window {
            protect_head: window.protect_head,
            keep: window.keep,
            boundary: boundary_name(window.boundary),
        },
    };
    PolicyParams {
        estimator: policy.estimator.id(),
        steps: policy.steps.iter().map(step).collect(),
    }
}

fn cap_params(cap: &CapText) -> StepParams {
    let (shape, head_per_mille) = match cap.shape {
        Shape::Head => ("head", None),
        Shape::Tail => ("tail", None),
        Shape::Middle { head_per_mille } => ("middle", Some(head_per_mille)),
    };
    StepParams::CapText {
        applies: applies_params(&cap.applies),
        unit: match cap.unit {
            Unit::Bytes => "b",
            Unit::Chars => "cp",
            Unit::Utf16 => "u16",
            Unit::Lines => "line",
        },
        limit: cap.limit,
        shape,
        head_per_mille,
        marker: cap.marker.clone(),
        marker_in_limit: cap.marker_in_limit,
    }
}

fn applies_params(applies: &Applies) -> AppliesParams {
    AppliesParams { tools: applies.tools.clone(), exclude_tools: applies.exclude_tools.clone() }
}

fn trigger_params(trigger: Trigger) -> Option<TriggerParams> {
    let (cmp, value) = match trigger {
        Trigger::Always => return None,
        Trigger::Above { value, .. } => (">", value),
        Trigger::AtLeast { value, .. } => (">=", value),
    };
    Some(TriggerParams { metric: trigger.metric().map_or("", metric_name), cmp, value })
}

fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::EstTokens => "est_tokens",
        Metric::ToolResults => "tool_results",
    }
}

fn boundary_name(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Any => "any",
        Boundary::SafeGroup => "safe_group",
    }
}

/// What a policy does, on one line.
pub(crate) fn words(policy: &Policy) -> String {
    if policy.steps.is_empty() {
        return "shows every request as it was recorded".to_owned();
    }
    let step = |step: &Step| match step {
        Step::CapText(cap) => cap_words(cap),
        Step::ClearResults(clear) => clear_words(clear),
        Step::Window(window) => window_words(window),
    };
    policy.steps.iter().map(step).collect::<Vec<_>>().join("; ")
}

fn cap_words(cap: &CapText) -> String {
    let unit = match cap.unit {
        Unit::Bytes => "bytes",
        Unit::Chars => "characters",
        Unit::Utf16 => "UTF-16 units",
        Unit::Lines => "lines",
    };
    let limit = count(cap.limit);
    let kept = match cap.shape {
        Shape::Head => "keeps the beginning".to_owned(),
        Shape::Tail => "keeps the end".to_owned(),
        Shape::Middle { head_per_mille: 500 } => "keeps both ends".to_owned(),
        Shape::Middle { head_per_mille } => {
            format!("keeps both ends ({head_per_mille} per mille at the beginning)")
        }
    };
    format!("caps tool outputs at {limit} {unit}, {kept}{}", tools(&cap.applies))
}

fn clear_words(clear: &ClearResults) -> String {
    let keep = count(u64::from(clear.keep));
    let when = match trigger_params(clear.trigger) {
        None => "at every request".to_owned(),
        Some(trigger) => {
            format!("when {} {} {}", trigger.metric, trigger.cmp, count(trigger.value))
        }
    };
    let sticky = if clear.sticky { ", for good" } else { "" };
    format!("clears tool outputs but the newest {keep}, {when}{sticky}{}", tools(&clear.applies))
}

fn window_words(window: &Window) -> String {
    let head = count(u64::from(window.protect_head));
    let keep = count(u64::from(window.keep));
    let boundary = match window.boundary {
        Boundary::Any => "",
        Boundary::SafeGroup => ", and whole tool exchanges",
    };
    format!("keeps the first {head} and the newest {keep} messages{boundary}")
}

fn tools(applies: &Applies) -> String {
    let mut words = String::new();
    if !applies.tools.is_empty() {
        words = [" (only ", &applies.tools.join(", "), ")"].concat();
    }
    if !applies.exclude_tools.is_empty() {
        words = [&words, " (not ", &applies.exclude_tools.join(", "), ")"].concat();
    }
    words
}
