//! How many events per second do the reducers of identities take, and how much do they hold?
//!
//! Workload: a generated log, seed-free: turns of one accepted answer with four calls, a review
//! and a question each, dispatched, returned and ended. Finished items are handed out at the end
//! of each turn, so that what is held is what is open. Throughput is in events.

#![expect(missing_docs, reason = "the macros of criterion write undocumented functions")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ledger::content::Content;
use ledger::event::{
    AcceptedCall, ApprovalAnswered, ApprovalAsked, AskOrigin, Assessment, Correlation, Disposition,
    Dropped, Event, IdentityEvent, Inspection, Outcome, Receipt, Returned, ReviewUpdated,
    SessionBasis, SessionOpened, Stamp, Stop, TextMeasure, ToolDispatched, ToolEnded, ToolReturned,
    TurnAccepted, TurnEnded, TurnStarted, Verdict,
};
use ledger::id::{AskId, HookId, Job, Revision, SessionId, ToolCallId, TurnId};
use ledger::identity::desk::Desk;
use projector::identity::{Conversations, Lanes, View};

const TURNS: u32 = 2_000;
const CALLS_PER_TURN: u32 = 4;

/// Redacted bytes inside an event, by decoding: only a redactor makes them otherwise.
fn text(text: &str) -> Content {
    let length = (text.len() as u64).to_le_bytes();
    let stored = [&[0; 4], length.as_slice(), text.as_bytes()].concat();
    ledger::codec::decode(&stored).expect("inline content decodes")
}

fn log() -> Vec<Event> {
    let session = SessionId::new(0);
    let mut events = vec![Event::SessionOpened(SessionOpened {
        session,
        parent: None,
        basis: SessionBasis::Content,
        client_session: None,
        aliases: Vec::new(),
    })];
    for number in 0..TURNS {
        let turn = TurnId::new(number);
        let first = number * CALLS_PER_TURN;
        events.push(TurnStarted { turn, session }.into());
        let calls = (first..first + CALLS_PER_TURN).map(|call| AcceptedCall {
            call: ToolCallId::new(call),
            name: text("read_file"),
            arguments: text("{\"path\":\"src/lib.rs\"}"),
            provider_call: Some(text(&format!("call_{call}"))),
            provider_item: None,
        });
        events.push(
            TurnAccepted {
                session,
                turn: Some(turn),
                text: Some(text("let me look")),
                reasoning: Vec::new(),
                calls: calls.collect(),
            }
            .into(),
        );
        (first..first + CALLS_PER_TURN).for_each(|call| of_call(call, session, &mut events));
        let stop = Stop::EndTurn;
        events.push(TurnEnded { turn, session, stop, usage: None }.into());
    }
    events
}

fn of_call(number: u32, session: SessionId, events: &mut Vec<Event>) {
    let call = ToolCallId::new(number);
    let review = HookId::review(call, Job::Action);
    let revision = Revision::new(u64::from(number) + 1).expect("not 0");
    let stamp = Stamp::Full { hook: review, call, origin: session, delegation: None, revision };
    let ask = AskId::new(number);
    events.push(
        ReviewUpdated {
            stamp,
            review,
            assessment: Assessment::Acceptable,
            inspection: Inspection::Complete,
            disposition: Some(Disposition::Execute),
            rule: None,
            reason: None,
            sources: Vec::new(),
        }
        .into(),
    );
    events.push(
        ApprovalAsked {
            ask,
            call,
            origin: session,
            delegation: None,
            review: Some(review),
            asker: AskOrigin::HookGuardrail,
            options: Vec::new(),
            foreign_ask: None,
        }
        .into(),
    );
    let receipt = Receipt::Exact { ask, call, origin: session, review: Some(review) };
    events.push(ApprovalAnswered { receipt, verdict: Verdict::AllowOnce, option: None }.into());
    let correlation = Correlation::Own;
    events.push(ToolDispatched { call, attempt: 1, arguments: None, correlation }.into());
    events.push(Event::ToolReturned(ToolReturned {
        call,
        output: vec![Returned { text: text("out"), measure: TextMeasure::of("out") }],
        dropped: Dropped::Bytes(0),
        redactions: 0,
    }));
    let outcome = Outcome::Completed;
    events.push(ToolEnded { call, attempt: 1, outcome, held: None, raw: None }.into());
}

fn is_turn_end(event: &Event) -> bool {
    matches!(event, Event::Identity(IdentityEvent::TurnEnded(_)))
}

fn reduce(criterion: &mut Criterion) {
    let events = log();
    let mut group = criterion.benchmark_group("reduce");
    group.throughput(Throughput::Elements(events.len() as u64)).sample_size(10);
    group.bench_function("view", |bencher| {
        bencher.iter_batched(
            View::default,
            |mut view| {
                let mut most = 0;
                for (seq, event) in (1..).zip(&events) {
                    view.push(seq, event);
                    if is_turn_end(event) {
                        most = most.max(view.items());
                        drop(view.take_settled());
                    }
                }
                // What is open in one turn, however long the log is.
                assert!(most <= 16, "{most} items held");
                view
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("conversation", |bencher| {
        bencher.iter_batched(
            Conversations::default,
            |mut talks| {
                (1..).zip(&events).for_each(|(seq, event)| talks.push(seq, event));
                talks
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("lanes", |bencher| {
        bencher.iter_batched(
            || (Lanes::default(), Vec::new()),
            |(mut lanes, mut findings)| {
                for event in &events {
                    lanes.push(event, &mut findings);
                }
                (lanes, findings)
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("desk", |bencher| {
        bencher.iter_batched(
            Desk::default,
            |mut desk| {
                for (seq, event) in (1..).zip(&events) {
                    desk.observe(seq, event).expect("the log fits");
                }
                assert_eq!(desk.open_items(), 0);
                desk
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, reduce);
criterion_main!(benches);
