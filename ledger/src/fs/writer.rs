//! Appends frames to a log. Two words for how safe they are: *written* frames survive the end of
//! the process, *durable* ones a power cut.
//!
//! The writer does not know what its frames refer to. Whoever uses it makes artifacts durable
//! before it calls [`LogWriter::write`].

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{self, LocalDisk, OpenHow, Vfs};

use super::list::{Listing, list};
use super::lock::{DirLock, refuse_remote};
use super::segment_file::{FailedWrite, SegmentFile};
use super::walk::{Checks, Step, Walk};
use super::{
    AppendError, CreateError, FORMAT_FILE, FileError, LOG_FOLDER, OpenError, read_format, sync_dir,
};
use crate::format_file::FormatFile;
use crate::frame::{
    BATCH_BYTES_MAX, Batch, BodyCodec, FRAME_BODY_BYTES_MAX, FrameDraft, Full, Head, KIND_LOG_FULL,
    KIND_SEAL, NewFrame, PackLength, Seal, Seq, UNSYNCED_BYTES_MAX,
};
use crate::segment::{Epoch, LedgerId, LogIdent, SEGMENT_ROTATE_BYTES, SegmentHeader};

/// Version of the frames that the log writes for itself.
const OWN_VERSION: u16 = 1;
/// The file that keeps room for the last words of a log.
const RESERVE_FILE: &str = "reserve";
/// Its length: 1 MiB.
const RESERVE_FILE_BYTES: u64 = 1 << 20;

/// How a writer uses its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A segment of this many bytes is sealed and followed by a new one.
    pub rotate_bytes: u64,
    /// Room that is reserved at once for what will be written, in bytes; 0 for none.
    pub reserve_bytes: u64,
    /// Keep a file of 1 MiB that is given up when the disk is full, so that the log can still
    /// say so and be sealed.
    pub keep_reserve: bool,
    /// Write on a network or user-space file system all the same.
    pub allow_remote: bool,
}

impl LogOptions {
    /// For imports, which sync once and whose source is still there.
    pub const BATCHED: Self = Self {
        rotate_bytes: SEGMENT_ROTATE_BYTES,
        reserve_bytes: 0,
        keep_reserve: false,
        allow_remote: false,
    };
    /// For live recording, which syncs each request: 16 MiB are reserved at once.
    pub const LIVE: Self = Self { reserve_bytes: 16 << 20, keep_reserve: true, ..Self::BATCHED };
}

/// The one writer of a log.
///
/// Dropping it gives up the pending frames and leaves no seal frame, as a crash would.
#[derive(Debug)]
pub struct LogWriter {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    log_dir: PathBuf,
    segment: SegmentFile,
    options: LogOptions,
    batch: Batch,
    written: Head,
    durable: Seq,
    unsynced_bytes: u64,
    /// The clock of the last frame that was appended.
    wall_unix_ns: u64,
    packs: Vec<PackLength>,
    poison: Option<AppendError>,
    lock: DirLock,
}

impl LogWriter {
    /// Creates a recording in the folder `dir`, which is made if it is missing.
    pub fn create(dir: &Path, ident: LogIdent) -> Result<Self, CreateError> {
        Self::create_on(LocalDisk::shared(), dir, ident, LogOptions::BATCHED)
    }

    /// Creates a recording in the folder `dir` of `vfs`.
    pub fn create_on(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        ident: LogIdent,
        options: LogOptions,
    ) -> Result<Self, CreateError> {
        Self::create_with(vfs, dir, ident, options, &FormatFile::new(ident.ledger_id))
    }

