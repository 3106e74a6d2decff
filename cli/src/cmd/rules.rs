//! `rules`: how providers cache prompts and what tokens cost, as this program takes it.

mod update;

use clap::{Args, Subcommand};
use projector::metrics::{ModelPrice, Rulebook};
use replay::rulebook::{PRICES, RULEBOOKS};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Failure, Kind, Outcome};
use crate::inputs::closest;
use crate::rates::RatesArgs;
use crate::report::number::counted;
use crate::report::table::{Column, Table};
use crate::ui::Ui;

/// The name of the price table among the rulebooks.
const PRICES_ID: &str = "prices";

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    List(ListArgs),
    Show(ShowArgs),
    Update(update::UpdateArgs),
}

/// List the built-in rulebooks and prices
///
/// A rulebook says how a provider caches prompts, from which day on, and where that was read. Its
/// assumptions are what the provider does not say.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold rules list
  counterfold rules list --models
  counterfold rules list --format json

Exit codes:
  0  listed")]
pub(crate) struct ListArgs {
    /// List the models with their prices
    #[arg(long)]
    models: bool,
    #[command(flatten)]
    rates: RatesArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// Print a rulebook, or the prices
///
/// Prints the TOML of a built-in rulebook, or of the price table (`prices`), as a start for one of
/// your own.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold rules show anthropic@2026-11
  counterfold rules show prices > prices.toml

Exit codes:
  0  printed
  2  no such rulebook")]
pub(crate) struct ShowArgs {
    /// A rulebook's id, or `prices`
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(command: &RulesCommand, ui: &mut Ui) -> Ended {
    match command {
        RulesCommand::List(args) => list(args, ui),
        RulesCommand::Show(args) => show(args, ui),
        RulesCommand::Update(args) => update::run(args, ui),
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    rulebooks: Vec<BookEntry>,
    prices: PricesEntry,
}

#[derive(Serialize)]
struct BookEntry {
    id: String,
    provider: String,
    from: String,
    until: Option<String>,
    retrieved: String,
    models: Vec<String>,
    sources: Vec<String>,
    assumes: Vec<String>,
    sha256: String,
}

#[derive(Serialize)]
struct PricesEntry {
    source: String,
    license: String,
    date: String,
    sha256: String,
    models: Vec<ModelEntry>,
}

/// A model; prices in picodollars for a token.
#[derive(Serialize)]
struct ModelEntry {
    name: String,
    provider: String,
    input: u64,
    read: Option<u64>,
    write: Option<u64>,
    write_long: Option<u64>,
    output: u64,
    window: Option<u64>,
}

fn list(args: &ListArgs, ui: &mut Ui) -> Ended {
    let rates = args.rates.read()?;
    match args.format.format {
        Format::Json => ui.json(&Document {
            schema: "counterfold.rules/1",
            rulebooks: rates.books.iter().map(book).collect(),
            prices: PricesEntry {
                source: rates.prices.source.clone(),
                license: rates.prices.license.clone(),
                date: rates.prices.date.clone(),
                sha256: rates.prices.sha256.clone(),
                models: rates.prices.model.iter().map(model).collect(),
            },
        })?,
        Format::Table if args.models => models(&rates.prices.model, ui)?,
        Format::Table => {
            let mut table = Table::new(&[
                Column::Left("id"),
                Column::Left("from"),
                Column::Left("read on"),
                Column::Right("assumptions"),
                Column::Left("models"),
            ]);
            for book in &rates.books {
                table.row([
                    book.id.as_str().into(),
                    book.from.as_str().into(),
                    book.retrieved.as_str().into(),
                    book.assumes.len().to_string().into(),
                    book.models.join(" ").into(),
                ]);
            }
            ui.table(&table)?;
            let prices = &rates.prices;
            let models = counted(prices.model.len() as u64, "model");
            ui.line(format_args!(
                "\nPrices of {models} as of {}, from {} ({}).",
                prices.date, prices.source, prices.license
            ))?;
        }
    }
    ui.flush()?;
    Ok(Outcome::Fine)
}

fn book(book: &Rulebook) -> BookEntry {
    let text = RULEBOOKS.iter().find(|(id, _)| *id == book.id).map(|(_, text)| *text);
    BookEntry {
        id: book.id.clone(),
        provider: book.provider.clone(),
        from: book.from.clone(),
        until: book.until.clone(),
        retrieved: book.retrieved.clone(),
        models: book.models.clone(),
        sources: book.sources.clone(),
        assumes: book.assumes.clone(),
        sha256: artifacts::ArtifactId::of(text.unwrap_or_default().as_bytes()).to_string(),
    }
}

fn model(model: &ModelPrice) -> ModelEntry {
    ModelEntry {
        name: model.name.clone(),
        provider: model.provider.clone(),
        input: model.input,
        read: model.read,
        write: model.write,
        write_long: model.write_long,
        output: model.output,
        window: model.window,
    }
}

fn models(models: &[ModelPrice], ui: &mut Ui) -> Result<(), crate::error::Stop> {
    let mut table = Table::new(&[
        Column::Left("model"),
        Column::Left("provider"),
        Column::Right("input $/M"),
        Column::Right("read"),
        Column::Right("write"),
        Column::RightExtra("write long"),
        Column::Right("output"),
        Column::RightExtra("window"),
    ]);
    let price = |price: Option<u64>| {
        price.map_or_else(|| "-".to_owned(), crate::report::money::per_million)
    };
    for model in models {
        table.row([
            model.name.as_str().into(),
            model.provider.as_str().into(),
            price(Some(model.input)).into(),
            price(model.read).into(),
            price(model.write).into(),
            price(model.write_long).into(),
            price(Some(model.output)).into(),
            model.window.map_or_else(|| "-".to_owned(), crate::report::number::count).into(),
        ]);
    }
    ui.table(&table)
}

fn show(args: &ShowArgs, ui: &mut Ui) -> Ended {
    let all = RULEBOOKS.iter().copied().chain([(PRICES_ID, PRICES)]);
    let found = all.clone().find(|(id, _)| *id == args.id);
    let Some((_, text)) = found else {
        let failure = Failure::new(Kind::NotFound, format!("no such rulebook: {}", args.id));
        return Err(match closest(&args.id, all.map(|(id, _)| id)) {
            Some(id) => failure.hint(format!("did you mean {id}?")),
            None => failure.hint("`counterfold rules list` lists them"),
        }
        .into());
    };
    ui.bytes(text.as_bytes())?;
    ui.flush()?;
    Ok(Outcome::Fine)
}
