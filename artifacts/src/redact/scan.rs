//! The search for spans that whole texts and streams share.
//!
//! Anchors are judged one by one, in the order of the text, and known values are looked for
//! between them. A judgement depends on a bounded stretch of the text around its anchor and on
//! what was judged before, and on nothing else; so the spans do not depend on how the text was
//! cut into chunks. A judgement that needs more text than there is yet waits, and everything
//! behind it waits with it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Engine;
use super::anchor::{ANCHOR_BYTES_MAX, Hit, WIDE};
use super::judge::{BEHIND_BYTES, Edge, Flags, Found, Judgement, LEAD_BYTES, Place, judge};
use super::known::{self, Known};
use super::placeholder;
use super::rules::{KNOWN, PEM, Rule};
use super::wide;

/// How much text is searched for anchors at once.
const BLOCK_BYTES: u64 = 32 << 10;
/// Lines of a private key that are known on their own have at least this length.
const KEY_LINE_BYTES_MIN: usize = 24;

/// A secret in the whole text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) rule: &'static Rule,
    pub(crate) flags: Flags,
}

/// The part of a text that is at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where it starts in the whole text.
    pub(crate) base: u64,
    pub(crate) edge: Edge,
}

impl Window<'_> {
    fn local(&self, at: u64) -> usize {
        usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX)
    }
}

/// What a search remembers from one step to the next.
#[derive(Debug)]
pub(crate) struct Scan {
    /// All anchors before this place were found.
    searched_to: u64,
    /// Anchors that are not judged yet, and of the first of them, how many rules are.
    hits: VecDeque<Hit>,
    rules_done: usize,
    /// Spans that are not handed out yet, in order; none overlaps another.
    spans: VecDeque<Span>,
    /// Where the last span ended.
    last_end: Option<u64>,
    /// For each rule, up to where it is known to find nothing, so that many anchors in one run
    /// cost one look at the run.
    failed_until: Vec<u64>,
    found: Vec<Hit>,
    /// What the run knows, what this text taught, and up to where both were looked for.
    known: Arc<Known>,
    learned: Known,
    known_to: u64,
    /// Up to where UTF-16 was looked for.
    wide_until: u64,
    waits: bool,
}

impl Scan {
    pub(crate) fn new(known: Arc<Known>) -> Self {
        Self {
            searched_to: 0,
            hits: VecDeque::new(),
            rules_done: 0,
            spans: VecDeque::new(),
            last_end: None,
            failed_until: Vec::new(),
            found: Vec::new(),
            known,
            learned: Known::default(),
            known_to: 0,
            wide_until: 0,
            waits: false,
        }
    }

    /// Judges all that the window allows and returns up to where the text is decided: behind
    /// that no span starts that is not known, and known spans that end before it are final.
    pub(crate) fn advance(&mut self, engine: &Engine, window: &Window<'_>) -> u64 {
        let window_end = window.base + window.bytes.len() as u64;
        let searchable = match window.edge {
            Edge::End => window_end,
            Edge::More => window_end.saturating_sub(ANCHOR_BYTES_MAX as u64 - 1),
        };
        self.waits = true;
        loop {
            while let Some(hit) = self.hits.front().copied() {
                if !self.look_for_known(window, hit.start + 1) {
                    return self.known_to.saturating_sub(LEAD_BYTES as u64);
                }
                if !self.judge_all(engine, window, hit) {
                    return hit.start.saturating_sub(LEAD_BYTES as u64);
                }
                self.hits.pop_front();
                self.rules_done = 0;
            }
            if !self.look_for_known(window, self.searched_to) {
                return self.known_to.saturating_sub(LEAD_BYTES as u64);
            }
            if self.searched_to >= searchable {
                break;
            }
            let to = searchable.min(self.searched_to + BLOCK_BYTES);
            let (from, end) = (window.local(self.searched_to), window.local(to));
            engine.anchors.find(window.bytes, from, end, window.base, &mut self.found);
            self.hits.extend(self.found.drain(..));
            self.searched_to = to;
        }
        self.waits = false;
        match window.edge {
            Edge::End => window_end,
            Edge::More => self.searched_to.saturating_sub(LEAD_BYTES as u64),
        }
    }

