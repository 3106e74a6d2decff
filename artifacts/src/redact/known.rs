//! Values that are known to be secrets: handed over by the caller, or found before in the run.
//!
//! They are searched for as they are and in every encoding that programs print values in. A table
//! of eight-byte windows finds them: adding a value costs what the value is long, and the search
//! costs one look at a bit per byte, however many values there are. Of a value itself every
//! window is in the table, so that pieces of it are found, too: a cut output keeps a piece, and a
//! wrapped one keeps two.

use std::collections::{BTreeSet, HashMap};

use zeroize::Zeroize as _;

use super::judge::text::{Short, Text};
use super::judge::token::cut_off;
use super::judge::{Edge, Flags, Found};
use super::look::{self, Mix, fake};
use super::rules::Rule;
use super::scan::Window;

mod forms;

use forms::{Form, forms};

/// Bytes of a window; the shortest form of a value that is searched for.
pub(crate) const WINDOW_BYTES: usize = 8;
/// The longest value that is searched for; of longer ones, the beginning.
const VALUE_BYTES_MAX: usize = 4096;
/// Bits of the filter.
const BITS: usize = 1 << 18;
/// A piece of a value of at least this length is replaced wherever it stands.
const PIECE_BYTES_MIN: usize = 16;
/// Values of which all forms are searched for, and values at all.
const ENCODED_VALUES_MAX: usize = 512;
const VALUES_MAX: usize = 8192;
/// Entries of one window; a window that more values share tells nothing.
const ENTRIES_MAX: usize = 64;
/// A form is recognized by the window so far from its start: many tokens begin alike.
const WINDOW_AT: usize = 16;
/// How far a run of base64 around a value is replaced with it.
const BASE64_BEFORE_MAX: usize = 48;
const BASE64_BEHIND_MAX: usize = 4096;

/// A dictionary of known values.
#[derive(Clone, Default)]
pub(crate) struct Known {
    filter: Vec<u64>,
    table: HashMap<u64, Vec<Entry>>,
    forms: Vec<(Form, &'static Rule)>,
    values: BTreeSet<Vec<u8>>,
}

/// A window of a form.
#[derive(Clone, Copy)]
struct Entry {
    form: u32,
    at: u32,
}

/// A known value in a text.
pub(crate) struct Match {
    pub(crate) found: Found,
    pub(crate) rule: &'static Rule,
}

impl Known {
    pub(crate) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Values in it, for another dictionary.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&[u8], &'static Rule)> {
        let raw = self.forms.iter().filter(|(form, _)| form.is_value);
        raw.map(|(form, rule)| (form.bytes.as_slice(), *rule))
    }

    /// Adds a value and its forms; false if there is no room for it.
    pub(crate) fn add(&mut self, value: &[u8], rule: &'static Rule) -> bool {
        let encoded = self.values.len() < ENCODED_VALUES_MAX;
        self.add_forms(value, rule, encoded)
    }

    /// Adds a value that is only looked for as it is.
    pub(crate) fn add_plain(&mut self, value: &[u8], rule: &'static Rule) -> bool {
        self.add_forms(value, rule, false)
    }

    fn add_forms(&mut self, value: &[u8], rule: &'static Rule, encoded: bool) -> bool {
        let value = value.get(..VALUE_BYTES_MAX).unwrap_or(value);
        if value.len() < WINDOW_BYTES || self.values.len() >= VALUES_MAX {
            return false;
        }
        if !self.values.insert(value.to_vec()) {
            return true;
        }
        if self.filter.is_empty() {
            self.filter = vec![0; BITS / 64];
        }
        for form in forms(value, encoded) {
            let Ok(number) = u32::try_from(self.forms.len()) else { return false };
            let last = form.bytes.len() - WINDOW_BYTES;
            let windows =
                if form.is_value { 0..=last } else { last.min(WINDOW_AT)..=last.min(WINDOW_AT) };
            for at in windows {
                self.enter(&form.bytes, at, number);
            }
            self.forms.push((form, rule));
        }
        true
    }

    fn enter(&mut self, bytes: &[u8], at: usize, form: u32) {
        let Some(key) = window(bytes, at) else { return };
        let bit = bit(key);
        if let Some(word) = self.filter.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
        let entries = self.table.entry(key).or_default();
        if let (true, Ok(at)) = (entries.len() < ENTRIES_MAX, u32::try_from(at)) {
            entries.push(Entry { form, at });
        }
    }

