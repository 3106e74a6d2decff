//! All parameters, by section, with the names that the source has for them.

use super::SnapshotError;
use super::field::{Field, Form, SectionReader, section, words, write_section};
use crate::maka::json::Json;
use crate::maka::number::Number;
use crate::maka::ruler::UnitsPerToken;
use crate::maka::text::Text;

words! {
    /// Which placeholders are given their results back.
    RetrievalMode {
        /// All.
        Eager = "eager",
        /// Those of turns that the search found.
        HistorySearchGated = "history_search_gated",
    }
}

words! {
    /// In which order they are.
    RetrievalOrder {
        /// From the newest.
        NewestFirst = "newest_first",
    }
}

words! {
    /// What the synthesis cache may do.
    SynthesisMode {
        /// Use blocks.
        Lookup = "lookup",
        /// Use and write blocks.
        ReadWrite = "read_write",
    }
}

words! {
    /// What history compaction may do.
    CompactMode {
        /// Make blocks without a model.
        Deterministic = "deterministic",
        /// Use what was loaded.
        Lookup = "lookup",
        /// Let a model sum up.
        ReadWrite = "read_write",
    }
}

words! {
    /// What semantic compaction does with its result.
    SemanticMode {
        /// It looks whether the summary would be accepted.
        ValidateOnly = "validate_only",
        /// It makes the projection and does not use it.
        PrepareStepDryRun = "prepare_step_dry_run",
        /// It uses it.
        Replace = "replace",
    }
}

section! {
    /// The policy.
    BudgetPolicy "policy" false {
        /// A name for reports.
        name: Text = "name",
        /// UTF-16 units in a token. The source gives no knob for it.
        units_per_token: UnitsPerToken = "charsPerTokenThousandths",
        /// Estimated tokens of the history, at most.
        max_history_tokens: Option<u64> = "maxHistoryEstimatedTokens",
        /// Turns of the history, at most.
        max_history_turns: Option<u64> = "maxHistoryTurns",
        /// Turns that stay in any case.
        min_recent_turns: u64 = "minRecentTurns",
        /// Stale results.
        stale_prune: Option<StalePruneKnobs> = "staleToolResultPrune",
        /// Results of the current turn.
        active_prune: Option<ActivePruneKnobs> = "activeToolResultPrune",
        /// Archive retrieval.
        retrieval: Option<RetrievalKnobs> = "archiveRetrieval",
        /// History search.
        search: Option<SearchKnobs> = "historySearch",
        /// The synthesis cache.
        synthesis: Option<SynthesisKnobs> = "synthesisCache",
        /// History compaction.
        compact: Option<CompactKnobs> = "historyCompact",
        /// Semantic compaction.
        semantic: Option<SemanticKnobs> = "semanticCompact",
        /// The rewrite gate, which changes nothing in a prompt.
        rewrite_gate: Option<RewriteGate> = "historyRewrite",
    }
}

section! {
    /// Parameters of the stale prune.
    StalePruneKnobs "staleToolResultPrune" true {
        /// Results of more estimated tokens are replaced.
        max_result_tokens: u64 = "maxResultEstimatedTokens",
        /// Turns whose results stay.
        min_recent_turns_full: u64 = "minRecentTurnsFull",
    }
}

section! {
    /// Parameters of the active prune.
    ActivePruneKnobs "activeToolResultPrune" true {
        /// Results of more estimated tokens are replaced.
        max_result_tokens: u64 = "maxCurrentResultEstimatedTokens",
        /// Needless results of so many estimated tokens are replaced.
        min_superseded_tokens: u64 = "minSupersededResultEstimatedTokens",
        /// The first step before which something is replaced.
        min_step: u64 = "minStepNumber",
    }
}

section! {
    /// Parameters of the archive retrieval.
    RetrievalKnobs "archiveRetrieval" true {
        /// Which placeholders; all of them unless set.
        mode: Option<RetrievalMode> = "mode",
        /// Results, at most.
        max_results: u64 = "maxResults",
        /// Estimated tokens, at most.
        max_tokens: u64 = "maxEstimatedTokens",
        /// Bytes of one result, at most.
        max_bytes: u64 = "maxBytes",
        /// In which order.
        order: RetrievalOrder = "order",
    }
}

section! {
    /// Parameters of the history search.
    SearchKnobs "historySearch" true {
        /// Found events, at most.
        max_results: u64 = "maxResults",
        /// Neighbors on each side.
        around: u64 = "around",
        /// Estimated tokens, at most.
        max_tokens: u64 = "maxEstimatedTokens",
    }
}

section! {
    /// Parameters of the synthesis cache.
    SynthesisKnobs "synthesisCache" true {
        /// What it may do.
        mode: SynthesisMode = "mode",
        /// Blocks, at most.
        max_blocks: u64 = "maxBlocks",
        /// Their estimated tokens, at most.
        max_tokens: u64 = "maxEstimatedTokens",
        /// Estimated tokens of one, at most.
        max_block_tokens: u64 = "maxBlockEstimatedTokens",
        /// A newer result of the same kind makes a block useless.
        invalidate_on_new_tool_result: bool = "invalidateOnNewToolResult",
        /// Version of the blocks.
        schema_version: u64 = "schemaVersion",
    }
}

