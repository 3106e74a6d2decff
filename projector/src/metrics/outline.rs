//! What no policy changes about a run's parts: where their blocks end, whose words they are, and
//! which of their texts are outputs of tools.
//!
//! A block is an element of the outermost lists of a part (a content block, a tool definition), or
//! the part itself where it has none.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use artifacts::{ArtifactId, Source};
use ledger::content::Content;
use ledger::history::{History, Part, SkeletonInfo};
use ledger::id::PartNo;
use ledger::wire::{PartKind, Role, SlotKind};

use super::cache::Said;
use crate::fold::index::UnitKind;
use crate::fold::{Index, ProjectError};
use crate::view::{found_copy, text_of};

/// A text that is an output of a tool, by its place among all distinct ones.
pub type TextNo = u32;

/// Whose words bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Voice {
    /// Tool definitions.
    Tools,
    /// System text.
    System,
    /// User text.
    User,
    /// Text of the model.
    Assistant,
    /// Reasoning of the model.
    Reasoning,
    /// Tool calls.
    Calls,
    /// Outputs of tools.
    Results,
    /// Texts of the policy: markers and replacements.
    Markers,
    /// Ids, names, media and the syntax around everything.
    Framing,
}

impl Voice {
    /// How many there are.
    pub const COUNT: usize = 9;
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Tools,
        Self::System,
        Self::User,
        Self::Assistant,
        Self::Reasoning,
        Self::Calls,
        Self::Results,
        Self::Markers,
        Self::Framing,
    ];

    /// The word used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Reasoning => "reasoning",
            Self::Calls => "calls",
            Self::Results => "results",
            Self::Markers => "markers",
            Self::Framing => "framing",
        }
    }

    /// Its place in [`Voice::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A text in a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotOutline {
    pub(crate) voice: Voice,
    /// Equal texts, equal words.
    pub(crate) ident: u64,
    /// Its length, unescaped.
    pub(crate) bytes: u64,
    /// Its length as written.
    pub(crate) escaped_bytes: u64,
    /// For an output: which one, and of which tool.
    pub(crate) output: Option<(TextNo, u32)>,
    /// The whole of it that was found beside the wire.
    pub(crate) found: Option<FoundOutline>,
}

/// A whole output that was found beside the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundOutline {
    pub(crate) text: TextNo,
    pub(crate) ident: u64,
    pub(crate) bytes: u64,
}

/// A mark that stands in the part itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnMark {
    pub(crate) block: usize,
    pub(crate) long: bool,
}

/// A part.
#[derive(Clone, Debug)]
pub(crate) struct PartOutline {
    pub(crate) kind: PartKind,
    /// Offsets in the literal at which blocks end; the last is its length.
    pub(crate) ends: Vec<usize>,
    pub(crate) said: Vec<Said>,
    pub(crate) marks: Vec<OwnMark>,
    pub(crate) slots: Vec<SlotOutline>,
    /// A message of a person, or of the program that drives the client.
    pub(crate) is_user_turn: bool,
}

impl PartOutline {
    /// The block at an offset of the literal.
    pub(crate) fn block_at(&self, offset: usize) -> usize {
        let at = self.ends.partition_point(|end| *end <= offset);
        at.min(self.ends.len().saturating_sub(1))
    }
}

/// An output of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputText {
    /// Where it stands first.
    pub(crate) part: PartNo,
    pub(crate) slot: usize,
    pub(crate) bytes: u64,
    /// It was found beside the wire and never sent.
    pub(crate) found: bool,
}

/// All parts of a run.
#[derive(Clone, Debug)]
pub struct Outline {
    parts: Vec<PartOutline>,
    outputs: Vec<OutputText>,
    tools: Vec<Vec<u8>>,
}

