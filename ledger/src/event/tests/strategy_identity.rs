//! Any event about identities, for round trips; see `strategy`.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::strategy::{call, content, session};
use crate::event::*;
use crate::id::{AskId, HookId, Job, PrincipalId, Revision, RunId, TurnId};

fn turn() -> impl Strategy<Value = TurnId> {
    any::<u32>().prop_map(TurnId::new)
}

fn principal() -> impl Strategy<Value = PrincipalId> {
    any::<[u8; 16]>().prop_map(PrincipalId::from_bytes)
}

fn hook() -> impl Strategy<Value = HookId> {
    prop_oneof![
        any::<u32>().prop_map(HookId::Outcome),
        (call(), select(Job::ALL.to_vec())).prop_map(|(call, job)| HookId::review(call, job)),
    ]
}

fn revision() -> impl Strategy<Value = Revision> {
    (1..=u64::MAX).prop_map(|number| Revision::new(number).unwrap())
}

fn stamp() -> impl Strategy<Value = Stamp> {
    prop_oneof![
        (hook(), call(), session(), of(call()), revision()).prop_map(
            |(hook, call, origin, delegation, revision)| Stamp::Full {
                hook,
                call,
                origin,
                delegation,
                revision
            }
        ),
        (of(hook()), of(call()), of(session()), of(revision())).prop_map(
            |(hook, call, origin, revision)| Stamp::Partial { hook, call, origin, revision }
        ),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    use Outcome as O;
    select(vec![O::Completed, O::Failed, O::Cancelled, O::Denied, O::Aborted])
}

fn sessions() -> impl Strategy<Value = Event> {
    use ResetReason as R;
    let reasons = select(vec![R::Process, R::NotFound, R::Closed, R::Asked]);
    prop_oneof![
        (session(), reasons).prop_map(|(session, reason)| SessionReset { session, reason }.into()),
        session().prop_map(|session| SessionClosed { session }.into()),
        (session(), vec(content(), 0..3), vec(content(), 0..3)).prop_map(
            |(session, servers, tools)| AliasesAdvertised { session, servers, tools }.into()
        ),
        (session(), any::<u32>(), of(content())).prop_map(|(session, messages, summary)| {
            Compacted { session, messages, summary }.into()
        }),
    ]
}

fn principals() -> impl Strategy<Value = Event> {
    use MintReason as M;
    use StopReason as S;
    let reasons = vec![M::Launch, M::BareStart, M::Reclaim, M::Adoption, M::Fork, M::Orphan];
    let continues = select(vec![Continues::New, Continues::Unknown]);
    prop_oneof![
        (principal(), select(reasons), continues).prop_map(|(principal, reason, continues)| {
            PrincipalMinted { principal, reason, continues }.into()
        }),
        (principal(), content(), of(content())).prop_map(|(principal, instance, process)| {
            PrincipalBound { principal, instance, process }.into()
        }),
        (principal(), of(content()), any::<u64>()).prop_map(
            |(principal, tool_session, at_unix_ns)| {
                PrincipalObserved { principal, tool_session, at_unix_ns }.into()
            }
        ),
        (principal(), select(vec![S::Ended, S::Removed, S::LaunchFailed]))
            .prop_map(|(principal, reason)| PrincipalStopped { principal, reason }.into()),
        (principal(), principal()).prop_map(|(principal, parent)| PrincipalForked {
            principal,
            parent
        }
        .into()),
    ]
}

fn turns() -> impl Strategy<Value = Event> {
    use Stop as S;
    let stops = vec![
        S::EndTurn,
        S::Error,
        S::Cancelled,
        S::Budget,
        S::NoProgress,
        S::MaxTurns,
        S::Refusal,
        S::Other,
    ];
    let accepted = (call(), content(), content(), of(content()), of(content())).prop_map(
        |(call, name, arguments, provider_call, provider_item)| AcceptedCall {
            call,
            name,
            arguments,
            provider_call,
            provider_item,
        },
    );
    let answer = (of(content()), vec(content(), 0..3), vec(accepted, 0..3));
    let usage =
        of(any::<u64>()).prop_map(|total_tokens| Usage { total_tokens, ..Usage::default() });
    prop_oneof![
        (turn(), session()).prop_map(|(turn, session)| TurnStarted { turn, session }.into()),
        (session(), of(turn()), content()).prop_map(|(session, turn, text)| UserPrompted {
            session,
            turn,
            text
        }
        .into()),
        (session(), of(turn()), answer).prop_map(|(session, turn, (text, reasoning, calls))| {
            TurnAccepted { session, turn, text, reasoning, calls }.into()
        }),
        (turn(), session(), select(stops), of(usage)).prop_map(|(turn, session, stop, usage)| {
            TurnEnded { turn, session, stop, usage }.into()
        }),
    ]
}

fn calls() -> impl Strategy<Value = Event> {
    use AliasForm as F;
    use Correlation as C;
    use NameSource as N;
    let lane = prop_oneof![
        Just(Lane::Native),
        select(vec![F::Bare, F::Single, F::Double, F::Server]).prop_map(Lane::Bridged),
    ];
    let sources = select(vec![N::Title, N::RawTool, N::Meta, N::MetaFlat]);
    let name = (sources, content()).prop_map(|(source, name)| NameSeen { source, name });
    let observed = (call(), session(), of(turn()), lane, vec(name, 0..3));
    let rest = (of(content()), of(content()), of(content()));
    let attempt = || (call(), any::<u16>());
    prop_oneof![
        (observed, rest).prop_map(|((call, session, turn, lane, names), rest)| {
            let (tool_kind, arguments, provider_call) = rest;
            ToolObserved { call, session, turn, lane, names, tool_kind, arguments, provider_call }
                .into()
        }),
        (attempt(), of(content()), select(vec![C::Own, C::Queue, C::None])).prop_map(
            |((call, attempt), arguments, correlation)| {
                ToolDispatched { call, attempt, arguments, correlation }.into()
            }
        ),
        (attempt(), outcome(), of(hook()), of(content())).prop_map(
            |((call, attempt), outcome, held, raw)| {
                ToolEnded { call, attempt, outcome, held, raw }.into()
            }
        ),
        (call(), hook(), any::<bool>()).prop_map(|(call, review, released)| {
            ResultSettled { call, review, released }.into()
        }),
    ]
}

fn hooks() -> impl Strategy<Value = Event> {
    use Disposition as D;
    use HookDecision as H;
    use HookPhase as P;
    let phases = select(vec![P::PreTool, P::PostTool, P::Prompt, P::Other]);
    let decisions = select(vec![H::Info, H::Blocked, H::Modified, H::Advisory]);
    let found = (
        select(vec![Assessment::Acceptable, Assessment::Prohibited, Assessment::Unresolved]),
        select(vec![Inspection::Complete, Inspection::OperationalFailure]),
        of(select(vec![
            D::Execute,
            D::AskAction,
            D::WithholdResult,
            D::ReleaseResult,
            D::Deny,
            D::PassAdvisory,
            D::ContinueWarning,
        ])),
    );
    let texts = (of(content()), of(content()), vec(content(), 0..3));
    prop_oneof![
        (stamp(), phases, decisions, of(content()), of(content())).prop_map(
            |(stamp, phase, decision, message, arguments)| {
                HookPublished { stamp, phase, decision, message, arguments }.into()
            }
        ),
        (stamp(), hook(), found, texts).prop_map(|(stamp, review, found, texts)| {
            let (assessment, inspection, disposition) = found;
            let (rule, reason, sources) = texts;
            ReviewUpdated {
                stamp,
                review,
                assessment,
                inspection,
                disposition,
                rule,
                reason,
                sources,
            }
            .into()
        }),
    ]
}

fn questions() -> impl Strategy<Value = Event> {
    use AskOrigin as A;
    use OptionKind as O;
    use RetractReason as R;
    use Verdict as V;
    let ask = || any::<u32>().prop_map(AskId::new);
    let options = vec![O::AllowOnce, O::AllowAlways, O::RejectOnce, O::RejectAlways, O::Other];
    let offered = (content(), select(options)).prop_map(|(id, kind)| Offered { id, kind });
    let askers = select(vec![A::Unknown, A::Permission, A::HookGuardrail, A::Plan]);
    let ids = (ask(), call(), session(), of(call()), of(hook()));
    let receipt = prop_oneof![
        Just(Receipt::Legacy),
        (ask(), call(), session(), of(hook())).prop_map(|(ask, call, origin, review)| {
            Receipt::Exact { ask, call, origin, review }
        }),
    ];
    let verdicts =
        vec![V::Deny, V::AllowOnce, V::AllowAlways, V::DenyAlways, V::Cancelled, V::Unknown];
    let reasons = select(vec![R::Cancelled, R::Replaced, R::SessionGone]);
    prop_oneof![
        (ids, askers, vec(offered, 0..3), of(content())).prop_map(
            |((ask, call, origin, delegation, review), asker, options, foreign_ask)| {
                ApprovalAsked { ask, call, origin, delegation, review, asker, options, foreign_ask }
                    .into()
            }
        ),
        (receipt, select(verdicts), of(content())).prop_map(|(receipt, verdict, option)| {
            ApprovalAnswered { receipt, verdict, option }.into()
        }),
        (ask(), reasons).prop_map(|(ask, reason)| ApprovalRetracted { ask, reason }.into()),
    ]
}

fn subagents() -> impl Strategy<Value = Event> {
    let child = || {
        prop_oneof![
            session().prop_map(Child::Session),
            any::<[u8; 16]>().prop_map(|run| Child::Run(RunId::from_bytes(run))),
            Just(Child::Unknown),
        ]
    };
    prop_oneof![
        (session(), call(), child()).prop_map(|(parent, delegation, child)| {
            SubagentSpawned { parent, delegation, child }.into()
        }),
        (call(), child(), outcome(), of(content())).prop_map(
            |(delegation, child, outcome, output)| {
                SubagentEnded { delegation, child, outcome, output }.into()
            }
        ),
    ]
}

/// Any event about identities.
pub(super) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![sessions(), principals(), turns(), calls(), hooks(), questions(), subagents()]
}
