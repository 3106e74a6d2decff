//! `cap_args`.

use alloc::string::String;

use crate::policy::keep::Keep;
use crate::policy::node::record;
use crate::policy::text::Unit;

record! {
    /// Cuts string arguments of old tool calls.
    pub struct CapArgs: "op \"cap_args\"" {
        /// What is counted.
        unit: Unit,
        /// Strings up to this size stay whole.
        threshold: u64,
        /// What is left of a longer one.
        head: u64,
        /// Stands behind it.
        marker: String,
        /// Calls in the newest part stay whole.
        keep: Option<Keep> = None,
        /// The newest part in thousandths of the context window, instead of `keep`.
        keep_window_per_mille: Option<u16> = None,
        /// All arguments are replaced by an empty object instead.
        clear: bool = false,
    }
}
