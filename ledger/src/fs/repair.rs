//! Makes a new recording of what is good in a damaged one. The damaged one is only read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifacts::fs::vfs::{OpenHow, Vfs, open_regular, read_up_to, sync_folder, write_all_at};

use super::salvage::{Salvage, Salvaged, salvage};
use super::{
    AppendError, CreateError, FileError, Head, LogOptions, LogWriter, OpenError, read_format,
};
use crate::codec::CodecError;
use crate::format_file::FormatFile;
use crate::frame::{Chain, Gap, KIND_LOG_GAP};
use crate::segment::{Epoch, LogIdent, SEGMENT_BYTES_MAX};

/// The folder that keeps copies of what was damaged.
const QUARANTINE: &str = "quarantine";
/// Frames are written out when so many bytes of them are waiting.
const PENDING_BYTES_MAX: usize = 1 << 20;
/// A file is copied in pieces of this length.
const PIECE_BYTES: u64 = 1 << 20;

/// Why a recording was not repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The damaged recording cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The new recording cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The new recording cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A gap cannot be described in a frame.
    #[error("gap cannot be described")]
    Gap(#[from] CodecError),
    /// A file cannot be copied.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a repair did.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// Frames that were taken over, without the seals.
    pub frames: u64,
    /// Where frames are missing.
    pub gaps: Vec<Gap>,
    /// Bytes of a torn tail, which were never log.
    pub torn_bytes: u64,
    /// Copies of damaged files.
    pub quarantined: Vec<PathBuf>,
    /// Files that claim to be segments and are none.
    pub strangers: Vec<PathBuf>,
    /// The end of the new log.
    pub head: Head,
}

/// Writes what is good of the recording `from` into the new recording `into`.
///
/// Where frames are missing there is a `log_gap` frame, and the FORMAT file says that there is
/// one. Frames behind a gap are chained anew; the gap tells their old chain. Packs and indexes
/// are copied as they are. Damaged segments are copied into `into/quarantine`, under names that
/// hold their SHA-256.
///
/// # Errors
/// `into` exists, or something cannot be read or written.
pub fn repair(
    vfs: &Arc<dyn Vfs>,
    from: &Path,
    into: &Path,
    epoch: Epoch,
    created_unix_ns: u64,
) -> Result<Repaired, RepairError> {
    let mut gaps = Vec::new();
    salvage::<RepairError>(&**vfs, from, &mut |found| {
        if let Salvaged::Gap(gap) = found {
            gaps.push(gap);
        }
        Ok(())
    })?;
    let ledger_id = read_format(&**vfs, from)?.ledger_id;
    let format = FormatFile { log_gap: !gaps.is_empty(), ..FormatFile::new(ledger_id) };
    let ident = LogIdent { ledger_id, epoch, created_unix_ns };
    let options = LogOptions::BATCHED;
    let mut log = LogWriter::create_with(Arc::clone(vfs), into, ident, options, &format)?;
    let mut frames = 0;
    let (_, report) = salvage::<RepairError>(&**vfs, from, &mut |found| {
        match found {
            Salvaged::Frame { header, .. } if header.is_seal() => {}
            Salvaged::Frame { header, body } => {
                frames += 1;
                log.append(header.kind, header.version, header.wall_unix_ns, body)?;
            }
            Salvaged::Gap(gap) => {
                log.append(KIND_LOG_GAP, 1, created_unix_ns, &gap.encode()?)?;
            }
        }
        if log.pending_bytes() >= PENDING_BYTES_MAX {
            log.write()?;
        }
        Ok(())
    })?;
    copy_folder(&**vfs, &from.join("art"), &into.join("art"))?;
    let quarantined = quarantine(&**vfs, &report, into)?;
    let head = log.seal(&[])?;
    let Salvage { strangers, torn_bytes, .. } = report;
    Ok(Repaired { frames, gaps, torn_bytes, quarantined, strangers, head })
}

/// Copies every file of a folder.
fn copy_folder(vfs: &dyn Vfs, from: &Path, to: &Path) -> Result<(), FileError> {
    vfs.create_dir(to).map_err(|source| FileError::new("create", to, source))?;
    let names = match vfs.list(from) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(FileError::new("list", from, error)),
    };
    for name in names {
        copy(vfs, &from.join(&name), &to.join(&name))?;
    }
    let synced = sync_folder(vfs, to);
    synced.map_err(|source| FileError::new("sync", to, source))
}

fn quarantine(vfs: &dyn Vfs, report: &Salvage, into: &Path) -> Result<Vec<PathBuf>, FileError> {
    let folder = into.join(QUARANTINE);
    let mut copies = Vec::new();
    if report.damaged.is_empty() {
        return Ok(copies);
    }
    vfs.create_dir(&folder).map_err(|source| FileError::new("create", &folder, source))?;
    for (path, sha256) in &report.damaged {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copied = folder.join(format!("{name}.{}", Chain(*sha256)));
        copy(vfs, path, &copied)?;
        copies.push(copied);
    }
    sync_folder(vfs, &folder).map_err(|source| FileError::new("sync", &folder, source))?;
    Ok(copies)
}

fn copy(vfs: &dyn Vfs, from: &Path, to: &Path) -> Result<(), FileError> {
    let source = open_regular(vfs, from).map_err(|e| FileError::new("open", from, e))?;
    let target = vfs.open(to, OpenHow::CreateNew).map_err(|e| FileError::new("create", to, e))?;
    let mut at = 0;
    loop {
        let piece = read_up_to(&*source, at, PIECE_BYTES.min(SEGMENT_BYTES_MAX));
        let piece = piece.map_err(|e| FileError::new("read", from, e))?;
        if piece.is_empty() {
            break;
        }
        write_all_at(&*target, &piece, at).map_err(|e| FileError::new("write", to, e))?;
        at += piece.len() as u64;
    }
    target.sync_data().map_err(|e| FileError::new("sync", to, e))
}
