//! What no policy can change: for each part its texts, its tool calls and its results.
//!
//! Worked out once for a history, without reading an artifact, and shared by every projector over
//! it, however many policies there are.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ledger::event::{Dropped, HoleValue};
use ledger::history::{History, ListWalker, Part, SkeletonInfo};
use ledger::id::{PartNo, ToolCallId};
use ledger::wire::{Role, SlotKind};

/// A tool by the place of its name in the index.
pub(crate) type ToolNo = u32;

/// What a call and its result have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PairKey {
    /// A call on record.
    Call(ToolCallId),
    /// A call that no recorded answer asked for, by the id that the client sent.
    Sent(u32),
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A tool call; its slots are the arguments.
    Call,
    /// A tool result; its slots are the output.
    Result,
    /// Reasoning, with its signatures.
    Reasoning,
    /// An image or another medium.
    Media,
}

/// A stretch of a part that steps act on as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) kind: UnitKind,
    /// Which block of the part it is.
    pub(crate) group: u16,
    pub(crate) key: Option<PairKey>,
    /// The called tool, where it is known.
    pub(crate) tool: Option<ToolNo>,
    /// Its slots, ascending.
    pub(crate) slots: Vec<u16>,
    /// Escaped length of what fills its slots.
    pub(crate) bytes: u64,
    /// Length of what fills its slots.
    pub(crate) text_bytes: u64,
    /// For a result: the whole output is on record.
    pub(crate) whole: bool,
}

/// A part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartIndex {
    /// Length of its bytes.
    pub(crate) bytes: u64,
    /// Length of its texts; ids and names are not text.
    pub(crate) text_bytes: u64,
    /// Who speaks.
    pub(crate) role: Role,
    /// In order of their first slot.
    pub(crate) units: Vec<Unit>,
}

impl PartIndex {
    /// True for a message that a person, or the program that drives the client, wrote.
    pub(crate) fn is_user_turn(&self) -> bool {
        self.role == Role::User && self.units.iter().all(|unit| unit.kind != UnitKind::Result)
    }
}

/// What no policy can change about a run.
#[derive(Clone, Debug, Default)]
pub struct Index {
    parts: Vec<PartIndex>,
    tools: Vec<Vec<u8>>,
    /// The request whose answer asked for a call.
    asked: BTreeMap<ToolCallId, u32>,
    /// For each request, the bytes of the parts around its messages; `None` where its lists do
    /// not fit together.
    frames: Vec<Option<u64>>,
}

impl Index {
    /// Works it out.
    pub fn new(history: &History) -> Self {
        let mut names = Names::default();
        names.learn(history);
        let parts = history.parts().iter().map(|part| names.part(history, part)).collect();
        let mut walker = ListWalker::new(history);
        let frames = history.requests().iter().map(|request| {
            let lists = walker.lists(request.captured.request).ok()?;
            let bytes = |part: &PartNo| history.part(*part).bytes;
            Some(lists.head.iter().chain(&lists.tail).map(bytes).sum())
        });
        let frames = frames.collect();
        let calls = (0_u32..).zip(history.calls());
        let asked = calls
            .filter_map(|(number, call)| Some((ToolCallId::new(number), call.asked?.0.number())));
        Self { parts, tools: names.tools, asked: asked.collect(), frames }
    }

    /// The request whose answer asked for a call, where it is on record.
    pub(crate) fn asked(&self, key: PairKey) -> Option<u32> {
        match key {
            PairKey::Call(call) => self.asked.get(&call).copied(),
            PairKey::Sent(_) => None,
        }
    }

    /// A part that a list of the history names.
    pub(crate) fn part(&self, part: PartNo) -> &PartIndex {
        self.parts.get(part.index()).expect("the index has every part of its history")
    }

    /// Names of tools, by number.
    pub(crate) fn tools(&self) -> &[Vec<u8>] {
        &self.tools
    }

    /// Bytes around the messages of the request with this index.
    pub(crate) fn frame_bytes(&self, request: usize) -> Option<u64> {
        self.frames.get(request).copied().flatten()
    }
}

