//! Sizes of a recording.

use crate::recording::{LoadError, Recording};

/// What a recording holds and what it takes on disk. All sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests.
    pub requests: u64,
    /// Requests whose body is kept whole because it could not be split.
    pub unsplit: u64,
    /// Conversations.
    pub conversations: u64,
    /// Events.
    pub events: u64,
    /// Foreign records.
    pub records: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Distinct parts.
    pub parts: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Sum of the request bodies as sent, content coding undone, after redaction.
    pub request_bytes: u64,
    /// Sum of the artifacts.
    pub artifact_bytes: u64,
    /// What the folder takes on disk.
    pub stored_bytes: u64,
    /// Spans that redaction replaced in requests.
    pub redactions: u64,
}

impl Stats {
    /// Counts over a recording.
    ///
    /// # Errors
    /// A folder cannot be listed.
    pub fn of(recording: &Recording) -> Result<Self, LoadError> {
        let history = recording.history();
        let requests = history.requests();
        let store = recording.store();
        Ok(Self {
            requests: requests.len() as u64,
            unsplit: requests.iter().filter(|r| r.captured.unsplit.is_some()).count() as u64,
            conversations: history.sessions().len() as u64,
            events: history.events(),
            records: history.records().len() as u64,
            tool_calls: history.calls().len() as u64,
            parts: history.parts().len() as u64,
            artifacts: store.len() as u64,
            request_bytes: requests.iter().map(|r| r.captured.body_bytes).sum(),
            artifact_bytes: store.iter().map(|(_id, raw, _stored, _place)| raw).sum(),
            stored_bytes: recording.disk_bytes()?,
            redactions: requests.iter().map(|r| u64::from(r.captured.redactions)).sum(),
        })
    }

    /// Adds another recording's counts.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            unsplit: self.unsplit + other.unsplit,
            conversations: self.conversations + other.conversations,
            events: self.events + other.events,
            records: self.records + other.records,
            tool_calls: self.tool_calls + other.tool_calls,
            parts: self.parts + other.parts,
            artifacts: self.artifacts + other.artifacts,
            request_bytes: self.request_bytes + other.request_bytes,
            artifact_bytes: self.artifact_bytes + other.artifact_bytes,
            stored_bytes: self.stored_bytes + other.stored_bytes,
            redactions: self.redactions + other.redactions,
        }
    }
}
