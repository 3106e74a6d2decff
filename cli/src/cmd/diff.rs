//! `diff`: what a policy changes in one request, message by message.

mod change;
mod columns;
mod document;
mod lines;
mod side;

use clap::Args;
use ledger::id::RequestId;
use projector::{Fidelity, Policy};
use replay::Recording;
use replay::diff::projected;

use self::change::{Change, How};
use self::side::Side;
use crate::args::{Format, FormatArgs, request_name};
use crate::cmd::project::hidden;
use crate::error::{Ended, Failure, Kind, Outcome, Stop, map};
use crate::inputs::{Opened, RequestName, Scratch};
use crate::policies::{self, Named};
use crate::report::number::{bytes, count};
use crate::report::table::{Column, Table};
use crate::text::one_line;
use crate::ui::{Tone, Ui};

/// Show what a policy changes in one request
///
/// Compares one request under a policy with the recorded request, or with the request under a
/// second policy: which tool results are cut or replaced, which messages are left out or added,
/// which parts around the messages differ, which bytes of recorded texts are hidden, and the tokens
/// of it. Then a unified diff of each changed text, unescaped, or the two beside each other; long
/// hidden stretches are summarized, -v shows them whole.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold diff runs/session@12 --policy cap-4k
  counterfold diff runs/session@12 --policy cap-4k --policy cap-16k
  counterfold diff runs/session@12 --policy mine.toml --side-by-side
  counterfold diff runs/session@12 --policy mine.toml --format json

Exit codes:
  0  the request is the same
  1  the request differs
  2  no such request or policy, damage, or the request cannot be projected")]
pub(crate) struct DiffArgs {
    /// The request, numbered from 1
    #[arg(value_name = "REC@N", value_parser = request_name)]
    request: RequestName,
    /// A built-in policy, `recorded`, or a TOML file. Given once, it is compared with the
    /// recorded request; given twice, the second is compared with the first
    #[arg(short, long = "policy", value_name = "POLICY", required = true)]
    policies: Vec<String>,
    /// Lines of context around each change
    #[arg(long, value_name = "LINES", default_value_t = 3)]
    context: usize,
    /// Show the texts beside each other
    #[arg(short = 'y', long)]
    side_by_side: bool,
    /// Do not start a pager (`COUNTERFOLD_PAGER`, `PAGER`, or `less`) on a terminal
    #[arg(long)]
    no_pager: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &DiffArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let (left, right) = match args.policies.as_slice() {
        [only] => (policies::resolve(policies::RECORDED)?, policies::resolve(only)?),
        [first, second] => (policies::resolve(first)?, policies::resolve(second)?),
        _ => {
            return Err(Failure::new(Kind::Usage, "more than two policies")
                .hint("`counterfold sweep` compares many policies")
                .into());
        }
    };
    let Opened { place, recording, request } = args.request.open(scratch, ui)?;
    let all = side::items(&recording, request)?;
    let left = one(&recording, left, args, request, &all)?;
    let right = one(&recording, right, args, request, &all)?;
    let changes = change::changes(&recording, &all, &left, &right)?;
    let same = left.body == right.body;
    match args.format.format {
        Format::Json => {
            ui.json(&document::document(args, &place.shown, &left, &right, &changes))?;
        }
        Format::Table => {
            if !args.no_pager {
                ui.page()?;
            }
            print(args, &left, &right, &changes, ui)?;
        }
    }
    Ok(if same { Outcome::Fine } else { Outcome::Found })
}

fn one(
    recording: &Recording,
    named: Named,
    args: &DiffArgs,
    request: RequestId,
    all: &[ledger::id::PartNo],
) -> Result<Side, Failure> {
    let Named { id, policy } = named;
    let done = projected(recording, &policy, request).map_err(|error| map::project(&error))?;
    if let Fidelity::Refused(_) = done.projection.fidelity {
        let (_, reason) = done.projection.fidelity.reason().unwrap_or_default();
        let ordinal = args.request.ordinal;
        let words = format!("request {ordinal} cannot be projected: {reason}");
        return Err(Failure::new(Kind::Unsupported, words)
            .hint("`counterfold cat REC@N` prints it as it was sent"));
    }
    Side::new(recording.history(), id, policy, done, all)
}

