//! The policies that are built in: one to start from for each primitive.

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
    ($($id:literal),* $(,)?) => {
        /// All of them but `recorded`, which has no step.
        pub const PRESETS: &[Preset] = &[$(Preset {
            id: $id,
            toml: include_str!(concat!("../../policies/", $id, ".toml")),
        }),*];
    };
}

presets![
    "cap-2k",
    "cap-4k",
    "cap-8k",
    "cap-16k",
    "head-200-lines",
    "clear-keep-3",
    "clear-60k-keep-3",
    "window-20",
];

impl Preset {
    /// Reads it.
    ///
    /// # Errors
    /// Never for a preset of a released version; a test reads them all.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        Policy::from_toml(self.toml)
    }
}

/// The policies to compare when nobody names any: `recorded` first, then every preset.
///
/// # Errors
/// As for [`Preset::policy`].
pub fn all() -> Result<alloc::vec::Vec<Policy>, PolicyError> {
    let presets = PRESETS.iter().map(Preset::policy);
    core::iter::once(Ok(Policy::recorded())).chain(presets).collect()
}
