//! What a step means for a provider's prefix cache, told from the policy alone.

use super::node::words;
use super::op::{DropReasoning, InjectOn, KeepReasoning, MediaAction, OverflowAction};
use super::{Amount, At, ClearResults, GainMode, Op, Policy, Step};

words! {
    /// What a step does to the beginning that a request has in common with the one before. The
    /// later ones are the dearer ones, but for the last.
    pub enum CacheClass {
        /// Nothing: a text is settled when it first stands in a request.
        Stable = "stable",
        /// It changes seldom, when enough is gained by it.
        Batch = "batch",
        /// It changes with almost every request or turn.
        Sliding = "sliding",
        /// All behind the instructions is new at once.
        Rebase = "rebase",
        /// The client's requests stay as they are: the provider decides.
        None = "none",
    }
}

impl Step {
    /// What the step means for the prefix cache.
    pub fn cache_class(&self) -> CacheClass {
        if self.at == At::Server {
            return CacheClass::None;
        }
        let seldom = if self.at == At::Event { CacheClass::Batch } else { CacheClass::Sliding };
        match &self.op {
            Op::CapText(cap) => {
                let amounts = [cap.limit, cap.threshold];
                self.cap(amounts.into_iter().flatten().all(|it| it.fixed().is_some()))
            }
            Op::CapLines(cap) => {
                let amounts = [cap.max_lines, cap.max_bytes];
                self.cap(amounts.into_iter().flatten().all(|it| it.fixed().is_some()))
            }
            Op::CapParts(cap) => self.cap(Amount::fixed(cap.limit).is_some()),
            Op::ClearResults(clear) => self.clears(clear),
            Op::DedupeReads(reads) if reads.min_batch_bytes > 0 && reads.sticky => {
                CacheClass::Batch
            }
            Op::CapArgs(_) | Op::TotalCap(_) | Op::DedupeReads(_) => seldom,
            Op::DropReasoning(drop) => reasoning(drop),
            Op::Media(media) if media.keep > 0 && media.action != MediaAction::Keep => seldom,
            Op::Media(_) | Op::Repair(_) | Op::Tools(_) => CacheClass::Stable,
            Op::Inject(inject) if inject.on == InjectOn::Start => CacheClass::Stable,
            Op::OnOverflow(guard) if guard.action == OverflowAction::Error => CacheClass::Stable,
            Op::Inject(_) | Op::OnOverflow(_) | Op::Window(_) | Op::Summary(_) => {
                CacheClass::Rebase
            }
            Op::Stack(_) => CacheClass::Sliding,
        }
    }

    /// A cap leaves the same of a text each time, unless its limit moves or it comes late.
    fn cap(&self, fixed: bool) -> CacheClass {
        match self.at {
            At::Result => CacheClass::Stable,
            At::Event => CacheClass::Batch,
            _ if fixed => CacheClass::Stable,
            _ => CacheClass::Sliding,
        }
    }

    fn clears(&self, clear: &ClearResults) -> CacheClass {
        let gains =
            clear.min_gain.as_ref().is_some_and(|gain| gain.n > 0 && gain.mode == GainMode::Refuse);
        let rare = clear.polling > 1 || (clear.sticky && (gains || self.at == At::Event));
        if rare { CacheClass::Batch } else { CacheClass::Sliding }
    }
}

fn reasoning(drop: &DropReasoning) -> CacheClass {
    match drop.keep {
        KeepReasoning::None | KeepReasoning::All => CacheClass::Stable,
        KeepReasoning::LastMessage | KeepReasoning::Turns => CacheClass::Sliding,
    }
}

impl Policy {
    /// The dearest class of its steps; without steps, [`CacheClass::Stable`].
    pub fn cache_class(&self) -> CacheClass {
        let dear = |class: &CacheClass| match class {
            CacheClass::None => 0,
            CacheClass::Stable => 1,
            CacheClass::Batch => 2,
            CacheClass::Sliding => 3,
            CacheClass::Rebase => 4,
        };
        let classes = self.steps.iter().map(Step::cache_class);
        classes.max_by_key(dear).unwrap_or(CacheClass::Stable)
    }
}
