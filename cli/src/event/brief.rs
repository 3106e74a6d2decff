//! Short facts about events, in the order of the log: sizes, models, tools; no content.

use std::collections::BTreeMap;

use ledger::content::Content;
use ledger::event::{
    Answered, Cause, ContextEdited, Dispatched, Dropped, Event, ImportedRecord, ItemKind,
    MessageAdded, Origin, OutputFound, RequestCaptured, RunClosed, RunOpened, SessionBasis,
    SessionOpened, ToolCalled, ToolReturned,
};
use ledger::id::{RequestId, SessionId, ToolCallId};
use ledger::wire::Dialect;

use super::from_one;
use crate::tree::Node;

/// Facts of an event, named.
pub(crate) type Facts = Vec<(&'static str, Node)>;

/// Walks a log and remembers what later events refer to.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    session_of_request: BTreeMap<RequestId, SessionId>,
    request_of_call: BTreeMap<ToolCallId, RequestId>,
    tool_of_item: BTreeMap<(RequestId, u16), String>,
    tool_of_call: BTreeMap<ToolCallId, String>,
}

impl Listing {
    /// The next event's conversation, where it belongs to one, and its facts.
    pub(crate) fn next(&mut self, event: &Event) -> (Option<SessionId>, Facts) {
        match event {
            Event::RunOpened(event) => (None, run_opened(event)),
            Event::RunClosed(event) => (None, run_closed(event)),
            Event::SessionOpened(event) => (Some(event.session), session_opened(event)),
            Event::MessageAdded(event) => (Some(event.session), message_added(event)),
            Event::ContextEdited(event) => (Some(event.session), context_edited(event)),
            Event::RequestCaptured(event) => {
                self.session_of_request.insert(event.request, event.session);
                (Some(event.session), request_captured(event))
            }
            Event::RequestDispatched(event) => (self.session(event.request), dispatched(event)),
            Event::ResponseReceived(event)
            | Event::ResponseFailed(event)
            | Event::ResponseAborted(event) => {
                self.remember_tools(event);
                (self.session(event.request), answered(event))
            }
            Event::ToolCalled(event) => {
                self.request_of_call.insert(event.call, event.request);
                (self.session(event.request), self.tool_called(event))
            }
            Event::ToolReturned(event) => {
                let request = self.request_of_call.get(&event.call);
                let session = request.and_then(|request| self.session(*request));
                (session, self.tool_returned(event))
            }
            Event::OutputFound(event) => {
                let request = self.request_of_call.get(&event.call);
                let session = request.and_then(|request| self.session(*request));
                (session, self.output_found(event))
            }
            Event::RedactionFailed(event) => {
                let reason = ("reason", event.reason.as_str().into());
                (None, vec![reason, ("bytes", event.raw_bytes.into())])
            }
            Event::RedactionConfigured(event) => {
                let rules = ("rules", event.ruleset.0.as_str().into());
                (None, vec![rules, ("known_values", u64::from(event.known_values).into())])
            }
            Event::SpansReplaced(event) => {
                (None, vec![("redactions", (event.spans.len() as u64).into())])
            }
            Event::ImportedRecord(event) => (None, imported_record(event)),
            Event::Identity(event) => {
                (super::identity::session(event), super::identity::brief(event))
            }
        }
    }

    fn session(&self, request: RequestId) -> Option<SessionId> {
        self.session_of_request.get(&request).copied()
    }

    fn remember_tools(&mut self, answer: &Answered) {
        for (index, item) in answer.items.iter().enumerate() {
            let name = item.name.as_ref().filter(|_| item.kind == ItemKind::ToolCall);
            if let (Some(name), Ok(index)) = (name, u16::try_from(index)) {
                self.tool_of_item.insert((answer.request, index), short(name));
            }
        }
    }

    fn tool_called(&mut self, event: &ToolCalled) -> Facts {
        let tool = self.tool_of_item.get(&(event.request, event.item)).cloned();
        if let Some(tool) = &tool {
            self.tool_of_call.insert(event.call, tool.clone());
        }
        vec![
            ("call", from_one(event.call.number()).into()),
            ("tool", tool.into()),
            ("request", event.request.ordinal().into()),
        ]
    }

    fn tool_returned(&self, event: &ToolReturned) -> Facts {
        let bytes: u64 = event.output.iter().map(|returned| returned.text.len()).sum();
        let mut facts = vec![
            ("call", from_one(event.call.number()).into()),
            ("tool", self.tool_of_call.get(&event.call).cloned().into()),
            ("output_bytes", bytes.into()),
        ];
        if event.output.len() != 1 {
            facts.push(("texts", (event.output.len() as u64).into()));
        }
        gone(&mut facts, event.dropped);
        some(&mut facts, "redactions", u64::from(event.redactions));
        facts
    }

    fn output_found(&self, event: &OutputFound) -> Facts {
        let bytes: u64 = event.pieces.iter().map(|piece| piece.text.len()).sum();
        let mut facts = vec![
            ("call", from_one(event.call.number()).into()),
            ("tool", self.tool_of_call.get(&event.call).cloned().into()),
            ("source", event.source.as_str().into()),
            ("found_bytes", bytes.into()),
        ];
        gone(&mut facts, event.dropped);
        some(&mut facts, "redactions", u64::from(event.redactions));
        facts
    }
}

/// Adds what is missing of an output, where something is or may be.
fn gone(facts: &mut Facts, dropped: Dropped) {
    match dropped {
        Dropped::Unknown => facts.push(("dropped", "unknown".into())),
        Dropped::Bytes(0) => {}
        Dropped::Bytes(bytes) => facts.push(("dropped_bytes", bytes.into())),
    }
}

