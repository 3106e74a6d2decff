//! The rulebooks and prices that a command uses: the ones that are built in, or files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use projector::metrics::{DataError, PriceTable, Rulebook};
use replay::rulebook::Rates;

use crate::error::{Failure, Kind, file};

/// What amounts rest on.
#[derive(Clone, Debug, Args)]
pub(crate) struct RatesArgs {
    /// A rulebook in the place of the built-in one for its models; may be repeated
    #[arg(long = "rules", value_name = "FILE", help_heading = "Cost")]
    pub(crate) rules: Vec<PathBuf>,
    /// Prices in the place of the built-in ones, as `rules update` writes them
    #[arg(long, value_name = "FILE", help_heading = "Cost")]
    pub(crate) prices: Option<PathBuf>,
    /// The model whose rules and prices count where the recorded one is not known
    #[arg(long, value_name = "MODEL", help_heading = "Cost")]
    pub(crate) price_as: Option<String>,
}

impl RatesArgs {
    pub(crate) fn read(&self) -> Result<Rates, Failure> {
        let mut rates = builtin()?;
        for path in &self.rules {
            let book = Rulebook::parse(&text_of(path)?).map_err(|error| wrong(path, &error))?;
            rates.prefer(book);
        }
        if let Some(path) = &self.prices {
            let table = PriceTable::parse(&text_of(path)?);
            rates.prices = table.map_err(|error| wrong(path, &error))?;
        }
        if let Some(model) = &self.price_as
            && rates.of(model, None).is_none_or(|rate| rate.price.is_none())
        {
            let words = format!("no rules or no price for model {model}");
            return Err(Failure::new(Kind::NotFound, words)
                .hint("`counterfold rules list --models` lists the models with a price"));
        }
        Ok(rates)
    }
}

fn builtin() -> Result<Rates, Failure> {
    Rates::builtin().map_err(|error| Failure::of(Kind::Format, &error))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    const BYTES_MAX: u64 = 16 << 20;
    let meta = fs::metadata(path).map_err(|error| file("read", path, &error))?;
    if meta.len() > BYTES_MAX {
        let words = format!("more than {BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words));
    }
    fs::read_to_string(path).map_err(|error| file("read", path, &error))
}

fn wrong(path: &Path, error: &DataError) -> Failure {
    let mut failure = Failure::of(Kind::Format, error);
    failure.message = format!("{}: {}", path.display(), failure.message);
    failure.hint("`counterfold rules show ID` prints one that can be read")
}
