//! What a run under a policy would have cost, hidden and broken: integers only.
//!
//! [`cache`] says which tokens a provider would have read from its prompt cache, by a
//! [`Rulebook`] of a date; [`prices`] turns them into money. Nothing here knows a clock, a
//! float or an order of hashes: two evaluations of the same facts are the same bytes.

mod bytes;
pub mod cache;
pub mod evaluate;
pub mod evidence;
pub mod line;
pub mod money;
pub mod notice;
pub mod outcome;
pub mod outline;
pub mod prices;
mod prompt;
pub mod rulebook;
pub mod scale;
pub mod signs;

pub use cache::{Ask, Block, Cause, Charge, Section, Simulator};
pub use evaluate::{Facts, Ground, Terms, evaluate, evaluate_views};
pub use line::{Class, Line, Recall};
pub use money::Picodollars;
pub use notice::Notices;
pub use outline::Voice;
pub use prices::{Cost, ModelPrice, PriceTable};
pub use prompt::{Voices, prompt_bytes};
pub use rulebook::{DataError, Rulebook};
pub use scale::Scale;
