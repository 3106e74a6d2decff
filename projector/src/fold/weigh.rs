//! Tokens of single messages and texts, by an estimator, so that sums can be kept.
//!
//! Every message has a raw measure to which its texts add up, and tokens that follow from it: most
//! estimators look at each text by itself, LangChain's at all characters of a message, and the
//! one that takes a quarter of the bytes at the bytes of the message as it is sent.

use ledger::wire::Role;

use crate::measure::{DSH_BLOCK, Estimator};

/// What a text adds to its message.
pub(crate) fn raw(estimator: Estimator, text: &str, written_bytes: u64) -> u64 {
    match estimator {
        Estimator::B4Ceil | Estimator::CodexItem | Estimator::JsonB4x13 => written_bytes,
        Estimator::LcApprox | Estimator::LcApprox33 => text.chars().count() as u64,
        Estimator::JsonU16x3Ceil => text.encode_utf16().count() as u64,
        _ => tokens_of(estimator, text),
    }
}

/// Tokens of a message with this raw measure.
pub(crate) fn tokens(estimator: Estimator, raw: u64) -> u64 {
    match estimator {
        Estimator::B4Ceil | Estimator::CodexItem => raw.div_ceil(4),
        Estimator::JsonB4x13 => raw.div_ceil(4) * 13 / 10,
        Estimator::LcApprox => raw.div_ceil(4) + 3,
        Estimator::LcApprox33 => raw.saturating_mul(10).div_ceil(33) + 3,
        Estimator::JsonU16x3Ceil => raw.div_ceil(3).max(1),
        Estimator::Dsh1 => raw + DSH_BLOCK,
        _ => raw,
    }
}

/// Tokens of a text by itself; an estimator that needs a counter takes a quarter of the bytes.
pub(crate) fn tokens_of(estimator: Estimator, text: &str) -> u64 {
    match estimator {
        // What a message adds is not part of a text.
        Estimator::LcApprox => (text.chars().count() as u64).div_ceil(4),
        Estimator::LcApprox33 => (text.chars().count() as u64 * 10).div_ceil(33),
        _ => estimator.text(text, None).unwrap_or_else(|| (text.len() as u64).div_ceil(4)),
    }
}

/// True where the texts themselves have to be read.
pub(crate) fn reads(estimator: Estimator) -> bool {
    !matches!(
        estimator,
        Estimator::B4Ceil | Estimator::CodexItem | Estimator::JsonB4x13 | Estimator::None
    )
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
