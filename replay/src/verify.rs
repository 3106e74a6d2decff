//! Verifies a recording: do its parts give the bodies, and does the fold give the same bodies?
//!
//! *Hash* recomputes the digests of system, tools, options and messages and names the component
//! that drifted. *Reassembly* proves that nothing was lost: parts -> bytes == recorded digest.
//! *Re-projection* proves that the projector explains what the client did: the events before a
//! send, folded under the policy in force, give the same bytes. All read everything; the store
//! and the log are checked to the last byte on the way.

mod check;
mod coverage;
mod linked;

use std::path::PathBuf;

pub(crate) use coverage::reported_input;
pub use coverage::{Coverage, Unexplained};
pub use linked::{Linking, UnlinkedCount};

use crate::recording::Recording;
use ledger::event::Origin;
use ledger::event::Rung;

/// What is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Component digests only.
    Hash,
    /// Reassembly only.
    Reassembly,
    /// Re-projection only.
    Projection,
    /// All of them.
    All,
}

/// Outcome of one check of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The same bytes.
    Identical,
    /// Other bytes.
    Diverged,
    /// Could not be decided: something is missing or damaged.
    Unverifiable,
    /// There is nothing to check here, or it was not asked for.
    NotApplicable,
}

impl Check {
    /// The word used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Diverged => "diverged",
            Self::Unverifiable => "unverifiable",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// Where two bodies differ first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Byte offset in the body.
    pub offset: u64,
    /// JSON pointer of the value at that place.
    pub pointer: String,
    /// The part at that place: kind, position and number.
    pub part: String,
    /// What was recorded there: bytes, or a digest where the bytes are not on record.
    pub expected: String,
    /// What came out.
    pub found: String,
}

/// What was found of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestVerdict {
    /// Its number, from 1.
    pub ordinal: u64,
    /// What can be claimed of it.
    pub rung: Rung,
    /// Component digests.
    pub hash: Check,
    /// The first component whose digest is not the recorded one.
    pub drifted: Option<&'static str>,
    /// Parts -> bytes.
    pub reassembly: Check,
    /// Fold -> bytes.
    pub projection: Check,
    /// Why something could not be decided, or is not applicable.
    pub reason: Option<String>,
    /// Where it differs first.
    pub divergence: Option<Divergence>,
}

impl RequestVerdict {
    /// The worst of the checks.
    pub fn worst(&self) -> Check {
        let rank = |check: &Check| match check {
            Check::Diverged => 3,
            Check::Unverifiable => 2,
            Check::Identical => 1,
            Check::NotApplicable => 0,
        };
        let checks = [self.reassembly, self.projection, self.hash];
        checks.into_iter().max_by_key(rank).unwrap_or(Check::NotApplicable)
    }
}

/// What was found of a recording.
#[derive(Clone, Debug)]
pub struct RecordingReport {
    /// Its folder.
    pub path: PathBuf,
    /// Its run.
    pub run: String,
    /// Its client.
    pub client: Option<String>,
    /// It was recorded on the wire, while the client ran.
    pub is_live: bool,
    /// Head of its log: last sequence number and chain.
    pub head: String,
    /// How its log ends, when not with a seal.
    pub tail: Option<String>,
    /// One per request.
    pub requests: Vec<RequestVerdict>,
    /// What caused the parts.
    pub linking: Linking,
    /// How much of what the provider counted was captured.
    pub coverage: Coverage,
    /// Damage of the store, with the place of each.
    pub damage: Vec<String>,
    /// Things that are worth knowing and no fault.
    pub notices: Vec<String>,
}

/// Requests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub requests: u64,
    /// The same bytes in every check that applies.
    pub identical: u64,
    /// Other bytes in some check.
    pub diverged: u64,
    /// Could not be decided.
    pub unverifiable: u64,
}

impl RecordingReport {
    /// Requests by outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { requests: self.requests.len() as u64, ..Counts::default() };
        for request in &self.requests {
            match request.worst() {
                Check::Identical => counts.identical += 1,
                Check::Diverged => counts.diverged += 1,
                Check::Unverifiable => counts.unverifiable += 1,
                Check::NotApplicable => {}
            }
        }
        counts
    }

    /// True when every request is identical and nothing is damaged.
    pub fn is_ok(&self) -> bool {
        let counts = self.counts();
        counts.diverged == 0 && counts.unverifiable == 0 && self.damage.is_empty()
    }
}

/// Verifies every request of a recording. `progress` is told after each.
pub fn verify(recording: &Recording, level: Level, progress: &mut dyn FnMut()) -> RecordingReport {
    let history = recording.history();
    let mut damage = Vec::new();
    let mut notices = Vec::new();
    check::store(recording, &mut damage, &mut notices);
    let is_live = history.opened().origin == Origin::Proxy;
    if history.closed().is_some_and(|closed| !closed.complete) {
        let words = if is_live {
            "some requests were sent without being captured; they are not here"
        } else {
            "the source was not read to its end; what came after is not here"
        };
        notices.push(words.to_owned());
    }
    let requests = check::requests(recording, level, progress);
    let head = recording.head();
    let tail = check::tail(recording);
    if let (Some(tail), Some(_closed)) = (&tail, history.closed()) {
        // A closed run ends in a seal, so a log that does not was changed afterwards.
        damage.push(format!("the run was closed, but its log is not sealed: {tail}"));
    }
    RecordingReport {
        path: recording.path().to_path_buf(),
        run: history.opened().run.to_string(),
        client: recording.client(),
        is_live,
        head: format!("{}:{}", head.seq, head.chain),
        tail,
        requests,
        linking: Linking::of(history),
        coverage: Coverage::of(history),
        damage,
        notices,
    }
}
