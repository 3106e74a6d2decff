//! Conversations from events: what a fold must give, event by event.

use ledger::event::*;
use ledger::id::{HookId, Job, RunId};
use projector::identity::{
    AskState, Conversation, Conversations, Entry, Message, ResultView, State, View, pairing,
};

use super::make::*;

fn fold(events: Vec<Event>) -> Conversation {
    let mut conversations = Conversations::default();
    for (seq, event) in numbered(events) {
        conversations.push(seq, &event);
    }
    conversations.get(session(0)).unwrap().clone()
}

/// Results as they are shown: call and text, or the error.
fn results(conversation: &Conversation) -> Vec<(u32, Result<String, Outcome>)> {
    let mut shown = Vec::new();
    for entry in conversation.entries() {
        let Entry::Result { call, result } = entry else { continue };
        shown.push((
            call.call.number(),
            match result {
                ResultView::Error(outcome) => Err(outcome),
                ResultView::Output(output) => {
                    let text = output.texts[0].text.as_inline().unwrap();
                    Ok(String::from_utf8(text.to_vec()).unwrap())
                }
            },
        ));
    }
    shown
}

fn run(number: u32, usage: (u64, u64), stop: Stop) -> Vec<Event> {
    vec![
        turn_started(0, number),
        prompted(0, "go"),
        accepted(0, "look", &[(number, "c1")]),
        dispatched(number, 1),
        returned(number, "out"),
        ended(number, 1, Outcome::Completed),
        accepted(0, "done", &[]),
        turn_ended(0, number, stop, usage),
    ]
}

#[test]
fn t48_the_rebuilt_conversation_is_the_one_that_was_recorded() {
    let conversation = fold(run(0, (15, 5), Stop::EndTurn));
    let user = |message: &Message| matches!(message, Message::User(text) if text == &super::make::text("go"));
    let [first, look, done] = conversation.messages() else { panic!() };
    assert!(user(first));
    let Message::Assistant { text, reasoning, calls } = look else { panic!() };
    assert_eq!(text.as_ref(), Some(&super::make::text("look")));
    assert_eq!(reasoning, &[super::make::text("sealed")]);
    let [call] = calls.as_slice() else { panic!() };
    assert_eq!(call.name, Some(super::make::text("ls")));
    assert_eq!(call.arguments, Some(super::make::text("{}")));
    assert_eq!(call.provider_call, Some(super::make::text("c1")));
    assert_eq!(call.provider_item, Some(super::make::text("item")));
    let Message::Assistant { text, calls, .. } = done else { panic!() };
    assert_eq!((text.as_ref(), calls.len()), (Some(&super::make::text("done")), 0));
    assert_eq!(results(&conversation), [(0, Ok("out".to_owned()))]);
    assert_eq!(conversation.entries().len(), 4);
    assert_eq!(conversation.state(), State::Completed);
    let usage = conversation.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(15), Some(5)));
    assert_eq!(conversation.first_prompt(), Some(&super::make::text("go")));
    assert_eq!(pairing::check(&conversation), Ok(()));
}

#[test]
fn t46_a_fold_that_goes_on_is_the_fold_from_the_beginning_at_every_prefix() {
    let mut events = run(0, (1, 1), Stop::EndTurn);
    events.extend(run(1, (2, 2), Stop::Error));
    let (mut live, mut view) = (Conversations::default(), View::default());
    for (end, (seq, event)) in numbered(events.clone()).into_iter().enumerate() {
        live.push(seq, &event);
        view.push(seq, &event);
        let (mut again, mut other) = (Conversations::default(), View::default());
        for (seq, event) in numbered(events[..=end].to_vec()) {
            again.push(seq, &event);
            other.push(seq, &event);
        }
        assert_eq!((&live, &view), (&again, &other));
    }
}

