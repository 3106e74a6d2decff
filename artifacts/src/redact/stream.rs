//! Redaction of a text that comes in pieces, in bounded memory.

use std::fmt;
use std::panic::AssertUnwindSafe;

use super::judge::Edge;
use super::scan::{Scan, Span, Window};
use super::withheld::{Failure, Withheld, tombstone};
use super::{Mode, Redaction, Redactor};

/// The longest span that a rule looks at: 64 KiB.
///
/// A stream holds back at most this much text and a little more, and what continues a secret
/// beyond it is text.
pub const MAXSPAN_BYTES: usize = 64 << 10;
/// A push is worked through in pieces of this length.
const PIECE_BYTES: usize = 64 << 10;

/// Redacts one text piece by piece.
///
/// The output, all of it together, and the redactions are those of the whole text, however it is
/// cut. When which bytes come out does depend on the pieces: text that could still become a
/// secret is held back, at most [`MAXSPAN_BYTES`] of it and what a look behind needs.
pub struct RedactStream<'r> {
    redactor: &'r Redactor,
    scan: Scan,
    /// Text that is not put out yet, and some that is, for looks behind.
    window: Vec<u8>,
    /// Where the window starts in the text.
    base: u64,
    /// Up to where the text was put out.
    done: u64,
    /// A candidate is looked at again when the window has this length, so that many small
    /// pieces do not cost a look each.
    look_again_bytes: usize,
    out_bytes: u64,
    redactions: Vec<Redaction>,
    /// Why nothing comes out any more.
    withheld: Option<Withheld>,
    withheld_bytes: u64,
}

impl<'r> RedactStream<'r> {
    pub(crate) fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            scan: Scan::new(redactor.known()),
            window: Vec::new(),
            base: 0,
            done: 0,
            look_again_bytes: 0,
            out_bytes: 0,
            redactions: Vec::new(),
            withheld: (redactor.mode == Mode::Withholding).then_some(Withheld::Unwanted),
            withheld_bytes: 0,
        }
    }

    /// Takes the next piece and appends what is decided to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if self.withheld.is_some() {
            self.withheld_bytes += chunk.len() as u64;
            return;
        }
        if !self.redactor.is_on() {
            self.out_bytes += chunk.len() as u64;
            out.extend_from_slice(chunk);
            return;
        }
        for piece in chunk.chunks(PIECE_BYTES) {
            self.window.extend_from_slice(piece);
            if self.withheld.is_some() || self.window.len() >= self.look_again_bytes {
                self.guarded(Edge::More, out);
            }
        }
    }

    /// Ends the text, appends the rest to `out`, and lists what was replaced.
    ///
    /// The offsets count from the start of the whole output. Where the search failed, a tombstone
    /// ends the output, and [`Redactor::take_failures`] tells of it.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<Redaction> {
        self.guarded(Edge::End, out);
        match self.withheld {
            Some(reason) if self.withheld_bytes > 0 => {
                let raw_bytes = self.withheld_bytes;
                self.redactor.locked().failed(Failure { reason, raw_bytes });
                out.extend(tombstone(reason, raw_bytes, false));
            }
            _ => self.redactor.locked().learn(self.scan.learned()),
        }
        std::mem::take(&mut self.redactions)
    }

    /// Decides, and lets nothing out any more if that goes wrong.
    fn guarded(&mut self, edge: Edge, out: &mut Vec<u8>) {
        if self.withheld.is_some() {
            self.keep_back();
            return;
        }
        let before = (out.len(), self.window.len());
        if std::panic::catch_unwind(AssertUnwindSafe(|| self.decide(edge, out))).is_err() {
            out.truncate(before.0);
            self.withheld = Some(Withheld::Failed);
            self.keep_back();
            self.withheld_bytes = self.withheld_bytes.max(before.1 as u64);
        }
    }

    fn keep_back(&mut self) {
        self.withheld_bytes += self.window.len() as u64;
        zeroize::Zeroize::zeroize(&mut self.window);
    }

    fn decide(&mut self, edge: Edge, out: &mut Vec<u8>) {
        let bytes = std::mem::take(&mut self.window);
        #[cfg(test)]
        super::tests::fail_if_asked(&bytes);
        let window = Window { bytes: &bytes, base: self.base, edge };
        let decided = self.scan.advance(&self.redactor.engine, &window);
        while let Some(span) = self.scan.next_final(decided) {
            self.keep(&window, span.start, out);
            self.replace(&window, span, out);
        }
        let settled = self.scan.settled(decided).max(self.done);
        self.keep(&window, settled, out);
        self.window = bytes;
        let keep_from = settled.saturating_sub(Scan::kept_bytes() as u64).max(self.base);
        let gone = usize::try_from(keep_from - self.base).unwrap_or(0).min(self.window.len());
        let more = self.scan.is_waiting().then_some(2 * (self.window.len() - gone));
        self.look_again_bytes = more.map_or(0, |n| n.min(MAXSPAN_BYTES + Scan::kept_bytes()));
        zeroize::Zeroize::zeroize(self.window.get_mut(..gone).unwrap_or_default());
        self.window.drain(..gone);
        self.base = keep_from;
    }

    /// Puts out text up to a place.
    fn keep(&mut self, window: &Window<'_>, to: u64, out: &mut Vec<u8>) {
        let bytes = slice(window, self.done, to);
        out.extend_from_slice(bytes);
        self.out_bytes += bytes.len() as u64;
        self.done = to.max(self.done);
    }

    fn replace(&mut self, window: &Window<'_>, span: Span, out: &mut Vec<u8>) {
        let secret = slice(window, span.start, span.end);
        let before = out.len();
        let redaction = self.redactor.write_placeholder(&span, secret, self.out_bytes, out);
        self.out_bytes += (out.len() - before) as u64;
        self.redactions.extend(redaction);
        self.done = span.end;
    }
}

fn slice<'a>(window: &Window<'a>, from: u64, to: u64) -> &'a [u8] {
    let local = |at: u64| usize::try_from(at.saturating_sub(window.base)).unwrap_or(usize::MAX);
    window.bytes.get(local(from)..local(to)).unwrap_or_default()
}

impl Drop for RedactStream<'_> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.window);
    }
}

impl fmt::Debug for RedactStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out_of_base = self.done - self.base;
        f.debug_struct("RedactStream")
            .field("held_bytes", &(self.window.len() as u64 - out_of_base))
            .field("out_bytes", &self.out_bytes)
            .field("redactions", &self.redactions.len())
            .finish()
    }
}
