//! Goal: the stored form of every event kind is frozen, comes back exactly, and nothing else is
//! taken for an event. Method: golden bytes for each kind and a tag for each enum variant, every
//! cut, bit and length of the golden bytes damaged, and round trips of any event.

use core::mem::size_of;

use proptest::prelude::*;

use super::*;
use crate::codec::{EVENT_BODY_BYTES_MAX, MEMORY_PER_BODY_BYTE_MAX, decode, encode};
use crate::content::Content;
use crate::id::{PartNo, RequestId, SessionId, SkeletonNo, ToolCallId};
use crate::wire::{Dialect, Escape, PartKind, Role, SlotKind};

mod golden;
mod golden_identity;
mod samples;
mod samples_identity;
mod strategy;
mod strategy_identity;

use samples::{inline, stored};

/// Decodes a body as the current version of a kind.
fn read(kind: Kind, body: &[u8]) -> Result<Event, EventError> {
    Event::decode(kind.tag(), KIND_VERSION, body)
}

fn reason(kind: Kind, body: &[u8]) -> String {
    match read(kind, body) {
        Err(EventError::Body { source: CodecError::Invalid { reason }, .. }) => reason,
        other => panic!("{kind:?}: {other:?}"),
    }
}

/// A damaged body is refused, or is the one encoding of another event.
#[track_caller]
fn refused_or_canonical(kind: Kind, body: &[u8]) {
    match read(kind, body) {
        Ok(event) => {
            assert_eq!(event.kind(), kind);
            assert_eq!(event.encode().unwrap(), body);
        }
        Err(EventError::Body { kind: name, .. }) => assert_eq!(name, kind.name()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_kind_is_stored_as_its_golden_bytes() {
    let samples = samples::all();
    let kinds: Vec<_> = samples.iter().map(|(event, _)| event.kind()).collect();
    assert_eq!(kinds, Kind::ALL);
    for (event, golden) in samples {
        assert_eq!(event.encode().unwrap(), golden, "{:?}", event.kind());
        assert_eq!(read(event.kind(), &golden).unwrap(), event);
    }
}

#[test]
fn t35_bodies_that_version_1_wrote_decode_as_they_did() {
    // Written down once; every later version reads them.
    for (event, golden) in samples::all() {
        assert_eq!(Event::decode(event.kind().tag(), 1, &golden), Ok(event));
    }
}

#[test]
fn a_drawn_policy_stands_behind_what_version_1_has() {
    let Event::RequestCaptured(captured) = samples::request_captured() else { unreachable!() };
    let drawn = Propensity { policy: [0xab; 32], draw: 7, millionths: 250_000 };
    let event = Event::RequestCaptured(RequestCaptured {
        propensity: Some(Box::new(drawn)),
        ..captured.clone()
    });
    // Written down from the layout: the id, then two numbers of four bytes.
    let mut wanted = golden::bytes(golden::REQUEST_CAPTURED);
    wanted.extend([0xab; 32]);
    wanted.extend([7, 0, 0, 0, 0x90, 0xd0, 3, 0]);
    assert_eq!(event.encode().unwrap(), wanted);
    assert_eq!((event.version(), Event::RequestCaptured(captured).version()), (2, 1));
    assert_eq!(Event::decode(40, 2, &wanted), Ok(event));
    for cut in 0..wanted.len() {
        assert!(Event::decode(40, 2, &wanted[..cut]).is_err(), "{cut}");
    }
    // Neither version reads the other's bodies.
    assert!(Event::decode(40, 1, &wanted).is_err());
}

#[test]
fn kinds_keep_their_tags_and_names() {
    let kinds: Vec<_> = Kind::ALL.iter().map(|kind| (kind.tag(), kind.name())).collect();
    assert_eq!(
        kinds,
        [
            (16, "run_opened"),
            (17, "run_closed"),
            (18, "session_opened"),
            (19, "session_reset"),
            (20, "session_closed"),
            (21, "aliases_advertised"),
            (24, "principal_minted"),
            (25, "principal_bound"),
            (26, "principal_observed"),
            (27, "principal_stopped"),
            (28, "principal_forked"),
            (32, "message_added"),
            (33, "context_edited"),
            (34, "compacted"),
            (35, "turn_started"),
            (37, "user_prompted"),
            (38, "turn_accepted"),
            (39, "turn_ended"),
            (40, "request_captured"),
            (41, "request_dispatched"),
            (42, "response_received"),
            (43, "response_failed"),
            (44, "response_aborted"),
            (48, "tool_called"),
            (49, "tool_returned"),
            (50, "output_found"),
            (51, "tool_dispatched"),
            (52, "hook_published"),
            (53, "review_updated"),
            (54, "tool_ended"),
            (55, "result_settled"),
            (56, "approval_asked"),
            (57, "approval_answered"),
            (58, "approval_retracted"),
            (59, "tool_observed"),
            (64, "subagent_spawned"),
            (65, "subagent_ended"),
            (72, "redaction_failed"),
            (74, "redaction_configured"),
            (75, "spans_replaced"),
            (80, "imported_record"),
        ]
    );
    assert_eq!(KIND_VERSION, 1);
}

#[test]
fn every_variant_of_a_stored_enum_keeps_its_tag() {
    fn tag(value: &impl bincode::Encode) -> u32 {
        let bytes = encode(value).unwrap();
        u32::from_le_bytes(*bytes.first_chunk().unwrap())
    }
    let (request, call, item) = (RequestId::new(9), ToolCallId::new(9), 9);
    let part = PartDef {
        digest: [9; 32],
        skeleton: SkeletonUse::Known(SkeletonNo::new(9)),
        holes: Vec::new(),
    };
    let literal = Skeleton { part_kind: 9, role: 9, literal: inline("9"), slots: Vec::new() };
    let tags: &[&[u32]] = &[
        &[
            tag(&Origin::Api),
            tag(&Origin::Har),
            tag(&Origin::Proxy),
            tag(&Origin::Transcript),
            tag(&Origin::Acp),
            tag(&Origin::Stdio),
        ],
        &[tag(&SessionBasis::Header), tag(&SessionBasis::Content), tag(&SessionBasis::Side)],
        &Rung::ALL.map(|rung| tag(&rung)),
        &[
            tag(&ItemKind::Text),
            tag(&ItemKind::Thinking),
            tag(&ItemKind::ToolCall),
            tag(&ItemKind::Opaque),
        ],
        &[
            tag(&Unlinked::NoSuchAnswer),
            tag(&Unlinked::NoSuchCall),
            tag(&Unlinked::SecondResult),
            tag(&Unlinked::SeveralCalls),
        ],
        &[tag(&Dropped::Unknown), tag(&Dropped::Bytes(9))],
        &[
            tag(&Cause::Answer(request)),
            tag(&Cause::ToolResult(call)),
            tag(&Cause::UserInput),
            tag(&Cause::Inserted),
            tag(&Cause::Returned),
            tag(&Cause::Unlinked(Unlinked::SecondResult)),
        ],
        &[
            tag(&HoleValue::Own(inline("9"))),
            tag(&HoleValue::AnswerText { request, item }),
            tag(&HoleValue::AnswerCallId { request, item }),
            tag(&HoleValue::AnswerItemId { request, item }),
            tag(&HoleValue::AnswerToolName { request, item }),
            tag(&HoleValue::Output { call, index: 9 }),
        ],
        &[tag(&SkeletonUse::New(literal)), tag(&SkeletonUse::Known(SkeletonNo::new(9)))],
        &[tag(&PartUse::New(part)), tag(&PartUse::Known(PartNo::new(9)))],
        &[
            tag(&Headers::Full(Vec::new())),
            tag(&Headers::Changed { of: request, values: Vec::new() }),
        ],
        &[tag(&inline("9")), tag(&stored([9; 32], 9))],
    ];
    for tags in tags {
        assert!((0..).zip(*tags).all(|(expected, tag)| expected == *tag), "{tags:?}");
    }
}

#[test]
fn every_variant_of_an_enum_about_identities_keeps_its_tag() {
    /// Variants in the order of their tags, which their encodings begin with.
    macro_rules! tags {
        ($($name:ident { $($variant:expr),* $(,)? })*) => {$({
            use crate::event::$name::*;
            let mut expected = 0_u32;
            $(
                let bytes = encode(&$variant).unwrap();
                assert_eq!(bytes[..4], expected.to_le_bytes(), stringify!($name));
                expected += 1;
            )*
            assert!(expected > 1);
        })*};
    }
    let call = ToolCallId::new(1);
    let (session, ask) = (SessionId::new(1), crate::id::AskId::new(1));
    let run = crate::id::RunId::from_bytes([1; 16]);
    tags! {
        ResetReason { Process, NotFound, Closed, Asked }
        MintReason { Launch, BareStart, Reclaim, Adoption, Fork, Orphan }
        Continues { New, Unknown }
        StopReason { Ended, Removed, LaunchFailed }
        Stop { EndTurn, Error, Cancelled, Budget, NoProgress, MaxTurns, Refusal, Other }
        AliasForm { Bare, Single, Double, Server }
        Lane { Native, Bridged(AliasForm::Bare) }
        NameSource { Title, RawTool, Meta, MetaFlat }
        Correlation { Own, Queue, None }
        Outcome { Completed, Failed, Cancelled, Denied, Aborted }
        HookPhase { PreTool, PostTool, Prompt, Other }
        HookDecision { Info, Blocked, Modified, Advisory }
        Assessment { Acceptable, Prohibited, Unresolved }
        Inspection { Complete, OperationalFailure }
        Disposition {
            Execute, AskAction, WithholdResult, ReleaseResult, Deny, PassAdvisory, ContinueWarning,
        }
        AskOrigin { Unknown, Permission, HookGuardrail, Plan }
        OptionKind { AllowOnce, AllowAlways, RejectOnce, RejectAlways, Other }
        Verdict { Deny, AllowOnce, AllowAlways, DenyAlways, Cancelled, Unknown }
        RetractReason { Cancelled, Replaced, SessionGone }
        Receipt { Exact { ask, call, origin: session, review: Option::None }, Legacy }
        Child { Session(session), Run(run), Unknown }
    }
    let jobs = crate::id::Job::ALL.map(|job| encode(&job).unwrap());
    assert_eq!(jobs, [[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]);
}

#[test]
fn tags_in_single_bytes_keep_their_meaning() {
    let wire = Dialect::ALL.map(|dialect| (dialect.tag(), dialect.name()));
    let expected = [(1, "anthropic"), (2, "openai-chat"), (3, "openai-responses"), (4, "gemini")];
    assert_eq!(wire, expected);
    let kinds = PartKind::ALL.map(|kind| (kind.tag(), kind.name()));
    let expected =
        [(0, "glue"), (1, "options"), (2, "system"), (3, "tools"), (4, "message"), (5, "verbatim")];
    assert_eq!(kinds, expected);
    let roles = Role::ALL.map(|role| (role.tag(), role.name()));
    let expected = [(0, "unknown"), (1, "system"), (2, "user"), (3, "assistant"), (4, "tool")];
    assert_eq!(roles, expected);
    for tag in 0..=u8::MAX {
        assert!(Dialect::from_tag(tag).is_none_or(|dialect| dialect.tag() == tag));
        assert!(PartKind::from_tag(tag).is_none_or(|kind| kind.tag() == tag));
        assert!(Role::from_tag(tag).is_none_or(|role| role.tag() == tag));
    }
    let escapes = [Escape::JSON, Escape::PYTHON_ASCII, Escape::GO_HTML, Escape::PHP];
    assert_eq!(escapes.map(|escape| encode(&escape).unwrap()), [[0], [33], [10], [5]]);
    assert_eq!(encode(&Escape::VERBATIM).unwrap(), [128]);
    assert_eq!(encode(&SlotKind::TOOL_OUTPUT).unwrap(), [5]);
}

#[test]
fn unknown_kinds_and_versions_are_refused_by_name() {
    let known: Vec<_> = Kind::ALL.iter().map(|kind| kind.tag()).collect();
    let body = golden::bytes(golden::TOOL_CALLED);
    for tag in 0..=u16::MAX {
        let found = Event::decode(tag, KIND_VERSION, &body);
        let unknown = found == Err(EventError::UnknownKind { tag });
        assert_eq!(unknown, !known.contains(&tag), "{tag}");
        assert_eq!(Kind::from_tag(tag).map(Kind::tag), (!unknown).then_some(tag));
    }
    for (event, golden) in samples::all() {
        let kind = event.kind();
        for version in [0, 2, 3, u16::MAX] {
            if (kind, version) == (Kind::RequestCaptured, 2) {
                continue;
            }
            let found = Event::decode(kind.tag(), version, &golden);
            assert_eq!(found, Err(EventError::UnknownVersion { kind: kind.name(), version }));
        }
    }
    let error = EventError::UnknownVersion { kind: "tool_called", version: 2 };
    assert_eq!(error.to_string(), "tool_called version 2 is newer than this program");
}

#[test]
fn every_cut_of_every_golden_body_is_refused() {
    for (event, golden) in samples::all() {
        for cut in 0..golden.len() {
            assert_eq!(reason(event.kind(), &golden[..cut]), "ends early", "cut {cut}");
        }
        for extra in 1..20 {
            let longer = [golden.as_slice(), &vec![0; extra]].concat();
            let source = CodecError::Trailing { bytes: extra };
            let kind = event.kind().name();
            assert_eq!(read(event.kind(), &longer), Err(EventError::Body { kind, source }));
        }
    }
}

#[test]
fn every_flipped_bit_and_every_foreign_body_is_refused_or_another_event() {
    let samples = samples::all();
    for (event, golden) in &samples {
        let mut body = golden.clone();
        for bit in 0..golden.len() * 8 {
            body[bit / 8] ^= 1 << (bit % 8);
            refused_or_canonical(event.kind(), &body);
            body[bit / 8] ^= 1 << (bit % 8);
        }
        for (other, _) in &samples {
            refused_or_canonical(other.kind(), golden);
        }
    }
}

#[test]
fn lengths_that_no_body_can_have_are_refused_before_memory_is_asked_for() {
    // Each would be more memory than the machine has, or than a vector may have.
    let lengths = [u64::MAX, i64::MAX as u64, 1 << 62, 1 << 44, EVENT_BODY_BYTES_MAX as u64 + 1];
    for (event, golden) in samples::all() {
        for at in 0..golden.len().saturating_sub(7) {
            for length in lengths {
                let mut body = golden.clone();
                body[at..at + 8].copy_from_slice(&length.to_le_bytes());
                refused_or_canonical(event.kind(), &body);
            }
        }
    }
    let limit = "a length exceeds the limit";
    let short = |length: u64| [&[0; 8], length.to_le_bytes().as_slice()].concat();
    for length in lengths {
        let aliases = [&[0; 4], [0].as_slice(), &[0; 4], &[0], &length.to_le_bytes()].concat();
        assert_eq!(reason(Kind::SessionOpened, &aliases), limit);
        let added = [&[0; 4], length.to_le_bytes().as_slice()].concat();
        assert_eq!(reason(Kind::MessageAdded, &added), limit);
        assert_eq!(reason(Kind::ContextEdited, &added), limit);
        assert_eq!(reason(Kind::ToolReturned, &added), limit);
        let text = [short(0), short(length)[8..].to_vec()].concat();
        assert_eq!(reason(Kind::ImportedRecord, &text), limit);
    }
    // A length counts what its elements take in memory, not what they take here.
    let added = |length: u64| [&[0; 4], length.to_le_bytes().as_slice()].concat();
    let most = EVENT_BODY_BYTES_MAX / size_of::<Added>();
    assert_eq!(reason(Kind::MessageAdded, &added(most as u64 + 1)), limit);
}

#[test]
fn flags_options_variants_and_texts_have_one_spelling() {
    let closed = golden::bytes(golden::RUN_CLOSED);
    let changed = |body: &[u8], at: usize, byte: u8| {
        let mut body = body.to_vec();
        body[at] = byte;
        body
    };
    for byte in 2..=u8::MAX {
        let flag = reason(Kind::RunClosed, &changed(&closed, 0, byte));
        assert_eq!(flag, "a flag is neither 0 nor 1");
        assert_eq!(reason(Kind::RunClosed, &changed(&closed, 1, byte)), "unknown variant");
    }
    let opened = golden::bytes(golden::RUN_OPENED);
    for byte in 6..=u8::MAX {
        assert_eq!(reason(Kind::RunOpened, &changed(&opened, 16, byte)), "unknown variant");
    }
    let record = golden::bytes(golden::IMPORTED_RECORD);
    assert_eq!(reason(Kind::ImportedRecord, &changed(&record, 24, 0xff)), "text is not utf-8");
    let error = read(Kind::ImportedRecord, &changed(&record, 24, 0xff)).unwrap_err();
    assert_eq!(error.to_string(), "imported_record: not a valid body: text is not utf-8");
}

fn record(reason_bytes: usize) -> Event {
    let reason = "r".repeat(reason_bytes);
    Event::ImportedRecord(ImportedRecord { index: 0, offset: 0, reason, bytes: inline("") })
}

#[test]
fn the_largest_body_comes_back_and_a_larger_one_is_refused() {
    let rest = record(0).encode().unwrap().len();
    let largest = record(EVENT_BODY_BYTES_MAX - rest);
    let body = largest.encode().unwrap();
    assert_eq!(body.len(), EVENT_BODY_BYTES_MAX);
    assert!(read(Kind::ImportedRecord, &body).unwrap() == largest);
    let larger = record(EVENT_BODY_BYTES_MAX - rest + 1);
    assert_eq!(larger.encode(), Err(CodecError::TooLarge));
    let error = read(Kind::ImportedRecord, &[body, vec![0]].concat()).unwrap_err();
    let kind = "imported_record";
    assert_eq!(error, EventError::Body { kind, source: CodecError::TooLarge });
}

#[test]
fn lists_of_small_entries_come_back_although_they_take_more_memory_than_a_body() {
    let many = 2 * EVENT_BODY_BYTES_MAX / size_of::<Added>();
    let known = || PartUse::Known(PartNo::new(7));
    let added = || Added { part: known(), cause: Cause::Returned };
    let sample = |kind| {
        samples::all().into_iter().map(|(event, _)| event).find(|e| e.kind() == kind).unwrap()
    };
    let mut captured = sample(Kind::RequestCaptured);
    if let Event::RequestCaptured(captured) = &mut captured {
        let insert = (0..many).map(|_| known()).collect();
        captured.splices.head = vec![Splice { at: 0, remove: 0, insert }];
    }
    let mut answered = sample(Kind::ResponseReceived);
    if let Event::ResponseReceived(answered) = &mut answered {
        let item = answered.items[3].clone();
        answered.items = vec![item; usize::from(u16::MAX)];
    }
    let session = SessionId::new(0);
    let insert = (0..many).map(|_| added()).collect();
    for event in [
        Event::MessageAdded(MessageAdded { session, added: (0..many).map(|_| added()).collect() }),
        Event::ContextEdited(ContextEdited {
            session,
            splices: vec![Splice { at: 0, remove: 0, insert }],
        }),
        captured,
        answered,
    ] {
        let body = event.encode().unwrap();
        assert!(body.len() < EVENT_BODY_BYTES_MAX);
        let found = read(event.kind(), &body);
        assert!(found.as_ref() == Ok(&event), "{:?}", found.err());
    }
}

#[test]
fn no_entry_of_a_list_outgrows_the_memory_that_its_bytes_may_ask_for() {
    let part = PartUse::Known(PartNo::new(0));
    let part_bytes = encode(&part).unwrap().len();
    let item = AnswerItem {
        kind: ItemKind::Text,
        complete: true,
        text: inline(""),
        item_id: None,
        call_id: None,
        name: None,
    };
    let hole = HoleValue::AnswerText { request: RequestId::new(0), item: 0 };
    let hole = Hole { escape: Escape::JSON, escaped_bytes: 0, value: hole };
    let overlay = Overlay { item: 0, offset: 0, bytes: inline("") };
    let returned = Returned { text: inline(""), measure: TextMeasure::default() };
    let accepted = AcceptedCall {
        call: ToolCallId::new(0),
        name: inline(""),
        arguments: inline(""),
        provider_call: None,
        provider_item: None,
    };
    for (memory, stored) in [
        (size_of::<PartUse>(), part_bytes),
        (size_of::<Added>(), part_bytes + encode(&Cause::Returned).unwrap().len()),
        (size_of::<Splice<Added>>(), 16),
        (size_of::<Splice<PartNo>>(), 16),
        (size_of::<PartNo>(), 4),
        (size_of::<SlotDef>(), 7),
        (size_of::<Hole>(), encode(&hole).unwrap().len()),
        (size_of::<Overlay>(), encode(&overlay).unwrap().len()),
        (size_of::<Content>(), encode(&inline("")).unwrap().len()),
        (size_of::<(u16, Content)>(), 2 + encode(&inline("")).unwrap().len()),
        (size_of::<Returned>(), encode(&returned).unwrap().len()),
        (size_of::<AnswerItem>(), encode(&item).unwrap().len()),
        (size_of::<AcceptedCall>(), encode(&accepted).unwrap().len()),
        (size_of::<NameSeen>(), 4 + encode(&inline("")).unwrap().len()),
        (size_of::<Offered>(), 4 + encode(&inline("")).unwrap().len()),
    ] {
        assert!(memory <= MEMORY_PER_BODY_BYTE_MAX * stored, "{memory} for {stored}");
    }
}

#[test]
fn a_text_is_measured_in_every_unit() {
    let check = |text: &str| {
        let expected = TextMeasure {
            chars: text.chars().count() as u64,
            utf16: text.encode_utf16().count() as u64,
            line_feeds: text.matches('\n').count() as u64,
        };
        assert_eq!(TextMeasure::of(text), expected, "{text:?}");
    };
    ["", "a\nb\r\n", "\n\n", "caf\u{e9}", "\u{7f}\u{80}\u{7ff}\u{800}", "\u{ffff}\u{10000}"]
        .into_iter()
        .for_each(check);
    check(&('\0'..=char::MAX).collect::<String>());
}

#[test]
fn debug_output_of_content_shows_lengths_and_no_bytes() {
    let text = format!("{:?}", samples::all());
    assert!(text.contains("inline 5 bytes"));
    assert!(!text.contains("a.har"));
}

proptest! {
    #[test]
    fn any_event_comes_back_and_has_one_encoding(event in strategy::event()) {
        let body = event.encode().unwrap();
        let read = |body: &[u8]| Event::decode(event.kind().tag(), event.version(), body);
        let found = read(&body);
        prop_assert_eq!(found.as_ref(), Ok(&event));
        prop_assert_eq!(found.unwrap().encode().unwrap(), body.clone());
        for cut in 0..body.len() {
            prop_assert!(read(&body[..cut]).is_err());
        }
    }

    #[test]
    fn every_content_of_an_event_is_shown_once(event in strategy::event()) {
        let (mut inline, mut stored) = (0, 0);
        event.contents(&mut |content| match content.artifact() {
            Some(_) => stored += 1,
            None => inline += 1,
        });
        // Their debug form is one of two, and what else is in an event prints neither.
        let shown = format!("{event:?}");
        prop_assert_eq!(inline, shown.matches("Content(inline ").count());
        prop_assert_eq!(stored, shown.matches("Content(artifact ").count());
    }

    #[test]
    fn any_bytes_are_refused_or_are_the_one_encoding_of_an_event(
        mut body in prop_oneof![
            strategy::event().prop_map(|event| event.encode().unwrap()),
            prop::collection::vec(prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..200),
        ],
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        for (at, byte) in damage {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        for kind in Kind::ALL {
            refused_or_canonical(kind, &body);
        }
    }

    #[test]
    fn contents_come_back_from_their_stored_form(text in "\\PC*", id in any::<[u8; 32]>()) {
        let content = inline(&text);
        prop_assert_eq!(content.as_inline(), Some(text.as_bytes()));
        prop_assert_eq!(content.len(), text.len() as u64);
        let content = stored(id, u64::MAX);
        prop_assert_eq!(content.artifact().map(|artifact| *artifact.id().as_bytes()), Some(id));
        prop_assert_eq!(decode::<Content>(&encode(&content).unwrap()), Ok(content));
    }
}
