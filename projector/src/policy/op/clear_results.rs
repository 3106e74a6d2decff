//! `clear_results`.

use alloc::string::String;

use crate::policy::keep::{Keep, KeepResults, MinGain};
use crate::policy::node::{Fields, Wrong, record, words};
use crate::policy::text::{LineRule, Preview, Spill};

words! {
    /// What stands in the place of a cleared result.
    pub enum Replace {
        /// The text of `replacement`.
        Text = "text",
        /// The text of `replacement`, with what `preview` shows as `{preview}`.
        Preview = "preview",
        /// Nothing: the call and its result are removed.
        RemovePair = "remove_pair",
    }
}

words! {
    /// What happens with the result in which a count of tokens crosses what is kept.
    pub enum Crossing {
        /// It is cleared.
        Clear = "clear",
        /// It stays.
        Keep = "keep",
    }
}

words! {
    /// What happens with reasoning whose calls were all removed.
    pub enum Orphan {
        /// It stays.
        Keep = "keep",
        /// It is removed too.
        Drop = "drop",
    }
}

words! {
    /// What happens with messages that have become empty.
    pub enum EmptyMessages {
        /// They stay.
        Keep = "keep",
        /// They are removed.
        Remove = "remove",
    }
}

record! {
    /// Replaces the texts of old tool results.
    pub struct ClearResults: "op \"clear_results\"", check whole {
        /// What of the newest stays, whatever its tool. A number: so many results.
        keep: Keep,
        /// What stands in the place of a result.
        replace: Replace = Replace::Text,
        /// The text that stands there.
        replacement: Option<String> = None,
        /// What `{preview}` of the replacement shows.
        preview: Option<Preview> = None,
        /// What was cleared once stays cleared.
        sticky: bool,
        /// What acting must gain.
        min_gain: Option<MinGain> = None,
        /// Results of fewer estimated tokens stay.
        min_size_tokens: u64 = 0,
        /// What happens with the result that crosses a number of tokens.
        crossing: Crossing = Crossing::Keep,
        /// The number of results is taken as the largest multiple of this that it reaches.
        polling: u32 = 1,
        /// The arguments of cleared calls are replaced by an empty object.
        clear_inputs: bool = false,
        /// What a line is, for `{lines}` of the replacement.
        line_rule: LineRule = LineRule::SplitLf,
        /// A text that would not become shorter stays.
        only_if_smaller: bool = false,
        /// Where the whole text was put aside.
        spill: Spill = Spill::None,
        /// With `remove_pair`: reasoning whose calls were all removed.
        orphan_reasoning: Orphan = Orphan::Keep,
        /// With `remove_pair`: messages that have become empty.
        empty_messages: EmptyMessages = EmptyMessages::Keep,
    }
}

fn whole(clear: &ClearResults, fields: &Fields<'_>) -> Result<(), Wrong> {
    if clear.polling == 0 {
        return Err(Wrong::new(fields.at("polling"), "`polling` is 1 or more"));
    }
    match (clear.replace, &clear.replacement, &clear.preview) {
        (Replace::RemovePair, None, None)
        | (Replace::Text, Some(_), None)
        | (Replace::Preview, Some(_), Some(_)) => Ok(()),
        (Replace::RemovePair, ..) => {
            let reason = "`remove_pair` has no `replacement` and no `preview`";
            Err(Wrong::new(fields.at("replace"), reason))
        }
        (_, None, _) => Err(fields.missing("replacement")),
        (Replace::Preview, _, None) => Err(fields.missing("preview")),
        (Replace::Text, _, Some(_)) => {
            Err(Wrong::new(fields.at("preview"), "`preview` goes with replace \"preview\" only"))
        }
    }
}

impl ClearResults {
    /// Puts a text in the place of all but the newest results.
    pub fn plain(keep: u64, replacement: &str, sticky: bool) -> Self {
        Self {
            keep: Keep(KeepResults::results(keep)),
            replace: Replace::Text,
            replacement: Some(replacement.into()),
            preview: None,
            sticky,
            min_gain: None,
            min_size_tokens: 0,
            crossing: Crossing::Keep,
            polling: 1,
            clear_inputs: false,
            line_rule: LineRule::SplitLf,
            only_if_smaller: false,
            spill: Spill::None,
            orphan_reasoning: Orphan::Keep,
            empty_messages: EmptyMessages::Keep,
        }
    }

    /// The text that stands in the place of a result; empty where the pair is removed.
    pub fn text(&self) -> &str {
        self.replacement.as_deref().unwrap_or_default()
    }
}
