//! Checks every byte of every pack and index, and says where something is wrong.
//!
//! A check only reports. It reads packs by their record headers, also where an index exists, so
//! that copies which a later one replaced are looked at too.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use super::index::{Entry, SealedIndex};
use super::pack::{Index, NoIndex, Pack, RecordError};
use super::reader::StoreReader;
use super::scan::{Item, TailKind, Walk};
use super::unpack::{Unpacker, unpack};
use crate::error::DamageReason;
use crate::frame::{HEADER_U64, RecordHeader};
use crate::id::ArtifactId;

/// How much of a pack is hashed in one step.
const WINDOW_BYTES: u64 = 1 << 20;

/// Says what a check found, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The pack or index.
    pub path: PathBuf,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// What was found.
    pub kind: FindingKind,
    /// What it means.
    pub severity: Severity,
}

/// Ranks findings by what they mean for the artifacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Nothing is lost and nothing is wrong.
    Information,
    /// The end of a pack whose writer died, or still lives, in the middle of a write.
    Tail,
    /// This version, or this machine, could not look.
    Unchecked,
    /// Bytes differ from what was written.
    Damage,
}

/// Says what a check found.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindingKind {
    /// The pack has no index: its writer did not seal it. It is read by a scan.
    #[error("no index, the pack is scanned")]
    IndexMissing,
    /// The index cannot be used, or does not fit its pack.
    #[error("index: {0}")]
    Index(DamageReason),
    /// The header of the pack is damaged; its records can be read all the same.
    #[error("pack header: {0}")]
    PackHeader(DamageReason),
    /// The pack belongs to another ledger than the first pack of the folder.
    #[error("pack belongs to another ledger")]
    ForeignPack,
    /// The record of an artifact is damaged.
    #[error("artifact {id}: {reason}")]
    Record {
        /// The artifact.
        id: ArtifactId,
        /// What is wrong with its record.
        reason: DamageReason,
    },
    /// The artifact is stored in a way that this version cannot read.
    #[error("artifact {id}: found codec {codec}, which is not supported by this version")]
    CodecUnsupported {
        /// The artifact.
        id: ArtifactId,
        /// The codec number of its record.
        codec: u16,
    },
    /// Bytes between good records are none.
    #[error("{bytes} bytes are no record: {reason}")]
    Gap {
        /// Length of the gap.
        bytes: u64,
        /// What is wrong where the gap starts.
        reason: DamageReason,
    },
    /// The last bytes of the pack are no whole record.
    #[error("the last {bytes} bytes are no whole record: {reason}")]
    TornTail {
        /// Length of the tail.
        bytes: u64,
        /// What is wrong where the tail starts.
        reason: DamageReason,
    },
    /// The last bytes of the pack are zeros that no record owns.
    #[error("the last {bytes} bytes are zeros")]
    ZeroTail {
        /// Length of the tail.
        bytes: u64,
    },
    /// The operating system did not deliver the bytes.
    #[error("cannot read")]
    Unreadable {
        /// What the operating system said.
        source: Arc<io::Error>,
    },
}

/// Counts what a check looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Packs.
    pub packs: u64,
    /// Records, of which several may hold the same artifact.
    pub records: u64,
    /// Lengths of the artifacts that were found good, in bytes.
    pub raw_bytes: u64,
    /// Findings of every severity.
    pub findings: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: offset {}: {}", self.path.display(), self.offset, self.kind)
    }
}

impl StoreReader {
    /// Checks every header, checksum, digest, length and padding byte of the folder.
    ///
    /// Reads all bytes and decompresses all artifacts. Findings come in the order of packs and
    /// offsets, those of an index behind those of its pack.
    pub fn check_all(&self, found: impl FnMut(Finding)) -> Checked {
        let one_by_one = |tasks: usize, run: &(dyn Fn(usize) + Sync)| (0..tasks).for_each(run);
        self.check_all_with(&one_by_one, found)
    }

    /// As [`StoreReader::check_all`], with threads of the caller's: `each` calls what it is given
    /// once for every number below the first argument, in any order, and returns when all did.
    pub fn check_all_with(&self, each: &Each<'_>, mut found: impl FnMut(Finding)) -> Checked {
        let mut check =
            Check { report: &mut found, unpacker: self.unpacker(), counts: Checked::default() };
        let mut first_ledger = None;
        for pack in self.packs() {
            check.counts.packs += 1;
            check.ledger(pack, &mut first_ledger);
            if let Err(source) = check.pack(pack, each) {
                check.unreadable(pack, 0, source);
            }
        }
        check.counts
    }
}

