//! Runs over the Agent Client Protocol: JSON-RPC messages, one a line, between a client and an
//! agent. What they say of sessions, turns, calls and permissions becomes facts; every other
//! message is kept as its bytes.
//!
//! [`import_acp`] reads a log, [`Tee`] records a connection while it carries it.

mod import;
mod message;
mod session;
mod tee;

pub use import::{AcpError, AcpOptions, AcpReport, import_acp};
pub use message::Direction;
pub use session::{Counts, Protocol};
pub use tee::{Tee, TeeError, TeeOptions, WhenUnrecorded};

/// Longest line that is read as a message, in bytes. Longer ones are counted and not kept.
pub const LINE_BYTES_MAX: usize = 64 << 20;
