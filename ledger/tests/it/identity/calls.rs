//! Calls: minted once, before everything that is about them, by whole turns.

use std::collections::BTreeSet;

use ledger::event::{Correlation, Dropped, Event, IdentityEvent, NameSource, Outcome};
use ledger::fs::LogReader;
use ledger::id::{RunId, SessionId, ToolCallId};
use ledger::identity::InvocationId;
use ledger::identity::desk::Desk;
use ledger::identity::journal::{Journal, JournalError, Observed, Output, SeenName, restore};
use ledger::identity::turn::TurnError;

use super::support::*;

#[test]
fn t01_a_call_is_minted_before_anything_that_is_about_it_and_once() {
    let mut names = BTreeSet::new();
    for run in 1..4 {
        let place = place();
        let mut recorder = recorder(&place.dir, run);
        let mut journal = recorder.journal();
        let session = journal.open_own_session(None).unwrap();
        for turn in 0..5 {
            let ids = [format!("a{turn}"), format!("b{turn}")];
            let calls = [new_call(Some(&ids[0])), new_call(Some(&ids[1]))];
            for call in journal.accept_turn(session, &answer(&calls)).unwrap() {
                journal.dispatch(call, None).unwrap();
                journal.ended(call, Outcome::Completed, None, None).unwrap();
                let run = RunId::from_bytes([run; 16]);
                assert!(names.insert(InvocationId { run, call }.to_string()));
            }
        }
        recorder.leave().unwrap();
        // Every reference leads to a call that an earlier event told of: a desk checks it.
        let mut minted = 0;
        for event in events(&place.dir) {
            match event {
                Event::Identity(IdentityEvent::TurnAccepted(event)) => {
                    minted += u32::try_from(event.calls.len()).unwrap();
                }
                Event::Identity(IdentityEvent::ToolDispatched(event)) => {
                    assert!(event.call.number() < minted);
                }
                Event::Identity(IdentityEvent::ToolEnded(event)) => {
                    assert!(event.call.number() < minted);
                }
                _ => {}
            }
        }
        restore(&mut LogReader::open(&place.dir).unwrap()).unwrap();
    }
    assert_eq!(names.len(), 30);
    let early = ledger::event::ToolDispatched {
        call: ToolCallId::new(0),
        attempt: 1,
        arguments: None,
        correlation: Correlation::Own,
    };
    assert!(Desk::default().check(&early.into()).is_err());
}

#[test]
fn t02_one_provider_id_in_two_turns_sessions_children_and_runs_is_as_many_calls() {
    let mut ids = BTreeSet::new();
    for run in [1, 2] {
        let place = place();
        let mut recorder = recorder(&place.dir, run);
        let mut journal = recorder.journal();
        let first = journal.open_own_session(None).unwrap();
        let second = journal.open_own_session(None).unwrap();
        let child = journal.open_own_session(Some(first)).unwrap();
        for session in [first, first, second, child] {
            let [call] = journal
                .accept_turn(session, &answer(&[new_call(Some("call_0"))]))
                .unwrap()
                .try_into()
                .unwrap();
            if session == first {
                journal.ended(call, Outcome::Completed, None, None).unwrap();
            }
            ids.insert(InvocationId { run: RunId::from_bytes([run; 16]), call });
        }
    }
    assert_eq!(ids.len(), 8);
}

#[test]
fn t06_a_provider_id_is_never_an_id_of_ours() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let calls = [new_call(Some("call_77")), new_call(None)];
    let minted = journal.accept_turn(session, &answer(&calls)).unwrap();
    assert_eq!(minted, [ToolCallId::new(0), ToolCallId::new(1)]);
    for call in minted {
        let name = InvocationId { run: RunId::from_bytes([1; 16]), call }.to_string();
        assert!(!name.contains("call_77"));
    }
    // A record whose call is cut off is no record of the current version.
    let event: Event = ledger::event::ToolEnded {
        call: ToolCallId::new(0),
        attempt: 0,
        outcome: Outcome::Completed,
        held: None,
        raw: None,
    }
    .into();
    let body = event.encode().unwrap();
    let cut = Event::decode(event.kind().tag(), 1, &body[4..]);
    assert!(cut.is_err());
}

