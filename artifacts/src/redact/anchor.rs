//! Where a secret could start: a search for all anchors at once.
//!
//! Speed is in here. The packed searcher (Teddy) looks at several bytes per instruction and is
//! what makes text without secrets cheap; where the processor has no such instructions, an
//! explicit automaton finds the same.

use std::sync::Arc;

use aho_corasick::packed::{Config, MatchKind as PackedKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind, Span};

use super::rules::{BEARER_ANCHORS, JWT_ANCHOR, PEM_ANCHOR, RULES, Rule, Shape};

/// The longest anchor, in bytes.
pub(crate) const ANCHOR_BYTES_MAX: usize = 12;

/// A searcher for the anchors of all rules.
#[derive(Clone, Debug)]
pub(crate) struct Anchors {
    engine: Engine,
    /// Which rule, and with how many bytes, by number of the pattern.
    patterns: Arc<[(&'static Rule, usize)]>,
}

#[derive(Clone, Debug)]
enum Engine {
    Packed(Searcher),
    Automaton(AhoCorasick),
}

/// A place where an anchor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) anchor_bytes: usize,
    pub(crate) rule: &'static Rule,
}

impl Anchors {
    pub(crate) fn new() -> Self {
        Self::with(|texts| {
            // A searcher takes the patterns in order of preference.
            let packed =
                Config::new().match_kind(PackedKind::LeftmostFirst).builder().extend(texts).build();
            packed.map_or_else(|| automaton(texts), Engine::Packed)
        })
    }

    fn with(engine: impl Fn(&[&'static str]) -> Engine) -> Self {
        let anchors: Vec<_> = RULES.iter().flat_map(of_rule).collect();
        let texts: Vec<_> = anchors.iter().map(|(_, text)| *text).collect();
        let patterns = anchors.iter().map(|(rule, text)| (*rule, text.len())).collect();
        Self { engine: engine(&texts), patterns }
    }

    /// Finds the first anchor at or behind `from`.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<Hit> {
        let span = Span::from(from..text.len());
        let (pattern, start) = match &self.engine {
            Engine::Packed(searcher) => {
                searcher.find_in(text, span).map(|hit| (hit.pattern(), hit.start()))?
            }
            Engine::Automaton(searcher) => searcher
                .find(Input::new(text).span(span))
                .map(|hit| (hit.pattern(), hit.start()))?,
        };
        let (rule, anchor_bytes) = *self.patterns.get(pattern.as_usize())?;
        Some(Hit { start, anchor_bytes, rule })
    }
}

fn automaton(texts: &[&'static str]) -> Engine {
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::DFA));
    Engine::Automaton(builder.build(texts).expect("a few short patterns fit an automaton"))
}

fn of_rule(rule: &'static Rule) -> Vec<(&'static Rule, &'static str)> {
    let anchors: &[&'static str] = match rule.shape {
        Shape::Token { anchors, .. } => anchors,
        Shape::Jwt => &[JWT_ANCHOR],
        Shape::Bearer => &BEARER_ANCHORS,
        Shape::Pem => &[PEM_ANCHOR],
        Shape::Named => &[],
    };
    anchors.iter().map(|anchor| (rule, *anchor)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> Vec<&'static str> {
        RULES.iter().flat_map(of_rule).map(|(_, text)| text).collect()
    }

    #[test]
    fn no_anchor_stands_inside_another_but_at_its_start() {
        // A stream could see the inner one before the outer one is complete.
        for outer in texts() {
            assert!(outer.len() <= ANCHOR_BYTES_MAX, "{outer}");
            for inner in texts() {
                assert!(!outer[1..].contains(inner), "{inner} in {outer}");
            }
        }
    }

    #[test]
    fn every_anchor_is_found_alone_and_in_text() {
        let anchors = Anchors::new();
        for (rule, text) in RULES.iter().flat_map(of_rule) {
            let expected = |start| Some(Hit { start, anchor_bytes: text.len(), rule });
            assert_eq!(anchors.find(text.as_bytes(), 0), expected(0), "{text}");
            let long = format!("{}{text}{}", "x ".repeat(50), " y".repeat(50));
            assert_eq!(anchors.find(long.as_bytes(), 0), expected(100), "{text}");
            assert_eq!(anchors.find(long.as_bytes(), 101), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_engines_find_the_same(
            pieces in prop::collection::vec((0..texts().len(), ".{0,3}"), 0..20),
            from in 0..40_usize,
        ) {
            let pieces = pieces.iter().map(|(at, glue)| texts()[*at].to_owned() + glue);
            let text: String = pieces.collect();
            let from = from.min(text.len());
            let packed = Anchors::new();
            let plain = Anchors::with(automaton);
            prop_assert_eq!(packed.find(text.as_bytes(), from), plain.find(text.as_bytes(), from));
        }
    }
}
