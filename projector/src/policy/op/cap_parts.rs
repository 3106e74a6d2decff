//! `cap_parts`.

use alloc::string::String;

use crate::measure::Estimator;
use crate::policy::amount::Amount;
use crate::policy::node::record;
use crate::policy::text::{Count, Edge, Shape, Unit};

record! {
    /// Cuts the texts of one result to a budget that they share: the text that crosses it is cut
    /// to what is left, later ones are left out.
    pub struct CapParts: "op \"cap_parts\"" {
        /// What is counted.
        unit: Unit,
        /// The budget of all texts together.
        limit: Amount,
        /// The budget is multiplied with this, in thousandths, rounded up.
        limit_scale_per_mille: u32 = 1000,
        /// With unit `tok`: how tokens are estimated.
        estimator: Estimator = Estimator::B4Ceil,
        /// What is kept of the text that crosses the budget.
        shape: Shape,
        /// What happens where a cut falls inside a character.
        boundary: Edge = Edge::Shrink,
        /// Stands where a text was cut.
        marker: String,
        /// What `{n}` of the marker counts.
        marker_count: Count = Count::RemovedUnits,
        /// Stands before a text that was cut.
        header: String = String::new(),
        /// A last text, where texts were left out; `{n}` is their number. Empty: none is added.
        omitted_marker: String,
        /// All texts are joined, cut once, and stand before everything else.
        merge: bool = false,
        /// What an image or other medium takes of the budget, in units.
        media_cost: u64 = 0,
    }
}
