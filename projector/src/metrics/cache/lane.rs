//! The prefixes of one conversation: a hash and a sum of tokens behind each block.

use alloc::vec::Vec;

use super::{Ask, Charge, Section};

/// Message ends of other conversations that are looked for, from the first message on.
const SHARED_ENDS: usize = 8;

/// A prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix {
    hash: u64,
    tokens: u64,
}

/// A conversation as far as it was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    prefixes: Vec<Prefix>,
    scope: u64,
    salt: u64,
    /// Tokens that the last request had read or written.
    held: u64,
    sent: bool,
}

/// What the conversation's request before was, in short.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    /// Hash of the whole prompt.
    pub(super) hash: Option<u64>,
    /// Its blocks.
    pub(super) blocks: usize,
    /// Its tokens.
    pub(super) tokens: u64,
    /// What of it was kept.
    pub(super) held: u64,
    pub(super) scope: u64,
    pub(super) salt: u64,
}

/// Mixes two words; the finalizer of `SplitMix64`.
pub(in crate::metrics) fn mix(left: u64, right: u64) -> u64 {
    let mut word = left.rotate_left(5) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Lane {
    pub(super) fn clone_ends(&self) -> Ends {
        Ends {
            hash: self.prefixes.last().filter(|_| self.sent).map(|prefix| prefix.hash),
            blocks: self.prefixes.len(),
            tokens: self.total(),
            held: self.held,
            scope: self.scope,
            salt: self.salt,
        }
    }

    /// Replaces the blocks behind those that are kept.
    pub(super) fn extend(&mut self, ask: &Ask<'_>) {
        let same = self.sent && self.scope == ask.scope && self.salt == ask.salt;
        let kept = if same { ask.kept.min(self.prefixes.len()) } else { 0 };
        self.prefixes.truncate(kept);
        (self.scope, self.salt) = (ask.scope, ask.salt);
        let mut section = kept.checked_sub(1).and_then(|at| ask.blocks.get(at)).map(|b| b.section);
        let mut hash = self.prefixes.last().map_or(mix(ask.scope, 1), |prefix| prefix.hash);
        let mut tokens = self.total();
        for block in ask.blocks.get(kept..).unwrap_or_default() {
            if block.section == Section::Messages && section != Some(Section::Messages) {
                hash = mix(hash, ask.salt);
            }
            section = Some(block.section);
            hash = mix(hash, block.hash);
            tokens = tokens.saturating_add(block.tokens);
            self.prefixes.push(Prefix { hash, tokens });
        }
    }

    pub(super) fn finish(&mut self, ask: &Ask<'_>, charge: &Charge) {
        self.sent = true;
        self.scope = ask.scope;
        let [short, long] = charge.write;
        self.held = charge.read.saturating_add(short).saturating_add(long);
    }

    pub(super) fn len(&self) -> usize {
        self.prefixes.len()
    }

    pub(super) fn total(&self) -> u64 {
        self.tokens(self.prefixes.len())
    }

    /// Tokens of the first blocks.
    pub(super) fn tokens(&self, blocks: usize) -> u64 {
        let blocks = blocks.min(self.prefixes.len());
        blocks.checked_sub(1).and_then(|at| self.prefixes.get(at)).map_or(0, |p| p.tokens)
    }

    /// Hash of the first blocks.
    pub(super) fn hash(&self, blocks: usize) -> u64 {
        let blocks = blocks.min(self.prefixes.len());
        blocks.checked_sub(1).and_then(|at| self.prefixes.get(at)).map_or(0, |p| p.hash)
    }
}

/// The ends of the tools, of the system, and of the first messages: what conversations have
/// in common.
pub(super) fn section_ends(ask: &Ask<'_>) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut messages = 0;
    for (at, block) in ask.blocks.iter().enumerate() {
        let next = ask.blocks.get(at + 1).map(|next| next.section);
        let closes = match block.section {
            Section::Tools | Section::System => next != Some(block.section),
            Section::Messages => block.ends_message,
        };
        if !closes {
            continue;
        }
        messages += usize::from(block.section == Section::Messages);
        if messages > SHARED_ENDS {
            break;
        }
        ends.push(at + 1);
    }
    ends
}
