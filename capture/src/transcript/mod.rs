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
#[cfg(feature = "zip")]
mod archive;
mod atif;
mod chain;
mod chat;
mod claude;
mod cline;
mod codex;
mod gemini;
mod import;
mod inspect;
mod json;
mod langsmith;
mod opencode;
mod openhands;
mod otel;
mod pi;
mod plain;
#[cfg(feature = "protobuf")]
mod protobuf;
mod report;
mod rows;
mod scribe;
mod swe;
mod time;
mod traced;
#[cfg(feature = "yaml")]
mod vcr;
mod walk;
#[cfg(feature = "yaml")]
mod yaml;

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
        #[cfg(feature = "sqlite")]
        &opencode::OpencodeDatabase,
        &inspect::InspectLog,
        &opencode::OpencodeDocument,
        &claude::ClaudeSession,
        &codex::CodexRollout,
        &traced::ClaudeTrace,
        &traced::Lhar,
        &otel::OtelTrace,
        &atif::Atif,
        &swe::MiniTrajectory,
        &swe::SweTrajectory,
        &langsmith::LangSmith,
        &openhands::OpenHands,
        &pi::PiSession,
        &gemini::GeminiChat,
        &cline::ClineHistory,
        #[cfg(feature = "yaml")]
        &vcr::Cassette,
    ]
}

/// Names of the formats, in the order in which they are tried.
pub fn formats() -> Vec<&'static str> {
    adapters().iter().map(|adapter| adapter.name()).collect()
}
