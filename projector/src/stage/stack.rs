//! `stack`: one system's budget over a conversation. Its rules are those of [`crate::maka`]; here
//! they get the turns and results of a recorded list.
//!
//! A turn begins with a message of the user that does not follow another one. The newest turn is
//! under way; those before it are history. The first layer of the step is for the history, the
//! second for the turn that is under way.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::fold::list::{Ground, List};
use crate::fold::measured::MeasuredResult;
use crate::maka::retention::{self, Retention};
use crate::maka::ruler::UnitsPerToken;
use crate::policy::op::{OverHistory, Stack};
use crate::projection::StackAccount;

/// What the step has to say of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) account: StackAccount,
    /// Why the request cannot be projected; then nothing was done.
    pub(crate) refused: Option<&'static str>,
    /// The source might have put further results of the turn into the archive, because newer
    /// ones made them needless.
    pub(crate) needless: bool,
}

/// Applies the step whose layers start at `layer`.
pub(crate) fn run(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, stack): (usize, &Stack),
) -> Outcome {
    let starts = turn_starts(list, ground, layer);
    let Some((current, history)) = starts.split_last() else {
        undo(list, ground, layer);
        return Outcome::default();
    };
    let stale_until = stale_until(history, *current, stack);
    let mut account = StackAccount::default();
    let (tokens, before, after) =
        history_tokens(list, ground, (history, *current), stale_until, stack);
    account.history_tokens_before = before;
    let over = stack.history_tokens.is_some_and(|max| after > max);
    if over && stack.over_history == OverHistory::Summarize {
        undo(list, ground, layer);
        let refused = Some("a history over its limit is summed up by a model");
        return Outcome { account, refused, needless: false };
    }
    let kept = retention::kept(&tokens, retention(stack));
    let dropped = history.len() - kept;
    let first = history.first().copied().unwrap_or(*current);
    let kept_from = history.get(dropped).copied().unwrap_or(*current);
    list.leave_out(ground, layer, if dropped > 0 { first..kept_from } else { 0..0 });
    account.dropped_turns = narrow(dropped);
    account.kept_turns = narrow(kept);
    account.history_tokens_after = tokens.iter().skip(dropped).sum();
    let replaced = replace(list, ground, (layer, stack), (stale_until, *current), &mut account);
    let needless = needless(list, ground, *current, stack, &replaced);
    Outcome { account, refused: None, needless }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn retention(stack: &Stack) -> Retention {
    Retention {
        max_tokens: stack.history_tokens,
        max_turns: stack.history_turns,
        min_recent_turns: stack.min_recent_turns,
    }
}

/// Takes back whatever the step did for the request before.
fn undo(list: &mut List, ground: Ground<'_, '_>, layer: usize) {
    list.leave_out(ground, layer, 0..0);
    for (position, unit) in list.results().to_vec() {
        for layer in [layer, layer + 1] {
            if list.is_acted_on(position, unit, layer) {
                list.act(ground, layer, (position, unit), false);
            }
        }
    }
}

/// Positions at which turns begin.
fn turn_starts(list: &List, ground: Ground<'_, '_>, layer: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut follows_user = false;
    for (position, part) in list.parts(0).enumerate() {
        if !list.reaches(position, layer) {
            continue;
        }
        let is_user = ground.index.part(part).is_user_turn();
        if is_user && !follows_user {
            starts.push(position);
        }
        follows_user = is_user;
    }
    starts
}

/// Results before this position are stale.
fn stale_until(history: &[usize], current: usize, stack: &Stack) -> usize {
    let Some(stale) = &stack.stale else { return 0 };
    let keep = usize::try_from(stale.keep_turns).unwrap_or(usize::MAX);
    match history.len().checked_sub(keep) {
        None => 0,
        Some(first) => history.get(first).copied().unwrap_or(current),
    }
}

/// Estimated tokens of each turn of the history after pruning, and of all of it before and after.
fn history_tokens(
    list: &List,
    ground: Ground<'_, '_>,
    (history, current): (&[usize], usize),
    stale_until: usize,
    stack: &Stack,
) -> (Vec<u64>, u64, u64) {
    let per_token = UnitsPerToken::per_mille(u64::from(stack.units_per_token_per_mille));
    let tokens = |units: u64| per_token.tokens(usize::try_from(units).unwrap_or(usize::MAX));
    let (mut whole, mut pruned) = (0, 0);
    let mut turns = Vec::with_capacity(history.len());
    let ends = history.iter().skip(1).copied().chain([current]);
    for (start, end) in history.iter().copied().zip(ends) {
        let mut turn = 0;
        for (position, part) in list.parts(start).take(end - start).enumerate() {
            let Some(measured) = ground.effects.known(part).stack.as_ref() else { continue };
            whole += measured.units;
            turn += measured.units;
            let is_stale = start + position < stale_until;
            for result in measured.results.iter().filter(|_| is_stale) {
                if let Some(placed) = &result.stale {
                    turn = turn - result.units + placed.units;
                }
            }
        }
        pruned += turn;
        turns.push(tokens(turn));
    }
    (turns, tokens(whole), tokens(pruned))
}

/// Puts placeholders where they belong and takes back those that do not. Gives the replaced
/// results of the turn that is under way.
fn replace(
    list: &mut List,
    ground: Ground<'_, '_>,
    (layer, stack): (usize, &Stack),
    (stale_until, current): (usize, usize),
    account: &mut StackAccount,
) -> BTreeSet<(usize, usize)> {
    let step = steps(list, ground, current);
    let prunes = stack.active.as_ref().is_some_and(|active| step >= active.from_step);
    let mut replaced = BTreeSet::new();
    for (position, unit) in list.results().to_vec() {
        let Some(result) = result(list, ground, position, unit) else { continue };
        let in_turn = position >= current;
        let is_stale = position < stale_until && result.stale.is_some();
        let is_active = in_turn && prunes && result.active.is_some();
        let shown = list.reaches(position, layer + 1);
        let limit = match (&stack.stale, &stack.active) {
            (Some(stale), _) if position < stale_until => stale.above_tokens,
            (_, Some(active)) if in_turn && prunes => active.above_tokens,
            _ => u64::MAX,
        };
        let unarchived = result.sha256.is_none() && result.tokens > limit;
        account.unarchived_results += u32::from(shown && unarchived);
        account.stale_results += u32::from(shown && is_stale);
        account.active_results += u32::from(is_active);
        if is_active {
            replaced.insert((position, unit));
        }
        for (layer, acts) in [(layer, is_stale), (layer + 1, is_active)] {
            if list.is_acted_on(position, unit, layer) != acts {
                list.act(ground, layer, (position, unit), acts);
            }
        }
    }
    replaced
}

fn result<'g>(
    list: &List,
    ground: Ground<'g, '_>,
    position: usize,
    unit: usize,
) -> Option<&'g MeasuredResult> {
    let (part, _) = list.at(position)?;
    let measured = ground.effects.known(part).stack.as_ref()?;
    measured.results.iter().find(|result| result.unit == unit)
}

