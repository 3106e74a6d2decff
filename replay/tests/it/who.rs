//! Goal: in recorded runs, sub-agents are told with the calls that started them. Method: runs of
//! two clients, whose conversations and calls were read by hand from the wire.

use replay::who::Who;

/// Conversations and the calls that started them, numbered from 0.
fn started(case: &str) -> Vec<(u32, u32)> {
    let folder = tempfile::tempdir().unwrap();
    let report = fixtures::import(&fixtures::har(case), folder.path()).unwrap();
    let who = Who::read(&report.recording).unwrap();
    assert!(who.error.is_none());
    who.started_by.iter().map(|(session, call)| (session.number(), call.number())).collect()
}

#[test]
fn sub_agents_are_started_by_the_calls_whose_outputs_name_their_conversations() {
    // `spawn_agent` answers at once with the id of the thread.
    assert_eq!(started("codex-subagents"), [(1, 0), (2, 1)]);
    // `task` answers at the end; the first conversation is one for the title.
    assert_eq!(started("opencode-subagents"), [(2, 0), (3, 1)]);
    // Nobody has sub-agents here.
    assert_eq!(started("codex-std"), []);
}
