//! What all dialects know of an answer beside its items: names, counts, and how it ended.

use super::leaf::{Fields, Leaf};
use super::{AnswerError, End, Usage};

/// A provider's word for an error that is longer, or has spaces, is prose and is not kept.
const ERROR_WORD_BYTES_MAX: usize = 96;

/// Why an event was not taken in.
#[derive(Debug, thiserror::Error)]
pub(super) enum Misread {
    /// Well-formed, but of no known kind or out of place.
    #[error("unknown event")]
    Unknown,
    /// Not JSON, not Unicode, or of another shape: something the model said may be lost.
    #[error("damaged event")]
    Damaged(#[from] serde_json::Error),
}

/// What all dialects know of an answer beside its items.
#[derive(Default)]
pub(super) struct Head {
    pub(super) usage: Option<Usage>,
    pub(super) stop: Option<String>,
    pub(super) model: Option<String>,
    pub(super) provider_id: Option<String>,
    pub(super) error: Option<AnswerError>,
    pub(super) unparsed: u32,
    pub(super) damaged: u32,
    pub(super) started: bool,
    pub(super) terminal: bool,
}

impl Head {
    /// Counts something that is not kept.
    pub(super) fn skip(&mut self) {
        self.unparsed = self.unparsed.saturating_add(1);
    }

    /// Counts a failure to understand.
    pub(super) fn misread(&mut self, why: &Misread) {
        self.skip();
        if matches!(why, Misread::Damaged(_)) {
            self.damaged = self.damaged.saturating_add(1);
        }
    }

    /// Keeps the first id and the first model that are not empty.
    pub(super) fn identify(&mut self, id: Leaf<'_>, model: Leaf<'_>) {
        self.provider_id = self.provider_id.take().or_else(|| id.label());
        self.model = self.model.take().or_else(|| model.label());
    }

    /// Keeps the last word.
    pub(super) fn stop(&mut self, reason: Leaf<'_>) {
        self.stop = reason.label().or_else(|| self.stop.take());
    }

    /// Lets newer counts replace older ones, kind by kind.
    pub(super) fn count(&mut self, new: Usage) {
        if new == Usage::default() {
            return;
        }
        let old = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input_tokens: new.input_tokens.or(old.input_tokens),
            output_tokens: new.output_tokens.or(old.output_tokens),
            cache_read_tokens: new.cache_read_tokens.or(old.cache_read_tokens),
            cache_write_tokens: new.cache_write_tokens.or(old.cache_write_tokens),
            reasoning_tokens: new.reasoning_tokens.or(old.reasoning_tokens),
            total_tokens: new.total_tokens.or(old.total_tokens),
        });
    }

    /// Records an error in whatever shape the wire has it.
    pub(super) fn fail(&mut self, error: Leaf<'_>) {
        let names: Fields<'_> = error.fields_if_any().unwrap_or_default();
        let kind = names.get("type").label().or_else(|| names.get("status").label());
        let code = names.get("code");
        let code = code.label().or_else(|| code.number().map(|code| code.to_string()));
        let short = |word: &String| {
            word.len() <= ERROR_WORD_BYTES_MAX && !word.contains(char::is_whitespace)
        };
        self.error = Some(AnswerError { kind: kind.filter(short), code: code.filter(short) });
    }

    pub(super) fn end(&self) -> End {
        match (self.terminal, self.started) {
            (true, _) => End::Terminal,
            (false, true) => End::Cut,
            (false, false) => End::NotStarted,
        }
    }
}
