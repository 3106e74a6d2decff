//! `total_cap`: which results are cut where all texts together are too large.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ledger::history::History;

use super::memory::Memory;
use crate::fold::ProjectError;
use crate::fold::effect::Instead;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::fold::program::Program;
use crate::policy::op::{TotalCap, TotalOrder};
use crate::policy::{CapText, TextKind};
use crate::text;

/// Cuts results until all texts together have at most `limit` bytes. False: they still have more,
/// and the step names kinds of text that are not cut here.
pub(crate) fn run(
    history: &History,
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step, program): (usize, &TotalCap, &Program<'_>),
    memory: &mut Memory,
    limit: Option<u64>,
) -> Result<bool, ProjectError> {
    memory.take_back(list, ground, layer);
    let total = list.sums(layer).shown_bytes;
    let mut over = limit.map_or(0, |limit| total.saturating_sub(limit));
    let floor = step.floors.iter().find(|floor| floor.kind == TextKind::ToolResult);
    let mut put = BTreeSet::new();
    if let Some(floor) = floor.filter(|_| over > 0) {
        for (bytes, unit) in candidates(list, ground, layer, step.order) {
            if over == 0 {
                break;
            }
            let target = bytes.saturating_sub(over).max(floor.n);
            if target >= bytes {
                continue;
            }
            let Some((instead, kept)) = cut(history, list, ground, unit, target, step, program)?
            else {
                continue;
            };
            over = over.saturating_sub(bytes.saturating_sub(kept));
            list.put(ground, layer, unit, Some(Instead { layer, ..instead }));
            put.insert(unit);
        }
    }
    memory.note(put);
    let others = step.floors.iter().any(|floor| floor.kind != TextKind::ToolResult);
    Ok(over == 0 || !others)
}

/// Results that are shown as they were recorded, with their sizes, in the order of the step.
fn candidates(
    list: &List,
    ground: Ground<'_, '_>,
    layer: usize,
    order: TotalOrder,
) -> Vec<(u64, (usize, usize))> {
    let results = list.units(UnitKind::Result).iter().copied();
    let shown = results.filter(|unit| list.shows(layer, *unit));
    let plain = shown.filter(|(position, unit)| {
        list.acting(*position, *unit).is_none_or(|acting| acting >= layer)
    });
    let mut sized: Vec<_> = plain
        .filter_map(|(position, unit)| {
            let (part, _) = list.at(position)?;
            let effect = ground.effects.known(part).units.get(unit)?;
            Some((effect.shown_bytes, (position, unit)))
        })
        .collect();
    if order == TotalOrder::LargestFirst {
        // Equal ones in the order of the list.
        sized.sort_by_key(|(bytes, _)| core::cmp::Reverse(*bytes));
    }
    sized
}

/// What stands in the place of a result, and how many of its bytes are left.
fn cut(
    history: &History,
    list: &List,
    ground: Ground<'_, '_>,
    (position, unit): (usize, usize),
    target: u64,
    step: &TotalCap,
    program: &Program<'_>,
) -> Result<Option<(Instead, u64)>, ProjectError> {
    let Some((number, _)) = list.at(position) else { return Ok(None) };
    let part = history.part(number);
    let Some(known) = ground.index.part(number).units.get(unit) else { return Ok(None) };
    let first = known.slots.first().and_then(|slot| part.holes.get(usize::from(*slot)));
    let Some(hole) = first else { return Ok(None) };
    let effect = ground.effects.known(number);
    let whole = ground.effects.shown_text(number, part, known, effect)?;
    let cap = CapText {
        marker_count: step.marker_count,
        ..CapText::plain(step.unit, target, step.shape, &step.marker)
    };
    let context = ground.effects.context(program, &[]);
    let Some(shown) = text::cap_text(&cap, &whole, &context).ok().flatten() else {
        return Ok(None);
    };
    let kept = (whole.len() as u64).saturating_sub(shown.hidden_bytes);
    let text = shown.lossy(&whole);
    let instead = ground.effects.instead(program, 0, hole, &text, true);
    Ok(Some((Instead { kept, ..instead }, kept)))
}
