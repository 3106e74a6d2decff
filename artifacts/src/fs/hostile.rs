//! Packs and indexes in memory, for bodies that try hostile bytes on their readers.

use std::path::PathBuf;
use std::sync::Arc;

use super::index::{Entry, SealedIndex};
use super::name::PackName;
use super::pack::{Index, NoIndex, Pack};
use super::scan::{self, PackBytes};
use super::unpack::Unpacker;
use super::vfs::FileView;
use crate::error::DamageReason;
use crate::id::ArtifactId;

/// What a pack gives for each artifact that it lists; `None` for what is refused.
pub(crate) fn read_all(pack: Vec<u8>, path: PathBuf) -> Vec<(ArtifactId, Option<Arc<[u8]>>)> {
    let bytes = PackBytes::Mapped(FileView::held(pack));
    let entries = scan::entries(&bytes).unwrap_or_default();
    let index = Index::Scanned { entries: entries.clone(), why: NoIndex::Missing };
    let name = PackName { number: 1, epoch: 1 };
    let header = Err(DamageReason::Magic);
    let pack = Pack { name, index_path: path.clone(), path, header, bytes, index };
    let unpacker = Unpacker::new();
    let read = |(id, entry): (ArtifactId, Entry)| {
        drop(pack.read_part(id, &entry, 0..entry.raw_bytes.min(1 << 20)));
        (id, pack.read(id, &entry, &unpacker).ok())
    };
    entries.into_iter().map(read).collect()
}

/// Looks every entry of an index up under its name, if the index is one.
pub(crate) fn look_up_all(file: Vec<u8>) {
    let Ok(index) = SealedIndex::of(FileView::held(file)) else { return };
    for position in 0..index.len() {
        let (id, _) = index.get(position).expect("an index has its entries");
        assert_eq!(index.lower_bound(&id), position, "an entry is found under its name");
    }
}
