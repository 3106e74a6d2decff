//! `calls`: the tool calls of a recording.

use std::path::PathBuf;

use clap::Args;
use ledger::event::Dropped;
use ledger::id::ToolCallId;
use projector::identity::{Asked, Card, Held};
use replay::who::Who;
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Stop};
use crate::inputs::Scratch;
use crate::report::number;
use crate::report::table::{Column, Table};
use crate::ui::{Tone, Ui};
use crate::who::{self, LogFacts, cut, session_word, words};

/// Columns of a tool's name.
const TOOL_COLUMNS: usize = 32;

/// List the tool calls of a recording
///
/// One line per call, in the order in which they were asked for: where it comes from, its tool,
/// how far it got, its attempts, questions and hooks, and the length of its output. The number is
/// the call's own; ids of providers and agents repeat and are not shown. `counterfold show REC
/// call-N` tells a call's whole life.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold calls runs/session
  counterfold calls runs/session --session 2 --open
  counterfold calls runs/session --format json | jq '.calls[] | select(.state == \"failed\")'

Exit codes:
  0  listed
  2  no such recording, or its log is damaged: listed up to the damage")]
pub(crate) struct CallsArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Only calls of this conversation, numbered from 1
    #[arg(long, value_name = "N")]
    session: Option<u64>,
    /// Only calls that have not ended
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    log: LogFacts,
    calls: Vec<Row>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    call: u64,
    what: String,
}

#[derive(Serialize)]
struct Row {
    call: u64,
    id: Option<String>,
    session: Option<u64>,
    turn: Option<u64>,
    request: Option<u64>,
    item: Option<u16>,
    lane: Option<&'static str>,
    ambiguous: Option<bool>,
    tool: Option<String>,
    state: &'static str,
    attempts: u64,
    questions: u64,
    hooks: u64,
    held: &'static str,
    output_bytes: Option<u64>,
    dropped_bytes: Option<u64>,
    found_outputs: u64,
    subagents: u64,
    depends_on_runs: Vec<String>,
}

pub(crate) fn run(args: &CallsArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let (place, who) = who::open(&args.recording, scratch, ui)?;
    let wanted = |card: &Card| {
        let session = card.session().map(|session| who::number(session.number()));
        (args.session.is_none() || session == args.session) && (!args.open || !card.is_settled())
    };
    let rows: Vec<_> = who
        .view
        .calls()
        .iter()
        .filter(|(_, card)| wanted(card))
        .map(|(call, card)| (row(&who, *call, card), who::asked_word(&who.view, *call)))
        .collect();
    let findings: Vec<_> = who
        .findings
        .iter()
        .map(who::finding)
        .map(|(call, what)| Finding { call: who::number(call.number()), what })
        .collect();
    match args.format.format {
        Format::Json => ui.json(&Document {
            schema: "counterfold.calls/1",
            log: LogFacts::of(&who, &place),
            calls: rows.into_iter().map(|(row, _)| row).collect(),
            findings,
        })?,
        Format::Table => print(&rows, &findings, ui)?,
    }
    who::end(&who, ui)
}

fn row(who: &Who, call: ToolCallId, card: &Card) -> Row {
    let (request, item) = match card.asked.first() {
        Some(Asked::Answer { request, item, .. }) => (Some(request.ordinal()), Some(*item)),
        _ => (None, None),
    };
    let output = card.outputs.first();
    let invocation = |run| ledger::identity::InvocationId { run, call }.to_string();
    Row {
        call: who::number(call.number()),
        id: who.run.map(invocation),
        session: card.session().map(|session| who::number(session.number())),
        turn: card.turn().map(|turn| who::number(turn.number())),
        request,
        item,
        lane: card.lane().map(ledger::event::Lane::name),
        ambiguous: card.lane().map(ledger::event::Lane::is_ambiguous),
        tool: card.given.name.as_ref().map(|name| words(Some(name))),
        state: card.state().name(),
        attempts: card.attempts.len() as u64,
        questions: card.asks.len() as u64,
        hooks: who.view.hooks_of(call).count() as u64,
        held: match card.held() {
            Held::No => "no",
            Held::Waiting(_) => "held",
            Held::Released(_) => "released",
            Held::Refused(_) => "refused",
        },
        output_bytes: output.map(|output| output.texts.iter().map(|text| text.text.len()).sum()),
        dropped_bytes: output.and_then(|output| match output.dropped {
            Dropped::Bytes(bytes) => Some(bytes),
            Dropped::Unknown => None,
        }),
        found_outputs: card.found.len() as u64,
        subagents: card.children.len() as u64,
        depends_on_runs: card.depends_on().iter().map(ToString::to_string).collect(),
    }
}

fn print(rows: &[(Row, String)], findings: &[Finding], ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Right("call"),
        Column::Right("session"),
        Column::Left("from"),
        Column::Left("tool"),
        Column::Left("state"),
        Column::Right("output"),
        Column::LeftExtra("asked"),
        Column::RightExtra("hooks"),
        Column::RightExtra("attempts"),
    ]);
    for (row, asked) in rows {
        let from = match (row.request, row.turn, row.lane) {
            (Some(request), ..) => format!("request {request}"),
            (_, Some(turn), Some(lane)) => format!("turn {turn}, {lane}"),
            (_, Some(turn), None) => format!("turn {turn}"),
            (_, None, Some(lane)) => lane.to_owned(),
            _ => "-".to_owned(),
        };
        let session = row.session.map_or_else(|| session_word(None), |n| n.to_string());
        table.row([
            row.call.to_string().into(),
            session.into(),
            from.into(),
            cut(row.tool.as_deref().unwrap_or("-"), TOOL_COLUMNS).into(),
            row.state.into(),
            row.output_bytes.map_or_else(|| "-".to_owned(), number::bytes).into(),
            asked.as_str().into(),
            number::count(row.hooks).into(),
            number::count(row.attempts).into(),
        ]);
    }
    ui.table(&table)?;
    for finding in findings {
        ui.toned(Tone::Warn, &format!("call {}: {}", finding.call, finding.what))?;
    }
    Ok(())
}
