//! `inject`: texts that a harness adds.
//!
//! A fixed text is added as it is. Of another one, such as the rules of a project, the policy may
//! give the text too, or its size: then a placeholder of that size stands for it, and says so.

use alloc::string::String;
use alloc::vec::Vec;

use ledger::wire::Role;

use crate::fold::list::{Ground, List};
use crate::fold::said;
use crate::policy::op::{DropOrder, Inject, InjectItem, InjectKind, InjectOn, Role as Says};
use crate::policy::{CapText, Shape, Unit};
use crate::text::{self, Context};

/// What was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Texts of the policy, or nothing.
    Texts,
    /// A placeholder among them.
    Placeholders,
    /// A text is wanted of which neither words nor size are known.
    Unknown,
}

/// Adds the texts of the step behind the instructions, or behind the newest summary.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &Inject),
    acts: bool,
) -> Done {
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
    let mut done = Done::Texts;
    let mut added = Vec::new();
    if let Some(at) = at.filter(|_| acts) {
        for item in &step.items {
            let most = item.each.into_iter().chain(item.total).min();
            let text = match (item.kind, most) {
                (InjectKind::Text, _) => cut(ground, item, most, step),
                _ if !item.text.is_empty() => cut(ground, item, most, step),
                (kind, Some(tokens)) => {
                    done = Done::Placeholders;
                    Some(said::assumed(kind.word(), tokens, ground.units_of(tokens)))
                }
                (_, None) => None,
            };
            let Some(text) = text else { return Done::Unknown };
            added.push(ground.said(layer, at, Says::User, &text));
        }
    }
    list.insert(layer, added);
    done
}

/// The text of an item, cut to so many tokens; `None`: nobody counts them.
fn cut(
    ground: Ground<'_, '_>,
    item: &InjectItem,
    most: Option<u64>,
    step: &Inject,
) -> Option<String> {
    let text = item.text.as_str();
    let Some(most) = most else { return Some(text.into()) };
    let shape = if item.drop == DropOrder::Oldest { Shape::Tail } else { Shape::Head };
    let cap =
        CapText { estimator: step.estimator, ..CapText::plain(Unit::Tokens, most, shape, "") };
    let context = Context { counter: ground.scales.counter, ..Context::default() };
    let shown = text::cap_text(&cap, text, &context).ok()?;
    Some(shown.map_or_else(|| text.into(), |shown| shown.lossy(text)))
}
