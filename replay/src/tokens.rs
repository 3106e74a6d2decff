//! Exact counts of tokens, by the vocabularies that come with this program.
//!
//! The projector asks whoever calls it for counts; these are the ones that every reader of
//! recordings in this crate gives it. A text that spells a special token is ordinary text.

use artifacts::Source;
use ledger::history::History;
use projector::measure::{Estimator, TokenCounter};
use projector::{Policy, Projector};

/// Counts by `cl100k_base` and `o200k_base`.
///
/// Each is unpacked into memory when it is first asked for, and stays there: some ten megabytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vocabularies;

impl TokenCounter for Vocabularies {
    fn count(&self, estimator: Estimator, text: &str) -> Option<u64> {
        let name = match estimator {
            Estimator::TiktokenCl100k => "cl100k_base",
            Estimator::TiktokenO200k => "o200k_base",
            _ => return None,
        };
        u64::try_from(tiktoken::get_encoding(name)?.count(text)).ok()
    }
}

/// A projector that counts by [`Vocabularies`], before its first request.
pub fn projector<'h>(
    history: &'h History,
    source: &'h dyn Source,
    policy: &'h Policy,
) -> Projector<'h> {
    Projector::new(history, source, policy).counted_by(&Vocabularies)
}
