//! Who carries a call out: decided by the session's own snapshot, exactly, and by nothing else.

use ledger::event::*;
use ledger::identity::lanes::{AliasSet, display_name};
use projector::identity::{CardState, LaneFinding, Lanes, View};
use proptest::prelude::*;

use super::make::*;

fn set(servers: &[&str], tools: &[&str]) -> AliasSet {
    AliasSet::new(servers.iter().map(|s| s.as_bytes()), tools.iter().map(|t| t.as_bytes()))
}

fn lane(set: &AliasSet, names: &[&str]) -> Lane {
    set.lane(names.iter().map(|name| name.as_bytes()))
}

fn title(name: &str) -> [(NameSource, &str); 1] {
    [(NameSource::Title, name)]
}

fn bare() -> Lane {
    Lane::Bridged(AliasForm::Bare)
}

/// Findings and the state behind all events.
fn run(events: &[Event]) -> (Lanes, Vec<LaneFinding>) {
    let (mut lanes, mut findings) = (Lanes::default(), Vec::new());
    for event in events {
        lanes.push(event, &mut findings);
    }
    (lanes, findings)
}

fn dispatched_by(number: u32, correlation: Correlation) -> Event {
    ToolDispatched { call: call(number), attempt: 1, arguments: None, correlation }.into()
}

#[test]
fn o02_the_lane_is_a_function_of_the_events_before() {
    let events = vec![
        opened(0),
        advertised(0, &["lab"], &["read"]),
        observed(0, 0, bare(), &title("read")),
        observed(0, 1, Lane::Native, &title("write")),
    ];
    assert_eq!(run(&events).1, [LaneFinding::Ambiguous { call: call(0) }]);
    // The same call without the snapshot before it: the log says more than it knows.
    let (_, findings) = run(&[events[0].clone(), events[2].clone(), events[1].clone()]);
    let differs = LaneFinding::Differs { call: call(0), recorded: bare(), computed: Lane::Native };
    assert_eq!(findings[0], differs);
}

#[test]
fn o03_the_names_are_exactly_these() {
    let set = set(&["a", "b"], &["x", "y"]);
    let mut expected = Vec::new();
    for tool in ["x", "y"] {
        expected.push(tool.to_owned());
        for server in ["a", "b"] {
            expected.push(format!("mcp_{server}_{tool}"));
            expected.push(format!("mcp__{server}__{tool}"));
            expected.push(format!("{server}__{tool}"));
        }
    }
    expected.sort();
    let names: Vec<_> =
        set.names().into_iter().map(|name| String::from_utf8(name).unwrap()).collect();
    assert_eq!(names, expected);
    for name in &names {
        assert!(lane(&set, &[name]).is_bridged(), "{name}");
    }
    assert_eq!(lane(&set, &["mcp__a__x"]), Lane::Bridged(AliasForm::Double));
    assert_eq!(lane(&set, &["mcp_a_x"]), Lane::Bridged(AliasForm::Single));
    assert_eq!(lane(&set, &["a__x"]), Lane::Bridged(AliasForm::Server));
    assert_eq!(lane(&set, &["x"]), Lane::Bridged(AliasForm::Bare));
}

#[test]
fn o04_without_a_server_every_call_is_native() {
    let set = set(&[], &["read"]);
    assert!(set.is_empty() && set.names().is_empty());
    assert_eq!(lane(&set, &["read"]), Lane::Native);
    let (lanes, findings) = run(&[
        opened(0),
        advertised(0, &[], &["read"]),
        observed(0, 0, Lane::Native, &title("read")),
    ]);
    assert!(findings.is_empty() && lanes.queue(session(0)).is_none());
}

#[test]
fn o07_a_foreign_server_with_the_same_tool_is_native() {
    let set = set(&["omnigent"], &["list_comments"]);
    assert_eq!(lane(&set, &["github__list_comments"]), Lane::Native);
    assert_eq!(lane(&set, &["mcp__github__list_comments"]), Lane::Native);
    assert_eq!(lane(&set, &["omnigent__list_comments"]), Lane::Bridged(AliasForm::Server));
}

