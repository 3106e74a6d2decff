//! Samples of the kinds about identities; see `samples`.

use super::golden_identity as golden;
use super::samples::inline;
use crate::event::*;
use crate::id::{AskId, HookId, Job, PrincipalId, Revision, RunId, SessionId, ToolCallId, TurnId};

const SESSION: u32 = 3;
const CALL: u32 = 8;

fn session() -> SessionId {
    SessionId::new(SESSION)
}

fn call() -> ToolCallId {
    ToolCallId::new(CALL)
}

fn turn() -> TurnId {
    TurnId::new(2)
}

fn principal() -> PrincipalId {
    PrincipalId::from_bytes([0xa1; 16])
}

fn review(job: Job) -> HookId {
    HookId::review(call(), job)
}

/// Events with their golden bytes, in the order of tags.
pub(super) fn all() -> Vec<(Event, &'static str)> {
    let mut all = of_sessions();
    all.extend(of_turns());
    all.extend(of_calls());
    all.extend(of_hooks());
    all.extend(of_questions());
    all
}

fn of_sessions() -> Vec<(Event, &'static str)> {
    let principal = principal();
    vec![
        (
            SessionReset { session: session(), reason: ResetReason::NotFound }.into(),
            golden::SESSION_RESET,
        ),
        (SessionClosed { session: session() }.into(), golden::SESSION_CLOSED),
        (
            AliasesAdvertised {
                session: session(),
                servers: vec![inline("lab")],
                tools: vec![inline("ls"), inline("rm")],
            }
            .into(),
            golden::ALIASES_ADVERTISED,
        ),
        (
            PrincipalMinted { principal, reason: MintReason::Fork, continues: Continues::Unknown }
                .into(),
            golden::PRINCIPAL_MINTED,
        ),
        (
            PrincipalBound { principal, instance: inline("luna"), process: Some(inline("p1")) }
                .into(),
            golden::PRINCIPAL_BOUND,
        ),
        (
            PrincipalObserved { principal, tool_session: Some(inline("s-1")), at_unix_ns: 7 }
                .into(),
            golden::PRINCIPAL_OBSERVED,
        ),
        (
            PrincipalStopped { principal, reason: StopReason::Removed }.into(),
            golden::PRINCIPAL_STOPPED,
        ),
        (
            PrincipalForked { principal: PrincipalId::from_bytes([0xa2; 16]), parent: principal }
                .into(),
            golden::PRINCIPAL_FORKED,
        ),
    ]
}

fn of_turns() -> Vec<(Event, &'static str)> {
    let usage = Usage { input_tokens: Some(15), output_tokens: Some(5), ..Usage::default() };
    let accepted = |number, name, provider_call, provider_item| AcceptedCall {
        call: ToolCallId::new(number),
        name: inline(name),
        arguments: inline("{}"),
        provider_call,
        provider_item,
    };
    vec![
        (
            Compacted { session: session(), messages: 12, summary: Some(inline("sum")) }.into(),
            golden::COMPACTED,
        ),
        (TurnStarted { turn: turn(), session: session() }.into(), golden::TURN_STARTED),
        (
            UserPrompted { session: session(), turn: Some(turn()), text: inline("hi") }.into(),
            golden::USER_PROMPTED,
        ),
        (
            TurnAccepted {
                session: session(),
                turn: Some(turn()),
                text: Some(inline("ok")),
                reasoning: vec![inline("h")],
                calls: vec![
                    accepted(CALL, "ls", Some(inline("c1")), Some(inline("i1"))),
                    accepted(CALL + 1, "rm", None, None),
                ],
            }
            .into(),
            golden::TURN_ACCEPTED,
        ),
        (
            TurnEnded {
                turn: turn(),
                session: session(),
                stop: Stop::NoProgress,
                usage: Some(usage),
            }
            .into(),
            golden::TURN_ENDED,
        ),
    ]
}

