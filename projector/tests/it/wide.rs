//! Goal: whatever steps a policy has, its requests are JSON, its accounts are those of its bytes,
//! and neither the way to a request nor a snapshot matters. Method: random runs under policies of
//! steps of every kind.

use std::collections::BTreeSet;

use projector::{Projector, Snapshot};
use proptest::prelude::*;

use crate::naive;
use crate::property::{fold, written};
use crate::random::{play, script, wide_policy};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_account_is_that_of_the_bytes_whatever_the_steps(
        script in script(),
        policy in wide_policy(),
    ) {
        let made = play(&script);
        for projection in fold(&made, &policy) {
            let request = projection.request;
            let bytes = written(&made.history, &made.store, request, &projection.view);
            let body: Result<serde_json::Value, _> = serde_json::from_slice(&bytes);
            let sent = &made.model.requests[request.index()];
            let recorded = naive::recorded(&made.model, sent);
            let account = projection.account;
            prop_assert_eq!(account.body_bytes, bytes.len() as u64, "{:?}", account);
            prop_assert_eq!(account.recorded_bytes, recorded.len() as u64);
            prop_assert_eq!(account.changed, bytes != recorded);
            // Marks stand anywhere, so that not every recorded body is JSON.
            let was: Result<serde_json::Value, _> = serde_json::from_slice(&recorded);
            prop_assert!(body.is_ok() || was.is_err(), "{}", String::from_utf8_lossy(&bytes));
            if projection.fidelity.name() == "refused" {
                prop_assert_eq!(bytes, recorded);
            }
        }
    }

    #[test]
    fn a_fold_goes_on_from_a_snapshot_whatever_the_steps(
        script in script(),
        policy in wide_policy(),
    ) {
        let made = play(&script);
        let folded = fold(&made, &policy);
        for count in 0..=folded.len() {
            let mut projector = Projector::new(&made.history, &made.store, &policy);
            for request in made.model.requests.iter().take(count) {
                projector.step(request.id).unwrap();
            }
            let snapshot = Snapshot::from_bytes(&projector.snapshot().to_bytes()).unwrap();
            let resumed =
                Projector::resume(&made.history, &made.store, &policy, None, &snapshot);
            let mut resumed = resumed.unwrap();
            prop_assert_eq!(&resumed.snapshot(), &snapshot);
            for projection in &folded[count..] {
                prop_assert_eq!(&resumed.projection(projection.request).unwrap(), projection);
            }
        }
    }

    #[test]
    fn calls_and_results_are_paired_after_a_repair(script in script(), policy in wide_policy()) {
        let made = play(&script);
        let mut policy = policy;
        let repair = projector::Policy::from_toml(
            "name = \"r\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"repair\"\n\
             orphan_output = \"drop\"\norphan_call = \"drop\"\nunique_output = true",
        );
        policy.steps.extend(repair.unwrap().steps);
        for projection in fold(&made, &policy) {
            // A call that stands twice may be before its result and behind it, and one of several
            // results of a call may be left out by a window.
            let items = &made.model.requests[projection.request.index()].items;
            let results = items.iter().flat_map(|part| &made.model.parts[*part].results);
            let results: Vec<_> = results.filter_map(|(_, call, _)| *call).collect();
            let once = items.iter().collect::<BTreeSet<_>>().len() == items.len()
                && results.iter().collect::<BTreeSet<_>>().len() == results.len();
            let refused = projection.fidelity.name() == "refused";
            prop_assert!(!once || refused || projection.account.broken_pairs == 0);
        }
    }
}
