//! Goal: the policy that is found from known outputs gives every sent text byte for byte, and a
//! run projected under a changed parameter is the live run that had it. Method: recorded runs with
//! what their clients wrote beside the wire.

use fixtures::{har, import_beside, session};
use projector::policy::Setting;
use projector::{Fidelity, Policy, Projector};
use replay::Recording;
use replay::infer::infer;
use replay::twin::{Rules, twin};
use tempfile::TempDir;

use crate::support::import;

struct Known {
    recordings: Vec<Recording>,
    _folder: TempDir,
}

fn known(case: &str) -> Known {
    let folder = tempfile::tempdir().unwrap();
    let report = import_beside(&har(case), Some(&session(case)), folder.path()).unwrap();
    assert_eq!(report.side.as_ref().and_then(|side| side.stopped.clone()), None);
    let recordings = vec![Recording::open(&report.recording).unwrap()];
    Known { recordings, _folder: folder }
}

/// Known outputs, those that are explained, and the calls that are not.
fn explained(case: &str) -> (u64, u64, Vec<u32>) {
    let total = infer(&known(case).recordings, "found").unwrap().total();
    let calls = total.unexplained.iter().map(|(call, _)| *call).collect();
    (total.whole + total.ends, total.explained, calls)
}

#[test]
fn every_known_output_of_the_long_runs_is_explained() {
    assert_eq!(explained("codex-long"), (68, 68, vec![]));
    assert_eq!(explained("codex-std"), (11, 11, vec![]));
    // The result of a last call that was never sent is no text to explain.
    assert_eq!(explained("mini-std"), (11, 11, vec![]));
    assert_eq!(explained("mini-long"), (68, 68, vec![]));
}

#[test]
fn under_the_inferred_policy_no_request_changes() {
    for case in ["codex-std", "codex-long", "mini-std", "mini-long"] {
        let known = known(case);
        let recording = &known.recordings[0];
        let policy = infer(&known.recordings, "found").unwrap().policy;
        let history = recording.history();
        let mut projector = Projector::new(history, recording.as_source(), &policy);
        for request in history.requests() {
            let (fidelity, account) = projector.step(request.captured.request).unwrap();
            assert!(!account.changed, "{case} {}", request.captured.request.ordinal());
            assert_eq!(fidelity, Fidelity::Derived, "{case}");
        }
    }
}

fn changed(case: &str, key: &str, value: &str) -> Policy {
    let found = infer(&known(case).recordings, "found").unwrap();
    Policy::from_toml_with(&found.toml, &[Setting { key, value }]).unwrap()
}

#[test]
fn m20_a_run_under_another_limit_is_the_live_run_that_had_it() {
    let policy = changed("codex-std", "cap_text.2.limit", "8000");
    let (own, other) = (known("codex-std"), import("codex-std-limit2000"));
    let rules = Rules { inputs_may_differ: true, ..Rules::known() };
    let report = twin(&own.recordings[0], &policy, &other.recording, &rules).unwrap();
    assert!(report.is_same(), "{:?}", report.pairs);
    assert_eq!(report.pairs.iter().filter(|pair| pair.changed).count(), 7);

    let policy = changed("mini-std", "cap_text.limit", "4000");
    let (own, other) = (known("mini-std"), import("mini-std-cap4000"));
    let report = twin(&own.recordings[0], &policy, &other.recording, &Rules::known()).unwrap();
    assert!(report.is_same(), "{:?}", report.pairs);
    assert_eq!(report.pairs.iter().filter(|pair| pair.changed).count(), 8);
}