#[test]
fn t07_a_turn_with_a_provider_id_that_is_taken_leaves_nothing_behind() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let open = journal.accept_turn(session, &answer(&[new_call(Some("open"))])).unwrap()[0];
    recorder.commit().unwrap();
    let before = snapshot(&place.dir);
    let desk = recorder.journal().desk().clone();
    let twice = [new_call(Some("x")), new_call(None), new_call(Some("x"))];
    let found = recorder.journal().accept_turn(session, &answer(&twice));
    let repeated = TurnError::Repeated { first: 0, second: 2 };
    assert!(matches!(found, Err(JournalError::Turn(error)) if error == repeated));
    let taken = [new_call(Some("y")), new_call(Some("open"))];
    let found = recorder.journal().accept_turn(session, &answer(&taken));
    let outstanding = TurnError::Outstanding { position: 1, outstanding: open };
    assert!(matches!(found, Err(JournalError::Turn(error)) if error == outstanding));
    recorder.commit().unwrap();
    assert_eq!(snapshot(&place.dir), before);
    assert_eq!(recorder.journal().desk(), &desk);
    // The same holds for a call that another writer left open.
    recorder.leave().unwrap();
    let mut continued = again(&place.dir, 2);
    let found = continued.journal().accept_turn(session, &answer(&taken));
    assert!(matches!(found, Err(JournalError::Turn(error)) if error == outstanding));
}

#[test]
fn t08_the_provider_id_of_a_call_that_ended_may_come_again() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let mut minted = Vec::new();
    for _ in 0..3 {
        let call = journal.accept_turn(session, &answer(&[new_call(Some("again"))])).unwrap()[0];
        journal.ended(call, Outcome::Failed, None, None).unwrap();
        minted.push(call.number());
    }
    assert_eq!(minted, [0, 1, 2]);
}

#[test]
fn t04_a_repeated_provider_id_is_a_new_call() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let first = journal.accept_turn(session, &answer(&[new_call(Some("id"))])).unwrap()[0];
    journal.ended(first, Outcome::Completed, None, None).unwrap();
    let second = journal.accept_turn(session, &answer(&[new_call(Some("id"))])).unwrap()[0];
    assert_ne!(first, second);
}

#[test]
fn t11_a_delegation_and_the_childs_own_call_are_two_relations() {
    use ledger::identity::journal::Asked;
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let parent = journal.open_own_session(None).unwrap();
    let child = journal.open_own_session(Some(parent)).unwrap();
    let delegation = journal.accept_turn(parent, &answer(&[new_call(Some("id"))])).unwrap()[0];
    let own = journal.accept_turn(child, &answer(&[new_call(Some("id"))])).unwrap()[0];
    let asked = |call, delegation| Asked {
        call,
        origin: child,
        delegation: Some(delegation),
        review: None,
        asker: ledger::event::AskOrigin::Permission,
        options: &[],
        foreign_ask: None,
    };
    journal.ask(&asked(own, delegation)).unwrap();
    let same = journal.ask(&asked(own, own));
    assert!(matches!(same, Err(JournalError::Desk(_))));
}

#[test]
fn m47_capture_dispatch_and_outcome_are_separate_facts() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let calls = [new_call(Some("a")), new_call(Some("b")), new_call(Some("c"))];
    let minted = journal.accept_turn(session, &answer(&calls)).unwrap();
    journal.dispatch(minted[1], None).unwrap();
    journal.dispatch(minted[2], None).unwrap();
    journal.ended(minted[2], Outcome::Aborted, None, None).unwrap();
    // The recorder dies here: what was captured and not dispatched is visible as such.
    recorder.commit().unwrap();
    drop(recorder);
    let desk = restore(&mut LogReader::open(&place.dir).unwrap()).unwrap();
    let open: Vec<_> =
        desk.open_calls().iter().map(|(call, open)| (call.number(), open.attempts)).collect();
    assert_eq!(open, [(0, 0), (1, 1)]);
}

#[test]
fn m49_a_second_attempt_is_a_second_dispatch_of_the_same_call() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let call = journal.accept_turn(session, &answer(&[new_call(Some("a"))])).unwrap()[0];
    assert_eq!(journal.dispatch(call, None).unwrap(), 1);
    assert_eq!(journal.dispatch(call, Some(b"{\"again\":true}")).unwrap(), 2);
    recorder.leave().unwrap();
    let attempts: Vec<_> = events(&place.dir)
        .into_iter()
        .filter_map(|event| match event {
            Event::Identity(IdentityEvent::ToolDispatched(event)) => {
                Some((event.call, event.attempt))
            }
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(call, 1), (call, 2)]);
}

