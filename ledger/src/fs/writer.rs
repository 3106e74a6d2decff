//! Appends frames to a log. Two words for how safe they are: *written* frames survive the end of
//! the process, *durable* ones a power cut.
//!
//! The writer does not know what its frames refer to. Whoever uses it makes artifacts durable
//! before it calls [`LogWriter::write`].

#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::list::list;
use super::lock::{DirLock, refuse_remote};
use super::sink::{Sink, write_all_at};
use super::walk::{Step, Walk};
use super::{
    AppendError, CreateError, FORMAT_FILE, FileError, LOG_FOLDER, OpenError, read_format, sync_dir,
};
use crate::format_file::FormatFile;
use crate::frame::{
    BATCH_BYTES_MAX, Batch, BodyCodec, FRAME_BODY_BYTES_MAX, FrameSalt, Head, KIND_SEAL, NewFrame,
    PackLength, Seal, Seq,
};
use crate::segment::{Epoch, LedgerId, LogIdent, SEGMENT_ROTATE_BYTES, SegmentHeader};

/// Version of the seal frame's body.
const SEAL_VERSION: u16 = 1;

/// The one writer of a log.
///
/// Dropping it gives up the pending frames and leaves no seal frame, as a crash would.
#[derive(Debug)]
pub struct LogWriter {
    log_dir: PathBuf,
    path: PathBuf,
    sink: Box<dyn Sink>,
    header: SegmentHeader,
    salt: FrameSalt,
    batch: Batch,
    /// Where the next write goes; everything before is good.
    position: u64,
    written: Head,
    durable: Seq,
    /// The clock of the last frame that was appended.
    wall_unix_ns: u64,
    /// Frames of this segment and their body bytes, for the seal.
    frames: u64,
    body_bytes: u64,
    packs: Vec<PackLength>,
    poison: Option<AppendError>,
    rotate_bytes: u64,
    _lock: DirLock,
}

