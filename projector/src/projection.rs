//! What a projection says: the view, the account, and what it rests on.

use alloc::vec::Vec;

use artifacts::Source;
use ledger::history::History;
use ledger::id::RequestId;

use crate::fold::ProjectError;
use crate::view::View;

/// What a projected request rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// The policy in force: the view must equal the recorded bytes.
    Exact,
    /// Other parameters, pure steps only: what the client would have sent, had the model said
    /// the same.
    Derived,
    /// Rests on an assumption besides the fixed trajectory.
    Assumed(Assumption),
    /// Could not be projected; the account is that of the recorded request.
    Refused(Refusal),
}

impl Fidelity {
    /// The word used in reports and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Derived => "derived",
            Self::Assumed(_) => "assumed",
            Self::Refused(_) => "refused",
        }
    }

    /// Which step, from 0, and why, where there is something to say.
    pub fn reason(&self) -> Option<(usize, &'static str)> {
        match self {
            Self::Exact | Self::Derived => None,
            Self::Assumed(assumption) => Some((assumption.step(), assumption.words())),
            Self::Refused(Refusal::Unsplit { step }) => {
                Some((*step, "the body could not be split into messages"))
            }
            Self::Refused(Refusal::Unsupported { step, why }) => Some((*step, why)),
        }
    }
}

/// What is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// A step looks at a tool output whose whole text is not on record: what the client sent is
    /// taken for it.
    SentIsWhole {
        /// The step.
        step: usize,
    },
    /// The client changed its history before this request; its changes are kept as recorded,
    /// though under this policy it might have made others.
    EditsKept {
        /// The first step.
        step: usize,
    },
    /// The system might have put further results away, because newer ones made them needless;
    /// they stay.
    NeedlessKept {
        /// The step.
        step: usize,
    },
    /// A trigger compares an estimate with a value that is nearer than the estimate's error.
    TriggerMargin {
        /// The step.
        step: usize,
    },
    /// A trigger asks for the provider's count of tokens, which is not on record.
    NoUsage {
        /// The step.
        step: usize,
    },
    /// A step rests on the size of the context window, or on what is left of it, which nobody says:
    /// it is taken to be enough.
    WindowUnknown {
        /// The step.
        step: usize,
    },
    /// What a provider's own edit leaves is worked out by its documentation.
    ServerEdit {
        /// The step.
        step: usize,
    },
    /// A summary that nobody has made stands as a placeholder of an assumed size.
    SummarySize {
        /// The step.
        step: usize,
    },
    /// A step rests on counts of a tokenizer that is not at hand: a quarter of the bytes stands
    /// for them.
    ForeignTokenizer {
        /// The step.
        step: usize,
    },
    /// A cap is for each stream of an output, and the streams are not told apart: the output is
    /// taken for one.
    OneStream {
        /// The step.
        step: usize,
    },
    /// A cap is for contents of files, and a long text of the user may be one: it is taken for
    /// none.
    NoFile {
        /// The step.
        step: usize,
    },
    /// A text that the program adds is not on record: a placeholder of the size that the policy
    /// gives it stands for it.
    InjectedSize {
        /// The step.
        step: usize,
    },
    /// The policy has constants that nobody has documented.
    UnknownConstant {
        /// The first step.
        step: usize,
    },
}

impl Assumption {
    /// The number under which a snapshot keeps it; `None` for those that follow from the history.
    pub(crate) fn tag(self) -> Option<u8> {
        match self {
            Self::SentIsWhole { .. }
            | Self::EditsKept { .. }
            | Self::NeedlessKept { .. }
            | Self::OneStream { .. }
            | Self::NoFile { .. }
            | Self::UnknownConstant { .. } => None,
            Self::TriggerMargin { .. } => Some(1),
            Self::NoUsage { .. } => Some(2),
            Self::WindowUnknown { .. } => Some(3),
            Self::ServerEdit { .. } => Some(4),
            Self::SummarySize { .. } => Some(5),
            Self::ForeignTokenizer { .. } => Some(6),
            Self::InjectedSize { .. } => Some(7),
        }
    }

    /// What a snapshot keeps under a number.
    pub(crate) fn of_tag(tag: u8, step: usize) -> Option<Self> {
        match tag {
            1 => Some(Self::TriggerMargin { step }),
            2 => Some(Self::NoUsage { step }),
            3 => Some(Self::WindowUnknown { step }),
            4 => Some(Self::ServerEdit { step }),
            5 => Some(Self::SummarySize { step }),
            6 => Some(Self::ForeignTokenizer { step }),
            7 => Some(Self::InjectedSize { step }),
            _ => None,
        }
    }

