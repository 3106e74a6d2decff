//! Writes a recording in another program's format, and says what that format cannot hold.
//!
//! ```text
//! Recording -> Talk (messages, calls and results in one form) -> atif, otlp
//!           -> bodies and header fields as they were          -> har
//! ```
//!
//! An export is a reading like any other: nothing is made up to fill a field. What a format has
//! no place for is counted by kind, and the counts are handed back with the document.

mod atif;
mod har;
mod otlp;
mod talk;

use std::collections::BTreeMap;
use std::io;

use artifacts::GetError;

use crate::assemble::AssembleError;
use crate::who::WhoError;

pub use atif::{VERSION as ATIF_VERSION, atif};
pub use har::{har, is_sent};
pub use otlp::{Content, otlp};

/// Why a recording could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A text of the recording is missing or damaged.
    #[error(transparent)]
    Get(#[from] GetError),
    /// A body cannot be put together.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The log does not open.
    #[error(transparent)]
    Open(#[from] ledger::fs::OpenError),
    /// The log cannot be read to its end.
    #[error(transparent)]
    Who(#[from] WhoError),
    /// The document cannot be written.
    #[error("document cannot be written")]
    Write(#[from] io::Error),
}

/// What was written, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Requests.
    pub requests: u64,
    /// Calls that their answers ask for.
    pub calls: u64,
    /// What the format has no place for: how often, by what it is.
    pub left: BTreeMap<&'static str, u64>,
}

impl Exported {
    fn leave(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.left.entry(what).or_default() += count;
        }
    }
}

/// JSON that is written in pieces.
fn write_json<W: io::Write + ?Sized>(
    out: &mut W,
    value: &impl serde::Serialize,
) -> Result<(), ExportError> {
    serde_json::to_writer(out, value).map_err(io::Error::from)?;
    Ok(())
}

/// A time as RFC 3339 with nanoseconds; `None` beyond the years that it can write.
fn rfc3339(unix_ns: u64) -> Option<String> {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok().map(|time| time.to_string())
}

/// Digits of a digest.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _infallible = write!(out, "{byte:02x}");
    }
    out
}
