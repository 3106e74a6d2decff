//! What caps leave of a text, kept for whoever asks again: a pure function of the text and the
//! caps' parameters, whichever request, recording or policy they come from.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use artifacts::ArtifactId;
use ledger::wire::Escape;

/// Names one application of caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoKey {
    /// The text.
    pub text: ArtifactId,
    /// How it is written.
    pub escape: Escape,
    /// SHA-256 of the caps' parameters.
    pub caps: [u8; 32],
}

/// A piece of a text after caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A range of the recorded text, in bytes.
    Kept(Range<usize>),
    /// A text of the cap with this place among the caps.
    Inserted(usize, String),
}

/// What caps leave of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped {
    /// In order.
    pub pieces: Vec<Piece>,
    /// Length of what is shown, as it is written.
    pub escaped_bytes: u64,
    /// Length of what is shown.
    pub shown_bytes: u64,
    /// Bytes of the recorded text that are left.
    pub kept_bytes: u64,
    /// What is shown is not the recorded text: a marker may happen to spell what it hides.
    pub differs: bool,
}

/// Keeps what was worked out. It may forget, and must not answer anything else than what was put.
pub trait Memo {
    /// What was put under `key`; the inner `None` says that the caps leave the text whole.
    fn get(&self, key: &MemoKey) -> Option<Option<Arc<Capped>>>;

    /// Keeps what the caps leave.
    fn put(&self, key: MemoKey, capped: Option<Arc<Capped>>);
}
