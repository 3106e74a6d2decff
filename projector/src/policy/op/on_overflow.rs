//! `on_overflow`.

use crate::policy::node::{Fields, Wrong, record, words};

words! {
    /// What is done.
    pub enum OverflowAction {
        /// The turn ends with an error.
        Error = "error",
        /// Pairs are taken from the end until so many tokens are free.
        Unwind = "unwind",
        /// A deterministic summary is made.
        Basic = "basic",
        /// The oldest message goes, with its partner, and the request is sent again.
        RetryDropOldest = "retry_drop_oldest",
    }
}

record! {
    /// What is done when a request would not fit.
    pub struct OnOverflow: "op \"on_overflow\"", check whole {
        /// What is done.
        action: OverflowAction,
        /// With `unwind`: so many tokens are free afterwards.
        free_tokens: Option<u64> = None,
    }
}

fn whole(guard: &OnOverflow, fields: &Fields<'_>) -> Result<(), Wrong> {
    match (guard.action, guard.free_tokens) {
        (OverflowAction::Unwind, None) => Err(fields.missing("free_tokens")),
        (OverflowAction::Unwind, Some(_)) | (_, None) => Ok(()),
        (_, Some(_)) => {
            let reason = "`free_tokens` goes with action \"unwind\" only";
            Err(Wrong::new(fields.at("free_tokens"), reason))
        }
    }
}
