//! `inject`: fixed texts that a harness adds.

use alloc::vec::Vec;

use ledger::wire::Role;

use crate::fold::list::{Ground, List};
use crate::policy::CapText;
use crate::policy::op::{DropOrder, Inject, InjectOn, Role as Says};
use crate::policy::{Shape, Unit};
use crate::text::{self, Context};

/// Adds the texts of the step behind the instructions, or behind the newest summary.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Inject),
    acts: bool,
) {
    let at = match step.on {
        InjectOn::Start => {
            let first = |at: &usize| {
                list.at(*at).is_some_and(|(part, _)| {
                    ground.index.part(part).role != Role::System && list.reaches(*at, layer)
                })
            };
            Some((0..list.len()).find(first).unwrap_or(list.len()))
        }
        InjectOn::AfterSummary => {
            let recorded = list.summaries().iter().rev().find(|at| list.reaches(**at, layer));
            let recorded = recorded.map(|at| at + 1);
            recorded.max(list.added(layer).map(|added| added.at).last())
        }
    };
    let mut added = Vec::new();
    if let Some(at) = at.filter(|_| acts) {
        for item in &step.items {
            let most = item.each.into_iter().chain(item.total).min();
            let tail = item.drop == DropOrder::Oldest;
            let text = cut(&item.text, most, tail, step);
            added.push(ground.said(layer, at, Says::User, &text));
        }
    }
    list.insert(layer, added);
}

/// A text cut to so many tokens.
fn cut(text: &str, most: Option<u64>, tail: bool, step: &Inject) -> alloc::string::String {
    let Some(most) = most else { return text.into() };
    let shape = if tail { Shape::Tail } else { Shape::Head };
    let cap =
        CapText { estimator: step.estimator, ..CapText::plain(Unit::Tokens, most, shape, "") };
    let shown = text::cap_text(&cap, text, &Context::default()).ok().flatten();
    shown.map_or_else(|| text.into(), |shown| shown.lossy(text))
}
