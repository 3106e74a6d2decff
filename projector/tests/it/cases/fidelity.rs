//! What a projection says that it rests on.

use ledger::event::Dropped;
use projector::policy::{Applies, Boundary, Shape, Step, Unit};
use projector::projection::{Assumption, Refusal};
use projector::{Fidelity, Policy};

use super::{WHOLE, cap, clear, fold, head, named, policy, turns, window};
use crate::run::{Made, Run};

/// Fidelity of each request.
fn fidelity(made: &Made, steps: &[Step]) -> Vec<Fidelity> {
    fold(made, &policy(steps)).into_iter().map(|projection| projection.fidelity).collect()
}

/// A request before any result, and one with a result of which so much is missing.
fn one(dropped: Dropped) -> Made {
    let (mut run, session) = turns(&[]);
    run.request(session, &[]);
    let calls = run.ask(session, &["a"]);
    run.tell(session, &[(calls[0], &["text"])], dropped);
    run.request(session, &[]);
    run.finish()
}

fn cap_of(tool: &str) -> Step {
    let applies = Applies { tools: named(&[tool]), ..Applies::all() };
    Step::new(cap(Unit::Bytes, 1000, Shape::Head, "")).for_only(applies)
}

fn no_cap() -> [Step; 2] {
    [clear(0, None, true), window(0, 1, Boundary::Any)]
}

const SENT_IS_WHOLE: &str = "the output as sent is taken for the whole output";
const EDITS_KEPT: &str = "the client's own edits are kept as recorded";

#[test]
fn the_recorded_policy_is_exact_whatever_happened() {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "text");
    run.request(session, &[]);
    run.edit(session, 0, 1, &[]);
    run.unsplit(session, "not json");
    run.tell_again(session, None, "unknown");
    run.request(session, &[]);
    let made = run.finish();
    for projection in fold(&made, &Policy::recorded()) {
        assert_eq!(projection.fidelity, Fidelity::Exact);
        assert_eq!(projection.fidelity.reason(), None);
    }
}

#[test]
fn steps_over_whole_outputs_are_derived() {
    let derived = [Fidelity::Derived, Fidelity::Derived];
    let steps = [[head(1)].as_slice(), &no_cap()].concat();
    assert_eq!(fidelity(&one(WHOLE), &steps), derived);
    assert_eq!(Fidelity::Derived.reason(), None);
    for dropped in [Dropped::Unknown, Dropped::Bytes(1)] {
        assert_eq!(fidelity(&one(dropped), &no_cap()), derived, "no step looks at the output");
        assert_eq!(fidelity(&one(dropped), &[cap_of("b")]), derived, "not for this tool");
    }
}

#[test]
fn a_cap_assumes_that_what_was_sent_is_whole_where_nobody_knows() {
    let assumed = |step| Fidelity::Assumed(Assumption::SentIsWhole { step });
    for dropped in [Dropped::Unknown, Dropped::Bytes(1)] {
        let steps = [cap_of("b"), head(1), cap_of("a")];
        let found = fidelity(&one(dropped), &steps);
        assert_eq!(found, [Fidelity::Derived, assumed(1)]);
        assert_eq!(found[1].reason(), Some((1, SENT_IS_WHOLE)));
        let unneeded = fidelity(&one(dropped), &[cap_of("a")]);
        assert_eq!(unneeded[1], assumed(0), "the whole may be longer than what was sent");
    }
}

#[test]
fn a_second_result_is_not_the_output_on_record() {
    let (mut run, session) = turns(&[("a", "text")]);
    run.request(session, &[]);
    run.tell_again(session, Some(0), "text");
    run.request(session, &[]);
    run.edit(session, 3, 1, &[]);
    run.tell_again(session, None, "text");
    run.request(session, &[]);
    let made = run.finish();
    let assumed = Fidelity::Assumed(Assumption::SentIsWhole { step: 0 });
    let found = fidelity(&made, &[head(1)]);
    assert_eq!(found[1..], [Fidelity::Derived, assumed.clone(), assumed]);
}

#[test]
fn the_first_step_that_assumes_is_named_whatever_the_order_of_messages() {
    let (mut run, session) = turns(&[]);
    for tool in ["b", "a"] {
        run.request(session, &[]);
        let calls = run.ask(session, &[tool]);
        run.tell(session, &[(calls[0], &["text"])], Dropped::Unknown);
    }
    run.request(session, &[]);
    let made = run.finish();
    let found = fidelity(&made, &[cap_of("a"), cap_of("b")]);
    let assumed = |step| Fidelity::Assumed(Assumption::SentIsWhole { step });
    assert_eq!(found, [Fidelity::Derived, assumed(1), assumed(0)]);
}

#[test]
fn edits_of_the_client_are_assumed_to_stay_from_then_on() {
    let (mut run, a) = turns(&[("a", "text")]);
    run.request(a, &[]);
    run.edit(a, 0, 1, &[]);
    run.request(a, &[]);
    run.request(a, &[]);
    let b = run.session();
    run.request(b, &[]);
    let made = run.finish();
    let kept = Fidelity::Assumed(Assumption::EditsKept { step: 0 });
    let found = fidelity(&made, &no_cap());
    let derived = Fidelity::Derived;
    assert_eq!(found, [derived.clone(), derived.clone(), kept.clone(), kept, derived]);
    assert_eq!(found[2].reason(), Some((0, EDITS_KEPT)));
}

#[test]
fn a_body_that_could_not_be_split_is_refused() {
    let mut run = Run::new();
    let session = run.session();
    run.unsplit(session, "not json");
    let found = fidelity(&run.finish(), &[head(1)]);
    assert_eq!(found, [Fidelity::Refused(Refusal::Unsplit { step: 0 })]);
    let reason = "the body could not be split into messages";
    assert_eq!(found[0].reason(), Some((0, reason)));
}

#[test]
fn every_fidelity_has_its_word() {
    let assumption = Assumption::EditsKept { step: 0 };
    for (fidelity, word) in [
        (Fidelity::Exact, "exact"),
        (Fidelity::Derived, "derived"),
        (Fidelity::Assumed(assumption), "assumed"),
        (Fidelity::Refused(Refusal::Unsplit { step: 0 }), "refused"),
    ] {
        assert_eq!(fidelity.name(), word);
    }
}
