//! Where the part of a conversation begins that a summary leaves alone.
//!
//! Each harness has its own walk; they differ at the message that crosses, in what a beginning may
//! be, and in what happens when nothing fits. Positions are indices of messages; the part that
//! stays begins at the returned one.

use alloc::vec::Vec;

/// A message, as far as a cut looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<K> {
    /// Who speaks.
    pub speaker: Speaker,
    /// Its size: estimated tokens, or what the walk counts.
    pub size: u64,
    /// The calls that it asks for.
    pub calls: Vec<K>,
    /// The calls whose results it holds.
    pub results: Vec<K>,
}

/// Who speaks in an [`Item`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The system.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool: a message of results.
    Tool,
}

/// The newest messages of at least `tokens`; the part never begins at a tool result. pi.
///
/// The message that reaches the number stays, and where it is a result, what stays begins at the
/// next message that is none. Where no message may begin it, everything stays; where nothing
/// reaches the number, what stays begins at the first message that may.
pub fn newest_to_reach<K>(items: &[Item<K>], tokens: u64) -> usize {
    let may_begin = |at: &usize| items.get(*at).is_some_and(|item| item.speaker != Speaker::Tool);
    let first = (0..items.len()).find(may_begin);
    let mut kept = 0;
    for (at, item) in items.iter().enumerate().rev() {
        kept += item.size;
        if kept >= tokens {
            return (at..items.len()).find(may_begin).or(first).unwrap_or(0);
        }
    }
    first.unwrap_or(0)
}

/// Where the turn begins that is cut at a position: at its message of the user, unless the cut is
/// there. `None`: no turn is cut in two. pi.
pub fn cut_turn<K>(items: &[Item<K>], at: usize) -> Option<usize> {
    let user = |item: &Item<K>| item.speaker == Speaker::User;
    if items.get(at).is_none_or(user) {
        return None;
    }
    items.get(..at)?.iter().rposition(user)
}

/// The first message of the user, results aside, before which at least a share of all sizes
/// stands. Gemini CLI.
///
/// Where there is none, everything goes if the conversation ends with a message of the model that
/// asks for no call, else what stays begins at the last message of the user.
pub fn behind_share<K>(items: &[Item<K>], gone_per_mille: u16) -> usize {
    let all: u128 = items.iter().map(|item| u128::from(item.size)).sum();
    let wanted = all * u128::from(gone_per_mille);
    let mut before = 0;
    let mut last = 0;
    for (at, item) in items.iter().enumerate() {
        if item.speaker == Speaker::User && item.results.is_empty() {
            if before * 1000 >= wanted {
                return at;
            }
            last = at;
        }
        before += u128::from(item.size);
    }
    match items.last() {
        Some(end) if end.speaker == Speaker::Assistant && end.calls.is_empty() => items.len(),
        _ => last,
    }
}

/// The newest `count` messages, but for tool groups: see [`safe_group`]. `LangChain`.
pub fn newest_messages<K: PartialEq>(items: &[Item<K>], count: u64) -> usize {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    match items.len().checked_sub(count) {
        None | Some(0) => 0,
        Some(at) => safe_group(items, at),
    }
}

/// The newest messages of at most `tokens`, but for tool groups: see [`safe_group`]. `LangChain`.
///
/// Where not even the last message fits, it stays; so does a message that is alone.
pub fn newest_that_fit<K: PartialEq>(items: &[Item<K>], tokens: u64) -> usize {
    if items.len() < 2 {
        return 0;
    }
    match newest_within(items, tokens.max(1)) {
        0 => 0,
        begin => safe_group(items, begin.min(items.len() - 1)),
    }
}

/// Where the longest end of at most `tokens` begins.
pub fn newest_within<K>(items: &[Item<K>], tokens: u64) -> usize {
    items.len() - within(items.iter().rev(), tokens)
}

/// Where the longest beginning of at most `tokens` ends.
pub fn oldest_within<K>(items: &[Item<K>], tokens: u64) -> usize {
    within(items.iter(), tokens)
}

fn within<'i, K: 'i>(items: impl Iterator<Item = &'i Item<K>>, tokens: u64) -> usize {
    let sums = items.scan(0_u64, |sum, item| {
        *sum = sum.saturating_add(item.size);
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= tokens).count()
}

/// A beginning that parts no call from its result. `LangChain`.
///
/// At a tool result, it moves back to the nearest message of the model that asked for any of the
/// results in a row from there; without one, it moves on behind that row.
pub fn safe_group<K: PartialEq>(items: &[Item<K>], at: usize) -> usize {
    let (before, behind) = items.split_at(at.min(items.len()));
    let row = behind.iter().take_while(|item| item.speaker == Speaker::Tool).count();
    if row == 0 {
        return at;
    }
    let results = || behind.iter().take(row).flat_map(|item| &item.results);
    let asks = |item: &Item<K>| item.calls.iter().any(|call| results().any(|key| key == call));
    before.iter().rposition(asks).unwrap_or(at + row)
}

#[cfg(test)]
mod tests;
