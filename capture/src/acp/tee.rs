//! Records a connection while it carries it: each line is on record before it goes on.
//!
//! The library part knows readers and writers; who starts the agent's process is the caller.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ledger::event::Origin;
use ledger::recorder::RecordError;

use super::Direction;
use super::LINE_BYTES_MAX;
use super::import::{AcpOptions, AcpReport, Run, begin};
use super::session::Protocol;
use crate::line::{self, Line};

/// What happens to a line that could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUnrecorded {
    /// It does not go on, and the connection ends.
    Stop,
    /// It goes on; the run is marked as incomplete by having no end.
    GoOn,
}

/// How a connection is recorded.
#[derive(Debug)]
pub struct TeeOptions<'a> {
    /// As for an import.
    pub acp: AcpOptions<'a>,
    /// What happens to a line that could not be recorded.
    pub when_unrecorded: WhenUnrecorded,
}

/// Why a connection was not carried on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeeError {
    /// A line could not be recorded.
    #[error("line cannot be recorded")]
    Record(#[from] RecordError),
    /// One side cannot be read or written.
    #[error("connection broke")]
    Io(#[from] io::Error),
}

/// A connection that is recorded. Both directions share one.
#[derive(Debug)]
pub struct Tee {
    run: Mutex<Option<Run>>,
    when_unrecorded: WhenUnrecorded,
    recording: PathBuf,
    now_unix_ns: fn() -> u64,
}

impl Tee {
    /// Creates the recording; `now_unix_ns` tells the wall time, for information only.
    ///
    /// # Errors
    /// The folder exists, or something in it cannot be written.
    pub fn create(
        recording: &Path,
        name: &str,
        options: &TeeOptions<'_>,
        now_unix_ns: fn() -> u64,
    ) -> Result<Self, RecordError> {
        let recorder = begin(recording, name, &options.acp, Origin::Stdio)?;
        let run = Run::new(recorder, Protocol::new(options.acp.tools.clone()));
        Ok(Self {
            run: Mutex::new(Some(run)),
            when_unrecorded: options.when_unrecorded,
            recording: recording.to_path_buf(),
            now_unix_ns,
        })
    }

    fn run(&self) -> MutexGuard<'_, Option<Run>> {
        // A panic of the other direction left facts that are whole: each is one append.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries lines from `from` to `to` until `from` ends. Bytes go on as they came.
    ///
    /// # Errors
    /// A line cannot be recorded, or one side broke.
    pub fn carry(
        &self,
        direction: Direction,
        from: &mut dyn BufRead,
        to: &mut dyn Write,
    ) -> Result<(), TeeError> {
        let mut line = Vec::new();
        loop {
            let (read, bytes) = line::next(from, &mut line, LINE_BYTES_MAX, 0)?;
            if read == Line::End {
                return Ok(());
            }
            let recorded = self.record(direction, read, &line, bytes);
            match recorded {
                Err(error) if self.when_unrecorded == WhenUnrecorded::Stop => {
                    return Err(error.into());
                }
                // Without a recorder the rest is only carried.
                Err(_unrecorded) => drop(self.run().take()),
                Ok(()) => {}
            }
            if read == Line::TooLong {
                // Its bytes are gone: a connection with a hole in it is no connection.
                let words = "line beyond the limit";
                return Err(io::Error::new(io::ErrorKind::InvalidData, words).into());
            }
            to.write_all(&line)?;
            to.flush()?;
        }
    }

    fn record(
        &self,
        direction: Direction,
        read: Line,
        line: &[u8],
        bytes: u64,
    ) -> Result<(), RecordError> {
        let now_unix_ns = (self.now_unix_ns)();
        let mut run = self.run();
        let Some(run) = run.as_mut() else { return Ok(()) };
        match read {
            Line::TooLong => run.too_long(),
            Line::Text => run.line(line, Some(direction), now_unix_ns)?,
            Line::End => {}
        }
        run.carried(bytes);
        run.commit()
    }

    /// The connection ended; `failed` when the agent's process did.
    ///
    /// # Errors
    /// The end cannot be written.
    pub fn close(&self, failed: bool) -> Result<Option<AcpReport>, RecordError> {
        let Some(mut run) = self.run().take() else { return Ok(None) };
        run.ended(failed)?;
        run.close(None, self.recording.clone()).map(Some)
    }
}
