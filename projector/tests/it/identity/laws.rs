//! Laws of the reducers over random logs: going on is beginning anew, order of arrival does not
//! matter, parts join to the whole, a lost record never makes another identity.

use ledger::event::*;
use ledger::id::{AskId, HookId, Job};
use projector::identity::{
    AskState, Conversation, Conversations, Entry, LaneFinding, Lanes, ResultView, View,
};
use proptest::prelude::*;

use super::make::*;

const SESSIONS: u32 = 3;

/// One step of a random run, in numbers that [`events`] makes sense of.
#[derive(Clone, Debug)]
struct Step {
    what: u8,
    of: u32,
    detail: u32,
}

fn step() -> impl Strategy<Value = Step> {
    (0..12_u8, any::<u32>(), any::<u32>()).prop_map(|(what, of, detail)| Step { what, of, detail })
}

/// A log in which every reference leads to something that was told before.
fn events(steps: &[Step]) -> Vec<(u64, Event)> {
    let mut out: Vec<Event> = (0..SESSIONS).map(opened).collect();
    let (mut calls, mut turns, mut hooks, mut asks) = (0, 0, 0, 0);
    let mut revision = 0;
    for Step { what, of, detail } in steps {
        let session = of % SESSIONS;
        let known = |count: u32| (count > 0).then(|| detail % count.max(1));
        match (what, known(calls)) {
            (0, _) => {
                out.push(turn_started(session, turns));
                turns += 1;
            }
            (1, _) => out.push(prompted(session, "p")),
            (2, _) => {
                let name = format!("c{calls}");
                out.push(accepted(session, "a", &[(calls, name.as_str())]));
                calls += 1;
            }
            (3, _) => {
                let lane =
                    if detail % 2 == 0 { Lane::Native } else { Lane::Bridged(AliasForm::Bare) };
                out.push(observed(session, calls, lane, &[(NameSource::Title, "read")]));
                calls += 1;
            }
            (4, Some(call)) => out.push(dispatched(call, 1 + u16::from(detail % 3 == 0))),
            (5, Some(call)) => out.push(returned(call, "out")),
            (6, Some(call)) => {
                let outcome = if of % 2 == 0 { Outcome::Completed } else { Outcome::Failed };
                out.push(ended(call, 1, outcome));
            }
            (7, Some(call)) => {
                revision += 1;
                out.push(outcome(stamp(HookId::Outcome(hooks), call, session, revision), "h"));
                hooks += 1;
            }
            (8, Some(call)) => {
                revision += 1;
                let job = Job::ALL[(of % 3) as usize];
                out.push(review(call, job, session, revision, Assessment::Acceptable));
            }
            (9, Some(call)) => {
                out.push(asked(asks, call, session, None));
                asks += 1;
            }
            (10, Some(call)) if asks > 0 => {
                out.push(answered(of % asks, call, session, None, Verdict::AllowOnce));
            }
            (11, _) if turns > 0 => {
                out.push(turn_ended(session, of % turns, Stop::EndTurn, (1, 2)));
            }
            _ => {}
        }
    }
    numbered(out)
}

fn whole(events: &[(u64, Event)]) -> View {
    let mut view = View::default();
    for (seq, event) in events {
        view.push(*seq, event);
    }
    view
}

fn is_verdict(event: &Event, of: AskId, given: Verdict) -> bool {
    let Event::Identity(IdentityEvent::ApprovalAnswered(event)) = event else { return false };
    let about = matches!(event.receipt, Receipt::Exact { ask, .. } if ask == of);
    about && event.verdict == given
}

fn talks(events: &[(u64, Event)]) -> Conversations {
    let mut talks = Conversations::default();
    for (seq, event) in events {
        talks.push(*seq, event);
    }
    talks
}

/// All that happens in one conversation; its calls and questions are its own.
fn of_one(session: u32) -> Vec<Event> {
    let first = 10 * session;
    vec![
        turn_started(session, session),
        prompted(session, "go"),
        accepted(session, "look", &[(first, "a"), (first + 1, "b")]),
        asked(session, first, session, None),
        dispatched(first + 1, 1),
        returned(first + 1, "second"),
        ended(first + 1, 1, Outcome::Completed),
        answered(session, first, session, None, Verdict::AllowOnce),
        returned(first, "first"),
        ended(first, 0, Outcome::Completed),
        turn_ended(session, session, Stop::EndTurn, (1, 2)),
    ]
}

