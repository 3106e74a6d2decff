//! Where the units of a part stand in its bytes, so that layers can take them out.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use ledger::history::Part;
use ledger::id::PartNo;
use ledger::wire::{Dialect, Escape, Role, SlotKind};

use super::{Effect, Effects};
use crate::fold::ProjectError;
use crate::fold::blocks::{Blocks, Cut, ItemNo, Left};
use crate::fold::index::{Index, Unit, UnitKind};
use crate::fold::program::{Program, bit};
use crate::fold::said::Pen;
use crate::policy::Op;
use crate::policy::op::MediaAction;
use crate::text::Unknown;

/// A part's bytes, and where its units stand in them.
#[derive(Clone, Debug)]
pub(crate) struct Placing {
    literal: Vec<u8>,
    blocks: Blocks,
    /// Offset, and escaped length as the caps leave it, of each slot.
    slots: Vec<(usize, u64)>,
    /// Of each unit.
    places: Vec<Place>,
    /// By unit and layer: bytes that stand in the place of the unit's block.
    instead: Vec<(usize, usize, Arc<[u8]>)>,
    /// The blocks in order: their units, and whether they are reasoning.
    pub(crate) order: Vec<(Vec<usize>, bool)>,
}

#[derive(Clone, Debug)]
enum Place {
    /// The part is nothing but the unit.
    Whole,
    /// These items are the unit.
    Items(Vec<ItemNo>),
}

impl Effects<'_> {
    /// Works out where the units of a part stand, and which layers may take which out.
    pub(super) fn place(
        &self,
        index: &Index,
        program: &Program<'_>,
        number: PartNo,
        effect: &mut Effect,
    ) -> Result<(), ProjectError> {
        let part = self.history.part(number);
        let units = &index.part(number).units;
        for (nth, unit) in units.iter().enumerate() {
            let mask = program.removes(unit.kind, unit.tool);
            if let Some(left) = effect.units.get_mut(nth) {
                left.removable = mask;
            }
        }
        if effect.units.iter().all(|unit| unit.removable == 0) {
            return Ok(());
        }
        let placing = self.placing(part, units, program, effect)?;
        if placing.is_none() {
            // Where they cannot be told from the rest, a step that needs it is refused.
            let first = effect.units.iter().fold(0, |all, unit| all | unit.removable);
            let step = program.layers().get(first.trailing_zeros() as usize).map(|layer| layer.0);
            effect.unknown.get_or_insert((step.unwrap_or(0), Unknown::Place));
            for left in &mut effect.units {
                left.removable = 0;
            }
        }
        effect.placing = placing.map(Arc::new);
        Ok(())
    }

    fn placing(
        &self,
        part: &Part,
        units: &[Unit],
        program: &Program<'_>,
        effect: &Effect,
    ) -> Result<Option<Placing>, ProjectError> {
        let skeleton = self.history.skeleton(part);
        let literal = skeleton.literal.read(self.source)?.to_vec();
        let offsets: Vec<usize> = skeleton.slots.iter().map(|slot| slot.offset as usize).collect();
        let Some(blocks) = Blocks::of(&literal, &offsets) else { return Ok(None) };
        let bytes = part.holes.iter().enumerate().map(|(slot, hole)| {
            let cut = effect.cuts.iter().find(|cut| cut.slot == slot);
            cut.map_or(hole.escaped_bytes, |cut| cut.capped.escaped_bytes)
        });
        let slots: Vec<_> = offsets.iter().copied().zip(bytes).collect();
        // Slots that make a block what it is, whatever its texts.
        let marks = |unit: &Unit| -> Vec<usize> {
            let own: Vec<_> = unit.slots.iter().map(|slot| usize::from(*slot)).collect();
            if !own.is_empty() {
                return own;
            }
            let named = skeleton.slots.iter().enumerate().filter(|(_, def)| {
                def.group == unit.group
                    && matches!(
                        def.kind,
                        SlotKind::CALL_ID | SlotKind::ITEM_ID | SlotKind::TOOL_NAME
                    )
            });
            named.map(|(slot, _)| slot).collect()
        };
        let mut places = Vec::with_capacity(units.len());
        for unit in units {
            let own = marks(unit);
            let others = units.iter().filter(|it| !core::ptr::eq(*it, unit)).flat_map(&marks);
            let others: Vec<usize> = others.filter_map(|slot| offsets.get(slot).copied()).collect();
            let own: Vec<usize> =
                own.iter().filter_map(|slot| offsets.get(*slot).copied()).collect();
            let whole = skeleton.role == Role::Tool || blocks.value_of(&literal, b"role").is_none();
            match place(&blocks, unit.kind, &own, &others, whole) {
                Some(place) => places.push(place),
                None => return Ok(None),
            }
        }
        let order = order(&blocks, &literal, units, &places);
        let mut placing = Placing { literal, blocks, slots, places, instead: Vec::new(), order };
        placing.texts_for_media(units, program);
        Ok(Some(placing))
    }
}

