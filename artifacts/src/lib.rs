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
//! ```
//! # #[cfg(feature = "fs")] {
//! use artifacts::{Source, Store, StoreReader, fs::PackIdent, redact::Redactor};
//!
//! let folder = tempfile::tempdir()?;
//! let ident = PackIdent { ledger_id: [0; 16], epoch: 1, created_unix_ns: 0 };
//! let mut store = Store::create(folder.path(), ident)?;
//! let artifact = store.put(&Redactor::core().redact(b"total 0\n"))?;
//! store.sync()?; // Only now may an event name the artifact.
//! store.seal()?;
//!
//! let bytes = StoreReader::open(folder.path())?.read(&artifact)?;
//! assert_eq!(bytes.as_ref(), b"total 0\n");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
#[cfg(feature = "fs")]
#[doc(hidden)]
pub mod fuzz;
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
