//! Redaction of a text that comes in pieces, in bounded memory.

use std::fmt;

use super::anchor::Anchors;
use super::scan::{self, Edge, Progress, Span, Step};
use super::{Redaction, write_placeholder};

/// The longest span that a rule looks at: 64 KiB.
///
/// A stream holds back at most this much text, and what continues a secret beyond it is text.
pub const MAXSPAN_BYTES: usize = 64 << 10;
/// A push is worked through in pieces of this length.
const PIECE_BYTES: usize = 64 << 10;

/// Redacts one text piece by piece.
///
/// The output, all of it together, and the redactions are those of the whole text, however it is
/// cut. When which bytes come out does depend on the pieces: text that could still become a
/// secret is held back, at most [`MAXSPAN_BYTES`] of it.
pub struct RedactStream<'r> {
    anchors: &'r Anchors,
    progress: Progress,
    /// Text that is not put out yet.
    window: Vec<u8>,
    /// A candidate is looked at again when the window has this length, so that many small
    /// pieces do not cost a look each.
    look_again_bytes: usize,
    out_bytes: u64,
    redactions: Vec<Redaction>,
}

impl<'r> RedactStream<'r> {
    pub(crate) fn new(anchors: &'r Anchors) -> Self {
        Self {
            anchors,
            progress: Progress::new(),
            window: Vec::new(),
            look_again_bytes: 0,
            out_bytes: 0,
            redactions: Vec::new(),
        }
    }

    /// Takes the next piece and appends what is decided to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        for piece in chunk.chunks(PIECE_BYTES) {
            self.window.extend_from_slice(piece);
            if self.window.len() >= self.look_again_bytes {
                self.decide(Edge::More, out);
            }
        }
    }

    /// Ends the text, appends the rest to `out`, and lists what was replaced.
    ///
    /// The offsets count from the start of the whole output.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<Redaction> {
        self.decide(Edge::End, out);
        self.redactions
    }

    fn decide(&mut self, edge: Edge, out: &mut Vec<u8>) {
        let window = std::mem::take(&mut self.window);
        let mut from = 0;
        loop {
            match scan::step(self.anchors, &window, from, edge, &mut self.progress) {
                Step::Span(span) => {
                    self.keep(window.get(from..span.start).unwrap_or_default(), out);
                    self.replace(&window, span, out);
                    from = span.end;
                }
                Step::Hold { at, candidate } => {
                    self.keep(window.get(from..at).unwrap_or_default(), out);
                    self.window = window;
                    self.window.drain(..at);
                    self.progress.advance(at);
                    let doubled = (2 * self.window.len()).min(MAXSPAN_BYTES);
                    self.look_again_bytes = if candidate { doubled } else { 0 };
                    return;
                }
            }
        }
    }

    fn keep(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.out_bytes += bytes.len() as u64;
        self.progress.kept(bytes);
    }

    fn replace(&mut self, window: &[u8], span: Span, out: &mut Vec<u8>) {
        let secret = window.get(span.start..span.end).unwrap_or_default();
        let redaction = write_placeholder(span.rule, secret, self.out_bytes, out);
        self.out_bytes += redaction.bytes;
        self.redactions.push(redaction);
        self.progress.replaced();
    }
}

impl fmt::Debug for RedactStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactStream")
            .field("held_bytes", &self.window.len())
            .field("out_bytes", &self.out_bytes)
            .field("redactions", &self.redactions.len())
            .finish()
    }
}