/// Runs a number of tasks; see [`StoreReader::check_all_with`].
pub type Each<'a> = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + 'a;

impl StoreReader {
    /// Checks the headers of packs and the indexes, without reading artifacts.
    ///
    /// An index was checked whole when the folder was opened: its checksums, its order, and
    /// whether it belongs to its pack.
    pub fn check_headers(&self, mut found: impl FnMut(Finding)) -> Checked {
        let mut check =
            Check { report: &mut found, unpacker: self.unpacker(), counts: Checked::default() };
        let mut first_ledger = None;
        for pack in self.packs() {
            check.counts.packs += 1;
            check.counts.records += pack.len() as u64;
            check.ledger(pack, &mut first_ledger);
            check.header(pack);
            check.no_index(pack);
        }
        check.counts
    }
}

struct Check<'a> {
    report: &'a mut dyn FnMut(Finding),
    unpacker: &'a Unpacker,
    counts: Checked,
}

impl Check<'_> {
    fn report(&mut self, path: &Path, offset: u64, kind: FindingKind, severity: Severity) {
        self.counts.findings += 1;
        (self.report)(Finding { path: path.to_path_buf(), offset, kind, severity });
    }

    fn damage(&mut self, path: &Path, offset: u64, kind: FindingKind) {
        self.report(path, offset, kind, Severity::Damage);
    }

    fn unreadable(&mut self, pack: &Pack, offset: u64, source: io::Error) {
        let kind = FindingKind::Unreadable { source: Arc::new(source) };
        self.report(&pack.path, offset, kind, Severity::Unchecked);
    }

    fn pack(&mut self, pack: &Pack, each: &Each<'_>) -> io::Result<()> {
        let at_end = self.header(pack);
        let items = Walk::new(&pack.bytes).collect::<io::Result<Vec<_>>>()?;
        let (records, digest) = checked_records(pack, &items, self.unpacker, each);
        let mut listed = BTreeMap::new();
        let mut count = 0;
        for (item, record) in items.into_iter().zip(records) {
            match item {
                Item::Record { offset, header } => {
                    count += 1;
                    listed.insert(header.id, Entry::of(offset, &header));
                    self.record(pack, offset, &header, record.unwrap_or_default())?;
                }
                Item::Gap { offset, bytes, reason } => {
                    self.damage(&pack.path, offset, FindingKind::Gap { bytes, reason });
                }
                Item::Tail { offset, bytes, kind } => {
                    let kind = match kind {
                        TailKind::Zeros => FindingKind::ZeroTail { bytes },
                        TailKind::Torn(reason) => FindingKind::TornTail { bytes, reason },
                    };
                    self.report(&pack.path, offset, kind, at_end);
                }
            }
        }
        self.counts.records += count;
        match &pack.index {
            Index::Sealed(index) => self.index(pack, index, &listed, (count, digest?)),
            Index::Scanned { .. } => self.no_index(pack),
        }
        Ok(())
    }

    /// All packs of a folder belong to one ledger.
    fn ledger(&mut self, pack: &Pack, first: &mut Option<[u8; 16]>) {
        if let Ok(header) = &pack.header {
            let ledger = *first.get_or_insert(header.ident.ledger_id);
            if ledger != header.ident.ledger_id {
                self.damage(&pack.path, 0, FindingKind::ForeignPack);
            }
        }
    }

    /// Reports a damaged header; returns what a bad end of this pack means.
    fn header(&mut self, pack: &Pack) -> Severity {
        // Only a pack that nobody sealed may end anywhere.
        let missing = matches!(&pack.index, Index::Scanned { why: NoIndex::Missing, .. });
        let at_end = if missing { Severity::Tail } else { Severity::Damage };
        if let Err(reason) = pack.header {
            let cut = matches!(reason, DamageReason::Cut { .. });
            let severity = if cut { at_end } else { Severity::Damage };
            self.report(&pack.path, 0, FindingKind::PackHeader(reason), severity);
        }
        at_end
    }

    /// Reports why a pack is read without an index.
    fn no_index(&mut self, pack: &Pack) {
        match &pack.index {
            Index::Sealed(_) => {}
            Index::Scanned { why: NoIndex::Missing, .. } => {
                let (kind, severity) = (FindingKind::IndexMissing, Severity::Information);
                self.report(&pack.index_path, 0, kind, severity);
            }
            Index::Scanned { why: NoIndex::Damaged(reason), .. } => {
                self.damage(&pack.index_path, 0, FindingKind::Index(*reason));
            }
        }
    }

    fn record(
        &mut self,
        pack: &Pack,
        offset: u64,
        header: &RecordHeader,
        checked: RecordChecked,
    ) -> io::Result<()> {
        let id = header.id;
        match checked.read {
            Ok(raw_bytes) => self.counts.raw_bytes += raw_bytes,
            Err(RecordError::Damaged(reason)) => {
                self.damage(&pack.path, offset, FindingKind::Record { id, reason });
            }
            Err(RecordError::CodecUnsupported(codec)) => {
                let kind = FindingKind::CodecUnsupported { id, codec };
                self.report(&pack.path, offset, kind, Severity::Unchecked);
            }
            Err(RecordError::Io(source)) => self.unreadable(pack, offset, source),
        }
        if !checked.is_padded? {
            let reason = DamageReason::Padding;
            self.damage(&pack.path, offset, FindingKind::Record { id, reason });
        }
        Ok(())
    }

    /// Compares an index, whose own checksums are good, with the records of its pack.
    fn index(
        &mut self,
        pack: &Pack,
        index: &SealedIndex,
        listed: &BTreeMap<ArtifactId, Entry>,
        (records, digest): (u64, [u8; 32]),
    ) {
        let same = (0..index.len())
            .map_while(|at| index.get(at))
            .eq(listed.iter().map(|(id, entry)| (*id, *entry)));
        if !same {
            let reason = DamageReason::IndexMismatch { field: "entries" };
            self.damage(&pack.index_path, 0, FindingKind::Index(reason));
        }
        if index.sealing().records != records {
            let reason = DamageReason::IndexMismatch { field: "records" };
            self.damage(&pack.index_path, 0, FindingKind::Index(reason));
        }
        if index.sealing().pack_sha256 != digest {
            let reason = DamageReason::IndexMismatch { field: "pack SHA-256" };
            self.damage(&pack.index_path, 0, FindingKind::Index(reason));
        }
    }
}