impl Outline {
    /// Works it out, once for a run.
    ///
    /// # Errors
    /// A literal is missing or damaged.
    pub fn new(
        history: &History,
        source: &dyn Source,
        index: &Index,
    ) -> Result<Self, ProjectError> {
        let mut outline =
            Self { parts: Vec::new(), outputs: Vec::new(), tools: index.tools().to_vec() };
        let unknown = u32::try_from(outline.tools.len()).unwrap_or(u32::MAX);
        outline.tools.push(b"(unknown)".to_vec());
        let mut known: BTreeMap<u64, TextNo> = BTreeMap::new();
        for (number, part) in (0..).map(PartNo::new).zip(history.parts()) {
            let skeleton = history.skeleton(part);
            let literal = skeleton.literal.read(source)?;
            let (ends, marks) = scan(skeleton, &literal);
            let mut slots = Vec::with_capacity(part.holes.len());
            for (slot, (def, hole)) in skeleton.slots.iter().zip(&part.holes).enumerate() {
                let text = history.text(hole);
                let ident = ident(text);
                let is_output = def.kind == SlotKind::TOOL_OUTPUT;
                let tool = || {
                    let unit = index.part(number).units.iter().find(|unit| {
                        unit.kind == UnitKind::Result
                            && unit.slots.iter().any(|of| usize::from(*of) == slot)
                    });
                    unit.and_then(|unit| unit.tool).unwrap_or(unknown)
                };
                let place = (number, slot);
                let output = is_output
                    .then(|| (outline.output(&mut known, ident, text.len(), place, false), tool()));
                let found = found_copy(history, hole).filter(|_| is_output).map(|copy| {
                    let (ident, bytes) = (self::ident(copy), copy.len());
                    let text = outline.output(&mut known, ident, bytes, place, true);
                    FoundOutline { text, ident, bytes }
                });
                slots.push(SlotOutline {
                    voice: voice(def.kind, skeleton.role),
                    ident,
                    bytes: text.len(),
                    escaped_bytes: hole.escaped_bytes,
                    output,
                    found,
                });
            }
            outline.parts.push(PartOutline {
                kind: skeleton.kind,
                said: said(skeleton, part, &ends),
                ends,
                marks,
                slots,
                is_user_turn: index.part(number).is_user_turn(),
            });
        }
        Ok(outline)
    }

    /// The number of an output, a new one when it was not seen before.
    fn output(
        &mut self,
        known: &mut BTreeMap<u64, TextNo>,
        ident: u64,
        bytes: u64,
        (part, slot): (PartNo, usize),
        found: bool,
    ) -> TextNo {
        let next = u32::try_from(self.outputs.len()).unwrap_or(u32::MAX);
        let no = *known.entry(ident).or_insert(next);
        if no == next {
            self.outputs.push(OutputText { part, slot, bytes, found });
        } else if let Some(output) = self.outputs.get_mut(no as usize) {
            output.found &= found;
        }
        no
    }

    /// The text of an output.
    pub(crate) fn text<'h>(&self, history: &'h History, text: TextNo) -> Option<&'h Content> {
        let output = self.outputs.get(text as usize)?;
        let place = (output.part, output.slot);
        text_of(history, place, self.is_copy(output, text))
    }

    /// The bytes of an output; none for a number that is none.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn read(
        &self,
        history: &History,
        source: &dyn Source,
        text: TextNo,
    ) -> Result<Arc<[u8]>, ProjectError> {
        let Some(content) = self.text(history, text) else { return Ok(Arc::from([])) };
        Ok(Arc::from(&*content.read(source)?))
    }

    /// True when the text is the copy that was found for the slot where it stands first.
    fn is_copy(&self, output: &OutputText, text: TextNo) -> bool {
        let slot = self.part(output.part).slots.get(output.slot);
        slot.is_some_and(|slot| slot.output.is_none_or(|(sent, _)| sent != text))
    }

    pub(crate) fn part(&self, part: PartNo) -> &PartOutline {
        self.parts.get(part.index()).expect("the outline has every part of its history")
    }

    /// Distinct outputs of tools.
    pub(crate) fn outputs(&self) -> &[OutputText] {
        &self.outputs
    }

    /// Which output fills a slot, and of which tool.
    pub fn output_of(&self, part: PartNo, slot: usize) -> Option<(TextNo, u32)> {
        self.parts.get(part.index())?.slots.get(slot)?.output
    }

    /// The tool that an output is of, by its place among [`Outline::tools`].
    pub fn tool_of(&self, text: TextNo) -> Option<u32> {
        let output = self.outputs.get(text as usize)?;
        let slot = self.part(output.part).slots.get(output.slot)?;
        slot.output.map(|(_, tool)| tool)
    }

    /// Names of tools; the last stands for those that are not known.
    pub fn tools(&self) -> &[Vec<u8>] {
        &self.tools
    }
}

