//! `repair`.

use alloc::string::String;

use super::Orphan;
use crate::policy::node::{record, words};

words! {
    /// Where the id of a result that was made up comes from.
    pub enum IdRule {
        /// The id of its call.
        CallId = "call_id",
        /// A hash of the id of the call's item.
        ItemHash = "item_hash",
    }
}

record! {
    /// Mends calls without results and results without calls.
    pub struct Repair: "op \"repair\"" {
        /// The text of the result that a call without one gets; without it, none is made.
        missing_output: Option<String> = None,
        /// The id of such a result.
        id_rule: IdRule = IdRule::CallId,
        /// Results without a call.
        orphan_output: Orphan,
        /// Calls without a result.
        orphan_call: Orphan = Orphan::Keep,
        /// Of several results of one call, the first stays.
        unique_output: bool = false,
        /// All calls of one answer stay together, or go together.
        batch_atomic: bool = false,
        /// A loop of calls that begins with reasoning stays whole, or goes whole.
        thinking_loop_atomic: bool = false,
    }
}
