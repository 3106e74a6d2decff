//! Opens recordings, verifies them, and evaluates policies over them.
//!
//! ```text
//! folder -> Recording (History + store) -> verify: do the parts, and the fold, give the bytes?
//!                                       -> sweep:  what would each policy have made of them?
//! ```
//!
//! A finding is data: a request that differs is a [`verify::RequestVerdict`], not an error. An
//! error means that nobody could look. Threads exist in [`mod@sweep`] and [`mod@fsck`] only.

pub mod assemble;
pub mod assert;
pub mod cache;
pub mod diff;
pub mod evaluate;
pub mod export;
mod fields;
pub mod fingerprint;
pub mod fsck;
pub mod infer;
pub mod memo;
pub mod recording;
pub mod rulebook;
pub mod selftest;
pub mod serve;
pub mod shown;
pub mod stats;
pub mod sweep;
pub mod tokens;
pub mod twin;
pub mod verify;
pub mod who;

pub use ledger::event::Rung;
pub use recording::{LoadError, Recording, find_recordings};
pub use sweep::{Row, sweep};
pub use tokens::{Vocabularies, projector};
pub use verify::{Check, Divergence, Level, RecordingReport, RequestVerdict, verify};
