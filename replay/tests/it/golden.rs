//! Goal: what the program computes does not change unnoticed. Method: digests of every request
//! under every built-in policy, and whole bodies, compared with checked-in files. After a wanted
//! change: `cargo run -p counterfold-fixtures --bin regen`, and look at the difference.

use projector::policy::presets;

use crate::support::import;

/// What a stranger has to know when one of these goes red.
const WANTED: &str = "what the program computes has changed; if that is wanted, run `cargo run -p \
                      counterfold-fixtures --bin regen`, look at `git diff fixtures/golden`, and \
                      commit it";

#[test]
fn every_request_under_every_policy_has_its_golden_digest() {
    let policies = presets::all().unwrap();
    for case in fixtures::CASES {
        let imported = import(case);
        let found = fixtures::golden::table(&imported.recording, &policies).unwrap();
        let expected = std::fs::read_to_string(fixtures::golden::table_file(case)).unwrap();
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{case}: {WANTED}");
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "{case}: {WANTED}");
    }
}

#[test]
fn golden_bodies_are_rebuilt_byte_for_byte() {
    let policies = presets::all().unwrap();
    for (case, ordinal, name) in fixtures::golden::BODIES {
        let imported = import(case);
        let policy = policies.iter().find(|policy| policy.name == name).unwrap();
        let found = fixtures::golden::body(&imported.recording, ordinal, policy).unwrap();
        let expected = std::fs::read(fixtures::golden::body_file(case, ordinal, name)).unwrap();
        let at = found.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        assert!(
            found == expected,
            "{case} request {ordinal} under {name} differs at byte {at} ({}): {WANTED}",
            ledger::wire::pointer::pointer_at(&expected, at),
        );
    }
}

#[test]
fn every_projected_body_is_valid_json() {
    let policies = presets::all().unwrap();
    for case in ["codex-compaction", "pi-anthropic-std", "pi-gemini-std", "hermes-compaction"] {
        let imported = import(case);
        for policy in &policies {
            for request in imported.recording.history().requests() {
                let id = request.captured.request;
                let ordinal = id.ordinal();
                let body = fixtures::golden::body(&imported.recording, ordinal, policy).unwrap();
                let parsed: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&body);
                assert!(parsed.is_ok(), "{case} request {ordinal} under {}", policy.name);
            }
        }
    }
}