    pub(crate) fn step(self) -> usize {
        match self {
            Self::SentIsWhole { step }
            | Self::EditsKept { step }
            | Self::NeedlessKept { step }
            | Self::TriggerMargin { step }
            | Self::NoUsage { step }
            | Self::WindowUnknown { step }
            | Self::ServerEdit { step }
            | Self::SummarySize { step }
            | Self::ForeignTokenizer { step }
            | Self::OneStream { step }
            | Self::NoFile { step }
            | Self::InjectedSize { step }
            | Self::UnknownConstant { step } => step,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::SentIsWhole { .. } => "the output as sent is taken for the whole output",
            Self::EditsKept { .. } => "the client's own edits are kept as recorded",
            Self::NeedlessKept { .. } => "results that newer ones may have made needless stay",
            Self::TriggerMargin { .. } => {
                "a trigger is nearer to its value than the estimate is exact"
            }
            Self::NoUsage { .. } => "usage is not on record: an estimate decides when a step acts",
            Self::WindowUnknown { .. } => {
                "the context window, or what is left of it, is not known: it is taken to be enough"
            }
            Self::ServerEdit { .. } => "the provider's own edit is worked out by its documentation",
            Self::SummarySize { .. } => "a summary that nobody made stands as a placeholder",
            Self::ForeignTokenizer { .. } => {
                "tokens of a tokenizer that is not at hand: a quarter of the bytes stands for them"
            }
            Self::OneStream { .. } => {
                "streams of an output are not told apart: it is taken for one"
            }
            Self::NoFile { .. } => {
                "contents of files are not told from what the user says: they stay whole"
            }
            Self::InjectedSize { .. } => {
                "a text that the program adds is not on record: a placeholder stands for it"
            }
            Self::UnknownConstant { .. } => "a constant of the policy is documented nowhere",
        }
    }
}

/// Why a request was not projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The body is one verbatim part.
    Unsplit {
        /// The first step.
        step: usize,
    },
    /// A step of the policy cannot be carried out.
    Unsupported {
        /// The first such step.
        step: usize,
        /// What stands in the way.
        why: &'static str,
    },
}

/// Sizes of a projected request, without making its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Account {
    /// Length of the projected body, in bytes.
    pub body_bytes: u64,
    /// Length of the recorded body, in bytes.
    pub recorded_bytes: u64,
    /// Estimated tokens of the projected body.
    pub tokens: u64,
    /// Bytes of recorded text (unescaped) that the recorded request shows and this one does not.
    pub hidden_bytes: u64,
    /// Tool results whose text was cut.
    pub capped_results: u32,
    /// Tool results whose text was replaced.
    pub cleared_results: u32,
    /// Messages that were left out.
    pub dropped_messages: u32,
    /// Results without their call, and calls without their result, that the policy made.
    pub broken_pairs: u32,
    /// The projected bytes differ from the recorded ones.
    pub changed: bool,
    /// What a `stack` step did.
    pub stack: StackAccount,
}

/// What a `stack` step did to a request, by the ruler of its system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StackAccount {
    /// Turns of the history that stay.
    pub kept_turns: u32,
    /// Turns of the history that are left out.
    pub dropped_turns: u32,
    /// Estimated tokens of the history as it is.
    pub history_tokens_before: u64,
    /// Estimated tokens of the history that is shown.
    pub history_tokens_after: u64,
    /// Results of the history with a placeholder.
    pub stale_results: u32,
    /// Results of the turn that is under way with a placeholder.
    pub active_results: u32,
    /// Results that would have one, had their text been read back.
    pub unarchived_results: u32,
}

/// A projected request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Which request.
    pub request: RequestId,
    /// What it rests on.
    pub fidelity: Fidelity,
    /// Its sizes.
    pub account: Account,
    /// Its segments.
    pub view: View,
}

impl Projection {
    /// Appends the bytes of the projected body to `out`.
    ///
    /// # Errors
    /// The request is not of this history, or an artifact is missing or damaged.
    pub fn write(
        &self,
        history: &History,
        source: &dyn Source,
        out: &mut Vec<u8>,
    ) -> Result<(), ProjectError> {
        let ordinal = self.request.ordinal();
        let request =
            history.request(self.request).ok_or(ProjectError::NoSuchRequest { ordinal })?;
        let separator = request.captured.separator.read(source)?;
        self.view.write(history, source, &separator, request.overlays(), out)
    }
}
