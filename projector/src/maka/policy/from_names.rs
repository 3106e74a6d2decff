//! The policy from names and values, as the source reads them out of its environment.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::sections::{
    ActivePruneKnobs, BudgetPolicy, CompactKnobs, CompactMode, MidTurnKnobs, RetrievalKnobs,
    RetrievalMode, RetrievalOrder, RewriteGate, SearchKnobs, SemanticKnobs, SemanticMode,
    StalePruneKnobs, SynthesisKnobs, SynthesisMode,
};
use super::window;
use crate::maka::number::Number;
use crate::maka::ruler::UnitsPerToken;
use crate::maka::text::Text;

/// What every name begins with.
pub(super) const PREFIX: &str = "MAKA_CONTEXT_";

/// A switch that is neither on nor off. All other values that are no proper ones leave the
/// default in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MAKA_CONTEXT_{name} must be a boolean")]
pub struct NameError {
    /// The name without its prefix.
    pub name: &'static str,
}

/// What the policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    /// The kind of provider.
    pub provider: &'a str,
    /// The model's context window in tokens, if it is known.
    pub window: Option<u64>,
    /// The name of the policy; the source's own if there is none.
    pub name: Option<&'a str>,
}

struct Names<'a>(&'a BTreeMap<String, String>);

impl BudgetPolicy {
    /// Builds the policy; `None`: it is switched off.
    ///
    /// # Errors
    /// A switch is neither on nor off.
    pub fn from_names(
        names: &BTreeMap<String, String>,
        for_what: For<'_>,
    ) -> Result<Option<Self>, NameError> {
        let names = Names(names);
        if names.raw("BUDGET") == Some("off") {
            return Ok(None);
        }
        let reserve = names.positive("HISTORY_COMPACT_RESERVE_TOKENS");
        let reserve = reserve.unwrap_or_else(|| window::reserve(for_what.window));
        let max_history_tokens = names
            .positive("HISTORY_BUDGET_TOKENS")
            .or_else(|| window::history(for_what.window, reserve, for_what.provider));
        let min_recent_turns = names.positive("MIN_RECENT_TURNS").unwrap_or(2);
        let name = for_what.name.unwrap_or("default-history-budget");
        let surface = name.strip_suffix("-default-history-budget").unwrap_or(name);
        let policy = Self {
            name: Text::from(name),
            units_per_token: UnitsPerToken::FOUR,
            max_history_tokens,
            max_history_turns: names.positive("HISTORY_BUDGET_TURNS"),
            min_recent_turns,
            stale_prune: names.stale_prune(min_recent_turns)?,
            active_prune: names.active_prune()?,
            retrieval: names.retrieval(),
            search: names.search(),
            synthesis: names.synthesis(),
            compact: names.compact(surface, reserve)?,
            semantic: names.semantic(surface)?,
            rewrite_gate: names.rewrite_gate(surface),
        };
        Ok(policy.does_something().then_some(policy))
    }

    fn does_something(&self) -> bool {
        self.max_history_tokens.is_some()
            || self.max_history_turns.is_some()
            || self.stale_prune.is_some()
            || self.active_prune.is_some()
            || self.retrieval.is_some()
            || self.search.is_some()
            || self.synthesis.is_some()
            || self.compact.is_some()
            || self.semantic.is_some()
            || self.rewrite_gate.is_some()
    }
}

