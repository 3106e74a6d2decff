//! What a preset says about itself: where its numbers come from, and what it cannot know.

use alloc::string::String;
use alloc::vec::Vec;

use super::node::{record, words};

words! {
    /// How the behavior of a harness is known.
    pub enum Evidence {
        /// Its own code was run and compared.
        Executed = "executed",
        /// Its source was read.
        Read = "read",
        /// Its documentation was read.
        Documented = "documented",
    }
}

record! {
    /// Where a preset comes from. Not part of the policy id.
    pub struct About: "`about`" {
        /// The program.
        harness: String,
        /// Its version or commit.
        version: String,
        /// Repository and files, package, or documents.
        source: Vec<String>,
        /// When it was looked at, as `YYYY-MM-DD`.
        date: String,
        /// How the behavior is known.
        evidence: Evidence,
        /// What the preset only approximates, and what it leaves out.
        approximate: Vec<String> = Vec::new(),
        /// Ops that need recorded events, a model or the provider.
        impure: Vec<String> = Vec::new(),
    }
}
