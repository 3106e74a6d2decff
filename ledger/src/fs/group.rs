//! Many callers, one commit at a time: whoever finds nobody leading takes what all have queued
//! and commits it for them.
//!
//! The file knows neither frames nor disks, and takes its lock and condition variable from
//! `sync`, so that a test can run it under a scheduler that tries every order of threads.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, MutexGuard};

/// Most jobs that one commit takes.
pub(crate) const BATCH_JOBS_MAX: usize = 4096;

/// A queue of jobs of type `J`, whose commits yield an `R` for all jobs of a batch.
pub(crate) struct Group<J, R> {
    state: Mutex<State<J, R>>,
    wake: Condvar,
    /// Most weight that one commit takes, unless its first job alone is heavier.
    weight_max: usize,
}

struct State<J, R> {
    queue: VecDeque<(J, usize)>,
    /// Number of the first job in the queue, counted from the first job of all.
    first_queued: u64,
    leading: bool,
    outcomes: VecDeque<Outcome<R>>,
}

/// What became of the jobs from `first` on.
struct Outcome<R> {
    first: u64,
    jobs: u64,
    /// Callers that have not been told yet.
    waiting: u64,
    /// `None` if the leader panicked.
    result: Option<R>,
}

impl<J, R: Clone> Group<J, R> {
    pub(crate) fn new(weight_max: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            first_queued: 0,
            leading: false,
            outcomes: VecDeque::new(),
        };
        Self { state: Mutex::new(state), wake: Condvar::new(), weight_max }
    }

    /// Queues a job, and returns when it was committed: the result of its batch, and its place
    /// in it. `None` says that the thread that led the batch panicked.
    ///
    /// `commit` gets the jobs in the order in which they were queued. It is called by one thread
    /// at a time, without the lock.
    pub(crate) fn run(
        &self,
        job: J,
        weight: usize,
        commit: impl Fn(Vec<J>) -> R,
    ) -> Option<(R, u64)> {
        let mut state = self.lock();
        let number = state.first_queued + state.queue.len() as u64;
        state.queue.push_back((job, weight));
        loop {
            match state.take_outcome(number) {
                Told::NotYet => {}
                Told::Abandoned => return None,
                Told::Committed(result, place) => return Some((result, place)),
            }
            if state.leading {
                state = self.wake.wait(state).unwrap_or_else(super::sync::recovered);
                continue;
            }
            let batch = state.take_batch(self.weight_max);
            drop(state);
            let mut leader = Leader { group: self, batch: batch.numbers, result: None };
            leader.result = Some(commit(batch.jobs));
            // Tells everybody, whether `commit` returned or not.
            drop(leader);
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(super::sync::recovered)
    }
}

struct Batch<J> {
    jobs: Vec<J>,
    /// Number of the first job, and how many there are.
    numbers: (u64, u64),
}

impl<J, R: Clone> State<J, R> {
    /// Takes the front of the queue, and the lead.
    fn take_batch(&mut self, weight_max: usize) -> Batch<J> {
        self.leading = true;
        let mut total = 0_usize;
        let fits = |(_, weight): &&(J, usize)| {
            total = total.saturating_add(*weight);
            total <= weight_max
        };
        let jobs = self.queue.iter().take(BATCH_JOBS_MAX).take_while(fits).count();
        let jobs = jobs.max(1).min(self.queue.len());
        let first = self.first_queued;
        self.first_queued += jobs as u64;
        let jobs: Vec<J> = self.queue.drain(..jobs).map(|(job, _)| job).collect();
        let numbers = (first, jobs.len() as u64);
        Batch { jobs, numbers }
    }

    /// Returns what became of a job, once.
    fn take_outcome(&mut self, number: u64) -> Told<R> {
        let place = |outcome: &Outcome<R>| {
            number.checked_sub(outcome.first).filter(|place| *place < outcome.jobs)
        };
        let found = self.outcomes.iter().position(|outcome| place(outcome).is_some());
        let Some((at, outcome)) = found.and_then(|at| Some((at, self.outcomes.get_mut(at)?)))
        else {
            return Told::NotYet;
        };
        let told = match (outcome.result.clone(), place(outcome)) {
            (Some(result), Some(place)) => Told::Committed(result, place),
            _ => Told::Abandoned,
        };
        outcome.waiting -= 1;
        if outcome.waiting == 0 {
            drop(self.outcomes.remove(at));
        }
        told
    }
}

/// What a caller is told about its job.
enum Told<R> {
    NotYet,
    Abandoned,
    /// The result of its batch, and its place in it.
    Committed(R, u64),
}

/// The lead over one batch; dropping it publishes the outcome and wakes everybody.
struct Leader<'a, J, R: Clone> {
    group: &'a Group<J, R>,
    batch: (u64, u64),
    result: Option<R>,
}

impl<J, R: Clone> Drop for Leader<'_, J, R> {
    fn drop(&mut self) {
        let (first, jobs) = self.batch;
        let outcome = Outcome { first, jobs, waiting: jobs, result: self.result.take() };
        let mut state = self.group.lock();
        state.leading = false;
        state.outcomes.push_back(outcome);
        drop(state);
        self.group.wake.notify_all();
    }
}

impl<J, R> std::fmt::Debug for Group<J, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").finish_non_exhaustive()
    }
}
