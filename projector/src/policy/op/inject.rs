//! `inject`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::measure::Estimator;
use crate::policy::node::{record, words};

words! {
    /// When texts are added.
    pub enum InjectOn {
        /// At the start of a conversation.
        Start = "start",
        /// Behind each summary.
        AfterSummary = "after_summary",
    }
}

words! {
    /// What is added.
    pub enum InjectKind {
        /// Rules of the project.
        Rules = "rules",
        /// Skills that were used.
        Skill = "skill",
        /// What the harness remembers.
        Memory = "memory",
        /// Files of the conversation.
        Files = "files",
        /// A map of the repository.
        RepoMap = "repo_map",
        /// A fixed text.
        Text = "text",
    }
}

words! {
    /// What goes first where a total is exceeded.
    pub enum DropOrder {
        /// The oldest.
        Oldest = "oldest",
        /// The newest.
        Newest = "newest",
    }
}

record! {
    /// One kind of text that is added.
    pub struct InjectItem: "`items`" {
        /// What it is.
        kind: InjectKind,
        /// Each is cut to so many tokens.
        each: Option<u64> = None,
        /// All together have so many tokens at most.
        total: Option<u64> = None,
        /// What goes first.
        drop: DropOrder = DropOrder::Oldest,
        /// The fixed text.
        text: String = String::new(),
    }
}

record! {
    /// Adds rules, memory or other texts.
    pub struct Inject: "op \"inject\"" {
        /// When.
        on: InjectOn,
        /// What, in this order.
        items: Vec<InjectItem>,
        /// How tokens are estimated.
        estimator: Estimator = Estimator::B4Ceil,
    }
}
