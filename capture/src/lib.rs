//! Brings agent runs in from other programs' formats.
//!
//! Every way in reads a foreign format, finds out which conversation each request belongs to
//! ([`lane`]), and calls the one recorder. HAR files are read by [`har`] and imported by
//! [`import`]; what the client wrote beside the wire is read by [`side`].

pub mod acp;
mod chain;
mod coding;
pub mod har;
pub mod import;
mod intake;
pub mod lane;
mod line;
#[cfg(feature = "live")]
pub mod live;
pub mod side;
pub mod transcript;
