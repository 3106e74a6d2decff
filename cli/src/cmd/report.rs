//! `report`: what recordings cost and where it went, without any configuration.

use std::collections::BTreeMap;

use clap::Args;
use replay::evaluate::{Audit, EvaluatedRow, Prepared, Volatile};
use replay::sweep::each;
use serde::Serialize;

use crate::args::{Format, FormatArgs, RecordingsArgs};
use crate::cmd::sweep::basis::{Bases, RecordingEntry};
use crate::cmd::sweep::row::Breaks;
use crate::cmd::sweep::work::evaluate_failure;
use crate::error::{Ended, Failure, Kind, Outcome, Stop};
use crate::inputs::{self, Input, Scratch};
use crate::rates::RatesArgs;
use crate::report::money::dollars;
use crate::report::number::{bytes, count, counted, percent};
use crate::report::table::{Column, Table};
use crate::ui::Ui;

/// Rows of each table that are shown.
const ROWS_MAX: usize = 12;

/// Say what recordings cost, and where the money went
///
/// Looks at what was recorded, without a policy: what the provider's prompt cache would have made
/// of it, where requests stop being like the ones before and why, whether the client's own
/// rewrites of its history paid, and which tool outputs were carried longest.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold report runs
  counterfold report runs --price-as claude-sonnet-4-5
  counterfold report runs --format json

Exit codes:
  0  worked out
  2  some recording cannot be read, or there is no request")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    recordings: RecordingsArgs,
    #[command(flatten)]
    rates: RatesArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recordings: Vec<Reported>,
}

/// A recording.
#[derive(Clone, Debug, Serialize)]
struct Reported {
    #[serde(flatten)]
    recording: RecordingEntry,
    tokens: u64,
    read: u64,
    write: u64,
    uncached: u64,
    priced: u64,
    cost_picodollars: u64,
    breaks: BTreeMap<String, Breaks>,
    census: Vec<CensusEntry>,
    compactions: Vec<CompactionEntry>,
    carriers: Vec<CarrierEntry>,
}

#[derive(Clone, Debug, Serialize)]
struct CensusEntry {
    request: u64,
    kind: &'static str,
    offset: u64,
    lost_bytes: u64,
    lost_tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
struct CompactionEntry {
    request: u64,
    saved_tokens: u64,
    suffix_tokens: u64,
    requests_left: u64,
    pays_after: Option<u64>,
    paid: Option<bool>,
    since_last: Option<u64>,
    /// It came before the one before had paid.
    thrash: bool,
}

#[derive(Clone, Debug, Serialize)]
struct CarrierEntry {
    tool: String,
    first: u64,
    bytes: u64,
    requests: u64,
    tokens: u64,
    last_use: Option<u64>,
}

pub(crate) fn run(args: &ReportArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let rates = args.rates.read()?;
    let words = &args.recordings;
    let inputs = inputs::recordings(&words.recordings, words.allow_empty, scratch, ui);
    let progress = ui.progress("looking", inputs.len() as u64);
    let one = |nth: usize| {
        let input = inputs.get(nth)?;
        let found = report(input, &rates, args.rates.price_as.as_deref());
        progress.step();
        Some(found)
    };
    let found = each(inputs.len(), 0, &one).map_err(|error| Failure::of(Kind::Io, &error))?;
    drop(progress);
    let mut outcome = Outcome::Fine;
    let mut reported = Vec::new();
    for (found, input) in found.into_iter().flatten().zip(&inputs) {
        match found {
            Ok(found) => reported.push(found),
            Err(failure) => {
                ui.failure(&failure);
                outcome = Outcome::Undecided;
                let path = input.path.display().to_string();
                reported.push(Reported::failed(&path, &failure));
            }
        }
    }
    let requests: u64 = reported.iter().map(|found| found.recording.requests).sum();
    match args.format.format {
        Format::Json => {
            ui.json(&Document { schema: "counterfold.report/1", recordings: reported })?;
        }
        Format::Table if requests > 0 => print(&reported, ui)?,
        Format::Table => {}
    }
    ui.flush()?;
    if requests == 0 && outcome == Outcome::Fine && !words.allow_empty {
        return Err(Failure::new(Kind::Empty, "nothing to report: no recorded request").into());
    }
    Ok(outcome)
}

fn report(
    input: &Input,
    rates: &replay::rulebook::Rates,
    price_as: Option<&str>,
) -> Result<Reported, Failure> {
    let place = input.found.as_ref().map_err(Clone::clone)?;
    let recording = inputs::open(&place.folder)?;
    let prepared = Prepared::new(&recording, rates, price_as);
    let prepared = prepared.map_err(|error| evaluate_failure(&error))?;
    let audit = Audit::of(&prepared).map_err(|error| evaluate_failure(&error))?;
    let row = prepared.row(prepared.base());
    let entry = RecordingEntry::of(&prepared, &input.path.display().to_string());
    Ok(Reported::of(entry, &row, &audit))
}

impl Reported {
    fn of(recording: RecordingEntry, row: &EvaluatedRow, audit: &Audit) -> Self {
        let compactions = audit.compactions.iter().map(|it| CompactionEntry {
            request: it.request,
            saved_tokens: it.saved_tokens,
            suffix_tokens: it.suffix_tokens,
            requests_left: it.requests_left,
            pays_after: it.pays_after,
            paid: it.paid(),
            since_last: it.since_last,
            thrash: it.thrash,
        });
        let compactions = compactions.collect();
        let census = audit.census.iter().map(|it| CensusEntry {
            request: it.request,
            kind: it.kind.name(),
            offset: it.offset,
            lost_bytes: it.lost_bytes,
            lost_tokens: it.lost_tokens,
        });
        let carriers = audit.carriers.iter().map(|it| CarrierEntry {
            tool: crate::text::one_line(&it.tool).into_owned(),
            first: it.first,
            bytes: it.bytes,
            requests: it.requests,
            tokens: it.tokens,
            last_use: it.last_use,
        });
        Self {
            tokens: row.tokens,
            read: row.read,
            write: row.write,
            uncached: row.uncached,
            priced: row.priced,
            cost_picodollars: row.cost.total().0,
            breaks: crate::cmd::sweep::row::breaks(row),
            census: census.collect(),
            compactions,
            carriers: carriers.collect(),
            recording,
        }
    }

