//! The one way in: redact, put, append, in this order, for every importer and proxy.
//!
//! A caller says what it saw (a request ready to be sent, an answer, a foreign record); the
//! recorder redacts it, stores what is new, works out what changed against the conversation so
//! far and what caused it, and appends the facts. Nothing here cuts or budgets anything.

mod answer;
mod capture;
mod clean;
mod found;
mod grow;
mod headers;
mod link;
mod lists;
mod parts;
mod prepare;
pub(crate) mod told;

use std::path::Path;
use std::sync::Arc;

use artifacts::fs::vfs::{LocalDisk, Vfs};
use artifacts::redact::Redactor;

pub use answer::Reply;
pub use capture::{Capture, Captured};
pub use found::{CallSeen, Found, FoundText};
pub use grow::Grown;
pub use headers::Sent;
pub use parts::RawKey;
pub use prepare::{Prepared, PreparedItem};

use crate::codec::CodecError;
use crate::content::Content;
use crate::event::{Event, ImportedRecord, Origin, RunClosed, RunOpened, SessionBasis};
use crate::fs::{
    self, AppendError, CreateError, Head, LogIdent, RunOptions, RunWriter, StartError,
};
use crate::id::{PartNo, RequestId, RunId, SessionId};
use crate::identity::desk::Desk;
use crate::identity::journal::{Journal, JournalError};
use crate::segment::{Epoch, LedgerId};

/// Events are written out when so many bytes of them are waiting.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// When facts have to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before [`Recorder::request_captured`] returns: for live recording.
    EachRequest,
    /// When [`Recorder::commit`] returns: for live recording of several conversations, whose
    /// owner tells them all after one commit.
    EachCommit,
    /// In batches, at the latest at [`Recorder::close`]: for imports, whose source is still there.
    Batched,
}

/// Identities of a new recording, chosen by the caller so that fixtures can be fixed.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The recording's own id.
    pub ledger: LedgerId,
    /// The writer's epoch.
    pub epoch: Epoch,
    /// The run.
    pub run: RunId,
    /// Unix nanoseconds; information only.
    pub created_unix_ns: u64,
}

impl Identity {
    /// Fresh random identities.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn random(created_unix_ns: u64) -> Result<Self, RecordError> {
        let mut run = [0; 16];
        getrandom::fill(&mut run).map_err(|_os| RecordError::NoRandomness)?;
        let ledger = LedgerId::random().map_err(|_os| RecordError::NoRandomness)?;
        let epoch = Epoch::random().map_err(|_os| RecordError::NoRandomness)?;
        Ok(Self { ledger, epoch, run: RunId::from_bytes(run), created_unix_ns })
    }
}

/// Why a fact could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The recording could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The artifact store refused.
    #[error(transparent)]
    Put(#[from] artifacts::PutError),
    /// The artifact store cannot give back what it took.
    #[error(transparent)]
    Get(#[from] artifacts::GetError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The recording cannot be gone on with.
    #[error(transparent)]
    Open(#[from] fs::OpenError),
    /// The events could not be committed.
    #[error(transparent)]
    Commit(fs::JournalError),
    /// An event does not fit a frame.
    #[error("event {kind} cannot be encoded: {source}")]
    Encode {
        /// Name of the kind.
        kind: &'static str,
        /// Why.
        source: CodecError,
    },
    /// A counter of the format is used up.
    #[error("more {what} than a recording can hold")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
    },
    /// An id that this recorder did not hand out.
    #[error("unknown {what} {number}")]
    Unknown {
        /// What kind of id.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// The system has no randomness to give.
    #[error("no randomness available for new ids")]
    NoRandomness,
    /// Pieces that make no body, or a list that is not there to keep.
    #[error("pieces make no body of their dialect")]
    Misshapen,
    /// A fact that does not fit what was recorded before.
    #[error(transparent)]
    Misfit(#[from] Box<JournalError>),
}

impl From<fs::JournalError> for RecordError {
    fn from(error: fs::JournalError) -> Self {
        match error {
            fs::JournalError::Append(error) => Self::Append(error),
            fs::JournalError::Put(error) => Self::Put(error),
            other => Self::Commit(other),
        }
    }
}

impl From<StartError> for RecordError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Create(error) => Self::Create(error),
            StartError::Open(error) => Self::Open(error),
            StartError::Put(error) => Self::Put(error),
        }
    }
}

