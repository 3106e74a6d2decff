//! Values that are known to be secrets: handed over by the caller, or found before in the run.
//!
//! They are searched for as they are and in every encoding that programs print values in. A table
//! of windows finds them: adding a value costs what the value is long, and the search costs a look
//! at two bits for every fourth byte, however many values there are. Of a value itself every
//! window is in the table, so that pieces of it are found, too: a cut output keeps a piece, and a
//! wrapped one keeps two.
//!
//! Windows are looked at where they start at a multiple of four in the whole text, however that
//! is cut. Four windows in a row, of eight bytes or, in short forms, of five, hold one of those.

use std::collections::{BTreeSet, HashMap};

use zeroize::Zeroize as _;

use super::judge::text::{Short, Text};
use super::judge::token::cut_off;
use super::judge::{Edge, Flags, Found, LEAD_BYTES};
use super::look::{self, Mix, fake};
use super::rules::Rule;
use super::scan::Window;

mod forms;

use forms::{Coding, Form, forms};

/// The shortest form of a value that is searched for.
pub(crate) const FORM_BYTES_MIN: usize = 8;
/// Bytes of a window, and of one in a form that is shorter than [`LONG_BYTES_MIN`].
pub(crate) const WINDOW_BYTES: usize = 8;
const SHORT_WINDOW_BYTES: usize = 5;
/// How far apart the windows are that are looked at.
const STRIDE: usize = 4;
/// The shortest form in which a long window stands wherever it starts.
const LONG_BYTES_MIN: usize = WINDOW_BYTES + STRIDE - 1;
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
    /// Windows of five bytes are told from the others by their highest byte.
    table: HashMap<u64, Vec<Entry>>,
    has_short: bool,
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

    /// Returns true if the value is in it.
    pub(crate) fn has(&self, value: &[u8]) -> bool {
        self.values.contains(value)
    }

    /// Values in it, for another dictionary.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&[u8], &'static Rule)> {
        let raw = self.forms.iter().filter(|(form, _)| form.is_value());
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
        if value.len() < FORM_BYTES_MIN || self.values.len() >= VALUES_MAX {
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
            let is_short = form.bytes.len() < LONG_BYTES_MIN;
            let window_bytes = if is_short { SHORT_WINDOW_BYTES } else { WINDOW_BYTES };
            let last = form.bytes.len() - window_bytes;
            let first = if form.is_value() { 0 } else { WINDOW_AT.min(last + 1 - STRIDE) };
            let windows = if form.is_value() { first..=last } else { first..=first + STRIDE - 1 };
            self.has_short |= is_short;
            for at in windows {
                self.enter(&form.bytes, at, number, is_short);
            }
            if form.is_value() && !is_short {
                // A short piece is looked for at the ends only.
                let last = form.bytes.len() - SHORT_WINDOW_BYTES;
                for at in (0..STRIDE).chain(last + 1 - STRIDE..=last) {
                    self.enter(&form.bytes, at, number, true);
                }
                self.has_short = true;
            }
            self.forms.push((form, rule));
        }
        true
    }

    fn enter(&mut self, bytes: &[u8], at: usize, form: u32, is_short: bool) {
        let key = if is_short { short_window(bytes, at) } else { window(bytes, at) };
        let Some(key) = key else { return };
        let bit = bit(key);
        if let Some(word) = self.filter.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
        let entries = self.table.entry(key).or_default();
        if let (true, Ok(at)) = (entries.len() < ENTRIES_MAX, u32::try_from(at)) {
            entries.push(Entry { form, at });
        }
    }

    /// Finds the first known value or piece of one with a window in `from..to`. A span starts at
    /// most [`LEAD_BYTES`] before its window.
    pub(crate) fn find(
        &self,
        text: &Window<'_>,
        from: usize,
        to: usize,
    ) -> Result<Option<(usize, Match)>, (usize, Short)> {
        if self.forms.is_empty() {
            return Ok(None);
        }
        let base = usize::try_from(text.base % STRIDE as u64).unwrap_or(0);
        let mut at = (from + base).next_multiple_of(STRIDE) - base;
        while at < to {
            let Some(key) = window(text.bytes, at) else { return self.at_end(text, at, to) };
            let short = short_key(key);
            if self.may_hold(key) || (self.has_short && self.may_hold(short)) {
                let best = self.best(text, at, &[key, short]).map_err(|short| (at, short))?;
                if let Some(best) = best {
                    return Ok(Some((at, best)));
                }
            }
            at += STRIDE;
        }
        Ok(None)
    }

    /// The last windows of a text, of which there may be more.
    fn at_end(
        &self,
        text: &Window<'_>,
        from: usize,
        to: usize,
    ) -> Result<Option<(usize, Match)>, (usize, Short)> {
        for at in (from..to).step_by(STRIDE) {
            if text.edge == Edge::More {
                return Err((at, Short));
            }
            let Some(key) = short_window(text.bytes, at) else { break };
            if let Some(best) = self.best(text, at, &[key]).map_err(|short| (at, short))? {
                return Ok(Some((at, best)));
            }
        }
        Ok(None)
    }

    fn may_hold(&self, key: u64) -> bool {
        let bit = bit(key);
        self.filter.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// The longest of what the windows at a place belong to.
    fn best(&self, text: &Window<'_>, at: usize, keys: &[u64]) -> Result<Option<Match>, Short> {
        let mut best: Option<Match> = None;
        for entry in keys.iter().filter_map(|key| self.table.get(key)).flatten() {
            let found = self.check(text, at, *entry)?;
            let longer = |found: &Match| {
                best.as_ref().is_none_or(|best| {
                    found.found.end - found.found.start > best.found.end - best.found.start
                })
            };
            best = found.filter(longer).or(best);
        }
        Ok(best)
    }

    fn check(&self, window: &Window<'_>, at: usize, entry: Entry) -> Result<Option<Match>, Short> {
        let (Ok(number), Ok(inside)) = (usize::try_from(entry.form), usize::try_from(entry.at))
        else {
            return Ok(None);
        };
        let Some((form, rule)) = self.forms.get(number) else { return Ok(None) };
        let text = Text { bytes: window.bytes, edge: window.edge };
        // The text before the window is the form's as well, as far as that goes.
        let before = form.bytes.get(..inside).unwrap_or_default();
        let back = before.iter().rev().zip(window.bytes.get(..at).unwrap_or_default().iter().rev());
        let back = back.take(LEAD_BYTES).take_while(|(a, b)| a == b).count();
        let (start, inside) = (at - back, inside - back);
        let rest = form.bytes.get(inside..).unwrap_or_default();
        let here = window.bytes.get(start..).unwrap_or_default();
        let same = rest.iter().zip(here).take_while(|(a, b)| a == b).count();
        if same == here.len() && same < rest.len() && window.edge == Edge::More {
            return Err(Short);
        }
        let end = start + same;
        if inside == 0 && same == rest.len() {
            let (start, end) = if form.coding == Coding::Base64 {
                base64_run(&text, start, end)?
            } else {
                (start, end)
            };
            let found = Found { start, end, flags: form.flags() };
            return Ok(unescaped(window.bytes, found, rule));
        }
        // A long value of which the text before was put out already is a piece here.
        if !form.is_value() {
            return Ok(None);
        }
        let at_start = inside == 0 && cut_off(&text, end)?;
        let at_end =
            same == rest.len() && cut_before(window.bytes.get(..start).unwrap_or_default());
        let piece = form.has_pieces && (same >= PIECE_BYTES_MIN || at_end);
        let found = Found { start, end, flags: Flags::TRUNCATED };
        let cut = same >= FORM_BYTES_MIN && (piece || at_start);
        Ok(if cut { unescaped(window.bytes, found, rule) } else { None })
    }
}

