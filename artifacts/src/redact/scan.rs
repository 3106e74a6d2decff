//! The search for spans that whole texts and streams share.
//!
//! A decision depends on the output so far (at most [`BEFORE_BYTES`] of it), on at most
//! [`MAXSPAN_BYTES`] of text from the anchor on, and on what failed before. None of that depends
//! on how the text was cut into chunks, and so neither does the result.

use super::anchor::{ANCHOR_BYTES_MAX, Anchors};
use super::boundary;
use super::rules::{RULES, Rule, Shape};
use super::shape::{self, Judgement};
use super::stream::MAXSPAN_BYTES;

/// How much of the output before an anchor is looked at.
const BEFORE_BYTES: usize = 32;

/// What comes behind the bytes at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Perhaps more text.
    More,
    /// Nothing that counts.
    End,
}

/// A secret in a window of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: &'static Rule,
}

/// What the text up to some point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is nothing before this secret.
    Span(Span),
    /// There is nothing before this position; what follows waits for more text.
    Hold { at: usize, candidate: bool },
}

/// What a search remembers from one step to the next.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Where the window starts in the whole text.
    base: u64,
    /// The last bytes of the output before the place where the next step starts.
    before: Vec<u8>,
    /// For each rule, up to where in the whole text it is known to find nothing, so that many
    /// anchors in one run cost one look at the run.
    failed_until: [u64; RULES.len()],
    /// How many anchors were judged.
    #[cfg(test)]
    pub(crate) judgements: u64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            base: 0,
            before: Vec::new(),
            failed_until: [0; RULES.len()],
            #[cfg(test)]
            judgements: 0,
        }
    }

    /// Takes note that a placeholder was put out; they all end in this byte.
    pub(crate) fn replaced(&mut self) {
        self.before.clear();
        self.before.push(b']');
    }

    /// Takes note that bytes were put out as they are.
    pub(crate) fn kept(&mut self, bytes: &[u8]) {
        self.before = boundary::last_of::<BEFORE_BYTES>(&self.before, bytes);
    }

    /// Takes note that the first `bytes` bytes of the window are gone.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.base += bytes as u64;
    }
}

/// Finds the first secret in `window` at or behind `from`.
pub(crate) fn step(
    anchors: &Anchors,
    window: &[u8],
    from: usize,
    edge: Edge,
    progress: &mut Progress,
) -> Step {
    let mut at = from;
    while let Some(hit) = anchors.find(window, at) {
        at = hit.start + 1;
        let start = progress.base + hit.start as u64;
        let failed = progress.failed_until.get_mut(usize::from(hit.rule.id) - 1);
        let failed = failed.expect("rules are numbered from 1 without gaps");
        if start < *failed {
            continue;
        }
        if matches!(hit.rule.shape, Shape::Token { .. } | Shape::Jwt) {
            let near = window.get(from..hit.start).unwrap_or_default();
            let before = boundary::last_of::<BEFORE_BYTES>(&progress.before, near);
            if !boundary::lets_start(&before) {
                continue;
            }
        }
        let text = window.get(hit.start..).unwrap_or_default();
        let (text, edge) = match text.get(..MAXSPAN_BYTES) {
            Some(text) => (text, Edge::End),
            None => (text, edge),
        };
        #[cfg(test)]
        {
            progress.judgements += 1;
        }
        match shape::judge(hit.rule.shape, text, hit.anchor_bytes, edge) {
            Judgement::Secret { start, end } => {
                let (start, end) = (hit.start + start, hit.start + end);
                return Step::Span(Span { start, end, rule: hit.rule });
            }
            Judgement::Nothing { until } => *failed = start + until as u64,
            Judgement::Open => return Step::Hold { at: hit.start, candidate: true },
        }
    }
    let held = match edge {
        Edge::More => ANCHOR_BYTES_MAX - 1,
        Edge::End => 0,
    };
    Step::Hold { at: window.len().saturating_sub(held).max(from), candidate: false }
}

/// Merges overlapping spans; a rule that knows the name of a value speaks for the whole.
pub(crate) fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.rule.shape != Shape::Named, span.end));
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if span.rule.shape == Shape::Named {
                    last.rule = span.rule;
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}
