//! Rules that are a keyword and a pattern: those of others, and those that users add.

use std::sync::OnceLock;

use regex_automata::meta::Regex;

use super::{Rule, Shape};

/// A keyword and a pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Where to look, in any case.
    pub(crate) keywords: &'static [&'static str],
    /// The pattern starts at the keyword; otherwise it is searched for around it.
    pub(crate) anchored: bool,
    /// The least entropy of what it finds, in thousandths of a bit per byte.
    pub(crate) entropy_milli: u64,
    /// The pattern; its first group that takes part is the secret, or all of it.
    pub(crate) regex: &'static str,
    pub(crate) compiled: OnceLock<Option<Regex>>,
}

/// A rule of others.
pub(crate) const fn pattern(
    id: u16,
    name: &'static str,
    about: &'static str,
    keywords: &'static [&'static str],
    anchored: bool,
    entropy_milli: u64,
    regex: &'static str,
) -> Rule {
    let compiled = OnceLock::new();
    let shape = Shape::Pattern(Pattern { keywords, anchored, entropy_milli, regex, compiled });
    Rule { id, name, about, shape }
}

impl Pattern {
    /// The compiled pattern. Those of the built-in rules are known to compile.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(self.regex).ok()).as_ref()
    }
}

/// Compiles a pattern over bytes.
///
/// # Errors
/// It is none, or it would take too much memory.
pub(crate) fn compile(regex: &str) -> Result<Regex, String> {
    let syntax = regex_automata::util::syntax::Config::new().unicode(false).utf8(false);
    let config = Regex::config().utf8_empty(false).nfa_size_limit(Some(1 << 20));
    let built = Regex::builder().syntax(syntax).configure(config).build(regex);
    built.map_err(|error| {
        error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string)
    })
}