    /// Looks for known values up to a place; false if one of them needs more text.
    fn look_for_known(&mut self, window: &Window<'_>, to: u64) -> bool {
        if self.known.is_empty() && self.learned.is_empty() {
            self.known_to = self.known_to.max(to);
            return true;
        }
        while self.known_to < to {
            let (from, end) = (window.local(self.known_to), window.local(to));
            let first = self.known.find(window, from, end);
            let second = self.learned.find(window, from, end);
            let found = match (first, second) {
                (Err((a, _)), Err((b, _))) => Err(a.min(b)),
                (Err((short, _)), Ok(Some((at, found))))
                | (Ok(Some((at, found))), Err((short, _))) => {
                    if at < short {
                        Ok(Some((at, found)))
                    } else {
                        Err(short)
                    }
                }
                (Err((short, _)), Ok(None)) | (Ok(None), Err((short, _))) => Err(short),
                (Ok(Some(a)), Ok(Some(b))) => {
                    let a_wins = (a.0, b.1.found.end) <= (b.0, a.1.found.end);
                    Ok(Some(if a_wins { a } else { b }))
                }
                (Ok(a), Ok(b)) => Ok(a.or(b)),
            };
            match found {
                Err(short) => {
                    self.known_to = window.base + short as u64;
                    return false;
                }
                Ok(None) => self.known_to = to,
                Ok(Some((at, found))) => {
                    self.add(window.base, found.rule, &found.found);
                    // Windows inside tell nothing new, but the last ones may begin another.
                    let next = found.found.end.saturating_sub(known::WINDOW_BYTES - 1);
                    self.known_to = window.base + next.max(at + 1) as u64;
                }
            }
        }
        true
    }

    /// Judges a hit by all its rules; false if one of them needs more text.
    fn judge_all(&mut self, engine: &Engine, window: &Window<'_>, hit: Hit) -> bool {
        if hit.anchor == WIDE {
            return self.judge_wide(engine, window, hit);
        }
        let rules = engine.anchors.rules(hit.anchor);
        while let Some((rule, anchor_bytes)) = rules.get(self.rules_done) {
            if self.failed_until(rule) <= hit.start {
                let start = window.local(hit.start);
                let last_end = self.last_end.and_then(|end| end.checked_sub(window.base));
                let place = Place {
                    window: window.bytes,
                    edge: window.edge,
                    start,
                    end: start + anchor_bytes,
                    last_end: last_end.and_then(|end| usize::try_from(end).ok()),
                };
                match judge(rule, &place) {
                    Err(_short) => return false,
                    Ok(Judgement::Secret(found)) => {
                        self.accept(engine, window, rule, &[found], found.end);
                    }
                    Ok(Judgement::Several { found, until }) => {
                        self.accept(engine, window, rule, &found, until);
                    }
                    Ok(Judgement::Nothing { until }) => {
                        self.set_failed(rule, window.base + until as u64);
                    }
                }
            }
            self.rules_done += 1;
        }
        true
    }

    /// Judges the stretch of UTF-16 that a zero belongs to; false if it goes on beyond the window.
    fn judge_wide(&mut self, engine: &Engine, window: &Window<'_>, hit: Hit) -> bool {
        if hit.start < self.wide_until {
            return true;
        }
        let stretch = match wide::stretch(window.bytes, window.local(hit.start), window.edge) {
            Err(_short) => return false,
            Ok(None) => return true,
            Ok(Some(stretch)) => stretch,
        };
        self.wide_until = window.base + stretch.until as u64;
        let mut inner = Self::new(Arc::clone(&self.known));
        let whole = Window { bytes: &stretch.text, base: 0, edge: Edge::End };
        let decided = inner.advance(engine, &whole);
        while let Some(span) = inner.next_final(decided) {
            let place = |at: u64| stretch.start + 2 * whole.local(at);
            let (start, end) = (place(span.start), place(span.end));
            let flags = span.flags.union(Flags::WIDE);
            self.add(window.base, span.rule, &Found { start, end, flags });
        }
        for (value, rule) in inner.learned.values() {
            self.learned.add(value, rule);
        }
        true
    }

