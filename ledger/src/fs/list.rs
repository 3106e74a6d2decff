//! Finds the segments of a log and puts them in order. Reads headers only, changes nothing.
//!
//! The order is that of the segment numbers in the headers, and it must have no hole: every
//! header states how the segment before ends.

use std::path::{Path, PathBuf};

use artifacts::fs::vfs::{Vfs, open_regular, read_up_to};

use super::{Damage, FileError, ReadError};
use crate::frame::Seq;
use crate::segment::{LedgerId, SegmentFault, SegmentHeader, SegmentName};

/// A segment whose header is good.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    pub(crate) header: SegmentHeader,
    pub(crate) file_bytes: u64,
}

/// A file that ends before its header was written: a writer died while it created it.
#[derive(Debug)]
pub(crate) struct Unborn {
    pub(crate) path: PathBuf,
    pub(crate) file_bytes: u64,
    pub(crate) fault: SegmentFault,
    first_seq: Seq,
}

/// The segments of a log.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The log from its first segment up to the first one that does not fit.
    pub(crate) segments: Vec<Listed>,
    /// A file without a header behind the last segment.
    pub(crate) unborn: Option<Unborn>,
    /// The first thing that does not fit.
    pub(crate) broken: Option<ReadError>,
}

/// What one file of the log folder is.
enum Found {
    Segment(Listed),
    Unborn(Unborn),
    Broken(ReadError),
}

/// Lists the segments in `log_dir`; other files than `*.seg` do not matter.
pub(crate) fn list(
    vfs: &dyn Vfs,
    log_dir: &Path,
    ledger_id: LedgerId,
) -> Result<Listing, FileError> {
    let mut segments = Vec::new();
    let mut unborn: Option<Unborn> = None;
    let mut broken = None;
    for path in segment_paths(vfs, log_dir)? {
        match inspect(vfs, path, ledger_id)? {
            Found::Segment(segment) => segments.push(segment),
            Found::Unborn(file) => unborn = Some(file),
            Found::Broken(error) => broken = broken.or(Some(error)),
        }
    }
    // The sort is stable, so that two claims to one number are told apart by name.
    segments.sort_by_key(|segment| segment.header.number);
    if let Some((good, error)) = first_bad_link(&segments) {
        segments.truncate(good);
        broken = broken.or(Some(error));
    }
    // An older unborn file was followed by a segment that starts at the same sequence number.
    let last_seq = segments.last().map_or(Seq::ZERO, |segment| segment.header.first_seq);
    let unborn = unborn.filter(|file| file.first_seq > last_seq);
    Ok(Listing { segments, unborn, broken })
}

/// Lists every segment whose own header is good, whether or not it fits the others, and the
/// files that claim to be segments and are none.
pub(crate) fn list_all(
    vfs: &dyn Vfs,
    log_dir: &Path,
    ledger_id: LedgerId,
) -> Result<(Vec<Listed>, Vec<PathBuf>), FileError> {
    let (mut segments, mut strangers) = (Vec::new(), Vec::new());
    for path in segment_paths(vfs, log_dir)? {
        match inspect(vfs, path.clone(), ledger_id)? {
            Found::Segment(segment) => segments.push(segment),
            Found::Unborn(_) => {}
            Found::Broken(_) => strangers.push(path),
        }
    }
    segments.sort_by_key(|segment| segment.header.number);
    Ok((segments, strangers))
}

/// Returns the paths of all files that claim to be segments, by name.
fn segment_paths(vfs: &dyn Vfs, log_dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    let names = vfs.list(log_dir).map_err(|source| FileError::new("list", log_dir, source))?;
    let mut paths: Vec<PathBuf> = names.iter().map(|name| log_dir.join(name)).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    paths.sort();
    Ok(paths)
}

fn inspect(vfs: &dyn Vfs, path: PathBuf, ledger_id: LedgerId) -> Result<Found, FileError> {
    let name = path.file_name().and_then(|name| SegmentName::parse(name.to_str()?));
    let Some(name) = name else {
        return Ok(Found::Broken(corrupt(path, Seq::ZERO, SegmentFault::Name)));
    };
    let failed = |action| {
        let path = &path;
        move |source| FileError::new(action, path, source)
    };
    let file = open_regular(vfs, &path).map_err(failed("open"))?;
    let file_bytes = file.stat().map_err(failed("inspect"))?.bytes;
    let start = read_up_to(&*file, 0, SegmentHeader::ENCODED_BYTES as u64);
    let start = start.map_err(failed("read"))?;
    let fault = match SegmentHeader::decode(&start) {
        Ok(header) => match check_own(&header, name, ledger_id) {
            Ok(()) => return Ok(Found::Segment(Listed { path, header, file_bytes })),
            Err(fault) => fault,
        },
        Err(fault) => fault,
    };
    // The header is durable before the first frame is written behind it.
    let never_used = matches!(
        fault,
        SegmentFault::HeaderShort { .. } | SegmentFault::Magic | SegmentFault::HeaderCrc { .. }
    );
    if never_used && file_bytes <= SegmentHeader::ENCODED_BYTES as u64 {
        return Ok(Found::Unborn(Unborn { path, file_bytes, fault, first_seq: name.first_seq }));
    }
    Ok(Found::Broken(corrupt(path, name.first_seq, fault)))
}

fn check_own(
    header: &SegmentHeader,
    name: SegmentName,
    ledger_id: LedgerId,
) -> Result<(), SegmentFault> {
    if header.ledger_id != ledger_id {
        return Err(SegmentFault::ForeignLedger { found: header.ledger_id, expected: ledger_id });
    }
    if (header.first_seq, header.epoch) != (name.first_seq, name.epoch) {
        return Err(SegmentFault::NameMismatch { seq: header.first_seq, epoch: header.epoch });
    }
    Ok(())
}

/// Returns how many segments are in their place, and what is wrong with the one behind them.
fn first_bad_link(segments: &[Listed]) -> Option<(usize, ReadError)> {
    let mut prev: Option<&Listed> = None;
    for (index, segment) in segments.iter().enumerate() {
        let before = prev.map(|prev| (&prev.header, prev.file_bytes));
        if let Err(fault) = segment.header.check_link(before) {
            let error = corrupt(segment.path.clone(), segment.header.first_seq, fault);
            return Some((index, error));
        }
        prev = Some(segment);
    }
    None
}

fn corrupt(path: PathBuf, seq: Seq, fault: SegmentFault) -> ReadError {
    ReadError::Corrupt { path, offset: 0, seq, reason: Damage::Segment(fault) }
}
