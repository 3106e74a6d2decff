//! `on_overflow`: what goes where a request would not fit.

use alloc::collections::BTreeSet;

use ledger::wire::Role;

use super::memory::Memory;
use crate::fold::list::{Ground, List};
use crate::policy::op::OverflowAction;

/// Leaves out the messages that the action takes, until `excess` tokens are gone.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, action): (usize, OverflowAction),
    memory: &mut Memory,
    excess: u64,
) {
    let mut gone = BTreeSet::new();
    let mut left = excess;
    while left > 0 {
        let stays = |at: &usize| list.reaches(*at, layer) && !gone.contains(at);
        let next = match action {
            OverflowAction::Unwind => (0..list.len()).rev().find(stays),
            _ => (0..list.len()).find(|at| {
                stays(at)
                    && list
                        .at(*at)
                        .is_some_and(|(part, _)| ground.index.part(part).role != Role::System)
            }),
        };
        let Some(next) = next else { break };
        // A call goes with its result, a result with its call.
        let partners = list.links(next).flat_map(|link| [link.call, link.result]);
        let together: BTreeSet<usize> = partners.chain([next]).filter(stays).collect();
        // The newest message asks; without it there is no request.
        if action != OverflowAction::Unwind && together.contains(&(list.len() - 1)) {
            break;
        }
        for position in &together {
            left = left.saturating_sub(list.tokens_at(ground, layer, *position));
        }
        gone.extend(together);
    }
    memory.hide_only(list, ground, layer, gone);
}