/// Estimated tokens of a side.
fn tokens(policy: &Policy, body: &[u8]) -> u64 {
    policy.estimator.tokens(body.len() as u64)
}

fn print(
    args: &DiffArgs,
    left: &Side,
    right: &Side,
    changes: &[Change],
    ui: &mut Ui,
) -> Result<(), Stop> {
    for side in [left, right] {
        let fidelity = &side.projection.fidelity;
        let reason = fidelity.reason().map(|(_, reason)| format!(" ({reason})"));
        let words = format!(
            "{}: {}{}, {}, about {} tokens ({})",
            side.id,
            fidelity.name(),
            reason.unwrap_or_default(),
            bytes(side.body.len() as u64),
            count(tokens(&side.policy, &side.body)),
            side.policy.estimator.id()
        );
        ui.line(format_args!("{}", one_line(&words)))?;
        if side.projection.account.changed {
            ui.line(format_args!("  {}", hidden(&side.projection.account)))?;
        }
    }
    if changes.is_empty() {
        let same = left.body == right.body;
        let words = if same { "the request is the same" } else { "no text differs" };
        return ui.line(format_args!("\n{words}"));
    }
    ui.gap()?;
    ui.table(&summary(changes))?;
    let limits = lines::Limits { context: args.context, whole: ui.is_verbose() };
    for change in changes {
        if change.is_whole() && change.how != How::Added {
            continue;
        }
        ui.gap()?;
        ui.toned(Tone::Strong, &one_line(&change.title()))?;
        ui.toned(Tone::Bad, &format!("--- {}", one_line(&left.id)))?;
        ui.toned(Tone::Good, &format!("+++ {}", one_line(&right.id)))?;
        let (left, right) = (&change.left.text, &change.right.text);
        if args.side_by_side {
            columns::print(left, right, limits, ui)?;
        } else {
            lines::print(left, right, limits, ui)?;
        }
    }
    Ok(())
}

/// Ranges that are listed of one text.
const RANGES_MAX: usize = 3;

/// The hidden bytes of a text, as `2000..8123`.
fn ranges(change: &Change) -> String {
    if change.is_whole() || change.hidden.is_empty() {
        return "-".to_owned();
    }
    let shown = change.hidden.iter().take(RANGES_MAX);
    let mut words: Vec<_> = shown.map(|range| format!("{}..{}", range.start, range.end)).collect();
    if let Some(more @ 1..) = change.hidden.len().checked_sub(RANGES_MAX) {
        words.push(format!("{more} more"));
    }
    words.join(" ")
}

fn summary(changes: &[Change]) -> Table {
    let mut table = Table::new(&[
        Column::Right("message"),
        Column::Left("role"),
        Column::Left("what"),
        Column::Left("tool"),
        Column::Left("how"),
        Column::Right("before"),
        Column::Right("after"),
        Column::Right("hidden"),
        Column::LeftExtra("range"),
        Column::Right("tokens"),
    ]);
    for change in changes {
        let (before, after) = (change.left.tokens, change.right.tokens);
        let sign = if after < before { "-" } else { "+" };
        table.row([
            change.message.map_or_else(|| "-".to_owned(), count).into(),
            change.role.into(),
            change.what.into(),
            change.tool.as_deref().unwrap_or("-").into(),
            change.how.name().into(),
            bytes(change.left.bytes).into(),
            bytes(change.right.bytes).into(),
            bytes(change.hidden_bytes()).into(),
            ranges(change).into(),
            format!("{sign}{}", count(before.abs_diff(after))).into(),
        ]);
    }
    table
}
