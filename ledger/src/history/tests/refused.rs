//! Goal: each way in which an event can fail to fit has its own refusal. Method: the run up to
//! some event, then one event that does not fit there.

use super::*;
use crate::wire::outline::ITEMS_MAX;

/// Pushes an event after the first `after` events of the run, with sequence number 99.
#[track_caller]
fn refusal(after: usize, event: Event) -> HistoryError {
    built(after).push(99, event).unwrap_err()
}

fn dangling(what: &'static str, number: u64) -> HistoryError {
    HistoryError::Dangling { seq: 99, what, number }
}

fn not_next(what: &'static str, found: u64, expected: u64) -> HistoryError {
    HistoryError::NotNext { seq: 99, what, found, expected }
}

fn misfit(what: &'static str) -> HistoryError {
    HistoryError::Misfit { seq: 99, what }
}

fn user_message(part: PartUse) -> Event {
    message_added(0, vec![(part, Cause::UserInput)])
}

#[test]
fn a_run_is_opened_once_and_first_and_nothing_follows_its_end() {
    let none = HistoryError::NoRun { seq: 99 };
    for event in run().into_iter().skip(1) {
        assert_eq!(refusal(0, event), none);
    }
    for after in 1..run().len() {
        assert_eq!(refusal(after, run_opened()), none);
    }
    for event in run().into_iter().skip(1) {
        assert_eq!(refusal(run().len(), event), misfit("event after run_closed"));
    }
}

#[test]
fn ids_that_are_not_the_next_ones_are_refused() {
    for number in [1, 2, u32::MAX] {
        let found = u64::from(number);
        let expected = not_next("conversation", found, 0);
        assert_eq!(refusal(1, session_opened(number, None)), expected);
        let request = Event::RequestCaptured(captured(number, None));
        assert_eq!(refusal(3, request), not_next("request", found, 0));
        assert_eq!(refusal(6, tool_called(number, 0, 1)), not_next("call", found, 0));
    }
    assert_eq!(refusal(2, session_opened(0, None)), not_next("conversation", 0, 1));
    let again = Event::RequestCaptured(captured(0, None));
    assert_eq!(refusal(4, again), not_next("request", 0, 1));
    assert_eq!(refusal(7, tool_called(0, 0, 1)), not_next("call", 0, 1));
}

#[test]
fn conversations_that_were_not_opened_are_refused() {
    let unknown = |number| dangling("conversation", number);
    assert_eq!(refusal(1, session_opened(0, Some(0))), unknown(0));
    assert_eq!(refusal(2, session_opened(1, Some(1))), unknown(1));
    assert_eq!(refusal(1, message_added(0, Vec::new())), unknown(0));
    assert_eq!(refusal(2, message_added(1, Vec::new())), unknown(1));
    assert_eq!(refusal(2, context_edited(u32::MAX, Vec::new())), unknown(u64::from(u32::MAX)));
    let mut captured = captured(0, None);
    assert_eq!(refusal(1, Event::RequestCaptured(captured.clone())), unknown(0));
    captured.session = SessionId::new(1);
    assert_eq!(refusal(2, Event::RequestCaptured(captured)), unknown(1));
}

#[test]
fn requests_that_were_not_captured_are_refused() {
    let unknown = |number| dangling("request", number);
    assert_eq!(refusal(3, dispatched(0)), unknown(0));
    assert_eq!(refusal(4, dispatched(1)), unknown(1));
    for answer in [Event::ResponseReceived, Event::ResponseFailed, Event::ResponseAborted] {
        assert_eq!(refusal(3, answer(answered(0))), unknown(0));
        assert_eq!(refusal(4, answer(answered(1))), unknown(1));
    }
    // A request is no base and no first attempt of itself, nor is a later one.
    for number in [1, 2] {
        let base = Event::RequestCaptured(captured(1, Some(number)));
        assert_eq!(refusal(4, base), unknown(u64::from(number)));
        let attempt_of = Some(RequestId::new(number));
        let attempt = RequestCaptured { attempt_of, ..captured(1, None) };
        assert_eq!(refusal(4, Event::RequestCaptured(attempt)), unknown(u64::from(number)));
    }
    let cause = Cause::Answer(RequestId::new(0));
    assert_eq!(refusal(3, message_added(0, vec![(known(0), cause)])), unknown(0));
    let unknown = dangling("answer of request", 1);
    assert_eq!(refusal(6, tool_called(0, 1, 0)), unknown);
}