/// The fields of a message and a call that events carry. A new field does not compile here before
/// it is decided on, and the table of the concepts page names the same ones.
#[test]
fn t49_every_field_of_a_rebuilt_message_is_carried_by_events_and_listed() {
    let conversation = fold(run(0, (1, 1), Stop::EndTurn));
    let mut carried = Vec::new();
    for message in conversation.messages() {
        match message {
            Message::User(_) => carried.push("text"),
            Message::Summary(_) => carried.push("summary"),
            Message::Assistant { text, reasoning, calls } => {
                assert!(text.is_some() && !reasoning.is_empty());
                for call in calls {
                    let projector::identity::CallEntry {
                        call: _,
                        name,
                        arguments,
                        provider_call,
                        provider_item,
                    } = call;
                    assert!(name.is_some() && arguments.is_some());
                    assert!(provider_call.is_some() && provider_item.is_some());
                }
                carried.extend(["text", "reasoning", "call"]);
            }
        }
    }
    let page = include_str!("../../../../docs/concepts/identity.md");
    let table = page.split("## What a rebuilt conversation holds").nth(1).unwrap();
    let expected = [
        "role, text",
        "reasoning",
        "call: name, arguments, provider's call and item id",
        "result: output, outcome, attempt",
        "summary of a compaction, messages that it replaced",
        "usage, per turn and summed",
        "title of a conversation, display names, settings of the client",
    ];
    let rows: Vec<_> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|line| line.split(" |").next())
        .filter(|row| *row != "field")
        .collect();
    assert_eq!(rows, expected);
    assert!(carried.contains(&"reasoning"));
}

#[test]
fn t50_after_a_crash_an_open_question_and_its_call_are_in_the_view() {
    let conversation = fold(vec![
        turn_started(0, 0),
        prompted(0, "go"),
        accepted(0, "may I", &[(0, "c1")]),
        asked(0, 0, 0, None),
    ]);
    assert_eq!(conversation.state(), State::Awaiting);
    assert_eq!(conversation.pending().collect::<Vec<_>>(), [ask(0)]);
    let unanswered: Vec<_> = conversation.unanswered().iter().map(|entry| entry.call).collect();
    assert_eq!(unanswered, [call(0)]);
    assert_eq!(conversation.messages().len(), 2);
    assert!(results(&conversation).is_empty());
}

#[test]
fn t51_an_answer_a_retraction_or_a_result_clears_a_question_and_a_late_verdict_does_nothing() {
    let begin = || {
        vec![opened(0), turn_started(0, 0), accepted(0, "x", &[(0, "c1")]), asked(0, 0, 0, None)]
    };
    let cases = [
        (answered(0, 0, 0, None, Verdict::AllowOnce), AskState::Answered(Verdict::AllowOnce)),
        (retracted(0), AskState::Retracted),
        (ended(0, 0, Outcome::Completed), AskState::Cleared),
    ];
    for (event, state) in cases {
        let events: Vec<_> = begin().into_iter().chain([event]).collect();
        assert_eq!(fold(events.clone()).state(), State::Running);
        let mut view = View::default();
        for (seq, event) in numbered(events) {
            view.push(seq, &event);
        }
        assert_eq!(view.ask_state(ask(0)), state);
        assert_eq!(view.pending().count(), 0);
    }
    // A verdict for the first question comes when the second one waits.
    let stale = [retracted(0), asked(1, 0, 0, None), answered(0, 0, 0, None, Verdict::AllowOnce)];
    let events: Vec<_> = begin().into_iter().chain(stale).collect();
    assert_eq!(fold(events.clone()).pending().collect::<Vec<_>>(), [ask(1)]);
    let mut view = View::default();
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    assert_eq!(view.ask_state(ask(0)), AskState::Retracted);
    assert_eq!(view.ask_state(ask(1)), AskState::Pending);
}

#[test]
fn t52_usage_is_summed_over_runs_and_counters_are_of_the_latest() {
    let mut events = run(0, (10, 4), Stop::EndTurn);
    events.insert(5, ended(0, 1, Outcome::Failed));
    events.extend([
        turn_started(0, 1),
        accepted(0, "again", &[]),
        turn_ended(0, 1, Stop::EndTurn, (7, 3)),
    ]);
    let conversation = fold(events);
    let usage = conversation.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(17), Some(7)));
    assert_eq!(conversation.counters().answers, 1);
    assert_eq!(conversation.counters().failures_in_a_row, 0);
}

