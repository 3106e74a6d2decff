//! Writes artifacts again, each as its difference to a similar one where that is much shorter.
//!
//! An agent that reads a file again after each edit leaves versions of it. Which artifacts are
//! alike is found out from the bytes alone: every window of 64 bytes has a hash, of one in 64 of
//! them the lowest are kept, and artifacts that share some of those share text. A base is stored
//! whole and stands in the same pack, so that a read takes at most one more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::encode::{Encoded, encode_delta};
use super::reader::StoreReader;
use super::store::Store;
use crate::error::{GetError, PutError};
use crate::frame::DELTA_RAW_BYTES_MAX;
use crate::id::ArtifactId;
use crate::source::Source as _;

/// Shorter artifacts are not looked at.
const RAW_BYTES_MIN: usize = 512;
/// Hashes that are kept of one artifact.
const MARKS_MAX: usize = 32;
/// So many hashes in common make two artifacts worth a try.
const MARKS_SHARED_MIN: usize = 2;
/// A difference is kept if it has at most this share of what the artifact has by itself. Above,
/// the artifact becomes a base for what comes after it.
const KEPT_PERCENT_MAX: usize = 50;
/// Bases whose bytes are kept at hand.
const BASES_HELD_MAX: usize = 16;

/// What became of the artifacts of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Artifacts that were written.
    pub artifacts: u64,
    /// Of them, those that are a difference to another.
    pub deltas: u64,
    /// Their stored lengths before, in bytes.
    pub before_bytes: u64,
    /// Their stored lengths now, without the dictionary.
    pub after_bytes: u64,
}

/// Writes artifacts into a store, similar ones as differences.
#[derive(Debug)]
pub struct Compaction<'a> {
    from: &'a StoreReader,
    bases: Bases,
    done: Compacted,
}

impl<'a> Compaction<'a> {
    /// Starts a compaction of artifacts of `from`.
    pub fn new(from: &'a StoreReader) -> Self {
        Self { from, bases: Bases::default(), done: Compacted::default() }
    }

    /// Writes one artifact into the pack that `into` is filling, unless it is there.
    ///
    /// # Errors
    /// The artifact is missing or damaged, or cannot be written.
    pub fn copy(&mut self, into: &mut Store, id: &ArtifactId) -> Result<(), PutError> {
        into.check_alive()?;
        if into.is_in_active(id) {
            return Ok(());
        }
        let reference = self.from.reference(id).ok_or(GetError::Missing { id: *id })?;
        let raw = self.from.read(&reference)?;
        let whole = into.encode(*id, &raw)?;
        let marks = marks(&raw);
        let delta = self.delta(into, *id, &raw, &marks, whole.stored.len())?;
        self.done.artifacts += 1;
        self.done.deltas += u64::from(delta.is_some());
        self.done.before_bytes += self.from.stored_bytes_of(id);
        let encoded = delta.unwrap_or(whole);
        self.done.after_bytes += encoded.stored.len() as u64;
        into.append(&encoded)?;
        if encoded.is_whole() {
            self.bases.add(*id, raw, marks);
        }
        Ok(())
    }

    /// Says what was done.
    pub fn done(&self) -> Compacted {
        self.done
    }

    /// The difference to the most similar artifact, if it is short enough.
    fn delta(
        &mut self,
        into: &mut Store,
        id: ArtifactId,
        raw: &[u8],
        marks: &[u64],
        whole_bytes: usize,
    ) -> Result<Option<Encoded>, PutError> {
        let Some(base) = self.bases.closest(marks).filter(|base| into.is_in_active(base)) else {
            return Ok(None);
        };
        let bytes = if let Some(bytes) = self.bases.held(&base) {
            bytes
        } else {
            let reference = self.from.reference(&base).ok_or(GetError::Missing { id: base })?;
            self.from.read(&reference)?
        };
        let delta = into.compressed(encode_delta(id, raw, (base, &bytes)))?;
        Ok(delta.filter(|delta| delta.stored.len() * 100 <= whole_bytes * KEPT_PERCENT_MAX))
    }
}

/// Artifacts that were written whole.
#[derive(Debug, Default)]
struct Bases {
    ids: Vec<ArtifactId>,
    /// The last base that has a mark.
    by_mark: HashMap<u64, usize>,
    /// Bytes of the last bases.
    held: Vec<(ArtifactId, Arc<[u8]>)>,
}

impl Bases {
    fn add(&mut self, id: ArtifactId, raw: Arc<[u8]>, marks: Vec<u64>) {
        if marks.is_empty() {
            return;
        }
        for mark in marks {
            self.by_mark.insert(mark, self.ids.len());
        }
        self.ids.push(id);
        if self.held.len() == BASES_HELD_MAX {
            self.held.remove(0);
        }
        self.held.push((id, raw));
    }

    /// The base with the most marks in common; of several, the last.
    fn closest(&self, marks: &[u64]) -> Option<ArtifactId> {
        let mut shared = BTreeMap::<usize, usize>::new();
        for base in marks.iter().filter_map(|mark| self.by_mark.get(mark)) {
            *shared.entry(*base).or_default() += 1;
        }
        let (base, count) = shared.into_iter().max_by_key(|(base, count)| (*count, *base))?;
        self.ids.get(base).copied().filter(|_| count >= MARKS_SHARED_MIN)
    }

    fn held(&self, id: &ArtifactId) -> Option<Arc<[u8]>> {
        self.held.iter().find(|(held, _)| held == id).map(|(_, raw)| Arc::clone(raw))
    }
}

/// A number per byte value for the rolling hash, from the golden ratio's splitmix sequence.
const GEAR: [u64; 256] = {
    let mut gear = [0_u64; 256];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut at = 0;
    while at < gear.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        #[expect(clippy::indexing_slicing, reason = "the loop ends with the table")]
        {
            gear[at] = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        }
        at += 1;
    }
    gear
};

/// The lowest hashes among those that one in 64 windows has.
fn marks(raw: &[u8]) -> Vec<u64> {
    if raw.len() < RAW_BYTES_MIN || raw.len() as u64 > DELTA_RAW_BYTES_MAX {
        return Vec::new();
    }
    let mut hash = 0_u64;
    let mut found = Vec::new();
    for byte in raw {
        // What a byte added is shifted out after 64 more.
        hash = (hash << 1).wrapping_add(GEAR.get(usize::from(*byte)).copied().unwrap_or_default());
        // The highest bits know the whole window.
        if hash >> 58 == 0 {
            found.push(hash.wrapping_mul(0xff51_afd7_ed55_8ccd));
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(MARKS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64) -> Vec<u8> {
        let line = |at: u64| format!("line {at} says {}\n", (at * 7919 + seed) % 10_007);
        (0..200).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn an_edited_text_shares_marks_and_another_does_not() {
        let text = lines(1);
        let mut edited = text.clone();
        edited.splice(1000..1010, *b"an edit of another length");
        let shared =
            |left: &[u64], right: &[u64]| left.iter().filter(|mark| right.contains(mark)).count();
        let (old, new) = (marks(&text), marks(&edited));
        assert!(old.len() == MARKS_MAX && shared(&old, &new) > MARKS_MAX / 2);
        assert!(shared(&old, &marks(&lines(2))) < MARKS_SHARED_MIN);
        assert!(marks(&text[..RAW_BYTES_MIN - 1]).is_empty());
    }
}
