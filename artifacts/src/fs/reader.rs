//! All packs of a folder as one source of artifacts. Takes no lock and never writes.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::Entry;
use super::name::PackName;
use super::pack::Pack;
use super::unpack::Unpacker;
use super::vfs::{LocalDisk, Vfs};
use crate::error::{GetError, OpenError};
use crate::frame::{HEADER_U64, PACK_HEADER_U64};
use crate::id::{ArtifactId, ID_BYTES, nibble};
use crate::reference::ArtifactRef;
use crate::source::Source;

/// Reads the artifacts of a folder, as the folder was when it was opened.
///
/// Damage in a pack does not keep the rest from being read: a header or an index that is damaged
/// is worked around, and [`StoreReader::check_all`] reports it. Of several copies of an artifact
/// the newest good one is returned.
#[derive(Debug)]
pub struct StoreReader {
    vfs: Arc<dyn Vfs>,
    folder: PathBuf,
    /// The folder is on a file system whose files are not mapped.
    remote: bool,
    /// Ascending by number, then epoch.
    packs: Vec<Pack>,
    unpacker: Unpacker,
}

/// How much of a pack is named by anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackUse {
    /// The pack file.
    pub pack: PathBuf,
    /// Its index, which need not exist.
    pub index: PathBuf,
    /// Length of the pack file.
    pub bytes: u64,
    /// Bytes of it that hold named artifacts, with the header of the pack.
    pub named_bytes: u64,
    /// The named artifacts, in the order of their ids.
    pub artifacts: Vec<ArtifactId>,
}

impl PackUse {
    fn of(pack: &Pack) -> Self {
        Self {
            pack: pack.path.clone(),
            index: pack.index_path.clone(),
            bytes: pack.bytes.len(),
            named_bytes: PACK_HEADER_U64,
            artifacts: Vec::new(),
        }
    }
}

/// Where an artifact is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The pack file.
    pub pack: &'a Path,
    /// Offset of the record in the pack, in bytes.
    pub offset: u64,
}

impl StoreReader {
    /// Opens every pack of a folder.
    ///
    /// Packs without a usable index are scanned header by header. A folder without packs is an
    /// empty store; a missing folder is an error, and so is a file that was converted as text or
    /// comes from a later version of the format.
    pub fn open(art_dir: &Path) -> Result<Self, OpenError> {
        Self::open_on(LocalDisk::shared(), art_dir)
    }

    /// Opens every pack of a folder of `vfs`, as [`StoreReader::open`] does.
    pub fn open_on(vfs: Arc<dyn Vfs>, art_dir: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io {
            path: art_dir.to_path_buf(),
            action: "list",
            source: Arc::new(source),
        };
        let names = pack_names(&*vfs, art_dir).map_err(failed)?;
        let remote = vfs.remote_kind(art_dir).map_err(failed)?.is_some();
        let packs = names.into_iter().map(|name| Pack::open(&*vfs, art_dir, name, remote));
        let packs = packs.collect::<Result<_, _>>()?;
        let folder = art_dir.to_path_buf();
        Ok(Self { vfs, folder, remote, packs, unpacker: Unpacker::new() })
    }

    /// Returns true if some pack lists the artifact; whether it can be read is not checked.
    pub fn contains(&self, id: &ArtifactId) -> bool {
        self.packs.iter().any(|pack| pack.find(id).is_some())
    }

    /// Counts the artifacts, each once; takes time linear in their number.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Returns true if there is no artifact.
    pub fn is_empty(&self) -> bool {
        self.packs.iter().all(|pack| pack.len() == 0)
    }

    /// Sums the stored lengths of all artifacts, each once, in bytes.
    pub fn stored_bytes(&self) -> u64 {
        self.iter().map(|(_, _, stored_bytes, _)| stored_bytes).sum()
    }

