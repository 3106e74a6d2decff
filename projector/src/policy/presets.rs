//! The policies that are built in.

use alloc::vec::Vec;

use super::{Policy, PolicyError};

/// A built-in policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name that stands for it on the command line.
    pub id: &'static str,
    /// Its text.
    pub toml: &'static str,
}

macro_rules! presets {
    ($(#[doc = $doc:literal])* $name:ident: $($id:literal),* $(,)?) => {
        $(#[doc = $doc])*
        pub const $name: &[Preset] = &[$(Preset {
            id: $id,
            toml: include_str!(concat!("../../policies/", $id, ".toml")),
        }),*];
    };
}

presets![
    /// One to start from for each common primitive; all of them but `recorded`, which has no
    /// step.
    PRESETS:
    "cap-2k",
    "cap-4k",
    "cap-8k",
    "cap-16k",
    "head-200-lines",
    "clear-keep-3",
    "clear-60k-keep-3",
    "window-20",
];

presets![
    /// What known harnesses do; ids carry the harness's version.
    HARNESSES:
    "codex@820f85c",
    "codex-bytes@820f85c",
    "codex@0.171.0",
    "codex-acp@0.16.0",
    "anthropic-context-management@20250919",
    "claude-code~documented@2.1.240",
    "openhands@611629e",
    "gemini-cli@0.61.0",
    "opencode@1.18.33",
    "qwen-code@0.15.10",
    "goose@0036b81",
    "cline-basic@21cb8d2",
    "cline-legacy@pre-791d238",
    "cline@3.0.65",
    "roo@cb83656",
    "aider@5dc9490",
    "swe-agent-last5@3ea751c",
    "mini-swe-agent@2.4.6",
    "mini-swe-agent-default@2.4.6",
    "langchain-clear-tool-uses@1.5.2",
    "langchain-trim-last@core1.8.3",
    "langchain-summarization@1.5.2",
    "vercel-prune@6.0.326",
    "openai-agents-trimmer@0.24.0",
    "letta@0.16.8",
    "smolagents@1.26.0",
    "pi@0.73.1",
    "crush@37f36e9",
    "terminus-2@harbor0.26.0",
    "deepseek-harness@b150a55",
    "maka@f19eede",
    "deepagents@0.7.8",
];

impl Preset {
    /// Reads it.
    ///
    /// # Errors
    /// It has constants that nobody has documented, which have to be set. A test reads all
    /// others.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        Policy::from_toml(self.toml)
    }
}

/// Every built-in policy but `recorded`.
pub fn every() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().chain(HARNESSES)
}

/// The built-in policy of this id.
pub fn find(id: &str) -> Option<&'static Preset> {
    every().find(|preset| preset.id == id)
}

/// The policies to compare when nobody names any: `recorded` first, then one for each common
/// primitive.
///
/// # Errors
/// As for [`Preset::policy`].
pub fn all() -> Result<Vec<Policy>, PolicyError> {
    let presets = PRESETS.iter().map(Preset::policy);
    core::iter::once(Ok(Policy::recorded())).chain(presets).collect()
}