    fn failed(path: &str, failure: &Failure) -> Self {
        let recording = RecordingEntry::failed(path, failure);
        Self::of(recording, &EvaluatedRow::default(), &Audit::default())
    }
}

fn print(reported: &[Reported], ui: &mut Ui) -> Result<(), Stop> {
    let mut bases = Bases::default();
    for found in reported {
        bases.add(&found.recording);
    }
    for line in bases.lines() {
        ui.line(format_args!("{}", crate::text::one_line(&line)))?;
    }
    let labels = inputs::labels(reported.iter().map(|it| std::path::Path::new(&it.recording.path)));
    let named: Vec<(&str, &Reported)> = labels.iter().map(String::as_str).zip(reported).collect();
    costs(&named, ui)?;
    breaks(reported, ui)?;
    census(&named, ui)?;
    compactions(&named, ui)?;
    carriers(&named, ui)
}

fn title(words: &str, ui: &mut Ui) -> Result<(), Stop> {
    ui.gap()?;
    ui.toned(crate::ui::Tone::Strong, words)
}

fn rest(all: usize, ui: &mut Ui) -> Result<(), Stop> {
    match all.checked_sub(ROWS_MAX) {
        None | Some(0) => Ok(()),
        Some(more) => ui.line(format_args!("({} more; --format json has all)", count(more as u64))),
    }
}

fn costs(named: &[(&str, &Reported)], ui: &mut Ui) -> Result<(), Stop> {
    title("Cost, dearest first", ui)?;
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Right("requests"),
        Column::Right("input tokens"),
        Column::Right("from cache"),
        Column::Right("cost"),
        Column::Right("error"),
    ]);
    let mut order: Vec<_> = named.iter().filter(|(_, it)| it.recording.requests > 0).collect();
    order.sort_by_key(|(_, it)| u64::MAX - it.cost_picodollars);
    for (label, it) in order.iter().take(ROWS_MAX) {
        let error = it.recording.calibration.and_then(|calibration| {
            (calibration.with_cache > 0 && calibration.cost.reported > 0)
                .then_some(calibration.cost.per_mille)
                .flatten()
        });
        let dash = || "-".to_owned();
        let is_priced = it.priced == it.recording.requests;
        table.row([
            (*label).into(),
            count(it.recording.requests).into(),
            count(it.tokens).into(),
            percent(it.read, it.read + it.write + it.uncached).into(),
            if is_priced { dollars(it.cost_picodollars) } else { dash() }.into(),
            error.map_or_else(|| "uncalibrated".to_owned(), |error| percent(error, 1000)).into(),
        ]);
    }
    ui.table(&table)?;
    rest(order.len(), ui)
}

