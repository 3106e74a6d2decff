//! A context policy: steps over a small set of primitives, every parameter explicit.
//!
//! A policy acts on top of the recorded view: where the whole output of a tool is on record it is
//! capped from there, else the text as sent is taken for it and the projection says `assumed`.

mod canonical;
mod parse;
pub mod presets;

use alloc::string::String;
use alloc::vec::Vec;

pub use canonical::PolicyId;
pub use parse::PolicyError;

use crate::measure::Estimator;

/// Most steps of a policy.
pub const STEPS_MAX: usize = 64;
/// Longest text in a policy, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// A context policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A name for reports; not part of the id.
    pub name: String,
    /// How tokens are estimated.
    pub estimator: Estimator,
    /// The steps, applied in this order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Cuts single tool outputs, once, when they are recorded.
    CapText(CapText),
    /// Replaces old tool outputs at each request.
    ClearResults(ClearResults),
    /// Drops old messages at each request.
    Window(Window),
}

/// Which tools a step is for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Applies {
    /// Only these, if there are any. A result of an unknown tool is then left alone.
    pub tools: Vec<String>,
    /// None of these.
    pub exclude_tools: Vec<String>,
}

impl Applies {
    /// True when the step is for results of `tool` (`None`: the tool is not known).
    pub fn to(&self, tool: Option<&[u8]>) -> bool {
        let named = |list: &[String]| {
            tool.is_some_and(|tool| list.iter().any(|name| name.as_bytes() == tool))
        };
        (self.tools.is_empty() || named(&self.tools)) && !named(&self.exclude_tools)
    }
}

/// What a cap counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// UTF-8 bytes. A cut never splits a character: both sides shrink to a boundary.
    Bytes,
    /// Unicode code points.
    Chars,
    /// UTF-16 code units, as JavaScript counts. A cut never splits a surrogate pair.
    Utf16,
    /// Lines, ended by line feeds; the last line needs none.
    Lines,
}

/// What a cap keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// Both ends, cut in the middle. The head gets this share of the limit, rounded down.
    Middle {
        /// Share of the head, in thousandths.
        head_per_mille: u16,
    },
}

/// Cuts a text that is longer than a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapText {
    /// For which tools.
    pub applies: Applies,
    /// What is counted.
    pub unit: Unit,
    /// Texts up to this many units stay whole.
    pub limit: u64,
    /// What is kept.
    pub shape: Shape,
    /// Stands where text was cut. `{n}` is the number of hidden units, `{total}` the number of
    /// all units, `{limit}` the limit.
    pub marker: String,
    /// The marker counts against the limit.
    pub marker_in_limit: bool,
}

/// What a trigger looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Estimated tokens of the request after the steps before.
    EstTokens,
    /// Tool results in the request after the steps before, whatever their tool.
    ToolResults,
}

/// When a step acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At every request.
    Always,
    /// When the metric is above the value.
    Above {
        /// What is looked at.
        metric: Metric,
        /// The value.
        value: u64,
    },
    /// When the metric is at or above the value.
    AtLeast {
        /// What is looked at.
        metric: Metric,
        /// The value.
        value: u64,
    },
}

impl Trigger {
    /// The metric, if there is one.
    pub fn metric(self) -> Option<Metric> {
        match self {
            Self::Always => None,
            Self::Above { metric, .. } | Self::AtLeast { metric, .. } => Some(metric),
        }
    }

    /// True when a metric with this value sets it off.
    pub fn fires(self, found: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Above { value, .. } => found > value,
            Self::AtLeast { value, .. } => found >= value,
        }
    }
}

/// Replaces the texts of old tool results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearResults {
    /// For which tools. Results of other tools count, but never change.
    pub applies: Applies,
    /// So many of the newest results stay, whatever their tool.
    pub keep: u32,
    /// When it acts.
    pub trigger: Trigger,
    /// Stands in the place of the text.
    pub replacement: String,
    /// What was cleared once stays cleared.
    pub sticky: bool,
}

/// Where a window may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// At any message.
    Any,
    /// Where no call and its result part: window and head grow until that holds.
    SafeGroup,
}

/// Keeps the first and the newest messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// So many of the first messages stay.
    pub protect_head: u32,
    /// So many of the newest messages stay.
    pub keep: u32,
    /// Where it may begin.
    pub boundary: Boundary,
}

impl Policy {
    /// The policy that was in force: no step, so that every request comes out as recorded.
    pub fn recorded() -> Self {
        Self { name: "recorded".into(), estimator: Estimator::B4Ceil, steps: Vec::new() }
    }

    /// True when the policy leaves every request as it was recorded.
    pub fn is_recorded(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests;