proptest! {
    #[test]
    fn t44_a_conversation_does_not_depend_on_what_happens_in_others_meanwhile(
        picks in prop::collection::vec(0..SESSIONS, 0..40),
    ) {
        let mut left: Vec<_> = (0..SESSIONS).map(|session| of_one(session).into_iter()).collect();
        let whole = (0..SESSIONS).flat_map(of_one).collect();
        let mut mixed: Vec<Event> =
            picks.iter().filter_map(|session| left[*session as usize].next()).collect();
        mixed.extend(left.into_iter().flatten());
        let (mixed, whole) = (talks(&numbered(mixed)), talks(&numbered(whole)));
        prop_assert_eq!(mixed.sessions(), whole.sessions());
    }

    #[test]
    fn a_lost_record_gives_no_result_to_another_call(
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let events = events(&steps);
        for lost in 0..events.len() {
            let mut rest = events.clone();
            rest.remove(lost);
            let talks = talks(&rest);
            let entries = talks.sessions().values().flat_map(Conversation::entries);
            for entry in entries {
                let Entry::Result { call, result: ResultView::Output(output) } = entry else {
                    continue;
                };
                let said = |(_, event): &(u64, Event)| matches!(event, Event::ToolReturned(event)
                    if event.call == call.call && event.output == output.texts);
                prop_assert!(events.iter().any(said));
            }
        }
    }

    #[test]
    fn t46_going_on_is_beginning_anew_at_every_prefix_of_any_log(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let events = events(&steps);
        let (mut view, mut talks) = (View::default(), Conversations::default());
        let mut lanes = (Lanes::default(), Vec::<LaneFinding>::new());
        for (end, (seq, event)) in events.iter().enumerate() {
            view.push(*seq, event);
            talks.push(*seq, event);
            lanes.0.push(event, &mut lanes.1);
            let prefix = &events[..=end];
            prop_assert_eq!(&view, &whole(prefix));
            let (mut again, mut other) = (Conversations::default(), (Lanes::default(), Vec::new()));
            for (seq, event) in prefix {
                again.push(*seq, event);
                other.0.push(event, &mut other.1);
            }
            prop_assert_eq!(&talks, &again);
            prop_assert_eq!(&lanes, &other);
        }
    }

    #[test]
    fn t44_the_order_of_arrival_does_not_change_the_view(
        steps in prop::collection::vec(step(), 0..60),
        keys in prop::collection::vec(any::<u32>(), 70),
    ) {
        let events = events(&steps);
        let mut shuffled = events.clone();
        shuffled.sort_by_key(|(seq, _)| {
            let at = usize::try_from(*seq).unwrap();
            keys.get(at).copied().unwrap_or_default()
        });
        prop_assert_eq!(whole(&shuffled), whole(&events));
    }

    #[test]
    fn t45_what_is_handed_out_and_what_is_left_are_the_whole(
        steps in prop::collection::vec(step(), 0..80),
        every in 1..9_usize,
    ) {
        let events = events(&steps);
        let (mut open, mut out) = (View::default(), View::default());
        for (at, (seq, event)) in events.iter().enumerate() {
            open.push(*seq, event);
            if at % every == 0 {
                out.join(open.take_settled());
            }
        }
        prop_assert!(open.items() <= whole(&events).items());
        out.join(open);
        prop_assert_eq!(out, whole(&events));
    }

    #[test]
    fn joining_is_the_same_in_any_grouping_and_twice_is_once(
        steps in prop::collection::vec(step(), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let events = events(&steps);
        let (left, right) = events.split_at(cut.index(events.len()));
        let (left, right) = (whole(left), whole(right));
        let mut forward = left.clone();
        forward.join(right.clone());
        let mut backward = right.clone();
        backward.join(left.clone());
        prop_assert_eq!(&forward, &whole(&events));
        prop_assert_eq!(&backward, &forward);
        backward.join(right);
        backward.join(left);
        prop_assert_eq!(backward, forward);
    }

    #[test]
    fn a_lost_record_moves_no_evidence_to_another_call(
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let events = events(&steps);
        let full = whole(&events);
        for lost in 0..events.len() {
            let mut rest = events.clone();
            rest.remove(lost);
            let rest = whole(&rest);
            for (id, record) in rest.hooks() {
                let before = full.hooks()[id].call();
                prop_assert!(record.call().is_none() || record.call() == before);
            }
            for (call, card) in rest.calls() {
                let before = &full.calls()[call];
                prop_assert!(card.session().is_none() || card.session() == before.session());
                for output in card.outputs.iter() {
                    prop_assert!(before.outputs.iter().any(|found| found == output));
                }
            }
            for ask in rest.asks().keys() {
                if let AskState::Answered(verdict) = rest.ask_state(*ask) {
                    prop_assert!(events.iter().any(|(_, event)| is_verdict(event, *ask, verdict)));
                }
            }
        }
    }
}
