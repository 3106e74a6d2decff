//! Facts under the sequence numbers of their events.

use alloc::vec::Vec;

/// Values in the order of their sequence numbers, one per number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<T>(Vec<(u64, T)>);

impl<T> Default for Facts<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Facts<T> {
    /// Takes a fact, in its place; a second one with the same number is the same event.
    pub(super) fn add(&mut self, seq: u64, value: T) {
        if self.0.last().is_none_or(|(last, _)| *last < seq) {
            self.0.push((seq, value));
        } else if let Err(at) = self.0.binary_search_by_key(&seq, |(seq, _)| *seq) {
            self.0.insert(at, (seq, value));
        }
    }

    /// Takes all facts of another set.
    pub(super) fn join(&mut self, other: Self) {
        for (seq, value) in other.0 {
            self.add(seq, value);
        }
    }

    /// The earliest.
    pub fn first(&self) -> Option<&T> {
        self.0.first().map(|(_, value)| value)
    }

    /// The latest.
    pub fn last(&self) -> Option<&T> {
        self.0.last().map(|(_, value)| value)
    }

    /// Sequence number of the earliest.
    pub fn first_seq(&self) -> Option<u64> {
        self.0.first().map(|(seq, _)| *seq)
    }

    /// All of them with their sequence numbers.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.0.iter().map(|(seq, value)| (*seq, value))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