    /// Creates a recording whose FORMAT file says more than that of a new one.
    pub(crate) fn create_with(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        ident: LogIdent,
        options: LogOptions,
        format: &FormatFile,
    ) -> Result<Self, CreateError> {
        refuse_existing(&*vfs, dir)?;
        create_dir(&*vfs, dir)?;
        if !options.allow_remote {
            refuse_remote(&*vfs, dir)?;
        }
        let lock = DirLock::acquire(&vfs, dir)?;
        // Another process may have been faster.
        refuse_existing(&*vfs, dir)?;
        let log_dir = dir.join(LOG_FOLDER);
        let found = vfs.stat(&log_dir).map_err(|e| FileError::new("inspect", &log_dir, e))?;
        // What exists is left over from a creation that died before FORMAT was there.
        if found.is_none() {
            vfs.create_dir(&log_dir).map_err(|e| FileError::new("create", &log_dir, e))?;
        }
        // A FORMAT without its log would be a recording whose log was lost.
        sync_dir(&*vfs, dir)?;
        write_format(&*vfs, dir, format)?;
        let header = SegmentHeader::first(ident);
        Ok(Self::start(vfs, dir, lock, header, Seq::ZERO, options)?)
    }

    /// Continues the recording in the folder `dir` in a new segment.
    ///
    /// A torn tail stays where it is and is no part of the log any more; a damaged log is
    /// refused. Only the last segment is read completely.
    pub fn open(dir: &Path, epoch: Epoch, created_unix_ns: u64) -> Result<Self, OpenError> {
        Self::open_on(LocalDisk::shared(), dir, epoch, created_unix_ns, LogOptions::BATCHED)
    }

    /// Continues the recording in the folder `dir` of `vfs`; see [`LogWriter::open`].
    pub fn open_on(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        epoch: Epoch,
        created_unix_ns: u64,
        options: LogOptions,
    ) -> Result<Self, OpenError> {
        let format = read_format(&*vfs, dir)?;
        format
            .check_writable()
            .map_err(|source| OpenError::Format { path: dir.join(FORMAT_FILE), source })?;
        if !options.allow_remote {
            refuse_remote(&*vfs, dir)?;
        }
        let lock = DirLock::acquire(&vfs, dir)?;
        let ident = LogIdent { ledger_id: format.ledger_id, epoch, created_unix_ns };
        let header = continue_log(&*vfs, dir, ident)?;
        let durable = Seq(header.first_seq.0.saturating_sub(1));
        Ok(Self::start(vfs, dir, lock, header, durable, options)?)
    }