impl Names<'_> {
    fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(&alloc::format!("{PREFIX}{name}")).map(String::as_str)
    }

    /// A value that is not empty.
    fn some(&self, name: &str) -> Option<Text> {
        self.raw(name).filter(|value| !value.is_empty()).map(Text::from)
    }

    /// A switch.
    fn switch(&self, name: &'static str) -> Result<Option<bool>, NameError> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        match Text::from(value).trim().lowercase().to_utf8().as_str() {
            "" => Ok(None),
            "1" | "true" | "yes" | "on" | "enabled" => Ok(Some(true)),
            "0" | "false" | "no" | "off" | "disabled" => Ok(Some(false)),
            _ => Err(NameError { name }),
        }
    }

    /// True for the exact word `on`.
    fn exactly_on(&self, name: &str) -> bool {
        self.raw(name) == Some("on")
    }

    /// The whole number that a value begins with, zero or more.
    fn natural(&self, name: &str) -> Option<u64> {
        let value = trimmed(self.raw(name)?);
        let (negative, digits) = match value.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, value.strip_prefix('+').unwrap_or(&value)),
        };
        let end = digits.bytes().take_while(u8::is_ascii_digit).count();
        let number = Number::parse(digits.get(..end)?)?;
        let value = number.to_u64().unwrap_or(u64::MAX);
        (!negative || value == 0).then_some(value)
    }

    fn positive(&self, name: &str) -> Option<u64> {
        self.natural(name).filter(|value| *value > 0)
    }

    /// The decimal number that a value begins with.
    fn decimal(&self, name: &str) -> Option<Number> {
        let value = trimmed(self.raw(name)?);
        let value = value.strip_prefix('+').unwrap_or(&value);
        Number::prefix(value).map(|(number, _)| number)
    }

    /// A share above zero; more than one is one.
    fn ratio(&self, name: &str) -> Option<Number> {
        let ratio = self.decimal(name).filter(|ratio| ratio.is_positive())?;
        let one = Number::natural(1);
        Some(if ratio.floor() >= 1 { one } else { ratio })
    }

    fn stale_prune(&self, recent: u64) -> Result<Option<StalePruneKnobs>, NameError> {
        let on = self.switch("STALE_TOOL_RESULT_PRUNE")? != Some(false);
        let turns = self.positive("STALE_TOOL_RESULT_MIN_RECENT_TURNS");
        Ok(on.then(|| StalePruneKnobs {
            max_result_tokens: self.positive("STALE_TOOL_RESULT_MAX_TOKENS").unwrap_or(2_048),
            min_recent_turns_full: turns.unwrap_or(recent),
        }))
    }

    fn active_prune(&self) -> Result<Option<ActivePruneKnobs>, NameError> {
        let on = self.switch("ACTIVE_TOOL_RESULT_PRUNE")? != Some(false);
        let max = self.positive("ACTIVE_TOOL_RESULT_MAX_ESTIMATED_TOKENS");
        let superseded = self.positive("ACTIVE_TOOL_RESULT_MIN_SUPERSEDED_TOKENS");
        Ok(on.then(|| ActivePruneKnobs {
            max_result_tokens: max.unwrap_or(2_048),
            min_superseded_tokens: superseded.unwrap_or(256),
            min_step: self.natural("ACTIVE_TOOL_RESULT_MIN_STEP_NUMBER").unwrap_or(1),
        }))
    }

    fn retrieval(&self) -> Option<RetrievalKnobs> {
        self.exactly_on("ARCHIVE_RETRIEVAL").then(|| RetrievalKnobs {
            mode: self.raw("ARCHIVE_RETRIEVAL_MODE").and_then(RetrievalMode::of),
            max_results: self.positive("ARCHIVE_RETRIEVAL_MAX_RESULTS").unwrap_or(3),
            max_tokens: self.positive("ARCHIVE_RETRIEVAL_MAX_TOKENS").unwrap_or(8_192),
            max_bytes: self.positive("ARCHIVE_RETRIEVAL_MAX_BYTES").unwrap_or(1 << 20),
            order: RetrievalOrder::NewestFirst,
        })
    }

    fn search(&self) -> Option<SearchKnobs> {
        self.exactly_on("HISTORY_SEARCH").then(|| SearchKnobs {
            max_results: self.positive("HISTORY_SEARCH_MAX_RESULTS").unwrap_or(5),
            around: self.positive("HISTORY_SEARCH_AROUND").unwrap_or(1),
            max_tokens: self.positive("HISTORY_SEARCH_MAX_TOKENS").unwrap_or(4_096),
        })
    }

    fn synthesis(&self) -> Option<SynthesisKnobs> {
        let mode = self.raw("SYNTHESIS_CACHE_MODE").and_then(SynthesisMode::of);
        self.exactly_on("SYNTHESIS_CACHE").then(|| SynthesisKnobs {
            mode: mode.unwrap_or(SynthesisMode::Lookup),
            max_blocks: self.positive("SYNTHESIS_CACHE_MAX_BLOCKS").unwrap_or(1),
            max_tokens: self.positive("SYNTHESIS_CACHE_MAX_TOKENS").unwrap_or(2_048),
            max_block_tokens: self.positive("SYNTHESIS_CACHE_MAX_BLOCK_TOKENS").unwrap_or(1_024),
            invalidate_on_new_tool_result: true,
            schema_version: 1,
        })
    }

    fn compact(&self, surface: &str, reserve: u64) -> Result<Option<CompactKnobs>, NameError> {
        if self.switch("HISTORY_COMPACT")? == Some(false) {
            return Ok(None);
        }
        let mode = self.raw("HISTORY_COMPACT_MODE").and_then(CompactMode::of);
        let high_water = self.ratio("HISTORY_COMPACT_HIGH_WATER_RATIO");
        let name = self.raw("HISTORY_COMPACT_HIGH_WATER_NAME").map(Text::from);
        let in_turn = self.switch("HISTORY_COMPACT_MID_TURN")? != Some(false);
        Ok(Some(CompactKnobs {
            mode: mode.unwrap_or(CompactMode::ReadWrite),
            high_water_ratio: high_water.unwrap_or(Number::natural(1)),
            force_ratio: self.ratio("HISTORY_COMPACT_FORCE_RATIO"),
            target_ratio: self.ratio("HISTORY_COMPACT_TARGET_RATIO"),
            tail_tokens: self.positive("HISTORY_COMPACT_TAIL_TOKENS").unwrap_or(16_384),
            min_recent_turns: self.positive("HISTORY_COMPACT_MIN_RECENT_TURNS").unwrap_or(3),
            max_summary_tokens: self.positive("HISTORY_COMPACT_MAX_SUMMARY_TOKENS"),
            max_blocks: self.positive("HISTORY_COMPACT_MAX_BLOCKS").unwrap_or(1),
            max_tokens: self.positive("HISTORY_COMPACT_MAX_TOKENS").unwrap_or(2_048),
            max_block_tokens: self.positive("HISTORY_COMPACT_MAX_BLOCK_TOKENS").unwrap_or(1_024),
            high_water_name: name.unwrap_or_else(|| of_surface(surface, "history-compact")),
            mid_turn: in_turn.then(|| MidTurnKnobs {
                reserve_tokens: reserve,
                reserve_tail_events: self.natural("HISTORY_COMPACT_MID_TURN_TAIL_EVENTS"),
            }),
        }))
    }

    fn rewrite_gate(&self, surface: &str) -> Option<RewriteGate> {
        let or = |name: &str, default: Text| self.raw(name).map_or(default, Text::from);
        let reason = Text::from("operator_enabled_history_rewrite_gate");
        self.exactly_on("HISTORY_REWRITE").then(|| RewriteGate {
            name: or("HISTORY_REWRITE_NAME", of_surface(surface, "history-rewrite")),
            version: or("HISTORY_REWRITE_VERSION", Text::from("phase6-v1")),
            reset_reason: or("HISTORY_REWRITE_RESET_REASON", reason),
        })
    }

    fn semantic(&self, surface: &str) -> Result<Option<SemanticKnobs>, NameError> {
        let switch = self.switch("SEMANTIC_COMPACT")?;
        let word = self.raw("SEMANTIC_COMPACT_MODE");
        let mode = word.and_then(SemanticMode::of);
        let off = switch == Some(false) || word == Some("off");
        if off || (switch.is_none() && mode.is_none()) {
            return Ok(None);
        }
        let max_summary = self.positive("SEMANTIC_COMPACT_MAX_SUMMARY_ESTIMATED_TOKENS");
        let max_projection = self
            .positive("SEMANTIC_COMPACT_MAX_ACCEPTED_PROJECTION_ESTIMATED_TOKENS")
            .or(max_summary)
            .or_else(|| self.positive("SEMANTIC_COMPACT_SUMMARY_MAX_ESTIMATED_TOKENS"));
        let max_active = self
            .positive("SEMANTIC_COMPACT_MAX_ACTIVE_ESTIMATED_TOKENS")
            .or_else(|| self.positive("SEMANTIC_COMPACT_MAX_ESTIMATED_TOKENS"));
        let safe = self.positive("SEMANTIC_COMPACT_MIN_SAFE_PREFIX_ESTIMATED_TOKENS");
        let new = self.positive("SEMANTIC_COMPACT_MIN_NEW_PREFIX_ESTIMATED_TOKENS");
        let ratio = self.ratio("SEMANTIC_COMPACT_HIGH_WATER_RATIO");
        let net = self.natural("SEMANTIC_COMPACT_MIN_NET_SAVINGS_TOKENS");
        let invalid = self.natural("SEMANTIC_COMPACT_MAX_CONSECUTIVE_INVALID_SUMMARIES");
        let cooldown = self.natural("SEMANTIC_COMPACT_INVALID_SUMMARY_COOLDOWN_STEPS");
        let weight = self.decimal("SEMANTIC_COMPACT_CALL_TOKEN_COST_WEIGHT");
        let name = self.raw("SEMANTIC_COMPACT_HIGH_WATER_NAME").map(Text::from);
        Ok(Some(SemanticKnobs {
            mode: mode.unwrap_or(SemanticMode::Replace),
            min_step: self.natural("SEMANTIC_COMPACT_MIN_STEP_NUMBER").unwrap_or(2),
            high_water_ratio: ratio.unwrap_or(Number::natural(1)),
            force_ratio: self.ratio("SEMANTIC_COMPACT_FORCE_RATIO"),
            target_ratio: self.ratio("SEMANTIC_COMPACT_TARGET_RATIO"),
            max_active_tokens: max_active.unwrap_or(131_072),
            min_recent_messages: self.natural("SEMANTIC_COMPACT_MIN_RECENT_MESSAGES"),
            min_recent_tool_pairs: self.natural("SEMANTIC_COMPACT_MIN_RECENT_TOOL_PAIRS"),
            min_safe_prefix_tokens: safe.unwrap_or(4_096),
            min_new_prefix_tokens: new.unwrap_or(4_096),
            max_projection_tokens: max_projection.unwrap_or(768),
            max_summary_tokens: max_summary,
            min_savings_tokens: self.natural("SEMANTIC_COMPACT_MIN_SAVINGS_TOKENS").unwrap_or(256),
            min_savings_ratio: self.ratio("SEMANTIC_COMPACT_MIN_SAVINGS_RATIO"),
            min_net_savings_tokens: net.unwrap_or(256),
            call_cost_weight: weight.filter(|weight| !weight.is_negative()),
            max_call_tokens: self.positive("SEMANTIC_COMPACT_MAX_CALL_TOKENS").unwrap_or(4_096),
            max_invalid_summaries: invalid.unwrap_or(2),
            cooldown_steps: cooldown.unwrap_or(8),
            timeout_ms: self.positive("SEMANTIC_COMPACT_TIMEOUT_MS"),
            archive_required: self.switch("SEMANTIC_COMPACT_ARCHIVE_REQUIRED")?,
            model: self.some("SEMANTIC_COMPACT_MODEL"),
            prompt_version: self.some("SEMANTIC_COMPACT_PROMPT_VERSION"),
            high_water_name: name.unwrap_or_else(|| of_surface(surface, "semantic-compact")),
        }))
    }
}

fn of_surface(surface: &str, what: &str) -> Text {
    Text::from(alloc::format!("{surface}-{what}"))
}

/// A value without white space before it, as the source's number readers take it.
fn trimmed(value: &str) -> String {
    let text = Text::from(value);
    let start = text.units().iter().position(|unit| !crate::maka::text::is_space(*unit));
    text.slice(start.unwrap_or(text.len()), text.len()).to_utf8()
}
