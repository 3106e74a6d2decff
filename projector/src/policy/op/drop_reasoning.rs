//! `drop_reasoning`.

use crate::policy::node::{record, words};

words! {
    /// Which reasoning stays.
    pub enum KeepReasoning {
        /// None.
        None = "none",
        /// That of the last message.
        LastMessage = "last_message",
        /// That of the last turns of the model; `n` says how many.
        Turns = "turns",
        /// All.
        All = "all",
    }
}

record! {
    /// Leaves reasoning out.
    pub struct DropReasoning: "op \"drop_reasoning\"" {
        /// Which stays.
        keep: KeepReasoning,
        /// With `turns`: so many.
        n: u32 = 1,
        /// Messages that have become empty are removed.
        remove_empty: bool = true,
    }
}