impl LogWriter {
    /// Creates a recording in the folder `dir`, which is made if it is missing.
    pub fn create(dir: &Path, ident: LogIdent) -> Result<Self, CreateError> {
        refuse_existing(dir)?;
        create_dir(dir)?;
        refuse_remote(dir)?;
        let lock = DirLock::acquire(dir)?;
        // Another process may have been faster.
        refuse_existing(dir)?;
        let log_dir = dir.join(LOG_FOLDER);
        match fs::create_dir(&log_dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FileError::new("create", &log_dir, error).into());
            }
            // What exists is left over from a creation that died before FORMAT was there.
            _ => {}
        }
        write_format(dir, &FormatFile::new(ident.ledger_id))?;
        Ok(Self::start(log_dir, lock, SegmentHeader::first(ident), Seq::ZERO)?)
    }

    /// Continues the recording in the folder `dir` in a new segment.
    ///
    /// A torn tail stays where it is and is no part of the log any more; a damaged log is
    /// refused. Only the last segment is read completely.
    pub fn open(dir: &Path, epoch: Epoch, created_unix_ns: u64) -> Result<Self, OpenError> {
        let format = read_format(dir)?;
        format
            .check_writable()
            .map_err(|source| OpenError::Format { path: dir.join(FORMAT_FILE), source })?;
        refuse_remote(dir)?;
        let lock = DirLock::acquire(dir)?;
        let log_dir = dir.join(LOG_FOLDER);
        let ident = LogIdent { ledger_id: format.ledger_id, epoch, created_unix_ns };
        let header = continue_log(dir, &log_dir, ident)?;
        let durable = Seq(header.first_seq.0.saturating_sub(1));
        Ok(Self::start(log_dir, lock, header, durable)?)
    }

    fn start(
        log_dir: PathBuf,
        lock: DirLock,
        header: SegmentHeader,
        durable: Seq,
    ) -> Result<Self, FileError> {
        let (path, sink) = create_segment(&log_dir, &header)?;
        Ok(Self {
            log_dir,
            path,
            sink,
            salt: header.salt(),
            header,
            batch: Batch::new(),
            position: SegmentHeader::ENCODED_BYTES as u64,
            written: Head { seq: durable, chain: header.prev_chain },
            durable,
            wall_unix_ns: header.created_unix_ns,
            frames: 0,
            body_bytes: 0,
            packs: Vec::new(),
            poison: None,
            rotate_bytes: SEGMENT_ROTATE_BYTES,
            _lock: lock,
        })
    }

    /// Adds a frame to the pending batch and returns its place in the log.
    ///
    /// Nothing is written, except that a segment of [`SEGMENT_ROTATE_BYTES`] is sealed, made
    /// durable and followed by a new one before the first frame of a batch.
    pub fn append(
        &mut self,
        kind: u16,
        version: u16,
        wall_unix_ns: u64,
        body: &[u8],
    ) -> Result<Seq, AppendError> {
        self.refuse_poisoned()?;
        let seq = self.next_seq()?;
        if kind == KIND_SEAL {
            return Err(AppendError::ReservedKind { seq, kind });
        }
        let body_bytes = body_bytes(seq, body)?;
        let pending_bytes = self.pending_bytes();
        if pending_bytes > BATCH_BYTES_MAX {
            return Err(AppendError::BatchFull { seq, pending_bytes, max: BATCH_BYTES_MAX });
        }
        if pending_bytes == 0 && self.position >= self.rotate_bytes {
            self.rotate()?;
        }
        let seq = self.next_seq()?;
        let codec = BodyCodec::BincodeLegacy;
        self.batch.push(NewFrame { seq, kind, version, codec, wall_unix_ns }, body, body_bytes);
        self.wall_unix_ns = wall_unix_ns;
        Ok(seq)
    }

    /// Returns how many bytes wait for [`LogWriter::write`].
    ///
    /// Above [`BATCH_BYTES_MAX`] no frame is taken any more.
    pub fn pending_bytes(&self) -> usize {
        self.batch.bytes().len()
    }

    /// Writes the pending frames at once and returns the last written place.
    ///
    /// The frames are then *written*: they survive the end of the process. If the write fails
    /// and can be undone, the batch is kept for another call.
    pub fn write(&mut self) -> Result<Seq, AppendError> {
        self.refuse_poisoned()?;
        let Some(last_seq) = self.batch.last_seq() else {
            return Ok(self.written.seq);
        };
        self.refuse_changed_length()?;
        let chain = self.batch.finish(&self.salt, self.written.chain, self.durable);
        if let Err(error) = write_all_at(&*self.sink, self.batch.bytes(), self.position) {
            return Err(self.undo_write(error));
        }
        self.position += self.batch.bytes().len() as u64;
        self.written = Head { seq: last_seq, chain };
        self.frames += self.batch.frames() as u64;
        self.body_bytes += self.batch.body_bytes();
        self.batch.clear();
        Ok(last_seq)
    }

    /// Makes all written frames durable and returns the last durable place.
    ///
    /// A failure is final: after it, the system may claim a success that never happened.
    pub fn sync(&mut self) -> Result<Seq, AppendError> {
        self.refuse_poisoned()?;
        if self.durable < self.written.seq {
            if let Err(error) = self.sink.sync_data() {
                return Err(self.poison(FileError::new("sync", &self.path, error)));
            }
            self.durable = self.written.seq;
        }
        Ok(self.durable)
    }

    /// Remembers the durable lengths of the artifact packs for the seal frame of a segment that
    /// is full.
    pub fn note_packs(&mut self, packs: Vec<PackLength>) {
        self.packs = packs;
    }

    /// Writes the pending frames and a seal frame, makes both durable and closes the log.
    ///
    /// `packs` are the durable lengths of the artifact packs. The seal frame takes a place in
    /// the log, and the clock of the frame before.
    pub fn seal(mut self, packs: &[PackLength]) -> Result<Head, AppendError> {
        self.packs = packs.to_vec();
        self.write()?;
        self.write_seal()?;
        self.sync()?;
        Ok(self.written)
    }

    /// Returns the last written frame.
    pub fn head(&self) -> Head {
        self.written
    }

    /// Returns the last durable place.
    pub fn durable_seq(&self) -> Seq {
        self.durable
    }

    /// Returns the id that all segments carry.
    pub fn ledger_id(&self) -> LedgerId {
        self.header.ledger_id
    }

    /// Returns the segment that is being written.
    pub fn segment_path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the writer has failed for good.
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    fn next_seq(&self) -> Result<Seq, AppendError> {
        let last = self.batch.last_seq().unwrap_or(self.written.seq);
        // The last number of all is left out, so that a reader always has a next one to expect.
        match last.next() {
            Some(seq) if seq.0 < u64::MAX => Ok(seq),
            _ => Err(AppendError::Exhausted { path: self.path.clone() }),
        }
    }

    fn write_seal(&mut self) -> Result<(), AppendError> {
        let seq = self.next_seq()?;
        let seal = Seal {
            frames: self.frames,
            body_bytes: self.body_bytes,
            chain: self.written.chain,
            packs: self.packs.clone(),
        };
        let body = seal.encode();
        let body_bytes = body_bytes(seq, &body)?;
        let codec = BodyCodec::Fixed;
        let wall_unix_ns = self.wall_unix_ns;
        let frame = NewFrame { seq, kind: KIND_SEAL, version: SEAL_VERSION, codec, wall_unix_ns };
        self.batch.push(frame, &body, body_bytes);
        let result = self.write();
        // A seal that was not written must not stand in front of the frames that come instead.
        self.batch.clear();
        result.map(drop)
    }

    /// Seals the segment and goes on in a new one; nothing is pending.
    fn rotate(&mut self) -> Result<(), AppendError> {
        // Both numbers are asked for first: behind a seal there is no way back.
        let exhausted = || AppendError::Exhausted { path: self.path.clone() };
        let number = self.header.number.checked_add(1).ok_or_else(exhausted)?;
        let first_seq = self.next_seq()?.next().ok_or_else(exhausted)?;
        self.write_seal()?;
        self.sync()?;
        let header = SegmentHeader {
            first_seq,
            number,
            prev_valid_bytes: self.position,
            prev_chain: self.written.chain,
            ..self.header
        };
        // The old segment is sealed, so that without a new one there is no place to write.
        let (path, sink) =
            create_segment(&self.log_dir, &header).map_err(|error| self.poison(error))?;
        self.path = path;
        self.sink = sink;
        self.salt = header.salt();
        self.header = header;
        self.position = SegmentHeader::ENCODED_BYTES as u64;
        self.frames = 0;
        self.body_bytes = 0;
        Ok(())
    }

    fn refuse_poisoned(&self) -> Result<(), AppendError> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// A segment that another process cut or extended is not written to.
    fn refuse_changed_length(&mut self) -> Result<(), AppendError> {
        let found = match self.sink.len() {
            Ok(found) => found,
            Err(error) => return Err(self.poison(FileError::new("inspect", &self.path, error))),
        };
        if found == self.position {
            return Ok(());
        }
        let error =
            AppendError::LengthChanged { path: self.path.clone(), found, expected: self.position };
        self.poison = Some(error.clone());
        Err(error)
    }

    /// Cuts a failed write off again, or gives up.
    fn undo_write(&mut self, error: io::Error) -> AppendError {
        let source = FileError::new("write", &self.path, error);
        match self.sink.set_len(self.position) {
            Ok(()) => AppendError::Write { offset: self.position, source },
            Err(_) => self.poison(source),
        }
    }

    fn poison(&mut self, source: FileError) -> AppendError {
        let error = AppendError::Poisoned { offset: self.position, source };
        self.poison = Some(error.clone());
        error
    }
}

