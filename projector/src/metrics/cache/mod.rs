//! Which tokens of a prompt a provider would have read from its cache, and which it would have
//! kept for later, request after request.
//!
//! A prompt is a list of blocks in the order in which the provider reads them: tools, system,
//! messages. A prefix is named by a hash over its blocks. The simulation is what a
//! [`Rulebook`] says, without luck: providers evict and route as they like, so that it is an
//! upper bound on what is read where a provider promises nothing.

mod broken;
mod lane;
mod places;

use alloc::collections::BTreeMap;

pub use broken::{Break, Cause};
use lane::Lane;
pub(super) use lane::mix;
use places::Places;

use super::rulebook::{Rulebook, Scheme, Trait};

/// Which part of a prompt a block is of. The order is that of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Tool definitions.
    Tools,
    /// System text.
    System,
    /// Messages.
    Messages,
}

/// What a block is, where the rules make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Text of the client: of the system, or of a person.
    Input,
    /// Text of the model.
    Model,
    /// A tool call.
    Call,
    /// A tool result.
    Result,
}

/// A block of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// A hash of its content: equal content, equal hash.
    pub hash: u64,
    /// Its tokens.
    pub tokens: u64,
    /// Where it stands.
    pub section: Section,
    /// What it is.
    pub said: Said,
    /// A mark on it, with its class of lifetime.
    pub mark: Option<u8>,
    /// It is the last block of its message.
    pub ends_message: bool,
}

/// A request that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The conversation.
    pub lane: u32,
    /// What has to be equal for anything to be found: model and account.
    pub scope: u64,
    /// Parameters that are part of the prompt before the messages (choice of tools, thinking).
    pub salt: u64,
    /// Fewest tokens that are kept.
    pub minimum_tokens: u64,
    /// When it was sent, milliseconds on any clock; `None`: no lifetime ever ends.
    pub at_ms: Option<u64>,
    /// When the answer began, from which on others can read what it wrote.
    pub readable_ms: Option<u64>,
    /// The class of lifetime of a mark on the request as a whole, if it has one.
    pub automatic: Option<u8>,
    /// The implicit place is switched off.
    pub explicit_only: bool,
    /// The class of lifetime that the request asks for as a whole.
    pub class: u8,
    /// How many leading blocks are those of the conversation's request before.
    pub kept: usize,
    /// Tokens of the common beginning with the conversation's request before, to the byte.
    pub shared_tokens: Option<u64>,
    /// The policy has changed this request.
    pub changed: bool,
    /// All blocks.
    pub blocks: &'a [Block],
}

/// What a provider would have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to it, by class of lifetime.
    pub write: [u64; 2],
    /// All others.
    pub uncached: u64,
    /// The provider would have refused the request: too many marks, or a longer lifetime behind
    /// a shorter one. It is counted as if the marks too many were not there.
    pub refused: bool,
    /// What was kept and is not read again.
    pub broke: Option<Break>,
}

impl Charge {
    /// All tokens of input.
    pub fn input(&self) -> u64 {
        let [short, long] = self.write;
        self.read.saturating_add(short).saturating_add(long).saturating_add(self.uncached)
    }
}

/// Something that is kept.
#[derive(Clone, Copy, Debug)]
struct Entry {
    tokens: u64,
    /// Number of the request that has used it last.
    used: u64,
    used_ms: Option<u64>,
    written_ms: Option<u64>,
    readable_ms: Option<u64>,
    class: u8,
}

/// The cache of a provider, over the requests of a run in the order of their times.
#[derive(Clone, Debug)]
pub struct Simulator<'r> {
    book: &'r Rulebook,
    kept: BTreeMap<u64, Entry>,
    lanes: BTreeMap<u32, Lane>,
    requests: u64,
}

impl<'r> Simulator<'r> {
    /// An empty cache.
    pub fn new(book: &'r Rulebook) -> Self {
        Self { book, kept: BTreeMap::new(), lanes: BTreeMap::new(), requests: 0 }
    }

    /// Sends a request.
    pub fn send(&mut self, ask: &Ask<'_>) -> Charge {
        self.requests += 1;
        let mut lane = self.lanes.remove(&ask.lane).unwrap_or_default();
        let before = lane.clone_ends();
        lane.extend(ask);
        let places = Places::of(self.book, ask);
        let mut charge = match self.book.scheme {
            Scheme::Breakpoints => self.breakpoints(ask, &lane, &places),
            Scheme::Prefix => self.prefix(ask, &lane, &before),
            Scheme::Units => self.units(ask, &lane, &before),
        };
        charge.refused = places.refused;
        charge.broke = broken::find(self, ask, &lane, &before, &charge, &places);
        lane.finish(ask, &charge);
        self.lanes.insert(ask.lane, lane);
        charge
    }

    fn entry(&self, hash: u64, ask: &Ask<'_>) -> Option<&Entry> {
        let entry = self.kept.get(&hash).filter(|entry| !self.has_ended(entry, ask))?;
        let waits = ask.at_ms.zip(entry.readable_ms).is_some_and(|(now, from)| now < from);
        (!waits).then_some(entry)
    }

    /// True when the lifetime of an entry is over.
    fn has_ended(&self, entry: &Entry, ask: &Ask<'_>) -> bool {
        let Some(now) = ask.at_ms else { return false };
        let since = |ms: Option<u64>| ms.map_or(0, |ms| now.saturating_sub(ms));
        let Some(class) = self.book.ttl.get(usize::from(entry.class)) else { return false };
        let life = self.book.life_max_seconds;
        since(entry.used_ms) > class.seconds.saturating_mul(1000)
            || life.is_some_and(|life| since(entry.written_ms) > life.saturating_mul(1000))
    }