#[test]
fn what_happens_once_to_a_request_or_call_is_refused_the_second_time() {
    assert_eq!(refusal(5, dispatched(0)), misfit("second dispatch"));
    for answer in [Event::ResponseReceived, Event::ResponseFailed, Event::ResponseAborted] {
        assert_eq!(refusal(6, answer(answered(0))), misfit("second answer"));
    }
    assert_eq!(refusal(7, tool_called(1, 0, 1)), misfit("second call of an item"));
    assert_eq!(refusal(8, tool_returned(0)), misfit("second return of a call"));
}

#[test]
fn a_found_output_is_whole_or_two_ends_around_a_gap() {
    let refused = misfit("pieces of a found output");
    let cases: [(&[&str], Dropped); 5] = [
        (&[], Dropped::Bytes(0)),
        (&["a"], Dropped::Unknown),
        (&["a"], Dropped::Bytes(1)),
        (&["a", "b"], Dropped::Bytes(0)),
        (&["a", "b", "c"], Dropped::Unknown),
    ];
    for (pieces, dropped) in cases {
        assert_eq!(refusal(8, Event::OutputFound(found(0, pieces, dropped))), refused);
    }
    let long = OutputFound { source: "s".repeat(65), ..found(0, &["a"], Dropped::Bytes(0)) };
    assert_eq!(refusal(8, Event::OutputFound(long)), refused);
    let unknown = Event::OutputFound(found(1, &["a"], Dropped::Bytes(0)));
    assert_eq!(refusal(8, unknown), dangling("call", 1));
}

#[test]
fn calls_and_items_that_are_not_there_are_refused() {
    assert_eq!(refusal(6, tool_returned(0)), dangling("call", 0));
    assert_eq!(refusal(7, tool_returned(1)), dangling("call", 1));
    let cause = |call| Cause::ToolResult(ToolCallId::new(call));
    assert_eq!(refusal(6, message_added(0, vec![(known(0), cause(0))])), dangling("call", 0));
    assert_eq!(refusal(7, message_added(0, vec![(known(0), cause(1))])), dangling("call", 1));
    let answer = dangling("answer of request", 0);
    // Before the answer, and beyond its items.
    assert_eq!(refusal(5, tool_called(0, 0, 0)), answer);
    assert_eq!(refusal(6, tool_called(0, 0, 2)), answer);
    assert_eq!(refusal(6, tool_called(0, 0, u16::MAX)), answer);
    for value in answer_values(0, 1) {
        assert_eq!(refusal(5, user_message(new(vec![value.clone()]))), answer);
        built(6).push(99, user_message(new(vec![own(), value]))).unwrap();
    }
    for (request, item) in [(0, 2), (0, u16::MAX), (1, 0), (1, 1)] {
        let refused = dangling("answer of request", u64::from(request));
        for value in answer_values(request, item) {
            assert_eq!(refusal(6, user_message(new(vec![own(), value]))), refused);
        }
    }
    // An item without ids and a name has only its text to give.
    for value in answer_values(0, 0).into_iter().skip(1) {
        assert_eq!(refusal(6, user_message(new(vec![value]))), answer);
    }
    for (after, call, index) in [(7, 0, 0), (8, 0, 1), (8, 1, 0), (6, 0, 0)] {
        let refused = dangling("output of call", u64::from(call));
        assert_eq!(refusal(after, user_message(new(vec![output(call, index)]))), refused);
    }
}

