//! `stack`.

use alloc::string::String;

use crate::maka::policy::BudgetPolicy;
use crate::policy::node::{Fields, Wrong, record, words};

words! {
    /// A system whose own rules are followed to the letter.
    pub enum StackSystem {
        /// Apache Maka at revision f19eede.
        MakaF19eede = "maka@f19eede",
    }
}

words! {
    /// What happens with a history that is over its limit.
    pub enum OverHistory {
        /// A model sums it up: a request that needs such a summary is refused.
        Summarize = "summarize",
        /// The oldest turns are left out.
        Drop = "drop",
    }
}

record! {
    /// Results of older turns.
    pub struct StackStale: "`stale`" {
        /// Results of more estimated tokens are put into the archive.
        above_tokens: u64,
        /// Results of so many of the newest turns stay.
        keep_turns: u64,
    }
}

record! {
    /// Results of the turn that is under way.
    pub struct StackActive: "`active`" {
        /// Results of more estimated tokens are put into the archive.
        above_tokens: u64,
        /// Results that a newer one made needless are put there from so many tokens on.
        superseded_from_tokens: u64,
        /// Nothing is put there before this step of the turn.
        from_step: u64,
    }
}

record! {
    /// Runs the budget stack of one system, by its own ruler and its own order.
    pub struct Stack: "op \"stack\"", check whole {
        /// Which system.
        system: StackSystem,
        /// UTF-16 units in an estimated token, in thousandths.
        units_per_token_per_mille: u32 = 4_000,
        /// What is done with results of older turns; without it, nothing.
        stale: Option<StackStale> = None,
        /// What is done with results of the turn that is under way; without it, nothing.
        active: Option<StackActive> = None,
        /// Estimated tokens of all older turns at most.
        history_tokens: Option<u64> = None,
        /// Older turns at most.
        history_turns: Option<u64> = None,
        /// So many of the newest older turns stay in any case.
        min_recent_turns: u64,
        /// What happens above `history_tokens`.
        over_history: OverHistory,
        /// What the text in the place of a result tells the model.
        read_instructions: String,
    }
}

fn whole(stack: &Stack, fields: &Fields<'_>) -> Result<(), Wrong> {
    if stack.units_per_token_per_mille < 1_000 {
        let reason = "a token has at least one unit, which is 1000 thousandths";
        return Err(Wrong::new(fields.at("units_per_token_per_mille"), reason));
    }
    Ok(())
}

impl Stack {
    /// The step that does what a policy of the source asks for. `None`: it asks for more than
    /// pruning and whole turns, or for a mode of folding that needs neither a model nor nothing.
    pub fn of(policy: &BudgetPolicy, read_instructions: &str) -> Option<Self> {
        use crate::maka::policy::CompactMode;
        let more = policy.retrieval.is_some()
            || policy.search.is_some()
            || policy.synthesis.is_some()
            || policy.semantic.is_some();
        let over_history = match policy.compact.as_ref().map(|compact| compact.mode) {
            None => OverHistory::Drop,
            Some(CompactMode::ReadWrite) => OverHistory::Summarize,
            Some(CompactMode::Lookup | CompactMode::Deterministic) => return None,
        };
        let units = u32::try_from(policy.units_per_token.thousandths()).ok()?;
        (!more).then(|| Self {
            system: StackSystem::MakaF19eede,
            units_per_token_per_mille: units,
            stale: policy.stale_prune.as_ref().map(|knobs| StackStale {
                above_tokens: knobs.max_result_tokens,
                keep_turns: knobs.min_recent_turns_full,
            }),
            active: policy.active_prune.as_ref().map(|knobs| StackActive {
                above_tokens: knobs.max_result_tokens,
                superseded_from_tokens: knobs.min_superseded_tokens,
                from_step: knobs.min_step,
            }),
            history_tokens: policy.max_history_tokens,
            history_turns: policy.max_history_turns,
            min_recent_turns: policy.min_recent_turns,
            over_history,
            read_instructions: read_instructions.into(),
        })
    }
}
