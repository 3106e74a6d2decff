//! Goal: events that do not fit what came before are refused one by one, the events of a run are
//! accepted, and lists are the same whether requests are asked for in order or not. Method: one
//! small run with every kind of event, one wrong event at a time in every place where it is
//! wrong, and random chains of changes against lists kept by hand.

use super::*;
use crate::event::{
    Added, AnswerItem, ContextEdited, Event, Headers, ItemKind, MessageAdded, Origin, PartDef,
    PartUse, Rung, SessionBasis, Skeleton, SkeletonUse, Splices, TextMeasure, ToolCalled,
    ToolReturned, Transfer,
};
use crate::wire::SlotKind;

mod lists;
mod refused;

fn text(text: &str) -> Content {
    let length = (text.len() as u64).to_le_bytes();
    let stored = [&[0; 4], length.as_slice(), text.as_bytes()].concat();
    crate::codec::decode(&stored).unwrap()
}

fn run_opened() -> Event {
    Event::RunOpened(RunOpened {
        run: crate::id::RunId::from_bytes([1; 16]),
        origin: Origin::Api,
        source: None,
        recorder: "test".to_owned(),
        ruleset: ("core".to_owned(), 1, [2; 32]),
        opened_unix_ns: 0,
    })
}

fn run_closed() -> Event {
    Event::RunClosed(RunClosed {
        complete: true,
        source_digest: None,
        source_records: 0,
        source_unknown: 0,
    })
}

fn session_opened(session: u32, parent: Option<u32>) -> Event {
    Event::SessionOpened(SessionOpened {
        session: SessionId::new(session),
        parent: parent.map(SessionId::new),
        basis: SessionBasis::Content,
        client_session: None,
        aliases: Vec::new(),
    })
}

fn skeleton(slots: usize) -> Skeleton {
    let slot = SlotDef { offset: 1, kind: SlotKind::USER_TEXT, group: 0 };
    Skeleton { part_kind: 4, role: 2, literal: text("{}"), slots: vec![slot; slots] }
}

fn hole(value: HoleValue) -> Hole {
    Hole { escape: Escape::JSON, escaped_bytes: 5, value }
}

/// A new part with a skeleton of its own and one slot for each value.
fn part(values: Vec<HoleValue>) -> PartDef {
    let skeleton = SkeletonUse::New(skeleton(values.len()));
    PartDef { digest: [3; 32], skeleton, holes: values.into_iter().map(hole).collect() }
}

fn new(values: Vec<HoleValue>) -> PartUse {
    PartUse::New(part(values))
}

fn known(part: u32) -> PartUse {
    PartUse::Known(PartNo::new(part))
}

fn message_added(session: u32, added: Vec<(PartUse, Cause)>) -> Event {
    let added = added.into_iter().map(|(part, cause)| Added { part, cause }).collect();
    Event::MessageAdded(MessageAdded { session: SessionId::new(session), added })
}

fn context_edited(session: u32, splices: Vec<Splice<Added>>) -> Event {
    Event::ContextEdited(ContextEdited { session: SessionId::new(session), splices })
}

fn splice<T>(at: u32, remove: u32, insert: Vec<T>) -> Splice<T> {
    Splice { at, remove, insert }
}

fn items(at: u32, remove: u32, insert: &[u32]) -> Splice<PartNo> {
    splice(at, remove, insert.iter().copied().map(PartNo::new).collect())
}

fn captured(request: u32, base: Option<u32>) -> RequestCaptured {
    RequestCaptured {
        request: RequestId::new(request),
        session: SessionId::new(0),
        attempt: 1,
        attempt_of: None,
        dialect: 1,
        model: None,
        body_bytes: 0,
        body_digest: [4; 32],
        component_digests: [[5; 32]; 4],
        rung: Rung::BodyExact,
        redactions: 0,
        transfer: Transfer { content_coding: None, sent_bytes: 0 },
        policy: None,
        unsplit: None,
        base: base.map(RequestId::new),
        separator: text(","),
        escape: Escape::PYTHON_ASCII,
        splices: Splices::default(),
        overlays: Vec::new(),
        propensity: None,
    }
}

fn overlay(item: u32, offset: u32) -> Overlay {
    Overlay { item, offset, bytes: text(",") }
}

fn dispatched(request: u32) -> Event {
    Event::RequestDispatched(Dispatched {
        request: RequestId::new(request),
        at_unix_ns: None,
        method: text("POST"),
        url: text("/"),
        headers: Headers::Full(Vec::new()),
    })
}