/// Number of the step of the turn that is about to come: an answer of the model ends one.
fn steps(list: &List, ground: Ground<'_, '_>, current: usize) -> u64 {
    let mut steps = 0;
    let mut in_answer = false;
    for part in list.parts(current) {
        let answers = ground.index.part(part).role == ledger::wire::Role::Assistant;
        steps += u64::from(answers && !in_answer);
        in_answer = answers;
    }
    steps
}

/// True when results of the turn may have become needless by newer ones: two with one text, or
/// two of a tool whose newer answers the source takes for the older ones.
fn needless(
    list: &List,
    ground: Ground<'_, '_>,
    current: usize,
    stack: &Stack,
    replaced: &BTreeSet<(usize, usize)>,
) -> bool {
    let Some(active) = &stack.active else { return false };
    let from = list.results().partition_point(|(position, _)| *position < current);
    let mut texts = BTreeSet::new();
    let mut tools = BTreeSet::new();
    for place in list.results().get(from..).unwrap_or_default() {
        let (position, unit) = *place;
        let large = result(list, ground, position, unit)
            .filter(|result| result.tokens >= active.superseded_from_tokens);
        let Some(result) = large.filter(|_| !replaced.contains(place)) else { continue };
        let tool = list.at(position).and_then(|(part, _)| {
            let unit = ground.index.part(part).units.get(unit)?;
            ground.index.tools().get(unit.tool? as usize)
        });
        let known =
            tool.filter(|tool| matches!(tool.as_slice(), b"Read" | b"Glob" | b"Grep" | b"Bash"));
        if known.is_some_and(|tool| !tools.insert(tool)) || !texts.insert((tool, &result.sha256)) {
            return true;
        }
    }
    false
}
