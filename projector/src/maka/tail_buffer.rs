//! The source's capture cap (F2): of a stream the newest whole lines stay. Unlike there, what is
//! dropped is counted, so that a reader knows how much he does not see.

use super::text::Text;

/// A buffer of the end of a stream.
#[derive(Clone, Debug)]
pub struct TailBuffer {
    cap: usize,
    kept: Text,
    /// The start of the kept text continues a line that was dropped: wait for its end.
    skipping: bool,
    fed: u64,
    dropped_unsafe: bool,
    dropped_partial_line: bool,
}

const LINE_FEED: u16 = 0x0a;

impl TailBuffer {
    /// A buffer of so many UTF-16 units.
    pub const fn new(cap: usize) -> Self {
        Self {
            cap,
            kept: Text::new(),
            skipping: false,
            fed: 0,
            dropped_unsafe: false,
            dropped_partial_line: false,
        }
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, chunk: &Text) {
        self.fed += super::ruler::wide(chunk.len());
        let mut chunk = chunk.clone();
        if self.skipping {
            let Some(end) = chunk.units().iter().position(|unit| *unit == LINE_FEED) else {
                return;
            };
            self.skipping = false;
            chunk = chunk.slice(end + 1, chunk.len());
        }
        self.kept.push(&chunk);
        // Room for twice the cap, so that a long stream is not copied at every piece.
        if self.kept.len() > self.cap.saturating_mul(2) {
            self.trim();
        }
    }

    /// What is kept.
    pub fn value(&mut self) -> &Text {
        self.trim();
        &self.kept
    }

    fn trim(&mut self) {
        let start = self.kept.len().saturating_sub(self.cap);
        if start == 0 {
            return;
        }
        // The source takes the first line of the window for a partial one, even where the cut
        // falls right behind a line feed.
        let rest = self.kept.units().get(start..).unwrap_or_default();
        let end = rest.iter().position(|unit| *unit == LINE_FEED);
        self.dropped_partial_line = true;
        if let Some(end) = end {
            self.kept = self.kept.slice(start + end + 1, self.kept.len());
        } else {
            self.kept = Text::new();
            self.skipping = true;
            self.dropped_unsafe = true;
        }
    }

    /// Units that were fed.
    pub fn fed_units(&self) -> u64 {
        self.fed
    }

    /// Units that were fed and are not kept.
    pub fn dropped_units(&self) -> u64 {
        self.fed - super::ruler::wide(self.kept.len())
    }

    /// Some part of a line was dropped that was longer than the cap.
    pub fn has_dropped_unsafe(&self) -> bool {
        self.dropped_unsafe
    }

    /// A line was dropped in part.
    pub fn has_dropped_partial_line(&self) -> bool {
        self.dropped_partial_line
    }
}
