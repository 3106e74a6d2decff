//! One event of each kind, every variant of every stored enum among them, in the order of tags.

use super::golden;
use crate::content::Content;
use crate::event::*;
use crate::id::{PartNo, RequestId, RunId, SessionId, SkeletonNo, ToolCallId};
use crate::wire::{Escape, SlotKind};

/// Redacted bytes inside an event, made by decoding, as no test may make them otherwise.
pub(super) fn inline(text: &str) -> Content {
    let length = (text.len() as u64).to_le_bytes();
    let stored = [&[0; 4], length.as_slice(), text.as_bytes()].concat();
    crate::codec::decode(&stored).unwrap()
}

/// A reference to an artifact.
pub(super) fn stored(id: [u8; 32], bytes: u64) -> Content {
    let stored = [&[1, 0, 0, 0], id.as_slice(), &bytes.to_le_bytes()].concat();
    crate::codec::decode(&stored).unwrap()
}

/// Events with their golden bytes.
pub(super) fn all() -> Vec<(Event, Vec<u8>)> {
    let events = [
        (run_opened(), golden::RUN_OPENED),
        (run_closed(), golden::RUN_CLOSED),
        (session_opened(), golden::SESSION_OPENED),
        (message_added(), golden::MESSAGE_ADDED),
        (context_edited(), golden::CONTEXT_EDITED),
        (request_captured(), golden::REQUEST_CAPTURED),
        (request_dispatched(), golden::REQUEST_DISPATCHED),
        (response_received(), golden::RESPONSE_RECEIVED),
        (Event::ResponseFailed(no_answer(0, false)), golden::RESPONSE_FAILED),
        (Event::ResponseAborted(no_answer(200, true)), golden::RESPONSE_ABORTED),
        (tool_called(), golden::TOOL_CALLED),
        (tool_returned(), golden::TOOL_RETURNED),
        (output_found(), golden::OUTPUT_FOUND),
        (redaction_failed(), golden::REDACTION_FAILED),
        (redaction_configured(), golden::REDACTION_CONFIGURED),
        (spans_replaced(), golden::SPANS_REPLACED),
        (imported_record(), golden::IMPORTED_RECORD),
    ];
    let mut all: Vec<_> = events.into_iter().chain(super::samples_identity::all()).collect();
    all.sort_by_key(|(event, _)| event.kind());
    all.into_iter().map(|(event, text)| (event, golden::bytes(text))).collect()
}

fn run_opened() -> Event {
    let run = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
    Event::RunOpened(RunOpened {
        run: RunId::from_bytes(run),
        origin: Origin::Har,
        source: Some(inline("a.har")),
        recorder: "0.1.0".to_owned(),
        ruleset: ("core".to_owned(), 1, [0xaa; 32]),
        opened_unix_ns: 0x0102_0304_0506_0708,
    })
}

fn run_closed() -> Event {
    Event::RunClosed(RunClosed {
        complete: true,
        source_digest: Some([0xbb; 32]),
        source_records: 7,
        source_unknown: 2,
    })
}

fn session_opened() -> Event {
    Event::SessionOpened(SessionOpened {
        session: SessionId::new(3),
        parent: Some(SessionId::new(1)),
        basis: SessionBasis::Side,
        client_session: Some(stored([0xcc; 32], 9000)),
        aliases: vec![inline("sh"), inline("")],
    })
}

fn hole(escape: Escape, value: HoleValue) -> Hole {
    Hole { escape, escaped_bytes: 5, value }
}

