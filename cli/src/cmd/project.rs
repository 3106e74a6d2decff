//! `project`: the bytes of one request under a policy, or where each of them comes from.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ledger::event::HoleValue;
use ledger::history::History;
use projector::policy::ViewKind;
use projector::{Account, Fidelity, Segment};
use replay::diff::{Projected, projected};
use serde::Serialize;

use crate::args::request_name;
use crate::error::{Ended, Failure, Kind, Outcome, file, map};
use crate::inputs::{Opened, RequestName, Scratch};
use crate::policies::{self, Named};
use crate::report::number::{bytes, count, counted};
use crate::ui::Ui;

/// Write one request as it would have been under a policy
///
/// Folds the recorded run up to one request under a policy and writes the request's body. What
/// the projection rests on, and what it hides, goes to standard error. With JSON: the account and
/// every segment of the body with where it comes from, instead of the bytes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold project runs/session@12 > body.json
  counterfold project runs/session@12 --policy cap-4k --out capped.json
  counterfold project runs/session@12 --policy mine.toml --format json

Exit codes:
  0  written
  2  no such request or policy, damage, or the request cannot be projected")]
pub(crate) struct ProjectArgs {
    /// The request, numbered from 1
    #[arg(value_name = "REC@N", value_parser = request_name)]
    request: RequestName,
    /// A built-in policy, `recorded`, or a TOML file
    #[arg(short, long, value_name = "POLICY", default_value = policies::RECORDED)]
    policy: String,
    /// What the client sent, or what the provider's own edits left of it
    ///
    /// Without it, what the policy says it describes.
    #[arg(long, value_enum, value_name = "VIEW")]
    view: Option<View>,
    /// Write the body to a file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What goes to standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Bytes)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum View {
    Wire,
    Effective,
}

