//! `cap_args`: which calls are old enough for their arguments to be cut.

use alloc::collections::BTreeSet;

use super::clear;
use super::memory::Memory;
use crate::fold::index::UnitKind;
use crate::fold::list::{Ground, List};
use crate::policy::op::CapArgs;
use crate::policy::{Budget, share};

/// Cuts arguments of old calls, where the step acts. False: the window is not known.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, step): (usize, &CapArgs),
    memory: &mut Memory,
    (acts, sticky, budget): (bool, bool, &Budget),
) -> bool {
    let border = match (acts, step.keep_window_per_mille, &step.keep) {
        (false, ..) => Some(0),
        (_, Some(per_mille), _) => {
            budget.window.map(|window| newest_tokens(list, ground, layer, share(window, per_mille)))
        }
        (_, None, Some(keep)) => Some(clear::begin(list, ground, layer, &keep.0)),
        (_, None, None) => Some(list.len()),
    };
    let before = ([UnitKind::Call].as_slice(), border.unwrap_or(0));
    memory.act_before(list, ground, layer, before, BTreeSet::new(), sticky);
    border.is_some()
}

/// Where the newest messages of at most so many tokens begin.
fn newest_tokens(list: &List, ground: Ground<'_, '_>, layer: usize, tokens: u64) -> usize {
    let mut start = list.len();
    let mut left = tokens;
    while let Some(message) = list.previous(layer, start) {
        let Some(rest) = left.checked_sub(list.tokens_at(ground, layer, message)) else { break };
        (left, start) = (rest, message);
    }
    start
}
