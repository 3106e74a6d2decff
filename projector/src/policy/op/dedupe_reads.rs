//! `dedupe_reads`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::policy::node::record;

record! {
    /// Replaces what an older read of the same file has returned.
    pub struct DedupeReads: "op \"dedupe_reads\"" {
        /// Arguments that name the file; reads of one tool with equal values are one file.
        path_arguments: Vec<String>,
        /// Stands in the place of an older read.
        replacement: String,
        /// Nothing is replaced until so many bytes can be gained.
        min_batch_bytes: u64 = 0,
        /// What was replaced once stays replaced.
        sticky: bool,
        /// A read is compared with the newest read only where its text is equal.
        equal_only: bool = false,
        /// Later steps at the same event are skipped where this share of the text was gained, in
        /// thousandths.
        skip_next_if_saved_per_mille: Option<u16> = None,
    }
}
