//! What the fold refuses: requests out of order, and artifacts that are missing or no text.

use artifacts::{ArtifactId, GetError};
use projector::policy::{CapText, Shape, Step, Unit};
use projector::{Policy, ProjectError, Projector, project};

use super::{WHOLE, cap, done, fold, head, id, last, policy, turns};
use crate::run::{Made, Run};

const OUTPUT: &str = "an output that is long enough to be cut";

fn lines() -> Policy {
    let cap = CapText { ..cap(Unit::Lines, 0, Shape::Head, "[{n}]") };
    policy(&[Step::new(cap)])
}

#[test]
fn requests_of_a_conversation_are_folded_in_order() {
    let mut run = Run::new();
    let (a, b) = (run.session(), run.session());
    for session in [a, b, a, b, a] {
        run.say(session, "text");
        run.request(session, &[]);
    }
    let made = run.finish();
    let recorded = Policy::recorded();
    let mut projector = Projector::new(&made.history, &made.store, &recorded);
    let refuse = |projector: &mut Projector<'_>, number| {
        let error = projector.step(id(number)).unwrap_err();
        let ordinal = u64::from(number) + 1;
        assert!(matches!(error, ProjectError::OutOfOrder { ordinal: found } if found == ordinal));
        let message = format!("request {ordinal} is not the next of its conversation");
        assert_eq!(error.to_string(), message);
    };
    refuse(&mut projector, 2);
    projector.step(id(0)).unwrap();
    refuse(&mut projector, 0);
    refuse(&mut projector, 4);
    refuse(&mut projector, 3);
    projector.step(id(2)).unwrap();
    projector.step(id(4)).unwrap();
    refuse(&mut projector, 2);
    projector.step(id(1)).unwrap();
    projector.step(id(3)).unwrap();
}

#[test]
fn a_request_that_does_not_exist_is_an_error() {
    let made = done(turns(&[]));
    let recorded = Policy::recorded();
    let mut projector = Projector::new(&made.history, &made.store, &recorded);
    let errors = [
        projector.step(id(1)).unwrap_err(),
        projector.projection(id(1)).unwrap_err(),
        project(&made.history, &made.store, &recorded, id(1)).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, ProjectError::NoSuchRequest { ordinal: 2 }));
        assert_eq!(error.to_string(), "request 2 does not exist");
    }
}

/// Two conversations; the output of the first is gone from the store.
fn without_output() -> Made {
    let (mut run, a) = turns(&[("a", OUTPUT)]);
    run.request(a, &[]);
    run.edit(a, 2, 1, &[]);
    run.request(a, &[]);
    let b = run.session();
    run.say(b, "text");
    run.request(b, &[]);
    let mut made = run.finish();
    made.store.held.remove(&ArtifactId::of(OUTPUT.as_bytes())).unwrap();
    made
}

#[test]
fn a_missing_output_is_an_error_and_the_conversation_starts_over() {
    let made = without_output();
    let lines = lines();
    let mut projector = Projector::new(&made.history, &made.store, &lines);
    let first = projector.step(id(0)).unwrap();
    let error = projector.step(id(1)).unwrap_err();
    let missing = ArtifactId::of(OUTPUT.as_bytes());
    assert!(matches!(error, ProjectError::Get(GetError::Missing { id }) if id == missing));
    // The next request does not hold the output, but what was decided before it is not known.
    let error = projector.step(id(2)).unwrap_err();
    assert!(matches!(error, ProjectError::OutOfOrder { ordinal: 3 }));
    assert_eq!(projector.step(id(0)).unwrap(), first);
    assert!(matches!(projector.projection(id(1)), Err(ProjectError::Get(_))));
    projector.step(id(3)).unwrap();
    for (number, known) in [(0, true), (1, false), (2, false), (3, true)] {
        let alone = project(&made.history, &made.store, &lines, id(number));
        assert_eq!(alone.is_ok(), known, "request {number}");
    }
}

#[test]
fn sizes_of_a_missing_output_are_known_but_its_bytes_are_not() {
    let made = without_output();
    let (projection, overlays) = (&fold(&made, &Policy::recorded())[1], &[]);
    let length = made.history.requests()[1].captured.body_bytes;
    assert_eq!(projection.account.body_bytes, length);
    let mut out = Vec::new();
    let written = projection.view.write(&made.history, &made.store, b", ", overlays, &mut out);
    assert!(matches!(written, Err(ProjectError::Get(GetError::Missing { .. }))));
}

#[test]
fn an_output_that_is_not_text_is_an_error() {
    let mut made = done(turns(&[("a", OUTPUT)]));
    let output = ArtifactId::of(OUTPUT.as_bytes());
    let damaged: Vec<u8> = OUTPUT.bytes().map(|byte| byte | 0x80).collect();
    made.store.held.insert(output, damaged.into());
    let policy = policy(&[head(3)]);
    let error = project(&made.history, &made.store, &policy, id(1)).unwrap_err();
    assert!(matches!(error, ProjectError::NotText { part: 4, slot: 1 }));
    assert_eq!(error.to_string(), "part 4 slot 1: not utf-8");
    let projection = &fold(&made, &Policy::recorded())[1];
    let written = projection.view.write(&made.history, &made.store, b", ", &[], &mut Vec::new());
    assert!(matches!(written, Err(ProjectError::NotText { part: 4, slot: 1 })));
}

#[test]
fn a_body_that_could_not_be_split_stays_as_it_is() {
    let (mut run, session) = turns(&[("a", OUTPUT)]);
    run.request(session, &[]);
    let items = run.items(session).to_vec();
    run.edit(session, 0, items.len(), &[]);
    run.unsplit(session, "not json");
    for part in items {
        run.again(session, part);
    }
    let calls = run.ask(session, &["a"]);
    run.tell(session, &[(calls[0], &[OUTPUT])], WHOLE);
    let made = done((run, session));
    let steps = policy(&[head(3), super::window(0, 1, projector::policy::Boundary::Any)]);
    let unsplit = &fold(&made, &steps)[2];
    let account = unsplit.account;
    assert_eq!((account.body_bytes, account.recorded_bytes, account.tokens), (8, 8, 2));
    assert!(!account.changed);
    assert_eq!(unsplit.fidelity.name(), "refused");
    let (projection, body) = last(&made, &steps);
    assert_eq!(super::results_of(&body), ["an [36]"]);
    assert_eq!(projection.account.dropped_messages, 4);
}
