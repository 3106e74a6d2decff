//! `media`.

use alloc::string::String;

use crate::policy::node::{record, words};

words! {
    /// What happens with a medium.
    pub enum MediaAction {
        /// It stays.
        Keep = "keep",
        /// It is left out.
        Strip = "strip",
        /// A text stands in its place.
        Placeholder = "placeholder",
    }
}

record! {
    /// Handles images and other media.
    pub struct Media: "op \"media\"" {
        /// What happens with them.
        action: MediaAction,
        /// The text that stands in their place.
        placeholder: String = String::new(),
        /// What one of them counts, in tokens; without it, what its text form counts.
        flat_tokens: Option<u64> = None,
        /// So many of the newest stay.
        keep: u32 = 0,
    }
}