#[test]
fn t53_a_result_that_is_held_is_shown_after_its_release_and_never_after_a_refusal() {
    let inbound = HookId::review(call(0), Job::Inbound);
    let other = HookId::review(call(0), Job::Action);
    let begin = || {
        vec![
            turn_started(0, 0),
            accepted(0, "x", &[(0, "c1")]),
            dispatched(0, 1),
            returned(0, "secret"),
            held(0, 1, inbound),
        ]
    };
    let shown = |rest: Vec<Event>| results(&fold(begin().into_iter().chain(rest).collect()));
    assert_eq!(shown(vec![]), []);
    // A decision of another review releases nothing.
    assert_eq!(shown(vec![settled(0, other, true)]), []);
    assert_eq!(shown(vec![settled(0, inbound, true)]), [(0, Ok("secret".to_owned()))]);
    let refused = [(0, Err(Outcome::Denied))];
    assert_eq!(shown(vec![settled(0, inbound, false)]), refused);
    assert_eq!(shown(vec![settled(0, inbound, false), settled(0, inbound, true)]), refused);
    let over = turn_ended(0, 0, Stop::EndTurn, (1, 1));
    assert_eq!(shown(vec![over]), [(0, Err(Outcome::Cancelled))]);
    let mut view = View::default();
    for (seq, event) in numbered(begin()) {
        view.push(seq, &event);
    }
    assert_eq!(view.calls()[&call(0)].visible_output(), None);
}

#[test]
fn t54_results_stand_in_the_order_of_the_calls() {
    for order in super::hooks::permutations(3) {
        let mut events =
            vec![turn_started(0, 0), accepted(0, "x", &[(0, "a"), (1, "b"), (2, "c")])];
        for at in order {
            let number = u32::try_from(at).unwrap();
            events.push(returned(number, &at.to_string()));
            events.push(ended(number, 0, Outcome::Completed));
        }
        let shown = results(&fold(events));
        let expected = [(0, Ok("0".into())), (1, Ok("1".into())), (2, Ok("2".into()))];
        assert_eq!(shown, expected);
    }
}

#[test]
fn t55_a_cancelled_turn_leaves_pairs() {
    let inbound = HookId::review(call(1), Job::Inbound);
    let conversation = fold(vec![
        turn_started(0, 0),
        accepted(0, "x", &[(0, "a"), (1, "b"), (2, "c")]),
        returned(0, "raw"),
        ended(0, 0, Outcome::Completed),
        returned(1, "secret"),
        held(1, 0, inbound),
        turn_ended(0, 0, Stop::Cancelled, (1, 1)),
    ]);
    assert_eq!(conversation.state(), State::Cancelled);
    let error = Err(Outcome::Cancelled);
    assert_eq!(results(&conversation), [(0, Ok("raw".into())), (1, error.clone()), (2, error)]);
    assert_eq!(pairing::check(&conversation), Ok(()));
    // A prompt behind an answer that was given up leaves pairs as well.
    let conversation =
        fold(vec![turn_started(0, 0), accepted(0, "x", &[(0, "a")]), prompted(0, "stop that")]);
    assert_eq!(pairing::check(&conversation), Ok(()));
}

#[test]
fn t57_what_a_compaction_replaced_can_be_had_back() {
    let compacted =
        Compacted { session: session(0), messages: 3, summary: Some(super::make::text("summary")) };
    let mut conversation = fold(vec![
        prompted(0, "1"),
        accepted(0, "2", &[]),
        prompted(0, "3"),
        compacted.into(),
        accepted(0, "4", &[]),
    ]);
    assert_eq!(conversation.messages().len(), 2);
    assert!(matches!(conversation.messages()[0], Message::Summary(_)));
    assert_eq!(conversation.archived().len(), 3);
    assert_eq!(conversation.whole().count(), 4);
    assert_eq!(conversation.take_archived().len(), 3);
    assert!(conversation.archived().is_empty());
}

#[test]
fn t03_a_call_keeps_its_id_while_it_waits_and_while_its_arguments_change() {
    let mut view = View::default();
    let changed = ToolDispatched {
        call: call(0),
        attempt: 1,
        arguments: Some(super::make::text("{\"safe\":true}")),
        correlation: Correlation::Own,
    };
    let events = vec![
        opened(0),
        accepted(0, "x", &[(0, "c1")]),
        asked(0, 0, 0, None),
        answered(0, 0, 0, None, Verdict::AllowOnce),
        changed.into(),
        returned(0, "out"),
        ended(0, 1, Outcome::Completed),
    ];
    for (seq, event) in numbered(events) {
        view.push(seq, &event);
    }
    assert_eq!(view.calls().len(), 1);
    let card = &view.calls()[&call(0)];
    assert_eq!(card.effective_arguments(), Some(&super::make::text("{\"safe\":true}")));
    assert_eq!(card.given.arguments, Some(super::make::text("{}")));
    assert_eq!(card.asks.len(), 1);
    assert_eq!(card.state(), projector::identity::CardState::Ended(Outcome::Completed));
}

