//! Appends facts about identities: checks them against the desk, redacts, stores, appends.
//!
//! A [`Recorder`] lends one for the run that it records; [`Continued`] goes on with a recording
//! that exists. Ids are minted in this file's folder and nowhere else.
//!
//! [`Recorder`]: crate::recorder::Recorder

mod calls;
mod continued;
mod hooks;
mod principals;
mod turns;

use artifacts::redact::Redactor;

pub use calls::{Observed, Output, SeenName};
pub use continued::{ContinueError, Continued, restore};
pub use hooks::{Asked, Outcome as HookOutcome, Review};
pub use turns::{Answer, NewCall};

use super::desk::{ContentKey, Desk, DeskError};
use super::principals::BindError;
use super::turn::TurnError;
use crate::content::Content;
use crate::event::{Event, SessionBasis, SessionOpened};
use crate::fs::RunWriter;
use crate::id::SessionId;
use crate::recorder::{RecordError, SessionSpec, told};

/// Why a fact about identities was not recorded. With all but [`JournalError::Record`], nothing
/// was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It does not fit what came before.
    #[error(transparent)]
    Desk(#[from] DeskError),
    /// The turn is not accepted.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// The principal cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A verdict for a question that does not wait for it.
    #[error("no such question is open: {ask}")]
    NotAsked {
        /// Number of the question, from 0.
        ask: u32,
    },
    /// The conversation already advertised its tools.
    #[error("conversation {session} already has its aliases")]
    Advertised {
        /// Number of the conversation, from 0.
        session: u32,
    },
    /// The recording cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Appends facts. Borrowed from whoever owns the recording.
#[derive(Debug)]
pub struct Journal<'r> {
    pub(crate) writer: &'r mut RunWriter,
    pub(crate) redactor: &'r Redactor,
    pub(crate) desk: &'r mut Desk,
    pub(crate) now_unix_ns: u64,
}

type Noted<T> = Result<T, JournalError>;

impl Journal<'_> {
    /// What is open.
    pub fn desk(&self) -> &Desk {
        self.desk
    }

    /// Opens a conversation.
    ///
    /// # Errors
    /// The fact cannot be written.
    pub fn open_session(&mut self, spec: &SessionSpec<'_>) -> Noted<SessionId> {
        let session = self.desk.next_session();
        if session.number() == u32::MAX {
            return Err(DeskError::TooMany { what: "conversations" }.into());
        }
        let client_session = spec.client_session.map(|id| self.content(id)).transpose()?;
        self.append(&Event::SessionOpened(SessionOpened {
            session,
            parent: spec.parent,
            basis: spec.basis,
            client_session,
            aliases: Vec::new(),
        }))?;
        Ok(session)
    }

    /// Opens a conversation that the caller's own code holds.
    ///
    /// # Errors
    /// The fact cannot be written.
    pub fn open_own_session(&mut self, parent: Option<SessionId>) -> Noted<SessionId> {
        self.open_session(&SessionSpec {
            parent,
            basis: SessionBasis::Content,
            client_session: None,
        })
    }

    /// Checks, appends, and only then takes the event as happened.
    pub(crate) fn append(&mut self, event: &Event) -> Noted<()> {
        self.desk.check(event)?;
        told::append(self.writer, self.redactor, self.now_unix_ns, event)?;
        self.desk.apply(event);
        Ok(())
    }

    /// Redacted content, stored where it belongs.
    fn content(&mut self, raw: &[u8]) -> Noted<Content> {
        Ok(self.writer.content(&self.redactor.redact(raw)).map_err(RecordError::Put)?)
    }

    fn optional(&mut self, raw: Option<&[u8]>) -> Noted<Option<Content>> {
        raw.map(|raw| self.content(raw)).transpose()
    }

    /// A JSON text, redacted string by string.
    fn json(&mut self, raw: &[u8]) -> Noted<Content> {
        let clean = self.redactor.redact_json(raw);
        Ok(self.writer.content(&clean).map_err(RecordError::Put)?)
    }

    fn optional_json(&mut self, raw: Option<&[u8]>) -> Noted<Option<Content>> {
        raw.map(|raw| self.json(raw)).transpose()
    }

    /// The key that the desk will know a name by.
    fn key(&self, raw: &[u8]) -> ContentKey {
        ContentKey::of_bytes(self.redactor.redact(raw).as_bytes())
    }

    /// The open call of a conversation with this provider id.
    pub fn outstanding(
        &self,
        session: SessionId,
        provider_call: &[u8],
    ) -> Option<crate::id::ToolCallId> {
        self.desk.outstanding(session, self.key(provider_call))
    }
}
