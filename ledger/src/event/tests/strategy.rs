//! Any event, for round trips. Written by hand: a new field does not compile before it is added
//! here.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::samples;
use crate::content::Content;
use crate::event::*;
use crate::id::{PartNo, RequestId, RunId, SessionId, SkeletonNo, ToolCallId};
use crate::wire::{Escape, SlotKind};

pub(super) fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        "\\PC{0,6}".prop_map(|text| samples::inline(&text)),
        any::<([u8; 32], u64)>().prop_map(|(id, bytes)| samples::stored(id, bytes)),
    ]
}

fn word() -> impl Strategy<Value = String> {
    "\\PC{0,6}"
}

fn request() -> impl Strategy<Value = RequestId> {
    any::<u32>().prop_map(RequestId::new)
}

pub(super) fn session() -> impl Strategy<Value = SessionId> {
    any::<u32>().prop_map(SessionId::new)
}

pub(super) fn call() -> impl Strategy<Value = ToolCallId> {
    any::<u32>().prop_map(ToolCallId::new)
}

fn part() -> impl Strategy<Value = PartNo> {
    any::<u32>().prop_map(PartNo::new)
}

fn escape() -> impl Strategy<Value = Escape> {
    any::<u8>().prop_map(|bits| crate::codec::decode(&[bits]).unwrap())
}

fn slot_def() -> impl Strategy<Value = SlotDef> {
    any::<(u32, u8, u16)>().prop_map(|(offset, kind, group)| {
        let kind: SlotKind = crate::codec::decode(&[kind]).unwrap();
        SlotDef { offset, kind, group }
    })
}

fn hole() -> impl Strategy<Value = Hole> {
    let answer = || (request(), any::<u16>());
    let value = prop_oneof![
        content().prop_map(HoleValue::Own),
        answer().prop_map(|(request, item)| HoleValue::AnswerText { request, item }),
        answer().prop_map(|(request, item)| HoleValue::AnswerCallId { request, item }),
        answer().prop_map(|(request, item)| HoleValue::AnswerItemId { request, item }),
        answer().prop_map(|(request, item)| HoleValue::AnswerToolName { request, item }),
        (call(), any::<u16>()).prop_map(|(call, index)| HoleValue::Output { call, index }),
    ];
    (escape(), any::<u64>(), value).prop_map(|(escape, escaped_bytes, value)| Hole {
        escape,
        escaped_bytes,
        value,
    })
}

fn part_use() -> impl Strategy<Value = PartUse> {
    let skeleton = (any::<(u8, u8)>(), content(), vec(slot_def(), 0..3));
    let skeleton = skeleton.prop_map(|((part_kind, role), literal, slots)| {
        SkeletonUse::New(Skeleton { part_kind, role, literal, slots })
    });
    let known = any::<u32>().prop_map(|number| SkeletonUse::Known(SkeletonNo::new(number)));
    let def = (any::<[u8; 32]>(), prop_oneof![skeleton, known], vec(hole(), 0..3));
    let def = def.prop_map(|(digest, skeleton, holes)| PartDef { digest, skeleton, holes });
    prop_oneof![def.prop_map(PartUse::New), part().prop_map(PartUse::Known)]
}

fn added() -> impl Strategy<Value = Added> {
    let cause = prop_oneof![
        request().prop_map(Cause::Answer),
        call().prop_map(Cause::ToolResult),
        prop::sample::select(vec![
            Cause::UserInput,
            Cause::Inserted,
            Cause::Returned,
            Cause::Unlinked(Unlinked::NoSuchAnswer),
            Cause::Unlinked(Unlinked::NoSuchCall),
            Cause::Unlinked(Unlinked::SecondResult),
            Cause::Unlinked(Unlinked::SeveralCalls),
        ]),
    ];
    (part_use(), cause).prop_map(|(part, cause)| Added { part, cause })
}

fn splices<T: core::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<Splice<T>>> {
    let splice = (any::<(u32, u32)>(), vec(value, 0..3));
    vec(splice.prop_map(|((at, remove), insert)| Splice { at, remove, insert }), 0..3)
}

fn headers() -> impl Strategy<Value = Headers> {
    let changed = (request(), vec((any::<u16>(), content()), 0..3));
    prop_oneof![
        vec((content(), content()), 0..3).prop_map(Headers::Full),
        changed.prop_map(|(of, values)| Headers::Changed { of, values }),
    ]
}

