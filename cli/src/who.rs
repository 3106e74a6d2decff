//! What the views of identities share: reading a recording, and words for ids.

use std::path::Path;

use ledger::content::Content;
use ledger::id::{SessionId, ToolCallId};
use projector::identity::{AskState, LaneFinding, View};
use replay::who::{Who, WhoError};
use serde::Serialize;

use crate::error::{Ended, Failure, Kind, Outcome, map};
use crate::inputs::{self, Place, Scratch};
use crate::text::one_line;
use crate::tree::Node;
use crate::ui::Ui;

/// Finds a recording and reads who did what in it.
pub(crate) fn open(path: &Path, scratch: &mut Scratch, ui: &Ui) -> Result<(Place, Who), Failure> {
    let place = inputs::one(path, scratch, ui)?;
    let who = read(&place)?;
    Ok((place, who))
}

/// Reads who did what.
pub(crate) fn read(place: &Place) -> Result<Who, Failure> {
    Who::read(&place.folder).map_err(|error| map::open(&error))
}

/// Says what is to be said about the log's end, and how the command ends.
pub(crate) fn end(who: &Who, ui: &mut Ui) -> Ended {
    ui.flush()?;
    if let Some(tail) = who.tail.as_ref().and_then(crate::cmd::tail) {
        ui.note(format_args!("note: {}", one_line(&tail)));
    }
    match &who.error {
        None => Ok(Outcome::Fine),
        Some(error) => Err(failure(error).into()),
    }
}

pub(crate) fn failure(error: &WhoError) -> Failure {
    match error {
        WhoError::Read(error) => map::read(error),
        WhoError::Event { source: ledger::event::EventError::UnknownVersion { .. }, .. } => {
            Failure::of(Kind::Version, error)
        }
        other => Failure::of(Kind::Damage, other),
    }
}

/// The head of every document.
#[derive(Serialize)]
pub(crate) struct LogFacts {
    recording: String,
    run: Option<String>,
    head: String,
    tail: Option<String>,
    error: Option<String>,
    error_kind: Option<&'static str>,
}

impl LogFacts {
    pub(crate) fn of(who: &Who, place: &Place) -> Self {
        let failure = who.error.as_ref().map(failure);
        Self {
            recording: place.shown.display().to_string(),
            run: who.run.map(|run| run.to_string()),
            head: who.head.to_string(),
            tail: who.tail.as_ref().and_then(crate::cmd::tail),
            error_kind: failure.as_ref().map(|failure| failure.kind.name()),
            error: failure.as_ref().map(Failure::line),
        }
    }
}

/// Conversations, calls, turns and questions are numbered from 1 where people see them.
pub(crate) fn number(number: u32) -> u64 {
    u64::from(number) + 1
}

pub(crate) fn session_word(session: Option<SessionId>) -> String {
    session.map_or_else(|| "-".to_owned(), |session| number(session.number()).to_string())
}

/// A name or text for a cell: what rides inside the event, else the artifact's id.
pub(crate) fn words(content: Option<&Content>) -> String {
    let Some(content) = content else { return "-".to_owned() };
    match content.as_inline() {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => content.artifact().map_or_else(String::new, |a| a.id().to_string()),
    }
}

/// Words cut to so many columns.
pub(crate) fn cut(words: &str, columns: usize) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= columns {
        return line;
    }
    line.chars().take(columns.saturating_sub(3)).chain("...".chars()).collect()
}

/// What became of the questions about a call, in one word.
pub(crate) fn asked_word(view: &View, call: ToolCallId) -> String {
    let asks = view.calls().get(&call).into_iter().flat_map(|card| &card.asks);
    let states: Vec<_> = asks.map(|ask| view.ask_state(*ask)).collect();
    match states.as_slice() {
        [] => "-".to_owned(),
        [state] => state.name().to_owned(),
        many => {
            let pending = many.iter().filter(|state| **state == AskState::Pending).count();
            format!("{} asked, {pending} pending", many.len())
        }
    }
}

/// What is to be said about a lane.
pub(crate) fn finding(finding: &LaneFinding) -> (ToolCallId, String) {
    match finding {
        LaneFinding::Differs { call, recorded, computed } => {
            let words = format!(
                "recorded as {}, {} by what the session advertised",
                recorded.name(),
                computed.name()
            );
            (*call, words)
        }
        LaneFinding::Ambiguous { call } => {
            (*call, "bridged by its bare name only, which the agent may use as well".to_owned())
        }
        LaneFinding::Resembles { call } => {
            (*call, "native, and its name holds an advertised tool's".to_owned())
        }
        LaneFinding::OutOfOrder { call, .. } => {
            (*call, "dispatched although an older bridged call waited".to_owned())
        }
        LaneFinding::Uncorrelated { call } => {
            (*call, "dispatched although no shown call waited".to_owned())
        }
    }
}

/// Content in the store by its id and length, else the text.
pub(crate) fn node(content: Option<&Content>) -> Node {
    content.map(crate::event::content).into()
}