fn body_bytes(seq: Seq, body: &[u8]) -> Result<u32, AppendError> {
    match u32::try_from(body.len()) {
        Ok(bytes) if body.len() <= FRAME_BODY_BYTES_MAX => Ok(bytes),
        _ => Err(AppendError::BodyTooLong { seq, found: body.len(), max: FRAME_BODY_BYTES_MAX }),
    }
}

/// Scans the last segment and returns the header of the one that continues it.
fn continue_log(dir: &Path, log_dir: &Path, ident: LogIdent) -> Result<SegmentHeader, OpenError> {
    let listing = list(log_dir, ident.ledger_id)?;
    if let Some(error) = listing.broken {
        return Err(OpenError::Damaged(error));
    }
    let Some(last) = listing.segments.last() else {
        return Ok(SegmentHeader::first(ident));
    };
    // Nothing is decided on bytes that a dead process left in the page cache only.
    fs::File::open(&last.path)
        .and_then(|file| file.sync_data())
        .map_err(|source| FileError::new("sync", &last.path, source))?;
    let mut walk = Walk::open(last, None).map_err(OpenError::Damaged)?;
    while let Step::Frame(_) = walk.step().map_err(OpenError::Damaged)? {}
    let (first_seq, prev_chain) = walk.next_frame();
    let exhausted = || OpenError::Exhausted { path: dir.to_path_buf() };
    Ok(SegmentHeader {
        ledger_id: ident.ledger_id,
        first_seq,
        number: last.header.number.checked_add(1).ok_or_else(exhausted)?,
        epoch: ident.epoch,
        created_unix_ns: ident.created_unix_ns,
        prev_valid_bytes: walk.valid_bytes(),
        prev_chain,
    })
}

/// A segment is used only when its header and its name are durable.
fn create_segment(
    log_dir: &Path,
    header: &SegmentHeader,
) -> Result<(PathBuf, Box<dyn Sink>), FileError> {
    let path = log_dir.join(header.file_name());
    let create = || {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        write_all_at(&file, &header.encode(), 0)?;
        file.sync_data()?;
        Ok(file)
    };
    let file = create().map_err(|source| FileError::new("create", &path, source))?;
    sync_dir(log_dir)?;
    Ok((path, Box::new(file)))
}

fn refuse_existing(dir: &Path) -> Result<(), CreateError> {
    let exists = || CreateError::Exists { path: dir.to_path_buf() };
    let format = dir.join(FORMAT_FILE);
    if format.try_exists().map_err(|source| FileError::new("inspect", &format, source))? {
        return Err(exists());
    }
    // Segments whose FORMAT is lost are still somebody's recording.
    let log_dir = dir.join(LOG_FOLDER);
    match fs::read_dir(&log_dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(exists()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new("list", &log_dir, error).into())
        }
        _ => Ok(()),
    }
}

/// Creates the folder and what is missing above it, and makes the new entries durable.
fn create_dir(dir: &Path) -> Result<(), FileError> {
    let missing = dir.ancestors().take_while(|path| !path.exists()).count();
    fs::create_dir_all(dir).map_err(|source| FileError::new("create", dir, source))?;
    dir.ancestors().take(missing).filter_map(Path::parent).try_for_each(sync_dir)
}

/// Puts FORMAT in place in one step: it is there and whole, or it is not there.
fn write_format(dir: &Path, format: &FormatFile) -> Result<(), FileError> {
    let path = dir.join(FORMAT_FILE);
    let temporary = dir.join("FORMAT.tmp");
    let write = || {
        fs::write(&temporary, format.to_string())?;
        fs::File::open(&temporary)?.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().map_err(|source| FileError::new("write", &path, source))?;
    sync_dir(dir)
}
