//! Several steps over one text: what the one before has shown is what the next one looks at, and
//! the pieces stay ranges of the recorded text.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Piece, Shown};

/// A text on its way through steps.
#[derive(Clone, Debug)]
pub struct Chain<'t> {
    whole: &'t str,
    text: Cow<'t, str>,
    pieces: Vec<Piece>,
    hidden_bytes: u64,
    cut: bool,
}

impl<'t> Chain<'t> {
    /// Starts with a whole text.
    pub fn of(text: &'t str) -> Self {
        let pieces = match text.len() {
            0 => Vec::new(),
            bytes => Vec::from([Piece::Kept(0..bytes)]),
        };
        Self { whole: text, text: Cow::Borrowed(text), pieces, hidden_bytes: 0, cut: false }
    }

    /// What is shown so far; a lone half of a surrogate pair is U+FFFD.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True when a step has changed it.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Applies what a step leaves of [`Chain::text`].
    #[must_use]
    pub fn then(self, shown: &Shown) -> Self {
        let mut pieces = Vec::new();
        for piece in &shown.pieces {
            match piece {
                Piece::Kept(range) => pieces.extend(self.slice(range)),
                other => pieces.push(other.clone()),
            }
        }
        let text = joined(&pieces, self.whole);
        let hidden_bytes = self.hidden_bytes + shown.hidden_bytes;
        Self { text: Cow::Owned(text), pieces, hidden_bytes, cut: true, ..self }
    }

    /// What is left, as pieces of the whole text.
    pub fn into_shown(self) -> Shown {
        let kept: usize = self.pieces.iter().map(Piece::kept_bytes).sum();
        let all = self.pieces.iter().all(|piece| matches!(piece, Piece::Kept(_)));
        let hidden_bytes = if all || self.hidden_bytes > self.whole.len() as u64 {
            self.whole.len().saturating_sub(kept) as u64
        } else {
            self.hidden_bytes
        };
        Shown { pieces: self.pieces, hidden_bytes }
    }

    /// The pieces of a range of the shown text.
    fn slice(&self, range: &Range<usize>) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut at = 0;
        for piece in &self.pieces {
            let length = length(piece);
            let start = range.start.clamp(at, at + length) - at;
            let end = range.end.clamp(at, at + length) - at;
            at += length;
            if start == end {
                continue;
            }
            out.push(match piece {
                Piece::Kept(kept) => Piece::Kept(kept.start + start..kept.start + end),
                Piece::Inserted(text) => {
                    Piece::Inserted(text.get(start..end).unwrap_or_default().into())
                }
                // The step has looked at U+FFFD, and so that is what it leaves.
                Piece::Half(_) => Piece::Inserted(char::REPLACEMENT_CHARACTER.into()),
            });
        }
        out
    }
}

/// Bytes that a piece takes in the shown text.
fn length(piece: &Piece) -> usize {
    match piece {
        Piece::Kept(range) => range.len(),
        Piece::Inserted(text) => text.len(),
        Piece::Half(_) => char::REPLACEMENT_CHARACTER.len_utf8(),
    }
}

fn joined(pieces: &[Piece], whole: &str) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Kept(range) => out.push_str(whole.get(range.clone()).unwrap_or_default()),
            Piece::Inserted(text) => out.push_str(text),
            Piece::Half(_) => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out
}