    /// Finds the first known value or piece of one whose window starts in `from..to`. A span
    /// starts at most 64 bytes before its window.
    pub(crate) fn find(
        &self,
        text: &Window<'_>,
        from: usize,
        to: usize,
    ) -> Result<Option<(usize, Match)>, (usize, Short)> {
        for at in from..to {
            let Some(key) = window(text.bytes, at) else {
                return if text.edge == Edge::More { Err((at, Short)) } else { Ok(None) };
            };
            let bit = bit(key);
            let hit = self.filter.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1);
            if !hit {
                continue;
            }
            let Some(entries) = self.table.get(&key) else { continue };
            let mut best: Option<Match> = None;
            for entry in entries {
                let found = self.check(text, at, *entry).map_err(|short| (at, short))?;
                let longer = |found: &Match| {
                    best.as_ref().is_none_or(|best| {
                        found.found.end - found.found.start > best.found.end - best.found.start
                    })
                };
                best = found.filter(longer).or(best);
            }
            if let Some(best) = best {
                return Ok(Some((at, best)));
            }
        }
        Ok(None)
    }

    fn check(&self, window: &Window<'_>, at: usize, entry: Entry) -> Result<Option<Match>, Short> {
        let (Ok(number), Ok(inside)) = (usize::try_from(entry.form), usize::try_from(entry.at))
        else {
            return Ok(None);
        };
        let Some((form, rule)) = self.forms.get(number) else { return Ok(None) };
        let text = Text { bytes: window.bytes, edge: window.edge };
        let rest = form.bytes.get(inside..).unwrap_or_default();
        let here = window.bytes.get(at..).unwrap_or_default();
        let same = rest.iter().zip(here).take_while(|(a, b)| a == b).count();
        if same == here.len() && same < rest.len() && window.edge == Edge::More {
            return Err(Short);
        }
        let whole_start = at.checked_sub(inside);
        let whole = same == rest.len()
            && whole_start
                .is_some_and(|start| window.bytes.get(start..at) == form.bytes.get(..inside));
        if let (true, Some(start)) = (whole, whole_start) {
            let end = at + same;
            let flags = if form.is_value { Flags::default() } else { Flags::ENCODED };
            let (start, end) =
                if form.in_base64 { base64_run(&text, start, end)? } else { (start, end) };
            return Ok(Some(Match { found: Found { start, end, flags }, rule }));
        }
        if !form.is_value || !form.has_pieces {
            return Ok(None);
        }
        let end = at + same;
        let cut = same >= PIECE_BYTES_MIN
            || (inside == 0 && cut_off(&text, end)?)
            || (same == rest.len() && cut_before(window.bytes.get(..at).unwrap_or_default()));
        let found = Found { start: at, end, flags: Flags::TRUNCATED };
        Ok(cut.then_some(Match { found, rule }))
    }
}

/// The run of base64 around a stretch.
fn base64_run(text: &Text<'_>, start: usize, end: usize) -> Result<(usize, usize), Short> {
    let has =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let before = text.bytes.get(..start).unwrap_or_default();
    let length = before.iter().rev().take(BASE64_BEFORE_MAX).take_while(|byte| has(**byte)).count();
    Ok((start - length, text.run(end, BASE64_BEHIND_MAX, has)?))
}

/// Returns true if the text before says that something was left out there.
fn cut_before(before: &[u8]) -> bool {
    let trimmed = before.trim_ascii_end();
    [b"...".as_slice(), b"\xe2\x80\xa6", b"]", b">"].iter().any(|mark| trimmed.ends_with(mark))
}

fn window(bytes: &[u8], at: usize) -> Option<u64> {
    let window = bytes.get(at..at + WINDOW_BYTES)?;
    window.try_into().ok().map(u64::from_le_bytes)
}

fn bit(key: u64) -> usize {
    // The multiplier is the golden ratio's, which spreads neighbors.
    let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS.ilog2());
    usize::try_from(hash).unwrap_or(0)
}

/// Returns true if a value is worth knowing: long enough, and no word that texts have anyway.
pub(crate) fn can_be_known(value: &[u8]) -> bool {
    let mix = Mix::of(value);
    let number = mix.digit == value.len() && value.len() < 16;
    let word = fake::is_words(value) && !look::is_random(value) && value.len() < 24;
    value.len() >= WINDOW_BYTES && !number && !word && !fake::is_sequence(value)
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        for (form, _) in &mut self.forms {
            form.bytes.zeroize();
        }
        for mut value in std::mem::take(&mut self.values) {
            value.zeroize();
        }
    }
}