/// Adds a number that is worth telling only when there is something to count.
fn some(facts: &mut Facts, name: &'static str, number: u64) {
    if number > 0 {
        facts.push((name, number.into()));
    }
}

/// A name that rides inside the event, else the id of its artifact.
pub(super) fn short(content: &Content) -> String {
    match content.as_inline() {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => content.artifact().map_or_else(String::new, |a| a.id().to_string()),
    }
}

fn run_opened(event: &RunOpened) -> Facts {
    let origin = match event.origin {
        Origin::Api => "api",
        Origin::Har => "har",
        Origin::Proxy => "proxy",
        Origin::Transcript => "transcript",
        Origin::Acp => "acp",
        Origin::Stdio => "stdio",
    };
    vec![
        ("run", event.run.to_string().into()),
        ("origin", origin.into()),
        ("source", event.source.as_ref().map(short).into()),
        ("recorder", event.recorder.as_str().into()),
    ]
}

fn run_closed(event: &RunClosed) -> Facts {
    vec![
        ("complete", event.complete.into()),
        ("source_records", event.source_records.into()),
        ("source_unknown", event.source_unknown.into()),
    ]
}

fn session_opened(event: &SessionOpened) -> Facts {
    let basis = match event.basis {
        SessionBasis::Header => "header",
        SessionBasis::Content => "content",
        SessionBasis::Side => "side",
    };
    let mut facts =
        vec![("conversation", from_one(event.session.number()).into()), ("basis", basis.into())];
    if let Some(parent) = event.parent {
        facts.push(("parent", from_one(parent.number()).into()));
    }
    facts
}

fn message_added(event: &MessageAdded) -> Facts {
    let mut facts = vec![
        ("conversation", from_one(event.session.number()).into()),
        ("messages", (event.added.len() as u64).into()),
    ];
    let count =
        |of: fn(&Cause) -> bool| event.added.iter().filter(|added| of(&added.cause)).count() as u64;
    some(&mut facts, "answers", count(|cause| matches!(cause, Cause::Answer(_))));
    some(&mut facts, "tool_results", count(|cause| matches!(cause, Cause::ToolResult(_))));
    some(&mut facts, "user", count(|cause| matches!(cause, Cause::UserInput)));
    some(&mut facts, "inserted", count(|cause| matches!(cause, Cause::Inserted)));
    some(&mut facts, "returned", count(|cause| matches!(cause, Cause::Returned)));
    some(&mut facts, "unlinked", count(|cause| matches!(cause, Cause::Unlinked(_))));
    facts
}

fn context_edited(event: &ContextEdited) -> Facts {
    let removed = event.splices.iter().map(|splice| u64::from(splice.remove)).sum::<u64>();
    let inserted = event.splices.iter().map(|splice| splice.insert.len() as u64).sum::<u64>();
    vec![
        ("conversation", from_one(event.session.number()).into()),
        ("places", (event.splices.len() as u64).into()),
        ("removed", removed.into()),
        ("inserted", inserted.into()),
    ]
}

fn request_captured(event: &RequestCaptured) -> Facts {
    let mut facts = vec![
        ("request", event.request.ordinal().into()),
        ("conversation", from_one(event.session.number()).into()),
        ("model", event.model.as_ref().map(short).into()),
        ("dialect", Dialect::from_tag(event.dialect).map(Dialect::name).into()),
        ("body_bytes", event.body_bytes.into()),
        ("rung", event.rung.name().into()),
    ];
    if event.attempt > 1 {
        facts.push(("attempt", event.attempt.into()));
    }
    some(&mut facts, "redactions", u64::from(event.redactions));
    let absent = event.absent();
    if !absent.is_empty() {
        facts.push(("absent", absent.join(", ").into()));
    }
    if let Some(unsplit) = &event.unsplit {
        facts.push(("unsplit", unsplit.reason.as_str().into()));
    }
    facts
}

fn dispatched(event: &Dispatched) -> Facts {
    // A query may hold anything; the path says where the request went.
    let url = short(&event.url);
    let url = url.split(['?', '#']).next().unwrap_or_default().to_owned();
    vec![
        ("request", event.request.ordinal().into()),
        ("method", short(&event.method).into()),
        ("url", url.into()),
    ]
}

fn answered(event: &Answered) -> Facts {
    let mut facts = vec![
        ("request", event.request.ordinal().into()),
        ("status", event.status.into()),
        ("body_bytes", event.body.as_ref().map(Content::len).into()),
    ];
    let count = |kind: ItemKind| event.items.iter().filter(|item| item.kind == kind).count();
    some(&mut facts, "texts", count(ItemKind::Text) as u64);
    some(&mut facts, "thinking", count(ItemKind::Thinking) as u64);
    some(&mut facts, "tool_calls", count(ItemKind::ToolCall) as u64);
    some(&mut facts, "opaque", count(ItemKind::Opaque) as u64);
    if let Some(usage) = &event.usage {
        facts.push(("input_tokens", usage.input_tokens.into()));
        facts.push(("output_tokens", usage.output_tokens.into()));
    }
    some(&mut facts, "unparsed_events", u64::from(event.unparsed_events));
    if event.body_withheld {
        facts.push(("body_withheld", true.into()));
    }
    facts
}

fn imported_record(event: &ImportedRecord) -> Facts {
    vec![
        ("entry", (event.index + 1).into()),
        ("offset", event.offset.into()),
        ("bytes", event.bytes.len().into()),
        ("reason", event.reason.as_str().into()),
    ]
}
