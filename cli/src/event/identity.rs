//! Events about identities: short facts for a listing, everything for one event.

use ledger::content::Content;
use ledger::event::{Child, IdentityEvent, Lane, Receipt, Stamp};
use ledger::id::{HookId, SessionId, ToolCallId, TurnId};

use super::brief::{Facts, short};
use super::{content, from_one};
use crate::tree::Node;

/// Members that hold what was said: not for a listing.
const CONTENT: [&str; 4] = ["summary", "arguments", "raw", "output"];

type Members = Vec<(&'static str, Node)>;

fn call(call: ToolCallId) -> (&'static str, Node) {
    ("call", from_one(call.number()).into())
}

fn conversation(session: SessionId) -> (&'static str, Node) {
    ("conversation", from_one(session.number()).into())
}

fn turn(turn: Option<TurnId>) -> (&'static str, Node) {
    ("turn", turn.map(|turn| from_one(turn.number())).into())
}

fn hook(hook: Option<HookId>) -> Node {
    hook.map(|hook| hook.to_string()).into()
}

/// A variant's name as one word: `NotFound` is `not_found`.
pub(crate) fn word(variant: &impl core::fmt::Debug) -> Node {
    let mut out = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out.into()
}

/// The conversation that an event is about, where it says so.
pub(crate) fn session(event: &IdentityEvent) -> Option<SessionId> {
    use IdentityEvent as E;
    match event {
        E::SessionReset(event) => Some(event.session),
        E::SessionClosed(event) => Some(event.session),
        E::AliasesAdvertised(event) => Some(event.session),
        E::Compacted(event) => Some(event.session),
        E::TurnStarted(event) => Some(event.session),
        E::UserPrompted(event) => Some(event.session),
        E::TurnAccepted(event) => Some(event.session),
        E::TurnEnded(event) => Some(event.session),
        E::ToolObserved(event) => Some(event.session),
        E::HookPublished(event) => event.stamp.origin(),
        E::ReviewUpdated(event) => event.stamp.origin(),
        E::ApprovalAsked(event) => Some(event.origin),
        E::SubagentSpawned(event) => Some(event.parent),
        _ => None,
    }
}

/// Facts for a listing; no content but names.
pub(super) fn brief(event: &IdentityEvent) -> Facts {
    use IdentityEvent as E;
    match event {
        E::TurnAccepted(event) => vec![
            conversation(event.session),
            turn(event.turn),
            ("calls", (event.calls.len() as u64).into()),
            ("first_call", event.calls.first().map(|call| from_one(call.call.number())).into()),
        ],
        E::ToolObserved(event) => vec![
            call(event.call),
            ("tool", event.names.first().map(|name| short(&name.name)).into()),
            ("lane", event.lane.name().into()),
            turn(event.turn),
        ],
        E::AliasesAdvertised(event) => vec![
            conversation(event.session),
            ("servers", (event.servers.len() as u64).into()),
            ("tools", (event.tools.len() as u64).into()),
        ],
        E::ApprovalAsked(event) => vec![
            ("question", from_one(event.ask.number()).into()),
            call(event.call),
            ("options", (event.options.len() as u64).into()),
        ],
        E::UserPrompted(event) => {
            vec![conversation(event.session), turn(event.turn), ("bytes", event.text.len().into())]
        }
        E::HookPublished(event) => {
            let mut facts = stamp(&event.stamp);
            facts.push(("decision", word(&event.decision)));
            facts
        }
        E::ReviewUpdated(event) => {
            let mut facts = stamp(&event.stamp);
            facts.push(("assessment", word(&event.assessment)));
            facts.push(("disposition", event.disposition.map(|what| word(&what)).into()));
            facts
        }
        other => full(other)
            .into_iter()
            .filter(|(name, value)| !CONTENT.contains(name) && value.scalar().is_some())
            .collect(),
    }
}

fn stamp(stamp: &Stamp) -> Members {
    let mut members = vec![
        ("hook", hook(stamp.hook())),
        ("call", stamp.call().map(|call| from_one(call.number())).into()),
        ("conversation", stamp.origin().map(|origin| from_one(origin.number())).into()),
        ("revision", stamp.revision().map(ledger::id::Revision::number).into()),
    ];
    match stamp {
        Stamp::Full { delegation, .. } => {
            let delegation = delegation.map(|call| from_one(call.number()));
            members.push(("delegated_by_call", delegation.into()));
        }
        Stamp::Partial { .. } => members.push(("incomplete", true.into())),
    }
    members
}

fn contents(list: &[Content]) -> Node {
    list.iter().map(content).collect::<Vec<_>>().into()
}

fn optional(text: Option<&Content>) -> Node {
    text.map(content).into()
}

/// Everything that an event says.
pub(super) fn full(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    match event {
        E::SessionReset(event) => {
            vec![conversation(event.session), ("reason", word(&event.reason))]
        }
        E::SessionClosed(event) => vec![conversation(event.session)],
        E::AliasesAdvertised(event) => vec![
            conversation(event.session),
            ("servers", contents(&event.servers)),
            ("tools", contents(&event.tools)),
        ],
        E::PrincipalMinted(_)
        | E::PrincipalBound(_)
        | E::PrincipalObserved(_)
        | E::PrincipalStopped(_)
        | E::PrincipalForked(_) => of_principal(event),
        E::Compacted(_)
        | E::TurnStarted(_)
        | E::UserPrompted(_)
        | E::TurnAccepted(_)
        | E::TurnEnded(_) => of_turn(event),
        E::ToolObserved(_) | E::ToolDispatched(_) | E::ToolEnded(_) | E::ResultSettled(_) => {
            of_call(event)
        }
        E::HookPublished(_) | E::ReviewUpdated(_) => of_hook(event),
        E::ApprovalAsked(_) | E::ApprovalAnswered(_) | E::ApprovalRetracted(_) => {
            of_question(event)
        }
        E::SubagentSpawned(_) | E::SubagentEnded(_) => of_subagent(event),
    }
}

fn of_principal(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    let principal = |id: ledger::id::PrincipalId| ("principal", Node::from(id.to_string()));
    match event {
        E::PrincipalMinted(event) => vec![
            principal(event.principal),
            ("reason", word(&event.reason)),
            ("continues", word(&event.continues)),
        ],
        E::PrincipalBound(event) => vec![
            principal(event.principal),
            ("instance", content(&event.instance)),
            ("process", optional(event.process.as_ref())),
        ],
        E::PrincipalObserved(event) => vec![
            principal(event.principal),
            ("tool_session", optional(event.tool_session.as_ref())),
            ("at", super::time(event.at_unix_ns).into()),
        ],
        E::PrincipalStopped(event) => {
            vec![principal(event.principal), ("reason", word(&event.reason))]
        }
        E::PrincipalForked(event) => {
            vec![principal(event.principal), ("forked_from", event.parent.to_string().into())]
        }
        _ => Vec::new(),
    }
}

fn of_turn(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    match event {
        E::Compacted(event) => vec![
            conversation(event.session),
            ("messages", event.messages.into()),
            ("summary", optional(event.summary.as_ref())),
        ],
        E::TurnStarted(event) => vec![turn(Some(event.turn)), conversation(event.session)],
        E::UserPrompted(event) => {
            vec![conversation(event.session), turn(event.turn), ("text", content(&event.text))]
        }
        E::TurnAccepted(event) => {
            let accepted = |accepted: &ledger::event::AcceptedCall| {
                Node::Map(vec![
                    call(accepted.call),
                    ("name", content(&accepted.name)),
                    ("arguments", content(&accepted.arguments)),
                    ("provider_call", optional(accepted.provider_call.as_ref())),
                    ("provider_item", optional(accepted.provider_item.as_ref())),
                ])
            };
            vec![
                conversation(event.session),
                turn(event.turn),
                ("text", optional(event.text.as_ref())),
                ("reasoning", contents(&event.reasoning)),
                ("calls", event.calls.iter().map(accepted).collect::<Vec<_>>().into()),
            ]
        }
        E::TurnEnded(event) => vec![
            turn(Some(event.turn)),
            conversation(event.session),
            ("stop", word(&event.stop)),
            ("usage", event.usage.as_ref().map(super::full::usage).into()),
        ],
        _ => Vec::new(),
    }
}

fn of_call(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    match event {
        E::ToolObserved(event) => {
            let form = match event.lane {
                Lane::Native => Node::Null,
                Lane::Bridged(form) => word(&form),
            };
            let name = |seen: &ledger::event::NameSeen| {
                Node::Map(vec![
                    ("source", seen.source.path().into()),
                    ("name", content(&seen.name)),
                ])
            };
            vec![
                call(event.call),
                conversation(event.session),
                turn(event.turn),
                ("lane", event.lane.name().into()),
                ("alias_form", form),
                ("ambiguous", event.lane.is_ambiguous().into()),
                ("names", event.names.iter().map(name).collect::<Vec<_>>().into()),
                ("tool_kind", optional(event.tool_kind.as_ref())),
                ("arguments", optional(event.arguments.as_ref())),
                ("provider_call", optional(event.provider_call.as_ref())),
            ]
        }
        E::ToolDispatched(event) => vec![
            call(event.call),
            ("attempt", event.attempt.into()),
            ("correlation", word(&event.correlation)),
            ("arguments", optional(event.arguments.as_ref())),
        ],
        E::ToolEnded(event) => vec![
            call(event.call),
            ("attempt", event.attempt.into()),
            ("outcome", word(&event.outcome)),
            ("held_by", hook(event.held)),
            ("raw", optional(event.raw.as_ref())),
        ],
        E::ResultSettled(event) => vec![
            call(event.call),
            ("review", hook(Some(event.review))),
            ("released", event.released.into()),
        ],
        _ => Vec::new(),
    }
}

fn of_hook(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    match event {
        E::HookPublished(event) => {
            let mut members = stamp(&event.stamp);
            members.extend([
                ("phase", word(&event.phase)),
                ("decision", word(&event.decision)),
                ("message", optional(event.message.as_ref())),
                ("arguments", optional(event.arguments.as_ref())),
            ]);
            members
        }
        E::ReviewUpdated(event) => {
            let mut members = stamp(&event.stamp);
            members.extend([
                ("review", hook(Some(event.review))),
                ("assessment", word(&event.assessment)),
                ("inspection", word(&event.inspection)),
                ("disposition", event.disposition.map(|what| word(&what)).into()),
                ("rule", optional(event.rule.as_ref())),
                ("reason", optional(event.reason.as_ref())),
                ("sources", contents(&event.sources)),
            ]);
            members
        }
        _ => Vec::new(),
    }
}

fn of_question(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    match event {
        E::ApprovalAsked(event) => {
            let option = |offered: &ledger::event::Offered| {
                Node::Map(vec![("id", content(&offered.id)), ("kind", word(&offered.kind))])
            };
            vec![
                ("question", from_one(event.ask.number()).into()),
                call(event.call),
                conversation(event.origin),
                ("delegated_by_call", event.delegation.map(|call| from_one(call.number())).into()),
                ("review", hook(event.review)),
                ("asker", word(&event.asker)),
                ("options", event.options.iter().map(option).collect::<Vec<_>>().into()),
                ("foreign_ask", optional(event.foreign_ask.as_ref())),
            ]
        }
        E::ApprovalAnswered(event) => {
            let mut members = match event.receipt {
                Receipt::Exact { ask, call: of, origin, review } => vec![
                    ("question", from_one(ask.number()).into()),
                    call(of),
                    conversation(origin),
                    ("review", hook(review)),
                ],
                Receipt::Legacy => vec![("question", Node::Null)],
            };
            members.push(("verdict", word(&event.verdict)));
            members.push(("option", optional(event.option.as_ref())));
            members
        }
        E::ApprovalRetracted(event) => {
            vec![("question", from_one(event.ask.number()).into()), ("reason", word(&event.reason))]
        }
        _ => Vec::new(),
    }
}

fn of_subagent(event: &IdentityEvent) -> Members {
    use IdentityEvent as E;
    let child = |child: Child| match child {
        Child::Session(session) => ("child_conversation", from_one(session.number()).into()),
        Child::Run(run) => ("child_run", run.to_string().into()),
        Child::Unknown => ("child", "unknown".into()),
    };
    match event {
        E::SubagentSpawned(event) => vec![
            conversation(event.parent),
            ("delegated_by_call", from_one(event.delegation.number()).into()),
            child(event.child),
        ],
        E::SubagentEnded(event) => vec![
            ("delegated_by_call", from_one(event.delegation.number()).into()),
            child(event.child),
            ("outcome", word(&event.outcome)),
            ("output", optional(event.output.as_ref())),
        ],
        _ => Vec::new(),
    }
}