section! {
    /// Parameters of history compaction.
    CompactKnobs "historyCompact" true {
        /// What it may do.
        mode: CompactMode = "mode",
        /// Share of the history's budget above which something is folded.
        high_water_ratio: Number = "highWaterRatio",
        /// A share that the source keeps for later.
        force_ratio: Option<Number> = "forceRatio",
        /// Share of the budget that stays where no tokens are set.
        target_ratio: Option<Number> = "targetRatio",
        /// Estimated tokens that stay.
        tail_tokens: u64 = "tailEstimatedTokens",
        /// Turns that are asked to stay.
        min_recent_turns: u64 = "minRecentTurns",
        /// Estimated tokens of a summary, at most.
        max_summary_tokens: Option<u64> = "maxSummaryEstimatedTokens",
        /// Loaded blocks, at most.
        max_blocks: u64 = "maxBlocks",
        /// Their estimated tokens, at most.
        max_tokens: u64 = "maxEstimatedTokens",
        /// Estimated tokens of one, at most.
        max_block_tokens: u64 = "maxBlockEstimatedTokens",
        /// Name of the high water.
        high_water_name: Text = "highWaterName",
        /// Folding inside of a turn.
        mid_turn: Option<MidTurnKnobs> = "midTurn",
    }
}

section! {
    /// Parameters of folding inside of a turn.
    MidTurnKnobs "historyCompact.midTurn" true {
        /// Tokens of the window that stay free.
        reserve_tokens: u64 = "reserveTokens",
        /// Events at the end that stay.
        reserve_tail_events: Option<u64> = "reserveTailEvents",
    }
}

section! {
    /// The rewrite gate.
    RewriteGate "historyRewrite" true {
        /// Its name.
        name: Text = "name",
        /// Its version.
        version: Text = "historyRewriteVersion",
        /// Why the history is another one.
        reset_reason: Text = "resetReason",
    }
}

section! {
    /// Parameters of semantic compaction.
    SemanticKnobs "semanticCompact" true {
        /// What becomes of the result.
        mode: SemanticMode = "mode",
        /// The first step before which it acts.
        min_step: u64 = "minStepNumber",
        /// Share of the active tokens above which it acts.
        high_water_ratio: Number = "highWaterRatio",
        /// A share that the source keeps for later.
        force_ratio: Option<Number> = "forceRatio",
        /// A share that the source keeps for later.
        target_ratio: Option<Number> = "targetRatio",
        /// Active tokens, at most.
        max_active_tokens: u64 = "maxActiveEstimatedTokens",
        /// Without an effect; the source warns.
        min_recent_messages: Option<u64> = "minRecentMessages",
        /// Without an effect; the source warns.
        min_recent_tool_pairs: Option<u64> = "minRecentToolPairs",
        /// Estimated tokens of a span, at least.
        min_safe_prefix_tokens: u64 = "minSafePrefixEstimatedTokens",
        /// Estimated tokens of a new span, at least.
        min_new_prefix_tokens: u64 = "minNewPrefixEstimatedTokens",
        /// Estimated tokens of a projection, at most.
        max_projection_tokens: u64 = "maxAcceptedProjectionEstimatedTokens",
        /// An older name of the same.
        max_summary_tokens: Option<u64> = "maxSummaryEstimatedTokens",
        /// Tokens that it should save.
        min_savings_tokens: u64 = "minSavingsTokens",
        /// Share that it should save.
        min_savings_ratio: Option<Number> = "minSavingsRatio",
        /// Tokens that it should save with its own cost taken off.
        min_net_savings_tokens: u64 = "minNetSavingsTokens",
        /// Weight of its own cost.
        call_cost_weight: Option<Number> = "compactCallTokenCostWeight",
        /// Tokens of its own call, at most.
        max_call_tokens: u64 = "maxCompactCallTokens",
        /// Bad summaries in a row after which it waits.
        max_invalid_summaries: u64 = "maxConsecutiveInvalidSummaries",
        /// Steps that it waits.
        cooldown_steps: u64 = "invalidSummaryCooldownSteps",
        /// Milliseconds that its call may take.
        timeout_ms: Option<u64> = "timeoutMs",
        /// Nothing is folded that is not archived.
        archive_required: Option<bool> = "archiveRequired",
        /// The model that sums up.
        model: Option<Text> = "summarizerModel",
        /// Version of its prompt.
        prompt_version: Option<Text> = "promptVersion",
        /// Name of the high water.
        high_water_name: Text = "highWaterName",
    }
}

impl BudgetPolicy {
    /// The source's own form: what is not set is left out.
    pub fn source_json(&self) -> Json {
        self.write(Form::Source)
    }

    /// Every parameter, `null` where it is not set.
    pub fn snapshot(&self) -> Json {
        self.write(Form::Snapshot)
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// A parameter is missing, has another type, or is not known.
    pub fn from_snapshot(snapshot: &Json) -> Result<Self, SnapshotError> {
        Self::read(snapshot)
            .map_err(|error| error.unwrap_or(SnapshotError::NoObject { at: "policy" }))
    }
}
