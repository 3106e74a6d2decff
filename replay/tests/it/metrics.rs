//! Goal: the metrics of recorded runs are those of the written bytes, and amounts say what they
//! rest on. Method: the slow way over every recording, and what must hold between policies.

use projector::Policy;
use projector::policy::presets;
use replay::evaluate::Prepared;
use replay::rulebook::Rates;

use crate::support::import;
use crate::{slow, slow_lines};

/// The slow way reads an output again for each request: larger runs are left to random ones.
const BYTES_MAX: u64 = 6 << 20;

/// Policies of every kind: none, caps, replacements, a window.
fn some() -> Vec<Policy> {
    let names = ["cap-2k", "clear-keep-3", "window-20"];
    let all = presets::all().unwrap();
    let named = |name| all.iter().find(|policy| policy.name == name).unwrap().clone();
    [Policy::recorded()].into_iter().chain(names.map(named)).collect()
}

#[test]
fn the_numbers_of_every_recording_are_those_of_the_written_bytes() {
    let policies = some();
    let mut checked = 0;
    for case in fixtures::CASES {
        let imported = import(case);
        let recording = &imported.recording;
        let bodies = recording.history().requests().iter().map(|r| r.captured.body_bytes);
        if bodies.sum::<u64>() <= BYTES_MAX {
            slow::check(recording.history(), recording.as_source(), &policies);
            slow_lines::check(recording.history(), recording.as_source(), &policies);
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked}");
}

#[test]
fn what_was_recorded_hides_nothing_and_costs_what_it_costs() {
    let rates = Rates::builtin().unwrap();
    for case in fixtures::CASES {
        let imported = import(case);
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        let row = prepared.row(prepared.base());
        assert_eq!(row.recall.missed, 0, "{case}");
        assert_eq!((row.sums.frontier, row.signs.0), (None, row.signs.1), "{case}");
        assert!(row.hidden_by_tool.is_empty(), "{case}");
        assert_eq!(row.cost.total(), row.cost_measured, "{case}");
        assert_eq!(row.priced, row.sums.requests, "{case}");
        let input: u64 = prepared.base().iter().map(|line| line.tokens).sum();
        assert_eq!(row.read + row.write + row.uncached, input, "{case}");
        // The ratio of tokens is fitted, so that their sum is what was reported, but for rounding.
        let scale = prepared.scale();
        if scale.requests == row.sums.requests && row.sums.requests > 0 {
            assert!(input.abs_diff(scale.tokens) <= row.sums.requests, "{case}");
        }
    }
}
