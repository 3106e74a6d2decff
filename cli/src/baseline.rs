//! A baseline: what was accepted of a set of recordings, kept outside of them.
//!
//! The chain of a log proves that its bytes belong together, not that they are those of last
//! week: whoever can write the folder can write a history that fits. A baseline in another place,
//! under version control for example, is what a recording is compared with.

mod file;

use ledger::event::Rung;
use replay::Recording;
use serde::{Deserialize, Serialize};

pub(crate) use file::{read, text};

/// What is kept of one recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// What reports call it.
    pub(crate) name: String,
    /// Id of the run.
    pub(crate) run: String,
    /// Last sequence number and chain of the log.
    pub(crate) head: String,
    /// How many requests.
    pub(crate) requests: u64,
    /// SHA-256 over the recorded digests of the bodies, in order.
    pub(crate) bodies: String,
    /// The worst rung.
    pub(crate) rung: String,
}

impl Entry {
    /// What a recording says of itself; nothing of one without requests.
    pub(crate) fn of(name: &str, recording: &Recording) -> Option<Self> {
        let history = recording.history();
        let worst: Rung = history.requests().iter().map(|request| request.captured.rung).max()?;
        let mut digests = Vec::new();
        for request in history.requests() {
            digests.extend_from_slice(&request.captured.body_digest);
        }
        let head = recording.head();
        Some(Self {
            name: name.to_owned(),
            run: history.opened().run.to_string(),
            head: format!("{}:{}", head.seq, head.chain),
            requests: history.requests().len() as u64,
            bodies: artifacts::ArtifactId::of(&digests).to_string(),
            rung: worst.name().to_owned(),
        })
    }

    /// How `now` differs from what was accepted, most telling first.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if now.requests != self.requests {
            found.push(format!(
                "other count: {} requests, accepted {}",
                now.requests, self.requests
            ));
        }
        if now.bodies != self.bodies {
            found.push(format!("other bodies: {}, accepted {}", now.bodies, self.bodies));
        }
        if now.run != self.run {
            found.push(format!("other run: {}, accepted {}", now.run, self.run));
        } else if now.head != self.head && found.is_empty() {
            found.push(format!(
                "rewritten history: the same bodies under another head, {}, accepted {}",
                now.head, self.head
            ));
        } else if now.head != self.head {
            found.push(format!("other head: {}, accepted {}", now.head, self.head));
        }
        if now.rung != self.rung {
            found.push(format!("other worst rung: {}, accepted {}", now.rung, self.rung));
        }
        found
    }
}

#[cfg(test)]
mod tests;