/// Tool names and sent call ids, numbered as first seen.
#[derive(Debug, Default)]
struct Names<'h> {
    tools: Vec<Vec<u8>>,
    tool_no: BTreeMap<Vec<u8>, ToolNo>,
    sent: BTreeMap<&'h [u8], u32>,
    /// The tool of a sent id; `None` when two calls of different tools have it.
    sent_tools: BTreeMap<u32, Option<ToolNo>>,
}

impl<'h> Names<'h> {
    /// Learns which tools the calls name that no recorded answer asked for.
    fn learn(&mut self, history: &'h History) {
        for part in history.parts() {
            let slots = &history.skeleton(part).slots;
            for (def, hole) in slots.iter().zip(&part.holes) {
                if def.kind != SlotKind::CALL_ID {
                    continue;
                }
                let HoleValue::Own(id) = &hole.value else { continue };
                let Some(id) = id.as_inline() else { continue };
                let name = slots.iter().zip(&part.holes).find(|(other, _)| {
                    other.kind == SlotKind::TOOL_NAME && other.group == def.group
                });
                let name = name.and_then(|(_, hole)| history.text(hole).as_inline());
                let tool = name.map(|name| self.tool(name));
                let sent = self.sent(id);
                let known = self.sent_tools.entry(sent).or_insert(tool);
                if *known != tool {
                    *known = None;
                }
            }
        }
    }

    fn tool(&mut self, name: &[u8]) -> ToolNo {
        if let Some(number) = self.tool_no.get(name) {
            return *number;
        }
        let number = ToolNo::try_from(self.tools.len()).unwrap_or(ToolNo::MAX);
        self.tools.push(name.to_vec());
        self.tool_no.insert(name.to_vec(), number);
        number
    }

    fn sent(&mut self, id: &'h [u8]) -> u32 {
        let next = u32::try_from(self.sent.len()).unwrap_or(u32::MAX);
        *self.sent.entry(id).or_insert(next)
    }

    fn tool_of(&mut self, history: &History, key: Option<PairKey>) -> Option<ToolNo> {
        match key? {
            PairKey::Call(call) => {
                let name = history.call_item(call)?.name.as_ref()?.as_inline()?;
                Some(self.tool(name))
            }
            PairKey::Sent(id) => self.sent_tools.get(&id).copied().flatten(),
        }
    }

    fn part(&mut self, history: &'h History, part: &'h Part) -> PartIndex {
        let skeleton = history.skeleton(part);
        let mut index =
            PartIndex { bytes: part.bytes, role: skeleton.role, ..PartIndex::default() };
        for (slot, (def, hole)) in skeleton.slots.iter().zip(&part.holes).enumerate() {
            let text_bytes = history.text(hole).len();
            let kind = match def.kind {
                SlotKind::CALL_ID | SlotKind::ITEM_ID => {
                    self.call(history, skeleton, part, def.group, &mut index);
                    continue;
                }
                SlotKind::RESULT_CALL_ID | SlotKind::TOOL_NAME | SlotKind::RESULT_NAME => continue,
                SlotKind::ARGUMENTS => {
                    self.call(history, skeleton, part, def.group, &mut index);
                    Some(UnitKind::Call)
                }
                SlotKind::TOOL_OUTPUT => Some(UnitKind::Result),
                SlotKind::THINKING | SlotKind::OPAQUE => Some(UnitKind::Reasoning),
                SlotKind::MEDIA => Some(UnitKind::Media),
                _ => None,
            };
            index.text_bytes += text_bytes;
            let Some(kind) = kind else { continue };
            let at = index.units.iter().position(|unit| unit.is(kind, def.group));
            let at = at.unwrap_or_else(|| {
                let key = (kind == UnitKind::Result)
                    .then(|| self.key_of_result(history, skeleton, part, def.group));
                let key = key.flatten();
                let tool = self.tool_of(history, key);
                index.units.push(Unit::new(kind, def.group, key, tool));
                index.units.len() - 1
            });
            let Some(unit) = index.units.get_mut(at) else { continue };
            if kind == UnitKind::Result {
                unit.whole &= is_whole(history, &hole.value, unit.key);
            }
            unit.slots.push(u16::try_from(slot).unwrap_or(u16::MAX));
            unit.bytes += hole.escaped_bytes;
            unit.text_bytes += text_bytes;
        }
        index
    }