/// An answer of a text and a call; the text has no ids.
fn answered(request: u32) -> Answered {
    let item = |kind, ids: Option<&str>| AnswerItem {
        kind,
        complete: true,
        text: text("said"),
        item_id: ids.map(text),
        call_id: ids.map(text),
        name: ids.map(text),
    };
    Answered {
        request: RequestId::new(request),
        status: 200,
        time_us: None,
        headers: Headers::Full(Vec::new()),
        body: None,
        body_withheld: false,
        items: vec![item(ItemKind::Text, None), item(ItemKind::ToolCall, Some("id"))],
        usage: None,
        stop: None,
        answer_id: None,
        unparsed_events: 0,
    }
}

fn tool_called(call: u32, request: u32, item: u16) -> Event {
    let (call, request) = (ToolCallId::new(call), RequestId::new(request));
    Event::ToolCalled(ToolCalled { call, request, item })
}

fn tool_returned(call: u32) -> Event {
    let output = Returned { text: text("output"), measure: TextMeasure::of("output") };
    let call = ToolCallId::new(call);
    let dropped = Dropped::Bytes(3);
    Event::ToolReturned(ToolReturned { call, output: vec![output], dropped, redactions: 0 })
}

fn found(call: u32, pieces: &[&str], dropped: Dropped) -> OutputFound {
    let piece = |piece: &&str| Returned { text: text(piece), measure: TextMeasure::of(piece) };
    OutputFound {
        call: ToolCallId::new(call),
        index: 0,
        source: "spill".to_owned(),
        record: 0,
        pieces: pieces.iter().map(piece).collect(),
        dropped,
        redactions: 0,
    }
}

fn own() -> HoleValue {
    HoleValue::Own(text("words"))
}

fn answer_text(request: u32, item: u16) -> HoleValue {
    HoleValue::AnswerText { request: RequestId::new(request), item }
}

fn output(call: u32, index: u16) -> HoleValue {
    HoleValue::Output { call: ToolCallId::new(call), index }
}

/// Values that name item 1 of the answer in every way there is.
fn answer_values(request: u32, item: u16) -> Vec<HoleValue> {
    let id = RequestId::new(request);
    vec![
        answer_text(request, item),
        HoleValue::AnswerCallId { request: id, item },
        HoleValue::AnswerItemId { request: id, item },
        HoleValue::AnswerToolName { request: id, item },
    ]
}

/// A run with every kind of event: a user's words, a call, its result, and an edit.
fn run() -> Vec<Event> {
    let first = RequestCaptured {
        splices: Splices {
            head: vec![splice(0, 0, vec![new(Vec::new()), new(Vec::new())])],
            items: vec![items(0, 0, &[0])],
            tail: vec![splice(0, 0, vec![known(1)])],
        },
        ..captured(0, None)
    };
    let second = RequestCaptured {
        attempt: 2,
        attempt_of: Some(RequestId::new(0)),
        splices: Splices {
            head: vec![splice(1, 1, vec![known(1), known(2)])],
            items: vec![items(0, 1, &[5]), items(1, 0, &[3, 4])],
            tail: Vec::new(),
        },
        overlays: vec![overlay(0, 1), overlay(0, 1), overlay(2, 0)],
        ..captured(1, Some(0))
    };
    vec![
        run_opened(),
        session_opened(0, None),
        message_added(0, vec![(new(vec![own()]), Cause::UserInput)]),
        Event::RequestCaptured(first),
        dispatched(0),
        Event::ResponseReceived(answered(0)),
        tool_called(0, 0, 1),
        tool_returned(0),
        message_added(
            0,
            vec![
                (new(answer_values(0, 1)), Cause::Answer(RequestId::new(0))),
                (new(vec![output(0, 0)]), Cause::ToolResult(ToolCallId::new(0))),
            ],
        ),
        context_edited(
            0,
            vec![splice(
                0,
                1,
                vec![Added { part: new(vec![answer_text(0, 0)]), cause: Cause::Inserted }],
            )],
        ),
        Event::RequestCaptured(second),
        Event::ResponseFailed(Answered { items: Vec::new(), ..answered(1) }),
        Event::ImportedRecord(ImportedRecord {
            index: 0,
            offset: 0,
            reason: "odd".to_owned(),
            bytes: text("x"),
        }),
        Event::OutputFound(found(0, &["out", "put"], Dropped::Unknown)),
        session_opened(1, Some(0)),
        run_closed(),
    ]
}

/// The builder after the first `events` events of the run.
fn built(events: usize) -> Builder {
    let mut builder = Builder::new();
    for (seq, event) in (0..).zip(run().into_iter().take(events)) {
        builder.push(seq, event).unwrap();
    }
    builder
}