    /// Sums the lengths of the pack files, in bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.packs.iter().map(|pack| pack.bytes.len()).sum()
    }

    /// Says for each pack how much of it is named, where `named` is all that is.
    ///
    /// A copy that a newer pack replaces counts as not named.
    pub fn pack_uses(&self, named: &BTreeSet<ArtifactId>) -> Vec<PackUse> {
        let mut uses: Vec<PackUse> = self.packs.iter().map(PackUse::of).collect();
        let mut bases = BTreeSet::new();
        let merged = Merge { packs: &self.packs, positions: vec![0; self.packs.len()] };
        for (pack, id, entry) in merged.filter(|(_, id, _)| named.contains(id)) {
            let at = self.packs.iter().position(|other| other.name == pack.name);
            let Some(found) = at.and_then(|at| uses.get_mut(at)) else { continue };
            found.named_bytes += record_bytes(&entry);
            found.artifacts.push(id);
            // What a named artifact is read with is used as well, once.
            if let Some((base, entry)) = pack.base_entry(id, &entry)
                && !named.contains(&base)
                && bases.insert((pack.name, base))
            {
                found.named_bytes += record_bytes(&entry);
            }
        }
        uses
    }

    /// Lists the artifacts in the order in which they were stored, each once: its newest copy.
    pub fn in_order(&self) -> Vec<ArtifactId> {
        let mut places: Vec<_> = Merge { packs: &self.packs, positions: vec![0; self.packs.len()] }
            .map(|(pack, id, entry)| (pack.name, entry.offset, id))
            .collect();
        places.sort_unstable();
        places.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Lists the artifacts in the order of their ids, each once: id, raw length, stored length
    /// (both in bytes), and the place of the newest copy.
    pub fn iter(&self) -> impl Iterator<Item = (ArtifactId, u64, u64, Place<'_>)> + '_ {
        Merge { packs: &self.packs, positions: vec![0; self.packs.len()] }.map(listed)
    }

    /// Lists the artifacts whose text form starts with `hex`, in the order of their ids.
    ///
    /// A prefix that is not of lowercase hexadecimal digits, or too long, matches none.
    pub fn find_prefix(&self, hex: &str) -> Vec<ArtifactId> {
        let Some((first, last)) = prefix_bounds(hex) else { return Vec::new() };
        let mut found = BTreeSet::new();
        for pack in &self.packs {
            let from = pack.lower_bound(&first);
            let in_pack = (from..).map_while(|position| pack.get(position));
            let in_pack = in_pack.take_while(|(id, _)| *id <= last);
            found.extend(in_pack.filter(|(_, entry)| !entry.is_dictionary).map(|(id, _)| id));
        }
        found.into_iter().collect()
    }

    /// Returns a reference to a stored artifact, as `put` returned it.
    pub fn reference(&self, id: &ArtifactId) -> Option<ArtifactRef> {
        let entry = self.packs.iter().rev().find_map(|pack| pack.find(id))?;
        Some(ArtifactRef::stored(*id, entry.raw_bytes))
    }

    /// The stored length of the newest copy of an artifact; 0 if there is none.
    pub(crate) fn stored_bytes_of(&self, id: &ArtifactId) -> u64 {
        let entry = self.packs.iter().rev().find_map(|pack| pack.find(id));
        entry.map_or(0, |entry| entry.stored_bytes)
    }

    /// Returns true if a copy of the artifact still has its checksum.
    pub(crate) fn holds_intact(&self, id: ArtifactId) -> bool {
        let packs = self.packs.iter().rev();
        packs
            .filter_map(|pack| Some((pack, pack.find(&id)?)))
            .any(|(pack, entry)| pack.is_intact(id, &entry))
    }

    /// Takes in a pack that was sealed after the folder was opened.
    pub(crate) fn add(&mut self, name: PackName) -> Result<(), OpenError> {
        self.packs.push(Pack::open(&*self.vfs, &self.folder, name, self.remote)?);
        Ok(())
    }

    pub(crate) fn packs(&self) -> &[Pack] {
        &self.packs
    }

    pub(crate) fn unpacker(&self) -> &Unpacker {
        &self.unpacker
    }
}

impl Source for StoreReader {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        let id = artifact.id();
        let mut first_error = None;
        for pack in self.packs.iter().rev() {
            let Some(entry) = pack.find(&id) else { continue };
            match pack.read(id, &entry, &self.unpacker) {
                Ok(bytes) => return of_length(artifact, bytes),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(GetError::Missing { id }))
    }

    /// Of an artifact of more than 1 MiB, only the chunks that are asked for are read.
    fn read_range(&self, artifact: &ArtifactRef, range: Range<u64>) -> Result<Arc<[u8]>, GetError> {
        let id = artifact.id();
        let range = crate::source::within(artifact, range);
        for pack in self.packs.iter().rev() {
            let Some(entry) = pack.find(&id) else { continue };
            if entry.raw_bytes == artifact.bytes()
                && let Ok(Some(part)) = pack.read_part(id, &entry, range.clone())
            {
                return Ok(part);
            }
        }
        // Another copy may be good, and else this says what is wrong.
        self.read(artifact).map(|bytes| crate::source::part(&bytes, &range))
    }
}

fn record_bytes(entry: &Entry) -> u64 {
    HEADER_U64 + entry.stored_bytes.next_multiple_of(8)
}

/// Compares the length of what was read with the reference.
pub(crate) fn of_length(artifact: &ArtifactRef, bytes: Arc<[u8]>) -> Result<Arc<[u8]>, GetError> {
    let (found_bytes, expected_bytes) = (bytes.len() as u64, artifact.bytes());
    if found_bytes == expected_bytes {
        Ok(bytes)
    } else {
        Err(GetError::Length { id: artifact.id(), found_bytes, expected_bytes })
    }
}

/// The names of the packs in a folder, ascending; other files are not ours and left alone.
pub(crate) fn pack_names(vfs: &dyn Vfs, folder: &Path) -> io::Result<Vec<PackName>> {
    let files = vfs.list(folder)?;
    let mut names: Vec<_> = files.iter().filter_map(|name| PackName::parse(name)).collect();
    names.sort_unstable();
    Ok(names)
}

/// The lowest and the highest id whose text starts with `hex`.
fn prefix_bounds(hex: &str) -> Option<(ArtifactId, ArtifactId)> {
    if hex.len() > 2 * ID_BYTES {
        return None;
    }
    let digits = hex.bytes().map(nibble).collect::<Option<Vec<u8>>>()?;
    let filled = |fill: u8| {
        let mut digits = digits.iter().copied().chain(std::iter::repeat(fill));
        let byte = |()| digits.next().unwrap_or(fill) << 4 | digits.next().unwrap_or(fill);
        ArtifactId::from_bytes([(); ID_BYTES].map(byte))
    };
    Some((filled(0), filled(0xf)))
}

/// Merges the packs' indexes in the order of ids; the newest pack speaks for an id.
struct Merge<'a> {
    packs: &'a [Pack],
    positions: Vec<usize>,
}

impl<'a> Iterator for Merge<'a> {
    type Item = (&'a Pack, ArtifactId, Entry);

    fn next(&mut self) -> Option<Self::Item> {
        for (pack, position) in self.packs.iter().zip(&mut self.positions) {
            while pack.get(*position).is_some_and(|(_, entry)| entry.is_dictionary) {
                *position += 1;
            }
        }
        let mut next: Option<Self::Item> = None;
        for (pack, position) in self.packs.iter().zip(&self.positions) {
            if let Some((id, entry)) = pack.get(*position)
                && next.is_none_or(|(_, lowest, _)| id <= lowest)
            {
                next = Some((pack, id, entry));
            }
        }
        let (_, taken, _) = next?;
        for (pack, position) in self.packs.iter().zip(&mut self.positions) {
            if pack.get(*position).is_some_and(|(id, _)| id == taken) {
                *position += 1;
            }
        }
        next
    }
}

fn listed((pack, id, entry): (&Pack, ArtifactId, Entry)) -> (ArtifactId, u64, u64, Place<'_>) {
    let place = Place { pack: &pack.path, offset: entry.offset };
    (id, entry.raw_bytes, entry.stored_bytes, place)
}
