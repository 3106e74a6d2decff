//! Goal: the policy that is found from known outputs gives every sent text byte for byte, and a
//! run projected under a changed parameter is the live run that had it. Method: recorded runs with
//! what their clients wrote beside the wire.

use fixtures::{har, import_beside, session, twin_session};
use projector::policy::Setting;
use projector::{Fidelity, Policy, Projector};
use replay::Recording;
use replay::infer::infer;
use replay::twin::{Rules, twin};
use tempfile::TempDir;

use crate::support::{import, import_file};

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
    let calls = total.unexplained.iter().map(|it| it.call).collect();
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
fn what_the_own_looks_do_not_tell_a_known_form_explains() {
    assert_eq!(explained("gemini-cli-std"), (11, 11, vec![]));
    assert_eq!(explained("gemini-acp-long").0, explained("gemini-acp-long").1);
    // One result has another shape, with two texts.
    assert_eq!(explained("cline-std"), (10, 10, vec![]));
    assert_eq!(explained("opencode-anthropic-std"), (3, 3, vec![]));
    assert_eq!(explained("codex-acp-std"), (11, 11, vec![]));
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

/// A run of the twins, with what its client wrote beside the wire.
fn base(case: &str) -> Known {
    let folder = tempfile::tempdir().unwrap();
    let report =
        import_beside(&fixtures::twin(case), Some(&twin_session(case)), folder.path()).unwrap();
    assert_eq!(report.side.as_ref().and_then(|side| side.stopped.clone()), None);
    let recordings = vec![Recording::open(&report.recording).unwrap()];
    Known { recordings, _folder: folder }
}

fn preset(id: &str, set: &[(&str, &str)]) -> Policy {
    let preset = projector::policy::presets::find(id).unwrap();
    let set: Vec<_> = set.iter().map(|(key, value)| Setting { key, value }).collect();
    Policy::from_toml_with(preset.toml, &set).unwrap()
}

/// Requests, and how many of them the policy changes; all are those of the live run.
fn live(own: &Known, other: &str, policy: &Policy) -> (usize, usize) {
    let other = import_file(&fixtures::twin(other));
    let report = twin(&own.recordings[0], policy, &other.recording, &Rules::known()).unwrap();
    assert!(report.is_same(), "{:?}", report.pairs);
    (report.pairs.len(), report.pairs.iter().filter(|pair| pair.changed).count())
}

#[test]
fn m20_codex_under_a_tighter_limit_is_the_live_run_that_had_it() {
    let own = base("codex");
    let under = |limit: &str| preset("codex@0.171.0", &[("cap_text.2.limit", limit)]);
    assert_eq!(live(&own, "codex", &under("10000")), (11, 0));
    // Four bytes a token.
    assert_eq!(live(&own, "codex-limit500", &under("2000")), (11, 9));
}

#[test]
fn m21_codex_under_a_looser_limit_is_cut_by_the_tool_s_own_one() {
    let policy = preset("codex@0.171.0", &[("cap_text.2.limit", "240000")]);
    let (requests, changed) = live(&base("codex"), "codex-limit60000", &policy);
    assert_eq!((requests, changed), (11, 7));
}

#[test]
fn m20_opencode_and_gemini_name_a_file_for_what_they_newly_cut() {
    let own = base("opencode");
    let under = |bytes: &str| preset("opencode@1.18.33", &[("cap_lines.2.max_bytes", bytes)]);
    assert_eq!(live(&own, "opencode", &under("51200")), (12, 0));
    assert_eq!(live(&own, "opencode-bytes20000", &under("20000")).0, 12);
    let own = base("gemini");
    let under = |limit: &str| preset("gemini-cli@0.61.0", &[("cap_text.limit", limit)]);
    assert_eq!(live(&own, "gemini", &under("40000")), (11, 0));
    assert_eq!(live(&own, "gemini-limit3000", &under("3000")).0, 11);
}