/// The first 8 bytes of the SHA-256 of a text.
fn ident(text: &Content) -> u64 {
    let id = match text.artifact() {
        Some(artifact) => artifact.id(),
        None => ArtifactId::of(text.as_inline().unwrap_or_default()),
    };
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(id.as_bytes()) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

fn voice(kind: SlotKind, role: Role) -> Voice {
    match kind {
        SlotKind::SYSTEM_TEXT => Voice::System,
        SlotKind::USER_TEXT => Voice::User,
        SlotKind::ASSISTANT_TEXT => Voice::Assistant,
        SlotKind::THINKING | SlotKind::OPAQUE => Voice::Reasoning,
        SlotKind::TOOL_OUTPUT => Voice::Results,
        SlotKind::ARGUMENTS => Voice::Calls,
        SlotKind::OTHER => match role {
            Role::User => Voice::User,
            Role::System => Voice::System,
            Role::Assistant => Voice::Assistant,
            Role::Tool | Role::Unknown => Voice::Framing,
        },
        _ => Voice::Framing,
    }
}

fn said(skeleton: &SkeletonInfo, part: &Part, ends: &[usize]) -> Vec<Said> {
    let base = if skeleton.role == Role::Assistant { Said::Model } else { Said::Input };
    let mut said = alloc::vec![base; ends.len()];
    for (def, _) in skeleton.slots.iter().zip(&part.holes) {
        let offset = def.offset as usize;
        let block = ends.partition_point(|end| *end <= offset).min(ends.len().saturating_sub(1));
        let Some(place) = said.get_mut(block) else { continue };
        match def.kind {
            SlotKind::TOOL_OUTPUT | SlotKind::RESULT_CALL_ID => *place = Said::Result,
            SlotKind::ARGUMENTS | SlotKind::TOOL_NAME if *place != Said::Result => {
                *place = Said::Call;
            }
            _ => {}
        }
    }
    said
}

/// Members that mark a block for the provider's cache.
const MARK_KEYS: [&[u8]; 2] = [b"cache_control", b"prompt_cache_breakpoint"];
/// How far behind its name the value of a mark is looked at.
const MARK_BYTES: usize = 80;

/// True for the value of a mark that asks for the longer of two lifetimes.
pub(crate) fn is_long(value: &[u8]) -> bool {
    let has = |word: &[u8]| value.windows(word.len()).any(|found| found == word);
    has(b"\"1h\"") || has(b"\"12h\"")
}

/// Where the blocks of a literal end, and which of them carry a mark. What fills the slots is not
/// there: a slot is within a string, or stands for a whole value.
fn scan(skeleton: &SkeletonInfo, literal: &[u8]) -> (Vec<usize>, Vec<OwnMark>) {
    let mut ends = Vec::new();
    let mut marks = Vec::new();
    let (mut depth, mut list_depth) = (0_usize, None);
    let mut string: Option<usize> = None;
    let mut skip = false;
    for (at, byte) in literal.iter().enumerate() {
        if skip {
            skip = false;
            continue;
        }
        if let Some(start) = string {
            match byte {
                b'\\' => skip = true,
                b'"' => {
                    string = None;
                    let name = literal.get(start + 1..at).unwrap_or_default();
                    let is_member = list_depth.is_some_and(|list| depth == list + 2);
                    if is_member && MARK_KEYS.contains(&name) && follows_colon(literal, at + 1) {
                        let to = (at + MARK_BYTES).min(literal.len());
                        let long = is_long(literal.get(at..to).unwrap_or_default());
                        marks.push(OwnMark { block: ends.len(), long });
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = Some(at),
            b'[' => {
                list_depth = list_depth.or(Some(depth));
                depth += 1;
            }
            b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if *byte == b'}' && list_depth.is_some_and(|list| depth == list + 1) {
                    ends.push(at + 1);
                }
                if *byte == b']' && list_depth == Some(depth) {
                    list_depth = None;
                }
            }
            _ => {}
        }
    }
    let length = literal.len().max(skeleton.slots.last().map_or(0, |slot| slot.offset as usize));
    match ends.last_mut() {
        Some(last) => *last = length + 1,
        None => ends.push(length + 1),
    }
    let last = ends.len() - 1;
    for mark in &mut marks {
        mark.block = mark.block.min(last);
    }
    (ends, marks)
}

fn follows_colon(literal: &[u8], from: usize) -> bool {
    let rest = literal.get(from..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}