#[test]
fn o08_names_are_compared_as_a_whole_and_byte_by_byte() {
    let set = set(&["lab"], &["read"]);
    for name in ["rea", "reads", "Read", " read", "mcp__lab__rea", "mcp__LAB__read", "lab_read"] {
        assert_eq!(lane(&set, &[name]), Lane::Native, "{name}");
    }
    for name in ["mcp__lab__", "mcp__lab", "lab__", "__read", "mcp___read", ""] {
        assert_eq!(lane(&set, &[name]), Lane::Native, "{name}");
    }
}

#[test]
fn o10_what_is_advertised_later_changes_nothing() {
    let (lanes, findings) = run(&[
        opened(0),
        advertised(0, &["lab"], &["read"]),
        advertised(0, &["lab"], &["read", "write"]),
        observed(0, 0, Lane::Native, &title("lab__write")),
    ]);
    assert_eq!(lanes.aliases(session(0)), Some(&set(&["lab"], &["read"])));
    assert_eq!(findings, []);
}

#[test]
fn o11_a_new_snapshot_after_a_reset_holds_and_old_calls_keep_their_lane() {
    let reset = SessionReset { session: session(0), reason: ResetReason::Process };
    let events = vec![
        opened(0),
        advertised(0, &["lab"], &["read"]),
        observed(0, 0, Lane::Bridged(AliasForm::Server), &title("lab__read")),
        reset.into(),
        advertised(0, &["lab"], &["write"]),
        observed(0, 1, Lane::Native, &title("lab__read")),
        observed(0, 2, Lane::Bridged(AliasForm::Server), &title("lab__write")),
    ];
    assert_eq!(run(&events).1, []);
    let mut view = View::default();
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    let of = |number| view.calls()[&call(number)].lane().unwrap();
    assert!(of(0).is_bridged() && !of(1).is_bridged() && of(2).is_bridged());
}

#[test]
fn o12_a_reset_forgets_aliases_and_waiting_calls() {
    for reason in [ResetReason::Process, ResetReason::NotFound, ResetReason::Closed] {
        let (lanes, _) = run(&[
            opened(0),
            advertised(0, &["lab"], &["read"]),
            observed(0, 0, bare(), &title("read")),
            SessionReset { session: session(0), reason }.into(),
        ]);
        assert_eq!(lanes, Lanes::default());
    }
}

#[test]
fn o14_native_calls_do_not_wait_for_a_dispatch() {
    let (lanes, _) = run(&[
        opened(0),
        advertised(0, &["lab"], &["read"]),
        observed(0, 0, Lane::Native, &title("shell")),
    ]);
    assert!(lanes.queue(session(0)).is_none());
}

#[test]
fn o15_the_next_dispatch_is_for_the_oldest_bridged_call() {
    let events = |dispatch| {
        vec![
            opened(0),
            advertised(0, &["lab"], &["read"]),
            observed(0, 0, Lane::Native, &title("shell: ls")),
            observed(0, 1, Lane::Bridged(AliasForm::Server), &title("lab__read")),
            dispatched_by(dispatch, Correlation::Queue),
        ]
    };
    let (lanes, findings) = run(&events(1));
    assert_eq!(findings, []);
    assert!(lanes.queue(session(0)).unwrap().is_empty());
    // The native call took the dispatch of the bridged one once: that is seen.
    let (_, findings) = run(&events(0));
    assert_eq!(findings, [LaneFinding::OutOfOrder { call: call(0), oldest: None }]);
}

#[test]
fn o16_a_dispatch_that_nothing_waited_for_says_so() {
    let (_, findings) = run(&[
        opened(0),
        observed(0, 0, Lane::Native, &title("read")),
        dispatched_by(0, Correlation::None),
    ]);
    assert_eq!(findings, [LaneFinding::Uncorrelated { call: call(0) }]);
}

#[test]
fn o17_request_dispatch_and_completion_are_one_call() {
    let mut view = View::default();
    let events = vec![
        opened(0),
        observed(0, 0, Lane::Native, &title("ls")),
        dispatched(0, 1),
        returned(0, "out"),
        ended(0, 1, Outcome::Completed),
    ];
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    assert_eq!(view.calls().len(), 1);
    let card = &view.calls()[&call(0)];
    let parts = (card.asked.len(), card.attempts.len(), card.outputs.len(), card.ends.len());
    assert_eq!(parts, (1, 1, 1, 1));
}

