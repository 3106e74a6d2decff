//! The seam through which everything else reads artifacts.
//!
//! A projection sees artifacts only through this trait, so that it can run over a store, over
//! a map in memory, or over a source that fails on purpose.

use alloc::sync::Arc;

use crate::error::GetError;
use crate::reference::ArtifactRef;

/// Answers an artifact's whole bytes.
pub trait Source {
    /// Returns the bytes that `artifact` names.
    ///
    /// An implementation returns bytes only if they have the length and the SHA-256 of the
    /// reference; anything else is an error, never other bytes.
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError>;
}