fn run() -> impl Strategy<Value = Event> {
    let opened = (any::<([u8; 16], bool, u32, [u8; 32], u64)>(), of(content()), (word(), word()));
    let opened = opened.prop_map(|((run, har, version, digest, opened_unix_ns), source, words)| {
        Event::RunOpened(RunOpened {
            run: RunId::from_bytes(run),
            origin: if har { Origin::Har } else { Origin::Api },
            source,
            recorder: words.0,
            ruleset: (words.1, version, digest),
            opened_unix_ns,
        })
    });
    let closed = any::<(bool, Option<[u8; 32]>, u64, u64)>().prop_map(|all| {
        let (complete, source_digest, source_records, source_unknown) = all;
        Event::RunClosed(RunClosed { complete, source_digest, source_records, source_unknown })
    });
    let record = (any::<(u64, u64)>(), word(), content()).prop_map(|all| {
        let ((index, offset), reason, bytes) = all;
        Event::ImportedRecord(ImportedRecord { index, offset, reason, bytes })
    });
    prop_oneof![opened, closed, record]
}

fn redaction() -> impl Strategy<Value = Event> {
    let failed = (word(), any::<u64>()).prop_map(|(reason, raw_bytes)| {
        Event::RedactionFailed(RedactionFailed { reason, raw_bytes })
    });
    let configured = (word(), any::<(u32, [u8; 32], Option<[u8; 8]>, u32)>(), vec(word(), 0..3));
    let configured = configured.prop_map(|(id, (version, digest, key, known_values), known)| {
        let ruleset = (id, version, digest);
        Event::RedactionConfigured(RedactionConfigured { ruleset, key, known, known_values })
    });
    let span = any::<(u16, u64, u64, u64, u8)>().prop_map(|all| {
        let (rule, offset, bytes, raw_bytes, flags) = all;
        ReplacedSpan { rule, offset, bytes, raw_bytes, flags }
    });
    let replaced = (any::<([u8; 32], u64)>(), vec(span, 0..3));
    let replaced = replaced.prop_map(|((text, raw_bytes), spans)| {
        Event::SpansReplaced(SpansReplaced { text, raw_bytes, spans })
    });
    prop_oneof![failed, configured, replaced]
}

fn conversation() -> impl Strategy<Value = Event> {
    let basis = prop_oneof![
        Just(SessionBasis::Header),
        Just(SessionBasis::Content),
        Just(SessionBasis::Side),
    ];
    let opened = (session(), of(session()), basis, of(content()), vec(content(), 0..3));
    let opened = opened.prop_map(|(session, parent, basis, client_session, aliases)| {
        Event::SessionOpened(SessionOpened { session, parent, basis, client_session, aliases })
    });
    let message = (session(), vec(added(), 0..4))
        .prop_map(|(session, added)| Event::MessageAdded(MessageAdded { session, added }));
    let edited = (session(), splices(added()))
        .prop_map(|(session, splices)| Event::ContextEdited(ContextEdited { session, splices }));
    prop_oneof![opened, message, edited]
}

fn captured() -> impl Strategy<Value = Event> {
    let ids = (request(), session(), of(request()), of(request()));
    let numbers = any::<(u16, u8, u64, u32, u64)>();
    let digests = any::<([u8; 32], [[u8; 32]; 4])>();
    let rung = prop::sample::select(Rung::ALL.to_vec());
    let contents = (of(content()), of(content()), content());
    let words = (of(word()), of(word()));
    let lists = (splices(part_use()), splices(part()), splices(part_use()));
    let overlay = (any::<(u32, u32)>(), content()).prop_map(|((item, offset), bytes)| Overlay {
        item,
        offset,
        bytes,
    });
    let drawn = (any::<[u8; 32]>(), any::<u32>(), any::<u32>());
    let drawn = drawn
        .prop_map(|(policy, draw, millionths)| Box::new(Propensity { policy, draw, millionths }));
    let rest = (escape(), vec(overlay, 0..3), of(drawn));
    (ids, numbers, digests, rung, contents, words, lists, rest).prop_map(|all| {
        let (ids, numbers, digests, rung, contents, words, lists, rest) = all;
        let (escape, overlays, propensity) = rest;
        Event::RequestCaptured(RequestCaptured {
            request: ids.0,
            session: ids.1,
            attempt: numbers.0,
            attempt_of: ids.2,
            dialect: numbers.1,
            model: contents.0,
            body_bytes: numbers.2,
            body_digest: digests.0,
            component_digests: digests.1,
            rung,
            redactions: numbers.3,
            transfer: Transfer { content_coding: words.0, sent_bytes: numbers.4 },
            policy: contents.1,
            unsplit: words.1.map(|reason| Unsplit { reason }),
            base: ids.3,
            separator: contents.2,
            escape,
            splices: Splices { head: lists.0, items: lists.1, tail: lists.2 },
            overlays,
            propensity,
        })
    })
}