#[test]
fn a_whole_copy_of_an_output_is_preferred_to_one_with_a_gap() {
    let mut builder = built(run().len() - 1);
    builder.push(20, Event::OutputFound(found(0, &["whole"], Dropped::Bytes(0)))).unwrap();
    builder.push(21, Event::OutputFound(found(0, &["later"], Dropped::Bytes(0)))).unwrap();
    let history = builder.finish().unwrap();
    let call = &history.calls()[0];
    assert_eq!(call.found(0), Some(&found(0, &["whole"], Dropped::Bytes(0))));
    assert_eq!(call.found(1), None);
    assert_eq!(call.found.len(), 3);
    assert_eq!(call.output.as_ref().map(Vec::len), Some(1));
}

#[test]
fn a_run_with_every_kind_of_event_is_accepted() {
    let history = built(run().len()).finish().unwrap();
    assert_eq!(history.events(), run().len() as u64);
    assert!(history.closed().is_some_and(|closed| closed.complete));
    assert_eq!(history.opened().recorder, "test");
    assert_eq!(history.sessions().len(), 2);
    let requests = [RequestId::new(0), RequestId::new(1)];
    assert_eq!(history.sessions()[0].requests, requests);
    assert!(history.sessions()[1].requests.is_empty());
    assert_eq!(history.records().len(), 1);
    let [first, second] = history.requests() else { panic!("two requests") };
    assert_eq!((first.previous, second.previous), (None, Some(requests[0])));
    assert_eq!((first.seq, second.seq), (3, 10));
    assert_eq!((first.session(), first.escape()), (SessionId::new(0), Escape::PYTHON_ASCII));
    assert_eq!((first.overlays().len(), second.overlays().len()), (0, 3));
    assert!(first.dispatched.is_some() && second.dispatched.is_none());
    let ends = [first, second].map(|request| request.answer.as_ref().map(|(end, _)| *end));
    assert_eq!(ends, [Some(End::Received), Some(End::Failed)]);
    let changes = |request: &Request| {
        let count = |change: &Change| match change {
            Change::Appended(parts) => ("appended", parts.len()),
            Change::Edited(splices) => ("edited", splices.len()),
        };
        request.changes.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(changes(first), [("appended", 1)]);
    assert_eq!(changes(second), [("appended", 2), ("edited", 1)]);
}

#[test]
fn every_slot_of_an_accepted_run_has_its_text() {
    let history = built(run().len()).finish().unwrap();
    let texts = |part: u32| {
        let part = history.part(PartNo::new(part));
        assert_eq!(part.bytes, 2 + 5 * part.holes.len() as u64);
        assert_eq!(history.skeleton(part).slots.len(), part.holes.len());
        let text = |hole| history.text(hole).as_inline().unwrap();
        part.holes.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(history.parts().len(), 6);
    assert_eq!(texts(0), [b"words"]);
    assert_eq!(texts(1), [b""; 0]);
    assert_eq!(texts(3), [&b"said"[..], b"id", b"id", b"id"]);
    assert_eq!(texts(4), [b"output"]);
    assert_eq!(texts(5), [b"said"]);
    let returned = |part: u32| {
        let hole = &history.part(PartNo::new(part)).holes[0];
        history.returned(hole).map(|returned| returned.measure.chars)
    };
    assert_eq!((returned(4), returned(3)), (Some(6), None));
    let (call, request) = (ToolCallId::new(0), RequestId::new(0));
    assert_eq!(history.call_of(request, 1), Some(call));
    assert_eq!(history.call_of(request, 0), None);
    assert_eq!(history.call_item(call).map(|item| item.kind), Some(ItemKind::ToolCall));
    assert_eq!(history.calls().len(), 1);
    assert_eq!(history.call(call).map(|call| call.dropped), Some(Dropped::Bytes(3)));
    assert!(history.call(ToolCallId::new(1)).is_none());
    assert!(history.call_item(ToolCallId::new(1)).is_none());
    assert!(history.request(RequestId::new(2)).is_none());
}

#[test]
fn every_beginning_of_a_run_is_a_history_but_nothing_is_none() {
    let none = HistoryError::NoRun { seq: 0 };
    assert_eq!(built(0).finish().err(), Some(none));
    for events in 1..=run().len() {
        let history = built(events).finish().unwrap();
        assert_eq!(history.events(), events as u64);
        assert_eq!(history.closed().is_some(), events == run().len());
    }
}
