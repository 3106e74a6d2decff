//! The canonical bytes of a policy, and the id that is their hash.
//!
//! One line per parameter, every parameter explicit, in a fixed order; texts are quoted with
//! lengths so that no text can look like a line of its own. The name is not part of it.

use alloc::string::String;
use core::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

use super::{
    Applies, Boundary, CapText, ClearResults, Metric, Policy, Shape, Step, Trigger, Unit, Window,
};

/// SHA-256 of a policy's canonical bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyId([u8; 32]);

impl PolicyId {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyId({self})")
    }
}

impl Policy {
    /// The bytes that name what the policy does.
    pub fn canonical(&self) -> String {
        let mut out = String::from("counterfold.policy/1\n");
        line(&mut out, "estimator", self.estimator.id());
        for step in &self.steps {
            match step {
                Step::CapText(cap) => cap_text(&mut out, cap),
                Step::ClearResults(clear) => clear_results(&mut out, clear),
                Step::Window(window) => window_step(&mut out, window),
            }
        }
        out
    }

    /// The hash of [`Policy::canonical`].
    pub fn id(&self) -> PolicyId {
        PolicyId(Sha256::digest(self.canonical().as_bytes()).into())
    }
}

fn line(out: &mut String, key: &str, value: impl fmt::Display) {
    writeln!(out, "{key}={value}").expect("writing to a string cannot fail");
}

fn text(out: &mut String, key: &str, value: &str) {
    writeln!(out, "{key}={}:{value}", value.len()).expect("writing to a string cannot fail");
}

fn applies(out: &mut String, applies: &Applies) {
    for tool in &applies.tools {
        text(out, "tool", tool);
    }
    for tool in &applies.exclude_tools {
        text(out, "exclude_tool", tool);
    }
}

fn cap_text(out: &mut String, cap: &CapText) {
    line(out, "op", "cap_text");
    applies(out, &cap.applies);
    line(
        out,
        "unit",
        match cap.unit {
            Unit::Bytes => "b",
            Unit::Chars => "cp",
            Unit::Utf16 => "u16",
            Unit::Lines => "line",
        },
    );
    line(out, "limit", cap.limit);
    match cap.shape {
        Shape::Head => line(out, "shape", "head"),
        Shape::Tail => line(out, "shape", "tail"),
        Shape::Middle { head_per_mille } => {
            line(out, "shape", "middle");
            line(out, "head_per_mille", head_per_mille);
        }
    }
    text(out, "marker", &cap.marker);
    line(out, "marker_in_limit", cap.marker_in_limit);
}

fn clear_results(out: &mut String, clear: &ClearResults) {
    line(out, "op", "clear_results");
    applies(out, &clear.applies);
    line(out, "keep", clear.keep);
    let metric = |metric| match metric {
        Metric::EstTokens => "est_tokens",
        Metric::ToolResults => "tool_results",
    };
    match clear.trigger {
        Trigger::Always => line(out, "trigger", "always"),
        Trigger::Above { metric: m, value } => {
            line(out, "trigger", format_args!("{}>{value}", metric(m)));
        }
        Trigger::AtLeast { metric: m, value } => {
            line(out, "trigger", format_args!("{}>={value}", metric(m)));
        }
    }
    text(out, "replacement", &clear.replacement);
    line(out, "sticky", clear.sticky);
}

fn window_step(out: &mut String, window: &Window) {
    line(out, "op", "window");
    line(out, "protect_head", window.protect_head);
    line(out, "keep", window.keep);
    line(
        out,
        "boundary",
        match window.boundary {
            Boundary::Any => "any",
            Boundary::SafeGroup => "safe_group",
        },
    );
}
