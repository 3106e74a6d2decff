//! Every policy over every recording, on all cores, rows in input order.

use projector::{Account, Fidelity, Index, Policy, ProjectError, Projector, Shared};
use rayon::prelude::*;

use crate::memo::SharedMemo;
use crate::recording::Recording;
use crate::tokens::Vocabularies;

/// Requests by what their projection rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FidelityCounts {
    /// The policy in force.
    pub exact: u64,
    /// Pure steps only.
    pub derived: u64,
    /// Rests on an assumption.
    pub assumed: u64,
    /// Could not be projected.
    pub refused: u64,
}

/// One policy over one recording. Sums are over requests; sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Index of the recording.
    pub recording: usize,
    /// Index of the policy.
    pub policy: usize,
    /// Requests.
    pub requests: u64,
    /// What they rest on.
    pub fidelity: FidelityCounts,
    /// Why requests were assumed or refused: step, reason, count.
    pub reasons: Vec<(usize, &'static str, u64)>,
    /// Requests whose bytes differ from the recorded ones.
    pub changed: u64,
    /// The first of them, from 1.
    pub frontier: Option<u64>,
    /// Largest request, in estimated tokens.
    pub tokens_max: u64,
    /// All requests, in estimated tokens.
    pub tokens_total: u64,
    /// Length of all bodies.
    pub body_bytes: u64,
    /// Recorded text that is not shown, summed over requests.
    pub hidden_bytes: u64,
    /// Recorded text that the worst request does not show.
    pub hidden_bytes_max: u64,
    /// Results that were cut, summed over requests.
    pub capped_results: u64,
    /// Results that were replaced, summed over requests.
    pub cleared_results: u64,
    /// Messages that were left out, summed over requests.
    pub dropped_messages: u64,
    /// Results without call and calls without result that the policy made.
    pub broken_pairs: u64,
}

impl Row {
    pub(crate) fn add(&mut self, ordinal: u64, fidelity: &Fidelity, account: &Account) {
        self.requests += 1;
        match fidelity {
            Fidelity::Exact => self.fidelity.exact += 1,
            Fidelity::Derived => self.fidelity.derived += 1,
            Fidelity::Assumed(_) => self.fidelity.assumed += 1,
            Fidelity::Refused(_) => self.fidelity.refused += 1,
        }
        if let Some((step, reason)) = fidelity.reason() {
            let known = self.reasons.iter_mut().find(|(s, r, _)| (*s, *r) == (step, reason));
            match known {
                Some((_, _, count)) => *count += 1,
                None => self.reasons.push((step, reason, 1)),
            }
        }
        if account.changed {
            self.changed += 1;
            self.frontier.get_or_insert(ordinal);
        }
        self.tokens_max = self.tokens_max.max(account.tokens);
        self.tokens_total += account.tokens;
        self.body_bytes += account.body_bytes;
        self.hidden_bytes += account.hidden_bytes;
        self.hidden_bytes_max = self.hidden_bytes_max.max(account.hidden_bytes);
        self.capped_results += u64::from(account.capped_results);
        self.cleared_results += u64::from(account.cleared_results);
        self.dropped_messages += u64::from(account.dropped_messages);
        self.broken_pairs += u64::from(account.broken_pairs);
    }
}

/// Folds one recording under one policy. Indexes of the row are left at 0.
///
/// # Errors
/// An artifact that a step has to look at is missing or damaged.
pub fn row(recording: &Recording, policy: &Policy) -> Result<Row, ProjectError> {
    let index = Index::new(recording.history());
    row_with(recording, policy, &index, &SharedMemo::default())
}

fn row_with(
    recording: &Recording,
    policy: &Policy,
    index: &Index,
    memo: &SharedMemo,
) -> Result<Row, ProjectError> {
    let history = recording.history();
    let shared = Shared { index, memo, counter: Some(&Vocabularies) };
    let mut projector = Projector::with(history, recording.as_source(), policy, shared);
    let mut row = Row::default();
    for request in history.requests() {
        let id = request.captured.request;
        let (fidelity, account) = projector.step(id)?;
        row.add(id.ordinal(), &fidelity, &account);
    }
    Ok(row)
}

/// Folds every recording under every policy: recordings outside, policies inside.
///
/// Each cell stands for itself: one that fails does not stop the others. What no policy changes
/// is worked out once for a recording, and what caps leave of a text once for all that have the
/// same caps. `progress` is called after each cell, from any thread.
pub fn sweep(
    recordings: &[Recording],
    policies: &[Policy],
    progress: &(dyn Fn() + Sync),
) -> Vec<Result<Row, ProjectError>> {
    let cells: Vec<(usize, usize)> = (0..recordings.len())
        .flat_map(|recording| (0..policies.len()).map(move |policy| (recording, policy)))
        .collect();
    let indexes: Vec<Index> =
        recordings.par_iter().map(|recording| Index::new(recording.history())).collect();
    let memo = SharedMemo::default();
    cells
        .par_iter()
        .filter_map(|(recording, policy)| {
            let index = indexes.get(*recording)?;
            let cell = row_with(recordings.get(*recording)?, policies.get(*policy)?, index, &memo);
            progress();
            Some(cell.map(|row| Row { recording: *recording, policy: *policy, ..row }))
        })
        .collect()
}

/// Calls `work` for each number below `count`, on so many threads (0: one for each core), and
/// gives back what it said, in order.
///
/// # Errors
/// The threads cannot be made.
pub fn each<T: Send>(
    count: usize,
    threads: usize,
    work: &(dyn Fn(usize) -> T + Sync),
) -> Result<Vec<T>, ThreadsError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| ThreadsError { why: error.to_string() })?;
    Ok(pool.install(|| (0..count).into_par_iter().map(work).collect()))
}

/// The same inside of [`each`], on its threads.
pub fn all<T: Send>(count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    (0..count).into_par_iter().map(work).collect()
}

/// Threads could not be made.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot start threads: {why}")]
pub struct ThreadsError {
    /// The system's answer.
    why: String,
}
