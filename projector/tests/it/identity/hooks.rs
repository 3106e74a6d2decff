//! Hooks, reviews and questions: what evidence joins, and what it comes to.

use ledger::event::*;
use ledger::id::{HookId, Job, Revision};
use projector::identity::{AskState, Evidence, Loose, Standing, View};

use super::make::*;

const OUTCOME: HookId = HookId::Outcome(0);

fn view(events: Vec<Event>) -> View {
    let mut view = View::default();
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    view
}

/// A conversation with one call, and what comes behind it.
fn with_call(mut events: Vec<Event>) -> View {
    events.splice(0..0, [opened(0), accepted(0, "x", &[(0, "c1")])]);
    view(events)
}

fn message(view: &View, hook: HookId) -> Option<String> {
    let resolved = view.hooks().get(&hook)?.resolve();
    let Evidence::Outcome(event) = resolved.current? else { return None };
    let bytes = event.message.as_ref()?.as_inline()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn standings(view: &View, hook: HookId) -> Vec<Standing> {
    view.hooks()[&hook].resolve().evidence.iter().map(|(_, standing, _)| *standing).collect()
}

#[test]
fn t12_a_block_and_a_mutation_of_one_call_are_two_records() {
    let view = with_call(vec![
        outcome(stamp(HookId::Outcome(0), 0, 0, 1), "block"),
        outcome(stamp(HookId::Outcome(1), 0, 0, 2), "mutation"),
    ]);
    assert_eq!(view.hooks().len(), 2);
    assert_eq!(view.hooks_of(call(0)).count(), 2);
}

#[test]
fn t14_a_review_id_follows_from_call_and_job_alone() {
    let jobs = Job::ALL.map(|job| HookId::review(call(7), job));
    assert_eq!(jobs, Job::ALL.map(|job| HookId::review(call(7), job)));
    let shown = jobs.map(|id| id.to_string());
    assert_eq!(shown, ["review-8-action", "review-8-permission", "review-8-inbound"]);
    assert_ne!(HookId::review(call(7), Job::Action), HookId::review(call(8), Job::Action));
    // The stored form is frozen, too.
    let stored = ledger::codec::encode(&jobs[2]).unwrap();
    assert_eq!(stored, [1, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn t16_an_envelope_that_names_another_review_than_its_content_stands_alone() {
    let envelope = HookId::review(call(0), Job::Action);
    let nested = HookId::review(call(0), Job::Inbound);
    let other_call = stamp(HookId::review(call(1), Job::Action), 0, 0, 2);
    let view = view(vec![
        opened(0),
        accepted(0, "x", &[(0, "c1"), (1, "c2")]),
        review_of(stamp(envelope, 0, 0, 1), nested, Assessment::Prohibited),
        review_of(other_call, HookId::review(call(1), Job::Action), Assessment::Prohibited),
    ]);
    assert_eq!(view.loose().len(), 2);
    assert!(view.hooks().is_empty());
    assert_eq!(view.hooks_of(call(0)).count(), 0);
}

#[test]
fn t17_a_second_look_keeps_the_id_and_the_first_one_as_evidence() {
    let view = with_call(vec![
        review(0, Job::Action, 0, 1, Assessment::Unresolved),
        review(0, Job::Action, 0, 5, Assessment::Acceptable),
    ]);
    let id = HookId::review(call(0), Job::Action);
    assert_eq!(view.hooks().len(), 1);
    assert_eq!(standings(&view, id), [Standing::Earlier, Standing::Current]);
    let resolved = view.hooks()[&id].resolve();
    let Some(Evidence::Review(event)) = resolved.current else { panic!() };
    assert_eq!(event.assessment, Assessment::Acceptable);
    assert_eq!(resolved.revision, Revision::new(5));
}

#[test]
fn t19_the_highest_revision_is_the_state_in_any_order_of_arrival() {
    let revisions = [3_u64, 1, 4, 2];
    for order in permutations(revisions.len()) {
        let events = order.iter().map(|at| {
            let revision = revisions[*at];
            outcome(stamp(OUTCOME, 0, 0, revision), &revision.to_string())
        });
        let view = with_call(events.collect());
        assert_eq!(message(&view, OUTCOME).as_deref(), Some("4"), "{order:?}");
    }
}

#[test]
fn t20_a_lower_revision_changes_nothing() {
    let view = with_call(vec![
        outcome(stamp(OUTCOME, 0, 0, 9), "new"),
        outcome(stamp(OUTCOME, 0, 0, 8), "old"),
    ]);
    assert_eq!(message(&view, OUTCOME).as_deref(), Some("new"));
    assert_eq!(standings(&view, OUTCOME), [Standing::Current, Standing::Earlier]);
}

#[test]
fn t21_the_same_revision_with_the_same_content_counts_once() {
    let events = vec![
        opened(0),
        accepted(0, "x", &[(0, "c1")]),
        outcome(stamp(OUTCOME, 0, 0, 1), "a"),
        outcome(stamp(OUTCOME, 0, 0, 1), "a"),
    ];
    let once = view(events.clone());
    assert_eq!(standings(&once, OUTCOME), [Standing::Current, Standing::Repeated]);
    // A log that is replayed from its beginning adds nothing at all.
    let mut twice = once.clone();
    for (seq, event) in numbered(events) {
        twice.push(seq, &event);
    }
    assert_eq!(twice, once);
}

#[test]
fn t22_the_same_revision_with_something_else_in_it_is_a_conflict_and_changes_nothing() {
    let cases = [
        outcome(stamp(OUTCOME, 0, 0, 3), "other content"),
        outcome(stamp(OUTCOME, 0, 1, 3), "first"),
        outcome(stamp(OUTCOME, 1, 0, 3), "first"),
        // Another origin or call does not win by a higher revision either.
        outcome(stamp(OUTCOME, 0, 1, 4), "first"),
        outcome(stamp(OUTCOME, 1, 0, 4), "first"),
    ];
    for case in cases {
        let view = view(vec![
            opened(0),
            opened(1),
            accepted(0, "x", &[(0, "c1"), (1, "c2")]),
            outcome(stamp(OUTCOME, 0, 0, 3), "first"),
            case,
        ]);
        assert_eq!(message(&view, OUTCOME).as_deref(), Some("first"));
        assert_eq!(standings(&view, OUTCOME), [Standing::Current, Standing::Conflict]);
        assert_eq!(view.hooks()[&OUTCOME].evidence().len(), 2);
        assert_eq!(view.hooks_of(call(0)).count(), 1);
        assert_eq!(view.hooks_of(call(1)).count(), 0);
    }
}

#[test]
fn t23_a_receipt_outlives_later_states_of_the_review_that_asked() {
    let id = HookId::review(call(0), Job::Action);
    let view = with_call(vec![
        review(0, Job::Action, 0, 1, Assessment::Unresolved),
        asked(0, 0, 0, Some(id)),
        answered(0, 0, 0, Some(id), Verdict::AllowOnce),
        review(0, Job::Action, 0, 2, Assessment::Acceptable),
    ]);
    assert_eq!(view.ask_state(ask(0)), AskState::Answered(Verdict::AllowOnce));
    assert!(view.asks()[&ask(0)].verdict().is_some());
}

#[test]
fn t24_a_record_without_all_its_ids_never_replaces_one_with_them() {
    let partial = |revision| Stamp::Partial {
        hook: Some(OUTCOME),
        call: Some(call(0)),
        origin: None,
        revision,
    };
    for revision in [None, Revision::new(99)] {
        let full = outcome(stamp(OUTCOME, 0, 0, 1), "identified");
        let events = [full, outcome(partial(revision), "incomplete")];
        for order in permutations(2) {
            let view = with_call(order.iter().map(|at| events[*at].clone()).collect());
            assert_eq!(message(&view, OUTCOME).as_deref(), Some("identified"));
            assert!(standings(&view, OUTCOME).contains(&Standing::Incomplete));
        }
    }
}

#[test]
fn t26_gaps_in_the_revisions_are_fine() {
    let view = with_call(vec![
        outcome(stamp(OUTCOME, 0, 0, 1_000), "a"),
        outcome(stamp(OUTCOME, 0, 0, u64::MAX), "b"),
    ]);
    assert_eq!(message(&view, OUTCOME).as_deref(), Some("b"));
}

#[test]
fn t29_a_revision_that_is_not_known_is_below_every_known_one() {
    let partial =
        |revision| Stamp::Partial { hook: Some(OUTCOME), call: None, origin: None, revision };
    let view = with_call(vec![
        outcome(partial(Revision::new(1)), "known"),
        outcome(partial(None), "unknown"),
    ]);
    let resolved = view.hooks()[&OUTCOME].resolve();
    assert_eq!(resolved.revision, Revision::new(1));
    assert!(resolved.current.is_none());
}

#[test]
fn t30_the_origin_is_the_field_and_nothing_that_a_foreign_id_says() {
    // The foreign id of the question claims another session; `asked` writes it.
    let view = with_call(vec![asked(0, 0, 0, None)]);
    let ask = view.asks()[&ask(0)].asked.first().unwrap();
    assert_eq!(ask.origin, session(0));
    assert!(ask.foreign_ask.is_some());
    let renamed = answered(0, 0, 7, None, Verdict::AllowOnce);
    let view = with_call(vec![opened(1), asked(0, 0, 0, None), renamed]);
    assert_eq!(view.ask_state(super::make::ask(0)), AskState::Pending);
}

#[test]
fn t31_a_review_from_a_child_does_not_join_the_parents_call() {
    let view = view(vec![
        opened(0),
        opened(1),
        accepted(0, "parent", &[(0, "same")]),
        accepted(1, "child", &[(1, "same")]),
        review(0, Job::Action, 1, 1, Assessment::Prohibited),
        review(1, Job::Action, 1, 2, Assessment::Acceptable),
    ]);
    assert_eq!(view.hooks_of(call(0)).count(), 0);
    assert_eq!(view.hooks_of(call(1)).count(), 1);
    let alone: Vec<_> = view.standalone().map(|(id, _)| id).collect();
    assert_eq!(alone, [HookId::review(call(0), Job::Action)]);
}

#[test]
fn t32_a_verdict_joins_only_by_origin_record_and_call_together() {
    let id = HookId::review(call(0), Job::Action);
    let other = HookId::review(call(0), Job::Permission);
    let cases = [
        (answered(0, 0, 0, Some(id), Verdict::Deny), AskState::Answered(Verdict::Deny)),
        (answered(0, 1, 0, Some(id), Verdict::Deny), AskState::Pending),
        (answered(0, 0, 1, Some(id), Verdict::Deny), AskState::Pending),
        (answered(0, 0, 0, Some(other), Verdict::Deny), AskState::Pending),
        (answered(0, 0, 0, None, Verdict::Deny), AskState::Pending),
    ];
    for (answer, state) in cases {
        let view = view(vec![
            opened(0),
            opened(1),
            accepted(0, "x", &[(0, "c1"), (1, "c2")]),
            asked(0, 0, 0, Some(id)),
            answer,
        ]);
        assert_eq!(view.ask_state(ask(0)), state);
        let stray = view.asks()[&ask(0)].stray().count();
        assert_eq!(stray, usize::from(state == AskState::Pending));
    }
}

#[test]
fn t33_a_receipt_that_does_not_say_what_it_is_about_stands_alone() {
    let receipt =
        ApprovalAnswered { receipt: Receipt::Legacy, verdict: Verdict::AllowAlways, option: None };
    let view = with_call(vec![asked(0, 0, 0, None), receipt.clone().into()]);
    assert_eq!(view.ask_state(ask(0)), AskState::Pending);
    let loose: Vec<_> = view.loose().iter().map(|(_, loose)| loose.clone()).collect();
    assert_eq!(loose, [Loose::Receipt(receipt)]);
}

#[test]
fn t43_every_piece_of_evidence_is_in_the_view_once() {
    let id = HookId::review(call(0), Job::Action);
    let events = vec![
        outcome(stamp(OUTCOME, 0, 0, 1), "attached"),
        outcome(stamp(OUTCOME, 0, 0, 1), "conflict"),
        outcome(stamp(HookId::Outcome(1), 0, 9, 1), "standalone"),
        review_of(stamp(id, 0, 0, 2), OUTCOME, Assessment::Acceptable),
        outcome(
            Stamp::Partial { hook: None, call: Some(call(0)), origin: None, revision: None },
            "loose",
        ),
    ];
    let count = events.len();
    let view = with_call(events);
    let joined: usize = view.hooks_of(call(0)).map(|(_, record)| record.evidence().len()).sum();
    let alone: usize = view.standalone().map(|(_, record)| record.evidence().len()).sum();
    assert_eq!((joined, alone, view.loose().len()), (2, 1, 2));
    assert_eq!(joined + alone + view.loose().len(), count);
}

#[test]
fn t44_a_hook_that_comes_before_its_call_joins_it_later() {
    let events = [
        outcome(stamp(OUTCOME, 0, 0, 1), "early"),
        accepted(0, "x", &[(0, "c1")]),
        asked(0, 0, 0, None),
        ended(0, 0, Outcome::Completed),
    ];
    let mut ordered = View::default();
    for (seq, event) in (1..).zip(&events) {
        ordered.push(seq, event);
    }
    assert_eq!(ordered.hooks_of(call(0)).count(), 1);
    for order in permutations(events.len()) {
        let mut view = View::default();
        for at in order {
            view.push(at as u64 + 1, &events[at]);
        }
        assert_eq!(view, ordered);
    }
}

#[test]
fn t45_handing_out_what_is_finished_loses_no_evidence() {
    let events = vec![
        opened(0),
        accepted(0, "x", &[(0, "c1"), (1, "c2")]),
        outcome(stamp(OUTCOME, 0, 0, 1), "a"),
        ended(0, 0, Outcome::Completed),
        outcome(stamp(HookId::Outcome(1), 0, 0, 2), "late"),
        outcome(stamp(HookId::Outcome(2), 1, 0, 3), "open"),
    ];
    let whole = view(events.clone());
    let (mut open, mut out) = (View::default(), View::default());
    for (seq, event) in numbered(events) {
        open.push(seq, &event);
        out.join(open.take_settled());
    }
    assert_eq!(open.calls().keys().copied().collect::<Vec<_>>(), [call(1)]);
    out.join(open);
    assert_eq!(out, whole);
}

#[test]
fn t47_what_a_view_hands_out_is_a_copy() {
    let view = with_call(vec![outcome(stamp(OUTCOME, 0, 0, 1), "a")]);
    let mut copy = view.clone();
    copy.push(99, &outcome(stamp(OUTCOME, 0, 0, 2), "b"));
    assert_eq!(message(&view, OUTCOME).as_deref(), Some("a"));
    assert_eq!(message(&copy, OUTCOME).as_deref(), Some("b"));
}

/// All orders of the numbers below `count`.
pub(crate) fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(count - 1);
    let insert = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut longer = order.clone();
            longer.insert(at, count - 1);
            longer
        })
    };
    shorter.into_iter().flat_map(insert).collect()
}
