//! Imports what clients and tools wrote about their runs: session files, trajectories, traces.
//!
//! ```text
//! path -> walk -> bundle -> recognized by content -> one Adapter -> Scribe -> Recorder
//! ```
//!
//! Where a format has no request bodies, they are put together from the messages that it holds,
//! on the rung `reconstructed`: their parts, links and outputs are facts, their bytes are not.
//! Every record of a source is accounted for: it is on record as what it says, or with its bytes.

mod adapter;
mod anthropic;
mod chain;
mod claude;
mod cline;
mod codex;
mod gemini;
mod import;
mod json;
mod pi;
mod plain;
mod report;
mod rows;
mod scribe;
mod swe;
mod time;
mod walk;

pub use import::{
    EARLIER, Recognized, TranscriptError, TranscriptOptions, digest_of, import_transcript,
    recognize,
};
pub use report::{Tally, Tokens, TranscriptReport};
pub use rows::Repairs;
pub use walk::{Bundle, bundles};

use adapter::Adapter;

/// All formats; the first that takes a source reads it.
fn adapters() -> &'static [&'static dyn Adapter] {
    &[
        &claude::ClaudeSession,
        &codex::CodexRollout,
        &pi::PiSession,
        &swe::MiniTrajectory,
        &swe::SweTrajectory,
        &gemini::GeminiChat,
        &cline::ClineHistory,
    ]
}

/// Names of the formats, in the order in which they are tried.
pub fn formats() -> Vec<&'static str> {
    adapters().iter().map(|adapter| adapter.name()).collect()
}
