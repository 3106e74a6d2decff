//! What redaction replaced in the texts that a writer was given: kept until it is written down
//! beside them.

use std::collections::BTreeSet;

use crate::ArtifactId;
use crate::redact::{Redacted, Redaction};

/// What was replaced in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactionNote {
    /// Names the redacted text.
    pub id: ArtifactId,
    /// Length of the raw text, in bytes.
    pub raw_bytes: u64,
    /// What was replaced, in the order of the text.
    pub redactions: Vec<Redaction>,
}

/// Notes that nobody took yet. A text is told of once.
#[derive(Debug, Default)]
pub struct Notes {
    told: BTreeSet<ArtifactId>,
    waiting: Vec<RedactionNote>,
}

impl Notes {
    /// Notes what was replaced in a text, wherever the text is kept.
    pub fn add(&mut self, redacted: &Redacted<'_>) {
        let redactions = redacted.redactions();
        if redactions.is_empty() {
            return;
        }
        let id = ArtifactId::of(redacted.as_bytes());
        if !self.told.insert(id) {
            return;
        }
        let sum = |bytes: fn(&Redaction) -> u64| redactions.iter().map(bytes).sum::<u64>();
        let kept = (redacted.as_bytes().len() as u64).saturating_sub(sum(|span| span.bytes));
        let raw_bytes = kept.saturating_add(sum(|span| span.raw_bytes));
        self.waiting.push(RedactionNote { id, raw_bytes, redactions: redactions.to_vec() });
    }

    /// Takes what was noted since the last call.
    pub fn take(&mut self) -> Vec<RedactionNote> {
        std::mem::take(&mut self.waiting)
    }
}
