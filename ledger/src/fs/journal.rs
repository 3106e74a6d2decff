//! A log and its artifacts, for several threads: each waits for its own event only, and one sync
//! serves all that wait.
//!
//! Redaction, hashing, compression, layout and checksums happen in the calling thread. What is
//! left is in one order for all: the packs are made durable, then the batch is written behind
//! them with one write, then the log is made durable with one sync, then everybody is told.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artifacts::PutError;
use artifacts::fs::{SealedPack, SharedStore};

use super::group::Group;
use super::{AppendError, Head, LogWriter, PackLength, Seq};
use crate::frame::{BATCH_BYTES_MAX, FRAME_BODY_BYTES_MAX, FrameDraft};

/// How safe an event has to be before the caller goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// Survives the end of the process.
    Written,
    /// Survives a power cut.
    Durable,
}

/// What happened to an event: its place, and how safe it is. More is never claimed than was
/// asked for and done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Its place in the log.
    pub seq: Seq,
    /// How safe it is.
    pub is: Ask,
}

/// Why an event was not recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The artifacts could not be made durable, so that no event may name them.
    #[error(transparent)]
    Put(#[from] PutError),
    /// The thread that committed for this one panicked; nobody knows what it did.
    #[error("the thread that wrote this batch panicked")]
    Abandoned,
}

/// Events that one caller appends together, and how safe they have to be.
type Job = (Vec<FrameDraft>, Ask);

/// The result of a batch: the place of the last event of each job, and how safe all of it is.
type Committed = Result<(Arc<[Seq]>, Ask), JournalError>;

/// A log that several threads append to.
#[derive(Debug)]
pub struct Journal {
    group: Group<Job, Committed>,
    log: Mutex<LogWriter>,
    store: Option<SharedStore>,
}

impl Journal {
    /// Shares a log, and the store that its events name.
    pub fn new(log: LogWriter, store: Option<SharedStore>) -> Self {
        Self { group: Group::new(BATCH_BYTES_MAX), log: Mutex::new(log), store }
    }

    /// Returns the store, for putting what an event will name.
    pub fn store(&self) -> Option<&SharedStore> {
        self.store.as_ref()
    }

    /// Appends an event and returns when it is as safe as was asked for.
    ///
    /// # Errors
    /// All events of a batch share its fate. If the write failed and was undone, the next call
    /// may succeed; after a failed sync no call does.
    pub fn append(&self, draft: FrameDraft, ask: Ask) -> Result<Ack, JournalError> {
        self.append_all(vec![draft], ask)
    }

    /// Appends events, one behind the other, and returns the place of the last when all are as
    /// safe as was asked for.
    ///
    /// They are written in one batch. All but the last have to fit in a batch: what is beyond
    /// [`BATCH_BYTES_MAX`] is refused with all of them.
    ///
    /// # Errors
    /// See [`Journal::append`].
    pub fn append_all(&self, drafts: Vec<FrameDraft>, ask: Ask) -> Result<Ack, JournalError> {
        let weight = drafts.iter().map(FrameDraft::frame_bytes).sum();
        let told = self.group.run((drafts, ask), weight, |jobs| self.commit(&jobs));
        let (committed, place) = told.ok_or(JournalError::Abandoned)?;
        let (last, is) = committed?;
        let seq = usize::try_from(place).ok().and_then(|place| last.get(place)).copied();
        Ok(Ack { seq: seq.unwrap_or(Seq::ZERO), is: is.min(ask) })
    }

    /// Lays an event out and appends it; see [`Journal::append`].
    pub fn append_body(
        &self,
        kind: u16,
        version: u16,
        wall_unix_ns: u64,
        body: &[u8],
        ask: Ask,
    ) -> Result<Ack, JournalError> {
        let draft = FrameDraft::new(kind, version, wall_unix_ns, body);
        let too_long = || AppendError::BodyTooLong {
            seq: Seq::ZERO,
            found: body.len(),
            max: FRAME_BODY_BYTES_MAX,
        };
        self.append(draft.ok_or_else(too_long)?, ask)
    }

    /// Seals the packs and the log; see [`LogWriter::seal`].
    pub fn seal(self) -> Result<Head, JournalError> {
        let log = self.log.into_inner().unwrap_or_else(PoisonError::into_inner);
        let packs = self.store.map(SharedStore::seal).transpose()?.unwrap_or_default();
        Ok(log.seal(&lengths(&packs))?)
    }

    /// Returns the segment that is being written.
    pub fn with_segment_path<T>(&self, look: impl FnOnce(&Path) -> T) -> T {
        look(self.log().segment_path())
    }

    /// The one place where a batch is committed; the group calls it in one thread at a time.
    fn commit(&self, jobs: &[Job]) -> Committed {
        if let Some(store) = &self.store
            && let Err(error) = store.sync()
        {
            if is_full(&error) {
                self.log().declare_full();
            }
            return Err(error.into());
        }
        let mut log = self.log();
        if let Some(store) = &self.store {
            log.note_packs(lengths(&store.full_packs()));
        }
        let placed = place(&mut log, jobs);
        let placed = placed.and_then(|placed| log.write().map(|_| placed));
        let placed = placed.inspect_err(|_| log.forget_pending())?;
        let asked = jobs.iter().map(|(_, ask)| *ask).max().unwrap_or(Ask::Written);
        if asked == Ask::Durable {
            log.sync()?;
        }
        Ok((placed, asked))
    }

    fn log(&self) -> MutexGuard<'_, LogWriter> {
        // The writer's own state says what it can vouch for.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives all frames their places and returns the last one of each job.
fn place(log: &mut LogWriter, jobs: &[Job]) -> Result<Arc<[Seq]>, AppendError> {
    let place = |(drafts, _): &Job| -> Result<Seq, AppendError> {
        let mut last = log.head().seq;
        for draft in drafts {
            last = log.append_draft(draft)?;
        }
        Ok(last)
    };
    jobs.iter().map(place).collect()
}

fn lengths(packs: &[SealedPack]) -> Vec<PackLength> {
    let length = |pack: &SealedPack| PackLength {
        number: pack.number,
        epoch: pack.epoch,
        bytes: pack.pack_bytes,
    };
    packs.iter().map(length).collect()
}

fn is_full(error: &PutError) -> bool {
    matches!(error, PutError::Io { source, .. } if artifacts::fs::vfs::is_disk_full(source))
}