#[test]
fn o15_the_recorder_gives_a_dispatch_to_the_oldest_bridged_call() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    journal.advertise(session, &[b"lab"], &[b"read"]).unwrap();
    let shown = |name: &'static [u8], id: &'static [u8]| {
        ([SeenName { source: NameSource::Title, name }], id)
    };
    let mut calls = Vec::new();
    for (names, id) in [shown(b"shell", b"n"), shown(b"lab__read", b"b1"), shown(b"read", b"b2")] {
        let seen = Observed {
            names: &names,
            tool_kind: None,
            arguments: Some(b"{\"p\":1}"),
            provider_call: Some(id),
        };
        calls.push(journal.observe_call(session, &seen).unwrap());
    }
    assert!(!calls[0].1.is_bridged() && calls[1].1.is_bridged() && calls[2].1.is_ambiguous());
    let next = |journal: &mut ledger::identity::journal::Journal<'_>| {
        journal.dispatch_next(session, b"read", None).unwrap()
    };
    assert_eq!(next(&mut journal), (calls[1].0, Correlation::Queue));
    assert_eq!(next(&mut journal), (calls[2].0, Correlation::Queue));
    let (fresh, correlation) = next(&mut journal);
    assert_eq!((fresh.number(), correlation), (3, Correlation::None));
}

/// A session with a bridged tool `read`, and the calls that are shown in it.
fn shown(journal: &mut Journal<'_>, calls: &[(&[u8], &[u8])]) -> (SessionId, Vec<ToolCallId>) {
    let session = journal.open_own_session(None).unwrap();
    journal.advertise(session, &[b"lab"], &[b"read"]).unwrap();
    let observe = |(name, id): &(&[u8], &[u8])| {
        let names = [SeenName { source: NameSource::Title, name }];
        let (tool_kind, arguments) = (None, None);
        let seen = Observed { names: &names, tool_kind, arguments, provider_call: Some(id) };
        journal.observe_call(session, &seen).unwrap().0
    };
    (session, calls.iter().map(observe).collect())
}

/// The calls of dispatches, returns and ends, in the order of the log.
fn life(dir: &std::path::Path) -> Vec<(&'static str, u32)> {
    let told = |event| match event {
        Event::Identity(IdentityEvent::ToolObserved(event)) => Some(("shown", event.call)),
        Event::Identity(IdentityEvent::ToolDispatched(event)) => Some(("dispatched", event.call)),
        Event::ToolReturned(event) => Some(("returned", event.call)),
        Event::Identity(IdentityEvent::ToolEnded(event)) => Some(("ended", event.call)),
        _ => None,
    };
    let told = events(dir).into_iter().filter_map(told);
    told.map(|(what, call)| (what, call.number())).collect()
}

#[test]
fn o28_request_dispatch_and_completion_of_a_bridged_call_share_one_id() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let (session, calls) = shown(&mut journal, &[(b"lab__read", b"g1")]);
    let (call, correlation) = journal.dispatch_next(session, b"read", None).unwrap();
    assert_eq!((call, correlation), (calls[0], Correlation::Queue));
    let output = Output { texts: &[b"out"], dropped: Dropped::Bytes(0) };
    journal.returned(call, &output).unwrap();
    // The agent's own report of the end finds the call by the agent's id.
    assert_eq!(journal.outstanding(session, b"g1"), Some(call));
    journal.ended(call, Outcome::Completed, None, None).unwrap();
    assert_eq!(journal.outstanding(session, b"g1"), None);
    recorder.leave().unwrap();
    let expected = [("shown", 0), ("dispatched", 0), ("returned", 0), ("ended", 0)];
    assert_eq!(life(&place.dir), expected);
}

#[test]
fn o29_a_native_and_a_bridged_call_of_one_turn_keep_two_ids() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let (session, calls) =
        shown(&mut journal, &[(b"terminal: ls", b"n1"), (b"mcp_lab_read", b"b1")]);
    let (call, _) = journal.dispatch_next(session, b"read", None).unwrap();
    assert_eq!(call, calls[1]);
    for id in [b"b1", b"n1"] {
        let call = journal.outstanding(session, id).unwrap();
        journal.ended(call, Outcome::Completed, None, None).unwrap();
    }
    recorder.leave().unwrap();
    let expected = [("shown", 0), ("shown", 1), ("dispatched", 1), ("ended", 1), ("ended", 0)];
    assert_eq!(life(&place.dir), expected);
}

#[test]
fn t38_t39_an_export_that_is_read_back_has_the_ids_that_were_given_out() {
    use ledger::fs::jsonl::{read_jsonl, write_jsonl};
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let (session, _) = shown(&mut journal, &[(b"read", b"a"), (b"read", b"a")]);
    let minted = journal.accept_turn(session, &answer(&[new_call(Some("c"))])).unwrap();
    journal.dispatch(minted[0], Some(b"{\"other\":true}")).unwrap();
    journal.ended(minted[0], Outcome::Completed, None, None).unwrap();
    recorder.leave().unwrap();
    let vfs = artifacts::fs::vfs::LocalDisk::shared();
    let mut lines = Vec::new();
    write_jsonl(&vfs, &place.dir, &mut lines).unwrap();
    let copy = super::support::place();
    let redactor = artifacts::redact::Redactor::core();
    read_jsonl(&vfs, &mut lines.as_slice(), &copy.dir, &redactor).unwrap();
    assert_eq!(events(&copy.dir), events(&place.dir));
    // A call that is accepted later, in either, has a new one.
    for dir in [&place.dir, &copy.dir] {
        let mut continued = again(dir, 2);
        let mut journal = continued.journal();
        let later = journal.accept_turn(session, &answer(&[new_call(Some("c"))])).unwrap();
        assert_eq!(later, [ToolCallId::new(3)]);
    }
}

