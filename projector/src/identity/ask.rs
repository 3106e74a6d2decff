//! One question for permission: who was asked about what, and what became of it.

use ledger::event::{ApprovalAnswered, ApprovalAsked, ApprovalRetracted, Receipt, Verdict};

use super::facts::Facts;

/// Everything on record of one question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The question.
    pub asked: Facts<ApprovalAsked>,
    /// Receipts that name it. Not all of them need to fit it.
    pub answers: Facts<ApprovalAnswered>,
    /// When it was taken back.
    pub retracted: Facts<ApprovalRetracted>,
}

/// What became of a question, as far as it tells itself. Whether its call's end cleared it is for
/// the [`View`](super::View) to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskState {
    /// It waits.
    Pending,
    /// It was answered.
    Answered(Verdict),
    /// It was taken back.
    Retracted,
    /// Its call ended, or its conversation began anew, before anybody answered.
    Cleared,
    /// Something names it and the question itself is not on record.
    Unknown,
}

impl AskState {
    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Answered(Verdict::Deny) => "denied",
            Self::Answered(Verdict::AllowOnce) => "allowed once",
            Self::Answered(Verdict::AllowAlways) => "allowed always",
            Self::Answered(Verdict::DenyAlways) => "denied always",
            Self::Answered(Verdict::Cancelled) => "cancelled",
            Self::Answered(Verdict::Unknown) => "answered, unknown",
            Self::Retracted => "taken back",
            Self::Cleared => "cleared",
            Self::Unknown => "unknown",
        }
    }
}

impl Ask {
    /// True when a receipt names this question with all that was asked.
    pub fn fits(&self, answer: &ApprovalAnswered) -> bool {
        let Some(asked) = self.asked.first() else { return false };
        let (ask, call, origin, review) = (asked.ask, asked.call, asked.origin, asked.review);
        answer.receipt == Receipt::Exact { ask, call, origin, review }
    }

    /// The receipt that settled it: the first that fits and came before it was taken back.
    pub fn verdict(&self) -> Option<(u64, &ApprovalAnswered)> {
        let until = self.retracted.first_seq().unwrap_or(u64::MAX);
        self.answers.iter().find(|(seq, answer)| *seq < until && self.fits(answer))
    }

    /// Receipts that settled nothing.
    pub fn stray(&self) -> impl Iterator<Item = (u64, &ApprovalAnswered)> {
        let settled = self.verdict().map(|(seq, _)| seq);
        self.answers.iter().filter(move |(seq, _)| Some(*seq) != settled)
    }

    /// What became of it.
    pub fn state(&self) -> AskState {
        if self.asked.is_empty() {
            AskState::Unknown
        } else if let Some((_, answer)) = self.verdict() {
            AskState::Answered(answer.verdict)
        } else if !self.retracted.is_empty() {
            AskState::Retracted
        } else {
            AskState::Pending
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.asked.join(other.asked);
        self.answers.join(other.answers);
        self.retracted.join(other.retracted);
    }
}