#[test]
fn parts_and_skeletons_that_were_not_defined_are_refused() {
    for number in [1, u32::MAX] {
        let unknown = dangling("part", u64::from(number));
        assert_eq!(refusal(3, user_message(known(number))), unknown);
        let added = Added { part: known(number), cause: Cause::Returned };
        let edit = vec![splice(0, 0, vec![added])];
        assert_eq!(refusal(3, context_edited(0, edit)), unknown);
        for list in 0..3 {
            let mut captured = captured(0, None);
            let pieces = vec![splice(0, 0, vec![known(0), known(number)])];
            match list {
                0 => captured.splices.head = pieces,
                1 => captured.splices.items = vec![items(0, 0, &[0, number])],
                _ => captured.splices.tail = pieces,
            }
            assert_eq!(refusal(3, Event::RequestCaptured(captured)), unknown);
        }
    }
    let part = |skeleton| {
        let holes = vec![hole(own())];
        user_message(PartUse::New(PartDef { digest: [0; 32], skeleton, holes }))
    };
    let known = |number| SkeletonUse::Known(SkeletonNo::new(number));
    assert_eq!(refusal(3, part(known(1))), dangling("skeleton", 1));
    built(3).push(99, part(known(0))).unwrap();
    // A part may name one that the same event defined before it, not one that comes after it.
    let both = |parts: [PartUse; 2]| {
        message_added(0, parts.into_iter().map(|part| (part, Cause::UserInput)).collect())
    };
    built(3).push(99, both([new(Vec::new()), super::known(1)])).unwrap();
    let after = both([super::known(1), new(Vec::new())]);
    assert_eq!(refusal(3, after), dangling("part", 1));
}

#[test]
fn parts_that_do_not_fit_their_skeleton_are_refused() {
    let part = |skeleton, values: Vec<HoleValue>| {
        user_message(PartUse::New(PartDef { skeleton, ..part(values) }))
    };
    let slots = |count| SkeletonUse::New(skeleton(count));
    for (count, values) in [(0, vec![own()]), (1, vec![]), (1, vec![own(); 2]), (3, vec![own()])] {
        assert_eq!(refusal(2, part(slots(count), values)), misfit("number of slots"));
    }
    let first = SkeletonUse::Known(SkeletonNo::new(0));
    assert_eq!(refusal(3, part(first, Vec::new())), misfit("number of slots"));
    let change = |change: &dyn Fn(&mut Skeleton)| {
        let mut skeleton = skeleton(2);
        change(&mut skeleton);
        part(SkeletonUse::New(skeleton), vec![own(); 2])
    };
    built(2).push(99, change(&|skeleton| skeleton.slots[1].offset = 2)).unwrap();
    for tag in [6, u8::MAX] {
        assert_eq!(refusal(2, change(&|skeleton| skeleton.part_kind = tag)), misfit("part kind"));
        assert_eq!(refusal(2, change(&|skeleton| skeleton.role = tag)), misfit("role"));
    }
    for offset in [0, 3, u32::MAX] {
        let moved = change(&|skeleton| skeleton.slots[1].offset = offset);
        assert_eq!(refusal(2, moved), misfit("offset of a slot"));
    }
    let mut long = super::part(vec![own(); 2]);
    long.holes[0].escaped_bytes = u64::MAX - 6;
    assert_eq!(refusal(2, user_message(PartUse::New(long.clone()))), misfit("length of a slot"));
    long.holes[0].escaped_bytes -= 1;
    built(2).push(99, user_message(PartUse::New(long))).unwrap();
}

#[test]
fn edits_that_do_not_fit_the_conversation_are_refused() {
    let edit = |splices: &[(u32, u32, usize)]| {
        let added = || Added { part: known(0), cause: Cause::Inserted };
        let splices = splices.iter().map(|(at, remove, insert)| {
            splice(*at, *remove, (0..*insert).map(|_| added()).collect())
        });
        context_edited(0, splices.collect())
    };
    // After nine events the conversation holds three messages.
    for good in [
        &[][..],
        &[(0, 3, 0)],
        &[(3, 0, 2)],
        &[(0, 1, 5), (1, 2, 0)],
        &[(0, 0, 1), (0, 0, 1), (0, 1, 0), (3, 0, 0)],
    ] {
        built(9).push(99, edit(good)).unwrap();
    }
    for (bad, index) in [
        (&[(4, 0, 1)][..], 0),
        (&[(0, 4, 0)], 0),
        (&[(3, 1, 0)], 0),
        (&[(u32::MAX, u32::MAX, 0)], 0),
        (&[(1, 1, 0), (0, 1, 0)], 1),
        (&[(0, 2, 0), (1, 1, 0)], 1),
        (&[(0, 0, 9), (4, 0, 0)], 1),
    ] {
        assert_eq!(refusal(9, edit(bad)), HistoryError::Splice { seq: 99, index }, "{bad:?}");
    }
    // An edit changes the length that the next one has to fit.
    let mut builder = built(9);
    builder.push(99, edit(&[(0, 2, 0)])).unwrap();
    let refused = builder.push(99, edit(&[(1, 1, 0)]));
    assert_eq!(refused, Err(HistoryError::Splice { seq: 99, index: 0 }));
}

