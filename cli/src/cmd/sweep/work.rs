//! The work of a sweep: one recording after the other, on all cores, each kept when it is done.

use projector::metrics::Line;
use replay::evaluate::{EvaluateError, Prepared};
use replay::rulebook::Rates;
use replay::sweep::{all, each};

use super::basis::RecordingEntry;
use super::page;
use super::requests::{self, RequestEntry};
use super::row::RowEntry;
use super::store::{Beside, Slot, Store};
use super::tables::TableFormat;
use crate::error::{Failure, Kind, map};
use crate::inputs::{self, Input};
use crate::policies::Named;

/// What is worked out, and where it is kept.
pub(super) struct Job<'j> {
    pub(super) policies: &'j [Named],
    pub(super) rates: &'j Rates,
    pub(super) price_as: Option<&'j str>,
    pub(super) store: &'j Store,
    pub(super) requests: bool,
    pub(super) details: bool,
    pub(super) tables: &'j [TableFormat],
    pub(super) shard: Option<(u64, u64)>,
    pub(super) progress: &'j (dyn Fn() + Sync),
}

/// A recording that was looked for.
type Found = (String, Result<Slot, Failure>);

impl Job<'_> {
    /// Works through the inputs. Recordings of other parts are left out.
    pub(super) fn run(&self, inputs: &[Input], threads: usize) -> Result<Vec<Found>, Failure> {
        let one = |nth: usize| inputs.get(nth).and_then(|input| self.input(input));
        let found = each(inputs.len(), threads, &one);
        let found = found.map_err(|error| Failure::of(Kind::Io, &error))?;
        Ok(found.into_iter().flatten().collect())
    }

    fn input(&self, input: &Input) -> Option<Found> {
        let path = input.path.display().to_string();
        let place = match &input.found {
            Ok(place) => place,
            Err(failure) => return Some((path, Err(failure.clone()))),
        };
        let run = match replay::Recording::run_of(&place.folder) {
            Ok(run) => run,
            Err(error) => return Some((path, Err(map::load(&error)))),
        };
        if !self.is_mine(run.as_bytes()) {
            return None;
        }
        let slot = Slot::new(run.as_bytes(), &input.path);
        if self.store.has(&slot) {
            self.policies.iter().for_each(|_| (self.progress)());
            return Some((path, Ok(slot)));
        }
        let done = self.recording(&path, place, &slot);
        Some((path, done.map(|()| slot)))
    }

    /// True for a run of this part.
    fn is_mine(&self, run: &[u8; 16]) -> bool {
        let Some((part, parts)) = self.shard else { return true };
        // A run's id need not be random: what decides is its hash.
        let hash = artifacts::ArtifactId::of(run);
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(hash.as_bytes()) {
            *to = *from;
        }
        u64::from_le_bytes(word) % parts == part - 1
    }

    fn recording(&self, path: &str, place: &inputs::Place, slot: &Slot) -> Result<(), Failure> {
        let recording = inputs::open(&place.folder)?;
        let prepared = Prepared::new(&recording, self.rates, self.price_as)
            .map_err(|error| evaluate_failure(&error))?;
        let rows = all(self.policies.len(), &|nth| {
            let named = self.policies.get(nth)?;
            let done = match prepared.policy(&named.policy) {
                Ok(lines) => self.row(&prepared, path, named, &lines),
                Err(error) => Done::bare(RowEntry::failed(path, named, &map::project(&error))),
            };
            (self.progress)();
            Some(done)
        });
        let (mut kept, mut requests, mut details) = (Vec::new(), Vec::new(), Vec::new());
        for done in rows.into_iter().flatten() {
            kept.push(done.row);
            requests.extend(done.requests);
            details.extend(done.detail);
        }
        let beside = Beside {
            requests: self.requests.then_some(requests),
            details: self.details.then_some(details),
            tables: self.tables,
        };
        self.store.put(slot, &RecordingEntry::of(&prepared, path), &beside, &kept)
    }

    fn row(&self, prepared: &Prepared<'_>, path: &str, named: &Named, lines: &[Line]) -> Done {
        let mut done = Done::bare(RowEntry::of(prepared, path, named, &prepared.row(lines)));
        if self.requests {
            let entries = lines.iter().map(|line| requests::entry(path, &named.id, line));
            done.requests.extend(entries);
        }
        if self.details {
            push(&(&named.id, page::detail(prepared, lines)), &mut done.detail);
        }
        done
    }
}

/// What was worked out of one policy.
struct Done {
    row: RowEntry,
    requests: Vec<RequestEntry>,
    detail: Vec<u8>,
}

impl Done {
    /// A row with nothing beside it.
    fn bare(row: RowEntry) -> Self {
        Self { row, requests: Vec::new(), detail: Vec::new() }
    }
}

/// A recording that could not be evaluated.
pub(crate) fn evaluate_failure(error: &EvaluateError) -> Failure {
    match error {
        EvaluateError::Project(error) => map::project(error),
        error => Failure::of(Kind::Format, error),
    }
}

/// Appends a line of JSON.
fn push(value: &impl serde::Serialize, to: &mut Vec<u8>) {
    to.extend(serde_json::to_vec(value).unwrap_or_default());
    to.push(b'\n');
}
