//! Goal: the simulated cache reads, writes and charges what its rules say. Method: random requests
//! of several conversations against a twin that keeps every prefix as the whole list of its blocks
//! and looks through all of them at each request.

use projector::metrics::cache::Said;
use projector::metrics::rulebook::{Scheme, Trait};
use projector::metrics::{Ask, Block, Cause, Rulebook, Section, Simulator};
use proptest::prelude::*;

/// A block without its mark, or what stands for parameters before the messages.
type Key = Vec<u64>;

/// A prefix that is kept.
#[derive(Clone, Debug)]
struct Kept {
    key: Key,
    tokens: u64,
    used: u64,
    used_ms: u64,
    written_ms: u64,
    readable_ms: u64,
    class: u8,
}

/// A request of one conversation, as it was sent.
#[derive(Clone, Debug, Default)]
struct Sent {
    blocks: Vec<Block>,
    scope: u64,
    salt: u64,
    held: u64,
}

/// What is asked for.
#[derive(Clone, Debug)]
struct Request {
    lane: u32,
    scope: u64,
    salt: u64,
    at_ms: u64,
    blocks: Vec<Block>,
    automatic: Option<u8>,
    explicit_only: bool,
    class: u8,
}

#[derive(Debug, Default)]
struct Twin {
    kept: Vec<Kept>,
    sent: Vec<(u32, Sent)>,
    requests: u64,
}

const MINIMUM: u64 = 12;
const ANSWER_MS: u64 = 700;

fn key(request: &Request, blocks: usize) -> Key {
    let mut key = vec![request.scope];
    let mut in_messages = false;
    for block in &request.blocks[..blocks] {
        if block.section == Section::Messages && !in_messages {
            in_messages = true;
            key.push(1000 + request.salt);
        }
        key.push(block.hash);
    }
    key
}

fn tokens(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.tokens).sum()
}

impl Twin {
    fn alive(&self, book: &Rulebook, request: &Request, key: &Key) -> Option<Kept> {
        let kept = self.kept.iter().find(|kept| kept.key == *key)?;
        (!ended(book, request, kept) && request.at_ms >= kept.readable_ms).then(|| kept.clone())
    }

    fn keep(&mut self, book: &Rulebook, request: &Request, blocks: usize, class: u8) {
        let key = key(request, blocks);
        let old = self.kept.iter().position(|kept| kept.key == key).map(|at| self.kept.remove(at));
        let old = old.filter(|old| !ended(book, request, old));
        let readable = request.at_ms + ANSWER_MS;
        self.kept.push(Kept {
            tokens: tokens(&request.blocks[..blocks]),
            used: self.requests,
            used_ms: request.at_ms,
            written_ms: old.as_ref().map_or(request.at_ms, |old| old.written_ms),
            readable_ms: old.as_ref().map_or(readable, |old| old.readable_ms.min(readable)),
            class: old.as_ref().map_or(class, |old| old.class.max(class)),
            key,
        });
    }

    fn touch(&mut self, request: &Request, key: &Key) {
        let number = self.requests;
        for kept in self.kept.iter_mut().filter(|kept| kept.key == *key) {
            (kept.used, kept.used_ms) = (number, request.at_ms);
        }
    }

    /// Read, written by class, refused.
    fn send(&mut self, book: &Rulebook, request: &Request, common: u64) -> (u64, [u64; 2], bool) {
        self.requests += 1;
        let all = request.blocks.len();
        let total = tokens(&request.blocks);
        let last = self.sent.iter().find(|(lane, _)| *lane == request.lane).map(|(_, s)| s.clone());
        let (places, refused) = places(book, request);
        let (read, write) = match book.scheme {
            Scheme::Breakpoints => self.marks(book, request, &places),
            Scheme::Prefix => (self.prefix(book, request, last.as_ref(), common), [0, 0]),
            Scheme::Units => (self.units(book, request, last.as_ref()), [0, 0]),
        };
        let sent = Sent {
            blocks: request.blocks.clone(),
            scope: request.scope,
            salt: request.salt,
            held: read + write[0] + write[1],
        };
        self.sent.retain(|(lane, _)| *lane != request.lane);
        self.sent.push((request.lane, sent));
        assert!(all > 0 && total >= read);
        (read, write, refused)
    }