#[test]
fn changes_that_do_not_fit_the_lists_of_the_base_are_refused() {
    let change = |base, list: usize, at, remove| {
        let mut captured = captured(1, base);
        match list {
            0 => captured.splices.head = vec![splice(at, remove, vec![known(0)])],
            1 => captured.splices.items = vec![items(at, remove, &[0])],
            _ => captured.splices.tail = vec![splice(at, remove, vec![known(0)])],
        }
        Event::RequestCaptured(captured)
    };
    // The first request has two parts before its one message and one after it.
    for (list, length) in [(0, 2), (1, 1), (2, 1)] {
        for (at, remove) in [(0, 0), (0, length), (length, 0)] {
            built(4).push(99, change(Some(0), list, at, remove)).unwrap();
        }
        let refused = HistoryError::Splice { seq: 99, index: 0 };
        for (at, remove) in [(length + 1, 0), (length, 1), (0, length + 1), (u32::MAX, u32::MAX)] {
            assert_eq!(refusal(4, change(Some(0), list, at, remove)), refused);
        }
        built(4).push(99, change(None, list, 0, 0)).unwrap();
        assert_eq!(refusal(4, change(None, list, 1, 0)), refused);
        assert_eq!(refusal(4, change(None, list, 0, 1)), refused);
    }
}

#[test]
fn marks_outside_of_the_messages_or_out_of_order_are_refused() {
    let marked = |marks: &[(u32, u32)]| {
        let splices = Splices { items: vec![items(1, 0, &[0])], ..Splices::default() };
        let overlays = marks.iter().map(|(item, offset)| overlay(*item, *offset)).collect();
        Event::RequestCaptured(RequestCaptured { splices, overlays, ..captured(1, Some(0)) })
    };
    built(4).push(99, marked(&[(0, 5), (0, 5), (1, 0)])).unwrap();
    for marks in [&[(2, 0)][..], &[(0, 0), (u32::MAX, 0)], &[(1, 0), (0, 0)], &[(1, 2), (1, 1)]] {
        assert_eq!(refusal(4, marked(marks)), misfit("mark on a message"), "{marks:?}");
    }
}

#[test]
fn unknown_dialects_are_refused() {
    for dialect in (0..=u8::MAX).filter(|tag| !(1..=4).contains(tag)) {
        let captured = RequestCaptured { dialect, ..captured(0, None) };
        assert_eq!(refusal(3, Event::RequestCaptured(captured)), misfit("dialect"));
    }
}

#[test]
fn more_messages_than_the_limit_are_refused() {
    let max = ITEMS_MAX as u64;
    let many = |count: usize| {
        let added = Added { part: known(0), cause: Cause::Returned };
        let added = vec![added; count];
        Event::MessageAdded(MessageAdded { session: SessionId::new(0), added })
    };
    let mut builder = built(3);
    builder.push(99, many(ITEMS_MAX - 1)).unwrap();
    let refused = HistoryError::TooMany { seq: 99, what: "messages", max };
    assert_eq!(builder.push(99, many(1)), Err(refused));
    let list = |count| {
        let splices = Splices { items: vec![items(0, 0, &vec![0; count])], ..Splices::default() };
        Event::RequestCaptured(RequestCaptured { splices, ..captured(0, None) })
    };
    built(3).push(99, list(ITEMS_MAX)).unwrap();
    let refused = HistoryError::TooMany { seq: 99, what: "parts", max };
    assert_eq!(refusal(3, list(ITEMS_MAX + 1)), refused);
}

#[test]
fn refusals_name_the_place_and_no_content() {
    for (error, words) in [
        (HistoryError::NoRun { seq: 3 }, "seq 3: run_opened expected once, at the beginning"),
        (not_next("call", 2, 1), "seq 99: call 2, expected 1"),
        (dangling("part", 7), "seq 99: unknown part 7"),
        (HistoryError::Splice { seq: 3, index: 1 }, "seq 3: list change 1 is out of range"),
        (misfit("role"), "seq 99: role does not fit"),
    ] {
        assert_eq!(error.to_string(), words);
    }
}
