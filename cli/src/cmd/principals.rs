//! `principals`: who acts, and what a principal leads to.

use std::path::PathBuf;

use clap::Args;
use ledger::id::PrincipalId;
use ledger::identity::principals::{Lookup, Principal, Principals};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Outcome, Stop};
use crate::event::time;
use crate::inputs::Scratch;
use crate::report::table::{Column, Table};
use crate::tree::Node;
use crate::ui::Ui;
use crate::who::{self, LogFacts, session_word, words};

/// List principals and what they lead to
///
/// A principal is looked up by its id only, never by a name and never by what was there last. It
/// is resolved (with the instance and the tool's session that was seen last, as of the last event
/// on record), unresolved, claimed without a record of it, or unknown. When the log is damaged,
/// nobody resolves. A principal proves nothing about a person and gives no right.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold principals runs/fleet
  counterfold principals runs/fleet --id 00112233445566778899aabbccddeeff

Exit codes:
  0  listed; with --id: it is resolved
  1  with --id: it is unresolved, claimed or unknown
  2  no such recording, or its log is damaged")]
pub(crate) struct PrincipalsArgs {
    /// A recording
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Only this principal: 32 hex digits
    #[arg(long, value_name = "ID", value_parser = principal)]
    id: Option<PrincipalId>,
    #[command(flatten)]
    format: FormatArgs,
}

fn principal(word: &str) -> Result<PrincipalId, &'static str> {
    PrincipalId::parse(word).ok_or("expected 32 hex digits")
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    log: LogFacts,
    principals: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    principal: String,
    status: &'static str,
    instance: Option<String>,
    process: Option<String>,
    session_id: Option<String>,
    last_observed_unix_ns: Option<u64>,
    claiming_instances: Vec<String>,
    reason: Node,
    continues: Node,
    stopped: Node,
    forked_from: Option<String>,
    sessions: Vec<String>,
}

pub(crate) fn run(args: &PrincipalsArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let (place, who) = who::open(&args.recording, scratch, ui)?;
    let known = &who.principals;
    let rows: Vec<_> = match args.id {
        Some(id) => vec![row(known, id, known.get(id))],
        None => known.iter().map(|(id, principal)| row(known, id, Some(principal))).collect(),
    };
    let resolved = rows.iter().all(|row| row.status == "resolved");
    match args.format.format {
        Format::Json => ui.json(&Document {
            schema: "counterfold.principals/1",
            log: LogFacts::of(&who, &place),
            principals: rows,
        })?,
        Format::Table => print(&rows, ui)?,
    }
    match who::end(&who, ui)? {
        Outcome::Fine if args.id.is_some() && !resolved => Ok(Outcome::Found),
        outcome => Ok(outcome),
    }
}

fn row(principals: &Principals, id: PrincipalId, known: Option<&Principal>) -> Row {
    let mut row = Row {
        principal: id.to_string(),
        status: "unknown",
        instance: None,
        process: None,
        session_id: None,
        last_observed_unix_ns: known.and_then(|known| known.last_observed_unix_ns),
        claiming_instances: Vec::new(),
        reason: known
            .and_then(|known| known.minted)
            .map(|(why, _)| crate::event::word(&why))
            .into(),
        continues: known
            .and_then(|known| known.minted)
            .map(|(_, continues)| crate::event::word(&continues))
            .into(),
        stopped: known.and_then(|known| known.stopped).map(|why| crate::event::word(&why)).into(),
        forked_from: known.and_then(|known| known.parent).map(|parent| parent.to_string()),
        sessions: known
            .into_iter()
            .flat_map(|known| &known.sessions)
            .map(|session| words(Some(session)))
            .collect(),
    };
    match principals.lookup(id) {
        Lookup::Resolved { binding, session, .. } => {
            row.status = "resolved";
            row.instance = Some(words(Some(&binding.instance)));
            row.process = binding.process.as_ref().map(|process| words(Some(process)));
            row.session_id = session.as_ref().map(|session| words(Some(session)));
        }
        Lookup::Unresolved { recorded } => {
            row.status = "unresolved";
            row.instance = recorded.as_ref().map(|name| words(Some(name)));
        }
        Lookup::MissingBinding { claims } => {
            row.status = "missing_binding";
            row.claiming_instances = claims.iter().map(|name| words(Some(name))).collect();
        }
        Lookup::Unknown => {}
    }
    row
}

fn print(rows: &[Row], ui: &mut Ui) -> Result<(), Stop> {
    if rows.is_empty() {
        return ui.line(format_args!("no principals on record"));
    }
    let mut table = Table::new(&[
        Column::Left("principal"),
        Column::Left("status"),
        Column::Left("instance"),
        Column::Left("session"),
        Column::LeftExtra("last seen"),
        Column::LeftExtra("forked from"),
    ]);
    let or_dash = |word: &Option<String>| word.clone().unwrap_or_else(|| session_word(None));
    for row in rows {
        table.row([
            row.principal.as_str().into(),
            row.status.replace('_', " ").into(),
            or_dash(&row.instance).into(),
            or_dash(&row.session_id).into(),
            row.last_observed_unix_ns.map_or_else(|| session_word(None), time).into(),
            or_dash(&row.forked_from).into(),
        ]);
    }
    ui.table(&table)
}
