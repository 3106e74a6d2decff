//! Goal: a counterfactual is what a live run would have sent. Method: a scripted agent whose tools
//! always return the same outputs runs live under one cap, with the whole outputs on record beside
//! what it sent; its run under every other cap, tighter and looser, is projected and compared with
//! the bodies of a live run under that cap.

use ledger::event::Dropped;
use projector::policy::{CapText, Shape, Step, Unit};
use projector::{Policy, Projector};

use crate::property::{fold, written};
use crate::run::{Made, Run};

const CAPS: [u64; 6] = [0, 3, 20, 60, 200, 100_000];

fn outputs() -> Vec<String> {
    let word = |nth: usize| format!("line {nth} \u{6f22}\u{1f600} \"quoted\"\n");
    (0..8).map(|nth| (0..nth * nth).map(word).collect()).collect()
}

fn policy(limit: u64) -> Policy {
    let cap = CapText::plain(Unit::Bytes, limit, Shape::middle(500), "[{n} hidden of {total}]");
    Policy::new("cap", vec![Step::new(cap)])
}

fn sent(text: &str, limit: u64) -> String {
    let policy = policy(limit);
    let context = projector::text::Context::default();
    let shown = projector::text::apply(&policy.steps[0].op, text, &context).unwrap();
    shown.map_or(text.to_owned(), |shown| shown.lossy(text))
}

/// The agent under a cap.
fn live(limit: u64) -> Made {
    let mut run = Run::new();
    let session = run.session();
    run.say(session, "go");
    for output in outputs() {
        run.request(session, &[]);
        let calls = run.ask(session, &["bash"]);
        run.tell(session, &[(calls[0], &[&sent(&output, limit)])], Dropped::Unknown);
        run.found(calls[0], &output);
    }
    run.request(session, &[]);
    run.finish()
}

fn bodies(made: &Made, policy: &Policy) -> Vec<Vec<u8>> {
    let written = |projection: &projector::Projection| {
        let bytes = written(&made.history, &made.store, projection.request, &projection.view);
        assert_eq!(bytes.len() as u64, projection.account.body_bytes);
        bytes
    };
    fold(made, policy).iter().map(written).collect()
}

/// Compares a run under one cap, projected under another, with the live run under that.
fn check(recorded: u64, other: u64) {
    let made = live(recorded);
    let expected = bodies(&live(other), &Policy::recorded());
    let policy = policy(other);
    assert_eq!(bodies(&made, &policy), expected, "{recorded} -> {other}");
    let mut projector = Projector::new(&made.history, &made.store, &policy);
    let captured = bodies(&made, &Policy::recorded());
    for (request, (theirs, ours)) in made.model.requests.iter().zip(captured.iter().zip(&expected))
    {
        let (fidelity, account) = projector.step(request.id).unwrap();
        assert_eq!(fidelity.name(), "derived");
        assert_eq!(account.changed, theirs != ours, "{recorded} -> {other}");
    }
}

#[test]
fn m20_a_tighter_policy_gives_what_a_live_run_under_it_sends() {
    for (nth, recorded) in CAPS.into_iter().enumerate() {
        for other in CAPS.into_iter().take(nth) {
            check(recorded, other);
        }
    }
}

#[test]
fn m21_a_looser_policy_gives_what_a_live_run_under_it_sends() {
    for (nth, recorded) in CAPS.into_iter().enumerate() {
        for other in CAPS.into_iter().skip(nth + 1) {
            check(recorded, other);
        }
    }
}

#[test]
fn m22_the_policy_in_force_gives_what_was_sent() {
    for limit in CAPS {
        let made = live(limit);
        let captured = bodies(&made, &Policy::recorded());
        assert_eq!(bodies(&made, &policy(limit)), captured);
        let policy = policy(limit);
        let mut projector = Projector::new(&made.history, &made.store, &policy);
        for request in &made.model.requests {
            assert!(!projector.step(request.id).unwrap().1.changed, "{limit}");
        }
    }
}
