//! Records agents while they run: a reverse proxy on loopback in front of the model's API.
//!
//! ```text
//!   client -> listen -> exchange -> scribe: request_captured, durable
//!                          |              (no answer from the scribe, no send)
//!                          +-> upstream -> answer, passed on as it arrives
//!                                             \-> a copy -> scribe: response_received
//! ```
//!
//! What is certain:
//! - a request goes upstream only after it is on the disk, unless the caller chose
//!   [`OnFailure::SendAnyway`], which marks the run;
//! - the answer is passed on as it comes, never held back to look at it; what is recorded is
//!   read from a copy;
//! - a client that hangs up ends the upstream request; what it had been given is recorded;
//! - every length is bounded: bodies by [`REQUEST_BYTES_MAX`] and [`ANSWER_BYTES_MAX`], and what
//!   all of them hold together by [`HELD_BYTES_MAX`].
//!
//! [`answering`] is the other half: a listener that gives answers which the caller makes up, for
//! replay.

pub mod answering;
mod body;
mod connection;
mod course;
mod desk;
mod entry;
mod error;
mod exchange;
mod hook;
mod http;
mod listen;
mod proxy;
mod pump;
mod scribe;
mod socket;
mod spill;
mod upstream;

pub use body::HELD_BYTES_MAX;
pub use error::{LiveError, UpstreamError};
pub use listen::Signals;
pub use proxy::{LiveReport, OnFailure, OnUpgrade, Proxy, ProxySpec};
pub use spill::SPILL_BYTES_MAX;
pub use upstream::{Target, Upstreams};

/// The largest request body that is taken, in bytes; a larger one is answered with 413. Bodies of
/// 3 MB are normal; SDK agents that cut nothing were seen to send 2.7 MB per request.
pub const REQUEST_BYTES_MAX: usize = 512 << 20;
/// The largest answer of which a copy is kept, in bytes, coded or not. A larger one is passed on
/// and recorded without its body.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Path at the proxy that takes messages of clients' tool hooks; it is never passed on.
pub const HOOK_PATH: &str = "/.counterfold/hook";
/// The largest body that is kept of an exchange that asks no model for an answer.
pub const SIDE_BYTES_MAX: usize = 16 << 20;

/// Unix time in nanoseconds; a function, so that tests can have their own.
pub type Clock = std::sync::Arc<dyn Fn() -> u64 + Send + Sync>;
