//! What tokens cost, by model: a table with its source, day and digest.
//!
//! The table is of one day. It says what a run would cost at the prices of that day, which need
//! not be those of the day on which the run was recorded.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::cache::Charge;
use super::money::Picodollars;
use super::rulebook::{DataError, Rulebook, is_date, read};

/// What the text of a table begins with.
pub const SCHEMA: &str = "counterfold.prices/1";

/// Prices from a number of input tokens on: they are those of the whole request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// The tier is for requests of more tokens than this.
    pub above_tokens: u64,
    /// Picodollars for a token of input that was not read from the cache.
    pub input: u64,
    /// For a token that was read from it.
    #[serde(default)]
    pub read: Option<u64>,
    /// For a token that was written to it, in the first class of lifetime.
    #[serde(default)]
    pub write: Option<u64>,
    /// In the second class.
    #[serde(default)]
    pub write_long: Option<u64>,
    /// For a token of output.
    pub output: u64,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Its name in requests.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Picodollars for a token of input that was not read from the cache.
    pub input: u64,
    /// For a token that was read from it.
    #[serde(default)]
    pub read: Option<u64>,
    /// For a token that was written to it, in the first class of lifetime.
    #[serde(default)]
    pub write: Option<u64>,
    /// In the second class.
    #[serde(default)]
    pub write_long: Option<u64>,
    /// For a token of output.
    pub output: u64,
    /// Tokens of input that it takes.
    #[serde(default)]
    pub window: Option<u64>,
    /// Tokens of output that it gives.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// Fewest tokens of a prefix that its provider keeps.
    #[serde(default)]
    pub cache_minimum: Option<u64>,
    /// Other prices for large requests.
    #[serde(default)]
    pub tier: Vec<Tier>,
}

/// A table of prices.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Kind and version of the text.
    pub schema: String,
    /// Where the prices come from.
    pub source: String,
    /// Under which licence the source may be passed on.
    pub license: String,
    /// The day of the prices, `YYYY-MM-DD`.
    pub date: String,
    /// SHA-256 of the file that they were taken from.
    pub sha256: String,
    /// The models.
    pub model: Vec<ModelPrice>,
}

/// What a request costs, by what its tokens were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Input that was neither read nor written.
    pub uncached: Picodollars,
    /// Input read from the cache.
    pub read: Picodollars,
    /// Input written to it.
    pub write: Picodollars,
    /// Output.
    pub output: Picodollars,
}

impl Cost {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Picodollars {
        self.uncached.plus(self.read).plus(self.write).plus(self.output)
    }

    /// The input of it.
    #[must_use]
    pub fn input(&self) -> Picodollars {
        self.uncached.plus(self.read).plus(self.write)
    }

    /// The sum, kind by kind.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            uncached: self.uncached.plus(other.uncached),
            read: self.read.plus(other.read),
            write: self.write.plus(other.write),
            output: self.output.plus(other.output),
        }
    }
}

impl PriceTable {
    /// Reads a table.
    ///
    /// # Errors
    /// Not TOML of this form, or a value that a table cannot have.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let table: Self = read(text)?;
        if table.schema != SCHEMA {
            return Err(DataError::Schema { found: table.schema, expected: SCHEMA });
        }
        if !is_date(&table.date) {
            return Err(DataError::Field {
                field: "date",
                why: "not a date of the form YYYY-MM-DD",
            });
        }
        Ok(table)
    }

    /// The model of that name, or the one whose name is the longest beginning of it that is
    /// followed by a date or a `-` (providers append versions).
    pub fn find(&self, name: &str) -> Option<&ModelPrice> {
        let fits = |model: &&ModelPrice| {
            let rest = name.strip_prefix(model.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || is_version(rest))
        };
        self.model.iter().filter(fits).max_by_key(|model| model.name.len())
    }
}

/// `-20250929`, `-2025-08-07`, `-latest`, `-001`: the same model under another name.
fn is_version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('-') else { return false };
    rest == "latest"
        || (!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// The prices of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Uncached input.
    pub input: Picodollars,
    /// Read from the cache.
    pub read: Picodollars,
    /// Written to it, by class of lifetime.
    pub write: [Picodollars; 2],
    /// Output.
    pub output: Picodollars,
}

impl ModelPrice {
    /// The prices of a request with so many tokens of input. What the table does not say is
    /// worked out from the input price by the rulebook's ratios.
    pub fn unit(&self, book: &Rulebook, input_tokens: u64) -> Unit {
        let tiers = self.tier.iter().filter(|tier| input_tokens > tier.above_tokens);
        let tier = tiers.max_by_key(|tier| tier.above_tokens);
        let input = Picodollars(tier.map_or(self.input, |tier| tier.input));
        let ratio = |class: usize| {
            book.ttl.get(class).or(book.ttl.first()).map_or(1000, |class| class.write_per_mille)
        };
        let pick = |of_tier: fn(&Tier) -> Option<u64>, own: Option<u64>, per_mille: u64| match tier
        {
            Some(tier) => of_tier(tier).map_or(input.per_mille(per_mille), Picodollars),
            None => own.map_or(input.per_mille(per_mille), Picodollars),
        };
        Unit {
            input,
            read: pick(|tier| tier.read, self.read, book.read_per_mille),
            write: [
                pick(|tier| tier.write, self.write, ratio(0)),
                pick(|tier| tier.write_long, self.write_long, ratio(1)),
            ],
            output: Picodollars(tier.map_or(self.output, |tier| tier.output)),
        }
    }

    /// What a request costs.
    pub fn cost(&self, book: &Rulebook, charge: &Charge, output_tokens: u64) -> Cost {
        let unit = self.unit(book, charge.input());
        let [short, long] = charge.write;
        let [write_short, write_long] = unit.write;
        Cost {
            uncached: unit.input.times(charge.uncached),
            read: unit.read.times(charge.read),
            write: write_short.times(short).plus(write_long.times(long)),
            output: unit.output.times(output_tokens),
        }
    }
}