impl From<JournalError> for RecordError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Record(error) => error,
            other => Self::Misfit(Box::new(other)),
        }
    }
}

/// How a new run is described.
#[derive(Clone, Copy, Debug)]
pub struct RunSpec<'a> {
    /// Identities.
    pub identity: Identity,
    /// How the run comes in.
    pub origin: Origin,
    /// Name of the source.
    pub source: Option<&'a str>,
    /// Version of the program that records.
    pub recorder: &'a str,
    /// When facts have to be on the disk.
    pub durability: Durability,
}

/// How a new conversation is described.
#[derive(Clone, Copy, Debug)]
pub struct SessionSpec<'a> {
    /// The conversation it belongs to.
    pub parent: Option<SessionId>,
    /// Why it is one of its own.
    pub basis: SessionBasis,
    /// The client's own id of it.
    pub client_session: Option<&'a [u8]>,
}

/// State of one conversation.
#[derive(Debug, Default)]
struct Session {
    /// The client's own id of it.
    client_id: Option<Vec<u8>>,
    /// Its message list as last captured.
    items: Vec<PartNo>,
    /// The last captured request.
    last: Option<RequestId>,
    /// Requests since the last full list.
    since_full: u32,
    /// Parts before and after the messages, as last captured.
    head: Vec<PartNo>,
    tail: Vec<PartNo>,
    /// Escape switches seen so far.
    escape: crate::wire::Escape,
    /// First attempt of the last request, and whether that request still waits for an answer
    /// that counts.
    first_attempt: Option<RequestId>,
    attempt: u16,
    unanswered: bool,
    /// Digests after each message of the last list that was put together.
    marks: Vec<grow::Mark>,
    /// Header fields as last recorded, per direction.
    sent_headers: Option<headers::LastHeaders>,
    got_headers: Option<headers::LastHeaders>,
}

/// Records one run into one recording.
#[derive(Debug)]
pub struct Recorder {
    writer: RunWriter,
    redactor: Redactor,
    durability: Durability,
    table: parts::PartTable,
    links: link::Links,
    desk: Desk,
    sessions: Vec<Session>,
    requests: Vec<SessionId>,
    now_unix_ns: u64,
}

/// What a closed recording consists of.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Last sequence number and chain value of the log.
    pub head: Head,
    /// Requests that were captured.
    pub requests: u64,
}

impl Recorder {
    /// Creates the recording `dir` and opens its run.
    ///
    /// # Errors
    /// The folder exists, or something in it cannot be written.
    pub fn create(dir: &Path, redactor: Redactor, spec: &RunSpec<'_>) -> Result<Self, RecordError> {
        Self::create_on(LocalDisk::shared(), dir, redactor, spec)
    }

    /// Creates the recording `dir` of `vfs` and opens its run; see [`Recorder::create`].
    ///
    /// # Errors
    /// The folder exists, or something in it cannot be written.
    pub fn create_on(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        redactor: Redactor,
        spec: &RunSpec<'_>,
    ) -> Result<Self, RecordError> {
        let id = spec.identity;
        let options = match spec.durability {
            Durability::EachRequest | Durability::EachCommit => RunOptions::LIVE,
            Durability::Batched => RunOptions::BATCHED,
        };
        let created_unix_ns = id.created_unix_ns;
        let ident = LogIdent { ledger_id: id.ledger, epoch: id.epoch, created_unix_ns };
        let mut recorder = Self {
            writer: RunWriter::create(vfs, dir, ident, options)?,
            redactor,
            durability: spec.durability,
            table: parts::PartTable::default(),
            links: link::Links::default(),
            desk: Desk::default(),
            sessions: Vec::new(),
            requests: Vec::new(),
            now_unix_ns: id.created_unix_ns,
        };
        let source = spec.source.map(|name| recorder.content(name.as_bytes())).transpose()?;
        let rules = recorder.redactor.ruleset();
        recorder.append(&Event::RunOpened(RunOpened {
            run: id.run,
            origin: spec.origin,
            source,
            recorder: spec.recorder.to_owned(),
            ruleset: (rules.id.to_owned(), rules.version, rules.digest),
            opened_unix_ns: id.created_unix_ns,
        }))?;
        if let Some(configured) = told::configured(&recorder.redactor) {
            recorder.append(&configured)?;
        }
        Ok(recorder)
    }

