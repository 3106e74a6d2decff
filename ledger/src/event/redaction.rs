//! What redaction did: under which rules, what it replaced where, and what it kept back.

use bincode::{Decode, Encode};

/// From here on texts are redacted in another way than `run_opened`, or the last event of this
/// kind, said. A text that an event names for the first time was redacted as told before it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RedactionConfigured {
    /// Rule set: id, version, digest of its rules. The id `off` says that nothing is replaced.
    pub ruleset: (String, u32, [u8; 32]),
    /// Names the key of tags; the key itself is in no recording.
    pub key: Option<[u8; 8]>,
    /// Names of what values were handed over as known (variables, files), never values.
    pub known: Vec<String>,
    /// How many values they were.
    pub known_values: u32,
}

/// One replaced span of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReplacedSpan {
    /// Number of the rule.
    pub rule: u16,
    /// Where the placeholder starts in the text.
    pub offset: u64,
    /// Length of the placeholder, in bytes.
    pub bytes: u64,
    /// Length of what it replaced, in bytes.
    pub raw_bytes: u64,
    /// 1 truncated, 2 escaped, 4 UTF-16, 8 encoded.
    pub flags: u8,
}

/// What was replaced in a text that is stored: the side record of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SpansReplaced {
    /// SHA-256 of the redacted text, which is the id of its artifact.
    pub text: [u8; 32],
    /// Length of the raw text, in bytes.
    pub raw_bytes: u64,
    /// The spans, in order; none overlaps another.
    pub spans: Vec<ReplacedSpan>,
}

impl SpansReplaced {
    /// True when the spans are in order and none reaches into the next.
    pub fn is_consistent(&self) -> bool {
        let mut at = 0_u64;
        self.spans.iter().all(|span| {
            let fits = span.offset >= at;
            at = span.offset.saturating_add(span.bytes);
            fits && span.bytes > 0
        })
    }
}

/// A text was kept back, since it could not be redacted. A tombstone stands where it stood.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RedactionFailed {
    /// A fixed word, never content.
    pub reason: String,
    /// Length of what was kept back, in bytes.
    pub raw_bytes: u64,
}
