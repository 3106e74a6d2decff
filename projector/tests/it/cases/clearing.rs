//! Goal: which results `clear_results` counts, and which it remembers. Method: runs of a few
//! results, of several tools and of messages that stand twice.

use projector::policy::{Applies, Boundary, Metric, Trigger};

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