#[test]
fn o19_name_arguments_and_output_of_a_native_call_are_on_record_together() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let names = [SeenName { source: NameSource::Title, name: b"shell: git status" }];
    let seen = Observed {
        names: &names,
        tool_kind: Some(b"execute"),
        arguments: Some(b"{\"command\":\"git status\"}"),
        provider_call: Some(b"native-1"),
    };
    let (call, _) = journal.observe_call(session, &seen).unwrap();
    let output = Output { texts: &[b"clean"], dropped: Dropped::Bytes(0) };
    journal.returned(call, &output).unwrap();
    let raw = br#"{"status":"completed"}"#;
    journal.ended(call, Outcome::Completed, None, Some(raw)).unwrap();
    recorder.leave().unwrap();
    let mut parts = Vec::new();
    for event in events(&place.dir) {
        match event {
            Event::Identity(IdentityEvent::ToolObserved(event)) => {
                assert_eq!(event.call, call);
                let arguments = event.arguments.unwrap();
                assert_eq!(arguments.as_inline(), Some(&b"{\"command\":\"git status\"}"[..]));
                parts.push("arguments");
            }
            Event::ToolReturned(event) => {
                assert_eq!((event.call, event.output[0].text.len()), (call, 5));
                parts.push("output");
            }
            Event::Identity(IdentityEvent::ToolEnded(event)) => {
                assert_eq!((event.call, event.raw.unwrap().as_inline()), (call, Some(&raw[..])));
                parts.push("raw");
            }
            _ => {}
        }
    }
    assert_eq!(parts, ["arguments", "output", "raw"]);
}

#[test]
fn o24_the_raw_result_is_kept_beside_the_output() {
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let session = journal.open_own_session(None).unwrap();
    let call = journal.accept_turn(session, &answer(&[new_call(None)])).unwrap()[0];
    let raw = format!("{{\"rawOutput\":\"{}\"}}", "x".repeat(5000));
    journal.ended(call, Outcome::Completed, None, Some(raw.as_bytes())).unwrap();
    recorder.leave().unwrap();
    let kept = events(&place.dir).into_iter().find_map(|event| match event {
        Event::Identity(IdentityEvent::ToolEnded(event)) => event.raw,
        _ => None,
    });
    assert_eq!(kept.unwrap().artifact().unwrap().bytes(), raw.len() as u64);
}

#[test]
fn m39_a_parents_call_leads_to_the_childs_run_and_its_whole_output() {
    use ledger::event::Child;
    let child_place = place();
    recorder(&child_place.dir, 9).leave().unwrap();
    let child = Child::Run(RunId::from_bytes([9; 16]));
    let place = place();
    let mut recorder = recorder(&place.dir, 1);
    let mut journal = recorder.journal();
    let parent = journal.open_own_session(None).unwrap();
    let call = journal.accept_turn(parent, &answer(&[new_call(Some("spawn"))])).unwrap()[0];
    journal.spawned(parent, call, child).unwrap();
    let whole = "x".repeat(50_000);
    let shown = &whole.as_bytes()[..4000];
    journal.subagent_ended(call, child, Outcome::Completed, Some(whole.as_bytes())).unwrap();
    let output = Output { texts: &[shown], dropped: Dropped::Unknown };
    journal.returned(call, &output).unwrap();
    recorder.leave().unwrap();
    let ended = events(&place.dir).into_iter().find_map(|event| match event {
        Event::Identity(IdentityEvent::SubagentEnded(event)) => Some(event),
        _ => None,
    });
    let ended = ended.unwrap();
    assert_eq!((ended.delegation, ended.child), (call, child));
    assert_eq!(ended.output.unwrap().artifact().unwrap().bytes(), 50_000);
    // The child's run is the one of the child's own recording.
    let opened = events(&child_place.dir).into_iter().find_map(|event| match event {
        Event::RunOpened(event) => Some(event.run),
        _ => None,
    });
    assert_eq!(opened.map(Child::Run), Some(child));
}