fn of_calls() -> Vec<(Event, &'static str)> {
    let seen = |source, name| NameSeen { source, name: inline(name) };
    vec![
        (
            ToolObserved {
                call: call(),
                session: session(),
                turn: Some(turn()),
                lane: Lane::Bridged(AliasForm::Double),
                names: vec![
                    seen(NameSource::Title, "t"),
                    seen(NameSource::RawTool, "r"),
                    seen(NameSource::Meta, "m"),
                    seen(NameSource::MetaFlat, "f"),
                ],
                tool_kind: Some(inline("read")),
                arguments: Some(inline("{}")),
                provider_call: Some(inline("c1")),
            }
            .into(),
            golden::TOOL_OBSERVED,
        ),
        (
            ToolDispatched {
                call: call(),
                attempt: 2,
                arguments: Some(inline("{}")),
                correlation: Correlation::Queue,
            }
            .into(),
            golden::TOOL_DISPATCHED,
        ),
        (
            ToolEnded {
                call: call(),
                attempt: 2,
                outcome: Outcome::Denied,
                held: Some(review(Job::Action)),
                raw: Some(inline("[]")),
            }
            .into(),
            golden::TOOL_ENDED,
        ),
        (
            ResultSettled { call: call(), review: review(Job::Inbound), released: true }.into(),
            golden::RESULT_SETTLED,
        ),
    ]
}

fn of_hooks() -> Vec<(Event, &'static str)> {
    vec![
        (
            HookPublished {
                stamp: Stamp::Full {
                    hook: HookId::Outcome(4),
                    call: call(),
                    origin: session(),
                    delegation: Some(ToolCallId::new(6)),
                    revision: Revision::new(7).unwrap(),
                },
                phase: HookPhase::PostTool,
                decision: HookDecision::Modified,
                message: Some(inline("no")),
                arguments: Some(inline("{}")),
            }
            .into(),
            golden::HOOK_PUBLISHED,
        ),
        (
            ReviewUpdated {
                stamp: Stamp::Partial {
                    hook: Some(review(Job::Inbound)),
                    call: None,
                    origin: Some(session()),
                    revision: None,
                },
                review: review(Job::Permission),
                assessment: Assessment::Unresolved,
                inspection: Inspection::OperationalFailure,
                disposition: Some(Disposition::ContinueWarning),
                rule: Some(inline("r1")),
                reason: None,
                sources: vec![inline("a")],
            }
            .into(),
            golden::REVIEW_UPDATED,
        ),
    ]
}

fn of_questions() -> Vec<(Event, &'static str)> {
    let offered = |id, kind| Offered { id: inline(id), kind };
    let ask = AskId::new(5);
    vec![
        (
            ApprovalAsked {
                ask,
                call: call(),
                origin: session(),
                delegation: None,
                review: Some(review(Job::Action)),
                asker: AskOrigin::HookGuardrail,
                options: vec![offered("y", OptionKind::AllowOnce), offered("x", OptionKind::Other)],
                foreign_ask: Some(inline("q")),
            }
            .into(),
            golden::APPROVAL_ASKED,
        ),
        (
            ApprovalAnswered {
                receipt: Receipt::Exact { ask, call: call(), origin: session(), review: None },
                verdict: Verdict::Cancelled,
                option: Some(inline("y")),
            }
            .into(),
            golden::APPROVAL_ANSWERED,
        ),
        (
            ApprovalRetracted { ask, reason: RetractReason::SessionGone }.into(),
            golden::APPROVAL_RETRACTED,
        ),
        (
            SubagentSpawned {
                parent: session(),
                delegation: call(),
                child: Child::Session(SessionId::new(4)),
            }
            .into(),
            golden::SUBAGENT_SPAWNED,
        ),
        (
            SubagentEnded {
                delegation: call(),
                child: Child::Run(RunId::from_bytes([0xc1; 16])),
                outcome: Outcome::Completed,
                output: Some(inline("done")),
            }
            .into(),
            golden::SUBAGENT_ENDED,
        ),
    ]
}
