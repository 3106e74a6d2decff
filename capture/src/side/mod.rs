//! Reads what a client wrote beside the wire: transcripts, spill files, protocol streams.
//!
//! A request shows an output as the client cut it. The whole one is often in a file that the
//! client wrote at the same time. Each format has one [`Adapter`]; all of them say the same thing,
//! a [`Claim`]: the output of this call was this text. [`join`] decides which call of the
//! recording is meant, by id or by a file name in the sent text, never by likeness, and hands the
//! text to the recorder. Nothing here knows a policy.

pub(crate) mod acp;
pub mod archive;
mod cline;
mod codex_rollout;
mod error;
mod gemini_chat;
mod gemini_spill;
pub mod join;
mod lines;
mod mini_trajectory;
mod pi_session;
mod report;
mod spill;

use std::error::Error as _;
use std::io::BufRead;
use std::path::Path;

use ledger::recorder::{RecordError, Recorder};

pub use error::SideError;
pub use report::{SideNote, SideNoteKind, SideReport};

/// Longest line, document or spill file that is read, in bytes. What is longer is counted.
pub const RECORD_BYTES_MAX: usize = 256 << 20;

/// A file beside the wire.
pub struct SideFile<'f> {
    /// Its path inside the archive or folder, with `/` between the names.
    pub path: &'f str,
    /// Its bytes.
    pub reader: &'f mut dyn BufRead,
}

impl core::fmt::Debug for SideFile<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SideFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a source says of an output.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Which call is meant.
    pub call: Named<'a>,
    /// Record of the source (line, message, 0 for a file of its own), from 0.
    pub record: u64,
    /// The text.
    pub text: ClaimText<'a>,
}

/// How a source names a call.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// By the provider's id, perhaps with the client's own id of the conversation.
    Id {
        /// The id of the call.
        call: &'a str,
        /// The id of the conversation.
        session: Option<&'a str>,
    },
    /// By an id with the tool's name and two underscores before it.
    ToolAndId(&'a str),
    /// The id stands somewhere in a file name.
    InFileName,
    /// The path of the file stands in the text that was sent.
    ByPath,
}

/// How much a source has of an output.
#[derive(Clone, Copy, Debug)]
pub enum ClaimText<'a> {
    /// All of it, as the client had it before it budgeted.
    Whole(&'a str),
    /// Its beginning and its end, around a gap of the source's own.
    Ends(&'a str, &'a str),
}

/// Takes what an adapter finds.
pub trait Sink {
    /// An output.
    ///
    /// # Errors
    /// The recorder cannot write it.
    fn claim(&mut self, file: &SideFile<'_>, claim: &Claim<'_>) -> Result<(), SideError>;

    /// Something that the reader of a report should know.
    fn note(&mut self, kind: SideNoteKind);
}

/// Reads one format.
pub trait Adapter: Sync {
    /// Name of the format, as recorded with what is found.
    fn name(&self) -> &'static str;

    /// True for a file of this format, by its path and its first bytes.
    fn takes(&self, path: &str, head: &[u8]) -> bool;

    /// True when only files that a sent text names are given to it.
    fn only_named(&self) -> bool {
        false
    }

    /// Reads a file and hands what it says to `sink`. What cannot be understood is noted.
    ///
    /// # Errors
    /// The file cannot be read on, or what was found cannot be recorded.
    fn read(&self, file: &mut SideFile<'_>, sink: &mut dyn Sink) -> Result<(), SideError>;
}

/// All adapters; the first that takes a file reads it.
pub fn adapters() -> [&'static dyn Adapter; 8] {
    [
        &codex_rollout::CodexRollout,
        &acp::Acp,
        &mini_trajectory::MiniTrajectory,
        &pi_session::PiSession,
        &gemini_chat::GeminiChat,
        &gemini_spill::GeminiSpill,
        &cline::ClineMessages,
        &spill::Spill,
    ]
}

/// Reads a session, joins what it says to the calls that `recorder` has seen, and records it.
///
/// A session that cannot be read to its end is no error: the report says why, and what was found
/// before is recorded.
///
/// # Errors
/// A fact cannot be written.
pub fn read(session: &Path, recorder: &mut Recorder) -> Result<SideReport, RecordError> {
    let mut joiner = match join::Joiner::new(recorder) {
        Err(SideError::Record(error)) => return Err(error),
        Err(error) => return Ok(SideReport { stopped: Some(chain(&error)), ..Default::default() }),
        Ok(joiner) => joiner,
    };
    let stopped = match archive::read(session, &mut joiner) {
        Err(SideError::Record(error)) => return Err(error),
        Err(error) => Some(chain(&error)),
        Ok(()) => None,
    };
    Ok(SideReport { stopped, ..joiner.finish() })
}

/// An error with its causes, on one line.
fn chain(error: &SideError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// True when `path` ends in a name with this ending.
fn ends_in(path: &str, ending: &str) -> bool {
    path.len() > ending.len() && path.ends_with(ending)
}

/// True when a folder of `path` has this name.
fn below(path: &str, folder: &str) -> bool {
    let mut names = path.split('/');
    names.next_back();
    names.any(|name| name == folder)
}
