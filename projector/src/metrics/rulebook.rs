//! How a provider caches prompts, as dated data: a rule is never in the code.
//!
//! A rulebook says which models and days it is for, where it was read, and what it takes for
//! granted because the provider does not say. Two generations of a provider are two rulebooks.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

/// What the text of a rulebook begins with.
pub const SCHEMA: &str = "counterfold.rulebook/1";
/// Classes of lifetime that a rulebook may have.
pub const CLASSES_MAX: usize = 2;

/// Why a rulebook or a price table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// Not TOML, or a field is missing, unknown, or of another type.
    #[error("{0}")]
    Toml(String),
    /// A text of another kind or version.
    #[error("schema {found}, expected {expected}")]
    Schema {
        /// What it says.
        found: String,
        /// What it has to say.
        expected: &'static str,
    },
    /// A field has a value that it cannot have.
    #[error("{field}: {why}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
}

pub(crate) fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, DataError> {
    toml::from_str(text).map_err(|error| DataError::Toml(error.message().to_owned()))
}

/// How a prompt is matched against what was kept of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Kept and found only where a mark stands.
    Breakpoints,
    /// The longest common beginning, in steps.
    Prefix,
    /// The ends of earlier prompts and answers, each as a whole.
    Units,
}

/// What only some providers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trait {
    /// A request with more marks than it may have is refused.
    RefusesMoreMarks,
    /// The end of the prompt is a place of its own, without a mark.
    ImplicitPlace,
    /// A run of calls, or of results, is one place of the lookback.
    RunsCountOnce,
    /// A common beginning of two prompts is kept for the next one.
    KeepsCommon,
}

/// A class of lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// The word that requests use for it.
    pub name: String,
    /// Seconds after the last use.
    pub seconds: u64,
    /// Price of writing, in thousandths of the input price.
    pub write_per_mille: u64,
}

/// A minimum for the models whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimum {
    /// Beginning of the model's name.
    pub model: String,
    /// Fewest tokens of a prefix that is kept.
    pub tokens: u64,
}

/// A rulebook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rulebook {
    /// Kind and version of the text.
    pub schema: String,
    /// Provider and month: `anthropic@2026-11`.
    pub id: String,
    /// The provider.
    pub provider: String,
    /// First day on which it holds, `YYYY-MM-DD`.
    pub from: String,
    /// First day on which it no longer holds.
    #[serde(default)]
    pub until: Option<String>,
    /// Day on which its sources were read.
    pub retrieved: String,
    /// Where the rules were read.
    pub sources: Vec<String>,
    /// What the sources do not say and this text takes for granted.
    pub assumes: Vec<String>,
    /// Beginnings of the names of the models that it is for.
    pub models: Vec<String>,
    /// How prompts are matched.
    pub scheme: Scheme,
    /// Fewest tokens of a prefix that is kept.
    pub minimum_tokens: u64,
    /// Other minimums; the longest beginning of a model's name counts.
    #[serde(default)]
    pub minimum: Vec<Minimum>,
    /// Hits are multiples of so many tokens; 1: of any length.
    pub step_tokens: u64,
    /// Price of reading in thousandths of the input price, where the price table has none.
    pub read_per_mille: u64,
    /// Most places that one request may write.
    #[serde(default)]
    pub writes_max: usize,
    /// Places that are looked at before a mark, itself included; absent: all.
    #[serde(default)]
    pub lookback_blocks: Option<usize>,
    /// Written places that are looked at, newest first; absent: all.
    #[serde(default)]
    pub places_max: Option<usize>,
    /// What else it does.
    #[serde(default)]
    pub traits: Vec<Trait>,
    /// Longest life in seconds, however often it is used.
    #[serde(default)]
    pub life_max_seconds: Option<u64>,
    /// Classes of lifetime; without one, nothing ever ends.
    #[serde(default)]
    pub ttl: Vec<Lifetime>,
}

impl Rulebook {
    /// Reads a rulebook.
    ///
    /// # Errors
    /// Not TOML of this form, or a value that a rulebook cannot have.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let book: Self = read(text)?;
        if book.schema != SCHEMA {
            return Err(DataError::Schema { found: book.schema, expected: SCHEMA });
        }
        let wrong = |field, why| Err(DataError::Field { field, why });
        if book.step_tokens == 0 {
            return wrong("step_tokens", "has to be at least 1");
        }
        if book.ttl.len() > CLASSES_MAX {
            return wrong("ttl", "more than 2 classes");
        }
        let dates = [Some(&book.from), book.until.as_ref(), Some(&book.retrieved)];
        if !dates.into_iter().flatten().all(|date| is_date(date)) {
            return wrong("from, until, retrieved", "not a date of the form YYYY-MM-DD");
        }
        if book.models.is_empty() {
            return wrong("models", "names no model");
        }
        if book.scheme == Scheme::Breakpoints && book.writes_max == 0 {
            return wrong("writes_max", "has to be at least 1 where marks decide");
        }
        Ok(book)
    }

    /// True when it has a trait.
    pub fn has(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    /// How much of a model's name this rulebook names; `None`: it is not for the model.
    pub fn names(&self, model: &str) -> Option<usize> {
        let starts = self.models.iter().filter(|start| model.starts_with(start.as_str()));
        starts.map(String::len).max()
    }

    /// True when it holds on a day, `YYYY-MM-DD`.
    pub fn holds_on(&self, day: &str) -> bool {
        self.from.as_str() <= day && self.until.as_ref().is_none_or(|until| day < until.as_str())
    }

    /// Fewest tokens of a prefix of a model that is kept.
    pub fn minimum(&self, model: &str) -> u64 {
        let named = self.minimum.iter().filter(|minimum| model.starts_with(&minimum.model));
        named.max_by_key(|minimum| minimum.model.len()).map_or(self.minimum_tokens, |m| m.tokens)
    }

    /// The class of lifetime with a name; the first one without.
    pub fn class(&self, name: Option<&str>) -> usize {
        let found = name.and_then(|name| self.ttl.iter().position(|class| class.name == name));
        found.unwrap_or(0)
    }
}

/// `YYYY-MM-DD`, which sorts as text.
pub(crate) fn is_date(text: &str) -> bool {
    let form = b"0000-00-00";
    text.len() == form.len()
        && text.bytes().zip(form).all(|(byte, form)| match form {
            b'-' => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
