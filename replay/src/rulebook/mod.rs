//! The rulebooks and prices that are built in, and which of them a request falls under.
//!
//! They are data with a day, read anew from their text; files of the same form take their place.

use std::collections::BTreeMap;

use projector::metrics::{DataError, ModelPrice, PriceTable, Rulebook};

/// The texts of the rulebooks that are built in, by id.
pub const RULEBOOKS: &[(&str, &str)] = &[
    ("anthropic@2026-11", include_str!("anthropic@2026-11.toml")),
    ("deepseek@2024", include_str!("deepseek@2024.toml")),
    ("deepseek@2026-11", include_str!("deepseek@2026-11.toml")),
    ("gemini@2026-11", include_str!("gemini@2026-11.toml")),
    ("openai@2025-08", include_str!("openai@2025-08.toml")),
    ("openai@2026-11", include_str!("openai@2026-11.toml")),
];

/// The text of the prices that are built in.
pub const PRICES: &str = include_str!("prices.toml");

/// Rulebooks and prices.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Rulebooks.
    pub books: Vec<Rulebook>,
    /// Prices.
    pub prices: PriceTable,
}

/// What a request falls under.
#[derive(Clone, Copy, Debug)]
pub struct Rate<'r> {
    /// The rules of the cache.
    pub book: &'r Rulebook,
    /// The prices; `None`: the table does not have the model.
    pub price: Option<&'r ModelPrice>,
    /// Fewest tokens of a prefix that is kept.
    pub minimum_tokens: u64,
}

impl Rates {
    /// The ones that are built in.
    ///
    /// # Errors
    /// A text that is built in cannot be read, which tests rule out.
    pub fn builtin() -> Result<Self, DataError> {
        let books = RULEBOOKS.iter().map(|(_, text)| Rulebook::parse(text));
        Ok(Self { books: books.collect::<Result<_, _>>()?, prices: PriceTable::parse(PRICES)? })
    }

    /// Puts a rulebook before those of the same models.
    pub fn prefer(&mut self, book: Rulebook) {
        self.books.retain(|other| other.id != book.id);
        self.books.insert(0, book);
    }

    /// The rulebook of a model on a day (`YYYY-MM-DD`): the one that names most of its name; of
    /// those, the first that holds on the day.
    pub fn book(&self, model: &str, day: Option<&str>) -> Option<&Rulebook> {
        let mut best: BTreeMap<usize, &Rulebook> = BTreeMap::new();
        for book in &self.books {
            let holds = day.is_none_or(|day| book.holds_on(day));
            if let Some(named) = book.names(model).filter(|_| holds) {
                best.entry(named).or_insert(book);
            }
        }
        best.pop_last().map(|(_, book)| book)
    }

    /// What a request to a model falls under on a day.
    pub fn of(&self, model: &str, day: Option<&str>) -> Option<Rate<'_>> {
        let book = self.book(model, day)?;
        let price = self.prices.find(model);
        let named = book.minimum.iter().any(|minimum| model.starts_with(&minimum.model));
        let listed = price.and_then(|price| price.cache_minimum).filter(|_| !named);
        Some(Rate { book, price, minimum_tokens: listed.unwrap_or_else(|| book.minimum(model)) })
    }
}
