//! Goes on with a recording that exists: its whole log is read first, so that no id, revision or
//! question of it can come again.

use std::path::Path;

use artifacts::fs::vfs::LocalDisk;
use artifacts::redact::Redactor;

use super::{Journal, JournalError};
use crate::event::{Event, EventError, Kind, RedactionConfigured};
use crate::frame::KIND_SKIPPABLE_BIT;
use crate::fs::{Frame, Head, LogReader, OpenError, ReadError, RunOptions, RunWriter, StartError};
use crate::identity::desk::{Desk, DeskError};
use crate::recorder::{RecordError, told};
use crate::segment::Epoch;

/// Why a recording cannot be gone on with. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContinueError {
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its log cannot be read to its end, so that it is not known what was given out.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A frame is no event that this version knows.
    #[error("seq {seq}: {source}")]
    Event {
        /// The frame.
        seq: u64,
        /// What is wrong with it.
        source: EventError,
    },
    /// Its events contradict each other.
    #[error("seq {seq}: {source}")]
    Desk {
        /// The frame.
        seq: u64,
        /// What does not fit.
        source: DeskError,
    },
    /// Its run ended.
    #[error("seq {seq}: the run was closed")]
    Closed {
        /// The frame.
        seq: u64,
    },
    /// The artifact store does not open.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A recording that is gone on with, by facts about identities.
#[derive(Debug)]
pub struct Continued {
    writer: RunWriter,
    redactor: Redactor,
    desk: Desk,
    now_unix_ns: u64,
}

/// Reads the whole log into a desk.
///
/// # Errors
/// The log cannot be read to its end, or its events do not fit.
pub fn restore(reader: &mut LogReader) -> Result<Desk, ContinueError> {
    Ok(replay(reader)?.0)
}

/// The same, with how texts are redacted by the end of the log.
fn replay(reader: &mut LogReader) -> Result<(Desk, Option<RedactionConfigured>), ContinueError> {
    let (mut desk, mut in_force) = (Desk::default(), None);
    for frame in reader.frames() {
        let frame = frame?;
        let seq = frame.seq().0;
        let desk_error = |source| ContinueError::Desk { seq, source };
        let Some(event) = event(&frame)? else {
            desk.skip(seq).map_err(desk_error)?;
            continue;
        };
        if matches!(event, Event::RunClosed(_)) {
            return Err(ContinueError::Closed { seq });
        }
        desk.observe(seq, &event).map_err(desk_error)?;
        match event {
            Event::RunOpened(opened) => in_force = Some(opened.redaction()),
            Event::RedactionConfigured(configured) => in_force = Some(configured),
            _ => {}
        }
    }
    Ok((desk, in_force))
}

/// The event of a frame; `None` for seals and for kinds that may be skipped.
fn event(frame: &Frame) -> Result<Option<Event>, ContinueError> {
    let unknown = Kind::from_tag(frame.kind()).is_none();
    if frame.is_seal() || (unknown && frame.kind() & KIND_SKIPPABLE_BIT != 0) {
        return Ok(None);
    }
    Event::decode(frame.kind(), frame.version(), frame.body())
        .map(Some)
        .map_err(|source| ContinueError::Event { seq: frame.seq().0, source })
}

impl Continued {
    /// Opens the recording `dir` for more facts about identities.
    ///
    /// # Errors
    /// It is damaged, closed or held by another writer. Nothing in it was changed then.
    pub fn open(
        dir: &Path,
        redactor: Redactor,
        epoch: Epoch,
        now_unix_ns: u64,
    ) -> Result<Self, ContinueError> {
        // The first look refuses what is damaged before a writer makes a new segment.
        let mut reader = LogReader::open(dir)?;
        restore(&mut reader)?;
        let disk = LocalDisk::shared();
        let writer = RunWriter::open(disk, dir, epoch, now_unix_ns, RunOptions::BATCHED);
        let writer = writer.map_err(|error| match error {
            StartError::Open(error) => ContinueError::Open(error),
            other => ContinueError::Record(other.into()),
        })?;
        // Nobody else writes now; what was written since the first look is read as well.
        let (desk, last) = replay(&mut LogReader::open(dir)?)?;
        let mut continued = Self { writer, redactor, desk, now_unix_ns };
        let changed = last.and_then(|last| told::reconfigured(&continued.redactor, &last));
        if let Some(changed) = changed {
            continued.journal().append(&changed).map_err(|error| match error {
                JournalError::Record(error) => error,
                other => RecordError::Misfit(Box::new(other)),
            })?;
        }
        Ok(continued)
    }

    /// Sets the wall time that the next events carry. Information only.
    pub fn set_time(&mut self, unix_ns: u64) {
        self.now_unix_ns = unix_ns;
    }

    /// Appends facts.
    pub fn journal(&mut self) -> Journal<'_> {
        Journal {
            writer: &mut self.writer,
            redactor: &self.redactor,
            desk: &mut self.desk,
            now_unix_ns: self.now_unix_ns,
        }
    }

    /// Makes everything appended so far durable: artifacts first.
    ///
    /// # Errors
    /// A write or sync failed; the recording is of no use for writing afterwards.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        Ok(self.writer.commit()?)
    }

    /// Seals what was appended and leaves the run open for the next one who goes on with it.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn leave(self) -> Result<Head, RecordError> {
        Ok(self.writer.seal()?)
    }
}
