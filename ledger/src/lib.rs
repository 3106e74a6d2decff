//! Records what happened in an agent run, once, in order, and can tell when a record is damaged.
//!
//! ```text
//! bytes -> [wire] parts, slots -> [recorder] redact, put, append -> [event] -> [frame] -> log
//!                                                     log -> [frame] -> [event] -> [history]
//! ```
//!
//! A request body is kept as parts that share literals and texts with everything recorded before
//! it ([`wire`]); an event says what happened ([`event`]); a frame guards it ([`frame`]); a
//! [`history::History`] is all events of a run, checked once. The crate understands the shape of
//! provider bodies and no policy. Without the feature `fs` it touches no file and cannot record.

pub mod codec;
pub mod content;
pub mod diff;
pub mod event;
pub mod format_file;
pub mod frame;
#[cfg(feature = "fs")]
pub mod fs;
#[doc(hidden)]
pub mod fuzz;
pub mod history;
pub mod id;
pub mod identity;
#[cfg(feature = "fs")]
pub mod recorder;
pub mod render;
pub mod segment;
pub mod wire;

/// The code blocks of the format reference compile and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/reference/format.md")]
mod format_doc {}
