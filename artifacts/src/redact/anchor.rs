//! Where a secret could start: a search for all anchors at once.
//!
//! Speed is in here. The packed searcher (Teddy) looks at several bytes per instruction and is
//! what makes text without secrets cheap. It takes a few dozen literals at a time, and the
//! longer the shortest of them is, the faster it goes: so anchors go into packs by length. Where
//! the processor has no such instructions, an explicit automaton finds the same.

use std::collections::BTreeMap;

use aho_corasick::packed::{Config, MatchKind as PackedKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind, Span};

use super::rules::{Rule, Shape};
use super::wide;

/// The longest anchor, in bytes.
pub(crate) const ANCHOR_BYTES_MAX: usize = 32;
/// Most literals of one pack; a searcher takes 127.
const PACK_LITERALS_MAX: usize = 120;
/// Most classes of literals in one pack, see [`class`]. Each pack is a pass over the text, and
/// with more classes than this a pass stops too often for nothing.
const PACK_CLASSES_MAX: usize = 46;
/// Anchors of at least this length go into packs of their own.
const LONG_BYTES_MIN: usize = 4;

/// The anchor of UTF-16: a zero. No rule has it.
pub(crate) const WIDE: u16 = u16::MAX;

/// A searcher for the anchors of all rules.
#[derive(Clone, Debug)]
pub(crate) struct Anchors {
    packs: Vec<Pack>,
    /// Keywords in any case, all of them; much slower than the packs.
    keywords: Option<(AhoCorasick, Vec<u16>)>,
    /// The rules of every anchor: one text can be the anchor of several, and the beginning of
    /// another anchor.
    rules: Vec<Vec<(&'static Rule, usize)>>,
}

#[derive(Clone, Debug)]
struct Pack {
    engine: Engine,
    /// The anchor of each pattern.
    anchors: Vec<u16>,
}

#[derive(Clone, Debug)]
enum Engine {
    Packed(Searcher),
    Automaton(AhoCorasick),
}

/// A place where an anchor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) start: u64,
    pub(crate) anchor: u16,
}

impl Anchors {
    pub(crate) fn new(rules: &[&'static Rule], patterns: &[&'static Rule]) -> Self {
        let mut anchors = Self::with(rules, |texts| {
            // A searcher takes the patterns in order of preference.
            let packed =
                Config::new().match_kind(PackedKind::LeftmostFirst).builder().extend(texts).build();
            packed.map_or_else(|| automaton(texts), Engine::Packed)
        });
        anchors.add_keywords(patterns);
        anchors
    }

