//! What can go wrong with artifacts: one enum per family of operations.
//!
//! Every variant names a place (path, offset, id) and never holds content. The variants for
//! reading do without `std`, so that the path is kept as text.

use alloc::string::String;
use alloc::sync::Arc;

#[cfg(feature = "fs")]
pub use self::files::{OpenError, PutError};
use crate::id::ArtifactId;

/// Says why a [`Source`](crate::Source) did not return an artifact.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetError {
    /// The source does not hold this artifact.
    #[error("artifact {id}: not in the store")]
    Missing {
        /// The artifact that was asked for.
        id: ArtifactId,
    },
    /// The source holds a record for this artifact, but it is not what was stored.
    #[error("{}: offset {offset}: artifact {id}: {reason}", place(path.as_ref()))]
    Damaged {
        /// The artifact that was asked for.
        id: ArtifactId,
        /// The file, if the source has files.
        path: Option<String>,
        /// Where the record starts in the file.
        offset: u64,
        /// What is wrong with it.
        reason: DamageReason,
    },
    /// The artifact is stored in a way that this version cannot read.
    #[error(
        "{}: offset {offset}: artifact {id}: found codec {codec}, which is not supported by \
             this version",
        place(path.as_ref())
    )]
    CodecUnsupported {
        /// The artifact that was asked for.
        id: ArtifactId,
        /// The file, if the source has files.
        path: Option<String>,
        /// Where the record starts in the file.
        offset: u64,
        /// The codec number of the record.
        codec: u16,
    },
    /// The artifact has another length than its reference says.
    #[error("artifact {id}: found {found_bytes} bytes, the reference expects {expected_bytes}")]
    Length {
        /// The artifact that was asked for.
        id: ArtifactId,
        /// Length of the stored artifact.
        found_bytes: u64,
        /// Length in the reference.
        expected_bytes: u64,
    },
    /// The operating system did not deliver the bytes.
    #[error("{}: offset {offset}: artifact {id}: cannot read", place(path.as_ref()))]
    Unreadable {
        /// The artifact that was asked for.
        id: ArtifactId,
        /// The file, if the source has files.
        path: Option<String>,
        /// Where the record starts in the file.
        offset: u64,
        /// What the operating system said.
        source: Arc<dyn core::error::Error + Send + Sync>,
    },
}

/// Says in which way stored bytes are not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageReason {
    /// The file ends before the thing does.
    #[error("found {found_bytes} bytes, expected {expected_bytes}")]
    Cut {
        /// Bytes that are left in the file.
        found_bytes: u64,
        /// Bytes that the thing has.
        expected_bytes: u64,
    },
    /// The bytes do not start with the expected magic.
    #[error("found no magic")]
    Magic,
    /// A header does not have its own checksum.
    #[error("header checksum differs")]
    HeaderChecksum,
    /// A header has its checksum but a value that no writer writes.
    #[error("header field {field} has an impossible value")]
    HeaderField {
        /// The name of the field in the byte table.
        field: &'static str,
    },
    /// The stored bytes do not have their checksum.
    #[error("checksum of the stored bytes differs")]
    StoredChecksum,
    /// The stored bytes do not decompress.
    #[error("stored bytes do not decompress")]
    Compression,
    /// The table of chunks does not fit the chunks, or the artifact.
    #[error("table of chunks does not fit")]
    ChunkTable,
    /// The dictionary or base that the stored bytes need is not in the pack, or is damaged.
    #[error("dictionary or base is missing or damaged")]
    Base,
    /// The stored bytes decompress to another length than the header says.
    #[error("decompressed length differs from the header")]
    RawLength,
    /// The bytes do not hash to their name.
    #[error("SHA-256 differs from the name")]
    Digest,
    /// The bytes between two records are not zero.
    #[error("padding is not zero")]
    Padding,
    /// A section of an index does not have its checksum.
    #[error("checksum of index section {section} differs")]
    IndexChecksum {
        /// The name of the section in the byte table.
        section: &'static str,
    },
    /// An index and its pack do not say the same.
    #[error("index and pack differ in {field}")]
    IndexMismatch {
        /// What they differ in.
        field: &'static str,
    },
}

/// The path for a message, or a stand-in for sources that have no files.
fn place(path: Option<&String>) -> &str {
    path.map_or("artifacts", String::as_str)
}

#[cfg(feature = "fs")]
mod files {
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// Says why a folder of packs cannot be opened.
    #[derive(Clone, Debug, thiserror::Error)]
    #[non_exhaustive]
    pub enum OpenError {
        /// The operating system refused.
        #[error("{}: cannot {action}", path.display())]
        Io {
            /// The file or folder.
            path: PathBuf,
            /// What was tried.
            action: &'static str,
            /// What the operating system said.
            source: Arc<io::Error>,
        },
        /// The file went through a tool that takes it for text.
        #[error(
            "{}: file was converted as text; mark `*{suffix} binary` in .gitattributes and \
             restore it", path.display()
        )]
        ConvertedAsText {
            /// The file.
            path: PathBuf,
            /// The suffix of its name.
            suffix: &'static str,
        },
        /// The file was written by a later version of the format.
        #[error(
            "{}: found format version {found_major}, this version reads up to {expected_major}",
            path.display()
        )]
        Version {
            /// The file.
            path: PathBuf,
            /// The major version in the file.
            found_major: u16,
            /// The highest major version that can be read.
            expected_major: u16,
        },
    }

    /// Says why an artifact could not be stored.
    ///
    /// After [`PutError::Io`] the store is poisoned and answers every later call with it.
    #[derive(Clone, Debug, thiserror::Error)]
    #[non_exhaustive]
    pub enum PutError {
        /// The packs that are already there cannot be opened.
        #[error("cannot open the packs that are already there")]
        Open(#[from] OpenError),
        /// What was to be copied cannot be read.
        #[error("cannot copy")]
        Copy(#[from] super::GetError),
        /// The operating system refused a write, a sync or a rename.
        #[error("{}: offset {offset}: cannot {action}", path.display())]
        Io {
            /// The file or folder.
            path: PathBuf,
            /// Where in the file, 0 if the operation is about the whole file.
            offset: u64,
            /// What was tried.
            action: &'static str,
            /// What the operating system said.
            source: Arc<io::Error>,
        },
        /// The artifact is longer than any store keeps.
        #[error("found an artifact of {found_bytes} bytes, at most {bytes_max} can be stored")]
        TooLong {
            /// Length of the artifact.
            found_bytes: u64,
            /// The named maximum.
            bytes_max: u64,
        },
        /// There is no number left for a new pack.
        #[error("{}: no pack number is left", path.display())]
        PackNumbers {
            /// The folder.
            path: PathBuf,
        },
    }
}
