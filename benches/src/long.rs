//! A run of thousands of turns, built in memory from its events: one that was imported would cost
//! the square of its length before anything is measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use artifacts::{ArtifactId, ArtifactRef, GetError, Source};
use ledger::content::Content;
use ledger::event::{
    Added, AnswerItem, Answered, Cause, Dropped, Event, Headers, Hole, HoleValue, ItemKind,
    MessageAdded, Origin, PartDef, PartUse, RequestCaptured, Returned, RunOpened, Rung,
    SessionBasis, SessionOpened, Skeleton, SkeletonUse, SlotDef, Splice, Splices, TextMeasure,
    ToolCalled, ToolReturned, Transfer,
};
use ledger::history::{Builder, History};
use ledger::id::{PartNo, RequestId, RunId, SessionId, SkeletonNo, ToolCallId};
use ledger::wire::{Dialect, Escape, PartKind, Role, SlotKind};

/// Bytes of most outputs.
const OUTPUT_BYTES: usize = 600;
/// Every so many turns, an output has [`LARGE_BYTES`].
const LARGE_EVERY: usize = 16;
/// Bytes of the other outputs.
const LARGE_BYTES: usize = 24_000;
const SEPARATOR: &str = ",";
/// The skeletons, by number, in the order in which they are told.
const MODEL_SKELETON: u32 = 3;
const RESULT_SKELETON: u32 = 4;

/// Artifacts in memory.
#[derive(Debug, Default)]
struct Held(BTreeMap<ArtifactId, Arc<[u8]>>);

impl Source for Held {
    fn read(&self, artifact: &ArtifactRef) -> Result<Arc<[u8]>, GetError> {
        let id = artifact.id();
        self.0.get(&id).map(Arc::clone).ok_or(GetError::Missing { id })
    }
}

/// A chat of so many turns: a request, an answer with reasoning and a call, an output.
#[derive(Debug)]
pub struct Long {
    history: History,
    held: Held,
}

struct Writer {
    builder: Builder,
    seq: u64,
    held: Held,
    parts: u32,
    body_bytes: u64,
}

impl Long {
    /// Builds the run.
    ///
    /// # Panics
    /// The events do not fit together: that would be a mistake of this module.
    #[must_use]
    pub fn new(turns: usize) -> Self {
        let mut writer = Writer {
            builder: Builder::new(),
            seq: 0,
            held: Held::default(),
            parts: 0,
            body_bytes: 0,
        };
        writer.open();
        for turn in 0..turns {
            writer.turn(turn);
        }
        Self { history: writer.builder.finish().expect("the run is whole"), held: writer.held }
    }

    /// The run.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Its artifacts.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        &self.held
    }
}

impl Writer {
    fn push(&mut self, event: Event) {
        self.builder.push(self.seq, event).expect("the events fit together");
        self.seq += 1;
    }

    fn open(&mut self) {
        self.push(Event::RunOpened(RunOpened {
            run: RunId::from_bytes([7; 16]),
            origin: Origin::Api,
            source: None,
            recorder: "bench".into(),
            ruleset: ("none".into(), 1, [0; 32]),
            opened_unix_ns: 0,
        }));
        self.push(Event::SessionOpened(SessionOpened {
            session: SessionId::new(0),
            parent: None,
            basis: SessionBasis::Content,
            client_session: None,
            aliases: Vec::new(),
        }));
    }

    /// References have no public constructor, but an event may always be decoded.
    fn stored(&mut self, bytes: &[u8]) -> Content {
        let id = ArtifactId::of(bytes);
        self.held.0.insert(id, bytes.into());
        let mut event = vec![1, 0, 0, 0];
        event.extend(id.as_bytes());
        event.extend((bytes.len() as u64).to_le_bytes());
        ledger::codec::decode(&event).expect("a reference can be read")
    }

    fn part(&mut self, skeleton: SkeletonUse, literal_bytes: usize, holes: Vec<Hole>) -> PartUse {
        self.parts += 1;
        let holes_bytes: u64 = holes.iter().map(|hole| hole.escaped_bytes).sum();
        self.body_bytes += literal_bytes as u64 + holes_bytes;
        PartUse::New(PartDef { digest: [0; 32], skeleton, holes })
    }

