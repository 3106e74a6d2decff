//! Token estimators: integer arithmetic with a name, so that a number can say what it rests on.

use serde::Deserialize;

/// A way to estimate tokens from text. The registry is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Estimator {
    /// `ceil(bytes / 4)` over the bytes of the request body. Codex CLI's rule.
    #[serde(rename = "b4ceil")]
    B4Ceil,
}

impl Estimator {
    /// All estimators.
    pub const ALL: [Self; 1] = [Self::B4Ceil];

    /// The id used in policies and reports.
    pub fn id(self) -> &'static str {
        match self {
            Self::B4Ceil => "b4ceil",
        }
    }

    /// Estimated tokens of a body of so many bytes.
    pub fn tokens(self, body_bytes: u64) -> u64 {
        match self {
            Self::B4Ceil => body_bytes.div_ceil(4),
        }
    }
}
