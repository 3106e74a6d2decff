//! Compares two texts word by word: a word may differ where a rule or its own looks say that it
//! is an id or a number of the run.

use super::rules::{Rules, TextRule, Varies};

/// Shortest word that is an id by its looks alone: letters and digits, both among them.
const RANDOM_CHARS_MIN: usize = 12;
/// Groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// A word that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) own: &'t str,
    pub(super) other: &'t str,
    /// What it is.
    pub(super) varies: Varies,
    pub(super) by: By,
}

/// Who says that a word may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A rule, by its place in the list.
    Rule(usize),
    /// A pair that was declared.
    Pair,
    /// Its looks.
    Looks,
}

/// Where two texts part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parted {
    /// Bytes that both have in common from the start (of each, up to the last tolerated word).
    pub(super) own_at: usize,
    pub(super) other_at: usize,
}

/// Calls `word` with every word that differs and may; an error where the texts part otherwise, or
/// where `word` says so.
pub(super) fn compare<'t>(
    own: &'t str,
    other: &'t str,
    rules: &Rules,
    word: &mut dyn FnMut(Word<'t>) -> bool,
) -> Result<(), Parted> {
    let (mut own_at, mut other_at) = (0, 0);
    loop {
        let (left, right) = (rest(own, own_at), rest(other, other_at));
        let same = common(left, right);
        if same == left.len() && same == right.len() {
            return Ok(());
        }
        let parted = Parted { own_at: own_at + same, other_at: other_at + same };
        let found = differing(own, other, parted, rules).ok_or(parted)?;
        let (found, own_end, other_end) = found;
        if !word(found) {
            return Err(parted);
        }
        (own_at, other_at) = (own_end, other_end);
    }
}

/// The word around the place where the texts part, and where it ends in each.
fn differing<'t>(
    own: &'t str,
    other: &'t str,
    at: Parted,
    rules: &Rules,
) -> Option<(Word<'t>, usize, usize)> {
    if let Some(found) = rules.pairs.iter().find_map(|pair| paired(own, other, at, pair)) {
        return Some(found);
    }
    // What stands before the place is the same in both, so a word begins equally far back.
    for (index, rule) in rules.texts.iter().enumerate() {
        let is_part = |c: char| match rule.varies {
            Varies::Id => c.is_ascii_alphanumeric() || c == '-',
            Varies::Number => c.is_ascii_digit() || matches!(c, '.' | ','),
        };
        let (a, b) =
            (within(own, at.own_at, rule, is_part), within(other, at.other_at, rule, is_part));
        if let (Some(a), Some(b)) = (a, b) {
            let (own, other) = (own.get(a.0..a.1)?, other.get(b.0..b.1)?);
            return Some((Word { own, other, varies: rule.varies, by: By::Rule(index) }, a.1, b.1));
        }
    }
    let looks = |is_part: fn(char) -> bool, is_id: fn(&str) -> bool| {
        let (a, b) = (around(own, at.own_at, is_part), around(other, at.other_at, is_part));
        let (own, other) = (own.get(a.0..a.1)?, other.get(b.0..b.1)?);
        let both = own.len() == other.len() && is_id(own) && is_id(other);
        both.then_some((Word { own, other, varies: Varies::Id, by: By::Looks }, a.1, b.1))
    };
    looks(|c| c.is_ascii_hexdigit() || c == '-', is_uuid)
        .or_else(|| looks(|c| c.is_ascii_alphanumeric(), is_random))
}

/// The words of a declared pair around a place. The two part where the texts do, so that they
/// begin as far before it as they have in common.
fn paired<'t>(
    own: &'t str,
    other: &'t str,
    at: Parted,
    (left, right): &(String, String),
) -> Option<(Word<'t>, usize, usize)> {
    let same = common(left, right);
    let from = (at.own_at.checked_sub(same)?, at.other_at.checked_sub(same)?);
    let (a, b) = (own.get(from.0..)?, other.get(from.1..)?);
    if !a.starts_with(left.as_str()) || !b.starts_with(right.as_str()) {
        return None;
    }
    let (own, other) = (a.get(..left.len())?, b.get(..right.len())?);
    let word = Word { own, other, varies: Varies::Id, by: By::Pair };
    Some((word, from.0 + left.len(), from.1 + right.len()))
}

fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Bytes, whole characters, that both begin with.
fn common(own: &str, other: &str) -> usize {
    let pairs = own.bytes().zip(other.bytes());
    let same = pairs.take_while(|(a, b)| a == b).count();
    own.floor_char_boundary(same)
}

/// The stretch around a place that stands where a rule says, and is no more than that: what stands
/// before it may be made of the same characters.
fn within(
    text: &str,
    at: usize,
    rule: &TextRule,
    is_part: impl Fn(char) -> bool,
) -> Option<(usize, usize)> {
    let (first, last) = around(text, at, &is_part);
    let from = first.saturating_sub(rule.before.len());
    let before = text.get(text.floor_char_boundary(from)..at)?;
    let start = text.floor_char_boundary(from) + before.rfind(&rule.before)? + rule.before.len();
    let behind = text.get(at..)?;
    let end = match rule.behind.as_str() {
        "" => last,
        word => at + behind.find(word).filter(|end| at + end <= last)?,
    };
    (first <= start && start < end).then_some((start, end))
}

/// The stretch around a place whose characters are all part of it.
fn around(text: &str, at: usize, is_part: impl Fn(char) -> bool) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let start = before.len() - before.chars().rev().take_while(|c| is_part(*c)).count();
    let behind = rest(text, at).chars().take_while(|c| is_part(*c)).count();
    // All parts are ASCII, so that characters are bytes.
    (start, at + behind)
}

fn is_uuid(word: &str) -> bool {
    let groups = word.split('-');
    groups.map(str::len).eq(UUID_GROUPS) && word.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

fn is_random(word: &str) -> bool {
    word.len() >= RANDOM_CHARS_MIN
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}
