//! A log and its artifacts, for the one who works out what happened in a run: events are laid out
//! at once and committed together, by the same commit that several threads share.

use std::path::Path;
use std::sync::Arc;

use artifacts::fs::vfs::Vfs;
use artifacts::fs::{Encoder, Notes, PackIdent, RedactionNote, SharedStore, Store, StoreOptions};
use artifacts::redact::Redacted;
use artifacts::{ArtifactRef, GetError, PutError, Source};

use super::{
    AppendError, Ask, CreateError, Head, Journal, JournalError, LogIdent, LogOptions, LogWriter,
    OpenError, Seq,
};
use crate::content::{Content, INLINE_BYTES_MAX, INLINE_DURABLE_BYTES_MAX};
use crate::frame::{FRAME_BODY_BYTES_MAX, FrameDraft};
use crate::segment::Epoch;

/// How a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// How the log uses its disk.
    pub log: LogOptions,
    /// How the store uses its disk.
    pub store: StoreOptions,
    /// Longest content that rides inside an event, in bytes.
    pub inline_bytes_max: usize,
}

impl RunOptions {
    /// For imports, which commit seldom: what does not compress well is kept small.
    pub const BATCHED: Self = Self {
        log: LogOptions::BATCHED,
        store: StoreOptions::BATCHED,
        inline_bytes_max: INLINE_BYTES_MAX,
    };
    /// For live recording, which commits each request: short content needs no second sync.
    pub const LIVE: Self = Self {
        log: LogOptions::LIVE,
        store: StoreOptions::LIVE,
        inline_bytes_max: INLINE_DURABLE_BYTES_MAX,
    };
}

/// The writer of a run.
#[derive(Debug)]
pub struct RunWriter {
    journal: Journal,
    encoder: Encoder,
    pending: Vec<FrameDraft>,
    pending_bytes: usize,
    inline_bytes_max: usize,
    /// What was replaced in texts, until it is told.
    notes: Notes,
}

impl RunWriter {
    /// Creates a recording in the folder `dir` of `vfs`.
    ///
    /// # Errors
    /// The folder holds one, or something in it cannot be written.
    pub fn create(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        ident: LogIdent,
        options: RunOptions,
    ) -> Result<Self, StartError> {
        let log = LogWriter::create_on(Arc::clone(&vfs), dir, ident, options.log)?;
        Self::with_log(vfs, dir, log, ident, options)
    }

    /// Continues the recording in the folder `dir` of `vfs`; see [`LogWriter::open`].
    ///
    /// # Errors
    /// It is damaged, somebody writes to it, or something in it cannot be written.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        epoch: Epoch,
        created_unix_ns: u64,
        options: RunOptions,
    ) -> Result<Self, StartError> {
        let log = LogWriter::open_on(Arc::clone(&vfs), dir, epoch, created_unix_ns, options.log)?;
        let ident = LogIdent { ledger_id: log.ledger_id(), epoch, created_unix_ns };
        Self::with_log(vfs, dir, log, ident, options)
    }

    fn with_log(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        log: LogWriter,
        ident: LogIdent,
        options: RunOptions,
    ) -> Result<Self, StartError> {
        let ident = PackIdent {
            ledger_id: *ident.ledger_id.as_bytes(),
            epoch: ident.epoch.number(),
            created_unix_ns: ident.created_unix_ns,
        };
        let art = dir.join("art");
        let store = Store::create_on(vfs, &art, ident, options.store)?;
        let encoder = Encoder::new().map_err(|source| PutError::Io {
            path: art,
            offset: 0,
            action: "start zstd",
            source: Arc::new(source),
        })?;
        let journal = Journal::new(log, Some(SharedStore::new(store)));
        let inline_bytes_max = options.inline_bytes_max;
        Ok(Self {
            journal,
            encoder,
            pending: Vec::new(),
            pending_bytes: 0,
            inline_bytes_max,
            notes: Notes::default(),
        })
    }

    /// Stores redacted bytes as an artifact, however short.
    ///
    /// # Errors
    /// The store refuses.
    pub fn put(&mut self, redacted: &Redacted<'_>) -> Result<ArtifactRef, PutError> {
        self.notes.add(redacted);
        let store = self.journal.store().expect(WITH_STORE);
        store.put(&mut self.encoder, redacted)
    }

    /// Puts redacted bytes where they belong: inside the event when short, else into the store.
    ///
    /// # Errors
    /// The store refuses.
    pub fn content(&mut self, redacted: &Redacted<'_>) -> Result<Content, PutError> {
        match Content::inline(redacted, self.inline_bytes_max) {
            Some(content) => Ok(content),
            None => self.put(redacted).map(Content::stored),
        }
    }

    /// Notes what was replaced in a text that may ride inside an event, as [`RunWriter::put`] does
    /// of what it stores.
    pub(crate) fn note(&mut self, redacted: &Redacted<'_>) {
        self.notes.add(redacted);
    }

    /// What was replaced in texts that came since the last call, for the record beside them.
    pub(crate) fn take_notes(&mut self) -> Vec<RedactionNote> {
        self.notes.take()
    }

    /// Lays an event out; [`RunWriter::commit`] gives it its place.
    ///
    /// # Errors
    /// The body is longer than a frame's.
    pub fn append(
        &mut self,
        kind: u16,
        version: u16,
        wall_unix_ns: u64,
        body: &[u8],
    ) -> Result<(), AppendError> {
        let too_long = || AppendError::BodyTooLong {
            seq: Seq::ZERO,
            found: body.len(),
            max: FRAME_BODY_BYTES_MAX,
        };
        let draft = FrameDraft::new(kind, version, wall_unix_ns, body).ok_or_else(too_long)?;
        self.pending_bytes += draft.frame_bytes();
        self.pending.push(draft);
        Ok(())
    }

    /// Returns the length of the longest content that rides inside an event.
    pub fn inline_bytes_max(&self) -> usize {
        self.inline_bytes_max
    }

    /// Returns how many bytes wait for a commit.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Makes everything durable: artifacts first, then the events that name them.
    ///
    /// # Errors
    /// A write or sync failed; the events are given up.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        self.pending_bytes = 0;
        let drafts = std::mem::take(&mut self.pending);
        self.journal.append_all(drafts, Ask::Durable).map(drop)
    }

    /// Commits, and seals the packs and the log.
    ///
    /// # Errors
    /// Something cannot be written; what was durable before stays.
    pub fn seal(mut self) -> Result<Head, JournalError> {
        self.commit()?;
        self.journal.seal()
    }
}

/// Why a journal of a run has a store.
const WITH_STORE: &str = "the journal was made with a store";

impl Source for RunWriter {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        self.journal.store().expect(WITH_STORE).read(artifact)
    }
}

/// Why a run cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The recording cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The recording cannot be continued.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its store refuses.
    #[error(transparent)]
    Put(#[from] PutError),
}
