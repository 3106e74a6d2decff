//! How much of what the provider counted is on record, and which calls nobody can explain.
//!
//! Captured tokens are an estimate over the recorded bodies, reported tokens are the provider's,
//! over the same requests. Far below one means that bodies were cut or are not the ones that were
//! counted; near one means that they are, as far as the estimator goes. A call that was never
//! captured adds to neither side and cannot be seen here. It is no measure of the estimator, and
//! a server that counts tokens as the estimator does proves the arithmetic and nothing else.

use std::collections::BTreeMap;

use ledger::event::{SessionBasis, Usage};
use ledger::history::{End, History};
use ledger::wire::Dialect;
use projector::measure::Estimator;

/// Calls of one kind that are not part of a main conversation, or have no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// What they are.
    pub kind: String,
    /// How many.
    pub calls: u64,
}

/// Captured input against reported input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Requests whose answer reports its input tokens.
    pub with_usage: u64,
    /// Requests without such a report.
    pub without_usage: u64,
    /// Estimated tokens of the bodies of the requests with a report (`b4ceil`).
    pub captured_tokens: u64,
    /// Input tokens that the provider reported for them, cached ones included.
    pub reported_tokens: u64,
    /// Calls beside the main conversations, and requests without an answer.
    pub unexplained: Vec<Unexplained>,
}

impl Coverage {
    /// Captured tokens per thousand reported ones; `None` where nothing was reported.
    pub fn per_mille(&self) -> Option<u64> {
        let scaled = u128::from(self.captured_tokens) * 1000;
        let quotient = scaled.checked_div(u128::from(self.reported_tokens))?;
        u64::try_from(quotient).ok()
    }

    /// Counts over a run.
    pub(super) fn of(history: &History) -> Self {
        let mut coverage = Self::default();
        let mut unexplained: BTreeMap<String, u64> = BTreeMap::new();
        for record in history.records().iter().filter(|record| !record.is_note()) {
            *unexplained.entry(record.reason.clone()).or_default() += 1;
        }
        for request in history.requests() {
            let usage = request.answer.as_ref().and_then(|(_, answer)| answer.usage);
            match usage.and_then(|usage| reported_input(request.dialect, &usage)) {
                Some(reported) => {
                    coverage.with_usage += 1;
                    coverage.reported_tokens += reported;
                    coverage.captured_tokens +=
                        Estimator::B4Ceil.tokens(request.captured.body_bytes);
                }
                None => coverage.without_usage += 1,
            }
            let ended = request.answer.as_ref().map(|(end, _)| *end);
            if ended != Some(End::Received) {
                let kind = match ended {
                    None => "request without an answer",
                    Some(End::Aborted) => "answer that broke off",
                    _ => "answer with an error",
                };
                *unexplained.entry(kind.to_owned()).or_default() += 1;
            }
            let session = history.sessions().get(request.session().index());
            if session.is_some_and(|session| session.opened.basis == SessionBasis::Side) {
                *unexplained.entry("side request of a conversation".to_owned()).or_default() += 1;
            }
        }
        coverage.unexplained =
            unexplained.into_iter().map(|(kind, calls)| Unexplained { kind, calls }).collect();
        coverage
    }
}

/// All input tokens, cached ones included. Anthropic reports cached ones beside the others, the
/// other providers among them.
pub(crate) fn reported_input(dialect: Dialect, usage: &Usage) -> Option<u64> {
    let input = usage.input_tokens?;
    Some(match dialect {
        Dialect::AnthropicMessages => {
            input + usage.cache_read_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0)
        }
        _ => input,
    })
}
