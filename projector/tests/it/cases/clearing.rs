//! Goal: which results `clear_results` counts, and which it remembers. Method: runs of a few
//! results, of several tools and of messages that stand twice.

use projector::Policy;
use projector::policy::{
    Applies, Boundary, ClearResults, Keep, KeepResults, Metric, Step, StopAt, Trigger,
};

use super::{clear, done, named, policy, results, turns, window};
use crate::property::fold;
use crate::run::Made;

#[test]
fn results_of_other_tools_take_places_among_the_newest_and_set_triggers_off() {
    let outputs = [("bash", "b1"), ("read", "r1"), ("bash", "b2"), ("read", "r2")];
    let (mut run, session) = turns(&outputs);
    run.tell_again(session, None, "unknown");
    let made = done((run, session));
    let bash = Applies { tools: named(&["bash"]), ..Applies::default() };
    let five = Some(Trigger::at_least(Metric::ToolResults, 5));
    let six = Some(Trigger::at_least(Metric::ToolResults, 6));
    for (keep, trigger, b1, b2) in [
        (0, five, "-", "-"),
        (2, five, "-", "-"),
        (3, five, "-", "b2"),
        (4, five, "-", "b2"),
        (5, five, "b1", "b2"),
        (0, six, "b1", "b2"),
    ] {
        let step = clear(keep, trigger, false).for_only(bash.clone());
        let texts = results(&made, &policy(std::slice::from_ref(&step)));
        assert_eq!(texts, [b1, "r1", b2, "r2", "unknown"], "{keep} {trigger:?}");
        // Results that a window has left out do not count.
        let left = policy(&[window(0, 4, Boundary::Any), step]);
        assert_eq!(results(&made, &left), ["b2", "r2", "unknown"], "{keep} {trigger:?}");
    }
}

/// A call and its result that stand in the list twice, and a result between.
fn repeated() -> Made {
    let (mut run, session) = turns(&[("a", "same"), ("a", "other")]);
    run.request(session, &[]);
    let parts = run.items(session)[1..3].to_vec();
    run.again(session, parts[0]);
    run.again(session, parts[1]);
    run.request(session, &[]);
    run.say(session, "more");
    done((run, session))
}

#[test]
fn a_message_that_stands_twice_is_cleared_for_good_only_where_it_was_cleared() {
    let made = repeated();
    let steps = policy(&[clear(1, None, true)]);
    let cleared: Vec<_> = fold(&made, &steps).iter().map(|p| p.account.cleared_results).collect();
    assert_eq!(cleared, [0, 0, 1, 2, 2]);
    // The newest result is kept at the request after its first one too.
    assert_eq!(results(&made, &steps), ["-", "-", "same"]);
}

/// Clears all results but those that the keep and the least size leave.
fn with(keep: KeepResults, min_size_tokens: u64, sticky: bool) -> Policy {
    let plain = ClearResults::plain(0, "-", sticky);
    policy(&[Step::new(ClearResults { keep: Keep(keep), min_size_tokens, ..plain })])
}

#[test]
fn small_results_stay() {
    let large = "x".repeat(40);
    let made = done(turns(&[("a", "small"), ("a", &large), ("a", "tiny"), ("a", &large)]));
    for (least, left) in [(0, ["-"; 4]), (3, ["small", "-", "tiny", "-"])] {
        let steps = with(KeepResults::results(0), least, false);
        assert_eq!(results(&made, &steps), left);
    }
    let steps = with(KeepResults::results(0), 11, false);
    assert_eq!(results(&made, &steps), ["small", &large, "tiny", &large]);
}

#[test]
fn the_walk_to_older_results_ends_at_a_summary() {
    let (mut run, session) = turns(&[("a", "one"), ("a", "two"), ("a", "three")]);
    run.request(session, &[]);
    let summary = run.say(session, "what happened");
    run.edit(session, 7, 1, &[]);
    // The call and the result of `two` become one message.
    run.edit(session, 3, 2, &[summary]);
    let made = done((run, session));
    for (stop_at, left) in [(Vec::new(), ["-", "-"]), (vec![StopAt::Summary], ["one", "-"])] {
        let keep = KeepResults { stop_at, ..KeepResults::results(0) };
        assert_eq!(results(&made, &with(keep, 0, false)), left);
    }
}

#[test]
fn the_walk_to_older_results_ends_at_a_cleared_one() {
    // The first result is not there when the second one is cleared, and comes back.
    let (mut run, session) = turns(&[("a", "one"), ("a", "two"), ("a", "three")]);
    let messages = run.items(session).to_vec();
    run.edit(session, 1, 2, &[]);
    run.say(session, "more");
    run.say(session, "and more");
    run.request(session, &[]);
    run.edit(session, 1, 0, &messages[1..3]);
    let made = done((run, session));
    for (stop_at, left) in [(Vec::new(), "-"), (vec![StopAt::Cleared], "one")] {
        let keep = KeepResults { stop_at, ..KeepResults::results(1) };
        let mut steps = with(keep, 0, true);
        steps.steps[0].trigger = Some(Trigger::at_least(Metric::Messages, 7));
        assert_eq!(results(&made, &steps), [left, "-", "three"]);
    }
}

#[test]
fn a_result_whose_id_stands_in_the_kept_part_too_stays() {
    let made = repeated();
    for (ids_in_tail, sticky, left) in [
        (false, false, ["-", "-", "same"]),
        (true, false, ["same", "-", "same"]),
        (true, true, ["-", "-", "same"]),
    ] {
        let keep = KeepResults { ids_in_tail, ..KeepResults::results(1) };
        assert_eq!(results(&made, &with(keep, 0, sticky)), left, "{ids_in_tail} {sticky}");
    }
}
