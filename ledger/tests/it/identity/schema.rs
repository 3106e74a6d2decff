//! Goal: everything that is about a call says which, in a field that cannot be left out. Method:
//! each kind is written for two calls; the bytes in which they differ are the id, and without
//! these bytes nothing of that kind is read.

use ledger::event::{
    AcceptedCall, ApprovalAnswered, ApprovalAsked, AskOrigin, Assessment, Child, Correlation,
    Dropped, Event, EventError, HookDecision, HookPhase, HookPublished, Inspection, Kind, Lane,
    Outcome, OutputFound, Receipt, ResultSettled, ReviewUpdated, Stamp, SubagentEnded,
    SubagentSpawned, ToolCalled, ToolDispatched, ToolEnded, ToolObserved, ToolReturned,
    TurnAccepted, Verdict,
};
use ledger::id::{AskId, HookId, Job, RequestId, Revision, SessionId, ToolCallId};

use super::support::inline;

/// True for kinds that are about calls. A new kind does not compile before it is decided.
///
/// A retraction names its question, which names the call; a message names the call by its cause.
fn is_about_calls(kind: Kind) -> bool {
    use Kind as K;
    match kind {
        K::TurnAccepted
        | K::ToolCalled
        | K::ToolReturned
        | K::OutputFound
        | K::ToolDispatched
        | K::HookPublished
        | K::ReviewUpdated
        | K::ToolEnded
        | K::ResultSettled
        | K::ApprovalAsked
        | K::ApprovalAnswered
        | K::ToolObserved
        | K::SubagentSpawned
        | K::SubagentEnded => true,
        K::RunOpened
        | K::RunClosed
        | K::SessionOpened
        | K::SessionReset
        | K::SessionClosed
        | K::AliasesAdvertised
        | K::PrincipalMinted
        | K::PrincipalBound
        | K::PrincipalObserved
        | K::PrincipalStopped
        | K::PrincipalForked
        | K::MessageAdded
        | K::ContextEdited
        | K::Compacted
        | K::TurnStarted
        | K::UserPrompted
        | K::TurnEnded
        | K::RequestCaptured
        | K::RequestDispatched
        | K::ResponseReceived
        | K::ResponseFailed
        | K::ResponseAborted
        | K::ApprovalRetracted
        | K::RedactionFailed
        | K::RedactionConfigured
        | K::SpansReplaced
        | K::ImportedRecord => false,
    }
}

fn origin() -> SessionId {
    SessionId::new(3)
}

/// One event of each kind that is about a call.
fn about(call: ToolCallId) -> Vec<Event> {
    let mut events = on_the_wire(call);
    events.extend(hooks_and_questions(call));
    let accepted = AcceptedCall {
        call,
        name: inline("ls"),
        arguments: inline("{}"),
        provider_call: Some(inline("call_1")),
        provider_item: None,
    };
    let calls = vec![accepted];
    let (turn, text, reasoning) = (None, None, Vec::new());
    events.push(TurnAccepted { session: origin(), turn, text, reasoning, calls }.into());
    let correlation = Correlation::Own;
    events.push(ToolDispatched { call, attempt: 1, arguments: None, correlation }.into());
    let outcome = Outcome::Completed;
    events.push(ToolEnded { call, attempt: 1, outcome, held: None, raw: None }.into());
    let review = HookId::Outcome(9);
    events.push(ResultSettled { call, review, released: true }.into());
    let observed = ToolObserved {
        call,
        session: origin(),
        turn: None,
        lane: Lane::Native,
        names: Vec::new(),
        tool_kind: None,
        arguments: None,
        provider_call: Some(inline("agent-1")),
    };
    events.push(observed.into());
    let (delegation, child) = (call, Child::Unknown);
    events.push(SubagentSpawned { parent: origin(), delegation, child }.into());
    events.push(SubagentEnded { delegation, child, outcome, output: None }.into());
    events
}

fn on_the_wire(call: ToolCallId) -> Vec<Event> {
    let (dropped, redactions) = (Dropped::Bytes(0), 0);
    vec![
        Event::ToolCalled(ToolCalled { call, request: RequestId::new(7), item: 1 }),
        Event::ToolReturned(ToolReturned { call, output: Vec::new(), dropped, redactions }),
        Event::OutputFound(OutputFound {
            call,
            index: 0,
            source: "spill".to_owned(),
            record: 5,
            pieces: vec![ledger::event::Returned {
                text: inline("out"),
                measure: ledger::event::TextMeasure::of("out"),
            }],
            dropped,
            redactions,
        }),
    ]
}

fn hooks_and_questions(call: ToolCallId) -> Vec<Event> {
    let stamp = |hook| Stamp::Full {
        hook,
        call,
        origin: origin(),
        delegation: None,
        revision: Revision::FIRST,
    };
    let review = HookId::review(call, Job::Inbound);
    let published = HookPublished {
        stamp: stamp(HookId::Outcome(0)),
        phase: HookPhase::PostTool,
        decision: HookDecision::Info,
        message: None,
        arguments: None,
    };
    let updated = ReviewUpdated {
        stamp: stamp(review),
        review,
        assessment: Assessment::Acceptable,
        inspection: Inspection::Complete,
        disposition: None,
        rule: None,
        reason: None,
        sources: Vec::new(),
    };
    let asked = ApprovalAsked {
        ask: AskId::new(1),
        call,
        origin: origin(),
        delegation: None,
        review: None,
        asker: AskOrigin::Permission,
        options: Vec::new(),
        foreign_ask: None,
    };
    let receipt = Receipt::Exact { ask: AskId::new(1), call, origin: origin(), review: None };
    let answered = ApprovalAnswered { receipt, verdict: Verdict::Deny, option: None };
    vec![published.into(), updated.into(), asked.into(), answered.into()]
}

/// Places in which two bodies of one kind differ.
fn differing(a: &[u8], b: &[u8]) -> Vec<usize> {
    assert_eq!(a.len(), b.len());
    (0..a.len()).filter(|at| a[*at] != b[*at]).collect()
}

#[test]
fn t10_every_kind_that_is_about_a_call_carries_its_id_and_is_refused_without() {
    let (one, two) = (0x1111_1111_u32, 0x2222_2222);
    let pairs = about(ToolCallId::new(one)).into_iter().zip(about(ToolCallId::new(two)));
    let mut checked = Vec::new();
    for (event, other) in pairs {
        let kind = event.kind();
        let decode = |body: &[u8]| Event::decode(kind.tag(), 1, body);
        let (body, other_body) = (event.encode().unwrap(), other.encode().unwrap());
        assert_eq!(decode(&body).unwrap(), event);
        // The id is all that differs, and it stands there once, or in a review three times: in
        // the id of the review, too.
        let places = differing(&body, &other_body);
        let times = if kind == Kind::ReviewUpdated { 3 } else { 1 };
        assert_eq!(places.len(), 4 * times, "{kind:?}");
        for id in places.chunks(4) {
            assert_eq!(body[id[0]..=id[3]], one.to_le_bytes(), "{kind:?}");
            let without = [&body[..id[0]], &body[id[3] + 1..]].concat();
            let found = decode(&without);
            assert!(matches!(found, Err(EventError::Body { .. })), "{kind:?}: {found:?}");
        }
        checked.push(kind);
    }
    checked.sort();
    let expected: Vec<_> = Kind::ALL.into_iter().filter(|kind| is_about_calls(*kind)).collect();
    assert_eq!(checked, expected);
}
