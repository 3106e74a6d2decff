//! `sessions`: the conversations of a recording.

use std::path::PathBuf;

use clap::Args;
use ledger::id::SessionId;
use projector::identity::{CardState, State};
use replay::who::{SessionFacts, Who};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Stop};
use crate::inputs::Scratch;
use crate::report::number::count;
use crate::report::table::{Column, Table};
use crate::ui::Ui;
use crate::who::{self, LogFacts, number, session_word, words};

/// List the conversations of a recording
///
/// One line per conversation: the one that it belongs to, its requests, turns and calls, and
/// where it stands. Sub-agents are conversations of their own; where the client says whose they
/// are, that stands under parent.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold sessions runs/session
  counterfold sessions runs/session --format json | jq '.sessions[].state'

Exit codes:
  0  listed
  2  no such recording, or its log is damaged: listed up to the damage")]
pub(crate) struct SessionsArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    log: LogFacts,
    sessions: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    session: u64,
    parent: Option<u64>,
    basis: &'static str,
    client_session: Option<String>,
    requests: u64,
    turns: u64,
    resets: u64,
    calls: u64,
    open_calls: u64,
    pending_questions: u64,
    spawned_by_call: Option<u64>,
    spawned_by: Option<&'static str>,
    state: &'static str,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

pub(crate) fn run(args: &SessionsArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let (place, who) = who::open(&args.recording, scratch, ui)?;
    let sessions: Vec<_> =
        who.sessions.iter().map(|(session, facts)| row(&who, *session, facts)).collect();
    match args.format.format {
        Format::Json => ui.json(&Document {
            schema: "counterfold.sessions/1",
            log: LogFacts::of(&who, &place),
            sessions,
        })?,
        Format::Table => print(&sessions, ui)?,
    }
    who::end(&who, ui)
}

fn row(who: &Who, session: SessionId, facts: &SessionFacts) -> Row {
    let cards = || who.view.calls().values().filter(|card| card.session() == Some(session));
    let open = |state| matches!(state, CardState::Requested | CardState::Dispatched);
    let pending = who.view.pending().filter(|ask| {
        let asked = who.view.asks().get(ask).and_then(|ask| ask.asked.first());
        asked.is_some_and(|asked| asked.origin == session)
    });
    let spawned_by = who.view.calls().iter().find(|(_, card)| {
        card.children.iter().any(|(_, child)| *child == ledger::event::Child::Session(session))
    });
    let spawned_by = match spawned_by {
        Some((call, _)) => Some((*call, "event")),
        None => who.started_by.get(&session).map(|call| (*call, "output")),
    };
    let talk = who.conversations.get(session);
    let usage = talk.map(projector::identity::Conversation::usage).unwrap_or_default();
    Row {
        session: number(session.number()),
        parent: facts.parent.map(|parent| number(parent.number())),
        basis: match facts.basis {
            ledger::event::SessionBasis::Header => "header",
            ledger::event::SessionBasis::Content => "content",
            ledger::event::SessionBasis::Side => "side",
        },
        client_session: facts.client_session.as_ref().map(|id| words(Some(id))),
        requests: facts.requests,
        turns: facts.turns,
        resets: facts.resets,
        calls: cards().count() as u64,
        open_calls: cards().filter(|card| open(card.state())).count() as u64,
        pending_questions: pending.count() as u64,
        spawned_by_call: spawned_by.map(|(call, _)| number(call.number())),
        spawned_by: spawned_by.map(|(_, basis)| basis),
        state: state(facts, talk.map(projector::identity::Conversation::state)),
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
    }
}

/// Where a conversation stands; on the wire, where turns are not told of, only that it was.
fn state(facts: &SessionFacts, told: Option<State>) -> &'static str {
    match told {
        Some(State::Awaiting) => "awaiting",
        Some(State::Running) => "running",
        Some(State::Failed) => "failed",
        Some(State::Cancelled) => "cancelled",
        Some(State::Completed) => "completed",
        Some(State::Idle) | None if facts.closed => "closed",
        Some(State::Idle) => "idle",
        None => "-",
    }
}

fn print(sessions: &[Row], ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Right("session"),
        Column::Right("parent"),
        Column::Left("basis"),
        Column::Right("requests"),
        Column::Right("turns"),
        Column::Right("calls"),
        Column::Right("open"),
        Column::Left("state"),
        Column::LeftExtra("client's id"),
    ]);
    for row in sessions {
        table.row([
            row.session.to_string().into(),
            row.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string()).into(),
            row.basis.into(),
            count(row.requests).into(),
            count(row.turns).into(),
            count(row.calls).into(),
            count(row.open_calls).into(),
            row.state.into(),
            row.client_session.clone().unwrap_or_else(|| session_word(None)).into(),
        ]);
    }
    ui.table(&table)
}