    /// Keeps a prefix, or uses it again.
    fn keep(&mut self, hash: u64, tokens: u64, class: u8, ask: &Ask<'_>) {
        let old = self.kept.get(&hash).filter(|entry| !self.has_ended(entry, ask)).copied();
        let new = Entry {
            tokens,
            used: self.requests,
            used_ms: ask.at_ms,
            written_ms: ask.at_ms,
            readable_ms: ask.readable_ms,
            class,
        };
        let entry = match old {
            Some(old) => Entry {
                written_ms: old.written_ms,
                readable_ms: old.readable_ms.min(new.readable_ms),
                class: old.class.max(class),
                ..new
            },
            None => new,
        };
        self.kept.insert(hash, entry);
    }

    /// Uses what was read once more, which begins its lifetime anew.
    fn touch(&mut self, hash: u64, ask: &Ask<'_>) {
        let requests = self.requests;
        if let Some(entry) = self.kept.get_mut(&hash) {
            entry.used = requests;
            entry.used_ms = ask.at_ms;
        }
    }

    fn breakpoints(&mut self, ask: &Ask<'_>, lane: &Lane, places: &Places) -> Charge {
        let mut found: Option<(u64, u64)> = None;
        for hash in places.looked_at(self.book, ask, lane) {
            let Some(entry) = self.entry(hash, ask) else { continue };
            if entry.tokens < ask.minimum_tokens || !self.is_recent(entry) {
                continue;
            }
            if found.is_none_or(|(_, tokens)| entry.tokens > tokens) {
                found = Some((hash, entry.tokens));
            }
            if self.book.lookback_blocks.is_none() {
                // Looked at from the end: the first one is the longest.
                break;
            }
        }
        let mut charge = Charge::default();
        if let Some((hash, tokens)) = found {
            charge.read = tokens.min(lane.total());
            self.touch(hash, ask);
        }
        let mut written = charge.read;
        for place in &places.writes {
            let (hash, tokens) = (lane.hash(place.blocks), lane.tokens(place.blocks));
            if tokens < ask.minimum_tokens {
                continue;
            }
            if let Some(write) = charge.write.get_mut(usize::from(place.class)) {
                *write += tokens.saturating_sub(written);
            }
            written = written.max(tokens);
            self.keep(hash, tokens, place.class, ask);
        }
        charge.uncached = lane.total().saturating_sub(written);
        charge
    }

    /// True for an entry among the newest that are looked at.
    fn is_recent(&self, entry: &Entry) -> bool {
        let Some(most) = self.book.places_max else { return true };
        self.kept.values().filter(|other| other.used > entry.used).take(most).count() < most
    }

    fn prefix(&mut self, ask: &Ask<'_>, lane: &Lane, before: &lane::Ends) -> Charge {
        let total = lane.total();
        // Within a conversation the common beginning is known to the byte, between conversations
        // to the block.
        let own = ask.shared_tokens.unwrap_or_else(|| lane.tokens(ask.kept));
        let last = before.hash.and_then(|hash| self.entry(hash, ask));
        let own = if last.is_some() && before.scope == ask.scope { own } else { 0 };
        let ends = lane::section_ends(ask);
        let others = ends.iter().filter_map(|blocks| {
            let hash = lane.hash(*blocks);
            self.entry(hash, ask).map(|entry| entry.tokens)
        });
        let common = others.max().unwrap_or(0).max(own).min(total);
        let steps = common / self.book.step_tokens * self.book.step_tokens;
        let read = if common < ask.minimum_tokens { 0 } else { steps };
        if let Some(hash) = before.hash.filter(|_| own > 0) {
            self.touch(hash, ask);
        }
        if total >= ask.minimum_tokens {
            for blocks in ends.into_iter().chain([lane.len()]) {
                self.keep(lane.hash(blocks), lane.tokens(blocks), ask.class, ask);
            }
        }
        Charge { read, uncached: total - read, ..Charge::default() }
    }

    fn units(&mut self, ask: &Ask<'_>, lane: &Lane, before: &lane::Ends) -> Charge {
        let total = lane.total();
        let mut read = 0;
        // The prompt before as a whole, and the answer to it.
        let whole = before.blocks > 0 && ask.kept >= before.blocks;
        if whole && before.hash.is_some_and(|hash| self.entry(hash, ask).is_some()) {
            let answer = ask.blocks.get(before.blocks..).unwrap_or_default();
            let said = |block: &&Block| matches!(block.said, Said::Model | Said::Call);
            read = lane.tokens(before.blocks + answer.iter().take_while(said).count());
        }
        for blocks in (1..=lane.len()).rev() {
            let tokens = lane.tokens(blocks);
            if tokens <= read {
                break;
            }
            if self.entry(lane.hash(blocks), ask).is_some() {
                read = tokens;
                break;
            }
        }
        if self.book.has(Trait::KeepsCommon) && !whole && before.scope == ask.scope && ask.kept > 0
        {
            self.keep(lane.hash(ask.kept), lane.tokens(ask.kept), ask.class, ask);
        }
        read = read.min(total);
        if read < ask.minimum_tokens {
            read = 0;
        }
        read = read / self.book.step_tokens * self.book.step_tokens;
        if total >= ask.minimum_tokens {
            self.keep(lane.hash(lane.len()), total, ask.class, ask);
        }
        Charge { read, uncached: total - read, ..Charge::default() }
    }
}
