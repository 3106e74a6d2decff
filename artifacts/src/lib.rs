//! Keeps whole, redacted outputs under the SHA-256 of their bytes.
//!
//! ```text
//! raw bytes -> Redactor::redact -> Redacted -> Store::put -> ArtifactRef
//!                                                                |
//!                                        Arc<[u8]> <- Source::read
//! ```
//!
//! Three things hold, and the types hold them:
//!
//! * a store takes only [`redact::Redacted`] bytes, and only a redactor makes those;
//! * an [`ArtifactRef`] exists only for bytes that were put first, or was decoded from a log;
//! * bytes that a [`Source`] returns hash to the name they were asked for under.
//!
//! This crate does not know what a run is, never looks at a clock, an environment variable or a
//! random source, and prints nothing. Reading never writes.
//!
//! Features: without any, only the names and the [`Source`] seam remain, in `no_std`; `redact`
//! adds the redactor; `fs` (the default) adds the store in a folder and implies `redact`.

#![cfg_attr(not(any(feature = "redact", test)), no_std)]

extern crate alloc;

mod error;
#[cfg(feature = "fs")]
mod frame;
#[cfg(feature = "fs")]
pub mod fs;
mod id;
#[cfg(feature = "redact")]
pub mod redact;
mod reference;
mod source;

pub use crate::error::{DamageReason, GetError};
#[cfg(feature = "fs")]
pub use crate::error::{OpenError, PutError};
#[cfg(feature = "fs")]
pub use crate::fs::{Store, StoreReader};
pub use crate::id::{ArtifactId, ParseIdError};
pub use crate::reference::ArtifactRef;
pub use crate::source::Source;
