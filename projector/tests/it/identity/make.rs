//! Events for tests, with short names.

use ledger::content::Content;
use ledger::event::*;
use ledger::id::{AskId, HookId, Job, Revision, SessionId, ToolCallId, TurnId};

/// Redacted bytes inside an event, made by decoding, as no test may make them otherwise.
pub(crate) fn text(text: &str) -> Content {
    let length = (text.len() as u64).to_le_bytes();
    let stored = [&[0; 4], length.as_slice(), text.as_bytes()].concat();
    ledger::codec::decode(&stored).unwrap()
}

pub(crate) fn call(number: u32) -> ToolCallId {
    ToolCallId::new(number)
}

pub(crate) fn session(number: u32) -> SessionId {
    SessionId::new(number)
}

pub(crate) fn turn(number: u32) -> TurnId {
    TurnId::new(number)
}

pub(crate) fn ask(number: u32) -> AskId {
    AskId::new(number)
}

pub(crate) fn opened(number: u32) -> Event {
    Event::SessionOpened(SessionOpened {
        session: session(number),
        parent: None,
        basis: SessionBasis::Content,
        client_session: None,
        aliases: Vec::new(),
    })
}

pub(crate) fn turn_started(of: u32, number: u32) -> Event {
    TurnStarted { turn: turn(number), session: session(of) }.into()
}

pub(crate) fn turn_ended(of: u32, number: u32, stop: Stop, usage: (u64, u64)) -> Event {
    let usage =
        Usage { input_tokens: Some(usage.0), output_tokens: Some(usage.1), ..Usage::default() };
    TurnEnded { turn: turn(number), session: session(of), stop, usage: Some(usage) }.into()
}

pub(crate) fn prompted(of: u32, words: &str) -> Event {
    UserPrompted { session: session(of), turn: None, text: text(words) }.into()
}

/// An accepted answer with calls: number and provider id of each.
pub(crate) fn accepted(of: u32, words: &str, calls: &[(u32, &str)]) -> Event {
    let accepted = |(number, provider): &(u32, &str)| AcceptedCall {
        call: call(*number),
        name: text("ls"),
        arguments: text("{}"),
        provider_call: Some(text(provider)),
        provider_item: Some(text("item")),
    };
    TurnAccepted {
        session: session(of),
        turn: None,
        text: Some(text(words)),
        reasoning: vec![text("sealed")],
        calls: calls.iter().map(accepted).collect(),
    }
    .into()
}

pub(crate) fn dispatched(of: u32, attempt: u16) -> Event {
    ToolDispatched { call: call(of), attempt, arguments: None, correlation: Correlation::Own }
        .into()
}

pub(crate) fn returned(of: u32, words: &str) -> Event {
    Event::ToolReturned(ToolReturned {
        call: call(of),
        output: vec![Returned { text: text(words), measure: TextMeasure::of(words) }],
        dropped: Dropped::Bytes(0),
        redactions: 0,
    })
}

pub(crate) fn ended(of: u32, attempt: u16, outcome: Outcome) -> Event {
    ToolEnded { call: call(of), attempt, outcome, held: None, raw: None }.into()
}

pub(crate) fn held(of: u32, attempt: u16, review: HookId) -> Event {
    let outcome = Outcome::Completed;
    ToolEnded { call: call(of), attempt, outcome, held: Some(review), raw: None }.into()
}

pub(crate) fn settled(of: u32, review: HookId, released: bool) -> Event {
    ResultSettled { call: call(of), review, released }.into()
}

pub(crate) fn stamp(hook: HookId, of: u32, origin: u32, revision: u64) -> Stamp {
    Stamp::Full {
        hook,
        call: call(of),
        origin: session(origin),
        delegation: None,
        revision: Revision::new(revision).unwrap(),
    }
}

pub(crate) fn outcome(stamp: Stamp, words: &str) -> Event {
    HookPublished {
        stamp,
        phase: HookPhase::PreTool,
        decision: HookDecision::Info,
        message: Some(text(words)),
        arguments: None,
    }
    .into()
}

pub(crate) fn review_of(stamp: Stamp, review: HookId, assessment: Assessment) -> Event {
    ReviewUpdated {
        stamp,
        review,
        assessment,
        inspection: Inspection::Complete,
        disposition: None,
        rule: None,
        reason: None,
        sources: Vec::new(),
    }
    .into()
}

/// A state of the review of a call.
pub(crate) fn review(of: u32, job: Job, origin: u32, revision: u64, found: Assessment) -> Event {
    let hook = HookId::review(call(of), job);
    review_of(stamp(hook, of, origin, revision), hook, found)
}

pub(crate) fn asked(number: u32, of: u32, origin: u32, review: Option<HookId>) -> Event {
    ApprovalAsked {
        ask: ask(number),
        call: call(of),
        origin: session(origin),
        delegation: None,
        review,
        asker: AskOrigin::Permission,
        options: Vec::new(),
        foreign_ask: Some(text("other-session:7:call-1:r1")),
    }
    .into()
}

pub(crate) fn answered(
    number: u32,
    of: u32,
    origin: u32,
    review: Option<HookId>,
    verdict: Verdict,
) -> Event {
    let (ask, call, origin) = (ask(number), call(of), session(origin));
    let receipt = Receipt::Exact { ask, call, origin, review };
    ApprovalAnswered { receipt, verdict, option: None }.into()
}

pub(crate) fn retracted(number: u32) -> Event {
    ApprovalRetracted { ask: ask(number), reason: RetractReason::Cancelled }.into()
}

pub(crate) fn advertised(of: u32, servers: &[&str], tools: &[&str]) -> Event {
    AliasesAdvertised {
        session: session(of),
        servers: servers.iter().map(|name| text(name)).collect(),
        tools: tools.iter().map(|name| text(name)).collect(),
    }
    .into()
}

pub(crate) fn observed(of: u32, number: u32, lane: Lane, names: &[(NameSource, &str)]) -> Event {
    let seen = |(source, name): &(NameSource, &str)| NameSeen { source: *source, name: text(name) };
    ToolObserved {
        call: call(number),
        session: session(of),
        turn: None,
        lane,
        names: names.iter().map(seen).collect(),
        tool_kind: None,
        arguments: Some(text("{\"a\":1}")),
        provider_call: Some(text("agent-1")),
    }
    .into()
}

/// Numbers events from 1, in order.
pub(crate) fn numbered(events: Vec<Event>) -> Vec<(u64, Event)> {
    (1..).zip(events).collect()
}