    fn marks(
        &mut self,
        book: &Rulebook,
        request: &Request,
        places: &[(usize, u8)],
    ) -> (u64, [u64; 2]) {
        let recent = |kept: &Kept| {
            let newer = self.kept.iter().filter(|other| other.used > kept.used).count();
            book.places_max.is_none_or(|most| newer < most)
        };
        let looked: Vec<usize> = match book.lookback_blocks {
            None => (1..=request.blocks.len()).collect(),
            Some(lookback) => places
                .iter()
                .flat_map(|(end, _)| looked_back(book, request, *end, lookback))
                .collect(),
        };
        let found = looked.into_iter().map(|blocks| key(request, blocks));
        let found = found.filter_map(|key| self.alive(book, request, &key));
        let best =
            found.filter(|kept| kept.tokens >= MINIMUM && recent(kept)).max_by_key(|k| k.tokens);
        let read = best.as_ref().map_or(0, |kept| kept.tokens);
        if let Some(best) = best {
            self.touch(request, &best.key);
        }
        let (mut write, mut done) = ([0, 0], read);
        for (end, class) in places {
            let upto = tokens(&request.blocks[..*end]);
            if upto >= MINIMUM {
                write[usize::from(*class)] += upto.saturating_sub(done);
                done = done.max(upto);
                self.keep(book, request, *end, *class);
            }
        }
        (read, write)
    }

    fn prefix(
        &mut self,
        book: &Rulebook,
        request: &Request,
        last: Option<&Sent>,
        common: u64,
    ) -> u64 {
        let total = tokens(&request.blocks);
        let own = last.map(|last| whole(request, last)).filter(|key| {
            last.is_some_and(|last| last.scope == request.scope)
                && self.alive(book, request, key).is_some()
        });
        let own_tokens = if own.is_some() { common } else { 0 };
        let ends = section_ends(request);
        let others = ends.iter().filter_map(|end| {
            self.alive(book, request, &key(request, *end)).map(|kept| kept.tokens)
        });
        let longest = others.chain([own_tokens]).max().unwrap_or(0).min(total);
        if let Some(own) = own.filter(|_| own_tokens > 0) {
            self.touch(request, &own);
        }
        if total >= MINIMUM {
            for end in ends.into_iter().chain([request.blocks.len()]) {
                self.keep(book, request, end, request.class);
            }
        }
        if longest < MINIMUM { 0 } else { longest - longest % book.step_tokens }
    }

    fn units(&mut self, book: &Rulebook, request: &Request, last: Option<&Sent>) -> u64 {
        let total = tokens(&request.blocks);
        let kept = last.map_or(0, |last| same(&last.blocks, &request.blocks));
        let goes_on = last.is_some_and(|last| kept == last.blocks.len());
        let mut read = 0;
        let goes_on_from = last.filter(|_| goes_on);
        let alive = |last: &&Sent| self.alive(book, request, &whole(request, last)).is_some();
        if let Some(last) = goes_on_from.filter(alive) {
            let answer = &request.blocks[last.blocks.len()..];
            let said = answer.iter().take_while(|b| matches!(b.said, Said::Model | Said::Call));
            read = tokens(&last.blocks) + said.map(|block| block.tokens).sum::<u64>();
        }
        for end in 1..=request.blocks.len() {
            if self.alive(book, request, &key(request, end)).is_some() {
                read = read.max(tokens(&request.blocks[..end]));
            }
        }
        let same_scope = last.is_some_and(|last| last.scope == request.scope);
        if book.has(Trait::KeepsCommon) && last.is_some() && !goes_on && same_scope && kept > 0 {
            self.keep(book, request, kept, request.class);
        }
        if total >= MINIMUM {
            self.keep(book, request, request.blocks.len(), request.class);
        }
        if read < MINIMUM { 0 } else { read - read % book.step_tokens }
    }
}

/// The whole of what a conversation sent last, as a prefix.
fn whole(request: &Request, last: &Sent) -> Key {
    let sent = Request {
        scope: last.scope,
        salt: last.salt,
        blocks: last.blocks.clone(),
        ..request.clone()
    };
    key(&sent, last.blocks.len())
}

fn ended(book: &Rulebook, request: &Request, kept: &Kept) -> bool {
    let seconds = book.ttl.get(usize::from(kept.class)).map(|class| class.seconds);
    let Some(seconds) = seconds else { return false };
    request.at_ms - kept.used_ms > seconds * 1000
        || book.life_max_seconds.is_some_and(|life| request.at_ms - kept.written_ms > life * 1000)
}

fn same(old: &[Block], new: &[Block]) -> usize {
    let is_same = |(a, b): &(&Block, &Block)| a.hash == b.hash && a.section == b.section;
    old.iter().zip(new).take_while(is_same).count()
}

