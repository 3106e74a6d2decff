//! The rules as data: numbers, names, anchors and bounds. No matching happens here.
//!
//! A rule keeps its number for ever. Whoever changes a rule raises [`VERSION`]; a test compares
//! the digest of the table with the one that belongs to the version.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The name of the rules that are always on.
const ID: &str = "core";
/// Raised with every change of what the rules find or how it is replaced.
const VERSION: u32 = 1;

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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The stable number.
    pub(crate) id: u16,
    /// Four letters or digits that stand in the placeholder.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

/// How a rule decides where its secret ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An anchor, then a run of bytes of one class.
    Token { anchors: &'static [&'static str], class: Class, bytes_min: usize, needs_digit: bool },
    /// Three runs with dots between them, the first two starting with `eyJ`.
    Jwt,
    /// A token behind an authorization word and the word `Bearer`.
    Bearer,
    /// The body of a private key between its two lines of dashes.
    Pem,
    /// A value that its name makes a secret; it is handed over, not searched for.
    Named,
}

/// A class of bytes that the run of a token consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Letters and digits.
    Alnum,
    /// Capital letters and digits.
    UpperAlnum,
    /// Letters, digits, `-` and `_`.
    Url,
}

impl Class {
    pub(crate) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::UpperAlnum => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
        }
    }
}

/// The anchor of JSON Web Tokens: `{"` in base64.
pub(crate) const JWT_ANCHOR: &str = "eyJ";
/// Anchors of bearer tokens; the first letter has two spellings and no say.
pub(crate) const BEARER_ANCHORS: [&str; 2] = ["uthorization", "UTHORIZATION"];
/// The anchor of private keys. The dashes before it are too common in tables to search for.
pub(crate) const PEM_ANCHOR: &str = "BEGIN ";

const fn token(
    id: u16,
    name: &'static str,
    anchors: &'static [&'static str],
    class: Class,
    bytes_min: usize,
) -> Rule {
    Rule { id, name, shape: Shape::Token { anchors, class, bytes_min, needs_digit: false } }
}

const fn token_with_digit(
    id: u16,
    name: &'static str,
    anchors: &'static [&'static str],
    class: Class,
    bytes_min: usize,
) -> Rule {
    Rule { id, name, shape: Shape::Token { anchors, class, bytes_min, needs_digit: true } }
}

/// All rules. A lower position wins where two anchors start at the same byte.
pub(crate) static RULES: [Rule; 17] = [
    token(1, "antk", &["sk-ant-"], Class::Url, 16),
    token_with_digit(2, "oaik", &["sk-"], Class::Url, 20),
    token(3, "ghtk", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Class::Alnum, 36),
    token(4, "ghpa", &["github_pat_"], Class::Url, 22),
    token_with_digit(5, "slck", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"], Class::Url, 20),
    token(6, "awsk", &["AKIA", "ASIA"], Class::UpperAlnum, 16),
    token(7, "goog", &["AIza"], Class::Url, 35),
    token(8, "glab", &["glpat-"], Class::Url, 20),
    token(9, "hugf", &["hf_"], Class::Alnum, 30),
    token(10, "npmt", &["npm_"], Class::Alnum, 36),
    token(11, "pypi", &["pypi-AgE"], Class::Url, 16),
    Rule { id: 12, name: "jwtk", shape: Shape::Jwt },
    Rule { id: 13, name: "bear", shape: Shape::Bearer },
    Rule { id: 14, name: "pemk", shape: Shape::Pem },
    HEADER,
    URL_PARAMETER,
    URL_PASSWORD,
];

/// The rule for header values.
pub(crate) const HEADER: Rule = Rule { id: 15, name: "head", shape: Shape::Named };
/// The rule for values of URL parameters.
pub(crate) const URL_PARAMETER: Rule = Rule { id: 16, name: "urlq", shape: Shape::Named };
/// The rule for passwords in URLs.
pub(crate) const URL_PASSWORD: Rule = Rule { id: 17, name: "urlp", shape: Shape::Named };

/// Describes the rules of this build.
pub(crate) fn ruleset() -> RuleSet {
    let mut text = format!("{ID} {VERSION}\n");
    for Rule { id, name, shape } in &RULES {
        writeln!(text, "{id} {name} {shape:?}").expect("writing into a string");
    }
    RuleSet { id: ID, version: VERSION, digest: Sha256::digest(text).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArtifactId;

    #[test]
    fn the_digest_belongs_to_the_version() {
        let set = ruleset();
        assert_eq!((set.id, set.version), ("core", 1));
        let digest = ArtifactId::from_bytes(set.digest).to_string();
        assert_eq!(digest, "14dd2a530d791c11a8b75dd406e70954706303e6b4af89cd4098b46072194cbc");
    }

    #[test]
    fn numbers_and_names_are_used_once_and_names_have_four_bytes() {
        for (position, rule) in RULES.iter().enumerate() {
            assert_eq!(usize::from(rule.id), position + 1);
            assert_eq!(rule.name.len(), 4);
            assert!(rule.name.bytes().all(|byte| Class::Alnum.has(byte)));
            let same = RULES.iter().filter(|other| other.name == rule.name);
            assert_eq!(same.count(), 1, "{}", rule.name);
        }
    }
}