fn new_part() -> PartDef {
    let (request, item) = (RequestId::new(6), 7);
    let slot = |(group, kind)| SlotDef { offset: 1, kind, group };
    let kinds = [
        SlotKind::SYSTEM_TEXT,
        SlotKind::USER_TEXT,
        SlotKind::ASSISTANT_TEXT,
        SlotKind::THINKING,
        SlotKind::TOOL_OUTPUT,
        SlotKind::ARGUMENTS,
    ];
    PartDef {
        digest: [0xdd; 32],
        skeleton: SkeletonUse::New(Skeleton {
            part_kind: 4,
            role: 2,
            literal: inline("{}"),
            slots: (0x100..).zip(kinds).map(slot).collect(),
        }),
        holes: vec![
            hole(Escape::PYTHON_ASCII, HoleValue::Own(inline("hi"))),
            hole(Escape::JSON, HoleValue::AnswerText { request, item }),
            hole(Escape::JSON, HoleValue::AnswerCallId { request, item }),
            hole(Escape::JSON, HoleValue::AnswerItemId { request, item }),
            hole(Escape::JSON, HoleValue::AnswerToolName { request, item }),
            hole(Escape::VERBATIM, HoleValue::Output { call: ToolCallId::new(8), index: 1 }),
        ],
    }
}

fn message_added() -> Event {
    let known_skeleton = PartDef {
        digest: [0xee; 32],
        skeleton: SkeletonUse::Known(SkeletonNo::new(4)),
        holes: Vec::new(),
    };
    let known = |cause| Added { part: PartUse::Known(PartNo::new(9)), cause };
    Event::MessageAdded(MessageAdded {
        session: SessionId::new(1),
        added: vec![
            Added { part: PartUse::New(new_part()), cause: Cause::Answer(RequestId::new(6)) },
            Added {
                part: PartUse::New(known_skeleton),
                cause: Cause::ToolResult(ToolCallId::new(8)),
            },
            known(Cause::UserInput),
            known(Cause::Inserted),
            known(Cause::Returned),
            known(Cause::Unlinked(Unlinked::NoSuchCall)),
            known(Cause::Unlinked(Unlinked::SecondResult)),
        ],
    })
}

fn context_edited() -> Event {
    let part = PartUse::Known(PartNo::new(5));
    let added = Added { part, cause: Cause::Unlinked(Unlinked::NoSuchAnswer) };
    Event::ContextEdited(ContextEdited {
        session: SessionId::new(2),
        splices: vec![
            Splice { at: 1, remove: 3, insert: vec![added] },
            Splice { at: 6, remove: 1, insert: Vec::new() },
        ],
    })
}

pub(super) fn request_captured() -> Event {
    let known = |part| PartUse::Known(PartNo::new(part));
    let parts = vec![PartNo::new(10), PartNo::new(11)];
    Event::RequestCaptured(RequestCaptured {
        request: RequestId::new(5),
        session: SessionId::new(1),
        attempt: 2,
        attempt_of: Some(RequestId::new(4)),
        dialect: 3,
        model: Some(inline("m-1")),
        body_bytes: 1000,
        body_digest: [1; 32],
        component_digests: [[0x10; 32], [0x11; 32], [0x12; 32], [0x13; 32]],
        rung: Rung::ExactModuloRedaction,
        redactions: 1,
        transfer: Transfer { content_coding: Some("zstd".to_owned()), sent_bytes: 400 },
        policy: Some(inline("p")),
        unsplit: Some(Unsplit { reason: "why".to_owned() }),
        base: Some(RequestId::new(3)),
        separator: inline(","),
        escape: Escape::detect(b"\\u00e9"),
        splices: Splices {
            head: vec![Splice { at: 0, remove: 1, insert: vec![known(2)] }],
            items: vec![Splice { at: 4, remove: 0, insert: parts }],
            tail: vec![Splice { at: 0, remove: 0, insert: Vec::new() }],
        },
        overlays: vec![Overlay { item: 5, offset: 17, bytes: inline(",c") }],
        propensity: None,
    })
}

fn request_dispatched() -> Event {
    Event::RequestDispatched(Dispatched {
        request: RequestId::new(5),
        at_unix_ns: Some(1_700_000_000_000_000_000),
        method: inline("POST"),
        url: inline("/v1"),
        headers: Headers::Full(vec![(inline("a"), inline("b"))]),
    })
}

