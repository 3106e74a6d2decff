//! Redacted bytes in an event: inline when short, else a reference into the artifact store.
//!
//! There is no way to make one from bytes that the redactor did not return.

use std::sync::Arc;

use artifacts::{ArtifactRef, GetError, Source};
use bincode::{Decode, Encode};

/// Longest content that rides inside an event, in bytes. A stored artifact costs about 130 bytes
/// of headers and index, and short strings do not compress.
pub const INLINE_BYTES_MAX: usize = 512;
/// The same where each request is made durable, in bytes: a batch of events that names no new
/// artifact takes one sync instead of two.
pub const INLINE_DURABLE_BYTES_MAX: usize = 4096;

/// Redacted bytes, here or in the store.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Content(Place);

#[derive(Clone, PartialEq, Eq, Encode, Decode)]
enum Place {
    Inline(Vec<u8>),
    Stored(ArtifactRef),
}

impl core::fmt::Debug for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Inline(bytes) => write!(f, "inline {} bytes", bytes.len()),
            Self::Stored(artifact) => write!(f, "artifact {}", artifact.id()),
        }
    }
}

/// Bytes that were read: borrowed from an event, or held by the store's cache.
#[derive(Clone)]
pub enum Bytes<'a> {
    /// Inside the event.
    Inline(&'a [u8]),
    /// From the store.
    Stored(Arc<[u8]>),
}

impl core::fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl core::ops::Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Inline(bytes) => bytes,
            Self::Stored(bytes) => bytes,
        }
    }
}

impl Content {
    /// Content that was stored as an artifact.
    pub fn stored(artifact: ArtifactRef) -> Self {
        Self(Place::Stored(artifact))
    }

    /// Redacted bytes inside the event; `None` above `bytes_max`.
    #[cfg(feature = "fs")]
    pub fn inline(redacted: &artifacts::redact::Redacted<'_>, bytes_max: usize) -> Option<Self> {
        let bytes = redacted.as_bytes();
        (bytes.len() <= bytes_max).then(|| Self(Place::Inline(bytes.to_vec())))
    }

    /// Puts redacted bytes where they belong: inside the event when short, else into the store.
    ///
    /// # Errors
    /// The store refuses.
    #[cfg(feature = "fs")]
    pub fn put(
        store: &mut artifacts::Store,
        redacted: &artifacts::redact::Redacted<'_>,
    ) -> Result<Self, artifacts::PutError> {
        match Self::inline(redacted, INLINE_BYTES_MAX) {
            Some(content) => Ok(content),
            None => store.put(redacted).map(Self::stored),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Place::Inline(bytes) => bytes.len() as u64,
            Place::Stored(artifact) => artifact.bytes(),
        }
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The artifact, when it is stored.
    pub fn artifact(&self) -> Option<&ArtifactRef> {
        match &self.0 {
            Place::Inline(_) => None,
            Place::Stored(artifact) => Some(artifact),
        }
    }

    /// The bytes when they are inside the event.
    pub fn as_inline(&self) -> Option<&[u8]> {
        match &self.0 {
            Place::Inline(bytes) => Some(bytes),
            Place::Stored(_) => None,
        }
    }

    /// The bytes, wherever they are.
    ///
    /// # Errors
    /// The artifact is missing or damaged.
    pub fn read<'a>(&'a self, source: &dyn Source) -> Result<Bytes<'a>, GetError> {
        match &self.0 {
            Place::Inline(bytes) => Ok(Bytes::Inline(bytes)),
            Place::Stored(artifact) => source.read(artifact).map(Bytes::Stored),
        }
    }
}
