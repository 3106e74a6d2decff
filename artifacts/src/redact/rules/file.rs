//! Rules and exceptions that users add, in TOML.
//!
//! ```toml
//! [[rule]]
//! id = "acme-token"
//! keywords = ["acme_"]
//! regex = 'acme_[a-z0-9]{32}'
//!
//! [allow]
//! values = ["acme_00000000000000000000000000000000"]
//! regexes = ['^acme_test_']
//! ```

use std::ops::Range;

use regex_automata::meta::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::pattern::{Pattern, compile};
use super::{Rule, Shape};

/// The number of the first rule of a file.
const FIRST_ID: u16 = 5000;
/// Rules and exceptions of one file.
const RULES_MAX: usize = 999;

/// Why a file of rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct RuleFileError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Spanned<Entry>>,
    #[serde(default)]
    allow: Allowed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: Spanned<String>,
    keywords: Spanned<Vec<String>>,
    regex: Spanned<String>,
    #[serde(default)]
    entropy_milli: u64,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    regexes: Vec<Spanned<String>>,
}

/// What stays although a rule finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allow {
    values: Vec<String>,
    regexes: Vec<Regex>,
}

impl Allow {
    pub(crate) fn has(&self, secret: &[u8]) -> bool {
        self.values.iter().any(|value| value.as_bytes() == secret)
            || self.regexes.iter().any(|regex| regex.is_match(secret))
    }
}

/// Reads rules and exceptions. The rules live as long as the program: a redactor hands out
/// references to them.
pub(crate) fn parse(text: &str) -> Result<(Vec<&'static Rule>, Allow), RuleFileError> {
    let at = |span: Range<usize>, reason: String| {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
        RuleFileError { line, column: before.len() - line_start + 1, reason }
    };
    let file: File = toml::from_str(text)
        .map_err(|error| at(error.span().unwrap_or(0..0), error.message().to_owned()))?;
    let mut rules: Vec<&'static Rule> = Vec::new();
    for entry in file.rule {
        let span = entry.span();
        let Some(id) = u16::try_from(rules.len()).ok().filter(|_| rules.len() < RULES_MAX) else {
            return Err(at(span, format!("more than {RULES_MAX} rules")));
        };
        let entry = entry.into_inner();
        let fits = |word: &String| (3..=32).contains(&word.len());
        if entry.keywords.as_ref().is_empty() || !entry.keywords.as_ref().iter().all(fits) {
            let reason = "keywords are one or more words of 3 to 32 bytes".to_owned();
            return Err(at(entry.keywords.span(), reason));
        }
        compile(entry.regex.as_ref()).map_err(|reason| at(entry.regex.span(), reason))?;
        let words = entry.keywords.into_inner().into_iter().map(|word| &*word.leak());
        let pattern = Pattern {
            keywords: words.collect::<Vec<&'static str>>().leak(),
            anchored: false,
            entropy_milli: entry.entropy_milli,
            regex: entry.regex.into_inner().leak(),
            compiled: std::sync::OnceLock::new(),
        };
        rules.push(Box::leak(Box::new(Rule {
            id: FIRST_ID + id,
            name: format!("u{id:03}").leak(),
            about: entry.id.into_inner().leak(),
            shape: Shape::Pattern(pattern),
        })));
    }
    let mut allow = Allow { values: file.allow.values, regexes: Vec::new() };
    for regex in file.allow.regexes {
        let compiled = compile(regex.as_ref()).map_err(|reason| at(regex.span(), reason))?;
        allow.regexes.push(compiled);
    }
    Ok((rules, allow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_its_faults_have_a_place() {
        let good = "[[rule]]\nid = \"a\"\nkeywords = [\"acme_\"]\nregex = 'acme_[a-z]{8}'\n";
        let (rules, allow) = parse(good).expect("it is good");
        assert_eq!((rules.len(), rules[0].id, rules[0].name), (1, 5000, "u000"));
        assert!(!allow.has(b"acme_abcdefgh"));
        let place =
            |text: &str| parse(text).map(|_| ()).map_err(|error| (error.line, error.column));
        assert_eq!(place(&good.replace("{8}", "{8")), Err((4, 9)));
        assert_eq!(place(&good.replace("acme_\"", "\"")), Err((3, 12)));
        assert_eq!(place(&good.replace("id =", "name =")), Err((2, 1)));
        assert_eq!(place("[allow]\nregexes = ['(']\n"), Err((2, 12)));
        assert_eq!(place("[allow\n"), Err((1, 7)));
    }
}