    fn accept(
        &mut self,
        engine: &Engine,
        window: &Window<'_>,
        rule: &'static Rule,
        found: &[Found],
        until: usize,
    ) {
        for found in found {
            let secret = window.bytes.get(found.start..found.end).unwrap_or_default();
            if engine.allow.has(secret) {
                continue;
            }
            self.learn(window, rule, found);
            self.add(window.base, rule, found);
        }
        self.set_failed(rule, window.base + until as u64);
    }

    /// From here on a secret is known wherever it stands.
    fn learn(&mut self, window: &Window<'_>, rule: &'static Rule, found: &Found) {
        let secret = window.bytes.get(found.start..found.end).unwrap_or_default();
        if found.flags != Flags::default() {
            return;
        }
        if rule.id == PEM.id {
            let in_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            for line in placeholder::lines(secret) {
                let pieces = line.split(|byte| !in_key(byte));
                for piece in pieces.filter(|piece| piece.len() >= KEY_LINE_BYTES_MIN) {
                    self.learned.add_plain(piece, rule);
                }
            }
        } else if known::can_be_known(secret) {
            self.learned.add(secret, rule);
        }
    }

    /// What this text taught.
    pub(crate) fn learned(&self) -> &Known {
        &self.learned
    }

    fn failed_until(&self, rule: &Rule) -> u64 {
        self.failed_until.get(usize::from(rule.id)).copied().unwrap_or_default()
    }

    fn set_failed(&mut self, rule: &Rule, until: u64) {
        let index = usize::from(rule.id);
        if self.failed_until.len() <= index {
            self.failed_until.resize(index + 1, 0);
        }
        if let Some(failed) = self.failed_until.get_mut(index) {
            *failed = until.max(*failed);
        }
    }

    fn add(&mut self, base: u64, rule: &'static Rule, found: &Found) {
        let (start, end) = (base + found.start as u64, base + found.end as u64);
        if start >= end {
            return;
        }
        let mut span = Span { start, end, rule, flags: found.flags };
        // Where spans overlap, the rule with the lowest number names the whole.
        let mut behind = Vec::new();
        while let Some(last) = self.spans.pop_back() {
            if last.end <= span.start {
                self.spans.push_back(last);
                break;
            }
            if last.start >= span.end {
                behind.push(last);
                continue;
            }
            span = union(last, span);
        }
        self.last_end = self.last_end.max(Some(span.end));
        self.spans.push_back(span);
        self.spans.extend(behind.into_iter().rev());
    }

    /// Takes the next span that ends at or before `decided`.
    pub(crate) fn next_final(&mut self, decided: u64) -> Option<Span> {
        let first = self.spans.front().copied().filter(|span| span.end <= decided)?;
        self.spans.pop_front();
        Some(first)
    }

    /// Up to where text can be put out: to the decided place, or to a span that reaches beyond.
    pub(crate) fn settled(&self, decided: u64) -> u64 {
        self.spans.front().map_or(decided, |span| span.start.min(decided))
    }

    /// How much text before the settled place has to stay at hand.
    pub(crate) const fn kept_bytes() -> usize {
        BEHIND_BYTES + LEAD_BYTES
    }

    /// Returns true if something waits for more text.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waits
    }
}

/// Spans in order, overlapping ones united.
pub(crate) fn unite(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut united: Vec<Span> = Vec::new();
    for span in spans {
        match united.last_mut() {
            Some(last) if span.start < last.end => *last = union(*last, span),
            _ => united.push(span),
        }
    }
    united
}

fn union(a: Span, b: Span) -> Span {
    let known = |span: &Span| span.rule.id == KNOWN.id;
    let rule = if known(&a) || (!known(&b) && b.rule.id < a.rule.id) { b.rule } else { a.rule };
    // A piece that a whole value covers is no piece.
    let flags = match (a.flags == Flags::TRUNCATED, b.flags == Flags::TRUNCATED) {
        (true, false) => b.flags,
        (false, true) => a.flags,
        _ => a.flags.union(b.flags),
    };
    Span { start: a.start.min(b.start), end: a.end.max(b.end), rule, flags }
}
