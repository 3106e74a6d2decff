//! The context window of the model that is used: whose word counts.

/// What somebody says of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of its context window.
    pub context_window: Option<u64>,
    /// Tokens of its input, at most.
    pub input_limit: Option<u64>,
}

impl Limits {
    /// The smaller of the two; a limit of zero is none.
    fn least(self) -> Option<u64> {
        [self.context_window, self.input_limit].into_iter().flatten().filter(|it| *it > 0).min()
    }
}

/// The window: what the user declared, else what the provider reports, else what is known of
/// models of this name.
pub fn resolve(declared: Option<u64>, reported: Limits, known: Limits) -> Option<u64> {
    declared.or_else(|| reported.least()).or_else(|| known.least())
}

/// Tokens that stay free where nobody says how many: a quarter of the window, and not more than
/// [`RESERVE_TOKENS`].
pub fn reserve(window: Option<u64>) -> u64 {
    window.map_or(RESERVE_TOKENS, |window| (window / 4).clamp(1, RESERVE_TOKENS))
}

/// Tokens that stay free of a window that is not known.
pub const RESERVE_TOKENS: u64 = 16_384;
/// Tokens of the history where the window is not known.
pub const HISTORY_TOKENS: u64 = 32_000;

/// Tokens of the history where nobody says how many. One provider gets no limit while its window
/// is not known.
pub fn history(window: Option<u64>, reserve: u64, provider: &str) -> Option<u64> {
    match window {
        Some(window) => Some(window.saturating_sub(reserve).max(1)),
        None if provider == "deepseek" => None,
        None => Some(HISTORY_TOKENS),
    }
}