fn item(kind: ItemKind, text: &str) -> AnswerItem {
    let text = inline(text);
    AnswerItem { kind, complete: true, text, item_id: None, call_id: None, name: None }
}

fn response_received() -> Event {
    Event::ResponseReceived(Answered {
        request: RequestId::new(5),
        status: 200,
        time_us: Some(1500),
        headers: Headers::Changed { of: RequestId::new(4), values: vec![(3, inline("v"))] },
        body: Some(stored([0x20; 32], 70_000)),
        body_withheld: false,
        items: vec![
            AnswerItem { item_id: Some(inline("i")), ..item(ItemKind::Text, "t") },
            item(ItemKind::Thinking, "h"),
            AnswerItem {
                complete: false,
                call_id: Some(inline("c")),
                name: Some(inline("n")),
                ..item(ItemKind::ToolCall, "{")
            },
            item(ItemKind::Opaque, ""),
        ],
        usage: Some(Usage {
            input_tokens: Some(1),
            output_tokens: Some(2),
            cache_read_tokens: Some(3),
            cache_write_tokens: None,
            reasoning_tokens: Some(0),
            total_tokens: Some(9),
        }),
        stop: Some(inline("end")),
        answer_id: Some(inline("r")),
        unparsed_events: 1,
    })
}

fn no_answer(status: u16, body_withheld: bool) -> Answered {
    Answered {
        request: RequestId::new(6),
        status,
        time_us: None,
        headers: Headers::Full(Vec::new()),
        body: None,
        body_withheld,
        items: Vec::new(),
        usage: None,
        stop: None,
        answer_id: None,
        unparsed_events: 0,
    }
}

fn tool_called() -> Event {
    let (call, request) = (ToolCallId::new(8), RequestId::new(5));
    Event::ToolCalled(ToolCalled { call, request, item: 2 })
}

fn tool_returned() -> Event {
    let returned = |text, measure| Returned { text, measure };
    let measure = TextMeasure { chars: 3, utf16: 4, line_feeds: 1 };
    Event::ToolReturned(ToolReturned {
        call: ToolCallId::new(8),
        output: vec![
            returned(stored([0x30; 32], 4), measure),
            returned(inline(""), TextMeasure::default()),
        ],
        dropped: Dropped::Bytes(12),
        redactions: 1,
    })
}

fn output_found() -> Event {
    let measure = TextMeasure { chars: 3, utf16: 4, line_feeds: 1 };
    Event::OutputFound(OutputFound {
        call: ToolCallId::new(8),
        index: 2,
        source: "spill".to_owned(),
        record: 7,
        pieces: vec![
            Returned { text: stored([0x31; 32], 4), measure },
            Returned { text: inline("z"), measure: TextMeasure::default() },
        ],
        dropped: Dropped::Unknown,
        redactions: 1,
    })
}

fn redaction_failed() -> Event {
    let reason = "failed".to_owned();
    Event::RedactionFailed(RedactionFailed { reason, raw_bytes: 4096 })
}

fn redaction_configured() -> Event {
    Event::RedactionConfigured(RedactionConfigured {
        ruleset: ("custom".to_owned(), 3, [0xab; 32]),
        key: Some(*b"\x01\x02\x03\x04\x05\x06\x07\x08"),
        known: vec!["API_KEY".to_owned()],
        known_values: 1,
    })
}

fn spans_replaced() -> Event {
    let span = ReplacedSpan { rule: 3, offset: 16, bytes: 40, raw_bytes: 40, flags: 1 };
    let (text, raw_bytes) = ([0xcd; 32], 600);
    Event::SpansReplaced(SpansReplaced { text, raw_bytes, spans: vec![span] })
}

fn imported_record() -> Event {
    Event::ImportedRecord(ImportedRecord {
        index: 3,
        offset: 4096,
        reason: "no url".to_owned(),
        bytes: inline("{}"),
    })
}