fn answer_item() -> impl Strategy<Value = AnswerItem> {
    let kind = prop_oneof![
        Just(ItemKind::Text),
        Just(ItemKind::Thinking),
        Just(ItemKind::ToolCall),
        Just(ItemKind::Opaque),
    ];
    let contents = (content(), of(content()), of(content()), of(content()));
    (kind, any::<bool>(), contents).prop_map(|(kind, complete, contents)| {
        let (text, item_id, call_id, name) = contents;
        AnswerItem { kind, complete, text, item_id, call_id, name }
    })
}

fn answered() -> impl Strategy<Value = Answered> {
    let usage = any::<[Option<u64>; 6]>().prop_map(|counts| {
        let [input_tokens, output_tokens, cache_read_tokens, rest @ ..] = counts;
        let [cache_write_tokens, reasoning_tokens, total_tokens] = rest;
        Usage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
            total_tokens,
        }
    });
    let numbers = any::<(u16, Option<u64>, bool, u32)>();
    let contents = (of(content()), of(content()), of(content()));
    let lists = (headers(), vec(answer_item(), 0..4));
    (request(), numbers, contents, lists, of(usage)).prop_map(|all| {
        let (request, numbers, contents, (headers, items), usage) = all;
        let (status, time_us, body_withheld, unparsed_events) = numbers;
        let (body, stop, answer_id) = contents;
        Answered {
            request,
            status,
            time_us,
            headers,
            body,
            body_withheld,
            items,
            usage,
            stop,
            answer_id,
            unparsed_events,
        }
    })
}

fn exchange() -> impl Strategy<Value = Event> {
    let dispatched = (request(), of(any::<u64>()), content(), content(), headers());
    let dispatched = dispatched.prop_map(|(request, at_unix_ns, method, url, headers)| {
        Event::RequestDispatched(Dispatched { request, at_unix_ns, method, url, headers })
    });
    prop_oneof![
        captured(),
        dispatched,
        answered().prop_map(Event::ResponseReceived),
        answered().prop_map(Event::ResponseFailed),
        answered().prop_map(Event::ResponseAborted),
    ]
}

fn text() -> impl Strategy<Value = Returned> {
    (content(), any::<(u64, u64, u64)>()).prop_map(|(text, (chars, utf16, line_feeds))| Returned {
        text,
        measure: TextMeasure { chars, utf16, line_feeds },
    })
}

fn tool() -> impl Strategy<Value = Event> {
    let called = (call(), request(), any::<u16>())
        .prop_map(|(call, request, item)| Event::ToolCalled(ToolCalled { call, request, item }));
    let dropped = prop_oneof![Just(Dropped::Unknown), any::<u64>().prop_map(Dropped::Bytes)];
    let at = (call(), any::<u16>(), "[a-z-]{0,9}", any::<u64>());
    let pieces = (vec(text(), 0..3), dropped.clone(), any::<u32>());
    let found = (at, pieces).prop_map(|((call, index, source, record), pieces)| {
        let (pieces, dropped, redactions) = pieces;
        let found = OutputFound { call, index, source, record, pieces, dropped, redactions };
        Event::OutputFound(found)
    });
    let returned = (call(), vec(text(), 0..3), dropped, any::<u32>());
    let returned = returned.prop_map(|(call, output, dropped, redactions)| {
        Event::ToolReturned(ToolReturned { call, output, dropped, redactions })
    });
    prop_oneof![called, returned, found]
}

/// Any event of any kind.
/// Boxed, since all kinds together would take most of a test's stack.
pub(super) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => run().boxed(),
        3 => conversation().boxed(),
        5 => exchange().boxed(),
        2 => tool().boxed(),
        2 => redaction().boxed(),
        7 => super::strategy_identity::event().boxed(),
    ]
}
