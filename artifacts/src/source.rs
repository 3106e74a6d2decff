//! The seam through which everything else reads artifacts.
//!
//! A projection sees artifacts only through this trait, so that it can run over a store, over
//! a map in memory, or over a source that fails on purpose.

use alloc::sync::Arc;
use core::ops::Range;

use crate::error::GetError;
use crate::reference::ArtifactRef;

/// Answers an artifact's whole bytes.
pub trait Source {
    /// Returns the bytes that `artifact` names.
    ///
    /// An implementation returns bytes only if they have the length and the SHA-256 of the
    /// reference; anything else is an error, never other bytes.
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError>;

    /// Returns the bytes of `artifact` that are in `range`, fewer where the artifact ends.
    ///
    /// A source that can leaves the rest unread. What it returns then has the checksums of its
    /// parts; only a whole read compares the SHA-256.
    fn read_range(&self, artifact: &ArtifactRef, range: Range<u64>) -> Result<Arc<[u8]>, GetError> {
        let range = within(artifact, range);
        self.read(artifact).map(|bytes| part(&bytes, &range))
    }
}

/// Cuts a range at the end of an artifact.
pub(crate) fn within(artifact: &ArtifactRef, range: Range<u64>) -> Range<u64> {
    let end = range.end.min(artifact.bytes());
    range.start.min(end)..end
}

/// The bytes of a range that is within `bytes`.
pub(crate) fn part(bytes: &[u8], range: &Range<u64>) -> Arc<[u8]> {
    let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
    Arc::from(bytes.get(start..end).unwrap_or_default())
}