/// A match that leaves the escapes around it whole: the `n` of `\n` stays, or what is left would
/// be no escape.
fn unescaped(text: &[u8], mut found: Found, rule: &'static Rule) -> Option<Match> {
    let before = text.get(..found.start).unwrap_or_default();
    let backslashes = |text: &[u8]| {
        let last = text.iter().rev().take(LEAD_BYTES);
        last.take_while(|byte| **byte == b'\\').count()
    };
    let letter = text.get(found.start).is_some_and(|byte| b"nrtbfu\"\\/".contains(byte));
    if letter && !backslashes(before).is_multiple_of(2) {
        found.start += 1;
    }
    // A quotation mark at an end can be the one around it.
    while text.get(found.start) == Some(&b'"') && found.start < found.end {
        found.start += 1;
    }
    while found.end > found.start && text.get(found.end - 1) == Some(&b'"') {
        found.end -= 1;
    }
    // Where the structure of JSON stands inside, only the text behind it is sure to be a text.
    let inside = text.get(found.start..found.end)?;
    let joins = |pair: &[u8]| {
        matches!(pair, [b'"', b':' | b',' | b'}' | b']'] | [b'{' | b'[' | b',' | b':', b'"'])
    };
    let is_piece = found.flags == Flags::TRUNCATED;
    let is_json = matches!((inside.first(), inside.last()), (Some(b'{' | b'['), Some(b'}' | b']')));
    if is_piece || (!is_json && inside.windows(2).any(joins)) {
        let quote = inside.iter().rposition(|byte| *byte == b'"');
        found.start += quote.map_or(0, |at| at + 1);
    }
    // Nor does the beginning of one go with it.
    if !backslashes(text.get(found.start..found.end)?).is_multiple_of(2) {
        found.end -= 1;
    }
    (found.start < found.end).then_some(Match { found, rule })
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

/// A window of five bytes; no window of eight bytes of text is like it, as none ends in 0xff.
fn short_window(bytes: &[u8], at: usize) -> Option<u64> {
    let mut window = [0; WINDOW_BYTES];
    let short = bytes.get(at..at + SHORT_WINDOW_BYTES)?;
    window.get_mut(..SHORT_WINDOW_BYTES)?.copy_from_slice(short);
    Some(short_key(u64::from_le_bytes(window)))
}

const fn short_key(window: u64) -> u64 {
    (window & 0x00ff_ffff_ffff) | 0xff00_0000_0000_0000
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
    value.len() >= FORM_BYTES_MIN && !number && !word && !fake::is_sequence(value)
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
