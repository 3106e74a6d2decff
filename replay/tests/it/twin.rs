//! Goal: a counterfactual is compared with a live run over everything but what is declared.
//! Method: recorded runs of the same script, as they were sent and under another limit.

use projector::Policy;
use replay::twin::{Outcome, Rules, TwinReport, twin};

use crate::support::import;

fn compared(own: &str, other: &str, rules: &Rules) -> TwinReport {
    let (own, other) = (import(own), import(other));
    twin(&own.recording, &Policy::recorded(), &other.recording, rules).unwrap()
}

#[test]
fn two_runs_of_one_script_are_equal_but_for_ids_and_times() {
    let rules = Rules { inputs_may_differ: true, ..Rules::known() };
    let report = compared("codex-std", "codex-std-again", &rules);
    assert!(report.is_same() && !report.is_undecided());
    assert_eq!((report.pairs.len(), report.inputs), (11, 1));
    assert!(report.pairs.iter().all(|pair| pair.outcome == Outcome::Equal));
    assert_eq!(report.tolerated.get("Chunk ID: {id}"), Some(&61));
    // The task is worded differently in the two.
    let strict = compared("codex-std", "codex-std-again", &Rules::known());
    assert!(!strict.is_same() && !strict.is_undecided());
    // Without declarations nothing of it is the same.
    let bare = compared("codex-std-again", "codex-std-limit2000", &Rules::default());
    assert!(bare.pairs.iter().all(|pair| matches!(pair.outcome, Outcome::Different(_))));
}

#[test]
fn a_run_under_another_limit_differs_where_the_limit_begins_to_show() {
    let report = compared("codex-std-again", "codex-std-limit2000", &Rules::known());
    let differs: Vec<_> = report
        .pairs
        .iter()
        .map(|pair| match &pair.outcome {
            Outcome::Different(found) => Some((found.pointer.as_str(), found.own_at)),
            _ => None,
        })
        .collect();
    let first = Some(("/input/15/output", 4188));
    assert_eq!(differs, [&[None; 4][..], &[first; 7]].concat());
    let report = compared("mini-std", "mini-std-cap4000", &Rules::known());
    let same = |outcome: Outcome| report.pairs.iter().filter(|it| it.outcome == outcome).count();
    assert_eq!(same(Outcome::Identical), 3);
}

#[test]
fn a_request_without_a_counterpart_is_not_passed_over() {
    let report = compared("codex-std", "codex-subagents", &Rules::known());
    let alone = report.pairs.iter().filter(|pair| pair.outcome == Outcome::Alone).count();
    assert!(alone > 0 && !report.is_same());
}
