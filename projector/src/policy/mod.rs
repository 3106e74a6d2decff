//! A context policy: steps over a small set of primitives, every parameter explicit.
//!
//! A policy acts on top of the recorded view: where the whole output of a tool is on record it is
//! capped from there, else the text as sent is taken for it and the projection says `assumed`.

mod about;
mod amount;
mod applies;
mod cache;
mod canonical;
mod keep;
pub(crate) mod node;
pub mod op;
pub mod presets;
mod read;
pub mod schema;
mod step;
mod text;
mod trigger;

use alloc::string::String;
use alloc::vec::Vec;

pub use about::{About, Evidence};
pub use amount::{Amount, Budget, Rule, share};
pub use applies::{Applies, TextKind};
pub use cache::CacheClass;
use canonical::CANONICAL_VERSION;
pub use canonical::PolicyId;
pub use keep::{GainMode, Keep, KeepMessages, KeepResults, KeepUnit, MinGain, StopAt, WindowKeep};
pub(crate) use node::words;
pub use node::{Entry, Node, Value};
pub use op::{At, Boundary, CapText, ClearResults, Op, OpWord, Window};
pub use read::{Outline, Setting};
pub use step::Step;
pub use text::{Atoms, Count, Edge, LineRule, Preview, Round, Shape, Spill, Split, Unit};
pub use trigger::{Basis, Cmp, Metric, Trigger};

use crate::measure::Estimator;

/// Most steps of a policy.
pub const STEPS_MAX: usize = 64;
/// Longest text in a policy, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct PolicyError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

words! {
    /// Which of two views of a request a policy describes.
    pub enum ViewKind {
        /// The bytes that the client sends.
        Wire = "wire",
        /// What the model attends to, after edits by the provider.
        Effective = "effective",
    }
}

words! {
    /// What estimates are calibrated on.
    pub enum Calibrate {
        /// Nothing.
        None = "none",
        /// Usage on record: an estimate is multiplied with what the provider has reported for the
        /// recorded request, over the estimate of that request.
        RecordedUsage = "recorded_usage",
    }
}

/// A context policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A name for reports; not part of the id.
    pub name: String,
    /// How tokens are estimated.
    pub estimator: Estimator,
    /// What estimates are calibrated on.
    pub calibrate: Calibrate,
    /// Estimates are multiplied with this, in thousandths, rounded up.
    pub safety_per_mille: u32,
    /// Which view it describes.
    pub view: ViewKind,
    /// The context window in tokens, where the policy says one; else that of the recorded model.
    pub window: Option<u64>,
    /// The share of the window that is used, in thousandths.
    pub effective_per_mille: u16,
    /// Constants that nobody has documented, as `op.field`: the user has set them, so that what
    /// rests on them is assumed.
    pub unknown: Vec<String>,
    /// Where it comes from; not part of the id.
    pub about: Option<About>,
    /// The steps, applied in this order.
    pub steps: Vec<Step>,
}

impl Policy {
    /// A policy with these steps and nothing else.
    pub fn new(name: &str, steps: Vec<Step>) -> Self {
        Self {
            name: name.into(),
            estimator: Estimator::B4Ceil,
            calibrate: Calibrate::None,
            safety_per_mille: 1000,
            view: ViewKind::Wire,
            window: None,
            effective_per_mille: 1000,
            unknown: Vec::new(),
            about: None,
            steps,
        }
    }

    /// The policy that was in force: no step, so that every request comes out as recorded.
    pub fn recorded() -> Self {
        Self::new("recorded", Vec::new())
    }

    /// True when the policy leaves every request as it was recorded.
    pub fn is_recorded(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests;