    fn add_keywords(&mut self, patterns: &[&'static Rule]) {
        let mut words: BTreeMap<String, Vec<(&'static Rule, usize)>> = BTreeMap::new();
        for rule in patterns {
            let Shape::Pattern(pattern) = &rule.shape else { continue };
            for word in pattern.keywords {
                let rules = words.entry(word.to_ascii_lowercase()).or_default();
                rules.push((*rule, word.len()));
            }
        }
        if words.is_empty() {
            return;
        }
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        let dfa = builder.build(words.keys()).expect("a few hundred words fit an automaton");
        let first = self.rules.len();
        let numbers = (first..).map_while(|n| u16::try_from(n).ok()).take(words.len());
        self.keywords = Some((dfa, numbers.collect()));
        self.rules.extend(words.into_values());
    }

    fn with(rules: &[&'static Rule], engine: impl Fn(&[&'static str]) -> Engine) -> Self {
        let mut texts: Vec<&'static str> =
            rules.iter().flat_map(|rule| rule.anchors().iter().copied()).collect();
        // The longer of two with the same beginning comes first, so that it is the one found.
        texts.sort_by(|a, b| (class(a), b.len(), a).cmp(&(class(b), a.len(), b)));
        texts.dedup();
        let of = |text: &&'static str| -> Vec<(&'static Rule, usize)> {
            let begins = |rule: &&'static Rule| {
                let found = rule.anchors().iter().filter(|anchor| text.starts_with(**anchor));
                found.map(|anchor| anchor.len()).max()
            };
            rules.iter().filter_map(|rule| begins(rule).map(|bytes| (*rule, bytes))).collect()
        };
        let table = texts.iter().map(of).collect();
        let numbered =
            || texts.iter().enumerate().filter_map(|(n, t)| Some((u16::try_from(n).ok()?, *t)));
        let (long, short): (Vec<_>, Vec<_>) =
            numbered().partition(|(_, text)| text.len() >= LONG_BYTES_MIN);
        let packs = packed(&long).chain([short.as_slice()]).filter(|pack| !pack.is_empty());
        let packs = packs.map(|pack| {
            let texts: Vec<_> = pack.iter().map(|(_, text)| *text).collect();
            Pack { engine: engine(&texts), anchors: pack.iter().map(|(n, _)| *n).collect() }
        });
        Self { packs: packs.collect(), keywords: None, rules: table }
    }

    /// Appends every anchor that starts in `from..to` of a window, whose first byte has the
    /// offset `base` in the whole text; in order.
    pub(crate) fn find(
        &self,
        window: &[u8],
        from: usize,
        to: usize,
        base: u64,
        hits: &mut Vec<Hit>,
    ) {
        let end = (to + ANCHOR_BYTES_MAX - 1).min(window.len());
        let before = hits.len();
        for pack in &self.packs {
            let mut at = from;
            while let Some((pattern, start)) = pack.engine.find(window, at, end) {
                if start >= to {
                    break;
                }
                if let Some(anchor) = pack.anchors.get(pattern) {
                    hits.push(Hit { start: base + start as u64, anchor: *anchor });
                }
                at = start + 1;
            }
        }
        if let Some((dfa, anchors)) = &self.keywords {
            let input = Input::new(window).span(Span::from(from..end.max(from)));
            for hit in dfa.find_overlapping_iter(input).filter(|hit| hit.start() < to) {
                if let Some(anchor) = anchors.get(hit.pattern().as_usize()) {
                    hits.push(Hit { start: base + hit.start() as u64, anchor: *anchor });
                }
            }
        }
        let zeros = wide::starts(window, from, to, base);
        hits.extend(zeros.map(|at| Hit { start: base + at as u64, anchor: WIDE }));
        if let Some(new) = hits.get_mut(before..) {
            new.sort_unstable();
        }
    }

    /// The rules of an anchor, and how long it is for each of them.
    pub(crate) fn rules(&self, anchor: u16) -> &[(&'static Rule, usize)] {
        self.rules.get(usize::from(anchor)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What the searcher tells literals apart by before it compares them: the low halves of their
/// first bytes. Literals of one class cost no more than one.
fn class(text: &str) -> Vec<u8> {
    text.bytes().take(LONG_BYTES_MIN).map(|byte| byte & 15).collect()
}

/// Cuts literals, which are in the order of their classes, into packs.
fn packed<'t>(
    mut left: &'t [(u16, &'static str)],
) -> impl Iterator<Item = &'t [(u16, &'static str)]> {
    std::iter::from_fn(move || {
        let mut classes = 0;
        let mut last = None;
        let fits = |(_, text): &&(u16, &'static str)| {
            let class = Some(class(text));
            classes += usize::from(class != last);
            last = class;
            classes <= PACK_CLASSES_MAX
        };
        let length = left.iter().take(PACK_LITERALS_MAX).take_while(fits).count();
        let (pack, rest) = left.split_at(length);
        left = rest;
        (!pack.is_empty()).then_some(pack)
    })
}

impl Engine {
    fn find(&self, window: &[u8], from: usize, end: usize) -> Option<(usize, usize)> {
        if from >= end {
            return None;
        }
        let span = Span::from(from..end);
        match self {
            Self::Packed(searcher) => {
                searcher.find_in(window, span).map(|hit| (hit.pattern().as_usize(), hit.start()))
            }
            Self::Automaton(searcher) => searcher
                .find(Input::new(window).span(span))
                .map(|hit| (hit.pattern().as_usize(), hit.start())),
        }
    }
}

fn automaton(texts: &[&'static str]) -> Engine {
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::DFA));
    Engine::Automaton(builder.build(texts).expect("a few dozen short patterns fit an automaton"))
}
