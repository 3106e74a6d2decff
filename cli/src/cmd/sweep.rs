//! `sweep`: every policy over every request of every recording.

pub(crate) mod basis;
mod document;
mod field;
mod grid;
mod lines;
mod outcomes;
mod page;
mod pareto;
#[cfg(feature = "parquet")]
mod parquet;
mod requests;
pub(crate) mod row;
mod store;
mod table;
mod tables;
mod total;
pub(crate) mod work;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::RecordingsArgs;
use crate::error::{Ended, Failure, Kind, Outcome, Stop};
use crate::inputs::{self, Scratch};
use crate::policies::Named;
use crate::rates::RatesArgs;
use crate::ui::Ui;
use basis::{Bases, RecordingEntry};
use outcomes::Scores;
use row::RowEntry;
use store::{Plan, Slot, Store};
use tables::TableFormat;
use work::Job;

/// What every report of a sweep has to say.
pub(crate) const HELD_FIXED: &str = "\
The recorded trajectory is held fixed: after the frontier, the model's answers are what it said \
under the recorded policy.";

/// Work out what every request would have been under other policies, and what it would have cost
///
/// Evaluates every request of every recording under every policy: what the model would have been
/// shown, what a provider's prompt cache would have made of it, and what of it the recorded answers
/// use. The frontier is the first request that differs from the recorded one: up to it, the run
/// would have gone the same way. Fidelity says what a projection rests on: exact (the policy in
/// force), derived (pure steps over whole outputs), assumed (an assumption is named), refused
/// (could not be projected; counted as recorded).
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold sweep runs
  counterfold sweep runs/session --policy recorded --policy cap-4k --policy mine.toml
  counterfold sweep runs --policy cap-4k --set cap_text.limit=2000,4000,8000 --sort cost
  counterfold sweep runs --into sweep --shard 1/8
  counterfold sweep runs --into sweep --requests --tables parquet
  counterfold sweep runs --html sweep.html --price-as claude-sonnet-4-5
  counterfold sweep runs --outcomes scores.csv --policy cap-8k
  counterfold sweep runs --sort hidden --format json

Exit codes:
  0  worked out
  2  some recording or policy cannot be read, or there is no request")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    /// A built-in policy, `recorded`, or a TOML file; may be repeated [default: all built-in ones]
    #[arg(short, long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// A parameter with its values: every policy is evaluated with every combination
    #[arg(long = "set", value_name = "KEY=V1,V2,...")]
    sets: Vec<String>,
    /// What the rows of a recording are sorted by, lowest first
    #[arg(long, value_enum, value_name = "KEY", default_value_t = Sort::Tokens)]
    sort: Sort,
    #[command(flatten)]
    rates: RatesArgs,
    /// Keep what is worked out in this folder, and go on from what is there
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Keep a line for each request, too
    #[arg(long, requires = "into")]
    requests: bool,
    /// Keep rows and requests as tables, too, in partitions by run
    #[arg(long, value_enum, value_name = "FORMAT", value_delimiter = ',', requires = "into")]
    tables: Vec<TableFormat>,
    /// Outcomes of the runs, as lines of RUN,SCORE[,TASK]: says what they allow to say of policies
    #[arg(long, value_name = "FILE", help_heading = "Outcomes")]
    outcomes: Option<PathBuf>,
    /// The probability with which a cosmetic difference flips an outcome at most
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.05",
        value_parser = flip,
        help_heading = "Outcomes"
    )]
    flip: u64,
    /// Write a page for a browser, too: one file, which refers to nothing outside of itself
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Evaluate the I-th of N parts of the recordings, told apart by their runs
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(u64, u64)>,
    /// Threads [default: one for each core]
    #[arg(short, long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    jobs: usize,
    /// How the result is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = SweepFormat::Table)]
    format: SweepFormat,
}

/// How a sweep is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SweepFormat {
    /// For people
    Table,
    /// For programs
    Json,
    /// For spreadsheets: a line for each recording and policy
    Csv,
    /// For pull requests
    Md,
    /// For analytic databases: the same columns as CSV, with types
    #[cfg(feature = "parquet")]
    Parquet,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Estimated tokens of all requests
    Tokens,
    /// What the requests cost
    Cost,
    /// Evidence that is hidden, most shown first
    Evidence,
    /// Recorded bytes that are not shown
    Hidden,
    /// The policy's name
    Name,
}

fn shard(word: &str) -> Result<(u64, u64), &'static str> {
    const FORM: &str = "a part is named I/N, from 1/N to N/N";
    let (part, parts) = word.split_once('/').ok_or(FORM)?;
    let part: u64 = part.parse().map_err(|_not_a_number| FORM)?;
    let parts: u64 = parts.parse().map_err(|_not_a_number| FORM)?;
    if part == 0 || part > parts { Err(FORM) } else { Ok((part, parts)) }
}

fn flip(word: &str) -> Result<u64, &'static str> {
    outcomes::share(word).ok_or("a share is a number from 0 to 1 with at most six digits")
}

/// What a sweep has found.
struct Results<'r> {
    store: &'r Store,
    /// In the order of the inputs: where the rows are, or why there are none.
    found: Vec<(String, Result<Slot, Failure>)>,
    sort: Sort,
    totals: Vec<RowEntry>,
    /// For each total, whether no other policy beats it.
    front: Vec<bool>,
    bases: Bases,
    requests: u64,
}