    fn add(&mut self, part: PartUse, cause: Cause) {
        let added = vec![Added { part, cause }];
        self.push(Event::MessageAdded(MessageAdded { session: SessionId::new(0), added }));
    }

    fn turn(&mut self, turn: usize) {
        let request = RequestId::new(narrow(turn));
        if turn == 0 {
            self.first(request);
        } else {
            self.body_bytes += 2 * SEPARATOR.len() as u64;
            let inserted = vec![PartNo::new(self.parts - 2), PartNo::new(self.parts - 1)];
            let at = self.parts - 4;
            let items = vec![Splice { at, remove: 0, insert: inserted }];
            let splices = Splices { head: Vec::new(), items, tail: Vec::new() };
            self.capture(request, Some(RequestId::new(narrow(turn - 1))), splices);
        }
        self.answer(turn, request);
    }

    /// The frame, and what the user says.
    fn first(&mut self, request: RequestId) {
        let user = "{\"role\":\"user\",\"content\":\"Go on until it is done.\"}";
        let skeleton = new(PartKind::Item, Role::User, user, Vec::new());
        // Parts around the messages are numbered by the request, which comes behind the message.
        let user = self.part(skeleton, user.len(), Vec::new());
        self.add(user, Cause::UserInput);
        let head = "{\"system\":\"You are brief.\",\"messages\":[";
        let skeleton = new(PartKind::Glue, Role::Unknown, head, Vec::new());
        let head = vec![self.part(skeleton, head.len(), Vec::new())];
        let skeleton = new(PartKind::Glue, Role::Unknown, "]}", Vec::new());
        let tail = vec![self.part(skeleton, 2, Vec::new())];
        let all = |insert| vec![Splice { at: 0, remove: 0, insert }];
        let items = vec![Splice { at: 0, remove: 0, insert: vec![PartNo::new(0)] }];
        self.capture(request, None, Splices { head: all(head), items, tail: all(tail) });
    }

    fn capture(&mut self, request: RequestId, base: Option<RequestId>, splices: Splices) {
        let body_bytes = self.body_bytes;
        self.push(Event::RequestCaptured(RequestCaptured {
            request,
            session: SessionId::new(0),
            attempt: 1,
            attempt_of: None,
            dialect: Dialect::AnthropicMessages.tag(),
            model: None,
            body_bytes,
            body_digest: [0; 32],
            component_digests: [[0; 32]; 4],
            rung: Rung::BodyExact,
            redactions: 0,
            transfer: Transfer { content_coding: None, sent_bytes: body_bytes },
            policy: None,
            propensity: None,
            unsplit: None,
            base,
            separator: inline(SEPARATOR.as_bytes()),
            escape: Escape::JSON,
            splices,
            overlays: Vec::new(),
        }));
    }

    /// The answer asks for a call, which returns.
    fn answer(&mut self, turn: usize, request: RequestId) {
        let id = format!("call_{turn}");
        let path = format!("{{\"path\":\"src/file_{}.rs\"}}", turn % 97);
        let thought = format!("Turn {turn}: look at the file before anything else.");
        let said = |kind, text: &str| AnswerItem {
            kind,
            complete: true,
            text: inline(text.as_bytes()),
            item_id: None,
            call_id: None,
            name: None,
        };
        let items = vec![
            said(ItemKind::Thinking, &thought),
            AnswerItem {
                call_id: Some(inline(id.as_bytes())),
                name: Some(inline(b"read_file")),
                ..said(ItemKind::ToolCall, &path)
            },
        ];
        self.push(Event::ResponseReceived(Answered {
            request,
            status: 200,
            time_us: None,
            headers: Headers::Full(Vec::new()),
            body: None,
            body_withheld: false,
            items,
            usage: None,
            stop: None,
            answer_id: None,
            unparsed_events: 0,
        }));
        let call = ToolCallId::new(narrow(turn));
        self.push(Event::ToolCalled(ToolCalled { call, request, item: 1 }));
        let id_hole = |id: &str| hole(id, HoleValue::AnswerCallId { request, item: 1 });
        let holes = vec![
            hole(&thought, HoleValue::AnswerText { request, item: 0 }),
            id_hole(&id),
            hole("read_file", HoleValue::AnswerToolName { request, item: 1 }),
            Hole {
                escape: Escape::VERBATIM,
                escaped_bytes: path.len() as u64,
                value: HoleValue::AnswerText { request, item: 1 },
            },
        ];
        let model = self.known(MODEL_SKELETON, &MODEL, Role::Assistant, holes);
        self.add(model, Cause::Answer(request));
        let output = output(turn);
        let text = self.stored(output.as_bytes());
        let measure = TextMeasure::of(&output);
        let returned = Returned { text, measure };
        let dropped = Dropped::Bytes(0);
        self.push(Event::ToolReturned(ToolReturned {
            call,
            output: vec![returned],
            dropped,
            redactions: 0,
        }));
        let holes = vec![id_hole(&id), hole(&output, HoleValue::Output { call, index: 0 })];
        let result = self.known(RESULT_SKELETON, &RESULT, Role::User, holes);
        self.add(result, Cause::ToolResult(call));
    }

