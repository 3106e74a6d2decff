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
    "maka@f19eede",
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