pub(crate) fn run(args: &SweepArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    #[cfg(feature = "parquet")]
    if args.format == SweepFormat::Parquet && ui.is_terminal() {
        return Err(Failure::new(Kind::Usage, "Parquet is not for a terminal")
            .hint("as in `--format parquet > sweep.parquet`")
            .into());
    }
    let policies = grid::policies(&args.policies, &args.sets)?;
    let rates = args.rates.read()?;
    let scores = args.outcomes.as_deref().map(|path| Scores::read(path, args.flip)).transpose()?;
    let plan = Plan {
        schema: "counterfold.sweep-plan/1".to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        policies: policies.iter().map(|n| (n.id.clone(), n.policy.id().to_string())).collect(),
        rulebooks: rates.books.iter().map(|book| format!("{book:?}")).collect(),
        prices: format!("{} {}", rates.prices.date, rates.prices.sha256),
        price_as: args.rates.price_as.clone(),
        requests: args.requests,
        details: args.html.is_some(),
        tables: args.tables.clone(),
    };
    let store = Store::open(args.into.as_deref(), &plan)?;
    let words = &args.recordings;
    let inputs = inputs::recordings(&words.recordings, words.allow_empty, scratch, ui);
    let progress = ui.progress("sweeping", (inputs.len() * policies.len()) as u64);
    let job = Job {
        policies: &policies,
        rates: &rates,
        price_as: args.rates.price_as.as_deref(),
        store: &store,
        requests: args.requests,
        details: args.html.is_some(),
        tables: &args.tables,
        shard: args.shard,
        progress: &|| progress.step(),
    };
    let found = job.run(&inputs, args.jobs)?;
    drop(progress);
    let results = Results::collect(&store, found, &policies, args.sort)?;
    if let Some(path) = &args.html {
        crate::output::write(path, page::page(&results)?.as_bytes())?;
    }
    let bounds = scores.map(|scores| scores.bounds(&policies, &results)).transpose()?;
    match args.format {
        SweepFormat::Json => document::write(&policies, &results, bounds.as_deref(), ui)?,
        SweepFormat::Csv => lines::csv(&results, ui)?,
        SweepFormat::Md => lines::markdown(&results, ui)?,
        #[cfg(feature = "parquet")]
        SweepFormat::Parquet => parquet::write(&results, ui)?,
        SweepFormat::Table => {
            table::print(&results, ui)?;
            bounds.map_or(Ok(()), |bounds| outcomes::print(&bounds, ui))?;
        }
    }
    ui.flush()?;
    results.outcome(words.allow_empty || args.shard.is_some(), ui)
}

impl<'r> Results<'r> {
    fn collect(
        store: &'r Store,
        found: Vec<(String, Result<Slot, Failure>)>,
        policies: &[Named],
        sort: Sort,
    ) -> Result<Self, Stop> {
        let totals = policies
            .iter()
            .map(|named| RowEntry::nothing(&named.id, named.policy.estimator.id()))
            .collect();
        let mut results = Self {
            store,
            found,
            sort,
            totals,
            front: Vec::new(),
            bases: Bases::default(),
            requests: 0,
        };
        let (mut totals, mut bases) = (std::mem::take(&mut results.totals), Bases::default());
        let mut requests = 0;
        results.read(|recording, rows| {
            bases.add(recording);
            requests += recording.requests;
            for (total, row) in totals.iter_mut().zip(rows) {
                total.add(row);
            }
            Ok(())
        })?;
        let mut order: Vec<RowEntry> = totals;
        results.order(&mut order);
        results.front = pareto::front(&order.iter().collect::<Vec<_>>());
        (results.totals, results.bases, results.requests) = (order, bases, requests);
        Ok(results)
    }

    /// Calls `call` with what was found of each recording, in order, rows as they are kept.
    fn read(
        &self,
        mut call: impl FnMut(&RecordingEntry, &[RowEntry]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        for (path, slot) in &self.found {
            match slot {
                Ok(slot) => {
                    let (recording, rows) = self.store.get(slot)?;
                    call(&recording, &rows)?;
                }
                Err(failure) => call(&RecordingEntry::failed(path, failure), &[])?,
            }
        }
        Ok(())
    }

    /// The same, with the rows of each recording sorted.
    fn each(
        &self,
        mut call: impl FnMut(&RecordingEntry, &[RowEntry]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.read(|recording, rows| {
            let mut rows = rows.to_vec();
            self.order(&mut rows);
            call(recording, &rows)
        })
    }

    /// Sorts rows, those that failed last.
    fn order(&self, rows: &mut [RowEntry]) {
        rows.sort_by_key(|row| {
            let key = match self.sort {
                _ if !row.is_known() => u64::MAX,
                Sort::Tokens => row.tokens_total,
                Sort::Cost if row.is_priced() => row.cost.total,
                Sort::Cost => u64::MAX,
                Sort::Evidence => 1000 - row.recall().unwrap_or(1000).min(1000),
                Sort::Hidden => row.hidden_bytes,
                Sort::Name => 0,
            };
            let name = (self.sort == Sort::Name).then(|| row.policy.clone());
            (!row.is_good(), key, name)
        });
    }

    fn outcome(&self, allow_empty: bool, ui: &Ui) -> Ended {
        let mut outcome = Outcome::Fine;
        for (_, slot) in &self.found {
            if let Err(failure) = slot {
                ui.failure(failure);
                outcome = Outcome::Undecided;
            }
        }
        let mut failed = Vec::new();
        self.read(|_recording, rows| {
            for row in rows.iter().filter(|row| !row.is_good()) {
                failed.push(row.error.clone().unwrap_or_default());
            }
            Ok(())
        })?;
        for words in failed {
            ui.failure(&Failure::new(Kind::Damage, words));
            outcome = Outcome::Undecided;
        }
        if self.requests == 0 && outcome == Outcome::Fine && !allow_empty {
            return Err(Failure::new(Kind::Empty, "nothing to sweep: no recorded request").into());
        }
        Ok(outcome)
    }
}