fn place(
    blocks: &Blocks,
    kind: UnitKind,
    own: &[usize],
    others: &[usize],
    whole: bool,
) -> Option<Place> {
    let mut items: Vec<ItemNo> = Vec::new();
    for offset in own {
        let element = blocks.element(*offset);
        let alone = element.filter(|element| !others.iter().any(|it| blocks.is_in(*element, *it)));
        let item = match (alone, element) {
            (Some(alone), _) => alone,
            (None, Some(_)) if kind == UnitKind::Reasoning => blocks.member_at(*offset)?,
            (None, Some(element)) => element,
            (None, None) if whole => return Some(Place::Whole),
            (None, None) if kind == UnitKind::Reasoning => blocks.member_at(*offset)?,
            (None, None) => return None,
        };
        if !items.contains(&item) {
            items.push(item);
        }
    }
    (!items.is_empty()).then_some(Place::Items(items))
}

/// The blocks of a message as the model wrote them: reasoning, text, calls.
fn order(
    blocks: &Blocks,
    literal: &[u8],
    units: &[Unit],
    places: &[Place],
) -> Vec<(Vec<usize>, bool)> {
    let of = |item: &ItemNo| -> Vec<usize> {
        let here = places.iter().enumerate().filter(|(_, place)| match place {
            Place::Items(items) => items.contains(item),
            Place::Whole => false,
        });
        here.map(|(unit, _)| unit).collect()
    };
    let is_reasoning = |list: &[usize]| {
        !list.is_empty()
            && list
                .iter()
                .all(|unit| units.get(*unit).is_some_and(|unit| unit.kind == UnitKind::Reasoning))
    };
    let mut out = Vec::new();
    let mut listed = Vec::new();
    for key in [b"content".as_slice(), b"parts", b"tool_calls"] {
        for element in blocks.elements(literal, key) {
            let list = of(&element);
            listed.extend(list.clone());
            let reasoning = is_reasoning(&list);
            out.push((list, reasoning));
        }
        let text = key == b"content" && blocks.elements(literal, key).is_empty();
        let value = blocks.value_of(literal, key).filter(|_| text);
        // A text of its own stands between reasoning and calls.
        if value.is_some_and(|value| !matches!(value, b"null" | b"[]")) {
            out.push((Vec::new(), false));
        }
    }
    let members: Vec<usize> = (0..units.len()).filter(|unit| !listed.contains(unit)).collect();
    let members: Vec<usize> = members.into_iter().filter(|unit| is_reasoning(&[*unit])).collect();
    if !members.is_empty() {
        out.insert(0, (members, true));
    }
    out
}

impl Placing {
    fn texts_for_media(&mut self, units: &[Unit], program: &Program<'_>) {
        let gemini = self.blocks.value_of(&self.literal, b"parts").is_some();
        for (layer, (_, step)) in program.layers().iter().enumerate() {
            let Op::Media(media) = &step.op else { continue };
            if media.action != MediaAction::Placeholder {
                continue;
            }
            for (nth, unit) in units.iter().enumerate() {
                if program.removes(unit.kind, unit.tool) & bit(layer) == 0 {
                    continue;
                }
                let Some(Place::Items(items)) = self.places.get(nth) else { continue };
                let input = items.iter().any(|item| {
                    let block = self.blocks.bytes(&self.literal, *item);
                    memchr::memmem::find(block, b"\"input_").is_some()
                });
                let dialect = match (gemini, input) {
                    (true, _) => Dialect::GeminiGenerate,
                    (_, true) => Dialect::OpenAiResponses,
                    _ => Dialect::AnthropicMessages,
                };
                let pen = Pen { dialect, escape: Escape::JSON };
                self.instead.push((nth, layer, pen.block(&media.placeholder)));
            }
        }
    }

    fn without(&self, gone: &[(usize, usize)]) -> Left {
        let mut items = Vec::new();
        for (unit, layer) in gone {
            match self.places.get(*unit) {
                Some(Place::Whole) => return Left::Nothing,
                Some(Place::Items(places)) => {
                    let instead = self.instead.iter().find(|it| (it.0, it.1) == (*unit, *layer));
                    let instead = instead.map(|(_, layer, bytes)| (*layer, bytes.clone()));
                    items.extend(places.iter().map(|place| (*place, instead.clone())));
                }
                None => {}
            }
        }
        let filled = |literal: &[u8], range: Range<usize>| {
            let text = self
                .slots
                .iter()
                .any(|(offset, bytes)| range.start < *offset && *offset <= range.end && *bytes > 0);
            text || !matches!(literal.get(range), Some(b"null" | b"\"\"" | b"[]" | b"{}"))
        };
        self.blocks.without(&self.literal, &items, &filled)
    }
}

impl Effect {
    /// What is left where layers take units out: pairs of unit and layer.
    pub(crate) fn without(&self, gone: &[(usize, usize)]) -> Left {
        match &self.placing {
            Some(placing) => placing.without(gone),
            None => Left::Without(Vec::new()),
        }
    }

    /// Bytes that cuts take, less what stands in their place.
    pub(crate) fn bytes_of(&self, cuts: &[Cut]) -> u64 {
        let Some(placing) = &self.placing else { return 0 };
        let (mut gone, mut put) = (0, 0);
        for cut in cuts {
            gone += cut.range.len() as u64;
            put += cut.instead.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64);
            let inside = placing.slots.iter().filter(|(offset, _)| cut.hides(*offset));
            gone += inside.map(|(_, bytes)| *bytes).sum::<u64>();
        }
        gone.saturating_sub(put)
    }
}
