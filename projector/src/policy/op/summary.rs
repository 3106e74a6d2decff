//! `summary`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::policy::amount::Amount;
use crate::policy::node::{Fields, Wrong, record, words};
use crate::policy::text::Unit;

words! {
    /// Where the text of a summary comes from.
    pub enum SummarySource {
        /// The one on record, for the identical range and inputs; else refused.
        Recorded = "recorded",
        /// The one on record where it fits, else a placeholder of an assumed size.
        Assumed = "assumed",
        /// A rule without a model.
        Deterministic = "deterministic",
        /// None: a request that needs one is refused.
        Refuse = "refuse",
    }
}

words! {
    /// Summaries that are made without a model.
    pub enum Deterministic {
        /// Typed prompts, the newest part of the last turn, last answers of older turns, and a
        /// notice with files, commands and texts. Cline's `basic` strategy.
        ClineBasic = "cline_basic",
        /// One block of one line per message. Maka's history compaction.
        MakaHistory = "maka_history",
    }
}

words! {
    /// Who says a text.
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The system.
        System = "system",
    }
}

words! {
    /// Where a summary stands.
    pub enum Place {
        /// Before all other messages.
        Start = "start",
        /// Behind the protected head.
        AfterHead = "after_head",
        /// At a recorded place.
        Offset = "offset",
        /// Behind all other messages.
        End = "end",
    }
}

words! {
    /// In which order what is retained is chosen.
    pub enum RetainOrder {
        /// From the newest.
        NewestFirst = "newest_first",
        /// From the oldest.
        OldestFirst = "oldest_first",
    }
}

words! {
    /// Where the retained part may begin.
    pub enum RetainBoundary {
        /// At any message.
        Any = "any",
        /// At a message of the user.
        User = "user",
        /// At a message of the model.
        Assistant = "assistant",
        /// Not at a tool result.
        NoToolResult = "no_tool_result",
        /// Where no call and its result part.
        SafeGroup = "safe_group",
        /// Behind a message of the model.
        HeadEndsAssistant = "head_ends_assistant",
    }
}

record! {
    /// What stays beside a summary.
    pub struct Retain: "`retain`" {
        /// So many of the first messages.
        head: u32 = 0,
        /// User messages of so many estimated tokens.
        user_messages_tokens: Option<u64> = None,
        /// How the user message that crosses is handled: cut in the middle, or left out.
        cut_crossing: bool = false,
        /// The newest messages of so many estimated tokens.
        recent_tokens: Option<Amount> = None,
        /// So many of the newest messages.
        recent_messages: Option<u64> = None,
        /// The newest messages, as a share of the whole in thousandths.
        recent_per_mille: Option<u16> = None,
        /// What the share is of.
        recent_unit: Option<Unit> = None,
        /// So many of the newest turns at least.
        min_turns: u32 = 0,
        /// Half of what the trigger allows, less the head, less one. OpenHands.
        half_of_trigger: bool = false,
        /// The share that goes grows by this much until the rest fits, in thousandths.
        step_per_mille: Option<u16> = None,
        /// The rest fits below this share of the window, in thousandths.
        goal_per_mille: Option<u16> = None,
        /// The text of the last user message.
        last_user_text: bool = false,
        /// In which order is chosen.
        order: RetainOrder = RetainOrder::NewestFirst,
        /// Where the retained part may begin.
        boundary: RetainBoundary = RetainBoundary::Any,
    }
}

record! {
    /// A message behind a summary.
    pub struct Appended: "`append`" {
        /// Who says it.
        role: Role,
        /// What is said.
        text: String,
    }
}

record! {
    /// What is done with tool results before a summary is made.
    pub struct SummaryPre: "`pre`" {
        /// The newest results of so many estimated tokens together stay whole.
        budget_tokens: u64,
        /// Older ones are cut like this step cuts; its place in the policy, from 1.
        cut_by_step: u32,
    }
}

record! {
    /// Puts a summary in the place of old messages.
    pub struct Summary: "op \"summary\"", check whole {
        /// Where its text comes from.
        source: SummarySource,
        /// With `deterministic`: which.
        rule: Option<Deterministic> = None,
        /// With `assumed`: its size in estimated tokens; without it, the median on record.
        assumed_tokens: Option<u64> = None,
        /// Who says it.
        role: Role = Role::User,
        /// The text around it; `{summary}` is the summary. Empty: as it is on record.
        wrapper: String = String::new(),
        /// Where it stands.
        place: Place,
        /// What stays beside it.
        retain: Retain,
        /// What is done with tool results before.
        pre: Option<SummaryPre> = None,
        /// The request fits this many tokens afterwards, as a share of the trigger's value, in
        /// thousandths.
        target_per_mille: Option<u16> = None,
        /// It is given up where the request would be larger afterwards.
        reject_if_larger: bool = false,
        /// It is given up where a smaller share of the messages would go, in thousandths.
        min_progress_per_mille: u16 = 0,
        /// A second call of the model checks it.
        verify: bool = false,
        /// What was summarized stays in the harness's own state.
        hide: bool = false,
        /// Messages behind it.
        append: Vec<Appended> = Vec::new(),
    }
}

fn whole(summary: &Summary, fields: &Fields<'_>) -> Result<(), Wrong> {
    match (summary.source, summary.rule) {
        (SummarySource::Deterministic, None) => Err(fields.missing("rule")),
        (SummarySource::Deterministic, Some(_)) | (_, None) => Ok(()),
        (_, Some(_)) => {
            let reason = "`rule` goes with source \"deterministic\" only";
            Err(Wrong::new(fields.at("rule"), reason))
        }
    }
}
