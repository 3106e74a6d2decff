//! From knobs to the parameters of the functions that use them.

use super::sections::{
    ActivePruneKnobs, BudgetPolicy, CompactKnobs, CompactMode, RetrievalKnobs, RetrievalMode,
    SearchKnobs, StalePruneKnobs,
};
use crate::maka::active_prune::ActivePrune;
use crate::maka::compact::{Compact, Mode};
use crate::maka::number::Number;
use crate::maka::retention::Retention;
use crate::maka::retrieval::{self, Retrieval};
use crate::maka::search::Search;
use crate::maka::stale_prune::StalePrune;
use crate::maka::text::Text;

/// Estimated tokens of a summary where nobody says how many.
const SUMMARY_TOKENS: u64 = 768;

impl BudgetPolicy {
    /// Parameters of whole-turn retention.
    pub fn retention(&self) -> Retention {
        Retention {
            max_tokens: self.max_history_tokens,
            max_turns: self.max_history_turns,
            min_recent_turns: self.min_recent_turns,
        }
    }
}

impl StalePruneKnobs {
    /// Parameters of the stale prune.
    pub fn resolve(&self) -> StalePrune {
        StalePrune {
            max_result_tokens: self.max_result_tokens,
            min_recent_turns_full: self.min_recent_turns_full,
        }
    }
}

impl ActivePruneKnobs {
    /// Parameters of the active prune.
    pub fn resolve(&self) -> ActivePrune {
        ActivePrune {
            max_result_tokens: self.max_result_tokens,
            min_superseded_tokens: self.min_superseded_tokens,
            min_step: self.min_step,
        }
    }
}

impl RetrievalKnobs {
    /// Parameters of the archive retrieval.
    pub fn resolve(&self) -> Retrieval {
        let mode = match self.mode {
            Some(RetrievalMode::HistorySearchGated) => retrieval::Mode::HistorySearchGated,
            Some(RetrievalMode::Eager) | None => retrieval::Mode::Eager,
        };
        Retrieval {
            mode,
            max_results: self.max_results,
            max_tokens: self.max_tokens,
            max_bytes: self.max_bytes,
        }
    }
}

impl SearchKnobs {
    /// Parameters of the history search.
    pub fn resolve(&self) -> Search {
        Search { max_results: self.max_results, around: self.around, max_tokens: self.max_tokens }
    }
}

impl CompactKnobs {
    /// Parameters of history compaction.
    pub fn resolve(&self) -> Compact {
        let half = Number::parse("0.5").unwrap_or(Number::ZERO);
        Compact {
            mode: match self.mode {
                CompactMode::Lookup => Mode::Lookup,
                CompactMode::Deterministic => Mode::Deterministic,
                CompactMode::ReadWrite => Mode::ReadWrite,
            },
            high_water_ratio: self.high_water_ratio,
            target_ratio: self.target_ratio.unwrap_or(half),
            tail_tokens: Some(self.tail_tokens),
            min_recent_turns: Some(self.min_recent_turns),
            max_summary_tokens: self.max_summary_tokens.unwrap_or(SUMMARY_TOKENS),
            max_blocks: self.max_blocks,
            max_tokens: self.max_tokens,
            max_block_tokens: self.max_block_tokens,
            archive_required: false,
            high_water: self.high_water_name.clone(),
        }
    }
}

impl BudgetPolicy {
    /// The policy while a user asks for compaction: whatever was loaded is used, however small
    /// the history is, and nothing is made.
    #[must_use]
    pub fn for_manual_compact(&self) -> Self {
        let millionth = Number::parse("0.000001").unwrap_or(Number::ZERO);
        let mut policy = self.clone();
        policy.max_history_tokens.get_or_insert(super::window::HISTORY_TOKENS);
        let before = policy.compact.take();
        let overlay = |before: Option<CompactKnobs>| CompactKnobs {
            mode: CompactMode::Lookup,
            high_water_ratio: millionth,
            tail_tokens: 1,
            ..before.unwrap_or_else(|| CompactKnobs {
                mode: CompactMode::Lookup,
                high_water_ratio: millionth,
                force_ratio: None,
                target_ratio: None,
                tail_tokens: 1,
                min_recent_turns: self.min_recent_turns,
                max_summary_tokens: None,
                max_blocks: 1,
                max_tokens: 2_048,
                max_block_tokens: 1_024,
                high_water_name: Text::from("manual-history-compact"),
                mid_turn: None,
            })
        };
        policy.compact = Some(overlay(before));
        policy
    }
}