    fn start(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        lock: DirLock,
        header: SegmentHeader,
        durable: Seq,
        options: LogOptions,
    ) -> Result<Self, FileError> {
        let log_dir = dir.join(LOG_FOLDER);
        let segment = SegmentFile::create(&*vfs, &log_dir, header, options.reserve_bytes)?;
        if options.keep_reserve {
            keep_reserve(&*vfs, dir)?;
        }
        Ok(Self {
            vfs,
            dir: dir.to_path_buf(),
            log_dir,
            segment,
            options,
            batch: Batch::new(),
            written: Head { seq: durable, chain: header.prev_chain },
            durable,
            unsynced_bytes: 0,
            wall_unix_ns: header.created_unix_ns,
            packs: Vec::new(),
            poison: None,
            lock,
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
        let draft = FrameDraft::new(kind, version, wall_unix_ns, body).ok_or({
            AppendError::BodyTooLong { seq, found: body.len(), max: FRAME_BODY_BYTES_MAX }
        })?;
        self.append_draft(&draft)
    }

    /// Adds a frame that the caller laid out; see [`LogWriter::append`].
    pub fn append_draft(&mut self, draft: &FrameDraft) -> Result<Seq, AppendError> {
        self.refuse_poisoned()?;
        let seq = self.next_seq()?;
        if draft.kind == KIND_SEAL {
            return Err(AppendError::ReservedKind { seq, kind: draft.kind });
        }
        let pending_bytes = self.pending_bytes();
        if pending_bytes > BATCH_BYTES_MAX {
            return Err(AppendError::BatchFull { seq, pending_bytes, max: BATCH_BYTES_MAX });
        }
        if pending_bytes == 0 && self.segment.position >= self.options.rotate_bytes {
            self.rotate()?;
        }
        let seq = self.next_seq()?;
        self.batch.push(NewFrame { seq, codec: BodyCodec::BincodeLegacy }, draft);
        self.wall_unix_ns = draft.wall_unix_ns;
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
        let written = self.write_batch();
        let is_full = matches!(&written, Err(AppendError::Write { source, .. })
            if vfs::is_disk_full(&source.source));
        if is_full && self.options.keep_reserve {
            self.declare_full();
            self.refuse_poisoned()?;
        }
        written
    }

    fn write_batch(&mut self) -> Result<Seq, AppendError> {
        let Some(last_seq) = self.batch.last_seq() else {
            return Ok(self.written.seq);
        };
        if self.unsynced_bytes > UNSYNCED_BYTES_MAX as u64 {
            // What a crash can leave behind a bad frame has to stay bounded.
            self.sync()?;
        }
        self.refuse_intruder()?;
        let chain = self.batch.finish(&self.segment.salt, self.written.chain, self.durable);
        if let Err(failed) = self.segment.write(self.batch.bytes()) {
            return Err(self.failed_write(failed));
        }
        self.written = Head { seq: last_seq, chain };
        self.unsynced_bytes += self.batch.bytes().len() as u64;
        self.segment.frames += self.batch.frames() as u64;
        self.segment.body_bytes += self.batch.body_bytes();
        self.batch.clear();
        Ok(last_seq)
    }

    /// Gives up the pending frames; their places are taken by the next ones.
    pub fn forget_pending(&mut self) {
        self.batch.clear();
    }

    /// Makes all written frames durable and returns the last durable place.
    ///
    /// A failure is final: after it, the system may claim a success that never happened.
    pub fn sync(&mut self) -> Result<Seq, AppendError> {
        self.refuse_poisoned()?;
        if self.durable < self.written.seq {
            if let Err(error) = self.segment.file.sync_data() {
                return Err(self.poison(FileError::new("sync", &self.segment.path, error)));
            }
            self.durable = self.written.seq;
            self.unsynced_bytes = 0;
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
        if self.options.keep_reserve {
            // A leftover takes room and does no harm.
            drop(self.vfs.remove(&self.dir.join(RESERVE_FILE)));
        }
        Ok(self.written)
    }

    /// Seals a log whose disk is full, with a `log_full` frame that says what was not taken.
    ///
    /// The pending frames are given up. The reserve file is removed first, so that there is room
    /// for this. Whether that works or not, the writer takes nothing more.
    pub fn declare_full(&mut self) {
        let refused =
            Full { frames: self.batch.frames() as u64, bytes: self.batch.bytes().len() as u64 };
        self.batch.clear();
        if self.poison.is_none() {
            // Each step may fail for want of room; what was written before it stays true.
            drop(self.say_full(refused));
        }
        let full = AppendError::Full { offset: self.segment.position, frames: refused.frames };
        self.poison.get_or_insert(full);
    }

    fn say_full(&mut self, refused: Full) -> Result<(), AppendError> {
        let _removed = self.vfs.remove(&self.dir.join(RESERVE_FILE)).is_ok();
        let seq = self.next_seq()?;
        let Ok(body) = refused.encode() else { return Ok(()) };
        let wall_unix_ns = self.wall_unix_ns;
        let Some(draft) = FrameDraft::new(KIND_LOG_FULL, OWN_VERSION, wall_unix_ns, &body) else {
            return Ok(());
        };
        self.batch.push(NewFrame { seq, codec: BodyCodec::BincodeLegacy }, &draft);
        let written = self.write_batch();
        self.batch.clear();
        written?;
        self.write_seal()
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
        self.segment.header.ledger_id
    }

    /// Returns the segment that is being written.
    pub fn segment_path(&self) -> &Path {
        &self.segment.path
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
            _ => Err(AppendError::Exhausted { path: self.segment.path.clone() }),
        }
    }

    /// Gives reserved room back, writes a seal frame and makes all of it durable.
    fn write_seal(&mut self) -> Result<(), AppendError> {
        let released = self.segment.release();
        if let Err(source) = released {
            return Err(self.poison(FileError::new("cut", &self.segment.path, source)));
        }
        // A seal says that everything before it is durable, so that it has to be.
        self.sync()?;
        let seq = self.next_seq()?;
        let seal = Seal {
            frames: self.segment.frames,
            body_bytes: self.segment.body_bytes,
            chain: self.written.chain,
            packs: self.packs.clone(),
        };
        let body = seal.encode();
        let too_long =
            AppendError::BodyTooLong { seq, found: body.len(), max: FRAME_BODY_BYTES_MAX };
        let draft = FrameDraft::new(KIND_SEAL, OWN_VERSION, self.wall_unix_ns, &body);
        let draft = draft.ok_or(too_long)?;
        self.batch.push(NewFrame { seq, codec: BodyCodec::Fixed }, &draft);
        let result = self.write_batch();
        // A seal that was not written must not stand in front of the frames that come instead.
        self.batch.clear();
        result?;
        self.sync().map(drop)
    }

    /// Seals the segment and goes on in a new one; nothing is pending.
    fn rotate(&mut self) -> Result<(), AppendError> {
        // Both numbers are asked for first: behind a seal there is no way back.
        let exhausted = || AppendError::Exhausted { path: self.segment.path.clone() };
        let number = self.segment.header.number.checked_add(1).ok_or_else(exhausted)?;
        let first_seq = self.next_seq()?.next().ok_or_else(exhausted)?;
        self.write_seal()?;
        let header = SegmentHeader {
            first_seq,
            number,
            prev_valid_bytes: self.segment.position,
            prev_chain: self.written.chain,
            ..self.segment.header
        };
        // The old segment is sealed, so that without a new one there is no place to write.
        let created =
            SegmentFile::create(&*self.vfs, &self.log_dir, header, self.options.reserve_bytes);
        self.segment = created.map_err(|error| self.poison(error))?;
        Ok(())
    }

    fn refuse_poisoned(&self) -> Result<(), AppendError> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// A segment that another process cut or extended is not written to, nor a recording whose
    /// lock somebody took away.
    fn refuse_intruder(&mut self) -> Result<(), AppendError> {
        if let Err(error) = self.lock.check_held() {
            return Err(self.poison(error));
        }
        let (found, expected) = match self.segment.lengths() {
            Ok(lengths) => lengths,
            Err(error) => {
                return Err(self.poison(FileError::new("inspect", &self.segment.path, error)));
            }
        };
        if found == expected {
            return Ok(());
        }
        let path = self.segment.path.clone();
        let error = AppendError::LengthChanged { path, found, expected };
        self.poison = Some(error.clone());
        Err(error)
    }

    /// A write that was cut off again can be repeated; any other is the end.
    fn failed_write(&mut self, failed: FailedWrite) -> AppendError {
        let source = FileError::new("write", &self.segment.path, failed.source);
        if failed.undone {
            AppendError::Write { offset: self.segment.position, source }
        } else {
            self.poison(source)
        }
    }

    fn poison(&mut self, source: FileError) -> AppendError {
        let error = AppendError::Poisoned { offset: self.segment.position, source };
        self.poison = Some(error.clone());
        error
    }
}

/// Scans the last segment and returns the header of the one that continues it.
fn continue_log(vfs: &dyn Vfs, dir: &Path, ident: LogIdent) -> Result<SegmentHeader, OpenError> {
    let listing = settled_list(vfs, &dir.join(LOG_FOLDER), ident.ledger_id)?;
    if let Some(error) = listing.broken {
        return Err(OpenError::Damaged(error));
    }
    let Some(last) = listing.segments.last() else {
        return Ok(SegmentHeader::first(ident));
    };
    let mut walk = Walk::open(vfs, last, None, Checks::Chain).map_err(OpenError::Damaged)?;
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

/// Lists the segments as they are on the disk.
///
/// Nothing is decided on bytes that a dead process left in the page cache only, or that a failed
/// sync left there for good: the last segment is written out, and then read from below the cache.
/// If it turns out not to be there, the one before it is the last.
fn settled_list(vfs: &dyn Vfs, log_dir: &Path, ledger_id: LedgerId) -> Result<Listing, FileError> {
    let mut settled: Option<PathBuf> = None;
    loop {
        let listing = list(vfs, log_dir, ledger_id)?;
        let last = listing.segments.last().map(|last| last.path.clone());
        if last == settled {
            return Ok(listing);
        }
        if let Some(path) = &last {
            let synced = vfs::open_regular(vfs, path).and_then(|file| {
                file.sync_data()?;
                file.drop_cache()
            });
            synced.map_err(|source| FileError::new("sync", path, source))?;
        }
        settled = last;
    }
}

fn refuse_existing(vfs: &dyn Vfs, dir: &Path) -> Result<(), CreateError> {
    let exists = || CreateError::Exists { path: dir.to_path_buf() };
    let format = dir.join(FORMAT_FILE);
    let found = vfs.stat(&format).map_err(|source| FileError::new("inspect", &format, source))?;
    if found.is_some() {
        return Err(exists());
    }
    // Segments whose FORMAT is lost are still somebody's recording.
    let log_dir = dir.join(LOG_FOLDER);
    match vfs.list(&log_dir) {
        Ok(names) if !names.is_empty() => Err(exists()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::new("list", &log_dir, error).into())
        }
        _ => Ok(()),
    }
}

/// Creates the folder and what is missing above it, and makes the way to it durable.
///
/// Folders that are there may be the leftover of a creation that failed before their names were
/// durable, so all of the way is synced.
fn create_dir(vfs: &dyn Vfs, dir: &Path) -> Result<(), FileError> {
    let ancestors: Vec<&Path> =
        dir.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    for path in ancestors.into_iter().rev() {
        let found = vfs.stat(path).map_err(|e| FileError::new("inspect", path, e))?;
        if found.is_none() {
            vfs.create_dir(path).map_err(|source| FileError::new("create", path, source))?;
        }
        match sync_dir(vfs, path.parent().unwrap_or(path)) {
            // A folder that cannot be listed was there before.
            Err(error) if found.is_some() && is_closed(&error) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Returns true if this process may not open a folder, or may not sync on its file system.
fn is_closed(error: &FileError) -> bool {
    use std::io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(
        error.source.kind(),
        PermissionDenied | ReadOnlyFilesystem | InvalidInput | Unsupported
    )
}

/// Puts FORMAT in place in one step: it is there and whole, or it is not there.
fn write_format(vfs: &dyn Vfs, dir: &Path, format: &FormatFile) -> Result<(), FileError> {
    let path = dir.join(FORMAT_FILE);
    let text = format.to_string();
    vfs::put_file(vfs, &dir.join("FORMAT.tmp"), &path, text.as_bytes())
        .map_err(|source| FileError::new("write", &path, source))
}

/// Takes the room that the last words of a log will need.
fn keep_reserve(vfs: &dyn Vfs, dir: &Path) -> Result<(), FileError> {
    let path = dir.join(RESERVE_FILE);
    let keep = || {
        let file = vfs.open(&path, OpenHow::Replace)?;
        // Where room cannot be reserved, it has to be taken by writing.
        if file.allocate(RESERVE_FILE_BYTES).is_err() {
            for offset in (0..RESERVE_FILE_BYTES).step_by(ZEROS.len()) {
                vfs::write_all_at(&*file, &ZEROS, offset)?;
            }
        }
        file.sync_data()
    };
    keep().map_err(|source| FileError::new("reserve room in", &path, source))
}

/// What the reserve file is filled with.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
