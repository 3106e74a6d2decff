//! `tools`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::policy::node::record;

record! {
    /// Chooses the tools that are offered.
    pub struct Tools: "op \"tools\"" {
        /// Only these, if there are any.
        only: Vec<String> = Vec::new(),
        /// None of these.
        exclude: Vec<String> = Vec::new(),
        /// The schemas of these are offered when they are asked for.
        deferred: Vec<String> = Vec::new(),
        /// Schemas of so many estimated tokens at most, in the order of the request.
        max_tokens: Option<u64> = None,
    }
}
