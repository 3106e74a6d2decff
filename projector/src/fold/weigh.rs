//! Tokens of single messages and texts, by an estimator, so that sums can be kept.
//!
//! Every message has a raw measure to which its texts add up, and tokens that follow from it: most
//! estimators look at each text by itself, LangChain's at all characters of a message, and the
//! one that takes a quarter of the bytes at the bytes of the message as it is sent.

use ledger::wire::Role;

use crate::measure::{DSH_BLOCK, Estimator, TokenCounter};

/// What texts are weighed by: an estimator, and the counter that it may need.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'c> {
    pub(crate) estimator: Estimator,
    pub(crate) counter: Option<&'c dyn TokenCounter>,
}

impl Scales<'_> {
    /// What a text adds to its message.
    pub(crate) fn raw(self, text: &str, written_bytes: u64) -> u64 {
        match self.estimator {
            _ if !reads(self.estimator) => written_bytes,
            Estimator::LcApprox | Estimator::LcApprox33 => text.chars().count() as u64,
            Estimator::JsonU16x3Ceil => text.encode_utf16().count() as u64,
            _ => self.tokens_of(text),
        }
    }

    /// Tokens of a text by itself. Where nothing counts it, a quarter of its bytes: a policy
    /// without estimator asks for no number that something rests on.
    pub(crate) fn tokens_of(self, text: &str) -> u64 {
        let estimator = self.estimator;
        match estimator {
            // What a message adds is not part of a text.
            Estimator::LcApprox => (text.chars().count() as u64).div_ceil(4),
            Estimator::LcApprox33 => (text.chars().count() as u64 * 10).div_ceil(33),
            _ => estimator
                .text(text, self.counter)
                .unwrap_or_else(|| (text.len() as u64).div_ceil(4)),
        }
    }
}

impl core::fmt::Debug for Scales<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Scales of {}", self.estimator.id())
    }
}

/// Tokens of a message with this raw measure.
pub(crate) fn tokens(estimator: Estimator, raw: u64) -> u64 {
    match estimator {
        Estimator::B4Ceil | Estimator::CodexItem | Estimator::External => raw.div_ceil(4),
        Estimator::JsonB4x13 => raw.div_ceil(4) * 13 / 10,
        Estimator::LcApprox => raw.div_ceil(4) + 3,
        Estimator::LcApprox33 => raw.saturating_mul(10).div_ceil(33) + 3,
        Estimator::JsonU16x3Ceil => raw.div_ceil(3).max(1),
        Estimator::Dsh1 => raw + DSH_BLOCK,
        _ => raw,
    }
}

/// True where the texts themselves have to be read.
pub(crate) fn reads(estimator: Estimator) -> bool {
    !matches!(
        estimator,
        Estimator::B4Ceil
            | Estimator::CodexItem
            | Estimator::JsonB4x13
            | Estimator::External
            | Estimator::None
    )
}

/// True where names of tools, and what stands around the messages, count as they are.
pub(crate) fn is_exact(estimator: Estimator) -> bool {
    matches!(estimator, Estimator::TiktokenCl100k | Estimator::TiktokenO200k)
}

/// What a message adds to its texts before they are measured.
pub(crate) fn envelope(estimator: Estimator, role: Role, calls: u64) -> u64 {
    if !matches!(estimator, Estimator::LcApprox | Estimator::LcApprox33) {
        return 0;
    }
    // LangChain counts the word for the role, and calls as Python writes a list of them.
    let role = match role {
        Role::System => "system".len(),
        Role::User => "human".len(),
        Role::Assistant => "ai".len(),
        Role::Tool => "tool".len(),
        Role::Unknown => 0,
    };
    let each = "{'name': '', 'args': , 'id': '', 'type': 'tool_call'}".len() as u64;
    let list = if calls == 0 { 0 } else { calls * each + (calls - 1) * 2 + 2 };
    role as u64 + list
}
