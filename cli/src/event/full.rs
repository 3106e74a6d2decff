//! Everything that an event says. Content in the store is named by its id.

use ledger::event::{
    Added, AnswerItem, Answered, Cause, ContextEdited, Dispatched, Dropped, Event, Headers, Hole,
    HoleValue, ItemKind, MessageAdded, OutputFound, Overlay, PartDef, PartUse, Propensity,
    RedactionConfigured, RequestCaptured, RunClosed, RunOpened, SessionOpened, Skeleton,
    SkeletonUse, SpansReplaced, Splice, ToolReturned, Usage,
};
use ledger::id::{PartNo, RequestId};
use ledger::wire::{Dialect, PartKind, Role};

use super::{content, from_one, hex};
use crate::tree::Node;

type Members = Vec<(&'static str, Node)>;

/// The members of an event.
pub(crate) fn full(event: &Event) -> Node {
    Node::Map(match event {
        Event::RunOpened(event) => run_opened(event),
        Event::RunClosed(event) => run_closed(event),
        Event::SessionOpened(event) => session_opened(event),
        Event::MessageAdded(event) => message_added(event),
        Event::ContextEdited(event) => context_edited(event),
        Event::RequestCaptured(event) => request_captured(event),
        Event::RequestDispatched(event) => dispatched(event),
        Event::ResponseReceived(event)
        | Event::ResponseFailed(event)
        | Event::ResponseAborted(event) => answered(event),
        Event::ToolCalled(event) => vec![
            ("call", from_one(event.call.number()).into()),
            ("request", event.request.ordinal().into()),
            ("item", event.item.into()),
        ],
        Event::ToolReturned(event) => tool_returned(event),
        Event::OutputFound(event) => output_found(event),
        Event::RedactionFailed(event) => {
            vec![("reason", event.reason.as_str().into()), ("raw_bytes", event.raw_bytes.into())]
        }
        Event::RedactionConfigured(event) => redaction_configured(event),
        Event::SpansReplaced(event) => spans_replaced(event),
        Event::ImportedRecord(event) => vec![
            ("entry", (event.index + 1).into()),
            ("offset", event.offset.into()),
            ("reason", event.reason.as_str().into()),
            ("bytes", content(&event.bytes)),
        ],
        Event::Identity(event) => super::identity::full(event),
    })
}

fn run_opened(event: &RunOpened) -> Members {
    let (ruleset, version, digest) = &event.ruleset;
    vec![
        ("run", event.run.to_string().into()),
        ("origin", format!("{:?}", event.origin).to_lowercase().into()),
        ("source", event.source.as_ref().map(content).into()),
        ("recorder", event.recorder.as_str().into()),
        (
            "redaction",
            Node::Map(vec![
                ("rules", ruleset.as_str().into()),
                ("version", (*version).into()),
                ("digest", hex(digest).into()),
            ]),
        ),
        ("opened_at", super::time(event.opened_unix_ns).into()),
    ]
}

fn redaction_configured(event: &RedactionConfigured) -> Members {
    let (ruleset, version, digest) = &event.ruleset;
    vec![
        ("rules", ruleset.as_str().into()),
        ("version", (*version).into()),
        ("digest", hex(digest).into()),
        ("key", event.key.map(|key| hex(&key)).into()),
        (
            "known",
            event.known.iter().map(|name| name.as_str().into()).collect::<Vec<Node>>().into(),
        ),
        ("known_values", event.known_values.into()),
    ]
}

fn spans_replaced(event: &SpansReplaced) -> Members {
    let span = |span: &ledger::event::ReplacedSpan| {
        Node::Map(vec![
            ("rule", span.rule.into()),
            ("offset", span.offset.into()),
            ("bytes", span.bytes.into()),
            ("raw_bytes", span.raw_bytes.into()),
            ("flags", u64::from(span.flags).into()),
        ])
    };
    vec![
        ("text", hex(&event.text).into()),
        ("raw_bytes", event.raw_bytes.into()),
        ("spans", event.spans.iter().map(span).collect::<Vec<_>>().into()),
    ]
}

fn run_closed(event: &RunClosed) -> Members {
    vec![
        ("complete", event.complete.into()),
        ("source_digest", event.source_digest.map(|digest| hex(&digest)).into()),
        ("source_records", event.source_records.into()),
        ("source_unknown", event.source_unknown.into()),
    ]
}

fn session_opened(event: &SessionOpened) -> Members {
    vec![
        ("conversation", from_one(event.session.number()).into()),
        ("parent", event.parent.map(|parent| from_one(parent.number())).into()),
        ("basis", format!("{:?}", event.basis).to_lowercase().into()),
        ("client_session", event.client_session.as_ref().map(content).into()),
        ("aliases", event.aliases.iter().map(content).collect::<Vec<_>>().into()),
    ]
}

fn message_added(event: &MessageAdded) -> Members {
    vec![
        ("conversation", from_one(event.session.number()).into()),
        ("added", event.added.iter().map(added).collect::<Vec<_>>().into()),
    ]
}

fn context_edited(event: &ContextEdited) -> Members {
    vec![
        ("conversation", from_one(event.session.number()).into()),
        ("splices", splices(&event.splices, added)),
    ]
}

fn splices<T>(splices: &[Splice<T>], part: impl Fn(&T) -> Node) -> Node {
    let one = |splice: &Splice<T>| {
        Node::Map(vec![
            ("at", splice.at.into()),
            ("remove", splice.remove.into()),
            ("insert", splice.insert.iter().map(&part).collect::<Vec<_>>().into()),
        ])
    };
    Node::List(splices.iter().map(one).collect())
}

fn added(added: &Added) -> Node {
    Node::Map(vec![("cause", cause(added.cause)), ("part", part_use(&added.part))])
}

fn cause(cause: Cause) -> Node {
    match cause {
        Cause::Answer(request) => format!("answer to request {}", request.ordinal()).into(),
        Cause::ToolResult(call) => format!("result of call {}", from_one(call.number())).into(),
        Cause::UserInput => "user input".into(),
        Cause::Inserted => "inserted by the client".into(),
        Cause::Returned => "was there before".into(),
        Cause::Unlinked(reason) => format!("none: {}", reason.words()).into(),
    }
}

fn part_use(part: &PartUse) -> Node {
    match part {
        PartUse::Known(part) => part.number().into(),
        PartUse::New(part) => part_def(part),
    }
}

fn part_def(part: &PartDef) -> Node {
    let skeleton_node = match &part.skeleton {
        SkeletonUse::Known(skeleton) => skeleton.number().into(),
        SkeletonUse::New(new) => skeleton(new),
    };
    Node::Map(vec![
        ("digest", hex(&part.digest).into()),
        ("skeleton", skeleton_node),
        ("slots", part.holes.iter().map(hole).collect::<Vec<_>>().into()),
    ])
}

fn skeleton(skeleton: &Skeleton) -> Node {
    let slot = |slot: &ledger::event::SlotDef| {
        Node::Map(vec![
            ("offset", slot.offset.into()),
            ("kind", slot.kind.name().into()),
            ("group", slot.group.into()),
        ])
    };
    Node::Map(vec![
        ("kind", PartKind::from_tag(skeleton.part_kind).map(PartKind::name).into()),
        ("role", Role::from_tag(skeleton.role).map(Role::name).into()),
        ("literal", content(&skeleton.literal)),
        ("slots", skeleton.slots.iter().map(slot).collect::<Vec<_>>().into()),
    ])
}

fn hole(hole: &Hole) -> Node {
    let value = match &hole.value {
        HoleValue::Own(own) => content(own),
        HoleValue::AnswerText { request, item } => answer("text", request.ordinal(), *item),
        HoleValue::AnswerCallId { request, item } => answer("call id", request.ordinal(), *item),
        HoleValue::AnswerItemId { request, item } => answer("item id", request.ordinal(), *item),
        HoleValue::AnswerToolName { request, item } => {
            answer("tool name", request.ordinal(), *item)
        }
        HoleValue::Output { call, index } => {
            let call = from_one(call.number());
            Node::Map(vec![("output_of_call", call.into()), ("text", (*index).into())])
        }
    };
    Node::Map(vec![
        ("value", value),
        ("escaped_bytes", hole.escaped_bytes.into()),
        ("escape", u64::from(hole.escape.bits()).into()),
    ])
}

fn answer(what: &'static str, request: u64, item: u16) -> Node {
    Node::Map(vec![
        ("answer_to_request", request.into()),
        ("item", item.into()),
        ("take", what.into()),
    ])
}

fn request_captured(event: &RequestCaptured) -> Members {
    let [system, tools, options, messages] = &event.component_digests;
    let number = |part: &PartNo| part.number().into();
    vec![
        ("request", event.request.ordinal().into()),
        ("conversation", from_one(event.session.number()).into()),
        ("attempt", event.attempt.into()),
        ("attempt_of", event.attempt_of.map(RequestId::ordinal).into()),
        ("dialect", Dialect::from_tag(event.dialect).map(Dialect::name).into()),
        ("model", event.model.as_ref().map(content).into()),
        ("body_bytes", event.body_bytes.into()),
        ("body_digest", hex(&event.body_digest).into()),
        (
            "component_digests",
            Node::Map(vec![
                ("system", hex(system).into()),
                ("tools", hex(tools).into()),
                ("options", hex(options).into()),
                ("messages", hex(messages).into()),
            ]),
        ),
        ("rung", event.rung.name().into()),
        ("redactions", event.redactions.into()),
        ("content_coding", event.transfer.content_coding.clone().into()),
        ("sent_bytes", event.transfer.sent_bytes.into()),
        ("policy", event.policy.as_ref().map(content).into()),
        ("unsplit", event.unsplit.as_ref().map(|unsplit| unsplit.reason.clone()).into()),
        ("base", event.base.map(RequestId::ordinal).into()),
        ("separator", content(&event.separator)),
        ("escape", u64::from(event.escape.bits()).into()),
        ("head", splices(&event.splices.head, part_use)),
        ("items", splices(&event.splices.items, number)),
        ("tail", splices(&event.splices.tail, part_use)),
        ("overlays", event.overlays.iter().map(overlay).collect::<Vec<_>>().into()),
        ("propensity", event.propensity.as_deref().map(propensity).into()),
    ]
}

fn propensity(propensity: &Propensity) -> Node {
    Node::Map(vec![
        ("policy", hex(&propensity.policy).into()),
        ("draw", u64::from(propensity.draw).into()),
        ("millionths", u64::from(propensity.millionths).into()),
    ])
}

fn overlay(overlay: &Overlay) -> Node {
    Node::Map(vec![
        ("item", overlay.item.into()),
        ("offset", overlay.offset.into()),
        ("bytes", content(&overlay.bytes)),
    ])
}

fn headers(headers: &Headers) -> Node {
    match headers {
        Headers::Full(fields) => {
            let field = |(name, value): &(ledger::content::Content, ledger::content::Content)| {
                Node::Map(vec![("name", content(name)), ("value", content(value))])
            };
            Node::List(fields.iter().map(field).collect())
        }
        Headers::Changed { of, values } => {
            let value = |(position, value): &(u16, ledger::content::Content)| {
                Node::Map(vec![("position", (*position).into()), ("value", content(value))])
            };
            Node::Map(vec![
                ("as_in_request", of.ordinal().into()),
                ("changed", Node::List(values.iter().map(value).collect())),
            ])
        }
    }
}

fn dispatched(event: &Dispatched) -> Members {
    vec![
        ("request", event.request.ordinal().into()),
        ("at", event.at_unix_ns.map(super::time).into()),
        ("method", content(&event.method)),
        ("url", content(&event.url)),
        ("headers", headers(&event.headers)),
    ]
}

fn answered(event: &Answered) -> Members {
    vec![
        ("request", event.request.ordinal().into()),
        ("status", event.status.into()),
        ("time_us", event.time_us.into()),
        ("headers", headers(&event.headers)),
        ("body", event.body.as_ref().map(content).into()),
        ("body_withheld", event.body_withheld.into()),
        ("items", event.items.iter().map(item).collect::<Vec<_>>().into()),
        ("usage", event.usage.as_ref().map(usage).into()),
        ("stop", event.stop.as_ref().map(content).into()),
        ("answer_id", event.answer_id.as_ref().map(content).into()),
        ("unparsed_events", event.unparsed_events.into()),
    ]
}

fn item(item: &AnswerItem) -> Node {
    let kind = match item.kind {
        ItemKind::Text => "text",
        ItemKind::Thinking => "thinking",
        ItemKind::ToolCall => "tool_call",
        ItemKind::Opaque => "opaque",
    };
    Node::Map(vec![
        ("kind", kind.into()),
        ("complete", item.complete.into()),
        ("name", item.name.as_ref().map(content).into()),
        ("call_id", item.call_id.as_ref().map(content).into()),
        ("item_id", item.item_id.as_ref().map(content).into()),
        ("text", content(&item.text)),
    ])
}

pub(super) fn usage(usage: &Usage) -> Node {
    Node::Map(vec![
        ("input_tokens", usage.input_tokens.into()),
        ("output_tokens", usage.output_tokens.into()),
        ("cache_read_tokens", usage.cache_read_tokens.into()),
        ("cache_write_tokens", usage.cache_write_tokens.into()),
        ("reasoning_tokens", usage.reasoning_tokens.into()),
        ("total_tokens", usage.total_tokens.into()),
    ])
}

fn tool_returned(event: &ToolReturned) -> Members {
    vec![
        ("call", from_one(event.call.number()).into()),
        ("output", event.output.iter().map(returned).collect::<Vec<_>>().into()),
        ("dropped_bytes", dropped(event.dropped)),
        ("redactions", event.redactions.into()),
    ]
}

fn output_found(event: &OutputFound) -> Members {
    vec![
        ("call", from_one(event.call.number()).into()),
        ("index", event.index.into()),
        ("source", event.source.as_str().into()),
        ("record", (event.record + 1).into()),
        ("pieces", event.pieces.iter().map(returned).collect::<Vec<_>>().into()),
        ("dropped_bytes", dropped(event.dropped)),
        ("redactions", event.redactions.into()),
    ]
}

fn returned(returned: &ledger::event::Returned) -> Node {
    Node::Map(vec![
        ("text", content(&returned.text)),
        ("chars", returned.measure.chars.into()),
        ("utf16", returned.measure.utf16.into()),
        ("line_feeds", returned.measure.line_feeds.into()),
    ])
}

fn dropped(dropped: Dropped) -> Node {
    match dropped {
        Dropped::Unknown => "unknown".into(),
        Dropped::Bytes(bytes) => bytes.into(),
    }
}