#[test]
fn m39_what_only_the_childs_run_has_is_marked_and_the_parent_is_told_without_it() {
    let run = |number| RunId::from_bytes([number; 16]);
    let spawned =
        |child| Event::from(SubagentSpawned { parent: session(0), delegation: call(0), child });
    let over = |child, output: Option<&str>| {
        let (outcome, output) = (Outcome::Completed, output.map(super::make::text));
        Event::from(SubagentEnded { delegation: call(0), child, outcome, output })
    };
    let (whole, part) = (Child::Run(run(1)), Child::Run(run(2)));
    let cases = [
        (vec![], vec![]),
        (vec![spawned(whole)], vec![run(1)]),
        (vec![spawned(whole), over(whole, Some("all that it said"))], vec![]),
        (vec![spawned(part), over(part, None)], vec![run(2)]),
        (vec![spawned(whole), spawned(part), over(whole, Some("x"))], vec![run(2)]),
        // A conversation of this log is on record here.
        (vec![spawned(Child::Session(session(1)))], vec![]),
    ];
    for (children, runs) in cases {
        let begin = vec![opened(0), opened(1), turn_started(0, 0), accepted(0, "x", &[(0, "c")])];
        let end = vec![returned(0, "a summary"), ended(0, 0, Outcome::Completed)];
        let events: Vec<_> = begin.into_iter().chain(children).chain(end).collect();
        let mut view = View::default();
        for (seq, event) in numbered(events.clone()) {
            view.push(seq, &event);
        }
        let depends = view.calls()[&call(0)].depends_on();
        assert_eq!(depends.into_iter().collect::<Vec<_>>(), runs);
        assert_eq!(results(&fold(events)), [(0, Ok("a summary".to_owned()))]);
    }
}

#[test]
fn t48_every_text_of_a_result_is_there_in_its_order() {
    let mut events = run(0, (1, 1), Stop::EndTurn);
    let Event::ToolReturned(returned) = &mut events[4] else { panic!() };
    let more = Returned { text: super::make::text("link"), measure: TextMeasure::of("link") };
    returned.output.push(more);
    let conversation = fold(events);
    let shown = conversation.entries().into_iter().find_map(|entry| match entry {
        Entry::Result { result: ResultView::Output(output), .. } => Some(output.texts.clone()),
        _ => None,
    });
    let texts: Vec<_> = shown.unwrap().into_iter().map(|returned| returned.text).collect();
    assert_eq!(texts, [super::make::text("out"), super::make::text("link")]);
}

#[test]
fn t09_ids_of_ours_do_not_hide_that_a_provider_id_stands_twice() {
    // A writer that did not check: its own ids are distinct, the provider's are not.
    let conversation =
        fold(vec![turn_started(0, 0), accepted(0, "x", &[(0, "same"), (1, "same")])]);
    let fault = pairing::PairFault::Repeated { first: call(0), second: call(1) };
    assert_eq!(pairing::check(&conversation), Err(fault));
}

#[test]
fn t39_compaction_changes_no_id() {
    let mut events = run(0, (1, 1), Stop::EndTurn);
    events.extend(run(1, (1, 1), Stop::EndTurn));
    let ids = |conversation: &Conversation| -> Vec<u32> {
        let calls = conversation.whole().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        });
        calls.map(|entry| entry.call.number()).collect()
    };
    let before = ids(&fold(events.clone()));
    events.push(Compacted { session: session(0), messages: 4, summary: None }.into());
    assert_eq!(ids(&fold(events)), before);
    assert_eq!(before, [0, 1]);
}

#[test]
fn stops_are_states() {
    let state = |stop| fold(run(0, (1, 1), stop)).state();
    assert_eq!(state(Stop::Error), State::Failed);
    assert_eq!(state(Stop::Cancelled), State::Cancelled);
    for stop in [Stop::Budget, Stop::NoProgress, Stop::MaxTurns, Stop::EndTurn] {
        assert_eq!(state(stop), State::Completed);
    }
    let cut = fold(vec![accepted(0, "half", &[])]);
    assert_eq!((cut.state(), cut.messages().len()), (State::Idle, 1));
}