#[test]
fn o18_a_new_turn_empties_the_queue() {
    let (lanes, findings) = run(&[
        opened(0),
        advertised(0, &["lab"], &["read"]),
        turn_started(0, 0),
        observed(0, 0, Lane::Bridged(AliasForm::Server), &title("lab__read")),
        turn_started(0, 1),
        observed(0, 1, Lane::Bridged(AliasForm::Server), &title("lab__read")),
        dispatched_by(1, Correlation::Queue),
    ]);
    assert_eq!(findings, []);
    assert!(lanes.queue(session(0)).unwrap().is_empty());
}

#[test]
fn o21_an_end_that_is_told_twice_makes_no_second_card_and_does_not_count() {
    let mut view = View::default();
    let events = vec![
        opened(0),
        observed(0, 0, bare(), &title("read")),
        dispatched(0, 1),
        ended(0, 1, Outcome::Completed),
        ended(0, 1, Outcome::Failed),
    ];
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    assert_eq!(view.calls().len(), 1);
    let card = &view.calls()[&call(0)];
    assert_eq!(card.state(), CardState::Ended(Outcome::Completed));
    assert_eq!(card.repeated_ends(), 1);
}

#[test]
fn o30_a_match_by_the_bare_name_alone_is_marked() {
    let set = set(&["lab"], &["read"]);
    assert!(lane(&set, &["read"]).is_ambiguous());
    assert!(!lane(&set, &["read", "lab__read"]).is_ambiguous());
    assert!(!lane(&set, &["shell"]).is_ambiguous());
    let (_, findings) = run(&[
        opened(0),
        advertised(0, &["lab"], &["read"]),
        observed(0, 0, bare(), &title("read")),
    ]);
    assert_eq!(findings, [LaneFinding::Ambiguous { call: call(0) }]);
}

#[test]
fn o31_a_native_call_whose_name_holds_an_advertised_tool_is_reported() {
    let (_, findings) = run(&[
        opened(0),
        advertised(0, &["lab"], &["read_file"]),
        observed(0, 0, Lane::Native, &title("lab::read_file")),
        observed(0, 1, Lane::Native, &title("shell")),
    ]);
    assert_eq!(findings, [LaneFinding::Resembles { call: call(0) }]);
}

#[test]
fn o33_the_name_for_display_is_made_on_reading() {
    assert_eq!(display_name("mcp__lab__read"), "read");
    for whole in ["read", "mcp__lab", "mcp__lab__", "lab__read"] {
        assert_eq!(display_name(whole), whole);
    }
}

#[test]
fn o34_the_lane_stands_in_one_field() {
    let Event::Identity(IdentityEvent::ToolObserved(event)) =
        observed(0, 0, Lane::Native, &title("ls"))
    else {
        panic!()
    };
    // A new field does not compile here before it is decided that it says nothing of the lane.
    let ToolObserved {
        call: _,
        session: _,
        turn: _,
        lane,
        names: _,
        tool_kind: _,
        arguments: _,
        provider_call: _,
    } = event;
    assert_eq!(lane, Lane::Native);
}

proptest! {
    #[test]
    fn o09_names_of_any_shape_are_native_unless_they_are_an_advertised_one(
        names in prop::collection::vec("[a-z_]{0,12}|\\PC{0,6}", 0..4),
        servers in prop::collection::vec("[a-z_]{0,4}", 0..3),
        tools in prop::collection::vec("[a-z_]{0,4}", 0..3),
    ) {
        let set = AliasSet::new(
            servers.iter().map(String::as_bytes),
            tools.iter().map(String::as_bytes),
        );
        let expected = set.names();
        let bridged = names.iter().any(|name| expected.contains(name.as_bytes()));
        let lane = set.lane(names.iter().map(String::as_bytes));
        prop_assert_eq!(lane.is_bridged(), bridged);
    }
}