fn breaks(reported: &[Reported], ui: &mut Ui) -> Result<(), Stop> {
    let mut causes: BTreeMap<&str, Breaks> = BTreeMap::new();
    for (cause, breaks) in reported.iter().flat_map(|it| &it.breaks) {
        causes.entry(cause).or_default().add(breaks);
    }
    title("Cache breaks by cause (simulated)", ui)?;
    if causes.is_empty() {
        return ui.line(format_args!("none"));
    }
    let mut table = Table::new(&[
        Column::Left("cause"),
        Column::Right("breaks"),
        Column::Right("tokens not read again"),
        Column::Right("cost"),
    ]);
    for (cause, breaks) in causes {
        table.row([
            cause.into(),
            count(breaks.count).into(),
            count(breaks.lost_tokens).into(),
            dollars(breaks.cost_picodollars).into(),
        ]);
    }
    ui.table(&table)
}

fn census(named: &[(&str, &Reported)], ui: &mut Ui) -> Result<(), Stop> {
    title("Volatile spans: where a request stops being like the one before", ui)?;
    let rewrite = Volatile::Rewrite.name();
    let mut kinds: BTreeMap<(&str, &str), (u64, u64, u64)> = BTreeMap::new();
    for (label, it) in named {
        for place in it.census.iter().filter(|place| place.kind != rewrite) {
            let (places, tokens, first) =
                kinds.entry((label, place.kind)).or_insert((0, 0, place.request));
            *places += 1;
            *tokens += place.lost_tokens;
            *first = (*first).min(place.request);
        }
    }
    if kinds.is_empty() {
        return ui.line(format_args!("none"));
    }
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Left("what differs"),
        Column::Right("requests"),
        Column::Right("first"),
        Column::Right("tokens behind it"),
    ]);
    let mut order: Vec<_> = kinds.into_iter().collect();
    order.sort_by_key(|(_, (_, tokens, _))| u64::MAX - tokens);
    for ((label, kind), (places, tokens, first)) in order.iter().take(ROWS_MAX) {
        table.row([
            (*label).into(),
            (*kind).into(),
            count(*places).into(),
            count(*first).into(),
            count(*tokens).into(),
        ]);
    }
    ui.table(&table)?;
    rest(order.len(), ui)
}

fn compactions(named: &[(&str, &Reported)], ui: &mut Ui) -> Result<(), Stop> {
    title("Rewrites of the client's own, without the requests that wrote summaries", ui)?;
    let all: Vec<_> = named
        .iter()
        .flat_map(|(label, it)| it.compactions.iter().map(move |c| (label, c)))
        .collect();
    if all.is_empty() {
        return ui.line(format_args!("none"));
    }
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Right("request"),
        Column::Right("tokens saved"),
        Column::Right("read anew"),
        Column::Right("pays after"),
        Column::Right("requests left"),
        Column::Left("verdict"),
    ]);
    for (label, it) in all.iter().take(ROWS_MAX) {
        let verdict = match (it.paid, it.saved_tokens) {
            (_, 0) => "saved nothing",
            (None, _) => "no price",
            (Some(true), _) if it.thrash => "paid; came before the last one had",
            (Some(true), _) => "paid",
            (Some(false), _) => "did not pay",
        };
        table.row([
            (**label).into(),
            count(it.request).into(),
            count(it.saved_tokens).into(),
            count(it.suffix_tokens).into(),
            it.pays_after.map_or_else(|| "-".to_owned(), |n| counted(n, "request")).into(),
            count(it.requests_left).into(),
            verdict.into(),
        ]);
    }
    ui.table(&table)?;
    rest(all.len(), ui)
}

fn carriers(named: &[(&str, &Reported)], ui: &mut Ui) -> Result<(), Stop> {
    title("Largest carriers: outputs by the tokens of all requests that show them", ui)?;
    let mut all: Vec<_> =
        named.iter().flat_map(|(label, it)| it.carriers.iter().map(move |c| (label, c))).collect();
    if all.is_empty() {
        return ui.line(format_args!("none"));
    }
    all.sort_by_key(|(_, it)| u64::MAX - it.tokens);
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Left("tool"),
        Column::Right("first"),
        Column::Right("size"),
        Column::Right("requests"),
        Column::Right("tokens"),
        Column::Left("last use found"),
    ]);
    for (label, it) in all.iter().take(ROWS_MAX) {
        let last = it.last_use.map_or_else(|| "none".to_owned(), |at| format!("request {at}"));
        table.row([
            (**label).into(),
            it.tool.as_str().into(),
            count(it.first).into(),
            bytes(it.bytes).into(),
            count(it.requests).into(),
            count(it.tokens).into(),
            last.into(),
        ]);
    }
    ui.table(&table)?;
    rest(all.len(), ui)
}
