//! Goal: a fold that goes on from a snapshot says what one from the beginning says, and bytes
//! that are no snapshot are refused. Method: random runs under random policies, a snapshot after
//! every request; every cut and every flipped byte of one snapshot.

use std::cell::RefCell;
use std::sync::Arc;

use projector::memo::{Capped, Memo, MemoKey};
use projector::{Index, Policy, Projector, Shared, Snapshot, SnapshotError};
use proptest::prelude::*;

use crate::property::fold;
use crate::random::{play, policy, script};
use crate::run::Made;

/// A memo that also counts what it was asked for in vain.
#[derive(Default)]
struct Kept {
    known: RefCell<Vec<(MemoKey, Option<Arc<Capped>>)>>,
    missed: RefCell<usize>,
}

impl Memo for Kept {
    fn get(&self, key: &MemoKey) -> Option<Option<Arc<Capped>>> {
        let known = self.known.borrow();
        let known = known.iter().find(|(known, _)| known == key).map(|(_, capped)| capped.clone());
        *self.missed.borrow_mut() += usize::from(known.is_none());
        known
    }

    fn put(&self, key: MemoKey, capped: Option<Arc<Capped>>) {
        self.known.borrow_mut().push((key, capped));
    }
}

fn after(made: &Made, policy: &Policy, count: usize) -> Snapshot {
    let mut projector = Projector::new(&made.history, &made.store, policy);
    for request in made.model.requests.iter().take(count) {
        projector.step(request.id).unwrap();
    }
    projector.snapshot()
}

fn resume<'h>(
    made: &'h Made,
    policy: &'h Policy,
    shared: Option<Shared<'h>>,
    snapshot: &Snapshot,
) -> Result<Projector<'h>, SnapshotError> {
    Projector::resume(&made.history, &made.store, policy, shared, snapshot)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_fold_goes_on_from_a_snapshot(script in script(), policy in policy()) {
        let made = play(&script);
        let folded = fold(&made, &policy);
        for count in 0..=folded.len() {
            let snapshot = after(&made, &policy, count);
            let read = Snapshot::from_bytes(&snapshot.to_bytes()).unwrap();
            prop_assert_eq!(&read, &snapshot);
            let mut projector = resume(&made, &policy, None, &read).unwrap();
            prop_assert_eq!(&projector.snapshot(), &snapshot);
            for projection in &folded[count..] {
                prop_assert_eq!(&projector.projection(projection.request).unwrap(), projection);
            }
        }
    }

    #[test]
    fn what_projectors_share_changes_nothing(script in script(), policies in prop::collection::vec(policy(), 1..4)) {
        let made = play(&script);
        let index = Index::new(&made.history);
        let memo = Kept::default();
        for policy in policies.iter().chain(&policies) {
            let shared = Shared { index: &index, memo: &memo, counter: None };
            let mut projector = Projector::with(&made.history, &made.store, policy, shared);
            for projection in fold(&made, policy) {
                prop_assert_eq!(projector.projection(projection.request).unwrap(), projection);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_snapshot_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let made = play(&vec![[1; 4]; 3]);
        let policy = Policy::recorded();
        let mut whole = after(&made, &policy, 1).to_bytes();
        let head = whole.len().min(51);
        whole.truncate(head);
        whole.extend(bytes);
        if let Ok(snapshot) = Snapshot::from_bytes(&whole) {
            prop_assert_eq!(snapshot.to_bytes().len(), whole.len());
            drop(resume(&made, &policy, None, &snapshot));
        }
    }
}

/// A run with a result that stays cleared, and the policy that clears it.
fn sticky() -> (Made, Policy) {
    let made = play(&vec![[1, 0, 0, 0], [3, 1, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0], [8, 0, 0, 0]]);
    let policy = Policy::from_toml(
        "name = \"sticky\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"clear_results\"\nkeep = 0\n\
         replacement = \"-\"\nsticky = true\n",
    );
    (made, policy.unwrap())
}

#[test]
fn a_cut_or_foreign_snapshot_is_refused() {
    let (made, policy) = sticky();
    let count = made.model.requests.len();
    let snapshot = after(&made, &policy, count);
    let bytes = snapshot.to_bytes();
    assert!(bytes.len() > 90, "something is remembered");
    for length in 0..bytes.len() {
        let error = Snapshot::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, SnapshotError::Malformed { offset } if offset <= length));
    }
    let more = Snapshot::from_bytes(&[bytes.as_slice(), b"!"].concat()).unwrap_err();
    assert!(matches!(more, SnapshotError::Malformed { .. }));
    let recorded = Policy::recorded();
    let error = resume(&made, &recorded, None, &snapshot).unwrap_err();
    assert!(matches!(error, SnapshotError::OtherPolicy));
    let other = play(&Vec::new());
    let error = resume(&other, &policy, None, &snapshot).unwrap_err();
    assert!(matches!(error, SnapshotError::OtherRun { .. }), "{error}");
}

#[test]
fn a_text_is_capped_once_however_many_policies_ask() {
    let (mut run, session) = (crate::run::Run::new(), 0);
    run.session();
    run.say(session, "go");
    let text = "0123456789".repeat(20);
    for _ in 0..3 {
        run.request(session, &[]);
        let calls = run.ask(session, &["a"]);
        run.tell(session, &[(calls[0], &[&text])], ledger::event::Dropped::Bytes(0));
    }
    run.request(session, &[]);
    let made = run.finish();
    let index = Index::new(&made.history);
    let memo = Kept::default();
    for name in ["one", "two", "three"] {
        let policy = Policy::from_toml(&format!(
            "name = \"{name}\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"cap_text\"\nunit = \"b\"\n\
             limit = 50\nshape = \"head\"\nmarker = \"\"\nmarker_in_limit = false\n"
        ))
        .unwrap();
        let shared = Shared { index: &index, memo: &memo, counter: None };
        let mut projector = Projector::with(&made.history, &made.store, &policy, shared);
        for request in &made.model.requests {
            projector.step(request.id).unwrap();
        }
        assert_eq!(*memo.missed.borrow(), 1);
    }
}