impl From<View> for ViewKind {
    fn from(view: View) -> Self {
        match view {
            View::Wire => Self::Wire,
            View::Effective => Self::Effective,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The body
    Bytes,
    /// The account and the segments
    Json,
}

pub(crate) fn run(args: &ProjectArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let mut named = policies::resolve(&args.policy)?;
    if args.view == Some(View::Effective) && named.policy.is_recorded() {
        return Err(Failure::new(
            Kind::Unsupported,
            "no effective view: edits made by the provider are not recorded",
        )
        .hint("a policy with steps at \"server\" says which edits the provider makes")
        .into());
    }
    if let Some(view) = args.view {
        named.policy.view = view.into();
    }
    let opened = args.request.open(scratch, ui)?;
    let done = projected(&opened.recording, &named.policy, opened.request)
        .map_err(|e| map::project(&e))?;
    let Projected { projection, body } = &done;
    if let Fidelity::Refused(_) = projection.fidelity {
        let (_, reason) = projection.fidelity.reason().unwrap_or_default();
        let words = format!("request {} cannot be projected: {reason}", args.request.ordinal);
        return Err(Failure::new(Kind::Unsupported, words)
            .hint("--policy recorded writes it as it was sent")
            .into());
    }
    if let Some(path) = &args.out {
        fs::write(path, body).map_err(|error| file("write", path, &error))?;
    }
    match args.format {
        Format::Json => ui.json(&document(args, &named, &opened, &done))?,
        Format::Bytes if args.out.is_none() => ui.content(body, false)?,
        Format::Bytes => {}
    }
    ui.flush()?;
    if args.format == Format::Bytes {
        account(args, &named, &done, ui);
    }
    Ok(Outcome::Fine)
}

fn account(args: &ProjectArgs, named: &Named, done: &Projected, ui: &Ui) {
    let Account { body_bytes, recorded_bytes, tokens, .. } = done.projection.account;
    let fidelity = &done.projection.fidelity;
    let reason = match fidelity.reason() {
        Some((step, reason)) => format!(" (step {}: {reason})", step + 1),
        None => String::new(),
    };
    ui.note(format_args!(
        "request {} under {}: {}{reason}",
        args.request.ordinal,
        crate::text::one_line(&named.id),
        fidelity.name()
    ));
    ui.note(format_args!(
        "{} of {} recorded, about {} tokens ({})",
        bytes(body_bytes),
        bytes(recorded_bytes),
        count(tokens),
        named.policy.estimator.id()
    ));
    if done.projection.account.changed {
        ui.note(format_args!("{}", hidden(&done.projection.account)));
    }
}

/// What a projection hides, in words.
pub(crate) fn hidden(account: &Account) -> String {
    let mut words = vec![format!("{} hidden", bytes(account.hidden_bytes))];
    for (number, noun, what) in [
        (account.capped_results, "result", "capped"),
        (account.cleared_results, "result", "cleared"),
        (account.dropped_messages, "message", "left out"),
        (account.broken_pairs, "tool exchange", "broken"),
    ] {
        if number > 0 {
            words.push(format!("{} {what}", counted(u64::from(number), noun)));
        }
    }
    words.join(", ")
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    recording: String,
    request: u64,
    policy: String,
    policy_id: String,
    view: &'static str,
    fidelity: &'static str,
    step: Option<usize>,
    reason: Option<&'static str>,
    account: AccountEntry,
    segments: Vec<SegmentEntry>,
}

/// The sizes of a projected request.
#[derive(Serialize)]
pub(crate) struct AccountEntry {
    changed: bool,
    body_bytes: u64,
    recorded_bytes: u64,
    tokens: u64,
    hidden_bytes: u64,
    capped_results: u32,
    cleared_results: u32,
    dropped_messages: u32,
    broken_pairs: u32,
}

impl From<&Account> for AccountEntry {
    fn from(account: &Account) -> Self {
        Self {
            changed: account.changed,
            body_bytes: account.body_bytes,
            recorded_bytes: account.recorded_bytes,
            tokens: account.tokens,
            hidden_bytes: account.hidden_bytes,
            capped_results: account.capped_results,
            cleared_results: account.cleared_results,
            dropped_messages: account.dropped_messages,
            broken_pairs: account.broken_pairs,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SegmentEntry {
    /// Bytes around the texts of a part.
    Literal { part: u32, artifact: Option<String>, range: [usize; 2] },
    /// A range of a recorded text, in bytes before escaping.
    Text {
        part: u32,
        slot: usize,
        what: &'static str,
        source: String,
        artifact: Option<String>,
        range: [usize; 2],
    },
    /// A text of the policy.
    Inserted { step: usize, text: String },
    /// A message or a block of the policy, as it is written.
    Added { step: usize, json: String },
    /// What stands between two messages.
    Separator,
    /// A mark of this request.
    Mark { index: usize },
}

fn document(args: &ProjectArgs, named: &Named, opened: &Opened, done: &Projected) -> Document {
    let projection = &done.projection;
    let reason = projection.fidelity.reason();
    let history = opened.recording.history();
    let segments = projection.view.segments.iter().map(|s| segment(history, s)).collect();
    Document {
        schema: "counterfold.project/1",
        recording: opened.place.shown.display().to_string(),
        request: args.request.ordinal,
        policy: named.id.clone(),
        policy_id: named.policy.id().to_string(),
        view: named.policy.view.word(),
        fidelity: projection.fidelity.name(),
        step: reason.map(|(step, _)| step),
        reason: reason.map(|(_, reason)| reason),
        account: AccountEntry::from(&projection.account),
        segments,
    }
}

fn segment(history: &History, segment: &Segment) -> SegmentEntry {
    let id = |content: &ledger::content::Content| {
        content.artifact().map(|artifact| artifact.id().to_string())
    };
    match segment {
        Segment::Literal { part, range } => SegmentEntry::Literal {
            part: part.number(),
            artifact: id(&history.skeleton(history.part(*part)).literal),
            range: [range.start, range.end],
        },
        Segment::Text { part, slot, range, .. } => {
            let info = history.part(*part);
            let hole = info.holes.get(*slot);
            let def = history.skeleton(info).slots.get(*slot);
            SegmentEntry::Text {
                part: part.number(),
                slot: *slot,
                what: def.map_or("unknown", |def| def.kind.name()),
                source: hole.map_or_else(String::new, |hole| source(&hole.value)),
                artifact: hole.and_then(|hole| id(history.text(hole))),
                range: [range.start, range.end],
            }
        }
        Segment::Inserted { step, text, .. } => {
            SegmentEntry::Inserted { step: *step, text: text.clone() }
        }
        Segment::Added { step, bytes } => {
            let json = String::from_utf8_lossy(bytes).into_owned();
            SegmentEntry::Added { step: *step, json }
        }
        Segment::Separator => SegmentEntry::Separator,
        Segment::Mark { index } => SegmentEntry::Mark { index: *index },
    }
}

/// Where a text comes from. Requests and calls are numbered from 1.
pub(crate) fn source(value: &HoleValue) -> String {
    match value {
        HoleValue::Own(_) => "client".to_owned(),
        HoleValue::AnswerText { request, item }
        | HoleValue::AnswerCallId { request, item }
        | HoleValue::AnswerItemId { request, item }
        | HoleValue::AnswerToolName { request, item } => {
            format!("answer {} item {}", request.ordinal(), item)
        }
        HoleValue::Output { call, index } => {
            format!("output of call {} text {}", u64::from(call.number()) + 1, index)
        }
    }
}
