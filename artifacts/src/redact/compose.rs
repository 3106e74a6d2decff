//! Redactions of a text that was redacted more than once, as if it had been once.

use super::{Redacted, Redaction};

impl Redacted<'_> {
    /// This text redacted once more, with the redactions of both.
    pub(super) fn followed_by(self, second: Redacted<'static>) -> Self {
        if self.withheld.is_some() || !second.is_changed() {
            return self;
        }
        let Redacted { bytes, redactions, withheld } = second;
        Self { bytes, redactions: compose(&self.redactions, redactions), withheld }
    }

    /// The same bytes, with what was replaced in them before they came here as a text of their
    /// own.
    ///
    /// Offsets and lengths are those of this text.
    #[must_use]
    pub fn with_earlier(mut self, earlier: &[Redaction]) -> Self {
        self.redactions = compose(earlier, std::mem::take(&mut self.redactions));
        self
    }
}

/// Redactions of the raw text, where `first` turned it into the one that `second` speaks of.
fn compose(first: &[Redaction], second: Vec<Redaction>) -> Vec<Redaction> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let mut left = first.iter().peekable();
    // What the second pass added, up to the place at hand.
    let mut grown = 0_i128;
    let moved = |at: u64, by: i128| u64::try_from(i128::from(at) + by).unwrap_or(at);
    for mut later in second {
        let start = moved(later.offset, -grown);
        let end = start.saturating_add(later.raw_bytes);
        while let Some(earlier) = left.next_if(|it| it.offset + it.bytes <= start) {
            all.push(Redaction { offset: moved(earlier.offset, grown), ..*earlier });
        }
        grown += i128::from(later.bytes) - i128::from(later.raw_bytes);
        while let Some(inside) = left.next_if(|it| it.offset < end) {
            let more = i128::from(inside.raw_bytes) - i128::from(inside.bytes);
            later.raw_bytes = moved(later.raw_bytes, more);
            let more = i128::from(inside.text_bytes.1) - i128::from(inside.text_bytes.0);
            later.text_bytes.1 = moved(later.text_bytes.1, more);
        }
        all.push(later);
    }
    all.extend(left.map(|it| Redaction { offset: moved(it.offset, grown), ..*it }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Flags;

    fn span(offset: u64, bytes: u64, raw_bytes: u64) -> Redaction {
        let (text_bytes, flags) = ((bytes, raw_bytes), Flags::default());
        Redaction { rule: 1, offset, bytes, raw_bytes, text_bytes, flags }
    }

    #[test]
    fn two_passes_add_up() {
        // ..AAAA....BBBB.. with 2 and 6 raw bytes, then four bytes between them grow to ten.
        let first = [span(2, 4, 2), span(10, 4, 6)];
        let between = compose(&first, vec![span(6, 10, 4)]);
        assert_eq!(between, [span(2, 4, 2), span(6, 10, 4), span(16, 4, 6)]);
        // One that holds the first of them.
        assert_eq!(compose(&first, vec![span(1, 8, 6)]), [span(1, 8, 4), span(12, 4, 6)]);
        assert_eq!(compose(&first, Vec::new()), first);
        assert_eq!(compose(&[], vec![span(1, 2, 3)]), [span(1, 2, 3)]);
    }
}
