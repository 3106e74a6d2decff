//! `hooks`: what hooks and reviews of a recording published, and what joins nothing.

use std::path::PathBuf;

use clap::Args;
use projector::identity::{Evidence, Loose, Record, Standing};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::error::{Ended, Stop};
use crate::inputs::Scratch;
use crate::report::table::{Column, Table};
use crate::tree::Node;
use crate::ui::Ui;
use crate::who::{self, LogFacts, number, session_word};

/// List hooks, reviews and questions of a recording
///
/// One line per record of a hook or review: its call, its revision, its state, and how many
/// pieces of evidence it has, conflicts among them. Records that fit no call, and receipts that
/// do not say what they are about, stand alone and are listed as such. Then the questions for
/// permission, and what became of them.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold hooks runs/session
  counterfold hooks runs/session --format json | jq '.hooks[] | select(.conflicts > 0)'

Exit codes:
  0  listed
  2  no such recording, or its log is damaged: listed up to the damage")]
pub(crate) struct HooksArgs {
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
    hooks: Vec<HookRow>,
    questions: Vec<QuestionRow>,
    standalone: Vec<Alone>,
}

#[derive(Serialize)]
struct HookRow {
    hook: String,
    call: Option<u64>,
    session: Option<u64>,
    joined: bool,
    revision: Option<u64>,
    state: Node,
    disposition: Node,
    evidence: u64,
    conflicts: u64,
    incomplete: u64,
}

#[derive(Serialize)]
struct QuestionRow {
    question: u64,
    call: Option<u64>,
    session: Option<u64>,
    review: Option<String>,
    asker: Node,
    state: &'static str,
    stray_receipts: u64,
}

#[derive(Serialize)]
struct Alone {
    seq: u64,
    what: &'static str,
}

pub(crate) fn run(args: &HooksArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let (place, who) = who::open(&args.recording, scratch, ui)?;
    let view = &who.view;
    let joins = |id| {
        let call = view.hooks().get(&id).and_then(Record::call);
        call.is_some_and(|call| view.hooks_of(call).any(|(other, _)| other == id))
    };
    let hooks: Vec<_> =
        view.hooks().iter().map(|(id, record)| hook(id.to_string(), record, joins(*id))).collect();
    let questions: Vec<_> = view
        .asks()
        .iter()
        .map(|(id, ask)| {
            let asked = ask.asked.first();
            QuestionRow {
                question: number(id.number()),
                call: asked.map(|asked| number(asked.call.number())),
                session: asked.map(|asked| number(asked.origin.number())),
                review: asked.and_then(|asked| asked.review).map(|id| id.to_string()),
                asker: asked.map(|asked| crate::event::word(&asked.asker)).into(),
                state: view.ask_state(*id).name(),
                stray_receipts: ask.stray().count() as u64,
            }
        })
        .collect();
    let standalone: Vec<_> = view
        .loose()
        .iter()
        .map(|(seq, loose)| Alone {
            seq,
            what: match loose {
                Loose::Hook(_) => "hook whose ids do not fit together",
                Loose::Receipt(_) => "receipt that does not say what it is about",
            },
        })
        .collect();
    match args.format.format {
        Format::Json => ui.json(&Document {
            schema: "counterfold.hooks/1",
            log: LogFacts::of(&who, &place),
            hooks,
            questions,
            standalone,
        })?,
        Format::Table => print(&hooks, &questions, &standalone, ui)?,
    }
    who::end(&who, ui)
}

fn hook(id: String, record: &Record, joined: bool) -> HookRow {
    let resolved = record.resolve();
    let count = |wanted| {
        resolved.evidence.iter().filter(|(_, standing, _)| *standing == wanted).count() as u64
    };
    let (state, disposition) = match resolved.current {
        Some(Evidence::Outcome(event)) => (crate::event::word(&event.decision), Node::Null),
        Some(Evidence::Review(event)) => (
            crate::event::word(&event.assessment),
            event.disposition.map(|what| crate::event::word(&what)).into(),
        ),
        None => (Node::Null, Node::Null),
    };
    HookRow {
        hook: id,
        call: resolved.call.map(|call| number(call.number())),
        session: resolved.origin.map(|origin| number(origin.number())),
        joined,
        revision: resolved.revision.map(ledger::id::Revision::number),
        state,
        disposition,
        evidence: resolved.evidence.len() as u64,
        conflicts: count(Standing::Conflict),
        incomplete: count(Standing::Incomplete),
    }
}

fn word(number: Option<u64>) -> String {
    number.map_or_else(|| session_word(None), |number| number.to_string())
}

fn print(
    hooks: &[HookRow],
    questions: &[QuestionRow],
    standalone: &[Alone],
    ui: &mut Ui,
) -> Result<(), Stop> {
    if hooks.is_empty() && questions.is_empty() && standalone.is_empty() {
        return ui.line(format_args!("no hooks, reviews or questions on record"));
    }
    let mut table = Table::new(&[
        Column::Left("hook"),
        Column::Right("call"),
        Column::Right("session"),
        Column::Right("revision"),
        Column::Left("state"),
        Column::Left("stands"),
        Column::Right("evidence"),
        Column::Right("conflicts"),
    ]);
    for hook in hooks {
        table.row([
            hook.hook.as_str().into(),
            word(hook.call).into(),
            word(hook.session).into(),
            word(hook.revision).into(),
            hook.state.scalar().unwrap_or_default().into(),
            if hook.joined { "with its call" } else { "alone" }.into(),
            hook.evidence.to_string().into(),
            hook.conflicts.to_string().into(),
        ]);
    }
    if !table.is_empty() {
        ui.table(&table)?;
    }
    let mut table = Table::new(&[
        Column::Right("question"),
        Column::Right("call"),
        Column::Right("session"),
        Column::Left("asked by"),
        Column::Left("state"),
    ]);
    for question in questions {
        table.row([
            question.question.to_string().into(),
            word(question.call).into(),
            word(question.session).into(),
            question.asker.scalar().unwrap_or_default().into(),
            question.state.into(),
        ]);
    }
    if !table.is_empty() {
        ui.table(&table)?;
    }
    for alone in standalone {
        ui.line(format_args!("event {} stands alone: {}", alone.seq, alone.what))?;
    }
    Ok(())
}
