//! When a step acts.

use super::amount::{Amount, Budget};
use super::node::{record, words};

words! {
    /// What a trigger looks at.
    pub enum Metric {
        /// Estimated tokens of the request after the steps before.
        EstTokens = "est_tokens",
        /// Tokens as the provider has reported them.
        UsageTokens = "usage_tokens",
        /// Tokens that are left of the context window.
        RemainingTokens = "remaining_tokens",
        /// Tool calls in the request after the steps before.
        ToolUses = "tool_uses",
        /// Tool results in the request after the steps before, whatever their tool.
        ToolResults = "tool_results",
        /// Messages in the request after the steps before.
        Messages = "messages",
        /// Entries of the body's list after the steps before.
        Items = "items",
        /// Events of the source system.
        Events = "events",
    }
}

words! {
    /// How a trigger compares.
    pub enum Cmp {
        /// Above the value.
        Above = ">",
        /// At or above the value.
        AtLeast = ">=",
        /// Below the value.
        Below = "<",
        /// At or below the value.
        AtMost = "<=",
    }
}

impl Cmp {
    /// True when `found` compares so to `value`.
    pub fn holds(self, found: u64, value: u64) -> bool {
        match self {
            Self::Above => found > value,
            Self::AtLeast => found >= value,
            Self::Below => found < value,
            Self::AtMost => found <= value,
        }
    }
}

words! {
    /// What a count of tokens rests on.
    pub enum Basis {
        /// The policy's estimator over the whole request.
        Estimate = "estimate",
        /// What the provider reported for the request before.
        LastUsage = "last_usage",
        /// The same, and the estimate of what came after it.
        LastUsagePlusEstimate = "last_usage_plus_estimate",
    }
}

record! {
    /// When a step acts. Without a trigger it acts at every request.
    pub struct Trigger: "`trigger`" {
        /// What is looked at.
        metric: Metric,
        /// How it is compared.
        cmp: Cmp,
        /// With what.
        value: Amount,
        /// What a count of tokens rests on.
        basis: Basis = Basis::Estimate,
    }
}

impl Copy for Trigger {}

impl Trigger {
    /// Acts above a number.
    pub fn above(metric: Metric, value: u64) -> Self {
        Self { metric, cmp: Cmp::Above, value: Amount::Fixed(value), basis: Basis::Estimate }
    }

    /// Acts at or above a number.
    pub fn at_least(metric: Metric, value: u64) -> Self {
        Self { cmp: Cmp::AtLeast, ..Self::above(metric, value) }
    }

    /// True when a metric with this value sets it off. `None`: the value it is compared with is
    /// not known.
    pub fn fires(&self, found: u64, run: &Budget) -> Option<bool> {
        Some(self.cmp.holds(found, self.value.value(run)?))
    }
}