/// What is known of a record that was read.
struct RecordChecked {
    /// Length of the artifact.
    read: Result<u64, RecordError>,
    /// The bytes behind it are zeros.
    is_padded: io::Result<bool>,
}

impl Default for RecordChecked {
    fn default() -> Self {
        let not_read = || io::Error::other("record was not checked");
        Self { read: Err(RecordError::Io(not_read())), is_padded: Err(not_read()) }
    }
}

impl RecordChecked {
    fn of(pack: &Pack, offset: u64, header: &RecordHeader, unpacker: &Unpacker) -> Self {
        let read = pack.record(offset).and_then(|(header, stored)| {
            unpack(&header, &stored, unpacker, pack).map(|raw| raw.len() as u64)
        });
        let padding = header.record_bytes() - HEADER_U64 - header.stored_bytes;
        let padding = pack.bytes.range(offset + HEADER_U64 + header.stored_bytes, padding);
        Self { read, is_padded: padding.map(|bytes| bytes.iter().all(|byte| *byte == 0)) }
    }
}

type RecordsChecked = (Vec<Option<RecordChecked>>, io::Result<[u8; 32]>);

/// Reads all records of a pack, and hashes the pack, as so many tasks.
fn checked_records(
    pack: &Pack,
    items: &[Item],
    unpacker: &Unpacker,
    each: &Each<'_>,
) -> RecordsChecked {
    let needs_digest = matches!(pack.index, Index::Sealed(_));
    let digest = OnceLock::new();
    let checked: Vec<OnceLock<RecordChecked>> = items.iter().map(|_| OnceLock::new()).collect();
    each(items.len() + 1, &|task| {
        // The longest task comes first.
        let Some(at) = task.checked_sub(1) else {
            digest.get_or_init(|| if needs_digest { sha256(pack) } else { Ok([0; 32]) });
            return;
        };
        if let (Some(Item::Record { offset, header }), Some(slot)) =
            (items.get(at), checked.get(at))
        {
            slot.get_or_init(|| RecordChecked::of(pack, *offset, header, unpacker));
        }
    });
    let records = checked.into_iter().map(OnceLock::into_inner).collect();
    (records, digest.into_inner().unwrap_or(Err(io::ErrorKind::Other.into())))
}

fn sha256(pack: &Pack) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut at = 0;
    while at < pack.bytes.len() {
        hasher.update(pack.bytes.range(at, WINDOW_BYTES)?);
        at += WINDOW_BYTES;
    }
    Ok(hasher.finalize().into())
}
