//! The numbers of one request under a policy.

use alloc::vec::Vec;

use super::cache::Charge;
use super::notice::Notices;
use super::outline::TextNo;
use super::prices::Cost;
use super::prompt::Voices;
use crate::projection::{Account, Fidelity};

/// How a request differs from the recorded one, worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The same bytes.
    #[default]
    Same,
    /// Other bytes, and nothing hidden that the recorded answer uses.
    Cosmetic,
    /// Something is hidden that the recorded answer uses.
    Evidence,
    /// More tokens than the model takes, whatever the estimate's error.
    Overflow,
}

impl Class {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// All classes.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Same, Self::Cosmetic, Self::Evidence, Self::Overflow];

    /// The word used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Cosmetic => "cosmetic",
            Self::Evidence => "evidence",
            Self::Overflow => "overflow",
        }
    }
}

/// Weights of anchors, in thousandths of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    /// Anchors of the recorded answer.
    pub anchors: u64,
    /// Those that no shown range holds.
    pub missed: u64,
    /// Weight of all anchors.
    pub weight: u64,
    /// Weight of those that are shown.
    pub shown: u64,
    /// Weight that random deletion of the same share of output leaves, summed over the seeds.
    pub random: u64,
    /// Weight that showing only beginnings leaves.
    pub heads: u64,
    /// Weight that showing only ends leaves.
    pub tails: u64,
}

/// Seeds of the random control.
pub const SEEDS: u64 = 8;

impl Recall {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.anchors += other.anchors;
        self.missed += other.missed;
        self.weight += other.weight;
        self.shown += other.shown;
        self.random += other.random;
        self.heads += other.heads;
        self.tails += other.tails;
    }

    /// Share of the weight that is shown, per mille; `None`: no answer has an anchor.
    pub fn per_mille(&self) -> Option<u64> {
        ratio(self.shown, self.weight)
    }

    /// The same under random deletion.
    pub fn random_per_mille(&self) -> Option<u64> {
        ratio(self.random, self.weight.saturating_mul(SEEDS))
    }
}

/// `part / whole` per mille, rounded down.
pub fn ratio(part: u64, whole: u64) -> Option<u64> {
    let scaled = (u128::from(part) * 1000).checked_div(u128::from(whole))?;
    u64::try_from(scaled).ok()
}

/// The numbers of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its index in the run.
    pub request: usize,
    /// Its conversation.
    pub lane: u32,
    /// What its projection rests on.
    pub fidelity: Fidelity,
    /// Its sizes.
    pub account: Account,
    /// How it differs.
    pub class: Class,
    /// Bytes of the prompt, by whose words they are.
    pub voices: Voices,
    /// Tokens of the prompt, by the run's ratio.
    pub tokens: u64,
    /// Fewest and most tokens, by the ratio's band.
    pub band: (u64, u64),
    /// Tokens that the model takes, where that is known.
    pub window: Option<u64>,
    /// Bytes in common with the conversation's request before.
    pub common_bytes: u64,
    /// Bytes of that request.
    pub before_bytes: u64,
    /// What its provider would have counted; `None`: no rulebook for its model.
    pub charge: Option<Charge>,
    /// What it costs; `None`: no price for its model.
    pub cost: Option<Cost>,
    /// What the recorded answer needs and is shown.
    pub recall: Recall,
    /// Which anchors of the answer no shown range holds, by their place among its anchors.
    pub missed: Vec<u32>,
    /// Bytes of outputs that are shown, by tool.
    pub output_bytes: Vec<u64>,
    /// Signs of failure in outputs (errors, failed tests): shown, and all.
    pub signs: (u64, u64),
    /// Bytes of outputs that are shown though no later answer uses them.
    pub dead_bytes: u64,
    /// The newest message of a person is not shown.
    pub user_turn_lost: bool,
    /// What the policy says of what it leaves out of outputs.
    pub notices: Notices,
    /// Outputs that the conversation's request before shows and this one does not.
    pub left: Vec<TextNo>,
    /// Outputs that this request shows and the one before does not.
    pub entered: Vec<TextNo>,
}

impl Line {
    /// Bytes of the prompt.
    pub fn bytes(&self) -> u64 {
        self.voices.iter().sum()
    }

    /// Bytes of outputs that are shown.
    pub fn outputs(&self) -> u64 {
        self.output_bytes.iter().sum()
    }
}