fn section_ends(request: &Request) -> Vec<usize> {
    let blocks = &request.blocks;
    let ends = (1..=blocks.len()).filter(|end| {
        let block = &blocks[end - 1];
        match block.section {
            Section::Messages => block.ends_message,
            section => blocks.get(*end).is_none_or(|next| next.section != section),
        }
    });
    let mut messages = 0;
    let mut out = Vec::new();
    for end in ends {
        messages += usize::from(blocks[end - 1].section == Section::Messages);
        if messages <= 8 {
            out.push(end);
        }
    }
    out
}

fn looked_back(book: &Rulebook, request: &Request, end: usize, lookback: usize) -> Vec<usize> {
    let run = |at: usize| {
        let block = &request.blocks[at - 1];
        let counts =
            block.section == Section::Messages && matches!(block.said, Said::Call | Said::Result);
        counts.then_some(block.said)
    };
    let mut looked = Vec::new();
    let mut counted = 0;
    for at in (1..=end).rev() {
        if counted == lookback {
            break;
        }
        looked.push(at);
        let goes_on = at > 1 && run(at).is_some() && run(at) == run(at - 1);
        counted += usize::from(!(book.has(Trait::RunsCountOnce) && goes_on));
    }
    looked
}

fn places(book: &Rulebook, request: &Request) -> (Vec<(usize, u8)>, bool) {
    let all = request.blocks.len();
    let marks: Vec<(usize, u8)> =
        (1..=all).filter_map(|end| Some((end, request.blocks[end - 1].mark?))).collect();
    if book.has(Trait::ImplicitPlace) {
        let room = book.writes_max - usize::from(!request.explicit_only);
        let mut newest = marks[marks.len().saturating_sub(room)..].to_vec();
        if !request.explicit_only && newest.iter().all(|(end, _)| *end != all) {
            newest.push((all, request.class));
        }
        return (newest, false);
    }
    let mut marks = marks;
    let mut refused = false;
    if let Some(class) = request.automatic {
        match marks.last() {
            Some((end, of)) if *end == all => refused |= *of != class,
            _ => marks.push((all, class)),
        }
    }
    refused |= book.has(Trait::RefusesMoreMarks) && marks.len() > book.writes_max;
    marks.truncate(book.writes_max);
    refused |= marks.windows(2).any(|pair| pair[0].1 < pair[1].1);
    (marks, refused)
}

const BOOKS: [&str; 8] = [
    "scheme = \"breakpoints\"\nwrites_max = 4\nlookback_blocks = 3\ntraits = [\"refuses-more-marks\"]",
    "scheme = \"breakpoints\"\nwrites_max = 2\nlookback_blocks = 2\ntraits = [\"runs-count-once\"]\nlife_max_seconds = 500",
    "scheme = \"breakpoints\"\nwrites_max = 3\nplaces_max = 3\ntraits = [\"implicit-place\"]",
    "scheme = \"breakpoints\"\nwrites_max = 2\ntraits = [\"implicit-place\"]",
    "scheme = \"prefix\"",
    "scheme = \"prefix\"\nlife_max_seconds = 400",
    "scheme = \"units\"",
    "scheme = \"units\"\ntraits = [\"keeps-common\"]",
];

fn book(which: usize) -> Rulebook {
    let step = if which >= 4 { 4 } else { 1 };
    let text = format!(
        "schema = \"counterfold.rulebook/1\"\nid = \"t@1\"\nprovider = \"t\"\nfrom = \"2026-01-01\"\n\
         retrieved = \"2026-01-01\"\nsources = []\nassumes = []\nmodels = [\"m\"]\nminimum_tokens = 0\n\
         step_tokens = {step}\nread_per_mille = 100\n{}\n[[ttl]]\nname = \"short\"\nseconds = 60\n\
         write_per_mille = 1250\n[[ttl]]\nname = \"long\"\nseconds = 300\nwrite_per_mille = 2000\n",
        BOOKS[which]
    );
    Rulebook::parse(&text).unwrap()
}

/// What happens next: the conversation, where its list is cut, what is appended, and the rest.
type Turn = (u8, u8, Vec<(u8, u8, u8)>, u8, u8);

fn turn() -> impl Strategy<Value = Turn> {
    let appended = prop::collection::vec(any::<(u8, u8, u8)>(), 0..4);
    (any::<u8>(), any::<u8>(), appended, any::<u8>(), any::<u8>())
}