    /// The redactor that everything recorded here goes through.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Sets the wall time that the next events carry. Information only; order is the sequence.
    pub fn set_time(&mut self, unix_ns: u64) {
        self.now_unix_ns = unix_ns;
    }

    /// Opens a conversation.
    ///
    /// # Errors
    /// The fact cannot be written.
    pub fn open_session(&mut self, spec: &SessionSpec<'_>) -> Result<SessionId, RecordError> {
        let session = self.journal().open_session(spec).map_err(RecordError::from)?;
        self.session(session)?.client_id = spec.client_session.map(<[u8]>::to_vec);
        Ok(session)
    }

    /// Appends facts about identities: turns, calls beside the wire, hooks, questions.
    pub fn journal(&mut self) -> Journal<'_> {
        Journal {
            writer: &mut self.writer,
            redactor: &self.redactor,
            desk: &mut self.desk,
            now_unix_ns: self.now_unix_ns,
        }
    }

    /// Keeps a foreign record that is not a request.
    ///
    /// # Errors
    /// The fact cannot be written.
    pub fn imported_record(
        &mut self,
        index: u64,
        offset: u64,
        reason: &str,
        record: &artifacts::redact::Redacted<'_>,
    ) -> Result<(), RecordError> {
        let bytes = self.writer.content(record)?;
        let reason = reason.to_owned();
        self.append(&Event::ImportedRecord(ImportedRecord { index, offset, reason, bytes }))
    }

    /// Redacts a JSON text string by string and returns it in the redactor's own type.
    pub fn redact_json(&self, json: &[u8]) -> artifacts::redact::Redacted<'static> {
        self.redactor.redact_json(json).into_owned()
    }

    /// Ends the run and seals the recording.
    ///
    /// # Errors
    /// Something cannot be written; what was durable before stays.
    pub fn close(mut self, outcome: &RunClosed) -> Result<Closed, RecordError> {
        self.append(&Event::RunClosed(outcome.clone()))?;
        self.leave()
    }

    /// Seals what was recorded and leaves the run open, for somebody who goes on with it.
    ///
    /// # Errors
    /// Something cannot be written; what was durable before stays.
    pub fn leave(self) -> Result<Closed, RecordError> {
        let head = self.writer.seal()?;
        Ok(Closed { head, requests: self.requests.len() as u64 })
    }

    /// Makes everything recorded so far durable: artifacts first, then the events that name them.
    ///
    /// # Errors
    /// A write or sync failed; the recorder is of no use afterwards.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        Ok(self.writer.commit()?)
    }

    fn append(&mut self, event: &Event) -> Result<(), RecordError> {
        told::append(&mut self.writer, &self.redactor, self.now_unix_ns, event)?;
        self.desk.apply(event);
        if self.writer.pending_bytes() >= PENDING_BYTES_MAX {
            self.commit()?;
        }
        Ok(())
    }

    fn content(&mut self, raw: &[u8]) -> Result<Content, RecordError> {
        Ok(self.writer.content(&self.redactor.redact(raw))?)
    }

    fn session(&mut self, session: SessionId) -> Result<&mut Session, RecordError> {
        if self.sessions.len() <= session.index() && session < self.desk.next_session() {
            self.sessions.resize_with(session.index() + 1, Session::default);
        }
        self.sessions
            .get_mut(session.index())
            .ok_or(RecordError::Unknown { what: "conversation", number: session.number() })
    }

    fn session_of(&self, request: RequestId) -> Result<SessionId, RecordError> {
        self.requests
            .get(request.index())
            .copied()
            .ok_or(RecordError::Unknown { what: "request", number: request.number() })
    }
}