    /// Notes the call that a block asks for.
    fn call(
        &mut self,
        history: &'h History,
        skeleton: &SkeletonInfo,
        part: &'h Part,
        group: u16,
        index: &mut PartIndex,
    ) {
        if index.units.iter().any(|unit| unit.is(UnitKind::Call, group)) {
            return;
        }
        let holes = skeleton.slots.iter().zip(&part.holes).filter(|(def, _)| def.group == group);
        let recorded = holes.clone().find_map(|(def, hole)| match (def.kind, &hole.value) {
            (SlotKind::CALL_ID | SlotKind::ITEM_ID, HoleValue::AnswerCallId { request, item })
            | (SlotKind::ARGUMENTS, HoleValue::AnswerText { request, item }) => {
                history.call_of(*request, *item)
            }
            _ => None,
        });
        let sent = || {
            holes.clone().find_map(|(def, hole)| match (def.kind, &hole.value) {
                (SlotKind::CALL_ID, HoleValue::Own(id)) => id.as_inline(),
                _ => None,
            })
        };
        let key = match recorded {
            Some(call) => PairKey::Call(call),
            None => match sent() {
                Some(id) => PairKey::Sent(self.sent(id)),
                None => return,
            },
        };
        let tool = self.tool_of(history, Some(key));
        index.units.push(Unit::new(UnitKind::Call, group, Some(key), tool));
    }

    fn key_of_result(
        &mut self,
        history: &'h History,
        skeleton: &SkeletonInfo,
        part: &'h Part,
        group: u16,
    ) -> Option<PairKey> {
        let holes = skeleton.slots.iter().zip(&part.holes).filter(|(def, _)| def.group == group);
        let recorded = holes.clone().find_map(|(def, hole)| match (def.kind, &hole.value) {
            (_, HoleValue::Output { call, .. }) => Some(*call),
            (SlotKind::RESULT_CALL_ID, HoleValue::AnswerCallId { request, item }) => {
                history.call_of(*request, *item)
            }
            _ => None,
        });
        if let Some(call) = recorded {
            return Some(PairKey::Call(call));
        }
        let mut sent = holes.filter_map(|(def, hole)| match (def.kind, &hole.value) {
            (SlotKind::RESULT_CALL_ID, HoleValue::Own(id)) => id.as_inline(),
            _ => None,
        });
        sent.next().map(|id| PairKey::Sent(self.sent(id)))
    }
}

impl Unit {
    fn new(kind: UnitKind, group: u16, key: Option<PairKey>, tool: Option<ToolNo>) -> Self {
        Self { kind, group, key, tool, slots: Vec::new(), bytes: 0, text_bytes: 0, whole: true }
    }

    fn is(&self, kind: UnitKind, group: u16) -> bool {
        self.kind == kind && self.group == group
    }
}

/// True when a text of a result is the whole output of its call. A second result of a call is
/// not the output that is on record for it.
fn is_whole(history: &History, value: &HoleValue, key: Option<PairKey>) -> bool {
    let (HoleValue::Output { index, .. }, Some(PairKey::Call(call))) = (value, key) else {
        return false;
    };
    let Some(call) = history.call(call) else { return false };
    if call.dropped == Dropped::Bytes(0) {
        return true;
    }
    // What was found beside the wire may be the very text that was sent.
    let sent = call.output.as_ref().and_then(|output| output.get(usize::from(*index)));
    let found = call.found(*index).filter(|found| found.dropped == Dropped::Bytes(0));
    sent.zip(found).is_some_and(|(sent, found)| {
        found.pieces.first().is_some_and(|piece| piece.text == sent.text)
    })
}