/// The next request of a conversation, from the one before.
fn next(last: &Sent, now: u64, (lane, cut, appended, gap, options): &Turn) -> Request {
    let mut blocks = last.blocks.clone();
    for block in &mut blocks {
        // Marks move: only those of the frame stay.
        block.mark = block.mark.filter(|_| block.section != Section::Messages);
    }
    if cut % 5 == 0 {
        blocks.truncate(usize::from(cut / 5) % (blocks.len() + 1));
    }
    if blocks.is_empty() {
        blocks = vec![
            Block {
                hash: 1 + u64::from(cut % 2),
                tokens: 7,
                section: Section::Tools,
                said: Said::Input,
                mark: (cut % 3 == 0).then_some(0),
                ends_message: false,
            },
            Block {
                hash: 3 + u64::from(cut % 4 / 2),
                tokens: 9,
                section: Section::System,
                said: Said::Input,
                mark: (cut % 4 < 3).then_some(1),
                ends_message: false,
            },
        ];
    }
    for (hash, kind, mark) in appended {
        blocks.push(Block {
            hash: 10 + u64::from(hash % 6),
            tokens: 1 + u64::from(hash % 6) * 3,
            section: Section::Messages,
            said: [Said::Input, Said::Model, Said::Call, Said::Result][usize::from(kind % 4)],
            mark: (mark % 3 == 0).then_some(mark % 2),
            ends_message: kind % 8 < 5,
        });
    }
    let gaps = [300, 5_000, 59_000, 61_000, 200_000, 301_000];
    Request {
        lane: u32::from(lane % 2),
        scope: u64::from(options % 11 == 0),
        salt: u64::from(options % 7 == 0),
        at_ms: now + gaps[usize::from(*gap) % gaps.len()],
        blocks,
        automatic: (options % 4 == 0).then_some(options / 4 % 2),
        explicit_only: options % 5 == 0,
        class: options / 3 % 2,
    }
}

/// Plays turns under one rulebook, on both sides.
fn play(which: usize, turns: &[Turn]) {
    let book = book(which);
    let mut twin = Twin::default();
    let mut cache = Simulator::new(&book);
    let mut now = 1_000_000;
    for turn in turns {
        let lane = u32::from(turn.0 % 2);
        let last = twin.sent.iter().find(|(of, _)| *of == lane).map(|(_, sent)| sent.clone());
        let request = next(&last.clone().unwrap_or_default(), now, turn);
        now = request.at_ms;
        let kept = last.as_ref().map_or(0, |last| same(&last.blocks, &request.blocks));
        // Part of the block behind may be in common, too.
        let common = tokens(&request.blocks[..kept])
            + request.blocks.get(kept).filter(|_| last.is_some()).map_or(0, |b| b.tokens / 2);
        let charge = cache.send(&Ask {
            lane,
            scope: request.scope,
            salt: request.salt,
            minimum_tokens: MINIMUM,
            at_ms: Some(now),
            readable_ms: Some(now + ANSWER_MS),
            automatic: request.automatic,
            explicit_only: request.explicit_only,
            class: request.class,
            kept,
            shared_tokens: Some(common),
            changed: false,
            blocks: &request.blocks,
        });
        let (read, write, refused) = twin.send(&book, &request, common);
        let uncached = tokens(&request.blocks) - read - write[0] - write[1];
        let found = (charge.read, charge.write, charge.uncached, charge.refused);
        assert_eq!(found, (read, write, uncached, refused), "{which} {request:?}");
        let held = last.as_ref().map_or(0, |last| match book.scheme {
            Scheme::Breakpoints => last.held,
            _ if tokens(&last.blocks) < MINIMUM => 0,
            _ => tokens(&last.blocks) - tokens(&last.blocks) % book.step_tokens,
        });
        let lost = held.saturating_sub(read);
        assert_eq!(charge.broke.map_or(0, |broke| broke.lost_tokens), lost, "{which}");
        let (Some(broke), Some(last)) = (charge.broke, last) else { continue };
        let wanted = match request.blocks.get(kept).filter(|_| kept < last.blocks.len()) {
            _ if last.scope != request.scope => Some(Cause::ModelSwitch),
            Some(block) if block.section == Section::Tools => Some(Cause::Tools),
            Some(block) if block.section == Section::System => Some(Cause::System),
            _ if last.salt != request.salt => Some(Cause::Parameter),
            _ if kept < last.blocks.len() => Some(Cause::ClientRewrite),
            _ => None,
        };
        let unchanged = [
            Cause::BelowMinimum,
            Cause::NotYetReadable,
            Cause::NoMark,
            Cause::Lifetime,
            Cause::Lookback,
        ];
        match wanted {
            Some(wanted) => assert_eq!(broke.cause, wanted, "{which}"),
            None => assert!(unchanged.contains(&broke.cause), "{which} {broke:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_charge_is_that_of_whole_prefixes(
        which in 0..BOOKS.len(),
        turns in prop::collection::vec(turn(), 1..14),
    ) {
        play(which, &turns);
    }
}
