//! `total_cap`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::policy::amount::Amount;
use crate::policy::applies::TextKind;
use crate::policy::node::{record, words};
use crate::policy::text::{Count, Shape, Unit};

words! {
    /// Which text is cut first.
    pub enum TotalOrder {
        /// The largest.
        LargestFirst = "largest_first",
        /// The oldest.
        OldestFirst = "oldest_first",
    }
}

record! {
    /// A size that texts of a kind are not cut below.
    pub struct Floor: "`floors`" {
        /// The kind.
        kind: TextKind,
        /// The size.
        n: u64,
    }
}

record! {
    /// Cuts texts until a request fits.
    pub struct TotalCap: "op \"total_cap\"" {
        /// What is counted.
        unit: Unit,
        /// What all texts together may have.
        limit: Amount,
        /// Which text is cut first.
        order: TotalOrder,
        /// What texts are not cut below. Kinds that are not named are not cut.
        floors: Vec<Floor>,
        /// What is kept of a text that is cut.
        shape: Shape,
        /// Stands where a text was cut.
        marker: String,
        /// What `{n}` of the marker counts.
        marker_count: Count = Count::RemovedUnits,
    }
}