    /// A part whose skeleton is told with the first of its kind.
    fn known(&mut self, number: u32, pieces: &Pieces, role: Role, holes: Vec<Hole>) -> PartUse {
        let mut literal = String::new();
        let mut slots = Vec::new();
        for (text, kind) in pieces.0 {
            literal += text;
            let offset = narrow(literal.len());
            slots.extend(kind.map(|(kind, group)| SlotDef { offset, kind, group }));
        }
        let first = self.parts == number;
        let skeleton = if first {
            new(PartKind::Item, role, &literal, slots)
        } else {
            SkeletonUse::Known(SkeletonNo::new(number))
        };
        self.part(skeleton, literal.len(), holes)
    }
}

/// Bytes of a literal, each followed by a slot, where there is one.
struct Pieces(&'static [(&'static str, Option<(SlotKind, u16)>)]);

const MODEL: Pieces = Pieces(&[
    (
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"",
        Some((SlotKind::THINKING, 0)),
    ),
    ("\"},{\"type\":\"tool_use\",\"id\":\"", Some((SlotKind::CALL_ID, 1))),
    ("\",\"name\":\"", Some((SlotKind::TOOL_NAME, 1))),
    ("\",\"input\":", Some((SlotKind::ARGUMENTS, 1))),
    ("}]}", None),
]);

const RESULT: Pieces = Pieces(&[
    (
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"",
        Some((SlotKind::RESULT_CALL_ID, 0)),
    ),
    ("\",\"content\":\"", Some((SlotKind::TOOL_OUTPUT, 0))),
    ("\"}]}", None),
]);

/// An output as tools write them: numbered lines, now and then many.
fn output(turn: usize) -> String {
    let size = if turn % LARGE_EVERY == LARGE_EVERY - 1 { LARGE_BYTES } else { OUTPUT_BYTES };
    let mut text = String::with_capacity(size + 64);
    for line in 1.. {
        if text.len() >= size {
            break;
        }
        let written = writeln!(text, "{line:>5}: fn step_{turn}_{line}() -> Result<(), Error> {{");
        written.expect("a string takes all that is written to it");
    }
    text
}

fn new(kind: PartKind, role: Role, literal: &str, slots: Vec<SlotDef>) -> SkeletonUse {
    let literal = inline(literal.as_bytes());
    SkeletonUse::New(Skeleton { part_kind: kind.tag(), role: role.tag(), literal, slots })
}

fn hole(text: &str, value: HoleValue) -> Hole {
    Hole { escape: Escape::JSON, escaped_bytes: Escape::JSON.escaped_bytes(text), value }
}

/// Content inside its event.
fn inline(bytes: &[u8]) -> Content {
    let mut event = vec![0, 0, 0, 0];
    event.extend((bytes.len() as u64).to_le_bytes());
    event.extend(bytes);
    ledger::codec::decode(&event).expect("content can be read")
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("runs are counted in 32 bits")
}
