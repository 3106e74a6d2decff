//! Goal: every recorded request comes back, from its parts and from the fold, and what is said
//! about causes and sharing holds. Method: all recorded runs, bodies compared as bytes with the
//! file that they were imported from.

use ledger::event::Rung;
use ledger::history::Change;
use replay::assemble::Assembler;
use replay::{Check, Level, verify};

use crate::support::{bodies, import};

/// Runs of clients that only append to their history.
const APPEND_ONLY: [&str; 15] = [
    "cline-std",
    "codex-acp-std",
    "codex-acp-zstd",
    "codex-long",
    "codex-std",
    "codex-std-again",
    "codex-std-limit2000",
    "gemini-cli-std",
    "langchain-anthropic-std",
    "mini-long",
    "mini-std",
    "openai-agents-responses-std",
    "opencode-anthropic-std",
    "pi-anthropic-std",
    "qwen-code-std",
];

#[test]
fn m22_every_request_of_every_run_comes_back_byte_for_byte() {
    for case in fixtures::CASES {
        let imported = import(case);
        let recording = &imported.recording;
        let expected = bodies(case);
        let requests = recording.history().requests();
        // Turns over a socket were put together: no body of theirs travelled.
        let over_socket = case == "codex-websocket";
        let (count, rung) =
            if over_socket { (11, Rung::Reconstructed) } else { (expected.len(), Rung::BodyExact) };
        assert_eq!(requests.len(), count, "{case}: requests");
        assert!(requests.iter().all(|request| request.captured.rung == rung), "{case}");
        let mut assembler = Assembler::new(recording.history(), recording.source());
        for (request, body) in requests.iter().zip(&expected) {
            let id = request.captured.request;
            assert!(request.captured.unsplit.is_none(), "{case} request {}", id.ordinal());
            assert!(assembler.body(id).unwrap() == *body, "{case} request {}", id.ordinal());
        }
        let report = verify(recording, Level::All, &mut || {});
        for request in &report.requests {
            assert_eq!(request.reassembly, Check::Identical, "{case} {request:?}");
            assert_eq!(request.projection, Check::Identical, "{case} {request:?}");
        }
        assert!(report.is_ok(), "{case}: {:?}", report.damage);
    }
}

#[test]
fn parts_of_append_only_runs_are_linked_to_their_causes() {
    for case in APPEND_ONLY {
        let imported = import(case);
        let linking = verify(&imported.recording, Level::Reassembly, &mut || {}).linking;
        assert!(linking.model_and_tool > 0, "{case}");
        assert!(
            linking.model_and_tool_linked * 100 >= linking.model_and_tool * 99,
            "{case}: {linking:?}"
        );
        assert_eq!(linking.edited, 0, "{case}");
        assert!(linking.unlinked.is_empty(), "{case}: {linking:?}");
    }
}

#[test]
fn a_client_that_only_appends_has_no_edits_even_when_its_cache_marks_move() {
    for case in APPEND_ONLY {
        let imported = import(case);
        let history = imported.recording.history();
        let edits = history.requests().iter().flat_map(|request| &request.changes);
        assert!(
            edits.into_iter().all(|change| matches!(change, Change::Appended(_))),
            "{case} has edits"
        );
    }
}

#[test]
fn edits_hold_differences_and_never_a_whole_list() {
    for case in ["gemini-acp-long", "hermes-compaction", "codex-compaction", "aider-std"] {
        let imported = import(case);
        let history = imported.recording.history();
        let mut assembler_lists = ledger::history::ListWalker::new(history);
        let mut edits = 0;
        for request in history.requests() {
            let id = request.captured.request;
            let items = assembler_lists.lists(id).unwrap().items.len();
            for change in &request.changes {
                if let Change::Edited(splices) = change {
                    edits += 1;
                    let inserted: usize = splices.iter().map(|splice| splice.insert.len()).sum();
                    assert!(inserted < items, "{case} request {}", id.ordinal());
                }
            }
        }
        assert!(edits > 0, "{case} is known to rewrite its history");
    }
}

#[test]
fn a_long_run_is_stored_in_a_fortieth_of_what_it_sent() {
    for case in ["codex-long", "mini-long"] {
        let imported = import(case);
        let stats = replay::stats::Stats::of(&imported.recording).unwrap();
        assert!(stats.stored_bytes * 40 <= stats.request_bytes, "{case}: {stats:?}");
    }
}

#[test]
fn conversations_and_side_requests_are_kept_apart() {
    let lanes = |case: &str| -> Vec<Vec<u64>> {
        let imported = import(case);
        let sessions = imported.recording.history().sessions().to_vec();
        sessions
            .iter()
            .map(|session| session.requests.iter().map(|id| id.ordinal()).collect())
            .collect()
    };
    assert_eq!(lanes("codex-subagents"), [vec![1, 3, 6], vec![2, 5], vec![4, 7]]);
    assert_eq!(lanes("opencode-subagents")[1..], [vec![2, 9, 10], vec![3, 5, 7], vec![4, 6, 8]]);
    let aider = lanes("aider-std");
    assert_eq!(aider[0], [1, 3, 7, 11]);
    let gemini = lanes("gemini-acp-long");
    assert_eq!(gemini[1], [30, 31, 41, 42]);
    // A compaction is an edit of the conversation, not a new one.
    assert_eq!(lanes("codex-compaction").len(), 1);
}

#[test]
fn a_retry_counts_as_an_attempt_of_the_request_it_repeats() {
    let imported = import("codex-faults");
    let attempts: Vec<(u64, u16)> = imported
        .recording
        .history()
        .requests()
        .iter()
        .filter(|request| request.captured.attempt > 1)
        .map(|request| (request.captured.request.ordinal(), request.captured.attempt))
        .collect();
    // After 429, 500, a cut stream and 503.
    assert_eq!(attempts, [(3, 2), (5, 2), (7, 2), (9, 2)]);
}
