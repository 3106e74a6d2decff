//! Artifacts in a folder: append-only packs, each with an index once it is sealed.
//!
//! ```text
//! art/p-000001-3f9a6c01.pack   grows while its writer lives, immutable after
//! art/p-000001-3f9a6c01.idx    written once, when the pack is sealed
//! ```
//!
//! A writer never touches a pack that another writer made; it starts the next one. A pack whose
//! writer died has no index and is read by its record headers. Nothing is ever shortened,
//! rewritten or removed here, and reading never writes.
//!
//! Not here: removing artifacts, merging packs, and locking. Two writers cannot share a file,
//! but that there is one writer at a time is the ledger's promise.

mod active;
mod check;
mod chunks;
mod compact;
mod encode;
pub(crate) mod hostile;
mod index;
mod map;
mod name;
mod notes;
mod pack;
mod reader;
mod scan;
mod shared;
mod store;
mod unpack;
pub mod vfs;

pub use self::check::{Checked, Each, Finding, FindingKind, Severity};
pub use self::chunks::CHUNK_BYTES;
pub use self::compact::{Compacted, Compaction};
pub use self::encode::Encoder;
pub use self::notes::{Notes, RedactionNote};
pub use self::reader::{PackUse, Place, StoreReader};
pub use self::shared::SharedStore;
pub use self::store::{SealedPack, Store, StoreOptions};
pub use crate::frame::{
    ARTIFACT_BYTES_MAX, DELTA_RAW_BYTES_MAX, DICTIONARY_BYTES_MAX, DICTIONARY_RAW_BYTES_MAX,
};

/// Identifies the writer of a pack; the caller draws the epoch and reads the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackIdent {
    /// The ledger that the artifacts belong to.
    pub ledger_id: [u8; 16],
    /// A number that no other writer of the ledger has.
    pub epoch: u32,
    /// When the writer started, in nanoseconds since the Unix epoch; information only.
    pub created_unix_ns: u64,
}
