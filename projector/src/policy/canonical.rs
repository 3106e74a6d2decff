//! The canonical bytes of a policy, and the id that is their hash.
//!
//! Every parameter is there, whether or not the policy's text says it; the name is not.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest as _, Sha256};

use super::node::{Entry, Node, Param as _, Value, to_canonical};
use super::{Policy, Step};

/// The first line of the canonical bytes.
pub(super) const CANONICAL_VERSION: &str = "counterfold.policy/2";

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
    /// Every parameter of the policy, by name.
    pub fn parameters(&self) -> Vec<Entry> {
        let mut out = Vec::new();
        self.estimator.write_field("estimator", &mut out);
        self.calibrate.write_field("calibrate", &mut out);
        self.safety_per_mille.write_field("safety_per_mille", &mut out);
        self.view.write_field("view", &mut out);
        self.window.write_field("window", &mut out);
        self.effective_per_mille.write_field("effective_per_mille", &mut out);
        self.unknown.write_field("unknown", &mut out);
        let steps = self.steps.iter().map(|step| Node::new(Step::write(step))).collect();
        out.push(Entry::new("step", Value::List(steps)));
        out
    }

    /// The bytes that name what the policy does.
    pub fn canonical(&self) -> String {
        let mut out = String::from(CANONICAL_VERSION);
        out.push('\n');
        to_canonical(&self.parameters(), &mut out);
        out
    }

    /// The hash of [`Policy::canonical`].
    pub fn id(&self) -> PolicyId {
        PolicyId(Sha256::digest(self.canonical().as_bytes()).into())
    }
}
