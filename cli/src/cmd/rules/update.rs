//! `rules update`: a price table from the data set of another program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use projector::metrics::{Picodollars, PriceTable};
use serde_json::value::RawValue;

use crate::error::{Ended, Failure, Kind, Outcome, file};
use crate::output;
use crate::report::number::counted;
use crate::ui::Ui;

/// Most bytes of a data set.
const BYTES_MAX: u64 = 64 << 20;
/// The providers that there are rulebooks for.
const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "deepseek"];

/// Make a price table from a file of prices
///
/// Reads the data set of `LiteLLM` (`model_prices_and_context_window.json`, MIT) from a file, and
/// writes what this program needs of it as a table with its source, day and SHA-256. Nothing is
/// fetched. Give the table to other commands with `--prices`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold rules update --from model_prices_and_context_window.json --date 2026-11-30 \\
      --source 'litellm 1.110.2' --into prices.toml
  counterfold sweep runs --prices prices.toml

Exit codes:
  0  written
  2  the file cannot be read, or has no price of a known provider")]
pub(crate) struct UpdateArgs {
    /// The data set
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The day of its prices, YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    date: String,
    /// What it is called, with its version
    #[arg(long, value_name = "WORDS")]
    source: String,
    /// The table to write; standard output without it
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

/// A model of the data set: names and raw numbers, since a number of it has to be read exactly.
type Fields = BTreeMap<String, Box<RawValue>>;

pub(crate) fn run(args: &UpdateArgs, ui: &mut Ui) -> Ended {
    let bytes = read(&args.from)?;
    let wrong = |words: &str| {
        let words = format!("{}: {words}", args.from.display());
        Failure::new(Kind::Format, words)
            .hint("expected model_prices_and_context_window.json of LiteLLM")
    };
    let set: BTreeMap<String, Fields> =
        serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
    let mut models: BTreeMap<String, String> = BTreeMap::new();
    let mut left_out = 0_u64;
    for (name, fields) in &set {
        let Some((name, provider, is_plain)) = named(name, fields) else { continue };
        match entry(name, provider, fields) {
            // A name without the provider's before it is the one that requests carry.
            Some(_) if !is_plain && models.contains_key(name) => {}
            Some(text) => drop(models.insert(name.to_owned(), text)),
            None => left_out += 1,
        }
    }
    if models.is_empty() {
        return Err(wrong("no price of a known provider").into());
    }
    let text = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let mut table = String::new();
    let _written = writeln!(
        table,
        "schema = \"counterfold.prices/1\"\nsource = {}\nlicense = \"MIT\"\ndate = {}\nsha256 = \
         \"{}\"",
        text(&args.source),
        text(&args.date),
        artifacts::ArtifactId::of(&bytes)
    );
    for model in models.values() {
        table.push_str(model);
    }
    PriceTable::parse(&table).map_err(|error| wrong(&error.to_string()))?;
    match &args.into {
        Some(path) => output::write(path, table.as_bytes())?,
        None => ui.bytes(table.as_bytes())?,
    }
    ui.flush()?;
    ui.note(format_args!("{} with prices", counted(models.len() as u64, "model")));
    if left_out > 0 {
        let models = counted(left_out, "model");
        ui.note(format_args!("{models} left out: no price, or one that is no exact picodollar"));
    }
    Ok(Outcome::Fine)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let meta = fs::metadata(path).map_err(|error| file("read", path, &error))?;
    if meta.len() > BYTES_MAX {
        let words = format!("more than {BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words));
    }
    fs::read(path).map_err(|error| file("read", path, &error))
}

fn word(fields: &Fields, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

/// Name and provider of a model that answers chats of a known provider, and whether the name
/// stands without the provider's.
fn named<'s>(name: &'s str, fields: &Fields) -> Option<(&'s str, &'static str, bool)> {
    let provider = word(fields, "litellm_provider")?;
    let provider = PROVIDERS.into_iter().find(|known| *known == provider)?;
    let answers = matches!(word(fields, "mode")?.as_str(), "chat" | "responses");
    if !answers || name.starts_with("ft:") {
        return None;
    }
    match name.split_once('/') {
        Some((before, name)) if before == provider && !name.contains('/') => {
            Some((name, provider, false))
        }
        Some(_) => None,
        None => Some((name, provider, true)),
    }
}

fn entry(name: &str, provider: &str, fields: &Fields) -> Option<String> {
    let price = |field: &str| fields.get(field).map(|raw| Picodollars::parse_dollars(raw.get()));
    let count = |field: &str| fields.get(field)?.get().parse::<u64>().ok();
    let mut text = format!(
        "\n[[model]]\nname = \"{name}\"\nprovider = \"{provider}\"\ninput = {}\n",
        price("input_cost_per_token")??.0
    );
    let mut prices = |tier: &str, keys: &[(&str, &[&str])]| {
        for (key, names) in keys {
            let found = names.iter().find_map(|name| price(&format!("{name}{tier}")));
            if let Some(found) = found {
                let _written = writeln!(text, "{key} = {}", found?.0);
            }
        }
        Some(())
    };
    let own: [(&str, &[&str]); 4] = [
        ("read", &["cache_read_input_token_cost", "input_cost_per_token_cache_hit"]),
        ("write", &["cache_creation_input_token_cost"]),
        (
            "write_long",
            &[
                "cache_creation_input_token_cost_above_1hr",
                "cache_creation_input_token_cost_above_12hr",
            ],
        ),
        ("output", &["output_cost_per_token"]),
    ];
    prices("", &own)?;
    for (key, field) in [
        ("window", "max_input_tokens"),
        ("max_output", "max_output_tokens"),
        ("cache_minimum", "prompt_cache_min_tokens"),
    ] {
        if let Some(count) = count(field) {
            let _written = writeln!(text, "{key} = {count}");
        }
    }
    for (above, input) in tiers(fields) {
        let suffix = format!("_above_{above}k_tokens");
        let _written = writeln!(
            text,
            "\n[[model.tier]]\nabove_tokens = {}\ninput = {}",
            above * 1000,
            input?.0
        );
        let mut prices = |key: &str, name: &str| {
            if let Some(found) = price(&format!("{name}{suffix}")) {
                let _written = writeln!(text, "{key} = {}", found?.0);
            }
            Some(())
        };
        prices("read", "cache_read_input_token_cost")?;
        prices("write", "cache_creation_input_token_cost")?;
        prices("write_long", "cache_creation_input_token_cost_above_12hr")?;
        let output = price(&format!("output_cost_per_token{suffix}"));
        let output = output.or_else(|| price("output_cost_per_token"))??;
        let _written = writeln!(text, "output = {}", output.0);
    }
    text.contains("output = ").then_some(text)
}

/// The sizes, in thousands of tokens, from which on a model has other prices, with the price of
/// input.
fn tiers(fields: &Fields) -> Vec<(u64, Option<Picodollars>)> {
    let mut tiers = Vec::new();
    for (name, raw) in fields {
        let size = name.strip_prefix("input_cost_per_token_above_");
        let size = size.and_then(|size| size.strip_suffix("k_tokens")?.parse().ok());
        tiers.extend(size.map(|size| (size, Picodollars::parse_dollars(raw.get()))));
    }
    tiers
}
