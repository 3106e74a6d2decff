//! The canonical form of a recording: one segment, one pack, the epoch 0, no time of its own.
//!
//! Two recordings with the same events and artifacts have the same canonical form, byte for
//! byte, whatever segments, batches and packs they were recorded in. It is what belongs into a
//! repository. The form also is a stream of lines of JSON; see [`super::jsonl`].

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use artifacts::fs::vfs::{OpenHow, Vfs, write_all_at};
use artifacts::fs::{PackIdent, Store, StoreOptions};
use artifacts::{ArtifactId, GetError, PutError, StoreReader};

use super::marks::{MarkError, named_artifacts};
use super::{
    AppendError, CreateError, FileError, Head, LogOptions, LogReader, LogWriter, OpenError,
    PackLength, ReadError,
};
use crate::format_file::FormatFile;
use crate::frame::FrameDraft;
use crate::segment::{Epoch, LogIdent, SEGMENT_BYTES_MAX};

/// Keeps git from converting what is no text.
const GIT_ATTRIBUTES: &str = "*.seg binary\n*.pack binary\n*.idx binary\n";
/// Frames are written out when so many bytes of them are waiting.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// Why a recording was not exported, or not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The recording does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its log is damaged; a repaired recording can be exported.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its artifacts do not open.
    #[error(transparent)]
    Store(#[from] artifacts::OpenError),
    /// An artifact is damaged.
    #[error(transparent)]
    Get(#[from] GetError),
    /// The new recording cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// An artifact cannot be stored.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A frame cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<MarkError> for ExportError {
    fn from(error: MarkError) -> Self {
        match error {
            MarkError::Open(error) => Self::Open(error),
            MarkError::Read(error) => Self::Read(error),
        }
    }
}

/// What an export holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Events, without seals.
    pub events: u64,
    /// Artifacts that events name.
    pub artifacts: u64,
    /// The end of the new log.
    pub head: Head,
}

/// A recording in canonical form that is being written.
#[derive(Debug)]
pub(crate) struct Canonical {
    log: LogWriter,
    store: Store,
    events: u64,
    artifacts: u64,
}

impl Canonical {
    /// Creates the recording `into` with the ledger id and the features of `format`.
    pub(crate) fn create(
        vfs: &Arc<dyn Vfs>,
        into: &Path,
        format: &FormatFile,
    ) -> Result<Self, ExportError> {
        let ledger_id = format.ledger_id;
        let ident = LogIdent { ledger_id, epoch: Epoch(0), created_unix_ns: 0 };
        let rotate_bytes = SEGMENT_BYTES_MAX / 2;
        let options = LogOptions { rotate_bytes, ..LogOptions::BATCHED };
        let log = LogWriter::create_with(Arc::clone(vfs), into, ident, options, format)?;
        let ident = PackIdent { ledger_id: ledger_id.0, epoch: 0, created_unix_ns: 0 };
        let options = StoreOptions { pack_bytes_target: u64::MAX, ..StoreOptions::BATCHED };
        let store = Store::create_on(Arc::clone(vfs), &into.join("art"), ident, options)?;
        let path = into.join(".gitattributes");
        let attributes = vfs.open(&path, OpenHow::Replace).and_then(|file| {
            write_all_at(&*file, GIT_ATTRIBUTES.as_bytes(), 0)?;
            file.sync_data()
        });
        attributes.map_err(|source| FileError::new("write", &path, source))?;
        Ok(Self { log, store, events: 0, artifacts: 0 })
    }

    /// The store; artifacts come first, in the order of their ids.
    pub(crate) fn store(&mut self) -> &mut Store {
        self.artifacts += 1;
        &mut self.store
    }

    /// Appends a frame that is no seal.
    pub(crate) fn event(&mut self, draft: &FrameDraft) -> Result<(), ExportError> {
        self.log.append_draft(draft)?;
        self.events += 1;
        if self.log.pending_bytes() >= PENDING_BYTES_MAX {
            self.store.sync()?;
            self.log.write()?;
        }
        Ok(())
    }

    /// Seals the recording.
    pub(crate) fn finish(mut self) -> Result<Exported, ExportError> {
        self.store.sync()?;
        self.log.write()?;
        let pack = self.store.seal()?;
        let (number, epoch, bytes) = (pack.number, pack.epoch, pack.pack_bytes);
        let head = self.log.seal(&[PackLength { number, epoch, bytes }])?;
        Ok(Exported { events: self.events, artifacts: self.artifacts, head })
    }
}

/// A recording that is read for an export: its log, its store, and what the log names.
#[derive(Debug)]
pub(crate) struct Exportable {
    pub(crate) log: LogReader,
    pub(crate) store: StoreReader,
    pub(crate) named: BTreeSet<ArtifactId>,
}

impl Exportable {
    /// Opens the recording `from` and reads its log once.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, from: &Path) -> Result<Self, ExportError> {
        let log = LogReader::open_on(Arc::clone(vfs), from)?;
        let store = StoreReader::open_on(Arc::clone(vfs), &from.join("art"))?;
        let named = named_artifacts(vfs, from, &store)?;
        Ok(Self { log, store, named })
    }
}

/// Writes the canonical form of the recording `from` into the new folder `into`.
///
/// # Errors
/// `from` is damaged, `into` exists, or something cannot be read or written.
pub fn export(vfs: &Arc<dyn Vfs>, from: &Path, into: &Path) -> Result<Exported, ExportError> {
    let mut source = Exportable::open(vfs, from)?;
    let mut canonical = Canonical::create(vfs, into, source.log.format())?;
    for id in &source.named {
        canonical.store().copy_from(&source.store, id)?;
    }
    for frame in source.log.frames() {
        let frame = frame?;
        if let Some(draft) = frame.draft() {
            canonical.event(&draft)?;
        }
    }
    canonical.finish()
}
