//! What a run remembers: which secrets it met, so that equal ones have equal placeholders.

use std::collections::BTreeMap;
use std::sync::Arc;

use zeroize::Zeroize as _;

use super::known::{Known, can_be_known};
use super::look::entropy;
use super::rules::{KNOWN, PEM, Rule};
use super::tag::{Tag, TagKey};
use super::withheld::Failure;

/// A secret of at least this length can have a tag of the key.
const STRONG_BYTES_MIN: usize = 20;
/// And of at least so much entropy.
const STRONG_BITS_MIN: u64 = 64;

/// Failures that are kept until somebody takes them.
const FAILURES_MAX: usize = 4096;

/// The memory of one run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    met: BTreeMap<Vec<u8>, (&'static Rule, Tag)>,
    known: Arc<Known>,
    failures: Vec<Failure>,
}

impl Run {
    /// A run that knows values from its start.
    pub(crate) fn knowing(known: &Arc<Known>) -> Self {
        let mut run = Self::default();
        run.known = Arc::clone(known);
        run
    }

    /// The values that are known by now.
    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known)
    }

    /// Adds a value that the caller knows; false if it is not worth knowing.
    pub(crate) fn know(&mut self, value: &[u8]) -> bool {
        can_be_known(value) && Arc::make_mut(&mut self.known).add(value, &KNOWN)
    }

    /// Adds one secret that was found by its place.
    pub(crate) fn learn_value(&mut self, value: &[u8], rule: &'static Rule) {
        if can_be_known(value) && !self.known.has(value) {
            Arc::make_mut(&mut self.known).add(value, rule);
        }
    }

    /// Adds what a text taught.
    pub(crate) fn learn(&mut self, learned: &Known) {
        if learned.is_empty() {
            return;
        }
        let known = Arc::make_mut(&mut self.known);
        for (value, rule) in learned.values() {
            if rule.id == PEM.id {
                known.add_plain(value, rule);
            } else {
                known.add(value, rule);
            }
        }
    }

    /// Remembers a failure until somebody takes it.
    pub(crate) fn failed(&mut self, failure: Failure) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(failure);
        }
    }

    pub(crate) fn take_failures(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.failures)
    }

    /// The rule and the tag of a secret: those with which the run met it first. The tag comes
    /// from the key, or is the number in which the run met it.
    pub(crate) fn name(
        &mut self,
        rule: &'static Rule,
        canonical: &[u8],
        key: Option<&TagKey>,
    ) -> (&'static Rule, Tag) {
        if let Some(met) = self.met.get(canonical) {
            return *met;
        }
        let number = || Tag::ordinal(u32::try_from(self.met.len() + 1).unwrap_or(u32::MAX));
        let tag = match key {
            Some(key) if !rule.is_weak() && is_strong(canonical) => key.tag(rule.name, canonical),
            _ => number(),
        };
        self.met.insert(canonical.to_vec(), (rule, tag));
        (rule, tag)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for (mut secret, _met) in std::mem::take(&mut self.met) {
            secret.zeroize();
        }
    }
}

/// Returns true if nobody could guess the secret.
fn is_strong(secret: &[u8]) -> bool {
    let bits = entropy::per_byte(secret) * secret.len() as u64 / entropy::BIT;
    secret.len() >= STRONG_BYTES_MIN && bits >= STRONG_BITS_MIN
}
