//! The rules as data: numbers, names, anchors and bounds. No matching happens here.
//!
//! A rule keeps its number for ever. Whoever changes a rule raises [`VERSION`]; a test compares
//! the digest of the table with the one that belongs to the version.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

pub(crate) mod class;
pub(crate) mod context;
mod file;
mod gitleaks;
pub(crate) mod pattern;
pub(crate) mod tokens;

pub(crate) use self::class::Class;
use self::context::CONTEXTS;
pub use self::file::RuleFileError;
pub(crate) use self::file::{Allow, parse};
pub(crate) use self::tokens::{Test, Token};

/// Raised with every change of what the rules find or how it is replaced.
const VERSION: u32 = 3;

/// Identifies a set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleSet {
    /// The name of the set.
    pub id: &'static str,
    /// The version of the set.
    pub version: u32,
    /// SHA-256 over the canonical text of the rules.
    pub digest: [u8; 32],
}

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The stable number; of several rules for overlapping spans, the lowest names the span.
    pub(crate) id: u16,
    /// Four letters or digits that stand in the placeholder.
    pub(crate) name: &'static str,
    /// What it finds, in words.
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
}

/// How a rule decides where its secret ends.
#[derive(Debug)]
pub(crate) enum Shape {
    /// An anchor, then a run of bytes of one class.
    Token(Token),
    /// Runs with dots between them, the first starting with `eyJ`.
    Jwt,
    /// The body of a private key between its two lines of dashes.
    Pem,
    /// A value behind a name that says that it is a secret.
    Context(context::Context),
    /// A keyword and a pattern.
    Pattern(pattern::Pattern),
    /// A value that is handed over with its name, or known; it is not searched for.
    Named,
}

impl Rule {
    /// What it finds could be guessed: people chose it, or the name of a user is in it.
    pub(crate) const fn is_weak(&self) -> bool {
        matches!(self.id, 15 | 16 | 17 | 80 | 84..=88 | 98 | 99)
    }

    /// The texts that say where to look.
    pub(crate) fn anchors(&self) -> &'static [&'static str] {
        match &self.shape {
            Shape::Token(token) => token.anchors,
            Shape::Jwt => &JWT_ANCHORS,
            Shape::Pem => &PEM_ANCHORS,
            Shape::Context(context) => context.anchors(),
            Shape::Named | Shape::Pattern(_) => &[],
        }
    }
}

/// The anchor of JSON Web Tokens: `{"` in base64.
pub(crate) const JWT_ANCHORS: [&str; 1] = ["eyJ"];
/// The anchor of private keys. The dashes before it are too common in tables to search for.
pub(crate) const PEM_ANCHORS: [&str; 1] = ["BEGIN "];

/// JSON Web Tokens.
pub(crate) static JWT: Rule =
    Rule { id: 12, name: "jwtk", about: "JSON Web Token", shape: Shape::Jwt };
/// Private keys.
pub(crate) static PEM: Rule =
    Rule { id: 14, name: "pemk", about: "private key", shape: Shape::Pem };
/// Header values.
pub(crate) static HEADER: Rule =
    Rule { id: 15, name: "head", about: "value of a credential header", shape: Shape::Named };
/// Values of URL parameters.
pub(crate) static URL_PARAMETER: Rule =
    Rule { id: 16, name: "urlq", about: "credential in a URL", shape: Shape::Named };
/// Passwords in URLs.
pub(crate) static URL_PASSWORD: Rule =
    Rule { id: 17, name: "urlp", about: "password in a URL", shape: Shape::Named };
/// Values that the caller knows, or that were found before in the run.
pub(crate) static KNOWN: Rule =
    Rule { id: 98, name: "know", about: "known value", shape: Shape::Named };
/// Values behind a member name of a JSON text.
pub(crate) static MEMBER: Rule =
    Rule { id: 99, name: "memb", about: "value of a secret member", shape: Shape::Named };

static SINGLE: [&Rule; 7] = [&JWT, &PEM, &HEADER, &URL_PARAMETER, &URL_PASSWORD, &KNOWN, &MEMBER];

/// All core rules, by number.
pub(crate) fn core() -> Vec<&'static Rule> {
    let all = tokens::TOKENS.iter().chain(CONTEXTS.iter()).chain(SINGLE);
    let mut all: Vec<&'static Rule> = all.collect();
    all.sort_by_key(|rule| rule.id);
    all
}

/// The rules that come on top of the core rules for imports.
pub(crate) fn extended() -> Vec<&'static Rule> {
    gitleaks::GITLEAKS.iter().collect()
}

/// Describes that nothing was looked for.
pub(crate) fn ruleset_off() -> RuleSet {
    RuleSet { id: "off", version: 0, digest: Sha256::digest(b"off").into() }
}

/// Describes the core rules and others on top of them.
pub(crate) fn ruleset_with(id: &'static str, rules: &[&'static Rule], more: &str) -> RuleSet {
    let mut text = format!("{id} {VERSION}\n");
    for Rule { id, name, shape, .. } in core() {
        writeln!(text, "{id} {name} {shape:?}").expect("writing into a string");
    }
    for rule in rules {
        if let Shape::Pattern(pattern) = &rule.shape {
            let pattern::Pattern { keywords, anchored, entropy_milli, regex, .. } = pattern;
            let Rule { id, name, .. } = rule;
            writeln!(text, "{id} {name} {keywords:?} {anchored} {entropy_milli} {regex}")
                .expect("writing into a string");
        }
    }
    text.push_str(more);
    RuleSet { id, version: VERSION, digest: Sha256::digest(text).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArtifactId;

    #[test]
    fn the_digest_belongs_to_the_version() {
        let set = ruleset_with("core", &[], "");
        assert_eq!((set.id, set.version), ("core", 3));
        let digest = ArtifactId::from_bytes(set.digest).to_string();
        assert_eq!(digest, "7a43fcd7ffcc461df59cd18b9e211c7c2f27752c5b63eb4d51a1b7d0317b5352");
    }

    #[test]
    fn numbers_and_names_are_used_once_and_names_have_four_bytes() {
        let rules = core();
        for (position, rule) in rules.iter().enumerate() {
            assert_eq!(rule.name.len(), 4, "{}", rule.name);
            assert!(rule.name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            for other in rules.iter().skip(position + 1) {
                assert!(rule.id != other.id && rule.name != other.name, "{}", rule.name);
            }
        }
    }
}
