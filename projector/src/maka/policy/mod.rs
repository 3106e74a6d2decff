//! The source's policy: every parameter in force, whether it was set or not.
//!
//! [`BudgetPolicy::from_names`] builds it from names and values that the caller gives, by the
//! rules of the source, and never from an environment. [`BudgetPolicy::source_json`] is the
//! source's own form of it, without what is not set; [`BudgetPolicy::snapshot`] names every
//! parameter, and reading it back fails when one is missing.

mod field;
mod from_names;
pub mod knobs;
mod resolve;
mod sections;
pub mod window;

pub use from_names::{For, NameError};
pub use sections::{
    ActivePruneKnobs, BudgetPolicy, CompactKnobs, CompactMode, MidTurnKnobs, RetrievalKnobs,
    RetrievalMode, RetrievalOrder, RewriteGate, SearchKnobs, SemanticKnobs, SemanticMode,
    StalePruneKnobs, SynthesisKnobs, SynthesisMode,
};

/// Why a text is no snapshot of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The snapshot or one of its sections is no object.
    #[error("`{at}`: no object")]
    NoObject {
        /// Which.
        at: &'static str,
    },
    /// A parameter is missing or has a value of another type.
    #[error("`{section}.{field}`: missing, or no value of its type")]
    Field {
        /// The section.
        section: &'static str,
        /// The parameter.
        field: &'static str,
    },
    /// There is a parameter that nothing reads.
    #[error("`{section}`: a parameter that is not known")]
    Unknown {
        /// The section.
        section: &'static str,
    },
}
